"""The base class of encodings that wrap another encoding."""

from synthlab.models.encodings.base import BEYOND_PAIRS, Encoding


class Around(Encoding):
    """A wrapper around another encoding: every hook calls that of ``inner`` unless a subclass overrides it.

    A subclass that changes the positions themselves overrides ``positions``, ``longest`` and ``draws_positions``.
    """

    def __init__(self, inner: Encoding):
        super().__init__()
        self.inner = inner

    @property
    def beyond_pairs(self):
        own = [name for name in BEYOND_PAIRS if getattr(type(self), name) is not getattr(Around, name)]
        return self.inner.beyond_pairs.union(own)

    def initialise(self, generators):
        self.inner.initialise(generators)

    def longest(self):
        return self.inner.longest()

    def alike_up_to(self, length):
        return self.inner.alike_up_to(length)

    def embed(self, h, positions):
        return self.inner.embed(h, positions)

    def rotate(self, v, positions):
        return self.inner.rotate(v, positions)

    def sharpen(self, positions):
        return self.inner.sharpen(positions)

    def bias(self, query, key):
        return self.inner.bias(query, key)

    def relative(self, query, key):
        return self.inner.relative(query, key)

    def products(self, q, k, relative):
        return self.inner.products(q, k, relative)

    def locate(self, h, positions, add_up):
        return self.inner.locate(h, positions, add_up)

    def adjust(self, logits, q, mask):
        return self.inner.adjust(logits, q, mask)
