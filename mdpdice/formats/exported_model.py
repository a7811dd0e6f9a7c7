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

import itertools
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import attrs
import numpy as np

from mdpdice.errors import GameError, MdpDiceError
from mdpdice.formats.line_reader import Labels, Number, require_network, require_one_player
from mdpdice.modelling.text import encode
from mdpdice.networks.network import Floats, Ints, Kind, Network
from mdpdice.objectives.reductions import both_sides, for_sense, shift_total, unroll

T = TypeVar("T")

Start: TypeAlias = int | Mapping[int, Number]
"""The state that play starts in, or several with their chances."""

REWARD = "reward"
"""Name of the reward structure that is written."""


@attrs.frozen(eq=False)
class Model:
    """An explicit model of n states, m choices and b branches, as it is in a file."""

    kind: str  #: "dtmc", "mdp" or "smg": Markov chain, decision process, or game of two players
    choice_ptr: Ints  #: shape (n + 1,): the choices of state ``s`` are ``choice_ptr[s] .. choice_ptr[s+1] - 1``
    branch_ptr: Ints  #: shape (m + 1,): the branches of a choice, in the same way
    target: Ints  #: state that a branch leads to, shape (b,)
    probability: Sequence[Number] | Floats  #: chance of every branch, length b
    rewards: Mapping[str, Sequence[Number] | Floats]  #: of every choice, by structure; those of states are included
    labels: Mapping[str, tuple[int, ...]]  #: numbers of the states that have a label, in order
    start: Start = 0  #: initial state, or the initial states with their chances
    owner: Ints | None = None  #: player of every state of a game, shape (n,): 0 maximises, 1 minimises
    actions: Sequence[Hashable] | None = None  #: name of every choice, else an empty string
    states: Sequence[Hashable] | None = None  #: names of the states, by default their numbers
    warnings: tuple[str, ...] = ()  #: what the file says without effect
    tolerance: float = 1e-9  #: as for `mdpdice.Network.from_choices`

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
        """Return the states that have a label, as the network names them; a `GameError` lists the labels."""
        if label not in self.labels:
            raise GameError(f"no label {label!r}; the labels are: {', '.join(self.labels) or 'none'}", value=label)
        states = range(self.n_states) if self.states is None else self.states
        return [states[at] for at in self.labels[label]]

    def network(self, reward: str | None = None, *, discount: Any = 1) -> Network:
        """Return the model as a network; a state that can only stay where it is, for nothing, ends the play.

        Parameters
        ----------
        reward : str, optional
            Reward structure.  If the model has several, one must be named (the `GameError` lists them); if it has
            none, nothing pays.
        discount : number
            Factor per step.
        """
        rewards = self._reward(reward)
        # A state moves if one of its choices pays, or has a branch that leaves.
        of_choice = np.repeat(np.arange(self.n_states), np.diff(self.choice_ptr))
        source = np.repeat(of_choice, np.diff(self.branch_ptr))
        paying = np.array([value != 0 for value in rewards], dtype=bool)
        moving = np.concatenate((source[self.target != source], of_choice[paying]))
        resting = np.setdiff1d(np.arange(self.n_states), moving)
        network = Network.from_choices(
            self.choice_ptr,
            self.branch_ptr,
            self.target,
            self.probability,
            rewards,
            terminal=dict.fromkeys(resting.tolist(), 0),
            owner=self.owner,
            discount=discount,
            start=self.start,
            states=self.states,
            actions=self._names(),
            tolerance=self.tolerance,
        )
        return attrs.evolve(network, warnings=(*network.warnings, *self.warnings))

    def _reward(self, name: str | None) -> Sequence[Number] | Floats:
        have = f"the reward structures are: {', '.join(map(repr, self.rewards)) or 'none'}"
        if name is not None:
            if name not in self.rewards:
                raise GameError(f"there is no reward structure {name!r}; {have}", value=name)
            return self.rewards[name]
        if len(self.rewards) > 1:
            raise GameError(f"say which rewards are meant, as reward=...; {have}")
        return next(iter(self.rewards.values()), np.zeros(self.n_choices))

    def _names(self) -> list[Hashable] | None:
        """Actions by name where the name tells a choice from the others of its state, else by number."""
        if self.actions is None:
            return None
        names: list[Hashable] = []
        for first, end in itertools.pairwise(self.choice_ptr.tolist()):
            mine = self.actions[first:end]
            names += [name if name != "" and mine.count(name) == 1 else k for k, name in enumerate(mine)]
        return names


@attrs.frozen(eq=False)
class Explicit:
    """A network in the form of a model, and where its nodes are."""

    model: Model  #: what is written
    node: Ints  #: state of every node of the network (with all decisions of a horizon left), shape (N,)
    shift: Fraction  #: what the values of the network are above those of the model
    minimise: bool  #: whether the one who decides wants the total small

    @property
    def property(self) -> str:
        """The question whose answer is the value of the network, in the language of PRISM and Storm."""
        return question(self.model.kind, minimise=self.minimise)


