"""The models of the benchmark of flat solvers, as arrays that no tool prefers: state -> choice -> branch.

A model is a function of its size and a seed.  Rows are made without rounding on purpose: probabilities are
floats, scaled to sum to 1, as measured data are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdpdice import Network
from mdpdice.games.pig import turn_outcomes

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


class Model(NamedTuple):
    """Three-level arrays; see `mdpdice.Network.from_choices`.

    Attributes
    ----------
    choice_ptr, branch_ptr, target : ndarray of int64
        Choices of every state, branches of every choice, states that branches lead to.
    probability, reward : ndarray of float64
        Of every branch, and of every choice.
    terminal : mapping of int to float
        Payoffs of the states without choices.
    discount : str
        A fraction, 1 for none.
    """

    choice_ptr: Ints
    branch_ptr: Ints
    target: Ints
    probability: Floats
    reward: Floats
    terminal: Mapping[int, float]
    discount: str

    def network(self) -> Network:
        """The model as a network of mdpdice."""
        return Network.from_choices(*self[:5], terminal=self.terminal, discount=self.discount)

    @property
    def n_bytes(self) -> int:
        """Size of the arrays."""
        return int(sum(array.nbytes for array in self[:5]))

    def matrix(self) -> Any:
        """Probabilities as a matrix of scipy, a row for each choice and a column for each state."""
        from scipy.sparse import csr_array

        shape = len(self.reward), len(self.choice_ptr) - 1
        return csr_array((self.probability, self.target, self.branch_ptr), shape=shape)


def discounted(states: int, successors: int, *, actions: int = 4, seed: int = 0) -> Model:
    """Every action leads to some random states with random probabilities and pays between 0 and 1."""
    rng = np.random.default_rng(seed)
    choices = states * actions
    # Sorted, and then moved apart: successors of one action are different states.
    target = rng.integers(0, states - successors + 1, size=(choices, successors))
    target.sort(axis=1)
    target += np.arange(successors)
    return Model(
        np.arange(0, choices + 1, actions),
        np.arange(0, choices * successors + 1, successors),
        target.ravel(),
        _rows(rng, choices, successors).ravel(),
        rng.random(choices),
        {},
        "99/100",
    )


def reachability(states: int, *, actions: int = 4, successors: int = 5, leak: float = 1e-4, seed: int = 0) -> Model:
    """The largest chance to come to a goal; every action ends the play with a chance of about `leak`.

    The last two states are the goal and a trap.  Plays are long, about ``1 / leak`` moves.
    """
    rng = np.random.default_rng(seed)
    goal, trap = states, states + 1
    choices = states * actions
    target = rng.integers(0, states - successors + 1, size=(choices, successors))
    target.sort(axis=1)
    target += np.arange(successors)
    ends = leak * rng.random((choices, 2))
    inner = _rows(rng, choices, successors) * (1 - ends.sum(axis=1, keepdims=True))
    branches = successors + 2
    return Model(
        np.append(np.arange(0, choices + 1, actions), [choices, choices]),
        np.arange(0, choices * branches + 1, branches),
        np.hstack((target, np.tile([goal, trap], (choices, 1)))).ravel(),
        np.hstack((inner, ends)).ravel(),
        np.zeros(choices),
        {goal: 1.0, trap: 0.0},
        "1",
    )


def pig(goal: int, *, hold_at: int = 20) -> Model:
    """The chance to win Pig by optimal play against an opponent who holds at some points.

    A state is the scores of both and the points of the turn, 505,000 of them for a goal of 100; behind them
    come the turns of the opponent, one for the scores of both, then the victory and the defeat.
    """
    mine, theirs, turn = (axis.ravel() for axis in np.meshgrid(*[np.arange(goal)] * 3, indexing="ij"))
    live = mine + turn < goal
    mine, theirs, turn = mine[live], theirs[live], turn[live]
    number = np.full((goal, goal, goal), -1)
    number[mine, theirs, turn] = np.arange(len(mine))
    n = len(mine)
    win, lose = n + goal * goal, n + goal * goal + 1

    def opponent(score: Ints, other: Ints) -> Ints:
        return np.where(score >= goal, win, n + score * goal + other)

    rolled = [opponent(mine, theirs)]
    for face in range(2, 7):
        more = turn + face
        over = mine + more >= goal
        rolled.append(np.where(over, win, number[mine, theirs, np.where(over, 0, more)]))
    hold, roll = opponent(mine + turn, theirs)[:, None], np.stack(rolled, axis=1)
    own = np.hstack((hold, roll)).ravel()

    # The other player's turn: (score of the opponent after it, with its probability), the same whatever mine is.
    width, target, probability = [], [], []
    for score in range(goal):
        items = sorted(turn_outcomes(hold_at, goal - score).items())
        width.append(len(items))
        probability.append([weight / sum(part for _, part in items) for _, weight in items])
        target.append([score + won for won, _ in items])
    his, after = [], []
    for score in range(goal):
        for other in range(goal):
            his += [lose if new >= goal else int(number[score, new, 0]) for new in target[other]]
            after += probability[other]
    his_width = np.tile(width, goal)
    return Model(
        np.concatenate((np.arange(0, 2 * n + 1, 2), 2 * n + 1 + np.arange(goal * goal), [2 * n + goal * goal] * 2)),
        np.concatenate(([0], np.cumsum(np.concatenate((np.tile([1, 6], n), his_width))))),
        np.concatenate((own, his)),
        np.concatenate((np.tile([1.0, *[1 / 6] * 6], n), after)),
        np.zeros(2 * n + goal * goal),
        {win: 1.0, lose: 0.0},
        "1",
    )


def _rows(rng: np.random.Generator, rows: int, width: int) -> Floats:
    weight = rng.exponential(size=(rows, width))
    weight /= weight.sum(axis=1, keepdims=True)
    return weight
