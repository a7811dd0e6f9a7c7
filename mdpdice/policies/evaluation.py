"""The value of a policy at every node, with an interval that was proved to hold it.

When everybody follows a policy, a network is a Markov chain with rewards (see
`mdpdice.policies.markov_chain`), and the value solves a linear system::

    V(i) = sum over the edges e of i of  p(e) (reward(e) + discount**step(e) * q(e, V(dst(e))))

with ``q`` as in `mdpdice.networks.network`.  The graph is looked at first, for undiscounted chains: a
closed set of nodes without rewards is worth 0 (half of `total` with `pass_to`), since a
play that never ends is worth what it collected; and a play that comes into a closed
set where it collects, or pays, for ever is worth an infinite amount.  All other plays
end, so the rest of the system has one solution.  It is found component by component
(`mdpdice.numerics.linear`).

The interval comes from the theorem of `mdpdice.certification.checking.inequalities`, for a network in which nobody
decides: the claimed bounds are the value plus and minus the errors of one backup, added
up along a play.  With ``exact=True`` the system is solved in rational numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import TypeVar, overload

import attrs
import numpy as np

from mdpdice.answers.answer import Answer, Status
from mdpdice.answers.policy import Policy
from mdpdice.backend import Progress
from mdpdice.certification.checking import inequalities
from mdpdice.errors import (
    GameError,
    HorizonRangeError,
    NotCertifiedError,
    TotalRewardUndefinedError,
    UnsupportedError,
)
from mdpdice.exploration.to_network import explore
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import nearest_floats, size
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics.linear import solve_chain
from mdpdice.numerics.operator import bellman
from mdpdice.objectives.reductions import shift_total
from mdpdice.policies.lattice_evaluation import Rule, evaluate_lattice
from mdpdice.policies.markov_chain import Chain, induce, walk
from mdpdice.solving.lattice_solution import LatticeSolution

__all__ = ["Evaluation", "endless", "evaluate"]

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)


@attrs.frozen(eq=False, repr=False)
class Evaluation(Answer):
    """The value of a policy, or of two against each other.

    Parameters
    ----------
    chain : Chain
        What is left when the policy decides.
    status : Status
        EXACT, CERTIFIED, or UNCERTIFIED.
    values, lowers, uppers : ndarray of float64, shape (N,) or (horizon + 1, N)
        Value of every node and the interval that was proved to hold it, in payoff
        units, as in `Solution`.  Infinite where a play can collect or pay for ever,
        NaN where it does both.
    width : float
        Largest ``(upper - lower) / max(1, |value|)`` over the finite nodes.
    reason : str
        Why the status is UNCERTIFIED.
    fractions : sequence of Fraction or None
        With ``exact=True`` the values, in the order of the nodes of the chain.
    """

    chain: Chain
    status: Status
    values: Floats
    lowers: Floats
    uppers: Floats
    width: float
    reason: str = ""
    fractions: Sequence[Fraction | None] | None = None

    @property
    def network(self) -> Network:
        """Where the policy was evaluated."""
        return self.chain.base

    def estimate(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """The value of a state, whatever was proved about it."""
        at = self._at(state, steps_left)
        number = float(self.values[at])
        if np.isnan(number) and np.isnan(self.lowers[at]):
            msg = "plays from here collect and pay without end; use a discount or a horizon"
            raise TotalRewardUndefinedError(msg, state=self.network.describe(at[-1]))
        return number

    def lower(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Lower end of the interval of a state; -inf where nothing was proved."""
        return float(self.lowers[self._at(state, steps_left)])

    def upper(self, state: Hashable = None, *, steps_left: int | None = None) -> float:
        """Upper end of the interval of a state; inf where nothing was proved."""
        return float(self.uppers[self._at(state, steps_left)])

    def exact(self, state: Hashable = None, *, steps_left: int | None = None) -> Fraction:
        """Value of a state as a rational number.

        Raises
        ------
        NotCertifiedError
            The evaluation was not made with ``exact=True``.
        TotalRewardUndefinedError
            The value is infinite or undefined.
        """
        if self.fractions is None:
            msg = "the policy was evaluated in floats; use evaluate(..., exact=True)"
            raise NotCertifiedError(msg, state=state)
        at = self._at(state, steps_left)
        stage = at[0] if len(at) == 2 else 0
        found = self.fractions[stage * self.chain.seats * self.network.n_nodes + at[-1]]
        if found is None:
            msg = f"the value {self.values[at]} is not a rational number"
            raise TotalRewardUndefinedError(msg, state=self.network.describe(at[-1]))
        return found

    def _at(self, state: Hashable, steps_left: int | None) -> tuple[int, ...]:
        net = self.network
        node = net.start if state is None else net.value_node_of(state)
        if net.horizon is None:
            if steps_left is not None:
                msg = f"steps_left={steps_left!r} needs a network with a horizon"
                raise HorizonRangeError(msg, value=steps_left)
            return (node,)
        steps = net.horizon if steps_left is None else steps_left
        if type(steps) is not int or not 0 <= steps <= net.horizon:
            msg = f"steps_left={steps!r} is not a number from 0 to the horizon {net.horizon}"
            raise HorizonRangeError(msg, value=steps, limit=net.horizon)
        return steps, node

    def _unproved(self, number: float) -> str:
        return (
            f"the value {number!r} of the policy was not proved: {self.reason}; ask estimate() for the number"
        )

    def __repr__(self) -> str:
        number = self.values[self._at(None, None)]
        if self.status is Status.EXACT:
            return f"<Evaluation: {number:.12g}, exact>"
        if self.proved:
            return f"<Evaluation: {number:.12g} in [{self.lower():.12g}, {self.upper():.12g}], certified>"
        return f"<Evaluation: about {number:.6g}, {self.status.value}: {self.reason}>"


