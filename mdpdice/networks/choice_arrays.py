"""Three-level arrays (state -> choice -> branch), and the edges of the network that they stand for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.networks.arrays import compiled, in_pieces, read_only_floats, read_only_ints


@attrs.frozen
class ChoiceArrays:
    """Three-level arrays with their names, for messages; see `mdpdice.Network.from_choices`."""

    choice_ptr: NDArray[np.int64]
    branch_ptr: NDArray[np.int64]
    target: NDArray[np.int64]
    states: Sequence[Hashable]
    actions: Sequence[Hashable] | None

    @property
    def n_choices(self) -> int:
        """Number of choices."""
        return len(self.branch_ptr) - 1

    def choice_of(self, branch: int) -> int:
        """Choice that a branch belongs to."""
        return int(np.searchsorted(self.branch_ptr, branch, side="right")) - 1

    def branches(self, choice: int) -> slice:
        """Branches of a choice."""
        return slice(int(self.branch_ptr[choice]), int(self.branch_ptr[choice + 1]))

    def where(self, choice: int) -> dict[str, Any]:
        """Return the state and action of a choice, as errors take them."""
        state = int(np.searchsorted(self.choice_ptr, choice, side="right")) - 1
        action = choice - int(self.choice_ptr[state]) if self.actions is None else self.actions[choice]
        return {"state": self.states[state], "action": action}


def write_edges(
    arrays: ChoiceArrays,
    ends: Mapping[int, Any],
    numerator: NDArray[Any],
    weight: NDArray[np.float64],
    rewards: NDArray[np.float64],
    exact_of: Mapping[int, Fraction],
    reward_per: str,
) -> dict[str, Any]:
    """Return the edges of a network: those of decisions, and then those of chance nodes, which follow the states.

    No branch has probability 0, and states that are `ends` keep no choices.  Rewards belong to choices or branches, as
    `reward_per` says; `exact_of` has those that no float equals.
    """
    if numerator is weight and not exact_of and compiled(len(weight)):
        return _write_large(arrays, ends, weight, rewards, per_branch=reward_per == "branch")
    # Choices with one branch lead straight to their target; the others get a chance node after the states.
    n, m = len(arrays.states), arrays.n_choices
    width = np.diff(arrays.branch_ptr)
    of_state = np.repeat(np.arange(n), np.diff(arrays.choice_ptr))
    kept = ~np.isin(of_state, np.fromiter(ends, dtype=np.int64, count=len(ends)))
    spread = kept & (width > 1)
    direct = kept & ~spread
    inline = np.repeat(spread, width)
    n_decision = int(kept.sum())

    first = arrays.branch_ptr[:-1]
    choice_dst = np.where(spread, n + np.cumsum(spread) - 1, arrays.target[first] if m else 0)
    edge_of, used = np.cumsum(kept) - 1, kept
    if reward_per == "branch":
        edge_of_branch = n_decision + np.cumsum(inline) - 1
        edge_of_branch[first[direct]] = edge_of[direct]
        edge_of, used = edge_of_branch, np.repeat(kept, width)
    n_edges = n_decision + int(inline.sum())
    reward_array = np.zeros(n_edges)
    reward_array[edge_of[used]] = rewards[used]

    def edges(of_decisions: Any, of_branches: NDArray[Any]) -> NDArray[Any]:
        """Return the edges of decisions and then those of chance nodes."""
        found = np.empty(n_edges, dtype=of_branches.dtype)
        found[:n_decision] = of_decisions
        found[n_decision:] = of_branches[inline]
        return found

    degree = np.concatenate((np.bincount(of_state[kept], minlength=n), width[spread]))
    step = np.ones(n_edges, dtype=bool)
    step[:n_decision] = direct[kept]
    weights = edges(1.0, weight)
    return {
        "indptr": np.concatenate(([0], np.cumsum(degree))),
        "dst": edges(choice_dst[kept], arrays.target),
        "weight": weights,
        "reward": reward_array,
        "step": step,
        "numerator": weights if numerator is weight else edges(1, numerator),
        "actions": _kept_actions(arrays, kept, of_state),
        "exact_rewards": {int(edge_of[at]): value for at, value in exact_of.items() if used[at]},
    }


def _write_large(
    arrays: ChoiceArrays,
    ends: Mapping[int, Any],
    weight: NDArray[np.float64],
    rewards: NDArray[np.float64],
    *,
    per_branch: bool,
) -> dict[str, Any]:
    """Do the same for floats alone, in one pass."""
    from mdpdice.networks import kernels

    n = len(arrays.states)
    ended = np.zeros(n, dtype=bool)
    ended[list(ends)] = True
    pointers = read_only_ints(arrays.choice_ptr), read_only_ints(arrays.branch_ptr)
    starts, n_decision, nodes, drawn = {}, 0, n, 0
    for state, *more in in_pieces(partial(kernels.count_choices, *pointers, ended), n, len(weight)):
        starts[state] = n_decision, nodes, drawn
        n_decision, nodes, drawn = n_decision + more[0], nodes + more[1], drawn + more[2]
    n_edges = n_decision + drawn
    indptr, dst = np.empty(nodes + 1, dtype=np.int64), np.empty(n_edges, dtype=np.int64)
    weights, reward_array = np.empty(n_edges), np.zeros(n_edges)
    step, action = np.empty(n_edges, dtype=bool), np.empty(n_decision, dtype=np.int64)
    write = partial(
        kernels.write_choices, *pointers, read_only_ints(arrays.target), read_only_floats(weight),
        read_only_floats(rewards), per_branch, ended, indptr, dst, weights, reward_array, step, action,
        arrays.actions is not None,
    )  # fmt: skip
    in_pieces(lambda first, last: write(first, last, *starts[first]), n, len(weight))
    return {
        "indptr": indptr,
        "dst": dst,
        "weight": weights,
        "reward": reward_array,
        "step": step,
        "numerator": weights,
        "actions": action.tolist() if arrays.actions is None else [arrays.actions[at] for at in action.tolist()],
    }


def _kept_actions(arrays: ChoiceArrays, kept: NDArray[np.bool_], of_state: NDArray[np.int64]) -> list[Hashable]:
    if arrays.actions is not None:
        return [arrays.actions[choice] for choice in np.flatnonzero(kept).tolist()]
    numbers: list[Hashable] = (np.arange(arrays.n_choices) - arrays.choice_ptr[of_state])[kept].tolist()
    return numbers
