"""Two forms of one game: with its counters and unrolled, with its symmetries and without.

The former are compared as networks, in rationals; the latter are solved, and the certified intervals of each
state compared, since a symmetry changes the network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

from mdpdice import errors
from mdpdice.answers.solution import Solution
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.to_network import explore
from mdpdice.lattices.reachable_layers import find_layers
from mdpdice.modelling.counters import axes
from mdpdice.modelling.equality import same_kind
from mdpdice.modelling.game import Game
from mdpdice.modelling.unrolling import Unrolled
from mdpdice.networks.network import Network
from mdpdice.objectives.objective import Objective
from mdpdice.solving.pipeline import solve
from mdpdice.testing.reports import Ledger
from mdpdice.testing.same_model import compare_networks

_Ask = Callable[[Network, str], Solution]


def asker(ledger: Ledger, objective: Objective | None, horizon: int | None) -> _Ask:
    """Return a function that solves a network for a check, and fails that check if it cannot."""

    def ask(network: Network, check: str) -> Solution:
        try:
            solution = solve(network, objective, horizon=horizon, progress=ledger.limits["progress"])
        except errors.MdpDiceError as error:
            endless = isinstance(error, errors.TotalRewardUndefinedError)
            ledger.fail("termination" if endless else check, error.message, cause=error)
        if not solution.proved:
            ledger.fail(check, f"the answer of {solution.solver} was not certified: {solution.reason}; see cross_check")
        return solution

    return ask


def _apart(one: Solution, state: Hashable, two: Solution, other: Hashable) -> str:
    """How the values of two states differ beyond what was proved of them; empty if they do not."""
    lowers = one.lower(state), two.lower(other)
    uppers = one.upper(state), two.upper(other)
    room = 1e-9 * max(1.0, *(abs(x) for x in (*lowers, *uppers) if math.isfinite(x)), 0.0)
    if max(lowers) <= min(uppers) + room or max(lowers) == min(uppers):
        return ""
    return f"[{lowers[0]:.12g}, {uppers[0]:.12g}] and [{lowers[1]:.12g}, {uppers[1]:.12g}]"


def check_counters(ledger: Ledger, game: Game[Any, Any], network: Network) -> None:
    """Check the counters: `Game.unrolled` is the same game, with the same states, and its progress never decreases."""
    if not axes(game):
        ledger.skipped("counters", "the game has no counters")
        return
    with ledger.failing("counters", "its unrolled form cannot be explored: "):
        plain = explore(game.unrolled(), **ledger.limits)
    try:
        compare_networks(ledger, "counters", network, plain, rename_state=lambda state: state)
    except errors.ConformanceError as error:
        ledger.fail("counters", f"beside its unrolled form: {error.message.partition(': ')[2]}", state=error.state)
    try:
        find_layers(compile_lattice(game, **ledger.limits))
    except errors.StateLimitError:
        pass  # nobody solves it on its lattice then
    except errors.MdpDiceError as error:
        ledger.fail("counters", f"on its lattice: {error.message}", cause=error)
    ledger.passed("counters", network.n_states, "states equal to those of the unrolled form")


def check_symmetry(ledger: Ledger, game: Game[Any, Any], solution: Solution, ask: _Ask) -> None:
    """Check the symmetry: representatives stand for themselves, and have the values of all states they stand for."""
    if type(game).canonical is Game.canonical:
        ledger.skipped("canonical", "the game declares no symmetry")
        ledger.skipped("symmetry", "the game declares no symmetry")
        return
    network = solution.network
    counted = bool(axes(game))
    canonical = game.unrolled().canonical if counted else game.canonical
    try:
        plain = explore(Unrolled(game) if counted else _without_symmetry(game), **ledger.limits)
    except errors.StateLimitError:
        plain = None
    except errors.MdpDiceError as error:
        ledger.fail("symmetry", f"without canonical(): {error.message}", cause=error)
    states = network.states if plain is None else plain.states
    representative = []
    for state in states:
        first = ledger.ask("canonical", "canonical()", canonical, state, state=state)
        second = ledger.ask("canonical", "canonical()", canonical, first, state=first)
        if second != first or not same_kind(second, first):
            msg = f"canonical() makes {first!r} of it, and of that {second!r}; a representative must stand for itself"
            ledger.fail("canonical", msg, state=state, value=first)
        representative.append(first)
    ledger.passed("canonical", len(states), "states" if plain is not None else "representatives")
    if plain is None:
        ledger.skipped("symmetry", f"the game has more than {ledger.max_states:,} states without canonical()")
        return
    whole = ask(plain, "symmetry")
    for state, first in zip(states, representative, strict=True):
        try:
            network.node_of(first)
        except errors.UnknownStateError as error:
            msg = f"its representative {first!r} cannot be reached, so canonical() is not a symmetry of the rules"
            ledger.fail("symmetry", msg, state=state, cause=error)
        if apart := _apart(whole, state, solution, first):
            msg = f"its value and that of its representative {first!r} are in {apart}; they must be equal"
            ledger.fail("symmetry", msg, state=state, value=first)
    ledger.passed("symmetry", len(states), f"states with {network.n_states:,} representatives")


def _without_symmetry(game: Game[Any, Any]) -> Game[Any, Any]:
    """Return the same game, with every state standing for itself."""
    total, discount, sense = game.total, game.discount, game.sense
    return Game.of(start=game.start(), node=game.node, total=total, discount=discount, sense=sense)