@overload
def evaluate(
    game: Game[S, A] | Network,
    policy: Policy | Sequence[Policy],
    *,
    exact: bool = False,
    epsilon: float = 1e-6,
    progress: Progress | None = None,
) -> Evaluation: ...
@overload
def evaluate(
    game: Lattice, policy: Rule, *, epsilon: float = 1e-6, progress: Progress | None = None
) -> LatticeSolution: ...
def evaluate(
    game: Game[S, A] | Network | Lattice,
    policy: Policy | Sequence[Policy] | Rule,
    *,
    exact: bool = False,
    epsilon: float = 1e-6,
    progress: Progress | None = None,
) -> Evaluation | LatticeSolution:
    """Value of every node when the players follow a policy.

    Parameters
    ----------
    game : Game, Network or Lattice
        What is played.
    policy : Policy or sequence of two, or rule
        On a lattice a rule, see `mdpdice.policies.lattice_evaluation`.
        One for all decisions, or one per player: the first belongs to the one who
        moves first (with `pass_to`), or maximises (with MIN nodes).  A policy of
        another network is carried over by the names of states and actions.
    exact : bool
        Solve in rational numbers.  Takes long where a component has more than a
        few hundred nodes.
    epsilon : float
        The status is CERTIFIED if every interval has at most the width
        ``epsilon * max(1, |value|)``.
    progress : callable, optional
        Called as ``progress("evaluate", {"nodes": ...})`` before the linear system is solved;
        on a lattice as by `mdpdice.solve`.

    Examples
    --------
    >>> from mdpdice import Game, decide, end, explore, go, roll, d6
    >>> pig = Game.of(start=0, node=lambda p: end(p) if p >= 100 else decide({
    ...     "hold": end(p),
    ...     "roll": roll(d6, lambda k: end() if k == 1 else go(p + k)),
    ... }))
    >>> network = explore(pig)
    >>> hold_at_20 = Policy.of(network, lambda p: "hold" if p >= 20 else "roll")
    >>> round(evaluate(network, hold_at_20).value(), 6)
    8.141795
    """
    epsilon = size(epsilon, "epsilon")
    if isinstance(game, Lattice):
        if exact or not callable(policy):
            msg = "on a lattice a rule is evaluated, in floats: a function of core states"
            raise UnsupportedError(msg, value=policy)
        return evaluate_lattice(game, policy, epsilon=epsilon, progress=progress)
    if callable(policy):
        msg = "a rule is evaluated on a lattice, compile_lattice(game); on a network use Policy.of(network, function)"
        raise UnsupportedError(msg, value=policy)
    if isinstance(game, Game):
        network = explore(game)
    elif isinstance(game, Network):
        network = game
    else:
        msg = f"{game!r} is neither a Game nor a Network; a class needs to be called: MyGame()"
        raise GameError(msg, value=game)
    chain = induce(network, policy)
    if progress is not None:
        progress("evaluate", {"nodes": chain.network.n_nodes})
    lowered = shift_total(chain.network)
    whole = chain.network if lowered is None else lowered.network
    idle, infinite = endless(whole)
    settled = idle | (infinite != 0)
    problem = _settle(whole, settled)
    fractions = None
    if exact:
        from mdpdice.numerics.rational import solve_exactly

        shift = whole.total if lowered is None else chain.network.total / 2
        numbers = [number + shift for number in solve_exactly(problem)]
        value = np.array(nearest_floats(numbers))
        lower, upper, reason = np.nextafter(value, -np.inf), np.nextafter(value, np.inf), ""
        fractions = [
            None if at else number for number, at in zip(numbers, (infinite != 0).tolist(), strict=True)
        ]
    else:
        value, lower, upper, reason = _enclose(problem)
        if lowered is not None:
            value, (lower, upper) = lowered.value(value), lowered.bounds(lower, upper)
    if not _closed(whole, idle):
        reason = "a set without rewards that no play leaves was not confirmed"
    # Nodes of infinite value are ends here, with the value 0 and no width.
    relative = (upper - lower) / np.maximum(1.0, np.abs(value))
    value, lower, upper = (np.where(infinite != 0, infinite, array) for array in (value, lower, upper))
    width = float(relative.max(initial=0.0))
    if not reason and not width <= epsilon:
        worst = int(np.argmax(relative))
        reason = f"the interval of {chain.describe(worst)!r} has relative width {width:.3g}, more than {epsilon:.3g}"
    status = Status.UNCERTIFIED if reason else Status.EXACT if exact else Status.CERTIFIED
    return Evaluation(
        chain,
        status,
        chain.per_node(value),
        chain.per_node(lower),
        chain.per_node(upper),
        width=width,
        reason=reason,
        fractions=fractions,
    )


