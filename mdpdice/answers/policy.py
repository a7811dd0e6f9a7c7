"""Policies: what a player does in every decision.

On a network a `Policy` names one edge of every decision node, or a probability for each of its
edges.  With a horizon it may depend on the decisions left; then its arrays have one
row per stage, and row ``k`` belongs to ``k`` decisions left.  A policy of a game that has no network is a rule,
a function of the state or a solution, which is asked where play comes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.answers.node_values import steps_of
from mdpdice.answers.solution import Solution
from mdpdice.archives import Archive, exact_text, rational, read_header, text_member, write_archive
from mdpdice.errors import GameError, HorizonRangeError, UnknownStateError, UnsupportedError
from mdpdice.html import card, grid
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.asking import ask
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.equality import same_kind
from mdpdice.modelling.game import Game
from mdpdice.networks.arrays import read_only, read_only_ints
from mdpdice.networks.network import Ints, Network

Weights: TypeAlias = NDArray[Any]

FORMAT = "mdpdice-policy"
VERSION = 1
_OTHER = (
    "it belongs to another network: of another game or other parameters of it, or of another objective, discount or "
    "horizon; Policy.on carries a policy over"
)
_DTYPES = {"header": ("|u1",), "choice": ("<i8",), "weight": ("<i8", "<f8")}
_HEADER = {"format": str, "version": int, "digest": str, "randomised": bool, "exact_weights": (list, type(None))}


@attrs.frozen(eq=False, repr=False)
class Policy:
    """What is done in every decision.

    Use `Policy.of`, `Policy.uniform` or `Policy.from_solution` to make one.

    Parameters
    ----------
    network : Network, optional
        What is decided in; without one the policy is a rule.
    choice : ndarray of int64, shape (N,) or (horizon + 1, N), optional
        Chosen edge of every decision node, -1 elsewhere; the likeliest one where the choice is random.  Row ``k`` is
        used with ``k`` decisions left; one row alone serves all stages.
    weight : ndarray, shape (E,) or (horizon + 1, E), optional
        For a randomised policy: the probability of an edge is its weight over the sum of the weights of its node.
        Numbers are exact as in `Network.numerator`.  0 on edges of chance nodes.
    rule : callable or Solution, optional
        Without a network: ``rule(state)`` gives the action to take, or a `Dist` of actions; a solution's best
        action is taken.  Without either, every action has the same chance.
    """

    _network: Network | None = None
    _choice: Ints | None = attrs.field(default=None, converter=attrs.converters.optional(read_only_ints))
    weight: Weights | None = attrs.field(default=None, converter=attrs.converters.optional(read_only))
    rule: Callable[[Any], Any] | Solution | None = None

    def __attrs_post_init__(self) -> None:
        if self._network is not None:
            _check(self)

    @property
    def network(self) -> Network:
        """What is decided in; an `UnsupportedError` where the policy is a rule."""
        if self._network is None:
            msg = "this policy is a rule, without a network; policy.on(network) asks it about every decision of one"
            raise UnsupportedError(msg, value=self)
        return self._network

    @property
    def choice(self) -> Ints:
        """Chosen edge of every decision node of the network; see `network`."""
        assert self.network is self._network
        return cast("Ints", self._choice)

    @property
    def is_rule(self) -> bool:
        """Whether the policy is asked about a state when play comes there, and belongs to no network."""
        return self._network is None

    # --- making one ---------------------------------------------------------

    @classmethod
    def from_solution(cls, solution: Solution) -> Policy:
        """Return the policy that a solution found."""
        if solution.lattice is not None:
            return cls(rule=solution)
        return cls(solution.network, solution.nodes.choice)

    @classmethod
    def of(
        cls, game: Game[Any, Any] | Network | Lattice, function: Callable[..., Any], *, staged: bool = False
    ) -> Policy:
        """Make a policy of a function.

        Parameters
        ----------
        game : Network, Game or Lattice
            What is decided in.
        function : callable
            ``function(state)`` gives the action to take, or a `Dist` of actions (else: an `UnknownStateError`).
            On a network it is asked about every state with a decision, otherwise where play comes.
        staged : bool
            On a network with a horizon: call ``function(state, steps_left)`` for every number of decisions left.
        """
        _check_game(game, "of(game, function)")
        if staged and (not isinstance(game, Network) or game.horizon is None):
            raise HorizonRangeError("staged=True needs a network with a horizon")
        if not isinstance(game, Network):
            return cls(rule=function)
        if not staged:
            return _assemble(game, [_ask(game, function, ())])
        assert game.horizon is not None
        nothing: _Row = (np.full(game.n_nodes, -1), {})
        rows = [_ask(game, function, (k,)) for k in range(1, game.horizon + 1)]
        return _assemble(game, [nothing, *rows], staged=True)

    @classmethod
    def uniform(cls, game: Game[Any, Any] | Network | Lattice) -> Policy:
        """Return the policy that takes every action of a decision with the same probability."""
        _check_game(game, "uniform(game)")
        if not isinstance(game, Network):
            return cls()
        return cls(game, np.where(game.decides, game.indptr[:-1], -1), game.decides[game.source].astype(np.int64))

    def on(self, network: Network) -> Policy:
        """Return the same decisions on another network, matched by the names of states and actions.

        For instance on one that was explored with ``merge=False``, has another horizon, or follows other rules.  An
        `UnknownStateError` names a decision that this policy's network has not, or an action that `network` has not,
        and a `HorizonRangeError` says that the policy knows nothing of that many decisions left.
        """
        if network is self._network:
            return self
        if self.is_rule:
            return Policy.uniform(network) if self.rule is None else Policy.of(network, self._answer)
        if self.staged and (network.horizon is None or network.horizon >= len(self.choice)):
            msg = f"the policy knows what to do with at most {len(self.choice) - 1} decisions left"
            raise HorizonRangeError(msg, value=network.horizon, limit=len(self.choice) - 1)
        stages = slice(None) if not self.staged else slice(cast("int", network.horizon) + 1)
        if _same_decisions(self.network, network):
            return Policy(network, self.choice[stages], None if self.weight is None else self.weight[stages])
        nodes, edges = _same_names(self.network, network)
        choice = np.full((*self.choice[stages].shape[:-1], network.n_nodes), -1)
        known = np.full(self.network.n_edges + 1, -1)
        known[edges[edges >= 0]] = np.flatnonzero(edges >= 0)
        decisions = np.flatnonzero(network.decides)
        taken = self.choice[stages][..., nodes[decisions]]
        choice[..., decisions] = known[taken]
        weight = None
        if self.weight is None:
            lost = taken[(taken >= 0) & (known[taken] < 0)]
        else:
            weight = np.where(edges >= 0, self.weight[stages][..., edges], 0)
            mapped = np.zeros(self.network.n_nodes, dtype=bool)
            mapped[nodes[decisions]] = True
            lost = np.argwhere((self.weight[stages] > 0) & mapped[self.network.source] & (known[:-1] < 0))[:, -1]
        if len(lost):
            edge = int(lost[0])
            raise UnknownStateError(
                "the policy takes an action that does not exist",
                state=self.network.describe(int(self.network.source[edge])),
                action=self.network.action_of(edge),
            )
        return Policy(network, choice, weight)

    # --- asking it ----------------------------------------------------------

    @property
    def staged(self) -> bool:
        """Whether the decisions depend on the number of decisions left."""
        return self._choice is not None and self._choice.ndim == 2

    @property
    def randomised(self) -> bool:
        """Whether some decision is left to chance."""
        return self.weight is not None

    def action(self, state: Hashable = None, *, steps_left: int | None = None) -> Any:
        """Return the action taken in a decision state, by default the start.

        A random choice is a `GameError`; other errors are those of `Solution.action`.
        """
        chances = self.probabilities(state, steps_left=steps_left)
        if len(chances) > 1:
            msg = "the action is random here; ask probabilities() for the chance of each"
            raise GameError(msg, state=state if self.is_rule else self.network.describe(self._node(state)))
        return next(iter(chances))

    def _answer(self, state: Hashable) -> Any:
        """Return what a rule says of a state: an action, or a `Dist` of actions."""
        if self.rule is None:
            msg = "every action has the same chance here; policy.on(network) knows which there are"
            raise UnsupportedError(msg, state=state)
        return self.rule.action(state) if isinstance(self.rule, Solution) else self.rule(state)

    def probabilities(self, state: Hashable = None, *, steps_left: int | None = None) -> dict[Any, Fraction]:
        """Chance of every action that may be taken in a decision state, in the order of the options."""
        if self.is_rule:
            answer = self._answer(state)
            if not isinstance(answer, Dist):
                return {answer: Fraction(1)}
            return {one: answer.prob(one) for one in answer}
        net = self.network
        node = self._node(state)
        if not net.decides[node]:
            raise GameError("this state has no decision", state=net.describe(node))
        try:
            steps = steps_of(net, steps_left, 1)
        except HorizonRangeError as error:
            raise error.at(net.describe(node)) from error.__cause__
        if self.weight is None:
            choice = self.choice[steps] if self.staged else self.choice
            return {net.action_of(int(choice[node])): Fraction(1)}
        weight = self.weight[steps] if self.staged else self.weight
        parts = {edge: Fraction(weight[edge]) for edge in net.edges(node) if weight[edge] > 0}
        whole = sum(parts.values(), Fraction(0))
        return {net.action_of(edge): part / whole for edge, part in parts.items()}

    def _node(self, state: Hashable) -> int:
        return self.network.start if state is None else self.network.node_of(state)

    def __repr__(self) -> str:
        if self.is_rule:
            return f"<Policy: {'random' if self.rule is None else repr(self.rule)}>"
        decisions = int(self.network.decides.sum())
        how = "randomised, " if self.randomised else ""
        stages = f" in {len(self.choice)} stages" if self.staged else ""
        return f"<Policy: {how}{decisions:,} decisions{stages}>"

    def _repr_html_(self) -> str:
        if self.is_rule or self.staged:
            return card("Policy", [("what", repr(self))])
        net, rows = self.network, []
        for at in np.flatnonzero(net.decides[net.state_node[:1000]])[:10].tolist():
            state = net.states[at]
            told = (f"{action} {float(chance):.3g}" for action, chance in self.probabilities(state).items())
            rows.append((state, ", ".join(told) if self.randomised else self.action(state)))
        return card("Policy", [("what", repr(self))]) + grid("the first decisions", ("state", "action"), rows)

    # --- files --------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a file, which is replaced at once or not at all.

        It holds the chosen edges, the weights of a randomised policy, and the digest of the network.  States and
        actions are not stored: whoever reads the file has the network, or the game that it is explored from.
        """
        weight, exact = np.zeros(0) if self.weight is None else self.weight, None
        if weight.dtype == object:
            weight, exact = np.zeros(0), [exact_text(number) for number in weight.ravel().tolist()]
        header = {"format": FORMAT, "version": VERSION, "digest": self.network.digest, "exact_weights": exact}
        header |= {"randomised": self.randomised}
        write_archive(path, {"header": text_member(header), "choice": self.choice, "weight": weight})

    @classmethod
    def load(cls, path: str | os.PathLike[str], network: Network) -> Policy:
        """Read a policy of `network` from a file; a `CorruptFileError` where it is damaged or of another network."""
        file = Archive(os.fspath(path), _DTYPES, "write it again with Policy.save", dimensions=2)
        members = file.read()
        header = read_header(file, members, FORMAT, VERSION, _HEADER)
        if header["digest"] != network.digest:
            raise file.corrupt("digest", _OTHER)
        weight: NDArray[Any] | None = members["weight"]
        with file.part("exact_weights"):
            if header["exact_weights"] is not None:
                weight = np.array([*map(rational, header["exact_weights"]), None], dtype=object)[:-1]
                if members["choice"].ndim == 2:
                    weight = weight.reshape(-1, network.n_edges)
        if not header["randomised"]:
            weight = None
        with file.part("policy"):
            return cls(network, members["choice"], weight)


