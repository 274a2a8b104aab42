"""Models to be evaluated: a folder or a name on the hub, of Hugging Face's Transformers, or a run of the lab.

Needs the extra ``lm``. No code of a folder is run.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from synthlab.errors import InputError, describe_missing
from synthlab.huggingface.bridge import to_huggingface
from synthlab.huggingface.isolation import silence
from synthlab.huggingface.loading import catch_load_errors, causal_model
from synthlab.huggingface.perplexity.settings import Settings
from synthlab.huggingface.tokenizer import byte_tokenizer
from synthlab.language.config import LanguageConfig
from synthlab.language.trained import TrainedLanguage
from synthlab.output import tell
from synthlab.storage.store import IDENTITY, Store
from synthlab.training.devices import find_device

try:
    from transformers import AutoTokenizer  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.perplexity.models", "transformers", "lm")) from error

BYTES = "bytes"  # the name of the tokenizer of the lab's texts
GIVE = "give a folder of Transformers, a name on the hub, or a run of the lab, 16 hexadecimal digits"


class Opened(NamedTuple):
    """A model on its device, in evaluation mode, with its tokenizer.

    ``begin`` is the token with which the tokenizer begins a text; None if it adds none.
    """

    model: nn.Module
    tokenizer: Any
    name: str
    vocabulary: int
    begin: int | None
    begins_by_itself: bool


def open_with_tokenizer(settings: Settings) -> Opened:
    """Open the model and the tokenizer that the settings name.

    Raises InputError if they do not exist, or disagree.
    """
    device, dtype = find_device(settings.device), getattr(torch, settings.dtype)
    run = _run(settings)
    if run is None:
        _check_place(settings.model)
    with silence():
        model = (
            causal_model("model", settings.model, dtype=dtype)
            if run is None
            else cast(nn.Module, to_huggingface(run)).to(dtype)
        )
        tokenizer = _tokenizer(settings, run)
    vocabulary = int(cast(Any, model).get_input_embeddings().weight.shape[0]) if run is None else run.limits()[0]
    if tokenizer.vocab_size > vocabulary:
        raise InputError(
            f"tokenizer={settings.tokenizer or settings.model}: has {tokenizer.vocab_size} tokens; the model knows "
            f"{vocabulary}, so it must be another's"
        )
    begin = tokenizer.bos_token_id
    if begin is None and settings.bos in ("document", "window"):
        raise InputError(f"bos={settings.bos}: the tokenizer has no token to begin a text with; must be none")
    alone = tokenizer("", verbose=False)["input_ids"]
    model = model.to(device).eval()
    return Opened(model, tokenizer, settings.model, vocabulary, begin, begin is not None and alone[:1] == [begin])


def place_bos(settings: Settings, opened: Opened) -> str:
    """Return where the beginning-of-text token goes: by the settings, else by the tokenizer."""
    return settings.bos or ("document" if opened.begins_by_itself else "none")


def fingerprint_model(model: nn.Module) -> str:
    """Return a checksum of a model's config and weights."""
    told = cast(Any, model).config.to_dict()
    known = {key: value for key, value in told.items() if key not in ("_name_or_path", "transformers_version")}
    digest = hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode())
    for name, values in sorted(model.state_dict().items()):
        digest.update(f"{name} {values.dtype} {tuple(values.shape)}".encode())
        digest.update(_bytes_of(values))
    return digest.hexdigest()


def fingerprint_tokenizer(tokenizer: Any) -> str:
    """Return a checksum of a tokenizer's rules."""
    inner = getattr(tokenizer, "backend_tokenizer", None)
    told = json.dumps(sorted(tokenizer.get_vocab().items())) if inner is None else inner.to_str()
    special = json.dumps(tokenizer.special_tokens_map, sort_keys=True, default=str)
    return hashlib.sha256(f"{type(tokenizer).__name__} {special} {told}".encode()).hexdigest()


def _bytes_of(values: Tensor) -> Any:
    return values.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()  # a buffer, not a copy


def _run(settings: Settings) -> TrainedLanguage | None:
    """Open the run of the lab that is named, by its identity; None if it is no run."""
    if not IDENTITY.fullmatch(settings.model) or Path(settings.model).exists():
        return None
    record = Store(settings.runs).read(settings.model)
    if not isinstance(record.config, LanguageConfig):
        raise InputError(f"model={settings.model}: is a run of kind {record.config.kind}; must be a language model")
    if record.diverged_at is None and record.config.steps not in record.weights:
        raise InputError(f"model={settings.model}: its weights were not saved; train it with save=weights")
    return cast(TrainedLanguage, record.model())


def _check_place(name: str) -> None:
    """Raise InputError for a name that is neither a folder nor possible on the hub; announce requests to the hub."""
    if not Path(name).exists():
        if not _may_be_on_the_hub(name):
            raise InputError(f"model={name}: there is no such folder; {GIVE}")
        tell(f"model={name}: is no folder here; asking the hub")


def _tokenizer(settings: Settings, run: TrainedLanguage | None) -> Any:
    name = settings.tokenizer
    if name is None and run is not None:
        language = cast(LanguageConfig, run.record.config).task["name"]
        if language != "text":
            raise InputError(f"model={settings.model}: was trained on task={language}; only models of text read texts")
        name = BYTES
    if name == BYTES:
        return byte_tokenizer()
    with catch_load_errors("tokenizer", name or settings.model):
        return AutoTokenizer.from_pretrained(name or settings.model, trust_remote_code=False)


def _may_be_on_the_hub(name: str) -> bool:
    return not name.startswith((".", "/", "~")) and name.count("/") <= 1 and "\\" not in name
