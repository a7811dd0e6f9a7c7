"""Policies at the points of a lattice: who decides there, and what a function of the state says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import attrs
import numpy as np

from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.errors import UnknownStateError
from mdpdice.lattices.digest import same_core
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.asking import ask
from mdpdice.modelling.counters import At
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.expressions import as_expr

Chances: TypeAlias = "tuple[tuple[int, Fraction], ...]"
"""Edges that may be taken, and the chance of each."""


@attrs.frozen(eq=False)
class PointRule:
    """Who decides: the values of a lattice, a function of the state, or without either chance."""

    lattice: Lattice
    grid: GridValues | None
    function: Callable[[At[Any]], Any] | None

    @classmethod
    def of(cls, lattice: Lattice, policy: Policy) -> PointRule:
        """Return the rule of a policy; values of another lattice are asked as a function is."""
        table = policy.rule.table if isinstance(policy.rule, Solution) else None
        if isinstance(table, GridValues) and same_core(lattice, table.lattice):
            return cls(lattice, table, None)
        if isinstance(policy.rule, Solution):
            return cls(lattice, None, policy.rule.action)
        if policy.is_rule:
            return cls(lattice, None, policy.rule)
        return cls(lattice, None, lambda state: Dist(policy.probabilities(state)))

    def edges(self, node: int, counters: Mapping[str, int], there: list[bool]) -> Chances:
        """Return what the function does in a decision, given which of its edges are there."""
        assert self.function is not None
        lattice = self.lattice
        state: At[Any] = At(core_state(lattice, node), **counters)
        edge, action = int(lattice.indptr[node]), lattice.first_action(node)
        offered: dict[Any, int] = {}
        for at, is_open in enumerate(there):
            if is_open:
                # An action whose edge depends on a condition has several.
                offered.setdefault(lattice.actions[action + at], edge + at)
        answer = ask(self.function, state, what="the policy", state=state)
        if isinstance(answer, Dist):
            chances = {one: answer.prob(one) for one in answer}
        elif isinstance(answer, Mapping):
            scores = {one: as_expr(answer[one]).evaluate(counters) for one in offered if one in answer}
            chances = {max(scores, key=scores.__getitem__): Fraction(1)} if scores else {}
        else:
            chances = {answer: Fraction(1)}
        if (unknown := [one for one in chances if one not in offered]) or not chances:
            msg = f"the policy gives {answer!r}, which is not an action here; the actions are {list(offered)!r}"
            raise UnknownStateError(msg, state=state, action=unknown[0] if unknown else None)
        return tuple((offered[one], chance) for one, chance in chances.items())


def core_state(lattice: Lattice, node: int) -> Any:
    """Core state that a node belongs to: its own, or that of the switch or the option before it."""
    while lattice.node_state[node] < 0:
        node = int(np.searchsorted(lattice.indptr, np.flatnonzero(lattice.dst == node)[0], side="right")) - 1
    return lattice.states[int(lattice.node_state[node])]
