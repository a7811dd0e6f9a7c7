r"""Policy iteration: solve the equations of a policy, improve it where an option is better, repeat.

Problem
-------
Bellman's equation :math:`v = Tv` of a network, as in `mdpdice.solvers.value_iteration`.
A policy :math:`s` fixes one edge per decision; :math:`T_s` is the operator that is left.

Method
------
Howard (1960): solve the linear system :math:`v = T_s v`, switch to the best edge wherever one is *strictly*
better than that of the policy, and repeat until none is.  Values rise from policy to policy, so none
comes back.  "Strictly" means by more than rounding: a policy that is kept on ties cannot be talked
into a circle that looks as good and never ends.

The strong components are taken one after the other, successors first; what lies on no cycle takes one
backup.  Small components are solved several at a time.  A component is written as a matrix over its
decisions; a chance node that one edge leads to goes into the row of that edge.  The first policy comes from
three sweeps.

Evaluation
----------
* Up to `direct` unknowns by sparse factorisation and one step of refinement; where plays are long, in the way of
  Grassmann, Taksar and Heyman (1985), which never subtracts and so stays accurate where a factorisation
  loses every digit.
* Larger systems by BiCGSTAB with diagonal scaling, down to 1/20 of the residual that the last switches
  left, and to rounding in the end (inexact policy iteration); with an incomplete factorisation where that is slow,
  and by Gauss-Seidel sweeps where even that fails.
* Discounted problems, as long as more than one decision in a hundred switches: by `sweeps` plain sweeps (modified
  policy iteration, Puterman and Shin 1978).

Two players
-----------
Hoffman and Karp (1966): the minimiser finds the best reply to the maximiser's policy by policy iteration, then the
maximiser switches.  A component in which the players change sides (`pass_to`) is written twice, once for
each player to move.

Endless plays
-------------
Where plays may pay for ever, the first policy makes for the way out (an attractor to the ends), and switches after
which a play would lose for ever are taken back.  Where they may go on for ever without rewards, that is worth 0,
and a player stays in a place that would be worth less, and that the opponent can only leave at a loss.

Stopping rule and guarantee
---------------------------
The solve stops when no option is better by more than ``1e-13`` of the numbers that are added for it, and gives
up with `NotConvergedError` after `max_iterations` systems of one block.  Nothing here is a proof: a small
residual says little where plays are long, and `mdpdice.solve` certifies what it gets.

With a checkpoint, the values and the block at work are kept before every evaluation of a policy, so a solve that goes
on from there gives the same bits as one that was never stopped.

Measured on one core: 100,000 decisions with 4 options each and 2.8 million probabilities, undiscounted, plays of ten
thousand steps: 4 s, 20 policies, 1,600 products of matrix and vector.  Value iteration needs more than 8
minutes for it.

References
----------
W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state distributions for Markov
chains", *Operations Research* 33 (1985), 1107-1116.

A. J. Hoffman, R. M. Karp, "On nonterminating stochastic games", *Management Science* 12 (1966), 359-370.

R. A. Howard, *Dynamic Programming and Markov Processes*, MIT Press 1960.

M. L. Puterman, M. C. Shin, "Modified policy iteration algorithms for discounted Markov decision problems",
*Management Science* 24 (1978), 1127-1137.

H. A. van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the solution of nonsymmetric
linear systems", *SIAM Journal on Scientific and Statistical Computing* 13 (1992), 631-644.
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from mdpdice.backend import AlwaysAvailable, Candidate, Feature, Run, at_least, traced
from mdpdice.errors import NotConvergedError
from mdpdice.networks.network import Network
from mdpdice.solvers.policy_iteration import blocks, krylov

__all__ = ["PolicyIteration"]


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

    Examples
    --------
    Pay 1 and toss a coin until it shows heads, for 5; or take 2 at once.

    >>> from mdpdice.backend import Run
    >>> from mdpdice.networks.network import Network
    >>> game = Network(
    ...     kind=[1, 3, 0, 0], indptr=[0, 2, 4, 4, 4], dst=[1, 2, 0, 3], weight=[1, 1, 0.5, 0.5],
    ...     reward=[-1, 0, 0, 0], sign=[1] * 4, step=[1] * 4, payoff=[0, 0, 2, 5], start=0)
    >>> answer = PolicyIteration().solve(game, Run())
    >>> round(float(answer.value[0]), 12), int(answer.policy[0])
    (3.0, 0)
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
            # What is quick keeps no checkpoint.
            quick = None if run.checkpoint else krylov.propose(problem, run, self.max_iterations)
            return quick or blocks.propose(problem, run, self.max_iterations, self.direct, self.sweeps)
        except NotConvergedError as error:
            if run.on_limit == "partial" and error.partial is not None:
                partial: Candidate = error.partial
                return attrs.evolve(partial, details={"stopped": True})
            raise
