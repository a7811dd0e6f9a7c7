"""Policy iteration: solve the equations of a policy, improve it where an option is better, repeat.

The page "How the solvers work" of the reference (``docs/reference/methods.rst``) has the problem, the method, what it
guarantees, and the literature.
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from mdpdice.backend import AlwaysAvailable, Candidate, Feature, Run, at_least, traced
from mdpdice.errors import NotConvergedError
from mdpdice.networks.network import Network
from mdpdice.solvers.policy_iteration import blocks, krylov


@attrs.frozen
class PolicyIteration(AlwaysAvailable):
    """Howard's policy iteration, modified for discounted problems, and strategy iteration for two players.

    Parameters
    ----------
    max_iterations : int
        Most linear systems of one block.
    direct : int
        Largest component, in decisions, whose systems are solved by factorisation.
    sweeps : int
        Sweeps of one modified evaluation; 0 for none.

    Raises
    ------
    NotConvergedError
        A block was not done after `max_iterations` systems, or a system could not be solved.
    UnsupportedError
        From some state every play collects or pays for ever.
    """

    max_iterations: int = attrs.field(default=1000, validator=at_least(1))
    direct: int = attrs.field(default=600, validator=at_least(0))
    sweeps: int = attrs.field(default=20, validator=at_least(0))

    name: ClassVar[str] = "policy-iteration"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.CYCLIC, Feature.TWO_PLAYER, Feature.DISCOUNT, Feature.CHECKPOINT}
    )

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        """Propose the value and the policy."""
        try:
            # What is quick keeps no checkpoint; after a stop it is done again.
            quick = krylov.propose(problem, run, self.max_iterations)
            return quick or blocks.propose(problem, run, self.max_iterations, self.direct, self.sweeps)
        except NotConvergedError as error:
            if run.on_limit == "partial" and error.partial is not None:
                partial: Candidate = error.partial
                return attrs.evolve(partial, details={"stopped": True})
            raise
