"""Objectives on a lattice: the lattice whose total reward is what is wanted, for the player to move."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mdpdice.backend import Run
from mdpdice.errors import UnknownStateError, UnsupportedError
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.counters import CounterValue, full_state
from mdpdice.modelling.equality import same_kind
from mdpdice.modelling.expressions import Expr, as_expr
from mdpdice.modelling.symbolic import ways_through
from mdpdice.networks.network import Kind
from mdpdice.objectives.collected import COLLECTED
from mdpdice.objectives.lattice_endings import end_where
from mdpdice.objectives.lattice_payoffs import pay_worth, with_counter
from mdpdice.objectives.objective import Objective, OfPayoff, Reach, States, Total, Win
from mdpdice.objectives.reductions import for_sense, one_view


def lower_lattice(lattice: Lattice, objective: Objective, run: Run | None = None) -> tuple[Lattice, bool]:
    """Return the lattice whose total reward is the objective, for the player to move.

    And whether a play without an end is worth something, as far as is known; on a lattice it is worth its rewards.
    """
    supported = isinstance(objective, Total | Reach | Win | OfPayoff)
    if not supported or (lattice.discount != 1 and not isinstance(objective, Reach | Win)):
        what = "a discount" if supported else f"the objective {objective!r}"
        known = "the undiscounted total, Reach, Win, PayoffAtLeast, PayoffAtMost and Utility"
        msg = f"lattices are solved for {known}, not for {what}; use solve(explore(game), ...)"
        raise UnsupportedError(msg, value=objective)
    endless, sense = False, objective.wanted(lattice)
    if isinstance(objective, Reach):
        lattice = _reaching(lattice, objective)
        lattice = one_view(lattice) if (lattice.sign < 0).any() else lattice
    elif isinstance(objective, Win):
        lattice = _winning(lattice, objective)
    elif isinstance(objective, OfPayoff):
        lattice, endless = pay_worth(lattice, objective, Run() if run is None else run)
    return for_sense(lattice, sense), endless


def _reaching(lattice: Lattice, objective: Reach) -> Lattice:
    """Return the lattice in which targets end with payoff 1, and everything else pays nothing."""
    goals, shunned = (_conditions(lattice, states) for states in (objective.targets, objective.avoiding))
    quiet = attrs.evolve(
        lattice,
        reward=np.full_like(lattice.reward, -1),
        payoff=np.full_like(lattice.payoff, -1),
        rewards=(),
        total=Fraction(0),
        discount=Fraction(1),
        averaged=False,
    )
    never = as_expr(value=False)
    endings = {}
    for state in {**goals, **shunned}:
        goal, avoided = goals.get(state, never), shunned.get(state, never)
        endings[state] = [(goal, as_expr(1)), (avoided & ~goal, as_expr(0))]
    return end_where(quiet, endings)


def _winning(lattice: Lattice, objective: Win) -> Lattice:
    """Return the lattice that counts the turns, whose ends pay 1 for a win of the player who starts."""
    objective.refuse(lattice)
    half, both = lattice.total / 2, one_view(lattice)
    paid = [as_expr(0), *lattice.rewards]
    # For either side, by the number of a payoff, which is -1 for 0; and what every turn counts.
    numbers = (*(as_expr(one > half) for one in paid), *(as_expr(one < half) for one in paid), as_expr(1))
    payoff = np.concatenate((lattice.payoff + 1, lattice.payoff + 1 + len(paid)))
    over, last = CounterValue(COLLECTED) >= 2 * objective.within, len(numbers) - 1
    counted = attrs.evolve(
        both,
        rewards=numbers,
        payoff=np.where(both.kind == Kind.END, payoff, -1).astype(np.int32),
        reward=np.where(np.tile(lattice.sign < 0, 2), last, -1).astype(np.int32),
        discount=Fraction(1),
        progress=None if lattice.progress is None else (*lattice.progress, CounterValue(COLLECTED)),
    )
    counted = with_counter(counted, {last: as_expr(1)}, 2 * objective.within)
    return end_where(counted, {state: [(over, as_expr(0))] for state in range(len(lattice.states))})


def _conditions(lattice: Lattice, states: States) -> dict[int, Expr]:
    """By the number of a core state: the condition under which a full state of it is meant."""
    found: dict[int, Expr] = {}
    if not callable(states):
        numbers = {state: at for at, state in enumerate(lattice.states)}
        for state in states:
            at, condition = _condition_of(lattice, numbers, state)
            found[at] = found[at] | condition if at in found else condition
        return found
    for at, core in enumerate(lattice.states):
        condition = as_expr(value=False)
        for way, out in ways_through(states, core, lattice.axes) or _not_followed(states):
            condition = condition | (way & _truth(out))
        if condition.value is not False:
            found[at] = condition
    return found


def _condition_of(lattice: Lattice, numbers: dict[Hashable, int], state: Hashable) -> tuple[int, Expr]:
    full = full_state(state, lattice.axes)
    full.point(lattice.axes)
    if (at := numbers.get(full.state)) is None or not same_kind(lattice.states[at], full.state):
        msg = f"state {full.state!r} is not in the core of this game; its first states are {list(lattice.states[:3])!r}"
        raise UnknownStateError(msg, value=state)
    condition = as_expr(value=True)
    for name, value in full.counters.items():
        condition = condition & (CounterValue(name) == value)
    return at, condition


def _truth(out: Any) -> Expr:
    if isinstance(out, Expr):
        return out if out.boolean else out != 0
    return as_expr(value=bool(out))


def _not_followed(states: Any) -> Any:
    how = "comparisons of state.state and state.counters, such as lambda state: state.counters['points'] >= 50"
    raise UnsupportedError(f"{states!r} cannot be decided for all counters at once; write it with {how}", value=states)