def endless(chain: Network) -> tuple[Bools, Floats]:
    """What plays that never end are worth.

    Parameters
    ----------
    chain : Network
        A network without decisions.

    Returns
    -------
    idle : ndarray of bool, shape (N,)
        Nodes from which nobody leaves a closed set without rewards: they are worth 0.
    infinite : ndarray of float64, shape (N,)
        inf or -inf where a play can come to collect or to pay without end, seen by
        the player to move; NaN where both can be, or both happen in one closed set; 0 elsewhere.
    """
    n = chain.n_nodes
    infinite = np.zeros(n)
    if chain.discount < 1:
        return np.zeros(n, dtype=bool), infinite
    seen = walk(chain)
    idle, gains, loses = seen.closed(seen.rewards(chain))
    if gains.any() or loses.any():
        collects, pays = seen.reaches(gains)[:n], seen.reaches(loses)[:n]
        infinite[collects], infinite[pays] = np.inf, -np.inf
        infinite[collects & pays] = np.nan
    return idle[:n], infinite


def _closed(chain: Network, idle: Bools) -> bool:
    """Verify that no edge leaves the marked nodes or pays anything there."""
    inside = idle[chain.source]
    return bool(idle[chain.dst[inside]].all() and (chain.reward[inside] == 0).all())


def _settle(chain: Network, settled: Bools) -> Network:
    """The chain in which the marked nodes are ends with payoff 0."""
    if not settled.any():
        return chain
    return chain.keep_edges(np.flatnonzero(~settled[chain.source]))


