"""The extended model: built from a pretrained one, saved and opened again."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig  # pyright: ignore[reportMissingImports]

from synthlab.errors import InputError, format_error
from synthlab.huggingface.extension.settings import MethodSettings, Settings
from synthlab.huggingface.loading import catch_load_errors, causal_model
from synthlab.runs.registry import validate

MODEL, SETTINGS, LOSSES = "model", "settings.json", "losses.json"
ROPE_TYPES = {"pi": "linear", "yarn": "yarn", "dynamic": "dynamic", "longrope": "longrope"}  # as Transformers says
OWN_LENGTH = ("plain", "dynamic", "clex")  # methods whose config keeps the original context length


def load_config(settings: Settings) -> Any:
    """Open the config of the pretrained model.

    Raises InputError for a model without plain RoPE, and if there is none.
    """
    with catch_load_errors("pretrained", settings.pretrained):
        config: Any = AutoConfig.from_pretrained(settings.pretrained, trust_remote_code=False)
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") != "default" or "rope_theta" not in rope:
        found = rope.get("rope_type", "no RoPE")
        raise InputError(f"pretrained={settings.pretrained}: has {found}; must have plain RoPE, of type default")
    return config


def trained_length(settings: Settings, config: Any) -> int:
    """Return N, the tokens of the original context."""
    return settings.trained or config.max_position_embeddings


def build_model(settings: Settings, device: str = "cpu") -> Any:
    """Open the pretrained model with the method of the settings, and with new adapters if they have any."""
    config, adapters, dtype = load_config(settings), settings.adapters, getattr(torch, settings.dtype)
    trained, plain = trained_length(settings, config), config.rope_parameters
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    width = int(head * plain.get("partial_rotary_factor", 1.0))
    config.rope_parameters = rope_parameters(settings.method, plain, width, settings.factor, trained)
    config.max_position_embeddings = trained * (1 if settings.method.name in OWN_LENGTH else settings.factor)
    # Trained weights are stored in 32 bits, or small changes would be lost.
    options: dict[str, Any] = {"config": config, "dtype": torch.float32 if adapters.name == "none" else dtype}
    if adapters.base == "nf4":
        from synthlab.huggingface.lora import four_bits

        options |= {"quantization_config": four_bits(dtype), "device_map": {"": device}}
    model = causal_model("pretrained", settings.pretrained, **options)
    model = apply_method(settings.method, model, settings.factor, trained, settings.seed).to(device)
    if adapters.name == "none":
        return model
    from synthlab.huggingface.lora import with_lora

    return with_lora(model, **adapters.model_dump(exclude={"name", "base"}), seed=settings.seed)


def rope_parameters(
    method: MethodSettings, plain: Mapping[str, Any], width: int, factor: int, trained: int
) -> dict[str, Any]:
    """Return the ``rope_parameters`` of the extended model.

    Args:
        method: The method: position interpolation (``pi``, arXiv 2306.15595), NTK-aware interpolation (``ntk``, as in
            ``extensions.NTK``; ``dynamic``, by the length of each text), YaRN (arXiv 2309.00071), LongRoPE (arXiv
            2402.13753) without its search, or CLEX (arXiv 2310.16450), which is applied to the opened model.
        plain: The ``rope_parameters`` of the model, with ``rope_theta``.
        width: The rotated dimensions of a head.
        factor: How many times longer the context becomes.
        trained: The number of tokens of the original context.

    Raises:
        InputError: The method does not fit the width.
    """
    if method.name == "ntk":
        if width < 4:
            raise InputError(f"method=ntk: needs heads of 4 rotated dimensions or more; the model's have {width}")
        return {**plain, "rope_theta": plain["rope_theta"] * factor ** (width / (width - 2))}
    if method.name not in ROPE_TYPES:
        return dict(plain)
    given = {**plain, "rope_type": ROPE_TYPES[method.name], "factor": float(factor)}
    if method.name in ("yarn", "longrope"):
        given["original_max_position_embeddings"] = trained
    if method.name == "longrope":
        for name, divisors, least in (("short", method.short, 1.0), ("long", method.long, float(factor))):
            if divisors is not None and len(divisors) != width // 2:
                raise InputError(
                    f"method.{name}={divisors}: must have {width // 2} numbers, one for each pair of dimensions"
                )
            given[f"{name}_factor"] = divisors or [least] * (width // 2)
    return given


def apply_method(
    method: MethodSettings, model: Any, factor: int, trained: int, seed: int, weights: Path | None = None
) -> Any:
    """Return an opened model with a method's changes beyond settings.

    ``weights`` is a saved model to load trained weights of CLEX from.
    """
    if method.name == "dynamic":
        # Transformers 5.23 keeps the frequencies of the longest text so far, also for a later one of N tokens.
        model.base_model.rotary_emb.register_forward_pre_hook(_forget_longer_texts)
    if method.name == "clex":
        from synthlab.huggingface.clex import with_clex

        return with_clex(model, factor, trained, method.hidden, method.steps, seed, weights)
    return model


def _forget_longer_texts(rotary: Any, args: tuple[Any, ...]) -> None:
    rotary.max_seq_len_cached = rotary.original_max_seq_len
    rotary.register_buffer("inv_freq", rotary.original_inv_freq.to(rotary.inv_freq.device), persistent=False)


def save(model: Any, tokenizer: Any, settings: Settings) -> Path:
    """Save the trained model atomically into the folder ``model`` of the output; return its path."""
    if settings.merge and settings.adapters.name != "none":
        from synthlab.huggingface.lora import merged

        model = merged(model)
    whole, partial = Path(settings.output, MODEL), Path(settings.output, f".partial-{MODEL}")
    shutil.rmtree(partial, ignore_errors=True)
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    partial.rename(whole)
    return whole


def load(output: str | Path) -> Any:
    """Open the model that a finished extension has saved, in evaluation mode, on the CPU.

    Args:
        output: The folder ``output`` of ``synthlab extend``.

    Raises:
        InputError: There is no finished extension, or its files are damaged, or the pretrained model, which adapters
            need, no longer exists.
    """
    folder = Path(output, MODEL)
    settings = read_settings(Path(output))
    if settings is None or not folder.is_dir():
        raise InputError(f"output={output}: holds no finished extension")
    if settings.merge or settings.adapters.name == "none":
        model = causal_model("output", folder)
        trained = trained_length(settings, model.config)  # of CLEX, the only method that needs it
        with catch_load_errors("output", folder):
            return apply_method(settings.method, model, settings.factor, trained, settings.seed, folder).eval()
    import peft  # pyright: ignore[reportMissingImports]

    # Built as for training, from the pretrained model and new adapters, which then get the trained values.
    model = build_model(settings)
    with catch_load_errors("output", folder):
        peft.set_peft_model_state_dict(model, peft.load_peft_weights(str(folder), device="cpu"))
    return model.eval()


def read_settings(output: Path) -> Settings | None:
    """Read the settings of the extension in a folder; None if there is none. Raises InputError for damaged ones."""
    raw = read_json(output / SETTINGS)
    return None if raw is None else validate(Settings, raw, "")


def read_json(path: Path) -> Any:
    """Return the content of a file of an extension; None if there is none. Raises InputError for a damaged one."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"output={path}: cannot be read ({format_error(error)})") from None
