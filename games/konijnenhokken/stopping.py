r"""From how many points on a turn should be stopped, in exact numbers.

Let :math:`S(t)` be what one more run is worth when `t` points are banked, if the turn is stopped at the end of that run
at the latest.

**Theorem.**  If :math:`S(T) \le T`, stopping is optimal with fresh dice and any total :math:`t \ge T`, in the game
without a limit; if :math:`S(T - 1) > T - 1`, it is not optimal at :math:`T - 1`.  The proof is in
``docs/games/konijnenhokken.md``; it holds for any number of dice, and for the public program's moves.
"""

from __future__ import annotations

import functools
from fractions import Fraction

import attrs

from mdpdice.games.konijnenhokken.rules import offers, run_points, takes


@attrs.frozen
class StoppingBound:
    """The proof that a turn should be stopped from some total on, and not before."""

    total: int  # from this many banked points on, stopping is optimal with all dice fresh
    gain_before: Fraction  # what one more run gains with one point less, which is above 0
    gain: Fraction  # the same with `total` points, which is not
    slope: Fraction  # largest change of that per point: the chance not to lose the turn in the first roll

    def __attrs_post_init__(self) -> None:
        # These three are all that the theorem asks for.
        assert self.gain_before > 0 >= self.gain
        assert 0 <= self.slope < 1
        assert self.gain - self.gain_before <= self.slope - 1

    def note(self) -> str:
        """Return the proof in one sentence."""
        gains = f"{float(self.gain_before):+.6g} points at {self.total - 1} and {float(self.gain):+.6g} at {self.total}"
        proof = f"rolling all dice again gains {gains}, and less with every further point"
        return f"from {self.total} banked points on stopping is proved optimal: {proof}"


def one_more_run(total: int, dice: int, *, defective: bool = False) -> Fraction:
    """Return the exact value of rolling all dice with `total` points banked, if the turn stops with that run."""

    # At most `dice` deep: every roll takes at least one die.
    @functools.cache
    def stand(r1: int, r2: int, c: int) -> Fraction:
        stop = Fraction(total + run_points(r1, r2, c))
        return stop if r1 + r2 + c == dice else max(stop, cast_dice(r1, r2, c))

    def cast_dice(r1: int, r2: int, c: int) -> Fraction:
        rolls = offers(dice - r1 - r2 - c, c, defective=defective)
        value = Fraction(0)
        for offered, weight in rolls.items():
            if offered is not None:
                taken = takes(offered, c, defective=defective)
                value += weight * max(stand(r1 + ones, r2 + twos, c + cages) for ones, twos, cages in taken)
        return value / rolls.total

    return cast_dice(0, 0, 0)


@functools.cache
def stopping_bound(dice: int, *, defective: bool = False) -> StoppingBound:
    """Prove from how many banked points on a turn with some dice should be stopped: from 101 on with seven dice."""

    def gain(total: int) -> Fraction:
        return one_more_run(total, dice, defective=defective) - total

    # The gain falls with the total; with nothing banked a roll costs nothing and gains something.
    low, high = 0, 1
    while gain(high) > 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if gain(middle) > 0:
            low = middle
        else:
            high = middle
    lost = offers(dice, 0, defective=defective).prob(None)
    return StoppingBound(total=high, gain_before=gain(low), gain=gain(high), slope=1 - lost)
