"""Objectives: what a play is worth, and how to reduce that to the canonical problem.

An objective is a value.  Its `lower` turns a network into a chain of reductions
whose last network is canonical: the mover maximises a zero-sum total reward, with
the network's discount and horizon, and the idle end components merged.
That is done for every objective, `Total` included: where play can idle, Bellman's equation has
many solutions, and a back-end could find any of them.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Collection, Hashable
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

import attrs
import numpy as np

from mdpdice.errors import DiscountRangeError, GameError, HorizonRangeError, UnsupportedError
from mdpdice.modelling.asking import ask
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.number import finite_number, own_number, whole_number
from mdpdice.modelling.ranges import discount_error, horizon_error, number_text
from mdpdice.networks.network import Bools, Kind, Network
from mdpdice.numerics.regions import reached_by_all, reached_by_some
from mdpdice.objectives.collected import pay_at_the_end
from mdpdice.objectives.endless_plays import (
    collapse_idle,
    drop_infinite,
    drop_lost,
    end_idle_chance,
    missing_policy,
)
from mdpdice.objectives.reductions import (
    Because,
    Lowering,
    chain,
    negate,
    shift_total,
    shift_value,
    stop_at,
    without,
)
from mdpdice.objectives.two_player_infinities import drop_won, turn_if_alone

__all__ = [
    "Discounted",
    "Horizon",
    "Objective",
    "OfPayoff",
    "PayoffAtLeast",
    "PayoffAtMost",
    "Reach",
    "Total",
    "UntilReward",
    "Utility",
]

States: TypeAlias = Collection[Hashable] | Callable[[Any], bool]

Sense: TypeAlias = Literal["max", "min"]

LISTED = 8
"""Most targets that the text of an objective names."""


def _sense(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value not in ("max", "min"):
        msg = f"{attribute.name} {value!r} is neither 'max' nor 'min'"
        raise GameError(msg, value=value)


def _states(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Whether something is a collection of states, or a predicate of them."""
    name, one = attribute.name, isinstance(value, str) or hasattr(value, "_fields")
    if isinstance(value, Expr):
        msg = f"{name}={value!r} is a condition; write {name}=lambda state: ... of state.counters['name']"
    elif isinstance(value, type):
        msg = f"{name}={value.__name__} is a class; write {name}=lambda state: isinstance(state, {value.__name__})"
    elif one or not (isinstance(value, Collection) or callable(value)):
        msg = (
            f"{name}={value!r} is {'one state' if one else 'neither a collection of states nor a function'}; write "
            f"[{value!r}], or a function that tells whether a state is meant"
        )
    else:
        return
    raise GameError(msg, value=value)


def _listed(states: States) -> str:
    """States in a few words, the same in every run."""
    if callable(states):
        return _named(states)
    texts = [repr(state) for state in states]
    if isinstance(states, set | frozenset):
        texts.sort()
    more = f";... {len(texts)} states" if len(texts) > LISTED else ""
    return ";".join(texts[:LISTED]) + more


