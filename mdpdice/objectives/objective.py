"""Objectives: what a play is worth, and how to reduce that to the canonical problem.

An objective is a value.  Its `lower` turns a network into a chain of reductions whose last network is canonical: the
mover maximises a zero-sum total reward, with the network's discount and horizon, and the idle end components merged.
That is done for every objective, `Total` included: where play can idle, Bellman's equation has many solutions, and a
solver could find any of them.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Collection, Hashable
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, TypeAlias

import attrs
import numpy as np

from mdpdice.errors import DiscountRangeError, GameError, UnsupportedError
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.asking import ask
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import finite_number, own_number, whole_number
from mdpdice.modelling.ranges import discount_error, horizon_error, number_text
from mdpdice.modelling.sense import Sense, changed, checked_sense, sense_of
from mdpdice.networks.network import Bools, Kind, Network
from mdpdice.numerics.regions import reached_by_all, reached_by_some
from mdpdice.objectives import reductions
from mdpdice.objectives.collected import pay_at_the_end, with_sums
from mdpdice.objectives.endless_plays import collapse_idle, drop_infinite, drop_lost, end_idle_chance, missing_policy
from mdpdice.objectives.reductions import Because, Lowering
from mdpdice.objectives.two_player_infinities import drop_won, turn_if_alone

States: TypeAlias = Collection[Hashable] | Callable[[Any], bool]
Step: TypeAlias = Callable[[Network], Lowering | None]

LISTED = 8
"""Most targets that the text of an objective names."""


def optional_sense(value: Any) -> Sense | None:
    """Return a sense, or None."""
    return None if value is None else checked_sense(value)


def _states(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is neither a collection of states nor a predicate of them."""
    name, one = attribute.name, isinstance(value, str) or hasattr(value, "_fields")
    if isinstance(value, Expr):
        msg = f"{name}={value!r} is a condition; write {name}=lambda state: ... of state.counters['name']"
    elif isinstance(value, type):
        msg = f"{name}={value.__name__} is a class; write {name}=lambda state: isinstance(state, {value.__name__})"
    elif one or not (isinstance(value, Collection) or callable(value)):
        what = "one state" if one else "neither a collection of states nor a function"
        msg = f"{name}={value!r} is {what}; write [{value!r}], or a function that tells whether a state is meant"
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
    return ";".join(texts[:LISTED]) + (f";... {len(texts)} states" if len(texts) > LISTED else "")