def decision_process(
    choice_ptr: Ints, matrix: Any, reward: Floats, *, actions: Sequence[int] | None = None, **more: Any
) -> Model:
    """Return a model from a sparse matrix (CSR) with a row of probabilities for every choice."""
    return Model(
        kind="mdp",
        choice_ptr=choice_ptr,
        branch_ptr=matrix.indptr.astype(np.int64),
        target=matrix.indices.astype(np.int64),
        probability=matrix.data,
        rewards={REWARD: reward},
        labels={},
        actions=actions,
        **more,
    )


def labels_of_states(model: Model) -> dict[int, list[str]]:
    """Return the labels of every state that has any."""
    found: dict[int, list[str]] = {}
    for label, states in model.labels.items():
        for state in states:
            found.setdefault(state, []).append(label)
    return found


def question(kind: str, *, minimise: bool) -> str:
    """Return the expected total reward of a model of some kind, in the language of PRISM and Storm."""
    sense = "" if kind == "dtmc" else "min" if minimise else "max"
    asked = f'R{{"{REWARD}"}}{sense}=? [ C ]'
    return f"<<maximiser>> {asked}" if kind == "smg" else asked


def explicit(network: Network, *, games: bool = True, name: str = "this format", labels: Labels = None) -> Explicit:
    """Write a network as a model with the same values; see the module for how.

    Every copy of a state gets its labels.  Two players are an `UnsupportedError` unless the format, called `name`,
    knows `games`.
    """
    require_network(network)
    network = for_sense(network)
    named = label_names(labels or {})
    marked = {label: sorted({network.node_of(state) for state in states}) for label, states in named.items()}
    n_nodes = network.n_nodes
    if not games:
        require_one_player(network, name)
    node, shift = np.arange(n_nodes) + n_nodes * (network.horizon or 0), Fraction(0)
    if (unrolled := unroll(network)) is not None:
        network = unrolled.network
    if (network.sign < 0).any():
        if (shifted := shift_total(network)) is not None:
            network, shift = shifted.network, shifted.shift
        network = both_sides(network)
    both = bool((network.kind == Kind.MAX).any() and (network.kind == Kind.MIN).any())
    minimise = not both and bool((network.kind == Kind.MIN).any())
    model = _model(network, both=both)
    copies = range(0, network.n_nodes, n_nodes)
    given = {label: tuple(k + at for k in copies for at in nodes) for label, nodes in marked.items()}
    return Explicit(attrs.evolve(model, labels={**model.labels, **given}), node, shift, minimise)


def label_names(labels: Mapping[str, T]) -> Mapping[str, T]:
    """Return the labels, whose names were checked: formats take words other than those that they use."""
    if not isinstance(labels, Mapping):
        raise GameError(f"labels={labels!r} is not a dictionary; write labels={{name: [state, ...]}}", value=labels)
    for label, states in labels.items():
        if isinstance(states, str) or not isinstance(states, Iterable):
            msg = f"label {label!r} belongs to {states!r}, which is not a collection of states; write [state, ...]"
            raise GameError(msg, value=states)
        word = isinstance(label, str) and re.fullmatch(r"[A-Za-z_]\w*", label, flags=re.ASCII)
        if not word or label in ("init", "deadlock", "end", "done"):
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
    one, zero = Fraction(1), Fraction(0)

    def choose(reward: Fraction, row: dict[int, Fraction]) -> None:
        target.extend(sorted(row))
        probability.extend(row[to] for to in sorted(row))
        branch_ptr.append(len(target))
        rewards.append(reward)

    def discounted(edges: Iterable[int], chances: Iterable[Fraction]) -> dict[int, Fraction]:
        row: dict[int, Fraction] = {}
        for edge, p in zip(edges, chances, strict=True):
            stays = p * discount if step[edge] else p
            for to, part in ((dst[edge], stays), (done, p - stays)):
                if part:
                    row[to] = row.get(to, zero) + part
        return row

    exact_rewards, float_rewards = network.exact_rewards, network.reward.tolist()
    for node in range(done):
        edges = network.edges(node)
        if kinds[node] == Kind.END:
            choose(network.exact_payoff(node), {done: one})
        elif kinds[node] == Kind.CHANCE:
            chances = network.row(node)
            paid = (p * network.exact_reward(edge) for edge, p in zip(edges, chances, strict=True))
            choose(sum(paid, zero), discounted(edges, chances))
        else:
            for edge in edges:
                reward = network.exact_reward(edge) if float_rewards[edge] or edge in exact_rewards else zero
                steps = step[edge] and discount < 1
                choose(reward, discounted([edge], [one]) if steps else {dst[edge]: one})
        choice_ptr.append(len(rewards))
    choose(zero, {done: one})
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


def choices_of(model: Model) -> Iterator[tuple[int, int, str, list[tuple[int, Number]]]]:
    """State, number in it, name, and targets with their probabilities of every choice of a model that is written."""
    names = iter(model.actions or ())
    target, spans = model.target.tolist(), itertools.pairwise(model.branch_ptr.tolist())
    for state, count in enumerate(np.diff(model.choice_ptr).tolist()):
        for k in range(count):
            first, end = next(spans)
            yield state, k, str(next(names)), list(zip(target[first:end], model.probability[first:end], strict=True))


def action_text(action: Any) -> str:
    """Return an action or state in words: a string as it is, anything else as JSON."""
    if isinstance(action, str):
        return action
    try:
        return json.dumps(encode(action))
    except MdpDiceError:  # of a class that has no text
        return repr(action)
