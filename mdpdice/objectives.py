"""Objectives: what a play is worth, and how to reduce that to the canonical problem.

An objective is a value.  Its `lower` turns a network into a chain of reductions
whose last network is canonical: the mover maximises a zero-sum total reward, with
the network's discount and horizon, and the idle end components merged.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from fractions import Fraction
from typing import Literal, TypeAlias

import attrs

from mdpdice.errors import DiscountRangeError, HorizonRangeError, UnsupportedError
from mdpdice.lowerings import Lowering, chain, collapse_idle, drop_infinite, negate, shift_total
from mdpdice.network import Kind, Network

__all__ = ["Discounted", "Horizon", "Objective", "Total"]

Sense: TypeAlias = Literal["max", "min"]
_sense = attrs.validators.in_(("max", "min"))


class Objective(abc.ABC):
    """What a play is worth and who wants it large.

    A subclass defines `apply`; `lower` then adds the reductions that every
    objective needs.
    """

    sense: Sense

    @abc.abstractmethod
    def apply(self, network: Network) -> Network:
        """The network whose total reward is this objective."""

    def lower(self, network: Network) -> list[Lowering]:
        """Chain of reductions from a network to the canonical problem; its first step is `apply`."""
        steps: list[Callable[[Network], Lowering | None]] = []
        applied = self.apply(network)
        decides_min = bool((applied.kind == Kind.MIN).any()) and not applied.two_player
        if (self.sense == "min") != decides_min:
            steps.append(negate)
        elif decides_min:
            # Two negations cancel: the only player who decides now wants the sum large.
            applied = attrs.evolve(
                applied, kind=[Kind.MAX if k == Kind.MIN else k for k in applied.kind.tolist()]
            )
        steps += [shift_total, drop_infinite, collapse_idle]
        return chain(applied, steps)


@attrs.frozen
class Total(Objective):
    """Sum of the rewards and the payoff; an endless play is worth the rewards that it collected.

    Parameters
    ----------
    sense : {"max", "min"}
        What the player to move wants.
    """

    sense: Sense = attrs.field(default="max", validator=_sense)

    def apply(self, network: Network) -> Network:
        """The network as it is."""
        return network


@attrs.frozen
class Discounted(Objective):
    """Total reward with a discount per step, in place of the network's own.

    Parameters
    ----------
    discount : number
        Factor per step, in (0, 1).
    sense : {"max", "min"}
        What the player to move wants.
    """

    discount: Fraction = attrs.field(converter=Fraction)
    sense: Sense = attrs.field(default="max", validator=_sense)

    def apply(self, network: Network) -> Network:
        """The network with this discount."""
        if not 0 < self.discount <= 1:
            msg = f"discount {self.discount} is outside (0, 1]"
            raise DiscountRangeError(msg, value=self.discount)
        if network.total:
            msg = "a game with `total` other than 0 cannot be discounted; give it payoffs that sum to 0"
            raise UnsupportedError(msg)
        return attrs.evolve(network, discount=self.discount)


@attrs.frozen
class Horizon(Objective):
    """Total reward of plays with at most `decisions` decisions; a play cut off there gets nothing more.

    Parameters
    ----------
    decisions : int
        Largest number of decisions, 0 or more.
    sense : {"max", "min"}
        What the player to move wants.
    """

    decisions: int
    sense: Sense = attrs.field(default="max", validator=_sense)

    def apply(self, network: Network) -> Network:
        """The network with this horizon."""
        if type(self.decisions) is not int or self.decisions < 0:
            msg = f"horizon {self.decisions!r} is not a number of decisions (0, 1, 2, ...)"
            raise HorizonRangeError(msg, value=self.decisions)
        if network.total:
            msg = "a game with `total` other than 0 has no horizon: a play cut off would have no owner"
            raise HorizonRangeError(msg, value=self.decisions)
        return attrs.evolve(network, horizon=self.decisions)
