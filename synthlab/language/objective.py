"""The objective of language models: cross-entropy of next tokens, with or without the regularizer (equation 4)."""

from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float
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
    """The losses [E] of an ensemble on the next batch of windows of ``length`` tokens.

    Model e is trained with the settings of ``configs[e]``. The regularizer, the sampler of positions and the attention
    pattern apply only in the ``last`` training. ``adapted`` is the model with adapters, if it has any.
    """

    def __init__(
        self,
        model: nn.Module,
        configs: Sequence[LanguageRun],
        length: int,
        last: bool = True,
        phase: str = "",
        device: torch.device | str = "cpu",
        adapted: AdaptedModel | None = None,
    ):
        self.model, self.configs, self.length, self.device = model, configs, length, device
        self.windows = configs[0].alignment.windows if last else 1
        sampler = configs[0].positions if last else None
        self.samplers = [] if sampler is None else [SAMPLERS.build(sampler) for _ in configs]
        pattern = configs[0].pattern if last else None
        self.adapted, self.mask = adapted, None
        if pattern is not None:
            self.mask = PATTERNS.build(pattern).mask(configs[0].model["heads"], length).to(device)
        self.language = TASKS.build(configs[0].task)
        self.texts, self.places, self.offsets = (
            [stream(config.data_seed, f"{name}{phase}") for config in configs]
            for name in ("training", "positions", "windows")
        )

    @property
    def is_static(self) -> bool:
        """False with two windows, whose offset differs between texts and steps."""
        return self.windows == 1

    def draw(self) -> tuple[Tensor | None, ...]:
        """Return the tokens [E, B, T] of the next step's windows and their positions; nothing for two windows."""
        return self._window() if self.windows == 1 else ()

    def __call__(self, *inputs: Tensor | None) -> Float[Tensor, " E"]:
        if self.windows == 1:
            tokens, positions = inputs or self.draw()
            return next_token_loss(self.answer(cast(Tensor, tokens), positions), cast(Tensor, tokens))
        low, high = zip(*(config.offsets(self.length) for config in self.configs), strict=True)
        extra = [draw_extra(*each) for each in zip(low, high, self.offsets, strict=True)]
        # All texts have the same number of tokens, so that they do not depend on the offsets.
        tokens = self._draw(2 * self.length)
        second = torch.stack([each[:, shift : shift + self.length] for each, shift in zip(tokens, extra, strict=True)])
        windows = (tokens[..., : self.length], second)
        logits = (self.answer(*each) for each in zip(windows, self._positions(tokens, extra), strict=True))
        losses = []
        for first, second, text, shift, config in zip(*logits, tokens, extra, self.configs, strict=True):
            how, context, text = config.alignment, config.context(self.length), text[:, : self.length + shift]
            losses.append(combine_losses(first, second, text, how.alpha, context, how.distance).total)
        return torch.stack(losses)

    def answer(self, tokens: Tensor, positions: Tensor | None) -> Tensor:
        """Return the logits of the models as they are trained: with the adapters and the pattern, if there are any."""
        model = self.model if self.adapted is None else self.adapted
        return model(tokens, positions) if self.mask is None else model(tokens, positions, mask=self.mask)

    def _window(self) -> tuple[Tensor, Tensor | None]:
        """Return the tokens [E, B, T] of windows and their positions.

        Next tokens are those of the window, also if it is gathered from a text.
        """
        if not self.samplers:
            tokens = self._draw(self.length)
            return tokens, self._positions(tokens, [0] * len(self.configs))[0]
        tokens = self._draw(self.samplers[0].text_length(self.length) or self.length)
        positions, places = self._sample_windows()
        return tokens if places is None else tokens.gather(-1, places), positions

    def _sample_windows(self) -> tuple[Tensor, Tensor | None]:
        """Return positions and places [E, B, T] of the samplers' windows; places are None for contiguous text."""
        batch = self.configs[0].protocol.batch
        pairs = zip(self.samplers, self.places, strict=True)
        windows = [sampler.window(batch, self.length, places) for sampler, places in pairs]
        positions = torch.stack([each.positions for each in windows]).to(self.device)
        places = [each.places for each in windows if each.places is not None]
        return positions, torch.stack(places).to(self.device) if places else None

    def _draw(self, length: int) -> Tensor:
        batch = self.configs[0].protocol.batch
        return torch.stack([self.language.draw(batch, length, each) for each in self.texts]).to(self.device)

    def _positions(self, tokens: Tensor, extra: Sequence[int]) -> tuple[Tensor | None, Tensor | None]:
        """Return the positions of both windows of each text, which are ``extra`` tokens apart.

        These are those of the sampler, the same for both; or random ones, of one draw for both, if the encoding draws
        them; else None.
        """
        if self.samplers:
            sampled, _ = self._sample_windows()
            return sampled, sampled
        encoding = encoding_of(self.model)
        if not encoding.draws_positions:
            return None, None
        drawn = [
            random_positions(encoding, text[:, : self.length + more], generator)
            for text, more, generator in zip(tokens, extra, self.places, strict=True)
        ]
        first = [each[:, : self.length] for each in drawn]
        second = [each[:, -self.length :] for each in drawn]
        return torch.stack(first).to(self.device), torch.stack(second).to(self.device)


def random_positions(encoding: Encoding, tokens: Tensor, generator: torch.Generator) -> Tensor:
    """Draw positions [B, T] for the rows of ``tokens``, from an encoding that draws them."""
    batch, length = tokens.shape
    return cast(Tensor, encoding.positions(torch.full((batch,), length), length, generator))
