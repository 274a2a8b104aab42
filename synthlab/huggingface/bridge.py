"""The lab's language models as models of Hugging Face's Transformers. Needs the extra ``lm``.

A folder that ``save_pretrained`` writes contains numbers and text: weights in the format of safetensors, and a config
of names and sizes. Nothing in it is imported or run; a config with other keys is refused. Importing this module
registers the model with Transformers' ``AutoModelForCausalLM``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from synthlab.errors import InputError, describe_missing
from synthlab.language.run import LanguageRun
from synthlab.language.trained import TrainedLanguage
from synthlab.models.attention import lay_out_layers
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.language_model import MODELS, LanguageModel, continue_text
from synthlab.runs.registry import show

try:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # pyright: ignore[reportMissingImports]
    from transformers import (  # pyright: ignore[reportMissingImports]
        AutoConfig,
        AutoModelForCausalLM,
        Cache,
        DynamicCache,
        GenerationConfig,
        GenerationMixin,
        PreTrainedConfig,
        PreTrainedModel,
        PreTrainedTokenizerFast,
    )
    from transformers import initialization as init  # pyright: ignore[reportMissingImports]
    from transformers.modeling_outputs import CausalLMOutputWithPast  # pyright: ignore[reportMissingImports]
    from transformers.utils.generic import can_return_tuple  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.bridge", "transformers", "lm")) from error

from synthlab.huggingface.loading import catch_load_errors, check_weights

SHOWN = 80  # the most characters of a folder's content that a message repeats
SIZES = ("width", "depth", "heads", "mlp_ratio", "norm", "attention", "init_scale")  # the keys of conf/model
# The keys of a saved config. Transformers' Trainer adds the tokens of its tokenizer.
KNOWN = {"model_type", "vocab_size", "encoding", *SIZES, "max_position_embeddings", "use_cache", "dtype"}
KNOWN |= {"architectures", "transformers_version", "pad_token_id", "bos_token_id", "eos_token_id"}


class SynthlabConfig(PreTrainedConfig):
    """The architecture of a language model of the lab: the keys of ``conf/model``, and its encoding with its arguments.

    Attributes:
        encoding: The mapping that the registry of encodings takes; of a run with an extension, the extension.
        max_position_embeddings: The longest context that the run was tested on, in tokens. The model takes longer ones
            unless its encoding has a table.
    """

    # The lab's registries check types and bounds when a model is made from it.
    model_type = "synthlab"
    keys_to_ignore_at_inference: ClassVar[list[str]] = ["past_key_values"]
    attribute_map: ClassVar[dict[str, str]] = {
        "hidden_size": "width",
        "num_hidden_layers": "depth",
        "num_attention_heads": "heads",
    }
    vocab_size: Any = None
    encoding: Any = None
    width: Any = None
    depth: Any = None
    heads: Any = None
    mlp_ratio: Any = None
    norm: Any = None
    attention: Any = None
    init_scale: Any = None
    max_position_embeddings: Any = None
    use_cache: bool = True

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Return the config in a folder's ``config.json``.

        Arguments are those of Transformers, which are not checked here.

        Raises:
            InputError: It has a key that the lab does not write. Some of Transformers' own keys fetch code, such as
                ``attn_implementation`` and ``quantization_config``.
        """
        if unknown := sorted(set(config_dict) - KNOWN):
            raise InputError(f"config.{unknown[0]:.{SHOWN}}: unknown key; a model of the lab has none of that name")
        return super().from_dict(config_dict, **kwargs)


class SynthlabForCausalLM(PreTrainedModel, GenerationMixin):
    """A language model of the lab, an ensemble of one, with the interface of Transformers' causal models."""

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
            past_key_values: The cache of the tokens before these, one that grows; of an encoding that depends on the
                length of the text, None.
            labels: Tokens [B, T], which the model shifts; -100 is ignored in the loss.
            use_cache: True to return a cache; by default ``config.use_cache``.
            others: Further arguments of Transformers, which must be None or False.

        Raises:
            InputError: An argument does not fit the model.
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
        encodings, new = self.transformer.encodings(), input_ids.shape[1]
        shared = lay_out_layers(encodings, lambda encoding: continue_text(encoding, is_token, new))
        tokens = [replace(each, cache=_extension(cache, layer)) for layer, each in enumerate(shared)]
        input_ids = input_ids.masked_fill(~is_token[:, -input_ids.shape[1] :], 0)
        outside = input_ids[(input_ids < 0) | (input_ids >= self.config.vocab_size)]
        if len(outside):
            raise InputError(f"input_ids={outside[0].item()}: must be a token from 0 to {self.config.vocab_size - 1}")
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
        with catch_load_errors("model", folder):
            loaded: Any = super().from_pretrained(*args, **options)
        model, info = loaded
        check_weights("model", folder, info)
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

    def _init_weights(self, module):
        # The weights are the run's. Loading clears what is not saved with them, such as the slopes of ALiBi.
        if isinstance(module, Encoding) and module is self.transformer.encoding:
            config = cast(SynthlabConfig, self.config)
            sizes = {key: getattr(config, key) for key in SIZES}
            fresh = dict(LanguageModel.build_encoding(partial(_encoding, config), 1, **sizes).named_buffers())
            for name, values in module.named_buffers():
                init.copy_(values, fresh[name])


def to_huggingface(model: TrainedLanguage) -> SynthlabForCausalLM:
    """Return a trained language model as a model of Transformers, with the same logits to the last bit.

    It has weights of its own, and is in evaluation mode. To load it from a folder of ``save_pretrained`` in another
    process, import ``synthlab.huggingface.bridge`` and call ``AutoModelForCausalLM.from_pretrained``.

    Raises:
        InputError: The model is no language model with the lab's Transformer; or its encoding draws positions, or is a
            class of your own.

    Example:
        >>> import synthlab
        >>> from synthlab.huggingface.bridge import byte_tokenizer, to_huggingface
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
    if not model.module.is_plain:
        raise InputError(
            "model.mixer, model.loops, model.convolution: Transformers has no such model; must be left out"
        )
    run = cast(LanguageRun, model.record.config)
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


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer of models of ``task=text``: each byte of a text, in UTF-8, is a token.

    Its padding, on the left, is a token beyond the 256 bytes, which the attention mask excludes.

    Example:
        >>> from synthlab.huggingface.bridge import byte_tokenizer
        >>> byte_tokenizer()("Aé")["input_ids"]
        [65, 195, 169]
    """
    # Byte-level BPE without merges writes bytes as letters: printable ones as themselves, others as those from 256 on.
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = printable + [byte for byte in range(256) if byte not in printable]
    vocabulary = {chr(byte if byte in printable else 256 + i - len(printable)): byte for i, byte in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    # A text with the letters <pad> is read as these letters.
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", padding_side="left", split_special_tokens=True
    )


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
    encoding = ENCODINGS.build(given, dims)
    if "locate" in encoding.hooks:
        raise InputError(f"encoding={name}: makes positions of hidden states, which a cache does not hold")
    return encoding


AutoConfig.register(SynthlabConfig.model_type, SynthlabConfig)
AutoModelForCausalLM.register(SynthlabConfig, SynthlabForCausalLM)

__all__ = ["SynthlabConfig", "SynthlabForCausalLM", "byte_tokenizer", "to_huggingface"]
