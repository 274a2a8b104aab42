"""``synthlab extend``: extend the context of a causal model of Hugging Face by fine-tuning."""

from typing import Any

from synthlab.cli import hydra_app
from synthlab.errors import require


def task(raw: dict[str, Any]) -> bool:
    """Check the settings and extend the model."""
    adapted = ["peft"] * (raw["adapters"].get("name") != "none")  # with_lora checks for bitsandbytes if it needs it
    require("extend", "transformers", "accelerate", *adapted, what="synthlab extend")
    from synthlab.huggingface.extension.extend_model import extend
    from synthlab.huggingface.extension.settings import Settings
    from synthlab.runs.registry import validate

    extend(validate(Settings, {key: value for key, value in raw.items() if key != "recipe"}, ""))
    return True


def main() -> None:
    """Run ``synthlab extend``."""
    no_sweeps = "a model is extended by one run; it is not swept"
    kept = "the last checkpoint is kept; the same command with resume=true goes on from there"
    hydra_app.main(task, "extend", no_sweeps, interrupted=kept)


if __name__ == "__main__":
    main()
