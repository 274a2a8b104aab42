"""The training of an extension, by a Trainer."""

import math
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from jaxtyping import Int
from torch import Tensor, nn
from transformers import (  # pyright: ignore[reportMissingImports]
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer import TRAINER_STATE_NAME  # pyright: ignore[reportMissingImports]
from transformers.trainer_utils import get_last_checkpoint  # pyright: ignore[reportMissingImports]

from synthlab.errors import InputError, format_error
from synthlab.finetuning.patterns import PATTERNS
from synthlab.huggingface.aligned_trainer import AlignedTrainer, Alignment
from synthlab.huggingface.collator import PositionCollator
from synthlab.huggingface.extension.settings import Settings
from synthlab.output import print_err
from synthlab.positions.samplers import SAMPLERS, PositionSampler

CHECKPOINTS = "checkpoints"


class WindowPlan(NamedTuple):
    """The windows of an extension's training, and the regularizer if the settings have one."""

    window: int  # the number of tokens of each
    row: int  # the number of tokens of a text from which a step takes its windows
    sampler: PositionSampler | None  # of their positions; None: 0, 1, 2, ...
    alignment: Alignment | None


def plan_windows(settings: Settings, trained: int, heads: int) -> WindowPlan:
    """Return the plan of windows for the model's context and heads. Raises InputError if it does not fit."""
    full, contiguous = settings.factor * trained, settings.positions["name"] == "contiguous"
    window = settings.window or (full if contiguous else trained)
    given = dict(settings.positions)
    if "factor" in given and given["factor"] is None:
        given["factor"] = math.ceil(full / window)
    sampler = SAMPLERS.build(given)
    if settings.method.name == "clex" and min(sampler.reach(window), full) <= trained:
        raise InputError(
            f"method=clex: has weights that only training beyond {trained} tokens affects; choose larger "
            f"positions, such as positions=clex, or a larger window than {window}, and a factor of 2 or more"
        )
    PATTERNS.build(settings.pattern).mask(heads, window)
    gathered, alignment, alpha = sampler.text_length(window), None, settings.alignment.alpha
    if alpha and gathered:
        raise InputError(
            f"alignment.alpha={alpha:g}: compares windows of contiguous text, which "
            f"positions.text={settings.positions['text']} does not give; set it to null"
        )
    if alpha:
        alignment = Alignment(window, **settings.alignment.model_dump(), seed=settings.seed)
    row = gathered or window + (alignment.extras[1] if alignment else 0)
    return WindowPlan(window, row, None if contiguous else sampler, alignment)


def train_in_place(
    model: Any, rows: Int[Tensor, "M row"], plan: WindowPlan, settings: Settings, arguments: TrainingArguments
) -> None:
    """Train a model in place, continuing from the last checkpoint if there is one."""
    given: dict[str, Any] = {"train_dataset": [{"input_ids": row, "labels": row} for row in rows]}
    given["callbacks"] = callbacks = list[Any]([_PrintProgress()])
    if plan.sampler is not None:
        given["data_collator"] = PositionCollator(plan.sampler, length=plan.window, seed=settings.seed)
        callbacks.append(given["data_collator"])
    if plan.alignment is None:
        trainer = Trainer(model, arguments, **given)
    else:
        trainer = AlignedTrainer(model, arguments, alignment=plan.alignment, **given)
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=_last_whole(Path(settings.output, CHECKPOINTS)))


def _last_whole(folder: Path) -> str | None:
    """Return the last complete checkpoint, whose state is written last; delete incomplete ones after it."""
    while folder.is_dir() and (last := get_last_checkpoint(str(folder))):
        if Path(last, TRAINER_STATE_NAME).exists():
            return last
        shutil.rmtree(last)
    return None


def make_arguments(settings: Settings, device: str) -> TrainingArguments:
    """Return the settings in the form of Transformers.

    Raises InputError for settings that it refuses, before anything is written.
    """
    how = settings.training
    given: dict[str, Any] = {
        "output_dir": str(Path(settings.output, CHECKPOINTS)),
        "max_steps": how.steps,
        "per_device_train_batch_size": how.batch,
        "gradient_accumulation_steps": how.accumulate,
        "optim": how.optimizer,
        "learning_rate": how.lr,
        "warmup_steps": how.warmup,
        "lr_scheduler_type": how.schedule,
        "max_grad_norm": how.clip,
        "weight_decay": how.weight_decay,
        "activation_checkpointing": how.checkpointing,
        # The reentrant way needs gradients of the embeddings.
        "activation_checkpointing_kwargs": {"use_reentrant": False},
        "bf16": settings.dtype == "bfloat16",
        "fp16": settings.dtype == "float16",
        "use_cpu": device == "cpu",
        "dataloader_pin_memory": device != "cpu",
        "seed": settings.seed % 2**32,
        "save_strategy": "steps",
        "save_steps": how.save_every,
        "save_total_limit": 1,
        "logging_steps": max(1, how.steps // 20),
        "report_to": [],
        "disable_tqdm": True,
        "remove_unused_columns": False,
    }
    try:
        arguments = TrainingArguments(**given)
        stand_in: Any = nn.Identity()  # some optimizers need a model to be found
        Trainer.get_optimizer_cls_and_kwargs(arguments, stand_in)  # raises if the optimizer is not installed
        return arguments
    except (ValueError, ImportError, RuntimeError) as error:
        raise InputError(f"training: {format_error(error)[:300]}") from None


class _PrintProgress(TrainerCallback):
    """A callback that prints progress on standard error."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        numbers = {key: value for key, value in (logs or {}).items() if key in ("loss", "training", "misalignment")}
        if numbers:
            losses = ", ".join(f"{key} {value:.4g}" for key, value in numbers.items())
            print_err(f"step {state.global_step} of {state.max_steps}: {losses}")