# One row of a policy: its edges, and the weights of the edges where the choice is random.
_Row: TypeAlias = "tuple[Ints, Mapping[int, int]]"


def _check(policy: Policy) -> None:
    net, choice, weight = policy.network, policy.choice, policy.weight
    stages = () if net.horizon is None else (net.horizon + 1,)
    if choice.shape not in ((net.n_nodes,), (*stages, net.n_nodes)):
        msg = f"a policy of this network has shape {(net.n_nodes,)} or {(*stages, net.n_nodes)}, not {choice.shape}"
        raise GameError(msg)
    rows = choice[1:] if policy.staged else choice
    inside = (net.indptr[:-1] <= rows) & (rows < net.indptr[1:])
    # A function of the state says nothing about nature, which `induce` asks for.
    if (wrong := np.where(net.decides & ~(net.nature & (rows == -1)), ~inside, rows != -1)).any():
        node = int(np.argwhere(wrong)[0][-1])
        what = "takes none of its actions" if net.decides[node] else "takes an action without a decision"
        raise GameError(f"the policy {what} here", state=net.describe(node))
    if weight is None:
        return
    if weight.shape != (*choice.shape[:-1], net.n_edges):
        msg = f"the weights of this policy have shape {(*choice.shape[:-1], net.n_edges)}, not {weight.shape}"
        raise GameError(msg)
    rows = weight[1:] if policy.staged else weight
    # Written so that NaN is wrong.
    if (bad := ~((rows >= 0) & (rows < np.inf)) | ((rows != 0) & ~net.decides[net.source])).any():
        edge = int(np.argwhere(bad)[0][-1])
        msg = "the weight of an action is a number of at least 0, and only actions have weights"
        raise GameError(msg, state=net.describe(int(net.source[edge])), value=rows[..., edge].ravel()[0])
    sums = np.add.reduceat(
        np.append(rows > 0, np.zeros((*rows.shape[:-1], 1), dtype=bool), axis=-1), net.indptr[:-1], axis=-1
    )
    if (empty := net.decides & ~net.nature & ~sums.astype(bool)).any():
        node = int(np.argwhere(empty)[0][-1])
        raise GameError("no action has a positive weight here", state=net.describe(node))


