"""Models to be evaluated: a folder or a name on the hub, of Hugging Face's Transformers, or a run of the lab.

Needs the extra ``lm``. No code of a folder is run.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import nn

from synthlab.errors import InputError
from synthlab.huggingface.bridge import byte_tokenizer, to_huggingface
from synthlab.huggingface.loading import causal_model, open_tokenizer
from synthlab.huggingface.perplexity.settings import Settings
from synthlab.language.trained import TrainedLanguage
from synthlab.storage.store import IDENTITY, Store
from synthlab.training.devices import find_device

BYTES = "bytes"  # the name of the tokenizer of the lab's texts


class Opened(NamedTuple):
    """A model on its device, in evaluation mode, with its tokenizer.

    Attributes:
        model: The model.
        tokenizer: The tokenizer.
        vocabulary: The number of tokens that the model knows.
        bos: Where the beginning-of-text token goes: none, document or window.
        begin: That token; None if the tokenizer has none.
    """

    model: nn.Module
    tokenizer: Any
    vocabulary: int
    bos: str
    begin: int | None

    @property
    def fingerprint(self) -> str:
        """A checksum of the model's config and weights."""
        given = cast(Any, self.model).config.to_dict()
        known = {key: value for key, value in given.items() if key not in ("_name_or_path", "transformers_version")}
        digest = hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode())
        for name, values in sorted(self.model.state_dict().items()):
            digest.update(f"{name} {values.dtype} {tuple(values.shape)}".encode())
            digest.update(values.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        return digest.hexdigest()

    @property
    def tokenizer_fingerprint(self) -> str:
        """A checksum of the tokenizer's rules."""
        inner = getattr(self.tokenizer, "backend_tokenizer", None)
        rules = json.dumps(sorted(self.tokenizer.get_vocab().items())) if inner is None else inner.to_str()
        special = json.dumps(self.tokenizer.special_tokens_map, sort_keys=True, default=str)
        return hashlib.sha256(f"{type(self.tokenizer).__name__} {special} {rules}".encode()).hexdigest()


def open_with_tokenizer(settings: Settings) -> Opened:
    """Open the model and the tokenizer that the settings name.

    Raises InputError if they do not exist, or disagree.
    """
    device, dtype = find_device(settings.device), getattr(torch, settings.dtype)
    run = _open_run(settings)
    if run is None:
        model = causal_model("model", settings.model, dtype=dtype)
    else:
        model = cast(Any, to_huggingface(run)).to(dtype)
    name = settings.tokenizer or (settings.model if run is None else BYTES)
    tokenizer = byte_tokenizer() if name == BYTES else open_tokenizer("tokenizer", name)
    vocabulary = model.config.get_text_config().vocab_size
    if tokenizer.vocab_size > vocabulary:
        raise InputError(
            f"tokenizer={settings.tokenizer or settings.model}: has {tokenizer.vocab_size} tokens; the model knows "
            f"{vocabulary}, so it must be another's"
        )
    begin: Any = tokenizer.bos_token_id
    if begin is None and settings.bos in ("document", "window"):
        raise InputError(f"bos={settings.bos}: the tokenizer has no token to begin a text with; must be none")
    begins_by_itself = begin is not None and tokenizer("", verbose=False)["input_ids"][:1] == [begin]
    bos = settings.bos or ("document" if begins_by_itself else "none")
    return Opened(model.to(device).eval(), tokenizer, vocabulary, bos, begin)


def _open_run(settings: Settings) -> TrainedLanguage | None:
    """Open the run of the lab that is named, by its identity; None if it is no run."""
    if not IDENTITY.fullmatch(settings.model) or Path(settings.model).exists():
        return None
    record = Store(settings.runs).read(settings.model)
    if record.diverged_at is None and record.config.steps not in record.weights:
        raise InputError(f"model={settings.model}: its weights were not saved; train it with save=weights")
    model = record.model()
    language = getattr(record.config, "task", {}).get("name")
    if not isinstance(model, TrainedLanguage) or (language != "text" and not settings.tokenizer):
        raise InputError(f"model={settings.model}: must be a language model that was trained with task=text")
    return model
