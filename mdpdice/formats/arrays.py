"""Arrays of other libraries: pymdptoolbox, QuantEcon and mdpsolver.

All three hold decision tables in floats (`mdpdice.formats.decision_tables` says how a network becomes one).  Arrays
are read by ``from_pymdptoolbox`` and ``from_quantecon``: a state that can only stay where it is, for nothing,
ends the play.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse, vstack

from mdpdice import errors
from mdpdice.formats.decision_tables import Table, tabulate
from mdpdice.formats.exported_model import Start, decision_process
from mdpdice.modelling.number import own_number
from mdpdice.networks.network import Floats, Ints, Network

FLOAT_EXACT = 1 << 53
"""Whole numbers up to here are floats."""
MAX_DENSE = 500_000_000
"""Most numbers of a dense array: 4 GB."""


# --- what is passed on --------------------------------------------------------


@attrs.frozen(eq=False)
class QuantEconArrays:
    """What `quantecon.markov.DiscreteDP` takes: ``DiscreteDP(*arrays.arguments())``."""

    R: Floats  #: rewards: of pairs, shape (L,), or of all states and actions, (n, m), with -inf for what is not allowed
    Q: Any  #: transition probabilities: csr_array of shape (L, n), or ndarray of shape (n, m, n)
    beta: float  #: discount factor
    s_indices: Ints | None  #: state of every pair, shape (L,)
    a_indices: Ints | None  #: action of every pair
    table: Table  #: which node of the network a state is; `Table.values` turns values back

    def arguments(self) -> tuple[Any, ...]:
        """Arguments of ``DiscreteDP``, in order."""
        return self.R, self.Q, self.beta, self.s_indices, self.a_indices


@attrs.frozen(eq=False)
class ToolboxArrays:
    """What the classes of ``mdptoolbox.mdp`` take: ``PolicyIteration(arrays.P, arrays.R, arrays.discount)``."""

    P: Any  #: transition probabilities: a csr_matrix of shape (n, n) per action, or ndarray of shape (A, n, n)
    R: Floats  #: expected rewards, shape (n, A)
    discount: float  #: factor per step
    table: Table  #: as in `QuantEconArrays`


@attrs.frozen(eq=False)
class MdpSolverArrays:
    """What ``mdpsolver.model().mdp`` takes as keywords: ``model.mdp(**arrays.arguments())``."""

    rewards: list[list[float]]  #: expected reward of every state and action
    columns: list[list[list[int]]]  #: states that an action may lead to
    probabilities: list[list[list[float]]]  #: and their probabilities
    discount: float  #: factor per step
    table: Table  #: as in `QuantEconArrays`

    def arguments(self) -> dict[str, Any]:
        """Keywords of ``model.mdp``."""
        given = {"discount": self.discount, "rewards": self.rewards}
        return given | {"tranMatProbs": self.probabilities, "tranMatColumns": self.columns}


# --- networks to arrays --------------------------------------------------------


def to_quantecon(network: Network, *, layout: str = "pairs") -> QuantEconArrays:
    """Return a network as arrays for QuantEcon.

    Parameters
    ----------
    network : Network
        A network of one player.
    layout : {"pairs", "product"}
        State-action pairs with a sparse matrix, or dense arrays of all states and actions.

    Raises
    ------
    UnsupportedError
        There are two players, or the table cannot hold the network; see `mdpdice.formats.decision_tables.tabulate`.
    """
    table = tabulate(network, "QuantEcon")
    states = table.state_of_choice
    action = np.arange(len(states)) - table.choice_ptr[states]
    if layout == "pairs":
        return QuantEconArrays(table.reward, table.matrix, table.discount, states, action, table)
    if layout != "product":
        raise errors.GameError(f'layout {layout!r}: it is "pairs" or "product"', value=layout)
    n, m = table.n_states, int(action.max()) + 1
    _require_dense(n * n * m)
    reward, matrix = np.full((n, m), -np.inf), np.zeros((n, m, n))
    reward[states, action] = table.reward
    matrix[states, action] = table.matrix.toarray()
    return QuantEconArrays(reward, matrix, table.discount, None, None, table)


def to_pymdptoolbox(network: Network, *, dense: bool = False) -> ToolboxArrays:
    """Return a network as arrays for pymdptoolbox: sparse matrices, or a `dense` array; errors as in `to_quantecon`.

    Every state has every action there: where a state has fewer options, its last one is repeated.
    """
    table = tabulate(network, "pymdptoolbox")
    choice = table.padded()
    n, width = choice.shape
    if dense:
        _require_dense(n * n * width)
        matrices: Any = np.stack([table.matrix[choice[:, a]].toarray() for a in range(width)])
    else:
        # The library multiplies with *, which only the older matrices of scipy take for a product.
        matrices = tuple(csr_matrix(table.matrix[choice[:, a]]) for a in range(width))
    return ToolboxArrays(matrices, table.reward[choice], table.discount, table)


def to_mdpsolver(network: Network) -> MdpSolverArrays:
    """Return a network as lists for mdpsolver; errors are as in `to_quantecon`."""
    table = tabulate(network, "mdpsolver")
    matrix = table.matrix

    def by_state(numbers: Any) -> list[list[Any]]:
        return [numbers[first:end] for first, end in itertools.pairwise(table.choice_ptr.tolist())]

    def rows(numbers: Any) -> list[list[Any]]:
        return [row.tolist() for row in np.split(numbers, matrix.indptr[1:-1])]

    columns, probabilities = by_state(rows(matrix.indices)), by_state(rows(matrix.data))
    return MdpSolverArrays(by_state(table.reward.tolist()), columns, probabilities, table.discount, table)


def _require_dense(size: int) -> None:
    if size > MAX_DENSE:
        msg = f"dense arrays of {size:,} numbers are too large (more than {MAX_DENSE:,}); ask for the sparse ones"
        raise errors.UnsupportedError(msg, value=size, limit=MAX_DENSE)


# --- arrays to networks --------------------------------------------------------


def from_pymdptoolbox(P: Any, R: Any, discount: Any = 1, *, start: Start = 0, tolerance: float = 1e-9) -> Network:
    """Return a network from the arrays of pymdptoolbox.

    Parameters
    ----------
    P : array_like of shape (A, S, S), or sequence of A arrays or sparse matrices of shape (S, S)
        Transition probabilities of every action.
    R : array_like of shape (S,), (S, A) or (A, S, S), or sequence of A sparse matrices of shape (S, S)
        Rewards of a state, of a state and an action, or of transitions.
    discount : number
        Discount factor in (0, 1].
    start : int, or mapping of int to number
        State to start in, or the states to start in with their chances.
    tolerance : float
        How far the probabilities of a row may be from 1 in sum; then they are scaled.  Those of float32 may be 1e-6
        off.

    Raises
    ------
    GameError
        The shapes do not fit together.
    ProbabilitySumError, ProbabilityRangeError, RewardNotFiniteError, DiscountRangeError
        A number is out of its range; the error names state and action.
    """
    if not isinstance(P, Iterable):
        raise errors.GameError(f"P is {P!r}; it holds a square matrix for every action", value=P)
    matrices = [_sparse(p, "P") for p in P]
    shapes = [p.shape for p in matrices]
    n, count = shapes[0][0] if shapes else 0, len(matrices)
    if not n or set(shapes) != {(n, n)}:
        raise errors.GameError(f"P holds matrices of the shapes {shapes}, not of one square shape for every action")
    if isinstance(R, (list, tuple)) and any(issparse(r) for r in R):
        rewards = _folded(matrices, [_sparse(r, "R") for r in R])
    else:
        given = _floats(R, "R")
        if given.shape == (n,):
            rewards = np.repeat(given[:, None], count, axis=1)
        elif given.shape == (n, count):
            rewards = given
        elif given.shape == (count, n, n):
            rewards = _folded(matrices, [csr_array(r) for r in given])
        else:
            raise errors.GameError(f"R has the shape {given.shape}; it is {(n,)}, {(n, count)} or {(count, n, n)}")
    stacked = csr_array(vstack(matrices, format="csr"))[np.arange(n * count).reshape(count, n).T.ravel()]
    states = np.repeat(np.arange(n), count)
    return _network(states, stacked, rewards.ravel(), discount, start=start, tolerance=tolerance)


def from_quantecon(
    R: Any,
    Q: Any,
    beta: Any = 1,
    s_indices: Any = None,
    a_indices: Any = None,
    *,
    start: Start = 0,
    tolerance: float = 1e-9,
) -> Network:
    """Return a network from the arrays of QuantEcon's ``DiscreteDP``, in either layout.

    Parameters
    ----------
    R : array_like of shape (n, m) or (L,)
        Rewards; -inf for what is not allowed.
    Q : array_like of shape (n, m, n), or array or sparse matrix of shape (L, n)
        Transition probabilities.
    beta : number
        Discount factor in [0, 1]; with 0 one decision counts, and the network has a horizon of 1.
    s_indices, a_indices : array_like of int, shape (L,), optional
        State and action of the pairs.
    start, tolerance
        As for `from_pymdptoolbox`, and so are the errors; a `DeadEndError`: a state has no action that is allowed.
    """
    reward = _floats(R, "R")
    if (s_indices is None) != (a_indices is None):
        raise errors.GameError("give both s_indices and a_indices, or neither")
    if s_indices is None:
        dense = _floats(Q, "Q")
        if reward.ndim != 2 or dense.shape != (*reward.shape, reward.shape[0]):
            raise errors.GameError(f"R has the shape {reward.shape} and Q {dense.shape}; they are (n, m) and (n, m, n)")
        n, m = reward.shape
        states, actions = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
        matrix = csr_array(dense.reshape(n * m, n))
        reward = reward.ravel()
    else:
        states, actions = np.asarray(s_indices), np.asarray(a_indices)
        matrix = _sparse(Q, "Q")
        n = matrix.shape[1]
        shapes = {reward.shape, states.shape, actions.shape, (matrix.shape[0],)}
        for name, given in (("s_indices", states), ("a_indices", actions)):
            if given.dtype.kind not in "iu":
                raise errors.GameError(f"{name} holds {given.dtype}, and states and actions are whole numbers")
        if len(shapes) > 1:
            raise errors.GameError(f"R, Q, s_indices and a_indices do not fit: their lengths are {sorted(shapes)}")
        if len(states) and not (states.min() >= 0 and states.max() < n and actions.min() >= 0):
            has = f"s_indices has {states.min()} to {states.max()}, a_indices {actions.min()} and more"
            raise errors.GameError(f"{has}; there are {n} states, and both are numbered from 0")
    if len(unclear := np.flatnonzero(np.isnan(reward))):
        state, action = int(states[unclear[0]]), int(actions[unclear[0]])
        msg = "a reward is nan; what is not allowed has -inf"
        raise errors.RewardNotFiniteError(msg, state=state, action=action, value=math.nan)
    at = np.lexsort((actions, states))
    at = at[reward[at] > -np.inf]
    states, actions = states[at], actions[at]
    if len(twice := np.flatnonzero((np.diff(states) == 0) & (np.diff(actions) == 0))):
        msg = "this pair of state and action occurs twice"
        raise errors.DuplicateActionError(msg, state=int(states[twice[0]]), action=int(actions[twice[0]]))
    if len(lacking := np.flatnonzero(np.bincount(states, minlength=n) == 0)):
        raise errors.DeadEndError("a state has no allowed action; give it one that stays", state=int(lacking[0]))
    network = _network(states, matrix[at], reward[at], beta or 1, actions.tolist(), start=start, tolerance=tolerance)
    return network if beta else attrs.evolve(network, horizon=1)


def _floats(values: Any, name: str) -> Floats:
    try:
        given = np.asarray(values)
        found: Floats = given.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise errors.GameError(f"{name} is not an array of numbers: {error}", value=values) from error
    # Python compares exactly, one by one; all but large integers and what is wider than a float is one.
    wide = given.dtype.kind not in "biuf" or given.dtype.itemsize > found.dtype.itemsize
    if wide or (given.dtype.kind in "iu" and (np.abs(found) >= FLOAT_EXACT).any()):
        pairs = zip(given.ravel().tolist(), found.ravel().tolist(), strict=True)
        rounded = next((number for number, nearest in pairs if own_number(number, name) != nearest), None)
        if rounded is not None:
            msg = f"{name} holds {rounded!r}, which no float equals; Network.from_choices keeps such numbers exactly"
            raise errors.GameError(msg, value=rounded)
    return found


def _sparse(matrix: Any, name: str) -> Any:
    given: Any = matrix if issparse(matrix) else _floats(matrix, name)
    if given.ndim != 2:
        raise errors.GameError(f"{name} holds something of shape {given.shape}, not matrices")
    found: Any = csr_array(given).astype(np.float64, copy=True)
    found.sum_duplicates()
    return found


def _folded(matrices: Sequence[Any], rewards: Sequence[Any]) -> Floats:
    """Return the expected rewards of transitions, shape (S, A)."""
    if len(rewards) != len(matrices) or any(r.shape != matrices[0].shape for r in rewards):
        raise errors.GameError(f"R holds matrices of the shapes {[r.shape for r in rewards]}, not one per action as P")
    means = [np.asarray(p.multiply(r).sum(axis=1)).ravel() for p, r in zip(matrices, rewards, strict=True)]
    return np.stack(means, axis=1)


def _network(
    states: Ints, matrix: Any, reward: Floats, discount: Any, actions: Sequence[int] | None = None, **more: Any
) -> Network:
    """Return a network of choices, from the state, the row of probabilities and the reward of each."""
    if not len(states):
        raise errors.GameError("there are no states")
    if len(empty := np.flatnonzero(np.diff(matrix.indptr) == 0)):
        raise errors.GameError("a row of probabilities is empty: an action leads nowhere", state=int(states[empty[0]]))
    count = np.bincount(states, minlength=matrix.shape[1])
    pointers = np.concatenate(([0], np.cumsum(count)))
    return decision_process(pointers, matrix, reward, actions=actions, **more).network(discount=discount)
