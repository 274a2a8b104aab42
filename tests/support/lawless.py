"""Classes as a user may write them that train without an error and break a law; and one that is sound."""

import math

import torch

from synthlab.models.encodings.base import Dims, Encoding
from synthlab.models.layers import ensemble_parameter, gather_rows, init_normal
from synthlab.numbers.outrep import Interval, OutRep
from synthlab.sequences.tasks import TASKS


class SeesTheFuture(Encoding):
    def __init__(self, dims, /):
        super().__init__()

    def embed(self, h, positions):
        return h + 0.5 * h.mean(2, keepdim=True)


class MixesTokens(Encoding):
    """Adds the token before to each: causal, but a row holds several texts."""

    def __init__(self, dims, /):
        super().__init__()

    def embed(self, h, positions):
        return h + torch.nn.functional.pad(h, (0, 0, 1, 0))[:, :, :-1]


class AddsUpItself(Encoding):
    """A gate that forgets, which adds up a row as if that were one text."""

    def __init__(self, dims, /):
        super().__init__()

    def locate(self, h, positions, add_up):
        return h[..., 0].cumsum(2)

    def bias(self, query, key):
        return (query - key).unsqueeze(-3)


class MultipliesItself(Encoding):
    """Logits by how many keys after it the query likes, of keys in the order of a plain text."""

    def __init__(self, dims, /):
        super().__init__()

    def relative(self, query, key):
        return (query - key).double().unsqueeze(-3)

    def products(self, q, k, relative):
        liked = (q @ k.mT).sigmoid().tril().flip(-1).cumsum(-1).flip(-1)
        yield torch.ones(()), q, k
        yield -liked, torch.ones_like(q[..., :1]), torch.ones_like(k[..., :1])


class Twice(OutRep):
    domain = image = Interval(0.0, math.inf)

    def f(self, x):
        return x

    def f_inverse(self, z):
        return 2 * z


class Sine(Twice):
    image = Interval(-1.0, 1.0)

    def f(self, x):
        return x.sin()

    def f_inverse(self, z):
        return z.asin()


class Recurrent(torch.nn.Module):
    """Logits of the next token from an exponential average of those before."""

    def __init__(self, make_encoding, generators, vocabulary, /):
        super().__init__()
        self.encoding = make_encoding(Dims(4, 1, len(generators)))
        self.table = ensemble_parameter(len(generators), vocabulary, vocabulary)
        init_normal(self.table, 1.0, generators)

    def forward(self, x, positions=None):
        states = [gather_rows(self.table, x)[:, :, 0]]
        for after in gather_rows(self.table, x)[:, :, 1:].unbind(2):
            states.append(0.5 * states[-1] + after)
        return torch.stack(states, 2)


class Backwards(Recurrent):
    def forward(self, x, positions=None):
        return super().forward(x.flip(-1)).flip(2)


class Forgetful(Recurrent):
    """Draws its initial weights from torch's own generator, and not from those of the runs."""

    def __init__(self, make_encoding, generators, vocabulary, /):
        super().__init__(make_encoding, generators, vocabulary)
        torch.nn.init.normal_(self.table)


class MixesRows(Recurrent):
    def forward(self, x, positions=None):
        h = super().forward(x)
        return h - h.mean(1, keepdim=True)


class ScalesByLength(Encoding):
    """Divides distances by the length of the text once that exceeds 12 tokens, and does not say so."""

    def bias(self, query, key):
        scale = ((query.max() + 1) / 12).clamp(min=1.0)
        return ((key - query) / scale).unsqueeze(-3)


class Plain(Encoding):
    pass


class CountsFromTheEnd(TASKS["copy"]):
    """Places that tell how many tokens of the answer follow."""

    def __init__(self):
        super().__init__(symbols=2)

    def couple(self, tokens):
        return (tokens != self.end).sum(-1, keepdim=True) - torch.arange(tokens.shape[-1])
