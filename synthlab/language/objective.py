"""The objective of language models: cross-entropy of next tokens, with or without the regularizer (equation 4)."""

from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from synthlab.finetuning.adapters import AdaptedModel
from synthlab.finetuning.patterns import PATTERNS
from synthlab.language.languages import TASKS
from synthlab.language.run import LanguageRun
from synthlab.longshort.regularizer import combine_losses, draw_extra, next_token_loss
from synthlab.models.encodings.base import Encoding, encoding_of
from synthlab.positions.samplers import SAMPLERS
from synthlab.rng import stream


class WindowLoss:
    """The losses [E] of an ensemble on the next batch of windows: model e is trained as ``configs[e]`` says.

    They are those of the first training, or of the second, ``again``. The regularizer, the sampler of positions and the
    attention pattern apply only in the last training. ``adapted`` is the model with adapters, if it has any.
    """

    def __init__(
        self,
        model: nn.Module,
        configs: Sequence[LanguageRun],
        device: torch.device | str = "cpu",
        again: bool = False,
        adapted: AdaptedModel | None = None,
    ):
        first = configs[0]
        self.model, self.configs, self.device, self.adapted = model, configs, device, adapted
        self.length = (again and first.finetune.length) or first.train_length
        is_last = again or not first.finetune.steps
        self.windows = first.alignment.windows if is_last else 1
        sampled = is_last and first.positions is not None
        self.samplers = [SAMPLERS.build(first.positions) for _ in configs] if sampled else []
        self.mask = None
        if is_last and first.pattern is not None:
            self.mask = PATTERNS.build(first.pattern).mask(first.model["heads"], self.length).to(device)
        self.language = TASKS.build(first.task)
        self.text_generators, self.position_generators, self.offset_generators = (
            [stream(config.data_seed, f"{name}_again" if again else name) for config in configs]
            for name in ("training", "positions", "windows")
        )

    @property
    def is_static(self) -> bool:
        """False with two windows, whose offset differs between texts and steps."""
        return self.windows == 1

    def draw(self) -> tuple[Tensor | None, ...]:
        """Return the tokens [E, B, T] of the next step's windows and their positions; nothing for two windows.

        Next tokens are those of the window, also if it is gathered from a text.
        """
        if self.windows == 2:
            return ()
        text_length = self.samplers[0].text_length(self.length) if self.samplers else None
        tokens = self._draw_texts(text_length or self.length)
        positions, _, places = self._draw_positions([0] * len(self.configs))
        return tokens if places is None else tokens.gather(-1, places), positions

    def __call__(self, *inputs: Tensor | None) -> Float[Tensor, " E"]:
        if self.windows == 1:
            tokens, positions = inputs or self.draw()
            return next_token_loss(self.answer(cast(Tensor, tokens), positions), cast(Tensor, tokens))
        low, high = zip(*(config.offsets(self.length) for config in self.configs), strict=True)
        extra = [draw_extra(*each) for each in zip(low, high, self.offset_generators, strict=True)]
        # All texts have the same number of tokens, so that they do not depend on the offsets.
        tokens = self._draw_texts(2 * self.length)
        second = torch.stack([each[:, shift : shift + self.length] for each, shift in zip(tokens, extra, strict=True)])
        windows, (*positions, _) = (tokens[..., : self.length], second), self._draw_positions(extra)
        logits = (self.answer(*each) for each in zip(windows, positions, strict=True))
        losses = []
        for first, second, text, shift, config in zip(*logits, tokens, extra, self.configs, strict=True):
            how, context, text = config.alignment, config.context(self.length), text[:, : self.length + shift]
            losses.append(combine_losses(first, second, text, how.alpha, context, how.distance).total)
        return torch.stack(losses)

    def answer(self, tokens: Tensor, positions: Tensor | None) -> Tensor:
        """Return the logits of the models as they are trained: with the adapters and the pattern, if there are any."""
        model = self.model if self.adapted is None else self.adapted
        return model(tokens, positions) if self.mask is None else model(tokens, positions, mask=self.mask)

    def _draw_texts(self, length: int) -> Int[Tensor, "E B T"]:
        batch = self.configs[0].protocol.batch
        return torch.stack([self.language.draw(batch, length, each) for each in self.text_generators]).to(self.device)

    def _draw_positions(self, extra: Sequence[int]) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Return the positions [E, B, T] of two windows of each text, ``extra`` tokens apart; and places in the text.

        Positions are those of the sampler, the same for both; or random ones, of one draw for both, if the encoding
        draws them; else None. Places are None for contiguous text.
        """
        batch, encoding = self.configs[0].protocol.batch, encoding_of(self.model)
        if self.samplers:
            pairs = zip(self.samplers, self.position_generators, strict=True)
            windows = [sampler.window(batch, self.length, generator) for sampler, generator in pairs]
            positions = torch.stack([each.positions for each in windows]).to(self.device)
            places = [each.places for each in windows if each.places is not None]
            return positions, positions, torch.stack(places).to(self.device) if places else None
        if not encoding.draws_positions:
            return None, None, None
        pairs = zip(extra, self.position_generators, strict=True)
        drawn = [random_positions(encoding, batch, self.length + more, generator) for more, generator in pairs]
        first, second = (
            torch.stack([each[:, window] for each in drawn]).to(self.device)
            for window in (slice(self.length), slice(-self.length, None))
        )
        return first, second, None


def random_positions(
    encoding: Encoding, rows: int, length: int, generator: torch.Generator
) -> Int[Tensor, "rows length"]:
    """Draw the positions of texts from an encoding that draws them."""
    return cast(Tensor, encoding.positions(torch.full((rows,), length), length, generator))
