"""Policies on a lattice: what is left of it when everybody follows a rule.

On a grid with millions of points nobody can ask a function about every state.  A *rule* is asked once
about every core state in which somebody decides, and answers for all values of the counters:

* with an action, which is taken always; or
* with a mapping of actions to scores, numbers or expressions over the counters: of the actions that are
  available the one with the largest score is taken, the first of them on a tie.  Actions without a
  score are never taken.

So ``{"hold": game.turn >= 20, "roll": 0.5}`` holds at 20, and a mapping of boxes to expressions fills
the box that seems to gain most.

`induce_lattice` writes the rule into the lattice: a decision becomes a chance node whose edges have
complementary guards.  What comes out is a lattice without decisions, which is solved and certified like any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import attrs
import numpy as np

from mdpdice.backend import Progress, Run
from mdpdice.errors import GameError, MdpDiceError, UnknownStateError
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.layer_solver import solve_layers
from mdpdice.lattices.reachable_layers import find_layers
from mdpdice.modelling.expressions import Expr, as_expr
from mdpdice.networks.network import Kind
from mdpdice.solving.lattice_solution import LatticeSolution, certify_lattice

__all__ = ["Rule", "evaluate_lattice", "induce_lattice"]

Rule = Callable[[Any], Any]
"""See the module's text."""


def evaluate_lattice(
    lattice: Lattice, rule: Rule, *, epsilon: float = 1e-6, progress: Progress | None = None
) -> LatticeSolution:
    """Value of every state of a lattice when everybody follows a rule, certified.

    Parameters
    ----------
    lattice : Lattice
        Undiscounted.
    rule : callable
        See the module's text.
    epsilon, progress
        As for `mdpdice.solve`.

    Raises
    ------
    UnknownStateError
        The rule names an action that there is not.
    GameError
        The rule raised, or takes an action where it is not available.
    """
    started = time.perf_counter()
    run = Run(progress=progress)
    layers = find_layers(induce_lattice(lattice, rule), run)
    values, sweeps = solve_layers(layers, run)
    return certify_lattice(
        layers,
        np.where(layers.reached, values, np.nan),
        solver="rule",
        run=run,
        epsilon=epsilon,
        started=started,
        iterations=sweeps,
    )


def induce_lattice(lattice: Lattice, rule: Rule) -> Lattice:
    """The lattice that is left when everybody follows a rule."""
    decides = (lattice.kind == Kind.MAX) | (lattice.kind == Kind.MIN)
    guards = list(lattice.guards)
    edges: list[int] = []
    conditions: list[int] = []
    degree = np.diff(lattice.indptr).copy()
    position = 0
    for node in range(lattice.n_nodes):
        own = range(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
        if not decides[node]:
            edges.extend(own)
            conditions.extend(lattice.guard[own.start : own.stop].tolist())
            continue
        actions = lattice.actions[position : position + len(own)]
        position += len(own)
        chosen = _chosen(lattice, node, own, actions, rule)
        degree[node] = len(chosen)
        for edge, condition in chosen:
            edges.append(edge)
            if condition is None:
                conditions.append(-1)
            else:
                conditions.append(len(guards))
                guards.append(condition)
    kept = np.array(edges, dtype=np.int64)
    return attrs.evolve(
        lattice,
        kind=np.where(decides, Kind.CHANCE, lattice.kind).astype(np.uint8),
        indptr=np.concatenate(([0], np.cumsum(degree))),
        dst=lattice.dst[kept],
        weight=lattice.weight[kept],
        numerator=lattice.numerator[kept],
        sign=lattice.sign[kept],
        guard=np.array(conditions, dtype=np.int32),
        update=lattice.update[kept],
        reward=lattice.reward[kept],
        guards=tuple(guards),
        actions=(),
    )


def _chosen(
    lattice: Lattice, node: int, own: range, actions: Any, rule: Rule
) -> list[tuple[int, Expr | None]]:
    """Edges that the rule may take in a core node, and when it does."""
    core = _state(lattice, node)
    try:
        answer = rule(core)
    except MdpDiceError as error:
        raise error.at(core) from error.__cause__
    except Exception as error:
        msg = f"the rule raised {type(error).__name__}: {error}"
        raise GameError(msg, state=core) from error
    scores: Mapping[Hashable, Any] = answer if isinstance(answer, Mapping) else {answer: 0}
    unknown = [action for action in scores if action not in actions]
    if unknown or not scores:
        msg = f"the rule gives no score to an action of this state; they are {list(actions)!r}"
        raise UnknownStateError(msg, state=core, action=unknown[0] if unknown else None)
    options = [
        (edge, _available(lattice, edge), as_expr(scores[action]))
        for edge, action in zip(own, actions, strict=True)
        if action in scores
    ]
    found: list[tuple[int, Expr | None]] = []
    for at, (edge, there, score) in enumerate(options):
        condition = there
        for other, (_, also, rival) in enumerate(options):
            if other != at:
                better = rival >= score if other < at else rival > score
                condition = _both(condition, _not(_both(also, as_expr(better))))
        if condition is None or condition.value is None:
            found.append((edge, condition))
        elif condition.value:
            found.append((edge, None))
    return found


def _state(lattice: Lattice, node: int) -> Any:
    """Core state of a decision: its own, or that of the switch which stands for it."""
    while lattice.node_state[node] < 0:
        before = np.flatnonzero(lattice.dst == node)
        node = int(np.searchsorted(lattice.indptr, before[0], side="right")) - 1
    return lattice.states[int(lattice.node_state[node])]


def _available(lattice: Lattice, edge: int) -> Expr | None:
    """When an option is there; None: always."""
    guard = int(lattice.guard[edge])
    there = lattice.guards[guard] if guard >= 0 else None
    axes = {axis.name: axis for axis in lattice.axes}
    for change in lattice.updates[lattice.update[edge]] if lattice.update[edge] >= 0 else ():
        axis = axes[change.name]
        if axis.outside != "forbid":
            continue
        low, high = min(axis.values), max(axis.values)
        there = _both(there, as_expr(change.value >= low))
        there = _both(there, as_expr(change.value <= high))
    return there


def _both(one: Expr | None, other: Expr | None) -> Expr | None:
    if one is None or other is None:
        return other if one is None else one
    if one.value is not None or other.value is not None:
        fixed, free = (one, other) if one.value is not None else (other, one)
        return free if fixed.value else fixed
    return one & other


def _not(expr: Expr | None) -> Expr:
    """What holds where a condition does not; a condition that is None always holds."""
    if expr is None:
        return as_expr(value=False)
    return as_expr(not expr.value) if expr.value is not None else ~expr
