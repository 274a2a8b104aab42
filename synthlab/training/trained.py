"""Trained models to hold: opened from a record, asked for answers, looked into, trained further."""

import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from synthlab.errors import InputError
from synthlab.storage.records import Record
from synthlab.training.devices import one_thread
from synthlab.training.execution import curve, fit
from synthlab.training.weights import load_weights, weights_file


class Prediction(NamedTuple):
    """What a model says of N sequences.

    Attributes:
        answer: In natural units and double precision: for tasks the number asked for, for languages the probability
            of each next token.
        output: What the model puts out: for tasks a number in representation space, not clipped, for languages logits.
    """

    answer: Float[Tensor, "N ..."]
    output: Float[Tensor, "N ..."]


class TrainedModel(ABC):
    """A trained model, from ``synthlab.train``, ``synthlab.load_model`` or ``Record.model``.

    Attributes:
        record: The record of its run: config, errors by length, training curve.
        module: The model, a ``torch.nn.Module`` on the CPU that can be trained further. It is an ensemble of one: every
            parameter, input and output has a first dimension of size 1.

    Example:
        >>> import torch, synthlab
        >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
        >>> model = synthlab.train(task="sum", protocol=short, progress=False)
        >>> model.predict(["0110", "1"]).answer.shape
        torch.Size([2])
        >>> x = torch.tensor([[0, 1, 1, 0]])
        >>> bool(model.module(x[None])[0, 0, -1] == model.predict(x).output)  # [1, 1, 4]: for every prefix
        True
    """

    def __init__(self, record: Record):
        config = record.config
        if record.diverged_at is not None:
            raise InputError(f"record {config.id}: the run diverged at step {record.diverged_at}: there is no model")
        self.record = record
        self.module = self.build()
        load_weights(self.module, _trained_again(record) if record.weights is None else record.weights, config)

    def build(self) -> nn.Module:
        """The model as training leaves it, but for its weights."""
        return self.record.config.family.build_models([self.record.config])

    @abstractmethod
    def limits(self) -> tuple[int, float]:
        """How many symbols there are, and the longest sequence that the model can be given."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The symbols of a sequence given as text. Raises InputError for what is none."""

    @abstractmethod
    def respond(self, x: Int[Tensor, "N L"], lengths: Int[Tensor, " N"]) -> Prediction:
        """What the model says of the first ``lengths`` symbols of each row; what follows them is padding."""

    @torch.no_grad()
    def predict(self, sequences: Any) -> Prediction:
        """Answer for each sequence; BOS, EOS and positions are added as in training.

        Args:
            sequences: Texts of any lengths, a list such as ``["0110", "1"]`` or another iterable; or symbols, an
                integer tensor [N, L].

        Returns:
            The answers, and what the model puts out.

        Raises:
            InputError: It is neither, or there is no sequence, or one is empty, too long for the encoding or of other
                symbols.
        """
        x, lengths = _rows(sequences) if isinstance(sequences, Tensor) else self._padded(sequences)
        symbols, longest = self.limits()
        if not 0 <= int(x.min()) <= int(x.max()) < symbols:
            raise InputError(f"sequences: have symbols from {x.min()} to {x.max()}; must be 0 to {symbols - 1}")
        if x.shape[1] > longest:
            encoding = self.record.config.encoding["name"]
            raise InputError(f"sequences: one has {x.shape[1]} symbols; encoding={encoding} takes {longest:g}")
        return self.respond(x, lengths)

    def _padded(self, texts: Any) -> tuple[Int[Tensor, "N L"], Int[Tensor, " N"]]:
        """The symbols of all texts, with zeros behind the shorter ones, and the lengths."""
        rows = [torch.tensor(self.encode(text), dtype=torch.long) for text in _texts(texts)]
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        if not rows or not lengths.all():
            raise InputError("sequences: there must be one or more, of one symbol or more")
        return pad_sequence(rows, batch_first=True), lengths


def _texts(sequences: Any) -> list[str]:
    try:
        texts: list[Any] = [None] if isinstance(sequences, str) else list(sequences)
    except TypeError:  # it has no items
        texts = [None]
    if not all(isinstance(text, str) for text in texts):
        told = " ".join(repr(sequences).split())
        raise InputError(f"sequences={told:.40}: must be a list of texts or an integer tensor [N, L]")
    return texts


def _rows(x: Tensor) -> tuple[Int[Tensor, "N L"], Int[Tensor, " N"]]:
    if x.dim() != 2 or not x.numel() or x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise InputError(f"sequences: {x.dtype} of shape {list(x.shape)}; must be integers [N, L], one or more")
    return x.long(), torch.full((len(x),), x.shape[1])


def _trained_again(record: Record) -> bytes:
    """The weights of a record that has none."""
    config = record.config
    with one_thread():
        ensemble, (training,) = fit([config])
    if not curve(training).equals(record.training):
        warnings.warn(
            f"record {config.id}: trained again, the model has another training curve than recorded; the record may be "
            f"of another machine or version of torch",
            stacklevel=5,  # the caller of Record.model or load_model, each of which calls open_model
        )
    return weights_file(ensemble, 0, [config])
