"""Trained models: opened from a record, used for predictions, inspected, trained further."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from synthlab.errors import InputError
from synthlab.inspection.hooked import Activations, HookedTransformer, run_with_cache
from synthlab.models.transformer import Decoder
from synthlab.runs.registry import find_changed_classes, require_imported, show
from synthlab.storage.records import Record
from synthlab.storage.weights import check_step
from synthlab.training.devices import use_one_thread
from synthlab.training.execution import tabulate_curve, train_together
from synthlab.training.weights import load_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Prediction(NamedTuple):
    """A model's predictions for N sequences."""

    answer: Float[Tensor, "N ..."]  # in double precision: the predicted number, or the probability of each next token
    output: Float[Tensor, "N ..."]  # the model's output: a number in representation space, before clipping, or logits


class TrainedModel(ABC):
    """A trained model, from ``synthlab.train``, ``synthlab.load_model`` or ``Record.model``.

    Attributes:
        record: The record of its run: config, errors by length, training curve.
        step: The training step of the weights, by default the last. The record's errors are those after the last step.
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

    def __init__(self, record: Record, step: int | None = None):
        config = record.config
        if record.diverged_at is not None:
            raise InputError(f"record {config.id}: the run diverged at step {record.diverged_at}: there is no model")
        self.record = record
        self.step = config.steps
        if step is not None and check_step(step, config, f"step={show(step)}") <= record.training["step"].iloc[-1]:
            self.step = int(step)  # after a training that stopped before, the model is the last
        require_imported(config.model_dump())
        changed = ", ".join(find_changed_classes(config.model_dump()))
        if changed:
            warnings.warn(
                f"record {config.id}: {changed} has another source now than when the run was recorded; the model "
                "runs the present one",
                stacklevel=3,  # the caller of Record.model or load_model
            )
        self.module = self.build()
        weights = record.weights[self.step]() if self.step in record.weights else self._train_again()
        load_weights(self.module, weights, f"the weights of record {config.id} after step {self.step}")

    def _train_again(self) -> Mapping[str, Tensor]:
        """Return the weights, which were not saved, by training again."""
        record = self.record
        with use_one_thread():
            _, [training], [weights] = train_together([record.config], keep=[self.step])
        if training.diverged_at is not None:
            raise InputError(f"record {record.config.id}: trained again, the run diverges: there is no model")
        if not tabulate_curve(training).equals(record.training):
            warnings.warn(
                f"record {record.config.id}: trained again, the model has another training curve than recorded; the "
                "record may be of another machine or version of torch",
                stacklevel=4,
            )
        return weights[self.step]()

    def build(self) -> nn.Module:
        """Return a model of the run's architecture, with initial weights."""
        return self.record.config.load_family().build_models([self.record.config])

    @abstractmethod
    def limits(self) -> tuple[int, float]:
        """Return the number of symbols, and the length of the longest sequence that the model accepts."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Return the symbols of a sequence given as text. Raises InputError for invalid text."""

    @abstractmethod
    def respond(self, x: Int[Tensor, "N L"], lengths: Int[Tensor, " N"]) -> Prediction:
        """Return predictions for the first ``lengths`` symbols of each row; the rest is padding."""

    def tokens(self, x: Int[Tensor, "N L"]) -> tuple[Int[Tensor, "N T"], Int[Tensor, "N T"] | None]:
        """Return the tokens of sequences as ``hooked`` takes them, and their positions; None for 0, 1, 2, ...

        Implemented by decoders only, like ``prediction`` and ``token_text``.
        """
        raise NotImplementedError

    def prediction(self, outputs: Float[Tensor, "N T V"]) -> Prediction:
        """Return the prediction, from the outputs of ``hooked`` at every token."""
        raise NotImplementedError

    def token_text(self, token: int) -> str:
        """Return a token as text."""
        raise NotImplementedError

    @torch.no_grad()
    def predict(self, sequences: Any) -> Prediction:
        """Return the prediction for each sequence; BOS, EOS and positions are added as in training.

        Each call draws random positions from ``test_seed``, so equal calls give equal predictions.

        Args:
            sequences: Texts of any lengths, such as ``["0110", "1"]``; or symbols, an integer tensor [N, L].

        Raises:
            InputError: ``sequences`` is empty or of the wrong type, or a sequence is empty, too long for the encoding,
                or has unknown symbols.
        """
        return self.respond(*self._symbols(sequences))

    @property
    def hooked(self) -> HookedTransformer:
        """``module``, called with whole sequences of tokens; with a hook point at each place of docs/reference.md.

        Raises InputError for a model that is not a decoder of the lab.
        """
        if not isinstance(self.module, Decoder):
            kind = type(self.module).__name__
            raise InputError(f"model: {kind} has no named layers to inspect; use a Transformer of the lab")
        return HookedTransformer(self.module)

    def run_with_cache(self, sequences: Any, hooks: Iterable[Any] = ()) -> tuple[Prediction, Activations]:
        """Return the prediction, and what the model computes at each hook point.

        Args:
            sequences: N sequences of one length, as for ``predict``.
            hooks: Changes to make: pairs of a name and a function, as ``synthlab.inspection`` makes them
                (``zero_head``, ``replace_head``, ``patch``). The function takes the activation and its hook point, and
                returns a replacement or None.

        Returns:
            The prediction; and the activations by name, which print as names with shapes.

        Raises:
            InputError: As ``predict`` and ``hooked`` raise it; or the sequences differ in length, a name is unknown, or
                a hook returns a wrong shape.
        """
        x, lengths = self._symbols(sequences)
        if len(lengths.unique()) != 1:
            found = ", ".join(map(str, sorted(set(lengths.tolist()))))
            raise InputError(f"sequences: have lengths {found}; must have one length, to be inspected together")
        hooked, (tokens, positions) = self.hooked, self.tokens(x)
        outputs, values = run_with_cache(hooked, tokens, positions, hooks)
        texts = [list(map(self.token_text, row)) for row in tokens.tolist()]
        return self.prediction(outputs), Activations(values, texts)

    def run_with_hooks(self, sequences: Any, hooks: Iterable[Any]) -> Prediction:
        """Return the prediction with the changes of ``hooks``. Arguments and errors are those of ``run_with_cache``."""
        return self.run_with_cache(sequences, hooks)[0]

    def plot_attention(self, sequence: str | Tensor, path: str | os.PathLike[str] | None = None) -> "Figure":
        """Plot where each head attends on one sequence: a panel for each head, a row of panels for each layer.

        Args:
            sequence: A text, such as ``"0110"``; or its symbols, [1, L].
            path: Where to save the picture; the suffix decides the format. None saves none.

        Raises:
            InputError: As ``run_with_cache`` raises it; or there are several sequences.
        """
        from synthlab.inspection.pictures import attention  # matplotlib is imported only for plots

        return attention(self.run_with_cache([sequence] if isinstance(sequence, str) else sequence)[1], path)

    def _symbols(self, sequences: Any) -> tuple[Int[Tensor, "N L"], Int[Tensor, " N"]]:
        """Return the symbols of each sequence, right-padded with zeros, and the lengths. Raises InputError."""
        if isinstance(sequences, Tensor):
            x, kind = sequences, sequences.dtype
            if x.dim() != 2 or not x.numel() or kind.is_floating_point or kind.is_complex or kind == torch.bool:
                raise InputError(f"sequences: {kind} of shape {list(x.shape)}; must be integers [N, L], one or more")
            x, lengths = x.long(), torch.full((len(x),), x.shape[1])
        else:
            texts = [sequences] if isinstance(sequences, str) else list(sequences)
            if isinstance(sequences, str) or not all(isinstance(text, str) for text in texts):
                allowed = "a list of texts or an integer tensor [N, L]"
                raise InputError(f"sequences={show(sequences)}: must be {allowed}")
            rows = [torch.tensor(self.encode(text), dtype=torch.long) for text in texts]
            lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
            if not rows or not lengths.all():
                raise InputError("sequences: must be one or more, with one symbol or more each")
            x = pad_sequence(rows, batch_first=True)
        symbols, longest = self.limits()
        if not 0 <= int(x.min()) <= int(x.max()) < symbols:
            raise InputError(f"sequences: have symbols from {x.min()} to {x.max()}; must be 0 to {symbols - 1}")
        if x.shape[1] > longest:
            encoding = self.record.config.encoding["name"]
            raise InputError(f"sequences: one has {x.shape[1]} symbols; encoding={encoding} takes {longest:g}")
        return x, lengths
