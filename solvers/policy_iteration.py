r"""Policy iteration: solve the equations of a policy, improve it where an option is better, repeat.

TODO
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from mdpdice.backend import Candidate, Feature, Run, traced
from mdpdice.errors import NotConvergedError
from mdpdice.network import Network
from mdpdice.solvers import _howard

__all__ = ["PolicyIteration"]


@attrs.frozen
class PolicyIteration:
    """Howard's policy iteration."""

    max_iterations: int = attrs.field(default=1000, validator=attrs.validators.ge(1))
    direct: int = attrs.field(default=600, validator=attrs.validators.ge(0))
    sweeps: int = attrs.field(default=20, validator=attrs.validators.ge(0))

    name: ClassVar[str] = "policy-iteration"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.CYCLIC, Feature.TWO_PLAYER, Feature.DISCOUNT})

    @classmethod
    def available(cls) -> bool:
        """Always: it needs nothing beyond what mdpdice itself needs."""
        return True

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        """Propose the value and the policy."""
        settings = _howard.Settings(self.max_iterations, self.direct, self.sweeps)
        try:
            return _howard.propose(problem, run, settings)
        except NotConvergedError as error:
            if run.on_limit == "partial" and error.partial is not None:
                return attrs.evolve(error.partial, details={"stopped": True})
            raise
