"""The lab's language models as models of Hugging Face's Transformers. Needs the extra ``lm``.

A folder that ``save_pretrained`` writes contains numbers and text: weights in the format of safetensors, and a config
of names and sizes. Nothing in it is imported or run; a config with other keys is refused. Importing this module
registers the model with Transformers' ``AutoModelForCausalLM``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor

from synthlab.config.registry import show
from synthlab.errors import InputError, describe_missing
from synthlab.language.config import LanguageConfig
from synthlab.language.trained import TrainedLanguage
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.language_model import MODELS, LanguageModel, continue_text

try:
    from transformers import (  # pyright: ignore[reportMissingImports]
        AutoConfig,
        AutoModelForCausalLM,
        Cache,
        DynamicCache,
        GenerationConfig,
        GenerationMixin,
        PreTrainedModel,
    )
    from transformers import initialization as init  # pyright: ignore[reportMissingImports]
    from transformers.modeling_outputs import CausalLMOutputWithPast  # pyright: ignore[reportMissingImports]
    from transformers.utils.generic import can_return_tuple  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.bridge", "transformers", "lm")) from error

from synthlab.huggingface.bridge_config import SIZES, SynthlabConfig
from synthlab.huggingface.loading import catch_load_errors, silence_load_report

SHOWN = 80  # the most characters of a folder's content that a message repeats


class SynthlabForCausalLM(PreTrainedModel, GenerationMixin):
    """A language model of the lab, with the interface of Transformers' causal models.

    Its parameters are those of ``LanguageModel``, an ensemble of one.
    """

    config_class = SynthlabConfig
    accepts_loss_kwargs = False  # its loss is a mean over the batch

    def __init__(self, config: SynthlabConfig):
        kernel: Any = config._attn_implementation  # Transformers would fetch and import a kernel from the Hub
        if kernel not in (None, "eager"):
            raise InputError(f"attn_implementation={kernel!r:.{SHOWN}}: must be 'eager'; attention is the lab's own")
        super().__init__(config)
        self.transformer = _model(config)
        if not self.transformer.encoding.packs:  # a cache would contain keys rotated for a shorter text
            config.use_cache = cast(GenerationConfig, self.generation_config).use_cache = False
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        past_key_values: Cache | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        **others: Any,
    ) -> CausalLMOutputWithPast:
        """Return logits [B, T, V] of the next token at each of ``input_ids`` [B, T].

        Args:
            input_ids: Tokens, which follow those of the cache. Padding may be any number.
            attention_mask: 0 for padding, at either end, 1 for tokens; [B, cached + T]. A text's positions count from
                its own first token. All ones by default.
            past_key_values: The cache of the tokens before these, one that grows. None for an encoding that depends on
                the length of the text, where each token changes those before it.
            labels: Tokens [B, T], which the model shifts; -100 is ignored in the loss.
            use_cache: True to return a cache; by default ``config.use_cache``.
            others: Further arguments of Transformers; any that is not None or False is refused.

        Raises:
            InputError: There are more tokens than the encoding has positions, a token is not in the vocabulary, the
                mask has a wrong shape, the cache is static or the encoding's keys cannot be cached, or another argument
                is given, such as ``position_ids``.
        """
        given = [name for name, value in others.items() if value is not None and value is not False]
        if given:
            taken = "input_ids are read, positions follow from attention_mask, logits are all there is"
            raise InputError(f"{given[0]}: is not supported; {taken}")
        if input_ids is None:
            raise InputError("input_ids: missing; must be given")
        cache = past_key_values
        if cache is not None and cache.is_compileable:
            raise InputError(f"past_key_values={type(cache).__name__}: must be a cache that grows, as DynamicCache")
        if not self.transformer.encoding.packs and (use_cache or cache is not None):
            name = self.config.encoding["name"]
            raise InputError(f"use_cache=true: must be false; encoding={name} depends on the length of the text")
        if cache is None and (self.config.use_cache if use_cache is None else use_cache) and not self.training:
            cache = DynamicCache(config=self.config)
        is_token = self._is_token(input_ids, attention_mask, 0 if cache is None else cache.get_seq_length())
        shared = continue_text(self.transformer.encoding, is_token, input_ids.shape[1])
        tokens = [replace(shared, cache=_extension(cache, layer)) for layer in range(self.config.depth)]
        input_ids = self._check_tokens(input_ids.masked_fill(~is_token[:, -input_ids.shape[1] :], 0))
        logits = self.transformer.decode(input_ids[None], tokens)[0]
        loss = None if labels is None else self.loss_function(logits, labels, vocab_size=self.config.vocab_size)
        return CausalLMOutputWithPast(loss=loss, logits=logits, past_key_values=cache)

    @classmethod
    def from_pretrained(cls, *args: Any, output_loading_info: bool = False, **kwargs: Any) -> Any:
        """Open the model in a folder of ``save_pretrained``. Arguments are those of Transformers.

        Raises:
            InputError: There is no model, or it is damaged; the config is not one of the lab; or the weights do not fit
                the config, are pickled, or are not finite.
        """
        options: Any = kwargs | {"use_safetensors": True, "ignore_mismatched_sizes": True, "output_loading_info": True}
        folder = args[0] if args else kwargs.get("pretrained_model_name_or_path")
        with catch_load_errors("model", folder), silence_load_report():
            loaded: Any = super().from_pretrained(*args, **options)
        model, info = loaded
        others = [
            (name, f"has shape {[*found]}; must be {[*needed]}") for name, found, needed in info["mismatched_keys"]
        ]
        others += [(name, "is missing") for name in info["missing_keys"]]
        others += [(name, "is none of the model's") for name in info["unexpected_keys"]]
        if others:
            name, what = min(others)
            raise InputError(f"weights, by their config: {name!r:.{SHOWN}} {what}")
        for name, values in model.state_dict().items():
            if not values.is_meta and not values.isfinite().all():
                raise InputError(f"model={folder}: {name} has numbers that are not finite")
        return (model, info) if output_loading_info else model

    def _is_token(self, input_ids: Tensor, attention_mask: Tensor | None, cached: int) -> Tensor:
        """Return True for tokens of the cache and of ``input_ids`` that are not padding, [B or 1, cached + T]."""
        total, longest = cached + input_ids.shape[1], self.transformer.encoding.longest()
        if attention_mask is None:
            attention_mask = torch.ones(1, total, dtype=torch.bool, device=input_ids.device)
        elif attention_mask.shape != (len(input_ids), total):
            shape = list(attention_mask.shape)
            raise InputError(
                f"attention_mask: has shape {shape}; must be {[len(input_ids), total]}, cached tokens first"
            )
        is_token = attention_mask.bool()
        if is_token.sum(-1).max() > longest:
            name = self.config.encoding["name"]
            raise InputError(
                f"input_ids: one text has {is_token.sum(-1).max()} tokens; encoding={name} takes {longest}"
            )
        return is_token

    def _check_tokens(self, input_ids: Tensor) -> Tensor:
        """Return ``input_ids``. Raises InputError unless all are in the vocabulary."""
        outside = input_ids[(input_ids < 0) | (input_ids >= self.config.vocab_size)]
        if len(outside):
            raise InputError(f"input_ids={outside[0].item()}: must be a token from 0 to {self.config.vocab_size - 1}")
        return input_ids

    def _init_weights(self, module):
        # The weights are the run's. Loading clears what is not saved with them, such as the slopes of ALiBi.
        if isinstance(module, Encoding):
            fresh = dict(
                _encoding(cast(SynthlabConfig, self.config), Dims(self.config.width, self.config.heads)).named_buffers()
            )
            for name, values in module.named_buffers():
                init.copy_(values, fresh[name])


def to_huggingface(model: TrainedLanguage) -> SynthlabForCausalLM:
    """Return a trained language model as a model of Transformers, with the same logits to the last bit.

    Args:
        model: A language model, from ``synthlab.load_model`` or ``Record.model``.

    Returns:
        A ``PreTrainedModel`` with weights of its own, in evaluation mode: ``save_pretrained``, ``generate``. To load it
        in another process, import ``synthlab.huggingface.bridge`` and call ``AutoModelForCausalLM.from_pretrained``.

    Raises:
        InputError: The model is no language model with the lab's Transformer; or its encoding draws positions, or is a
            class of your own.

    Example:
        >>> import synthlab
        >>> from synthlab.huggingface.bridge import to_huggingface
        >>> from synthlab.huggingface.tokenizer import byte_tokenizer
        >>> from transformers import AutoModelForCausalLM
        >>> quick = {"steps": 2, "batch": 2, "record_every": 1}
        >>> model = synthlab.train(task="text", protocol=quick, evaluation={"sequences": 2}, progress=False)
        >>> to_huggingface(model).save_pretrained("folder")
        >>> again = AutoModelForCausalLM.from_pretrained("folder")
        >>> again.generate(**byte_tokenizer()("def f(", return_tensors="pt"), max_new_tokens=8).shape
        torch.Size([1, 14])
    """
    if not isinstance(model, TrainedLanguage) or type(model.module) is not LanguageModel:
        raise InputError(f"model={type(model).__name__}: must be a trained language model, of model=transformer")
    run = cast(LanguageConfig, model.record.config)
    sizes = {key: run.model[key] for key in SIZES}
    config = SynthlabConfig(
        vocab_size=model.module.token_embeddings.shape[1],
        encoding=dict(run.encoding if run.extension is None else run.extension),
        max_position_embeddings=run.test_length,
        **sizes,
    )
    made = SynthlabForCausalLM(config)
    made.transformer.load_state_dict(model.module.state_dict())
    return made.eval()


def _extension(cache: Cache | None, layer: int) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None:
    """Return a function that adds keys and values [1, B, H, T, d] of a layer to the cache, and returns all of it."""
    if cache is None:
        return None

    def extend(keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = cache.update(keys[0], values[0], layer)
        return keys[None], values[None]

    return extend


def _model(config: SynthlabConfig) -> LanguageModel:
    """Return a model of the config's sizes, with weights of no run. Raises InputError."""
    if type(config.vocab_size) is not int or not 0 < config.vocab_size <= 10**6:
        raise InputError(f"vocab_size={show(config.vocab_size)}: must be a whole number from 1 to 1000000")
    sizes = {key: getattr(config, key) for key in SIZES}
    make = partial(_encoding, config), [torch.Generator().manual_seed(0)], config.vocab_size
    return cast(LanguageModel, MODELS.build({"name": "transformer", **sizes}, *make))


def _encoding(config: SynthlabConfig, dims: Dims) -> Encoding:
    """Return the config's encoding.

    Raises InputError for one that the lab does not have, which would have to be imported, and for random positions:
    these are drawn for each text by its length, so a growing text has none to keep.
    """
    given = config.encoding
    name = given.get("name") if isinstance(given, dict) else given
    choices = [each for each, encoding in ENCODINGS.items() if not encoding.draws_positions]
    if name not in choices:
        allowed = f"must be an encoding of the lab whose positions are not drawn: {', '.join(choices)}"
        raise InputError(f"encoding={' '.join(show(name).split()):.{SHOWN}}: {allowed}")
    return ENCODINGS.build(given, dims)


AutoConfig.register(SynthlabConfig.model_type, SynthlabConfig)
AutoModelForCausalLM.register(SynthlabConfig, SynthlabForCausalLM)

__all__ = ["SynthlabConfig", "SynthlabForCausalLM", "to_huggingface"]