def _enclose(chain: Network) -> tuple[Floats, Floats, Floats, str]:
    """Value of a chain in which every play stops or is discounted, its interval, and why there is none."""
    operator = bellman(chain)
    stochastic = chain.discount == 1
    value = solve_chain(operator, stochastic=stochastic and not chain.two_player)
    if not np.isfinite(value).all():
        value = np.where(np.isfinite(value), value, 0.0)
    moves = operator.plays()
    needed = _errors(chain, value)
    excess = solve_chain(attrs.evolve(moves, base=needed), stochastic=stochastic)
    # What rounding in that solution leaves short is made up for by a multiple of the expected length of plays.
    short = float((needed + _ahead(chain, moves.coef, excess) - excess).max(initial=0.0))
    if short > 0:
        w = solve_chain(moves, stochastic=stochastic)
        margin = (w - _ahead(chain, moves.coef, w))[chain.kind == Kind.CHANCE].min(initial=1.0)
        excess = excess + (1.1 * short / margin if margin > 0 else np.nan) * w
    bounds = np.concatenate((excess - value, excess + value))
    nobody = np.full(2 * chain.n_nodes, -1)
    rank = np.tile(_distance_to_end(chain), 2)
    witness = inequalities.Witness(group=nobody, rank=rank, label=np.zeros_like(rank))
    reason = inequalities.verify(chain, nobody[: chain.n_nodes], bounds, witness)
    if reason:
        nothing = np.full(chain.n_nodes, np.inf)
        return value, -nothing, nothing, reason
    return value, -bounds[: chain.n_nodes], bounds[chain.n_nodes :], ""


def _ahead(chain: Network, coef: Floats, value: Floats) -> Floats:
    total = np.bincount(chain.source, weights=coef * value[chain.dst], minlength=chain.n_nodes)
    return total.astype(np.float64, copy=False)


def _errors(chain: Network, value: Floats) -> Floats:
    """Error of one backup of every node, with room for what rounding adds; the checker measures it again."""
    factor = np.where(chain.step, float(chain.discount), 1.0)
    worth = chain.reward + chain.sign * factor * value[chain.dst]
    size = np.abs(chain.reward) + factor * np.abs(value[chain.dst])
    n = chain.n_nodes
    mean, spread, total = (
        np.bincount(chain.source, weights=chain.weight * part, minlength=n)
        for part in (worth, size, np.ones(chain.n_edges))
    )
    off = np.abs(mean - value)
    slack = ((2 * np.diff(chain.indptr) + 10) * inequalities.ULP + np.abs(1.0 - total)) * (
        spread + np.abs(value)
    )
    moves = chain.kind == Kind.CHANCE
    # The excess itself rounds, even where the value is 0; this is invisible next to the largest value.
    room = 2.0**-54 * float(np.abs(value).max(initial=0.0)) + 0.02 * float(off[moves].max(initial=0.0))
    return np.where(moves, off + 1.5 * slack + room, chain.payoff_room)


def _distance_to_end(chain: Network) -> Ints:
    """Fewest moves to an end from every node."""
    entering = np.concatenate(([0], np.cumsum(np.bincount(chain.dst, minlength=chain.n_nodes))))
    back = chain.source[np.argsort(chain.dst, kind="stable")]
    rank = np.where(chain.kind == Kind.END, 0, -1)
    front, far = np.flatnonzero(rank == 0), 0
    token = np.zeros(chain.n_nodes, dtype=np.int64)
    while len(front):
        far += 1
        degree = entering[front + 1] - entering[front]
        first = np.repeat(entering[front] - np.cumsum(degree) + degree, degree)
        before = back[first + np.arange(len(first))]
        before = before[rank[before] < 0]
        rank[before] = far
        # Of equal nodes the one whose token was written last stays; sorting them would take longer.
        number = np.arange(len(before))
        token[before] = number
        front = before[token[before] == number]
    return np.maximum(rank, 0)