def _named(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return f"<{name.strip('<>')}>"


class Objective(abc.ABC):
    """What a play is worth and who wants it large.

    A subclass defines `apply`; `lower` then adds the reductions that every
    objective needs.  Its `str` is how the command line writes it and saved answers name
    it, without the sense: ``discounted:9/10``.
    """

    sense: Sense

    def __str__(self) -> str:
        return type(self).__name__

    @abc.abstractmethod
    def apply(self, network: Network) -> Network:
        """The network whose total reward is this objective."""

    def lower(self, applied: Network, check: Callable[[], None] = lambda: None) -> list[Lowering]:
        """Chain of reductions from the network that `apply` gave to the canonical problem; `check` may stop it."""
        steps = [*self._first(), *_for_the_maximiser(applied, self.sense)]
        infinite = [drop_won, turn_if_alone, drop_lost, drop_infinite]
        return chain(applied, [*steps, shift_total, end_idle_chance, *infinite, collapse_idle], check)

    def _first(self) -> list[Step]:
        """Reductions to make before the signs are turned."""
        return []


Step: TypeAlias = Callable[[Network], Lowering | None]


def _for_the_maximiser(network: Network, sense: Sense) -> list[Step]:
    """Turn signs, or the only player, so that whoever decides alone maximises."""
    only_min = bool((network.kind == Kind.MIN).any()) and not network.two_player
    if (sense == "min") != only_min:
        return [negate]
    # Two negations cancel: the only player who decides now wants the sum large.
    return [partial(negate, twice=True)] if only_min else []


def _marked(network: Network, states: States) -> Bools:
    """Nodes of the states that are given as a collection or by a predicate."""
    if callable(states):

        def meant(state: Hashable) -> bool:
            return bool(states(state))

        what = f"the function {_named(states)} of the objective"
        chosen = {i for i, state in enumerate(network.states) if ask(meant, state, what=what, state=state)}
        marked = np.isin(network.node_state, np.fromiter(chosen, dtype=np.int64, count=len(chosen)))
    else:
        marked = np.zeros(network.n_nodes, dtype=bool)
        for state in states:
            index = network.node_state[network.node_of(state)]
            marked |= network.node_state == index
    return marked


def _refuse_pass_to(network: Network, name: str) -> None:
    if (network.sign < 0).any():
        msg = f"{name} is not defined on a game with pass_to, whose sides take turns; use Total"
        raise UnsupportedError(msg)


@attrs.frozen
class Total(Objective):
    """Sum of the rewards and the payoff; an endless play is worth the rewards that it collected.

    Parameters
    ----------
    sense : {"max", "min"}
        What the player to move wants.
    """

    sense: Sense = attrs.field(default="max", validator=_sense)

    def __str__(self) -> str:
        return "total"

    def apply(self, network: Network) -> Network:
        """The network as it is."""
        return network


def _discount(value: Any) -> Fraction:
    try:
        discount = Fraction(own_number(value, "discount"))
    except (GameError, ValueError, OverflowError) as error:
        msg = f"discount {value!r} is not a number in (0, 1], such as 0.95 or Fraction(95, 100)"
        raise DiscountRangeError(msg, value=value) from error
    if not 0 < discount <= 1:
        raise discount_error(value)
    return discount


@attrs.frozen
class Discounted(Objective):
    """Total reward with a discount per step, in place of the network's own.

    Parameters
    ----------
    discount : number
        Factor per step, in (0, 1]: a float counts as the rational that it is, ``"0.9"`` and
        ``Fraction(9, 10)`` are nine tenths.
    sense : {"max", "min"}
        What the player to move wants.
    """

    discount: Fraction = attrs.field(converter=_discount, repr=number_text)
    sense: Sense = attrs.field(default="max", validator=_sense)

    def __str__(self) -> str:
        return f"discounted:{number_text(self.discount)}"

    def apply(self, network: Network) -> Network:
        """The network with this discount."""
        if network.total:
            msg = "a game with `total` other than 0 cannot be discounted; give it payoffs that sum to 0"
            raise UnsupportedError(msg)
        return attrs.evolve(network, discount=self.discount)


def _decisions(value: Any) -> int:
    decisions = whole_number(value)
    if decisions is None or decisions < 0:
        raise horizon_error(value)
    return decisions


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

    decisions: int = attrs.field(converter=_decisions)
    sense: Sense = attrs.field(default="max", validator=_sense)

    def __str__(self) -> str:
        return f"horizon:{self.decisions}"

    def apply(self, network: Network) -> Network:
        """The network with this horizon."""
        if network.total:
            msg = "a game with `total` other than 0 has no horizon: a play cut off would have no owner"
            raise HorizonRangeError(msg, value=self.decisions)
        return attrs.evolve(network, horizon=self.decisions)


@attrs.frozen
class Reach(Objective):
    """Probability of reaching a set of states; an endless play that does not is worth 0.

    Parameters
    ----------
    targets : collection of states, or predicate
        What to reach.
    avoiding : collection of states, or predicate
        States that end the attempt, as in "avoid these until a target is reached".
    sense : {"max", "min"}
        What the player to move wants; ``"min"`` keeps away from the targets.
    """

    targets: States = attrs.field(validator=_states)
    avoiding: States = attrs.field(default=(), validator=_states)
    sense: Sense = attrs.field(default="max", validator=_sense)

    def __str__(self) -> str:
        avoiding = "" if self.avoiding == () else f" avoiding {_listed(self.avoiding)}"
        return f"reach:{_listed(self.targets)}{avoiding}"

    def apply(self, network: Network) -> Network:
        """The network in which targets end with payoff 1 and everything else pays nothing."""
        _refuse_pass_to(network, "Reach")
        goal = _marked(network, self.targets)
        shunned = _marked(network, self.avoiding) & ~goal
        return stop_at(
            network, goal | shunned | (network.kind == Kind.END), goal.astype(np.float64), rewards=False
        )


@attrs.frozen
class UntilReward(Objective):
    """Expected reward until a set of states is reached; +inf where it is not reached with probability one.

    Parameters
    ----------
    targets : collection of states, or predicate
        Where counting stops.  Payoffs of ends are not counted.
    sense : {"max", "min"}
        What the player to move wants.  In both senses a policy that may never
        reach a target is worth +inf.  Where he who minimises can go round for less than nothing
        the value is -inf: he does so as often as he likes before he goes for a target.  No
        single policy is worth that; the one that is given goes round.
    """

    targets: States = attrs.field(validator=_states)
    sense: Sense = attrs.field(default="max", validator=_sense)

    def __str__(self) -> str:
        return f"until-reward:{_listed(self.targets)}"

    def apply(self, network: Network) -> Network:
        """The network in which targets end with payoff 0, and other ends with payoff 0 too."""
        _refuse_pass_to(network, "UntilReward")
        if network.two_player:
            msg = "UntilReward knows one player; with two use Total, or fix one of them by a policy"
            raise UnsupportedError(msg)
        if network.discount < 1 or network.horizon is not None:
            msg = "UntilReward goes on until a target is reached; with a discount or a horizon use Total"
            raise UnsupportedError(msg)
        goal = _marked(network, self.targets)
        # The payoff tells goals and other ends apart until the infinite part is left out.
        return stop_at(network, goal | (network.kind == Kind.END), np.where(goal, 0.0, 1.0), rewards=True)

    def lower(self, applied: Network, check: Callable[[], None] = lambda: None) -> list[Lowering]:
        """Leave out where the value is infinite, then maximise or minimise over what stops."""
        minimises = bool((applied.kind == Kind.MIN).any()) != (self.sense == "min")
        steps = [partial(_leave_out_unreached, minimises=minimises), *_for_the_maximiser(applied, self.sense)]
        # To stay for ever in an idle component is worth +inf, which the minimiser never wants.
        return chain(applied, [*steps, _drop_postponed, partial(collapse_idle, stay=False)], check)


def _drop_postponed(network: Network) -> Lowering | None:
    """Leave out where rounds that lower the reward can be repeated before a target is reached."""
    lowering = drop_infinite(network)
    return None if lowering is None else attrs.evolve(lowering, because="postpones")


def _leave_out_unreached(network: Network, *, minimises: bool) -> Lowering | None:
    goal = (network.kind == Kind.END) & (network.payoff == 0)
    region = (reached_by_some if minimises else reached_by_all)(network, goal)
    why: Because = "missed by all" if minimises else "missed by some"
    if region.all():
        return None
    # Where all miss the goal one policy is as good as another.
    policy = None if minimises else missing_policy(network, goal)
    return without(network, region, policy, because=why)


class OfPayoff(Objective):
    """An objective that is a function of the whole payoff: that of the end and all rewards on the way.

    An endless play, or one that a horizon cuts off, has the payoff that it collected.
    """

    @abc.abstractmethod
    def worth(self, payoff: Fraction) -> Any:
        """What a whole payoff is worth, as a number."""

    def top(self, unit: int, least: Fraction) -> int | None:
        """Sum of rewards, in parts of ``1 / unit``, from which on a play is worth the same whatever follows.

        None: there is none.  What follows is at least `least`.
        """
        return None

    def apply(self, network: Network) -> Network:
        """The network whose ends pay what the whole payoff is worth, less what payoff 0 would be."""
        _refuse_pass_to(network, type(self).__name__)
        return pay_at_the_end(network, self.worth, self.top, type(self).__name__)

    def _first(self) -> list[Step]:
        return [partial(shift_value, shift=Fraction(self.worth(Fraction(0))))]


def _utility(_: object, _attribute: attrs.Attribute[Any], value: object) -> None:
    if not callable(value):
        msg = f"Utility({value!r}): give it a function from a payoff to a number, such as math.sqrt"
        raise GameError(msg, value=value)


@attrs.frozen
class Utility(OfPayoff):
    """Expected utility of the payoff with all rewards on the way.

    Parameters
    ----------
    function : callable
        Gives the utility of a payoff (a float), as a finite number.  An endless play, or
        one that a horizon cuts off, has the payoff that it collected.
    sense : {"max", "min"}
        What the player to move wants.
    """

    function: Callable[[float], Any] = attrs.field(validator=_utility)
    sense: Sense = attrs.field(default="max", validator=_sense)

    def __str__(self) -> str:
        return f"utility:{_named(self.function)}"

    def worth(self, payoff: Fraction) -> Fraction:
        """The utility of a payoff."""
        number = float(payoff)
        what = f"utility {_named(self.function)} of {'payoff 0, which an endless play has,' if not payoff else number}"
        return Fraction(finite_number(ask(self.function, number, what=f"the {what}"), what))


def _threshold(name: str, value: Any) -> int | float | Fraction:
    try:
        number = own_number(value, "threshold")
        if not math.isnan(number):  # no payoff would reach it
            return number
    except OverflowError:  # larger than every float, which payoffs are compared with all the same
        return number
    except GameError:
        pass
    msg = f"{name}({value!r}): give it a number that a payoff is compared with, such as 20 or Fraction(1, 3)"
    raise GameError(msg, value=value)


def _least(value: Any) -> int | float | Fraction:
    return _threshold("PayoffAtLeast", value)


def _most(value: Any) -> int | float | Fraction:
    return _threshold("PayoffAtMost", value)


def _threshold_text(number: Any) -> str:
    return str(number) if _endless(number) else number_text(number)


def _endless(number: Any) -> bool:
    return number in (math.inf, -math.inf)  # which math.isinf cannot ask of an int beyond all floats


@attrs.frozen
class PayoffAtLeast(OfPayoff):
    """Probability that the payoff, with all rewards on the way, is at least a number.

    Parameters
    ----------
    threshold : number
        The number.
    sense : {"max", "min"}
        What the player to move wants.
    """

    threshold: int | float | Fraction = attrs.field(converter=_least)
    sense: Sense = attrs.field(default="max", validator=_sense)

    def __str__(self) -> str:
        return f"payoff-at-least:{_threshold_text(self.threshold)}"

    def worth(self, payoff: Fraction) -> int:
        """1 for a payoff that is large enough, else 0."""
        return int(payoff >= self.threshold)

    def top(self, unit: int, least: Fraction) -> int:
        """Smallest sum that suffices."""
        return (
            math.ceil((Fraction(self.threshold) - least) * unit)
            if self.threshold not in (math.inf, -math.inf)
            else 0
        )


@attrs.frozen
class PayoffAtMost(OfPayoff):
    """Probability that the payoff, with all rewards on the way, is at most a number.

    Parameters
    ----------
    threshold : number
        The number.
    sense : {"max", "min"}
        What the player to move wants: ``"max"`` makes the chance large, and so the payoff small.
    """

    threshold: Any = attrs.field(converter=_most)
    sense: Sense = attrs.field(default="max", validator=_sense)

    def __str__(self) -> str:
        return f"payoff-at-most:{_threshold_text(self.threshold)}"

    def worth(self, payoff: Fraction) -> int:
        """1 for a payoff that is small enough, else 0."""
        return int(payoff <= self.threshold)

    def top(self, unit: int, least: Fraction) -> int:
        """Smallest sum that is too large."""
        return (
            math.floor((Fraction(self.threshold) - least) * unit) + 1
            if self.threshold not in (math.inf, -math.inf)
            else 0
        )
