"""What explicit model files hold: states, choices, branches, reward structures and labels.

A `Model` has no discount, no horizon and no player who changes sides, as the formats of
model checkers have none.  `explicit` writes a `Network` in that form without changing any value:

* **Chance nodes** are states with one choice.
* **Rewards** belong to choices: those on the edges of a chance node are replaced by their mean.
* **Ends** have one choice, which pays the payoff and leads to the state ``done``.
* **A discount** g on an edge becomes the chance 1 - g of going straight to ``done``.
* **A horizon** is unrolled: there is a copy of the network for every number of decisions left.
* **pass_to** is resolved by two copies of the network, one for each side to be the mover: in the
  second one the other player decides, and everything that is paid changes its sign.  If the payoffs of the
  two sides have another sum than 0, half of it is taken off every payoff, and the values are lower by that.

The value of a network node is that of the state `Explicit.node` of it, plus `Explicit.shift`, where a
play is worth all that it collects: ``R{"reward"}max=? [ C ]`` in the language of PRISM and Storm.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import attrs
import numpy as np

from mdpdice.errors import GameError, MdpDiceError, UnsupportedError
from mdpdice.formats.line_reader import Number, require_network
from mdpdice.modelling.text import encode
from mdpdice.networks.network import Floats, Ints, Kind, Network
from mdpdice.objectives.reductions import both_sides, for_sense, shift_total, unroll

__all__ = [
    "Explicit",
    "Model",
    "action_names",
    "action_text",
    "choice_names",
    "explicit",
    "label_names",
    "labels_of_states",
    "question",
]

T = TypeVar("T")

REWARD = "reward"
"""Name of the reward structure that is written."""


@attrs.frozen(eq=False)
class Model:
    """An explicit model, as it is in a file.

    Parameters
    ----------
    kind : {"dtmc", "mdp", "smg"}
        Markov chain, decision process, or game of two players.
    choice_ptr : ndarray of int64, shape (n + 1,)
        The choices of state ``s`` are ``choice_ptr[s] .. choice_ptr[s+1] - 1``.
    branch_ptr : ndarray of int64, shape (m + 1,)
        The branches of a choice, in the same way.
    target : ndarray of int64, shape (b,)
        State that a branch leads to.
    probability : sequence of float or Fraction, length b
        Probability of a branch.
    rewards : mapping of str to sequence of float or Fraction, length m
        Expected reward of every choice, by reward structure; state rewards are in all choices of the state.
    labels : mapping of str to tuple of int
        Numbers of the states that have a label, in order.
    start : int
        Initial state.
    owner : ndarray of int64, shape (n,), optional
        Player of every state of a game: 0 maximises, 1 minimises.
    actions : sequence of hashable, length m, optional
        Name of every choice, an empty string if it has none.
    states : sequence of hashable, length n, optional
        Names of the states, by default their numbers.
    """

    kind: str
    choice_ptr: Ints
    branch_ptr: Ints
    target: Ints
    probability: Sequence[Number] | Floats
    rewards: Mapping[str, Sequence[Number] | Floats]
    labels: Mapping[str, tuple[int, ...]]
    start: int = 0
    owner: Ints | None = None
    actions: Sequence[Hashable] | None = None
    states: Sequence[Hashable] | None = None

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.choice_ptr) - 1

    @property
    def n_choices(self) -> int:
        """Number of choices."""
        return len(self.branch_ptr) - 1

    def __repr__(self) -> str:
        about = f"{self.n_states:,} states, {self.n_choices:,} choices, {len(self.target):,} branches"
        names = f"rewards {', '.join(self.rewards) or 'none'}; labels {', '.join(self.labels) or 'none'}"
        return f"<Model: {self.kind}, {about}; {names}>"

    def labelled(self, label: str) -> list[Hashable]:
        """The states that have a label, as the network names them.

        Raises
        ------
        GameError
            There is no such label; the message lists them.
        """
        if label not in self.labels:
            msg = f"there is no label {label!r}; the labels are: {', '.join(self.labels) or 'none'}"
            raise GameError(msg, value=label)
        states = range(self.n_states) if self.states is None else self.states
        return [states[at] for at in self.labels[label]]

    def network(self, reward: str | None = None, *, discount: Any = 1) -> Network:
        """The model as a network.

        Parameters
        ----------
        reward : str, optional
            Reward structure.  If the model has several, one must be named; if it has none, nothing pays.
        discount : number
            Factor per step.

        Returns
        -------
        Network
            A state that can only stay where it is, and gets nothing for it, ends the play.

        Raises
        ------
        GameError
            There is no such reward structure, or it must be said which; the message lists them.
        """
        rewards = self._reward(reward)
        width, choices = np.diff(self.branch_ptr), np.diff(self.choice_ptr)
        of_choice = np.repeat(np.arange(self.n_states), choices)
        # A choice stays if none of its branches leaves.
        leaves = self.target != np.repeat(of_choice, width)
        moving = np.zeros(self.n_states, dtype=bool)
        moving[np.repeat(of_choice, width)[leaves]] = True
        moving[of_choice[np.asarray([value != 0 for value in rewards], dtype=bool)]] = True
        return Network.from_choices(
            self.choice_ptr,
            self.branch_ptr,
            self.target,
            self.probability,
            rewards,
            terminal=dict.fromkeys(np.flatnonzero(~moving).tolist(), 0),
            owner=self.owner,
            discount=discount,
            start=self.start,
            states=self.states,
            actions=self._names(),
        )

    def _reward(self, name: str | None) -> Sequence[Number] | Floats:
        have = f"the reward structures are: {', '.join(map(repr, self.rewards)) or 'none'}"
        if name is not None:
            if name not in self.rewards:
                msg = f"there is no reward structure {name!r}; {have}"
                raise GameError(msg, value=name)
            return self.rewards[name]
        if len(self.rewards) > 1:
            msg = f"say which rewards are meant, as reward=...; {have}"
            raise GameError(msg)
        return next(iter(self.rewards.values()), np.zeros(self.n_choices))

    def _names(self) -> list[Hashable] | None:
        """Actions by name where the name tells a choice from the others of its state, else by number."""
        if self.actions is None:
            return None
        names: list[Hashable] = []
        for first, end in zip(self.choice_ptr[:-1].tolist(), self.choice_ptr[1:].tolist(), strict=True):
            mine = self.actions[first:end]
            names += [name if name != "" and mine.count(name) == 1 else k for k, name in enumerate(mine)]
        return names


@attrs.frozen(eq=False)
class Explicit:
    """A network in the form of a model, and where its nodes are.

    Parameters
    ----------
    model : Model
        The model.
    node : ndarray of int64, shape (N,)
        State of every node of the network (with all decisions of a horizon left).
    shift : Fraction
        What the values of the network are above those of the model.
    minimise : bool
        Whether the one who decides wants the total small.
    """

    model: Model
    node: Ints
    shift: Fraction
    minimise: bool

    @property
    def property(self) -> str:
        """The question whose answer is the value of the network, in the language of PRISM and Storm."""
        return question(self.model.kind, minimise=self.minimise)


def labels_of_states(model: Model) -> dict[int, list[str]]:
    """Return the labels of every state that has any."""
    found: dict[int, list[str]] = {}
    for label, states in model.labels.items():
        for state in states:
            found.setdefault(state, []).append(label)
    return found


def question(kind: str, *, minimise: bool) -> str:
    """The expected total reward of a model of some kind, in the language of PRISM and Storm."""
    sense = "" if kind == "dtmc" else "min" if minimise else "max"
    asked = f'R{{"{REWARD}"}}{sense}=? [ C ]'
    return f"<<maximiser>> {asked}" if kind == "smg" else asked


def explicit(
    network: Network,
    *,
    games: bool = True,
    name: str = "this format",
    labels: Mapping[str, Iterable[Hashable]] | None = None,
) -> Explicit:
    """Write a network as a model with the same values; see the module for how.

    Parameters
    ----------
    network : Network
        The network.
    games : bool
        Whether the format knows two players.
    name : str
        The format, for the error.
    labels : mapping of str to collection of states, optional
        Labels to give besides ``init``, ``end`` and ``done``; every copy of a state gets them.

    Raises
    ------
    UnsupportedError
        There are two players and the format knows one.
    UnknownStateError
        A state of a label is not in the network.
    GameError
        A label has a name that formats do not allow.
    """
    require_network(network)
    network = for_sense(network)
    marked = _marked(network, labels or {})
    n_nodes = network.n_nodes
    if network.two_player and not games:
        msg = (
            f"{name} knows one player, and here are two; the PRISM language (write_prism) holds games, and "
            "Network.save everything"
        )
        raise UnsupportedError(msg)
    node, shift = np.arange(network.n_nodes), Fraction(0)
    passes = bool((network.sign < 0).any())
    if network.horizon is not None:
        node = node + network.n_nodes * network.horizon
        lowering = unroll(network)
        assert lowering is not None
        network = lowering.network
    if passes:
        shifted = shift_total(network)
        if shifted is not None:
            network, shift = shifted.network, shifted.shift
        network = both_sides(network)
    both = bool((network.kind == Kind.MAX).any() and (network.kind == Kind.MIN).any())
    minimise = not both and bool((network.kind == Kind.MIN).any())
    model = _model(network, both=both)
    copies = range(0, network.n_nodes, n_nodes)
    given = {label: tuple(k + at for k in copies for at in nodes) for label, nodes in marked.items()}
    return Explicit(attrs.evolve(model, labels={**model.labels, **given}), node, shift, minimise)


def _marked(network: Network, labels: Mapping[str, Iterable[Hashable]]) -> dict[str, list[int]]:
    return {
        label: sorted({network.node_of(state) for state in states})
        for label, states in label_names(labels).items()
    }


def label_names(labels: Mapping[str, T]) -> Mapping[str, T]:
    """The labels, whose names were checked.

    Raises
    ------
    GameError
        A label has a name that formats do not allow, or is no collection of states.
    """
    if not isinstance(labels, Mapping):
        msg = f"labels={labels!r} is no dictionary; write labels={{name: [state, ...]}}"
        raise GameError(msg, value=labels)
    for label, states in labels.items():
        if isinstance(states, str) or not isinstance(states, Iterable):
            msg = (
                f"label {label!r} belongs to {states!r}, which is no collection of states; write [state, ...]"
            )
            raise GameError(msg, value=states)
        if (
            not isinstance(label, str)
            or not re.fullmatch(r"[A-Za-z_]\w*", label, flags=re.ASCII)
            or label
            in (
                "init",
                "deadlock",
                "end",
                "done",
            )
        ):
            msg = f"label {label!r}: write a word of letters, digits and _, other than init, deadlock, end, done"
            raise GameError(msg, value=label)
    return labels


def _model(network: Network, *, both: bool) -> Model:
    done, discount = network.n_nodes, network.discount
    kinds, dst, step = network.kind.tolist(), network.dst.tolist(), network.step.tolist()
    choice_ptr, branch_ptr = [0], [0]
    target: list[int] = []
    probability: list[Number] = []
    rewards: list[Number] = []

    def choose(reward: Fraction, edges: Sequence[tuple[int, Fraction]]) -> None:
        row: dict[int, Fraction] = {}
        for edge, p in edges:
            stays = p * discount if step[edge] else p
            for to, part in ((dst[edge], stays), (done, p - stays)):
                if part:
                    row[to] = row.get(to, Fraction(0)) + part
        target.extend(sorted(row))
        probability.extend(row[to] for to in sorted(row))
        branch_ptr.append(len(target))
        rewards.append(reward)

    one, zero = Fraction(1), Fraction(0)
    exact_rewards, float_rewards = network.exact_rewards, network.reward.tolist()
    for node in range(done):
        edges = network.edges(node)
        if kinds[node] == Kind.END:
            target.append(done)
            probability.append(Fraction(1))
            branch_ptr.append(len(target))
            rewards.append(network.exact_payoff(node))
        elif kinds[node] == Kind.CHANCE:
            row = [(edge, p) for edge, p in zip(edges, network.row(node), strict=True) if p]
            choose(sum((p * network.exact_reward(edge) for edge, p in row), Fraction(0)), row)
        else:
            for edge in edges:
                reward = network.exact_reward(edge) if float_rewards[edge] or edge in exact_rewards else zero
                if step[edge] and discount < 1:
                    choose(reward, [(edge, one)])
                else:
                    target.append(dst[edge])
                    probability.append(one)
                    branch_ptr.append(len(target))
                    rewards.append(reward)
        choice_ptr.append(len(rewards))
    target.append(done)
    probability.append(Fraction(1))
    branch_ptr.append(len(target))
    rewards.append(Fraction(0))
    choice_ptr.append(len(rewards))
    return Model(
        kind="smg" if both else "mdp" if network.decides.any() else "dtmc",
        choice_ptr=np.array(choice_ptr),
        branch_ptr=np.array(branch_ptr),
        target=np.array(target),
        probability=probability,
        rewards={REWARD: rewards},
        labels={
            "init": (network.start,),
            "end": tuple(np.flatnonzero(network.kind == Kind.END).tolist()),
            "done": (done,),
        },
        start=network.start,
        owner=np.append(network.kind == Kind.MIN, 0).astype(np.int64) if both else None,
        actions=[name for node in range(done) for name in action_names(network, node)] + [""],
    )


def action_names(network: Network, node: int) -> list[str]:
    """Names of the options of a node made of letters, digits and ``_``, all different; empty if nobody decides."""
    if not network.decides[node]:
        return [""]
    found: list[str] = []
    for k, edge in enumerate(network.edges(node)):
        name = re.sub(r"\W+", "_", action_text(network.action_of(edge)), flags=re.ASCII).strip("_") or str(k)
        found.append(name if name not in found else f"{name}_{k}")
    # What was made unique may be the name of another.
    return found if len(set(found)) == len(found) else [f"{name}_{k}" for k, name in enumerate(found)]


def choice_names(model: Model) -> list[str]:
    """Name of every choice of a model that is written, empty where nobody decides."""
    return [""] * model.n_choices if model.actions is None else [str(name) for name in model.actions]


def action_text(action: Any) -> str:
    """An action or state in words: a string as it is, anything else as JSON."""
    if isinstance(action, str):
        return action
    try:
        return json.dumps(encode(action))
    except MdpDiceError:  # of a class that has no text
        return repr(action)
