"""A model of Transformers, or of the lab in that form, for EleutherAI's harness. Needs the extra ``evaluate``."""

import copy
from typing import Any

import torch
from lm_eval.models.huggingface import HFLM  # pyright: ignore[reportMissingImports]
from lm_eval.models.utils_hf import stop_sequences_criteria  # pyright: ignore[reportMissingImports]

from synthlab.errors import InputError

UNBOUNDED = 10**9  # number of tokens, for encodings without a longest text


class HarnessModel(HFLM):
    """The harness's own model class, with what models of the lab lack: an end of text, a cache, a bound of length.

    Attributes:
        cut: The number of texts so far that lost their beginning because they exceed ``max_length``.

    Args:
        model: A causal model of Transformers, or ``SynthlabForCausalLM``.
        tokenizer: Its tokenizer, which is copied.
        max_length: The longest text in tokens; by default that of its config. A model of the lab takes any length,
            unless its encoding has a table of positions.
        batch_size: The number of texts in a batch. With more than one, shorter texts are padded.

    Raises:
        InputError: The tokenizer has more tokens than the model, or the model's logits are not finite.
    """

    def __init__(self, model: Any, tokenizer: Any, max_length: int | None = None, batch_size: int = 1):
        vocabulary = model.config.get_text_config().vocab_size
        if tokenizer.vocab_size > vocabulary:
            raise InputError(
                f"tokenizer: has {tokenizer.vocab_size} tokens; must be that of the model, which has {vocabulary}"
            )
        with torch.no_grad():
            logits = model(tokenizer("The end.", return_tensors="pt")["input_ids"].to(model.device)).logits
        if not logits.isfinite().all():
            raise InputError("model: its logits are not finite, so nothing can be measured")
        if max_length is None and model.config.model_type == "synthlab":
            max_length = int(min(UNBOUNDED, model.transformer.encoding.longest()))
        super().__init__(pretrained=model, tokenizer=copy.deepcopy(tokenizer), max_length=max_length)
        self.batch_size_per_gpu = batch_size
        self.cut = 0

    @property
    def eot_token_id(self) -> int:
        own = self.tokenizer.eos_token_id
        return self.tokenizer.pad_token_id if own is None else own

    @property
    def prefix_token_id(self) -> int:
        """The token before a text without context: a line break if there is no special token for it."""
        given = [self.custom_prefix_token_id, self.tokenizer.bos_token_id, self.tokenizer.eos_token_id]
        line_break = self.tokenizer.encode("\n", add_special_tokens=False)[-1]
        return next((token for token in given if token is not None), line_break)

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        for request in requests:
            context, options = request.args
            tokens = len(self.tok_encode(context)) + options.get("max_gen_toks", self.max_gen_toks)
            self.cut += tokens > self.max_length
        return super().generate_until(requests, disable_tqdm)

    def _loglikelihood_tokens(self, requests: Any, *args: Any, **kwargs: Any) -> Any:
        for _, context, continuation in requests:
            self.cut += len(context) + len(continuation) - 1 > self.max_length
        return super()._loglikelihood_tokens(requests, *args, **kwargs)

    def _model_generate(self, context: Any, max_length: int, stop: list[str], **options: Any) -> Any:
        if not options.get("do_sample"):  # Transformers warns of a temperature without sampling
            options = {key: value for key, value in options.items() if key not in ("temperature", "top_p", "top_k")}
            options["do_sample"] = False
        return self.model.generate(
            input_ids=context,
            max_length=max_length,
            stopping_criteria=stop_sequences_criteria(self.tokenizer, stop, context.shape[1], context.shape[0]),
            pad_token_id=self.tokenizer.pad_token_id,
            # No cache where earlier tokens change as the text grows.
            use_cache=bool(getattr(self.config, "use_cache", True)),
            **options,
        )
