"""Dice that are added up as numbers are: what `mdpdice.Dist` does at ``+``, ``-`` and ``@``."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Never, NoReturn

from mdpdice.errors import GameError

if TYPE_CHECKING:
    from mdpdice.modelling.distribution import Dist

POOL_UP_TO = 10_000
"""Ways in which equal dice can lie up to which they are added up as one pool; more dice are added up in halves."""


class Arithmetic:
    """Base of `mdpdice.Dist`: sums remember their dice, and operators with two meanings say what to write instead."""

    __slots__ = ()

    def __add__(self, other: Any) -> Dist[Any]:
        return _sum(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dist[Any]:
        return _sum(self, other, sign=-1)

    def __rsub__(self, other: Any) -> Dist[Any]:
        return _sum(other, self, sign=-1)

    def __rmatmul__(self: Any, count: int) -> Dist[Any]:
        from mdpdice.modelling.dice import checked_count, highest

        count = checked_count(count, 500, f"{count!r} @ die: the number of dice")
        if count < 2 or math.comb(count + len(self) - 1, count) <= POOL_UP_TO:
            return highest(count, of=[self] * count)
        half: Dist[Any] = (count // 2) @ self
        odd: Dist[Any] = (count % 2) @ self
        return half + half + odd

    def _refused(self, other: Never) -> NoReturn:
        how = "the sum of two dice is d6 + d6 or 2 @ d6, and twice what one of them shows is d6.map(lambda k: 2 * k)"
        raise GameError(f"a distribution is not a number; {how}", value=other)

    __mul__ = __rmul__ = __matmul__ = _refused


def _sum(*terms: Any, sign: int = 1) -> Dist[Any]:
    from mdpdice.modelling.dice import with_numbers
    from mdpdice.modelling.distribution import certainly, product

    both = product(*(with_numbers(certainly(term) if isinstance(term, Real | Decimal) else term) for term in terms))
    return both.map(lambda pair: pair[0] + sign * pair[1])
