"""A hidden Markov model: each token is weak evidence of the hidden state."""

import math
from typing import Annotated

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from synthlab.language.languages.source import LanguageTask


class HiddenMarkov(LanguageTask):
    """A hidden Markov model whose state stays with probability ``stay``, else moves to any other state, uniformly.

    State t emits token t + d (mod ``vocabulary``) with probability proportional to ``falloff``^d.
    """

    def __init__(
        self,
        states: Annotated[int, Field(gt=0, le=1000)],
        vocabulary: Annotated[int, Field(gt=1, le=1000)],
        stay: Annotated[float, Field(ge=0, le=1)],
        falloff: Annotated[float, Field(gt=0, le=1)],
    ):
        self.states, self.vocabulary, self.stay, self.falloff = states, vocabulary, stay, falloff

    def draw(self, batch, length, generator, held_out=False):
        # The stationary distribution is uniform, so that of the first state is.
        start = torch.randint(self.states, (batch, 1), generator=generator)
        moves = torch.rand(batch, length, generator=generator) >= self.stay
        moves[:, 0] = False
        strides = 1 + torch.randint(max(1, self.states - 1), (batch, length), generator=generator)
        states = (start + (moves * strides).cumsum(1)) % self.states
        tokens = torch.multinomial(self.emissions()[states].flatten(0, 1), 1, generator=generator)
        return tokens.view(batch, length)

    def predict(self, tokens):
        """Return predictions by the forward recursion (Rabiner, 1989, section III A).

        It runs in logarithms and is rescaled at each token, since probabilities of thousands of tokens underflow.
        """
        tokens = tokens.cpu()
        emissions, transitions = self._log_emissions(), self._transitions()
        # Log-probabilities of the states, up to a constant.
        beliefs = torch.zeros(len(tokens), self.states, dtype=torch.float64)
        ahead = []
        for evidence in emissions.T[tokens.T]:  # L B states
            beliefs = beliefs + evidence
            beliefs = beliefs - beliefs.amax(-1, keepdim=True)
            beliefs = (beliefs.exp() @ transitions).log()
            ahead.append(beliefs)
        states = torch.stack(ahead, 1).softmax(-1)  # B L states
        # Tokens that are rare in every state are rescaled, so that their probabilities do not underflow.
        scale = emissions.amax(0)
        return (states @ (emissions - scale).exp()).log() + scale

    def emissions(self) -> Float[Tensor, "states V"]:
        """Return each state's distribution of tokens, in the default precision; that of state t peaks at token t."""
        weights = self.falloff ** self._distances()
        return weights / weights.sum(-1, keepdim=True)

    def _log_emissions(self) -> Float[Tensor, "states V"]:
        return (self._distances().double() * math.log(self.falloff)).log_softmax(-1)

    def _distances(self) -> Int[Tensor, "states V"]:
        """Return the distance d (mod ``vocabulary``) of each token from each state's most probable token."""
        return (torch.arange(self.vocabulary) - torch.arange(self.states)[:, None]) % self.vocabulary

    def _transitions(self) -> Float[Tensor, "states states"]:
        if self.states == 1:
            return torch.ones(1, 1, dtype=torch.float64)
        move = (1 - self.stay) / (self.states - 1)
        return torch.full((self.states, self.states), move, dtype=torch.float64).fill_diagonal_(self.stay)
