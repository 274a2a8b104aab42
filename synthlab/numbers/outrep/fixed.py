"""Maps of the target without parameters."""

from synthlab.errors import InputError
from synthlab.numbers.outrep.base import NON_NEGATIVE, POSITIVE, REALS, OutRep, Values
from synthlab.styles import BLACK, DARK, DASHDOT, DASHES, DOTS, LILAC, LONG, MAGENTA, MAROON, MUSTARD, VIOLET, Style


class Identity(OutRep):
    """f(x) = x: the target itself."""

    style = Style("plain: $x$", BLACK, "-", "o")

    domain, image = REALS, REALS

    def f(self, x: Values) -> Values:
        return x

    def f_inverse(self, z: Values) -> Values:
        return z


class Sqrt(OutRep):
    """f(x) = sqrt(x) (paper, section 3)."""

    style = Style(r"$\sqrt{x}$", VIOLET, DASHES, "s")

    domain, image = NON_NEGATIVE, NON_NEGATIVE

    def f(self, x: Values) -> Values:
        return x.sqrt()

    def f_inverse(self, z: Values) -> Values:
        return z.square()


class Log(OutRep):
    """f(x) = log(x) (paper, section 3)."""

    style = Style(r"$\log x$", LILAC, DASHDOT, "^")

    domain, image = POSITIVE, REALS

    def f(self, x: Values) -> Values:
        return x.log()

    def f_inverse(self, z: Values) -> Values:
        return z.exp()


class Rsqrt(OutRep):
    """f(x) = 1/sqrt(x) (paper, section 3: the best of its maps)."""

    style = Style(r"$1/\sqrt{x}$", MAGENTA, "-", "D")

    domain, image, increasing = POSITIVE, POSITIVE, False

    def f(self, x: Values) -> Values:
        return x.rsqrt()

    def f_inverse(self, z: Values) -> Values:
        return z.square().reciprocal()


class Reciprocal(OutRep):
    """f(x) = 1/x (reviews, answer Q2 to the third reviewer)."""

    style = Style("$1/x$", MAROON, DOTS, "v")

    domain, image, increasing = POSITIVE, POSITIVE, False

    def f(self, x: Values) -> Values:
        return x.reciprocal()

    def f_inverse(self, z: Values) -> Values:
        return z.reciprocal()


class Rlog(OutRep):
    """f(x) = 1/log(x + 1) (reviews, answer Q2 to the third reviewer)."""

    style = Style(r"$1/\log(x+1)$", MUSTARD, LONG, "P")

    domain, image, increasing = POSITIVE, POSITIVE, False

    def f(self, x: Values) -> Values:
        return x.log1p().reciprocal()

    def f_inverse(self, z: Values) -> Values:
        return z.reciprocal().expm1()


class Power(OutRep):
    """f(x) = x^p for any p but 0; sqrt, 1/x and 1/sqrt(x) are members."""

    style = Style("$x^p$", DARK, DASHES, "X")

    def __init__(self, shift: float | None, p: float):
        super().__init__(shift)
        if p == 0:
            raise InputError("outrep.p=0: must not be 0, which maps every target to 1")
        self.p = p
        self.increasing = p > 0
        self.domain = self.image = NON_NEGATIVE if p > 0 else POSITIVE

    def f(self, x: Values) -> Values:
        return x.pow(self.p)

    def f_inverse(self, z: Values) -> Values:
        return z.pow(1 / self.p)
