"""A hidden Markov chain: tokens tell, each a little, which of a few states the text is in."""

import math
from typing import Annotated

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from synthlab.language.source import Language


class HiddenMarkov(Language):
    """The state stays as it is with probability ``stay``, else it becomes any other one; state t emits token t + d (mod
    ``vocabulary``) with probability proportional to ``falloff``^d."""

    def __init__(
        self,
        states: Annotated[int, Field(gt=0, le=1000)],
        vocabulary: Annotated[int, Field(gt=1, le=1000)],
        stay: Annotated[float, Field(ge=0, le=1)],
        falloff: Annotated[float, Field(gt=0, le=1)],
    ):
        self.states, self.vocabulary, self.stay, self.falloff = states, vocabulary, stay, falloff

    def draw(self, batch, length, generator, held_out=False):
        # All states are equally likely in the long run, so the chain begins in any of them.
        start = torch.randint(self.states, (batch, 1), generator=generator)
        moves = torch.rand(batch, length, generator=generator) >= self.stay
        moves[:, 0] = False
        strides = 1 + torch.randint(max(1, self.states - 1), (batch, length), generator=generator)
        states = (start + (moves * strides).cumsum(1)) % self.states
        tokens = torch.multinomial(self.emissions()[states].flatten(0, 1), 1, generator=generator)
        return tokens.view(batch, length)

    def predict(self, tokens):
        """The forward recursion (Rabiner, 1989, section III A). It keeps logarithms, scaled anew at each token, since
        thousands of tokens have probabilities below the smallest double."""
        tokens = tokens.cpu()
        emissions, transitions = self._log_emissions(), self._transitions()
        beliefs = torch.zeros(len(tokens), self.states, dtype=torch.float64)  # of the state, up to a factor
        ahead = []
        for told in emissions.T[tokens.T]:  # L B states
            beliefs = beliefs + told
            beliefs = beliefs - beliefs.amax(-1, keepdim=True)
            beliefs = (beliefs.exp() @ transitions).log()
            ahead.append(beliefs)
        shares = torch.stack(ahead, 1).softmax(-1)  # B L states
        # A token rare in every state is scaled to be likely in one of them, so that its sum does not vanish.
        scale = emissions.amax(0)
        return (shares @ (emissions - scale).exp()).log() + scale

    def emissions(self) -> Float[Tensor, "states V"]:
        """Each state's distribution of tokens, in the default precision: state t prefers token t."""
        weights = self.falloff ** self._distances()
        return weights / weights.sum(-1, keepdim=True)

    def _log_emissions(self) -> Float[Tensor, "states V"]:
        return (self._distances().double() * math.log(self.falloff)).log_softmax(-1)

    def _distances(self) -> Int[Tensor, "states V"]:
        """How far each token is above the one that a state prefers."""
        return (torch.arange(self.vocabulary) - torch.arange(self.states)[:, None]) % self.vocabulary

    def _transitions(self) -> Float[Tensor, "states states"]:
        if self.states == 1:
            return torch.ones(1, 1, dtype=torch.float64)
        move = (1 - self.stay) / (self.states - 1)
        return torch.full((self.states, self.states), move, dtype=torch.float64).fill_diagonal_(self.stay)
