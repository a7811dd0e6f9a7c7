"""The compiled form of a game: one flat, read-only network of numpy arrays.

A network has ``N`` nodes and ``E`` edges in one compressed sparse row layout:
the edges of node ``i`` are ``indptr[i] .. indptr[i+1] - 1``, for decision and
chance nodes alike.  The value of a play through an edge ``e`` from ``i`` to
``j = dst[e]`` is::

    reward[e] + discount**step[e] * q(e, V(j)),   q = V(j)           if sign[e] == +1
                                                  q = total - V(j)   if sign[e] == -1

and the value of a node is the payoff (END), the largest (MAX) or smallest
(MIN) value of its edges, or their mean by ``weight`` (CHANCE).

Floats are rationals, so every network is exact: `Network.row` gives the probabilities, and `Network.exact_reward` and
`Network.exact_payoff` the other numbers, as `fractions.Fraction`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.html import card, remarks
from mdpdice.modelling.nearest import nearest
from mdpdice.modelling.number import exact_discount, finite_number
from mdpdice.modelling.ranges import number_text
from mdpdice.modelling.sense import Sense, checked_sense
from mdpdice.networks import arrays
from mdpdice.networks.arrays import Bools, Floats, Ints, Kind
from mdpdice.networks.checks import check_network
from mdpdice.networks.digest import network_digest
from mdpdice.networks.names import NamedStates, Names

if TYPE_CHECKING:
    import networkx as nx

    from mdpdice.modelling.game import Game

__all__ = ["Bools", "Floats", "Ints", "Kind", "NamedStates", "Network", "actions_of", "edge_fields"]

Number: TypeAlias = "int | float | Fraction | str"


def _total(value: Any) -> Fraction:
    return Fraction(finite_number(value, "total"))


@attrs.frozen(eq=False, repr=False, slots=False)
class Network(Names):
    """A flat network of decision, chance and end nodes.

    Use `mdpdice.explore` or `Network.from_choices` to make one; their errors name the user's states and actions.

    Parameters
    ----------
    kind : ndarray of uint8, shape (N,)
        The `Kind` of every node.
    indptr : ndarray of int64, shape (N + 1,)
        Start of the edges of every node.
    dst : ndarray of int64, shape (E,)
        Node that an edge leads to.
    weight : ndarray of float64, shape (E,)
        Probability on the edges of chance nodes, 1 elsewhere.
    reward : ndarray of float64, shape (E,)
        Reward of an edge, in payoff units, seen by the player who moves.
    sign : ndarray of int8, shape (E,)
        -1 where the players change sides (`pass_to`), else 1.
    step : ndarray of bool, shape (E,)
        Whether the edge takes one step (one decision): the discount acts here.
    payoff : ndarray of float64, shape (N,)
        Payoff of END nodes, 0 elsewhere.
    start : int
        Start node.
    discount : Fraction
        Factor per step, in (0, 1].
    horizon : int or None
        Largest number of decisions in a play; a play cut off there gets nothing more.
    total : Fraction
        Sum of the payoffs of the two sides of a `pass_to` edge.
    sense : {"max", "min"}
        Whether the player to move maximises or minimises, unless an objective says otherwise; MIN nodes are those of
        the other player.  It is not part of the `digest`.
    numerator : ndarray, shape (E,)
        Exact weights: the probability of edge ``e`` is its numerator over the sum of the numerators of its node.
        int64, object (int) or float64.
    states : sequence
        The user's states.
    state_node : ndarray of int64, shape (number of states,)
        Node of every state.
    node_state : ndarray of int64, shape (N,)
        Index of the state of a node, -1 for inline chance nodes and inline ends.
    actions : sequence
        Actions of the edges of decision nodes, in the order of the edges.
    exact_rewards, exact_payoffs : mapping of int to Fraction
        Those rewards (by edge) and payoffs (by node) that no float equals.
    warnings : tuple of str
        What was repaired while the network was made.
    averaged : bool
        Whether parallel edges with different rewards were merged into one with their mean: values are the same,
        distributions of totals are lost.
    canonical : callable, optional
        `Game.canonical` of a game with symmetries, whose states here are representatives.
        It is not part of the problem: neither of its `digest` nor of its files.
    """

    kind: NDArray[np.uint8] = attrs.field(converter=arrays.read_only_bytes)
    indptr: Ints = attrs.field(converter=arrays.read_only_ints)
    dst: Ints = attrs.field(converter=arrays.read_only_ints)
    weight: Floats = attrs.field(converter=arrays.read_only_floats)
    reward: Floats = attrs.field(converter=arrays.read_only_floats)
    sign: NDArray[np.int8] = attrs.field(converter=arrays.read_only_signs)
    step: Bools = attrs.field(converter=arrays.read_only_bools)
    payoff: Floats = attrs.field(converter=arrays.read_only_floats)
    start: int
    discount: Fraction = attrs.field(default=Fraction(1), converter=exact_discount)
    horizon: int | None = None
    total: Fraction = attrs.field(default=Fraction(0), converter=_total)
    sense: Sense = attrs.field(default="max", converter=checked_sense)
    numerator: NDArray[Any] = attrs.field(
        default=attrs.Factory(lambda self: self.weight, takes_self=True), converter=arrays.read_only
    )
    states: Sequence[Hashable] = attrs.field(default=attrs.Factory(lambda self: range(len(self.kind)), takes_self=True))
    state_node: Ints = attrs.field(
        default=attrs.Factory(lambda self: np.arange(len(self.states)), takes_self=True),
        converter=arrays.read_only_ints,
    )
    node_state: Ints = attrs.field(
        default=attrs.Factory(lambda self: _inverse(self.state_node, len(self.kind)), takes_self=True),
        converter=arrays.read_only_ints,
    )
    actions: Sequence[Hashable] = attrs.field(
        default=attrs.Factory(lambda self: _numbered_actions(self.kind, self.indptr), takes_self=True)
    )
    exact_rewards: Mapping[int, Fraction] = attrs.field(factory=dict)
    exact_payoffs: Mapping[int, Fraction] = attrs.field(factory=dict)
    warnings: tuple[str, ...] = ()
    averaged: bool = False
    canonical: Callable[[Any], Hashable] | None = attrs.field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        check_network(self)

    # --- size and structure -------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.kind)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.dst)

    @cached_property
    def two_player(self) -> bool:
        """Whether two players move: both MAX and MIN nodes, or a `pass_to` edge."""
        both = bool((self.kind == Kind.MAX).any() and (self.kind == Kind.MIN).any())
        return both or bool(self.sign.min(initial=1) < 0)

    @cached_property
    def pays(self) -> bool:
        """Whether some edge has a reward."""
        return bool(self.reward.any()) or len(self.exact_rewards) > 0

    @cached_property
    def payoffs(self) -> set[float | Fraction]:
        """Different payoffs of the ends: floats, and fractions that no float equals."""
        ends = self.kind == Kind.END
        ends[list(self.exact_payoffs)] = False
        return {*np.unique(self.payoff[ends]).tolist(), *self.exact_payoffs.values()}

    def keep_edges(self, edges: Ints, **changes: Any) -> Network:
        """Return the network with some of its edges alone, in order, and other `changes` as in `attrs.evolve`.

        A node that loses all of its edges becomes an end.  Chance nodes keep all of theirs or none.
        """
        if len(edges) == self.n_edges:
            return attrs.evolve(self, **changes)
        degree = np.bincount(self.source[edges], minlength=self.n_nodes)
        kept: dict[str, Any] = {
            "kind": np.where(degree > 0, self.kind, np.uint8(Kind.END)),
            "indptr": np.concatenate(([0], np.cumsum(degree))),
            "dst": self.dst[edges],
            "actions": actions_of(self, edges),
            **edge_fields(self, edges),
        }
        return attrs.evolve(self, **{**kept, **changes})

    def fixed(self, number: int) -> Network:
        """Return the network in which nature picks ``"die {number}"`` every time; see `mdpdice.uncertain`."""
        others = np.flatnonzero(~self.nature[self.source])
        picked = [self.edge_of(node, f"die {number}") for node in np.flatnonzero(self.nature).tolist()]
        changed = {"kind": np.where(self.nature, Kind.CHANCE, self.kind), "actions": actions_of(self, others)}
        return self.keep_edges(np.union1d(others, picked).astype(np.int64), **changed)

    # --- exact numbers ------------------------------------------------------

    @property
    def factor(self) -> float:
        """The discount as a float, below 1 if the discount is."""
        return 1.0 if self.discount == 1 else min(nearest(self.discount), 1.0 - 2.0**-53)

    def row(self, node: int) -> list[Fraction]:
        """Exact weights of the edges of a node."""
        if self.decides[node]:
            return [Fraction(1)] * len(self.edges(node))
        parts = [Fraction(x) for x in self.numerator[self.indptr[node] : self.indptr[node + 1]].tolist()]
        whole = sum(parts, Fraction(0))
        return [part / whole for part in parts]

    def exact_reward(self, edge: int) -> Fraction:
        """Exact reward of an edge."""
        return self.exact_rewards.get(edge, Fraction(float(self.reward[edge])))

    @cached_property
    def payoff_room(self) -> Floats:
        """How far the float payoff of every node may be from the exact one: 0 where it was not rounded; shape (N,)."""
        room = np.zeros(self.n_nodes)
        rounded = np.fromiter(self.exact_payoffs, dtype=np.int64, count=len(self.exact_payoffs))
        room[rounded] = np.spacing(np.abs(self.payoff[rounded]))
        return room

    def exact_payoff(self, node: int) -> Fraction:
        """Exact payoff of an END node."""
        return self.exact_payoffs.get(node, Fraction(float(self.payoff[node])))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical arrays: equal digests mean the same problem."""
        return network_digest(self)

    def __repr__(self) -> str:
        more = "" if self.discount == 1 else f", discount {number_text(self.discount)}"
        more += "" if self.horizon is None else f", horizon {self.horizon}"
        more += "" if self.sense == "max" else ", minimised"
        return f"<Network: {self.n_states:,} states, {self._kinds()}, {self.n_edges:,} edges{more}>"

    def _kinds(self) -> str:
        count = np.bincount(self.kind, minlength=4)
        return ", ".join(f"{count[kind]:,} {kind.name}" for kind in Kind if count[kind])

    def _repr_html_(self) -> str:
        rows = [
            ("states", f"{self.n_states:,}"),
            ("nodes", f"{self.n_nodes:,}: {self._kinds()}"),
            ("edges", f"{self.n_edges:,}"),
            ("players", 2 if self.two_player else 1),
            ("start", self.describe(self.start)),
            ("discount", None if self.discount == 1 else number_text(self.discount)),
            ("horizon", self.horizon),
            ("payoffs sum to", self.total or None),
            ("sense", None if self.sense == "max" else self.sense),
        ]
        return card("Network", rows) + remarks(self.warnings)

    # --- other forms --------------------------------------------------------

    @classmethod
    def from_choices(
        cls,
        choice_ptr: Sequence[int] | Ints,
        branch_ptr: Sequence[int] | Ints,
        target: Sequence[int] | Ints,
        probability: Sequence[Number] | Floats,
        reward: Sequence[Number] | Floats,
        *,
        terminal: Mapping[int, Number] | None = None,
        owner: Sequence[int] | Ints | None = None,
        discount: Number = 1,
        start: int | Mapping[int, Number] = 0,
        states: Sequence[Hashable] | None = None,
        actions: Sequence[Hashable] | None = None,
        reward_per: str = "choice",
        tolerance: float = 1e-9,
    ) -> Network:
        """Make a network from three-level arrays: state -> choice -> branch.

        Parameters
        ----------
        choice_ptr : array_like of int, shape (n + 1,)
            The choices of state ``s`` are ``choice_ptr[s] .. choice_ptr[s+1] - 1``.
        branch_ptr : array_like of int, shape (m + 1,)
            The branches of a choice, in the same way.
        target : array_like of int, shape (b,)
            State that a branch leads to.
        probability : array_like, shape (b,)
            Floats, `Fraction`, `Decimal` or strings ``"p/q"``.  A row whose sum differs from 1 by no more than
            `tolerance` means the normalised rationals.
        reward : array_like, shape (m,) or (b,)
            One number per choice or per branch, see `reward_per`.
        terminal : mapping of int to number, optional
            Payoff of the states where the play ends.  Such a state keeps no choices.
        owner : array_like of int, shape (n,), optional
            0 for states of the maximiser (the default), 1 for the minimiser.
        discount : number
            Factor per step; every branch is a step.
        start : int, or mapping of int to number
            Start state, or the states that play may start in with their chances.
        states, actions : sequence, optional
            Names of the n states and of the m choices; by default numbers, those of the choices by state.
        reward_per : {"choice", "branch"}
            What one entry of `reward` belongs to.
        tolerance : float
            How far the probabilities of a choice, each and in sum, may be beyond 1.

        Raises
        ------
        DeadEndError, EmptySupportError, UnknownStateError, DuplicateActionError
            A state has no choice and is not terminal, a choice no branch, a target is no state, a name occurs twice.
        ProbabilityRangeError, ProbabilitySumError, RewardNotFiniteError, DiscountRangeError
            A number is out of its range.
        """
        from mdpdice.networks.choices import build

        asked: dict[str, Any] = {"terminal": terminal, "owner": owner, "discount": discount, "start": start}
        asked |= {"states": states, "actions": actions, "reward_per": reward_per, "tolerance": tolerance}
        return build(choice_ptr, branch_ptr, target, probability, reward, **asked)

    def save(self, path: str | os.PathLike[str], game: Game[Any, Any] | None = None) -> None:
        """Write the network to a file, usually ``.npz``, which is replaced at once or not at all.

        The look of a `game` writes the states, where their classes have no text of their own: an `UnknownStateError`.
        """
        from mdpdice.networks.files import write_network

        write_network(self, path, game)

    @classmethod
    def load(cls, path: str | os.PathLike[str], game: Game[Any, Any] | None = None) -> Network:
        """Read a network from a file that `save` wrote; a `CorruptFileError` where it is damaged or is not such a file.

        The classes of a `game` read the states and actions; an `UnknownStateError` says that it has none for one.
        Without it, those that are not made of numbers, strings and tuples come as their text.
        """
        from mdpdice.networks.files import read_network

        return read_network(path, game)

    def to_networkx(self) -> nx.MultiDiGraph:
        """Return the network as a `networkx.MultiDiGraph` of small pieces for drawing and analysis.

        Nodes carry ``kind``, ``state``, ``payoff``; edges ``weight``,
        ``reward``, ``sign``, ``step`` and, on decisions, ``action``.
        """
        from mdpdice.formats.networkx_graphs import to_networkx

        return to_networkx(self)


