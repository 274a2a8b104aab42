"""The training of an extension, by a Trainer."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn
from transformers import (  # pyright: ignore[reportMissingImports]
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer import TRAINER_STATE_NAME  # pyright: ignore[reportMissingImports]
from transformers.trainer_utils import get_last_checkpoint  # pyright: ignore[reportMissingImports]

from synthlab.errors import InputError, format_error
from synthlab.huggingface.aligned_trainer import AlignedTrainer, Alignment
from synthlab.huggingface.collator import PositionCollator
from synthlab.huggingface.extension.settings import Settings
from synthlab.huggingface.extension.texts import Windows
from synthlab.output import tell
from synthlab.positions.sampler_base import PositionSampler

CHECKPOINTS = "checkpoints"


@dataclass
class WindowPlan:
    """The windows of an extension's training.

    Attributes:
        window: The number of tokens of each.
        sampler: The sampler of their positions; None: 0, 1, 2, ....
        settings: The settings of the extension.
        alignment: The regularizer, if the settings have one.
        row: The number of tokens of a text from which a step takes its windows.
    """

    window: int
    sampler: PositionSampler | None
    settings: Settings

    def __post_init__(self):
        given = self.settings.alignment
        gathered = None if self.sampler is None else self.sampler.text_length(self.window)
        self.row, self.alignment = gathered or self.window, None
        if given.alpha:
            if gathered:
                raise InputError(
                    f"alignment.alpha={given.alpha:g}: compares windows of contiguous text, which "
                    f"positions.text={self.settings.positions['text']} does not give; set it to null"
                )
            self.alignment = Alignment(self.window, **given.model_dump(), seed=self.settings.seed)
            self.row = self.window + self.alignment.extras[1]


def train_in_place(
    model: Any, rows: Windows, plan: WindowPlan, settings: Settings, arguments: TrainingArguments
) -> None:
    """Train a model in place, continuing from the last checkpoint if there is one."""
    folder = Path(settings.output, CHECKPOINTS)
    shared: dict[str, Any] = {"callbacks": [_PrintProgress()]}
    if plan.sampler is not None:
        collator = PositionCollator(plan.sampler, length=plan.window, seed=settings.seed)
        shared = {"callbacks": [_PrintProgress(), collator], "data_collator": collator}
    kind = Trainer
    if plan.alignment is not None:
        kind, shared = AlignedTrainer, shared | {"alignment": plan.alignment}
    trainer = kind(model, arguments, train_dataset=rows, **shared)
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=_last_whole(folder))


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
    try:
        arguments = _arguments(settings, device)
        stand_in: Any = nn.Identity()  # some optimizers need a model to be found
        Trainer.get_optimizer_cls_and_kwargs(arguments, stand_in)  # raises if the optimizer is not installed
        return arguments
    except (ValueError, ImportError, RuntimeError) as error:
        raise InputError(f"training: {format_error(error)[:300]}") from None


def _arguments(settings: Settings, device: str) -> TrainingArguments:
    how = settings.training
    return TrainingArguments(
        str(Path(settings.output, CHECKPOINTS)),
        max_steps=how.steps,
        per_device_train_batch_size=how.batch,
        gradient_accumulation_steps=how.accumulate,
        optim=how.optimizer,
        learning_rate=how.lr,
        warmup_steps=how.warmup,
        lr_scheduler_type=how.schedule,
        max_grad_norm=how.clip,
        weight_decay=how.weight_decay,
        activation_checkpointing=how.checkpointing,
        activation_checkpointing_kwargs={"use_reentrant": False},  # the reentrant way needs gradients of the embeddings
        bf16=settings.dtype == "bfloat16",
        fp16=settings.dtype == "float16",
        use_cpu=device == "cpu",
        dataloader_pin_memory=device != "cpu",
        seed=settings.seed % 2**32,
        save_strategy="steps",
        save_steps=how.save_every,
        save_total_limit=1,
        logging_steps=max(1, how.steps // 20),
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
    )


class _PrintProgress(TrainerCallback):
    """A callback that prints progress on standard error."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        numbers = {key: value for key, value in (logs or {}).items() if key in ("loss", "training", "misalignment")}
        if numbers:
            said = ", ".join(f"{key} {value:.4g}" for key, value in numbers.items())
            tell(f"step {state.global_step} of {state.max_steps}: {said}")
