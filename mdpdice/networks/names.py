"""The names of nodes and edges of a network, and how they are found."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdpdice.errors import UnknownStateError
from mdpdice.modelling.equality import same_kind
from mdpdice.modelling.grid import At, misfit
from mdpdice.networks.arrays import Bools, Floats, Ints, Kind
from mdpdice.spelling import did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray


class NamedStates(Sequence[Hashable]):
    """States that tell by themselves where a state is: `index` is fast, so no dictionary is made of them."""

    __slots__ = ()

    def misfit(self, state: object) -> str | None:
        """Why something cannot be a state of this kind, with what one looks like; None: it could be one."""
        return None


class Names:
    """The part of `mdpdice.Network` that is about places and names; its arrays are described there."""

    kind: NDArray[np.uint8]
    indptr: Ints
    dst: Ints
    payoff: Floats
    states: Sequence[Hashable]
    state_node: Ints
    node_state: Ints
    actions: Sequence[Hashable]
    canonical: Callable[[Any], Hashable] | None

    @property
    def n_states(self) -> int:
        """Number of the user's states."""
        return len(self.states)

    @cached_property
    def source(self) -> Ints:
        """Node that every edge leaves, int64 of shape (E,)."""
        return np.repeat(np.arange(len(self.kind)), np.diff(self.indptr))

    @cached_property
    def decides(self) -> Bools:
        """Whether a node is a decision (MAX or MIN), shape (N,)."""
        return cast("Bools", (self.kind == Kind.MAX) | (self.kind == Kind.MIN))

    @cached_property
    def nature(self) -> Bools:
        """Where nature picks a distribution (see `mdpdice.uncertain`): decisions of ``"die 1"``, shape (N,)."""
        found = self.decides & (self.node_state < 0)
        for node in np.flatnonzero(found).tolist():
            # Decisions that an objective made have no state either.
            named = len(self.actions) == self._action_start[-1]
            found[node] = named and self.actions[self._action_start[node]] == "die 1"
        return found

    def edges(self, node: int) -> range:
        """Edges of a node."""
        return range(int(self.indptr[node]), int(self.indptr[node + 1]))

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        return {state: i for i, state in enumerate(self.states)}

    @cached_property
    def _action_start(self) -> Ints:
        """Position in `actions` of the first action of every node."""
        return np.concatenate(([0], np.cumsum(np.where(self.decides, np.diff(self.indptr), 0))))

    def index_of(self, state: Hashable) -> int | None:
        """Return the number of a state; None if play cannot come to it."""
        try:
            if isinstance(self.states, range | NamedStates):
                index: int | None = self.states.index(cast("int", state))
            else:
                index = self._index.get(state)
        except (TypeError, ValueError):
            return None
        return index if index is not None and same_kind(self.states[index], state) else None

    def node_of(self, state: Hashable) -> int:
        """Node of a state; where it cannot be reached an `UnknownStateError` lists similar ones."""
        index = self.index_of(state)
        if index is None:
            near = ", ".join(repr(s) for s in self.nearest(state))
            why = self._misfit(state) or f"state {state!r} is not in this network"
            raise UnknownStateError(f"{why}; similar states: {near}", value=state)
        return int(self.state_node[index])

    def value_node_of(self, state: Hashable) -> int:
        """Node that has the value of a state: its own, or that of the representative of equal states.

        Actions are those of the representative, so decisions are looked up by `node_of`.
        """
        if self.canonical is not None and self.index_of(state) is None:
            with contextlib.suppress(Exception):  # what is not a state of the game may break its function
                state = self.canonical(state)
        return self.node_of(state)

    def _misfit(self, state: Hashable) -> str | None:
        """Return why something is not a state of the game with counters that this network was made from."""
        states = self.states
        if isinstance(states, NamedStates):
            return states.misfit(state)
        # Those of an unrolled game all have the same counters.
        first = states[0] if len(states) else None
        return misfit(state, first.counters) if isinstance(first, At) else None

    def nearest(self, state: Hashable, count: int = 3) -> list[Hashable]:
        """States whose text is most like that of `state`, for messages."""
        import difflib

        # Comparing with every state of a large network would take minutes; the first ones show the form.
        texts: dict[str, Hashable] = {}
        for i in range(min(self.n_states, 5000)):
            texts.setdefault(repr(self.states[i]), self.states[i])
        return [texts[near] for near in difflib.get_close_matches(repr(state), texts, n=count, cutoff=0.0)]

    def state_of(self, node: int) -> Hashable | None:
        """State of a node, None for inline nodes."""
        index = int(self.node_state[node])
        return None if index < 0 else self.states[index]

    def action_of(self, edge: int) -> Hashable:
        """Return the action of an edge of a decision node; an `UnknownStateError` if it is not one."""
        node = int(np.searchsorted(self.indptr, edge, side="right")) - 1
        if not 0 <= edge < len(self.dst) or not self.decides[node]:
            raise UnknownStateError(f"edge {edge} is not an edge of a decision", value=edge)
        return self.actions[int(self._action_start[node]) + edge - int(self.indptr[node])]

    def actions_of(self, edges: Ints) -> list[Hashable | None]:
        """Return the actions of edges of decision nodes, all at once; None for -1."""
        there, places = edges >= 0, np.full(len(edges), -1)
        nodes = self.source[edges[there]]
        places[there] = self._action_start[nodes] + edges[there] - self.indptr[nodes]
        return [None if place < 0 else self.actions[place] for place in places.tolist()]

    def edge_of(self, node: int, action: Hashable) -> int:
        """Edge of a decision node by its action; an `UnknownStateError` if the node has no such action."""
        first = int(self._action_start[node])
        for edge in self.edges(node) if self.decides[node] else ():
            known = self.actions[first + edge - int(self.indptr[node])]
            if known == action and same_kind(known, action):
                return edge
        have = [self.action_of(e) for e in self.edges(node)] if self.decides[node] else []
        msg = f"no action {action!r} here; {did_you_mean(action, have)}the actions are {have!r}"
        raise UnknownStateError(msg, state=self.describe(node), action=action)

    def describe(self, node: int) -> Any:
        """Return the state of a node, or words that say which inline node it is."""
        state = self.state_of(node)
        if state is not None:
            return state
        if self.kind[node] == Kind.END:
            return f"end({self.payoff[node]:g})"
        entering = np.flatnonzero(self.dst == node)
        if len(entering) == 0:
            return f"node {node}"
        edge = int(entering[0])
        parent = int(self.source[edge])
        state = self.state_of(parent)
        # One look back is enough: an inline node follows a state, except in lowered networks.
        place = f"node {parent}" if state is None else f"state {state!r}"
        what = "chance" if self.kind[node] == Kind.CHANCE else "decision"
        if not self.decides[parent]:
            return f"{what} node after {place}"
        return f"{what} node after {self.action_of(edge)!r} in {place}"