def edge_fields(network: Network, edges: Ints) -> dict[str, Any]:
    """Return what some edges are worth and how likely they are, for `attrs.evolve`; an edge may stand there often."""
    names = ("weight", "reward", "sign", "step", "numerator")
    found = {name: getattr(network, name)[edges] for name in names}
    return {**found, "exact_rewards": arrays.moved_numbers(network.exact_rewards, edges)}


def actions_of(network: Network, edges: Ints) -> Sequence[Hashable]:
    """Return the actions of those edges that have one."""
    decided = network.decides[network.source]
    if decided[edges].sum() == len(network.actions) and (np.diff(edges) > 0).all():
        return network.actions
    place = np.cumsum(decided) - 1
    return [network.actions[at] for at in place[edges[decided[edges]]].tolist()]


def _inverse(state_node: Ints, n_nodes: int) -> Ints:
    node_state = np.full(n_nodes, -1, dtype=np.int64)
    known = (state_node >= 0) & (state_node < n_nodes)  # the others are refused when the network is checked
    node_state[state_node[known]] = np.flatnonzero(known)
    return node_state


def _numbered_actions(kind: NDArray[np.uint8], indptr: Ints) -> list[Hashable]:
    decides = (kind == Kind.MAX) | (kind == Kind.MIN)
    return [k for degree in np.diff(indptr)[decides].tolist() for k in range(degree)]