def _named(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return f"<{name.strip('<>')}>"


class Objective(abc.ABC):
    """What a play is worth, and which player maximises it.

    A subclass defines `apply`; `lower` then adds the reductions that every objective needs.  Its `str` is how the
    command line writes it and saved answers name it, without the sense: ``discounted:9/10``.

    Attributes
    ----------
    sense : {"max", "min"} or None
        What the player to move wants; None: what the game says, and much of a chance.
    chance : bool
        Whether values are chances.
    """

    sense: Sense | None = None
    chance: ClassVar[bool] = False

    def __str__(self) -> str:
        return type(self).__name__

    def wanted(self, model: Game[Any, Any] | Network | Lattice) -> Sense:
        """Return whether the player to move maximises or minimises in a model."""
        return self.sense or ("max" if self.chance else sense_of(model))

    @abc.abstractmethod
    def apply(self, network: Network) -> Network:
        """Return the network whose total reward is this objective."""

    def lower(self, applied: Network, check: Callable[[], None] = lambda: None) -> list[Lowering]:
        """Chain of reductions from the network that `apply` gave to the canonical problem; `check` may stop it."""
        # What nature does counts for no decision of a horizon, which solvers do not know.
        stages = [reductions.unroll] * bool(applied.nature.any())
        steps = [*stages, *self._first(), *_for_the_maximiser(applied, self.wanted(applied))]
        steps += [reductions.shift_total, end_idle_chance, drop_won, turn_if_alone, drop_lost]
        return reductions.chain(applied, [*steps, drop_infinite, collapse_idle], check)

    def _first(self) -> list[Step]:
        """Reductions to make before the signs are turned."""
        return []


def asked(model: Any, objective: Objective | None = None, sense: Sense | None = None) -> Objective:
    """Return what counts in a model, by default the total; with its own sense, or `sense`, or that of the model."""
    if isinstance(model, type) or not hasattr(model, "total"):
        raise GameError(f"{model!r} is neither a Game nor a Network; a class needs to be called: MyGame()", value=model)
    sense = optional_sense(sense)
    if objective is None:
        return Total(sense or sense_of(model))
    if isinstance(objective, Objective):
        return objective if objective.sense else changed(objective, sense=sense or objective.wanted(model))
    write = "write Total('min'), Discounted(Fraction(9, 10)), Reach([...]), ..."
    if objective in ("max", "min"):
        write = f"write sense={objective!r}, or Total({objective!r})"
    elif isinstance(objective, type) and issubclass(objective, Objective):
        write = f"it is a class, which needs to be called: {objective.__name__}(...)"
    raise GameError(f"{objective!r} is not an objective; {write}", value=objective)


def _for_the_maximiser(network: Network, sense: Sense) -> list[Step]:
    """Turn signs, or the only player, so that whoever decides alone maximises."""
    only_min = bool((network.kind == Kind.MIN).any()) and not network.two_player
    if (sense == "min") != only_min:
        return [reductions.negate]
    # Two negations cancel: the only player who decides now wants the sum large.
    return [reductions.turn_sides] if only_min else []


def _marked(network: Network, states: States) -> Bools:
    """Nodes of the states that are given as a collection or by a predicate."""
    if callable(states):

        def meant(state: Hashable) -> bool:
            return bool(states(state))

        what = f"the function {_named(states)} of the objective"
        chosen = [i for i, state in enumerate(network.states) if ask(meant, state, what=what, state=state)]
    else:
        chosen = [int(network.node_state[network.node_of(state)]) for state in states]
    return np.isin(network.node_state, np.array(chosen, dtype=np.int64))


def refuse_pass_to(model: Network | Lattice, objective: Objective) -> None:
    """Refuse a game whose sides take turns."""
    if (model.sign < 0).any():
        name = type(objective).__name__
        msg = f"{name} is not defined on a game with pass_to, whose sides take turns; use Total"
        raise UnsupportedError(msg, value=objective)


@attrs.frozen
class Total(Objective):
    """Sum of the rewards and the payoff; an endless play is worth the rewards that it collected.

    Parameters
    ----------
    sense : {"max", "min"}, optional
        What the player to move wants, by default what the game says.
    """

    sense: Sense | None = attrs.field(default=None, converter=optional_sense)

    def __str__(self) -> str:
        return "total"

    def apply(self, network: Network) -> Network:
        """Return the network as it is, with this sense."""
        return network if self.wanted(network) == network.sense else attrs.evolve(network, sense=self.sense)


def _discount(value: Any) -> Fraction:
    try:
        discount = Fraction(own_number(value, "discount"))
    except (GameError, ValueError, OverflowError) as error:
        raise DiscountRangeError(f"discount {value!r} is not a number in (0, 1], such as 0.95", value=value) from error
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
    sense : {"max", "min"}, optional
        What the player to move wants, by default what the game says.
    """

    discount: Fraction = attrs.field(converter=_discount, repr=number_text)
    sense: Sense | None = attrs.field(default=None, converter=optional_sense)

    def __str__(self) -> str:
        return f"discounted:{number_text(self.discount)}"

    def apply(self, network: Network) -> Network:
        """Return the network with this discount."""
        if network.total:
            raise UnsupportedError("a game with `total` other than 0 has no discount; give it payoffs that sum to 0")
        return attrs.evolve(network, discount=self.discount, sense=self.wanted(network))


def _decisions(value: Any) -> int:
    if (decisions := whole_number(value)) is None or decisions < 0:
        raise horizon_error(value)
    return decisions


@attrs.frozen
class Horizon(Objective):
    """Total reward of plays with at most `decisions` decisions; a play cut off there gets nothing more.

    Parameters
    ----------
    decisions : int
        Largest number of decisions, 0 or more.
    sense : {"max", "min"}, optional
        What the player to move wants, by default what the game says.
    """

    decisions: int = attrs.field(converter=_decisions)
    sense: Sense | None = attrs.field(default=None, converter=optional_sense)

    def __str__(self) -> str:
        return f"horizon:{self.decisions}"

    def apply(self, network: Network) -> Network:
        """Return the network with this horizon."""
        return attrs.evolve(network, horizon=self.decisions, sense=self.wanted(network))


@attrs.frozen
class Reach(Objective):
    """Probability of reaching a set of states; an endless play that does not is worth 0.

    Where turns are passed, the player to move in the state that is asked for wants it, and the other one does not.

    Parameters
    ----------
    targets : collection of states, or predicate
        What to reach.
    avoiding : collection of states, or predicate
        States that end the attempt, as in "avoid these until a target is reached".
    sense : {"max", "min"}, optional
        What the player to move wants, by default ``"max"``; ``"min"`` keeps away from the targets.
    """

    chance: ClassVar[bool] = True

    targets: States = attrs.field(validator=_states)
    avoiding: States = attrs.field(default=(), validator=_states)
    sense: Sense | None = attrs.field(default=None, converter=optional_sense)

    def __str__(self) -> str:
        avoiding = "" if self.avoiding == () else f" avoiding {_listed(self.avoiding)}"
        return f"reach:{_listed(self.targets)}{avoiding}"

    def apply(self, network: Network) -> Network:
        """Return the network in which targets end with payoff 1 and everything else pays nothing."""
        goal = _marked(network, self.targets)
        ends = goal | _marked(network, self.avoiding) | (network.kind == Kind.END)
        stopped = reductions.stop_at(network, ends, goal.astype(np.float64), self.wanted(network), rewards=False)
        return reductions.one_view(stopped) if (network.sign < 0).any() else stopped


def _turns(value: Any) -> int:
    if (turns := whole_number(value) or 0) < 1:
        raise GameError(f"Win(within={value!r}): give it a positive number of turns", value=value)
    return turns


@attrs.frozen
class Win(Objective):
    """Probability that the player to move wins, with more than half of `total`, within some turns of their own.

    The other one does what they can against it, in as many turns.  For games with `pass_to` whose ends alone pay.  The
    states of the answer have a counter for the turns of both that are over, ``At(state, collected=turns)``.

    Parameters
    ----------
    within : int
        Turns of the player to move; at the beginning of one more it is too late.
    sense : {"max", "min"}, optional
        What the player to move wants, by default ``"max"``.
    """

    chance: ClassVar[bool] = True

    within: int = attrs.field(converter=_turns)
    sense: Sense | None = attrs.field(default=None, converter=optional_sense)

    def __str__(self) -> str:
        return f"win-within:{self.within}"

    def apply(self, network: Network) -> Network:
        """Return the network with the turns beside its states, whose ends pay 1 for a win."""
        self.refuse(network)
        end, half = network.kind == Kind.END, network.total / 2
        ahead = [network.exact_payoff(node) - half if ends else 0 for node, ends in enumerate(end.tolist())]
        stopped = reductions.stop_at(network, end, np.zeros(len(end)), self.wanted(network), rewards=False)
        both = reductions.one_view(stopped)
        turns = np.tile(network.sign < 0, 2).astype(np.float64)
        payoff = np.array([*(one > 0 for one in ahead), *(one < 0 for one in ahead)], dtype=np.float64)
        return with_sums(attrs.evolve(both, payoff=payoff, reward=turns), lambda *_: 2 * self.within, "Win")[0]

    def refuse(self, model: Network | Lattice) -> None:
        """Refuse a game without turns, or with rewards."""
        if not (model.sign < 0).any() or model.pays:
            msg = "Win is defined where turns are passed by pass_to, and ends alone pay; use Reach or PayoffAtLeast"
            raise UnsupportedError(msg, value=self)


@attrs.frozen
class UntilReward(Objective):
    """Expected reward until a set of states is reached; +inf where it is not reached with probability one.

    Parameters
    ----------
    targets : collection of states, or predicate
        Where counting stops.  Payoffs of ends are not counted.
    sense : {"max", "min"}, optional
        What the player to move wants, by default what the game says.  In both senses a policy that may never
        reach a target is worth +inf.  Where a minimising player can repeat a cycle of negative reward
        the value is -inf: they do so as often as they like before they go for a target.  No
        single policy is worth that; the one that is returned stays in the cycle.
    """

    targets: States = attrs.field(validator=_states)
    sense: Sense | None = attrs.field(default=None, converter=optional_sense)

    def __str__(self) -> str:
        return f"until-reward:{_listed(self.targets)}"

    def apply(self, network: Network) -> Network:
        """Return the network in which targets end with payoff 0, and other ends with payoff 0 too."""
        refuse_pass_to(network, self)
        if network.two_player:
            raise UnsupportedError("UntilReward knows one player; with two use Total, or fix one of them by a policy")
        if network.discount < 1 or network.horizon is not None:
            raise UnsupportedError("UntilReward goes on until a target is reached; for a discount or horizon use Total")
        goal = _marked(network, self.targets)
        # The payoff tells goals and other ends apart until the infinite part is left out.
        ends = goal | (network.kind == Kind.END)
        return reductions.stop_at(network, ends, np.where(goal, 0.0, 1.0), self.wanted(network), rewards=True)

    def lower(self, applied: Network, check: Callable[[], None] = lambda: None) -> list[Lowering]:
        """Leave out where the value is infinite, then maximise or minimise over what stops."""
        sense = self.wanted(applied)
        minimises = bool((applied.kind == Kind.MIN).any()) != (sense == "min")
        steps = [partial(_leave_out_unreached, minimises=minimises), *_for_the_maximiser(applied, sense)]
        # To stay for ever in an idle component is worth +inf, which the minimiser never wants.
        # Rounds that lower the reward can be repeated before a target is reached.
        rounds = partial(drop_infinite, because="postpones")
        return reductions.chain(applied, [*steps, rounds, partial(collapse_idle, stay=False)], check)


def _leave_out_unreached(network: Network, *, minimises: bool) -> Lowering | None:
    goal = (network.kind == Kind.END) & (network.payoff == 0)
    region = (reached_by_some if minimises else reached_by_all)(network, goal)
    why: Because = "missed by all" if minimises else "missed by some"
    if region.all():
        return None
    # Where all miss the goal one policy is as good as another.
    return reductions.without(network, region, None if minimises else missing_policy(network, goal), because=why)


class OfPayoff(Objective):
    """An objective that is a function of the whole payoff: that of the end and all rewards on the way.

    An endless play, or one that a horizon cuts off, has the payoff that it collected.
    """

    @abc.abstractmethod
    def worth(self, payoff: Fraction) -> Any:
        """Return what a whole payoff is worth, as a number."""

    def top(self, unit: int, least: Fraction) -> int | None:
        """Sum of rewards, in parts of ``1 / unit``, from which on a play is worth the same whatever follows.

        None: there is none.  What follows is at least `least`.
        """
        return None

    def apply(self, network: Network) -> Network:
        """Return the network whose ends pay what the whole payoff is worth, less what payoff 0 would be."""
        refuse_pass_to(network, self)
        return pay_at_the_end(network, self)

    def _first(self) -> list[Step]:
        return [partial(reductions.shift_value, shift=Fraction(self.worth(Fraction(0))))]


def _utility(_: object, _attribute: attrs.Attribute[Any], value: object) -> None:
    if not callable(value):
        raise GameError(f"Utility({value!r}): give it a function from a payoff, such as math.sqrt", value=value)


@attrs.frozen
class Utility(OfPayoff):
    """Expected utility of the payoff with all rewards on the way.

    Parameters
    ----------
    function : callable
        Gives the utility of a payoff (a float), as a finite number.  An endless play, or
        one that a horizon cuts off, has the payoff that it collected.
    sense : {"max", "min"}, optional
        What the player to move wants, by default what the game says.
    """

    function: Callable[[float], Any] = attrs.field(validator=_utility)
    sense: Sense | None = attrs.field(default=None, converter=optional_sense)

    def __str__(self) -> str:
        return f"utility:{_named(self.function)}"

    def worth(self, payoff: Fraction) -> Fraction:
        """Return the utility of a payoff."""
        number = float(payoff)
        what = f"utility {_named(self.function)} of {'payoff 0, which an endless play has,' if not payoff else number}"
        return Fraction(finite_number(ask(self.function, number, what=f"the {what}"), what))


def _number(value: Any) -> Any:
    """Return a value as a number, or unchanged if it is not one."""
    try:
        return own_number(value, "threshold")
    except GameError:
        return value


def _threshold(objective: object, _attribute: attrs.Attribute[Any], value: Any) -> None:
    # No payoff would reach NaN.
    if not isinstance(value, int | float | Fraction) or (isinstance(value, float) and math.isnan(value)):
        name = type(objective).__name__
        raise GameError(f"{name}({value!r}): give it a number, such as 20 or Fraction(1, 3)", value=value)


@attrs.frozen
class _OfThreshold(OfPayoff):
    """The probability that the payoff is on one side of a number."""

    chance: ClassVar[bool] = True
    _kind: ClassVar[str]

    threshold: Any = attrs.field(converter=_number, validator=_threshold)
    sense: Sense | None = attrs.field(default=None, converter=optional_sense)

    def __str__(self) -> str:
        return f"{self._kind}:{self.threshold if self._endless else number_text(self.threshold)}"

    @property
    def _endless(self) -> bool:
        # math.isinf cannot ask it of an int beyond all floats.
        return self.threshold in (math.inf, -math.inf)


class PayoffAtLeast(_OfThreshold):
    """Probability that the payoff, with all rewards on the way, is at least a number.

    Parameters
    ----------
    threshold : number
        The number.
    sense : {"max", "min"}, optional
        What the player to move wants, by default ``"max"``.
    """

    _kind = "payoff-at-least"

    def worth(self, payoff: Fraction) -> int:
        """1 for a payoff that is large enough, else 0."""
        return int(payoff >= self.threshold)

    def top(self, unit: int, least: Fraction) -> int:
        """Smallest sum that suffices."""
        return 0 if self._endless else math.ceil((Fraction(self.threshold) - least) * unit)


class PayoffAtMost(_OfThreshold):
    """Probability that the payoff, with all rewards on the way, is at most a number, given as for `PayoffAtLeast`."""

    _kind = "payoff-at-most"

    def worth(self, payoff: Fraction) -> int:
        """1 for a payoff that is small enough, else 0."""
        return int(payoff <= self.threshold)

    def top(self, unit: int, least: Fraction) -> int:
        """Smallest sum that is too large."""
        return 0 if self._endless else math.floor((Fraction(self.threshold) - least) * unit) + 1


@attrs.frozen
class AverageReward(Objective):
    """Long-run average of the rewards of one player, per decision or per visit of some states; 0 after an end.

    Where every state has one, `details["bias"]` of the answer is how much more each collects than the start.

    Parameters
    ----------
    sense : {"max", "min"}, optional
        What the player wants, by default what the game says.
    per : collection of states, or predicate, optional
        Whose visits are counted, by default every decision (in a network without any, every state); every policy
        must visit them again and again.
    """

    sense: Sense | None = attrs.field(default=None, converter=optional_sense)
    per: States | None = attrs.field(default=None, validator=attrs.validators.optional(_states))

    def __str__(self) -> str:
        return "average" if self.per is None else f"average:{_listed(self.per)}"

    def apply(self, network: Network) -> Network:
        """Return the network whose steps are counted visits; a discount is not heeded."""
        refuse_pass_to(network, self)
        if network.two_player or network.horizon is not None:
            msg = "AverageReward knows one player and plays without a horizon; use Total, or fix one by a policy"
            raise UnsupportedError(msg, value=self)
        usual = network.decides if network.decides.any() else network.node_state >= 0
        counted = usual if self.per is None else _marked(network, self.per)
        nothing: dict[str, Any] = {"payoff": np.zeros(network.n_nodes), "exact_payoffs": {}, "total": 0, "discount": 1}
        return attrs.evolve(network, step=counted[network.source], sense=self.wanted(network), **nothing)

    def lower(self, applied: Network, check: Callable[[], None] = lambda: None) -> list[Lowering]:
        """Make the only player a maximiser; the rest is no total (`mdpdice.solving.average`)."""
        return reductions.chain(applied, _for_the_maximiser(applied, self.wanted(applied)), check)
