"""The settings of an extension, checked as far as possible without the model; ``conf/extend.yaml`` describes each."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, NonNegativeFloat, PositiveFloat

from synthlab.longshort.regularizer import Distance
from synthlab.runs.registry import STRICT
from synthlab.runs.run import Member, Seed

Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Divisors = list[Annotated[float, Field(ge=1, le=10**6)]] | None

BOOKKEEPING = ("resume", "output", "device", "merge")  # settings that change nothing in training, except rounding


class MethodSettings(BaseModel):
    """A method, with the keys of LongRoPE and those of CLEX."""

    model_config = STRICT
    name: Literal["plain", "pi", "ntk", "yarn", "dynamic", "longrope", "clex"]
    short: Divisors = None
    long: Divisors = None
    hidden: Annotated[int, Field(ge=1, le=10**6)] = 1
    steps: Annotated[int, Field(ge=1, le=10**6)] = 8


class AdapterSettings(BaseModel):
    """The arguments of ``with_lora``, and the precision of the other weights."""

    model_config = STRICT
    name: Literal["none", "lora"]
    rank: Count = 64
    alpha: PositiveFloat = 16.0
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.05
    layers: Literal["all-linear"] | Annotated[list[str], Field(min_length=1)] = "all-linear"
    train: list[Literal["embeddings", "norms"]] = []
    base: Literal["full", "nf4"] = "full"


class AlignmentSettings(BaseModel):
    """The settings of the regularizer."""

    model_config = STRICT
    alpha: NonNegativeFloat
    low: Share
    high: Share
    context: Share
    distance: Distance


class TrainingSettings(BaseModel):
    """The settings of training."""

    model_config = STRICT
    steps: Count
    batch: Count
    accumulate: Count
    optimizer: Text
    lr: Annotated[float, Field(gt=0, le=10**6)]
    warmup: NonNegativeFloat
    schedule: Literal["linear", "cosine", "constant", "constant_with_warmup"]
    clip: PositiveFloat
    weight_decay: NonNegativeFloat
    save_every: Count
    checkpointing: bool


class EvaluationSettings(BaseModel):
    """The settings of evaluation."""

    model_config = STRICT
    texts: Count
    held_out: Annotated[float, Field(gt=0, lt=1)]


class Settings(BaseModel):
    """All settings."""

    model_config = STRICT
    pretrained: Text
    texts: Text
    output: Text
    resume: bool
    method: MethodSettings
    positions: Member
    pattern: Member
    adapters: AdapterSettings
    factor: Annotated[int, Field(ge=1, le=1000)]
    trained: Count | None
    window: Annotated[int, Field(ge=2, le=10**9)] | None
    alignment: AlignmentSettings
    training: TrainingSettings
    evaluation: EvaluationSettings
    merge: bool
    dtype: Literal["bfloat16", "float16", "float32"]
    device: Literal["auto", "cpu", "cuda"]
    seed: Seed
