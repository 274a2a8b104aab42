"""Trained models to hold: opened from a record, asked for answers, looked into, trained further."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from synthlab.config.argument_checks import check_arguments, read_list, shorten
from synthlab.config.registry import describe_unknown, forbid_imports, show
from synthlab.errors import InputError
from synthlab.inspection.activations import Activations, run_with_cache, run_with_hooks
from synthlab.inspection.hooked import HookedTransformer
from synthlab.models.transformer import Decoder
from synthlab.storage.checkpoints import check_step
from synthlab.storage.records import Record
from synthlab.training.memory import check_answerable
from synthlab.training.retraining import train_again
from synthlab.training.weights import load_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST, ALLOWED = 10**6, "a list of texts or an integer tensor [N, L]"  # sequences of one call; what errors say


class Prediction(NamedTuple):
    """What a model says of N sequences."""

    answer: Float[Tensor, "N ..."]  # in double precision: the number asked for, or the probability of each next token
    output: Float[Tensor, "N ..."]  # of the model: a number in representation space, not clipped, or logits


class TrainedModel(ABC):
    """A trained model, from ``synthlab.train``, ``synthlab.load_model`` or ``Record.model``.

    Attributes:
        record: The record of its run: config, errors by length, training curve.
        step: After how many steps of training it is: all of the run's, unless another number was asked for. The
            record's errors are those after the last.
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

    _hooked: HookedTransformer | None = None

    def __init__(self, record: Record, step: int | None = None):
        config = record.config
        if record.diverged_at is not None:
            raise InputError(f"record {config.id}: the run diverged at step {record.diverged_at}: there is no model")
        self.record = record
        self.step = config.steps if step is None else check_step(step, config, f"step={show(step)}")
        with forbid_imports():
            self.module = self.build()
            kept = record.weights.get(self.step)
            weights = train_again(record, self.step) if kept is None else kept()
        load_weights(self.module, weights, config, self.step)

    def build(self) -> nn.Module:
        """The model as training leaves it, but for its weights. All that answering needs is made here, or was before:
        here no module is imported that the record names."""
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

    def tokens(self, x: Int[Tensor, "N L"]) -> tuple[Int[Tensor, "N T"], Int[Tensor, "N T"] | None]:
        """The tokens of sequences as ``hooked`` takes them, and their positions; None for 0, 1, 2, ... Like the next
        two, it is overridden where models are decoders."""
        raise NotImplementedError

    def prediction(self, outputs: Float[Tensor, "N T V"]) -> Prediction:
        """What the model says, from the outputs of ``hooked`` at every token."""
        raise NotImplementedError

    def token_text(self, token: int) -> str:
        """A token in writing."""
        raise NotImplementedError

    @torch.no_grad()
    def predict(self, sequences: Any) -> Prediction:
        """Answer for each sequence; BOS, EOS and positions are added as in training. Random positions are drawn by
        ``test_seed`` in each call, so that the same call gives the same answers.

        Args:
            sequences: Texts of any lengths, such as ``["0110", "1"]``; or symbols, an integer tensor [N, L].

        Raises:
            InputError: There is no sequence, or one is empty, too long for the encoding or of other symbols.
        """
        return self.respond(*self._symbols(sequences))

    @property
    def hooked(self) -> HookedTransformer:
        """The model as a ``torch.nn.Module`` that takes tokens, with a hook point at each place of ``docs/inside.md``.
        Its layers are those of ``module``. It is the same each time. Raises InputError for a model that is no decoder
        of the lab.

        Example:
            >>> import torch, synthlab
            >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
            >>> model = synthlab.train(task="sum", protocol=short, progress=False)
            >>> tokens = torch.tensor([[2, 0, 1, 1, 0, 3]])  # BOS, the symbols, EOS
            >>> model.hooked(tokens)[0, -1].allclose(model.predict(["0110"]).output)
            True
        """
        if not isinstance(self.module, Decoder):
            kind = type(self.module).__name__
            raise InputError(f"model: {kind} has no layers with names to look into; a Transformer of the lab has")
        if self._hooked is None:
            self._hooked = HookedTransformer(self.module)
        return self._hooked

    @check_arguments
    def run_with_cache(self, sequences: Any, hooks: Iterable[Any] = ()) -> tuple[Prediction, Activations]:
        """What the model says, and what it computes at each hook point on the way.

        Args:
            sequences: N sequences of one length, as for ``predict``.
            hooks: Changes to make on the way: pairs of a name and a function, as ``synthlab.inspection`` makes them
                (``zero_head``, ``replace_head``, ``patch``). The function is given the activation there and its hook
                point, and returns what takes its place, or None.

        Returns:
            The answers; and the activations by name, which print as names with shapes.

        Raises:
            InputError: As of ``predict`` and ``hooked``; or the sequences differ in length, there is no such name, or
                what a hook returns does not fit.

        Example:
            >>> import synthlab
            >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
            >>> model = synthlab.train(task="sum", protocol=short, progress=False)
            >>> prediction, activations = model.run_with_cache(["0110", "1111"])
            >>> list(activations["blocks.0.attn.hook_pattern"].shape)  # sequences, heads, queries, keys
            [2, 4, 6, 6]
        """
        hooked, tokens, positions = self._prepare_hooked(sequences)
        outputs, values = run_with_cache(hooked, tokens, positions, hooks)
        texts = [list(map(self.token_text, row)) for row in tokens.tolist()]
        return self.prediction(outputs), Activations(values, texts)

    @check_arguments
    def run_with_hooks(self, sequences: Any, hooks: Iterable[Any]) -> Prediction:
        """What the model says when ``hooks`` change what it computes. Takes and raises what ``run_with_cache`` does.

        Example:
            >>> import synthlab
            >>> from synthlab.inspection import zero_head
            >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
            >>> model = synthlab.train(task="sum", protocol=short, progress=False)
            >>> changed = model.run_with_hooks(["0110"], [zero_head(0, 2)])  # layer 0, head 2
            >>> bool(changed.output == model.predict(["0110"]).output)
            False
        """
        return self.prediction(run_with_hooks(*self._prepare_hooked(sequences), hooks))

    @check_arguments
    def plot_attention(self, sequence: str | Tensor, path: str | os.PathLike[str] | None = None) -> "Figure":
        """Draw where each head attends on one sequence: a panel for each head, a row of panels for each layer.

        Args:
            sequence: A text, such as ``"0110"``; or its symbols, [1, L].
            path: Where to save the picture; the suffix decides the format. None saves none.

        Raises:
            InputError: As of ``run_with_cache``; or there are several sequences.

        Example:
            >>> import synthlab
            >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
            >>> model = synthlab.train(task="sum", protocol=short, progress=False)
            >>> figure = model.plot_attention("0110", path="attention.png")
            >>> [axes.get_title() for axes in figure.axes[:2]]
            ['layer 0, head 0', 'layer 0, head 1']
        """
        from synthlab.inspection.pictures import attention  # matplotlib is loaded when something is drawn

        return attention(self.run_with_cache([sequence] if isinstance(sequence, str) else sequence)[1], path)

    @check_arguments
    def plot_error(self, metric: str | None = None, path: str | os.PathLike[str] | None = None) -> "Figure":
        """Draw a metric of the record against length, the training lengths shaded.

        Args:
            metric: One of the record's. None draws the primary one: ``mse``, ``exact`` or ``loss``.
            path: Where to save the picture; the suffix decides the format. None saves none.

        Raises:
            InputError: The record does not have the metric.

        Example:
            >>> import synthlab
            >>> short = {"steps": 2, "batch": 4, "record_every": 1}  # 2 training steps, to be quick
            >>> model = synthlab.train(task="sum", protocol=short, progress=False)
            >>> model.plot_error(path="error.png").axes[0].get_xlabel()
            'sequence length'
        """
        from synthlab.inspection.pictures import plot_by_length

        config = self.record.config
        measures = config.measures()
        known = {name: each.label for name, each in measures.metrics.items() if name in self.record.metrics}
        metric = measures.primary if metric is None else metric
        if metric not in known:
            raise InputError(describe_unknown("metric", metric, known))
        return plot_by_length(self.record.metrics, metric, known[metric], config.train_length, path)

    def _prepare_hooked(
        self, sequences: Any
    ) -> tuple[HookedTransformer, Int[Tensor, "N T"], Int[Tensor, "N T"] | None]:
        """What is run to look inside: the plain module, the tokens of sequences of one length, and their positions."""
        x, lengths = self._symbols(sequences)
        if len(lengths.unique()) != 1:
            found = ", ".join(map(str, sorted(set(lengths.tolist()))))
            raise InputError(f"sequences: have lengths {found}; must have one, to be looked into together")
        hooked = self.hooked
        check_answerable(self.record.config, x.shape[1], len(x) * len(hooked.blocks))
        return (hooked, *self.tokens(x))

    def _symbols(self, sequences: Any) -> tuple[Int[Tensor, "N L"], Int[Tensor, " N"]]:
        """The symbols of each sequence, with zeros behind shorter ones, and the lengths. Raises InputError."""
        x, lengths = self._rows(sequences) if isinstance(sequences, Tensor) else self._pad(sequences)
        symbols, longest = self.limits()
        if not 0 <= int(x.min()) <= int(x.max()) < symbols:
            raise InputError(f"sequences: have symbols from {x.min()} to {x.max()}; must be 0 to {symbols - 1}")
        if x.shape[1] > longest:
            encoding = self.record.config.encoding["name"]
            raise InputError(f"sequences: one has {x.shape[1]} symbols; encoding={encoding} takes {longest:g}")
        check_answerable(self.record.config, x.shape[1])
        return x, lengths

    def _rows(self, x: Tensor) -> tuple[Int[Tensor, "N L"], Int[Tensor, " N"]]:
        """Sequences given as a tensor, and their lengths."""
        if x.dim() != 2 or not x.numel() or x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
            raise InputError(f"sequences: {x.dtype} of shape {list(x.shape)}; must be integers [N, L], one or more")
        return x.long(), torch.full((len(x),), x.shape[1])

    def _pad(self, sequences: Any) -> tuple[Int[Tensor, "N L"], Int[Tensor, " N"]]:
        """The symbols of all texts, with zeros behind the shorter ones, and the lengths."""
        texts: list[Any] = [None] if isinstance(sequences, str) else read_list("sequences", sequences, MOST, ALLOWED)
        if not all(isinstance(text, str) for text in texts):
            raise InputError(f"sequences={shorten(sequences)}: must be {ALLOWED}")
        rows = [torch.tensor(self.encode(text), dtype=torch.long) for text in texts]
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.long)
        if not rows or not lengths.all():
            raise InputError("sequences: there must be one or more, of one symbol or more")
        return pad_sequence(rows, batch_first=True), lengths
