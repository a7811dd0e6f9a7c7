"""What is said to those who add dice up as if they were numbers."""

from __future__ import annotations

from typing import Never, NoReturn

from mdpdice.errors import GameError


class NoArithmetic:
    """Base of `mdpdice.Dist`: the operators of numbers say what to write instead."""

    __slots__ = ()

    def _refused(self, other: Never) -> NoReturn:
        msg = (
            "a distribution is not a number; the sum of two dice is product(d6, d6).map(sum), twice what one of them "
            "shows is d6.map(lambda k: 2 * k)"
        )
        raise GameError(msg, value=other)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refused
