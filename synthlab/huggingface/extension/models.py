"""The extended model: built from a pretrained one, saved and opened again."""

import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig  # pyright: ignore[reportMissingImports]

from synthlab.config.registry import validate
from synthlab.errors import InputError, format_error
from synthlab.huggingface.extension.methods import apply_method, rope_parameters
from synthlab.huggingface.extension.settings import Settings
from synthlab.huggingface.loading import catch_load_errors, causal_model
from synthlab.storage.files import parse_json

MODEL, SETTINGS, LOSSES = "model", "settings.json", "losses.json"
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
        return parse_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"output={path}: cannot be read ({format_error(error)})") from None