def _ask(network: Network, function: Callable[..., Any], more: tuple[int, ...]) -> _Row:
    choice = np.full(network.n_nodes, -1)
    weight: dict[int, int] = {}
    for node in np.flatnonzero(network.decides & ~network.nature).tolist():
        if (state := network.state_of(node)) is None:
            msg = "a decision has no state of its own; make the policy before the network is reduced"
            raise GameError(msg, state=network.describe(node))
        action = ask(function, state, *more, what="the function of the policy", state=state)
        if isinstance(action, Dist):
            parts = {network.edge_of(node, one): part for one, part in action.items()}
            choice[node] = max(sorted(parts), key=parts.__getitem__)
            weight.update(parts)
        else:
            choice[node] = network.edge_of(node, action)
    return choice, weight


def _check_game(game: object, call: str) -> None:
    if not isinstance(game, Game | Network | Lattice):
        raise GameError(f"{game!r} is not a game; write Policy.{call}", value=game)


def _assemble(network: Network, rows: Sequence[_Row], *, staged: bool = False) -> Policy:
    """Make a policy of rows; where a row gives weights for some nodes only, the others take what `chosen` says."""
    choice = np.array([chosen for chosen, _ in rows])
    if not any(weight for _, weight in rows):
        return Policy(network, choice if staged else choice[0])
    # Sums of the weights must fit, too.
    small = all(part < 1 << 48 for _, weight in rows for part in weight.values())
    weights = np.zeros((len(rows), network.n_edges), dtype=np.int64 if small else object)
    for row, (chosen, weight) in zip(weights, rows, strict=True):
        row[chosen[chosen >= 0]] = 1
        row[chosen[sorted({int(network.source[edge]) for edge in weight})]] = 0
        for edge, part in weight.items():
            row[edge] = part
    return Policy(network, choice if staged else choice[0], weights if staged else weights[0])


