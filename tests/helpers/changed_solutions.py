"""Solutions whose numbers were changed after they were certified."""

from __future__ import annotations

import attrs

from mdpdice import Solution


def changed(solution: Solution, *, solver: str | None = None, **arrays) -> Solution:
    """A solution with other arrays (values, lowers, uppers, choice), and maybe another solver's name."""
    made = solution.provenance if solver is None else attrs.evolve(solution.provenance, solver=solver)
    return attrs.evolve(solution, table=attrs.evolve(solution.nodes, **arrays), provenance=made)