# --- the same policy on another network -------------------------------------------------------------


def _same_decisions(old: Network, new: Network) -> bool:
    """Whether two networks differ in numbers only, such as a horizon."""
    return (
        new.states is old.states
        and new.actions is old.actions
        and np.array_equal(new.kind, old.kind)
        and np.array_equal(new.indptr, old.indptr)
    )


def _options(network: Network, node: int) -> Iterator[tuple[Hashable, int]]:
    first, edges = int(network._action_start[node]), network.edges(node)  # noqa: SLF001 - once per node, not per action
    return zip(network.actions[first : first + len(edges)], edges, strict=True)


def _same_names(old: Network, new: Network) -> tuple[Ints, Ints]:
    """Node of `old` for every decision of `new`, and edge of `old` (or -1) for every edge of a decision."""
    nodes, edges = np.full(new.n_nodes, -1), np.full(new.n_edges, -1)
    picks = iter(np.flatnonzero(old.nature).tolist())  # without names, in the order of the states
    for node in np.flatnonzero(new.decides).tolist():
        state = new.state_of(node)
        if (before := next(picks, None) if state is None else old.node_of(state)) is None:
            raise GameError("a decision without a state of its own has no counterpart", state=new.describe(node))
        if not old.decides[before]:
            raise UnknownStateError("this state has no decision where the policy comes from", state=state)
        nodes[node] = before
        theirs = {action: (action, edge) for action, edge in _options(old, before)}
        for action, edge in _options(new, node):
            known, found = theirs.get(action, (None, -1))
            if found >= 0 and same_kind(known, action):
                edges[edge] = found
    return nodes, edges
