"""Games with counters in the PRISM language: one module with the variables of the game, not one state per number.

The variable ``s`` is the node of the core, and every counter is a bounded int variable of its own name (flags are
one bool variable per box).  A command is an option or a roll of the core; its guard and its updates are the
conditions and updates of the game, so the text is as long as the declaration and not as its state space:

* A **condition** on an option is part of the guard of its command.  Inside chance it makes the probability
  depend on the counters, ``(turn >= 94 ? 1/6 : 0)``.  A condition at the top level of a state is a node with one
  command per case.
* **Counters that leave their values** stay errors, which PRISM reports, where ``outside="error"``;
  ``"clip"`` becomes ``min`` and ``max`` in the update, and ``"forbid"`` a part of the guard.
* **pass_to**: the bool variable ``passed`` says which side moves.  It makes the model a game (``smg``), in which
  everything is paid from the view of the one who moved first.
* **A discount** g is the chance 1 - g that the play is over when a decision is left, except the first one; the bool
  variable ``begun`` tells whether there was one.
* **Ends** pay their payoff and go to the node ``done``, with all counters back at their start.

A play that comes to a number that a table lacks, or sets a box beyond the last one, is an error in `mdpdice.explore`
and not in the text that is written.
"""

from __future__ import annotations

import itertools
from collections import Counter as Multiset
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import attrs
import numpy as np

from mdpdice.errors import UnknownStateError
from mdpdice.formats.exported_model import action_text, label_names, question
from mdpdice.formats.line_reader import Labels, PathLike, number_text, write_lines
from mdpdice.formats.prism_expressions import AND, ATOM, SUM, Names, Texts, bounds
from mdpdice.formats.prism_program import Command, program_lines
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.counters import At, Update, full_state
from mdpdice.modelling.expressions import Expr, as_expr
from mdpdice.networks.network import Kind
from mdpdice.objectives.reductions import for_sense

_LONG = 40  # characters from which a text that occurs twice becomes a formula
_WIDTH = 80  # of a comment
_SAMPLE = 4096  # points at which the guards of a roll are looked at


@attrs.frozen(eq=False)
class PrismProgram:
    """A game in the PRISM language, and where its states are."""

    lattice: Lattice  #: what was written
    kind: str  #: "dtmc", "mdp" or "smg": Markov chain, decision process, or game of two players
    shift: Fraction  #: what the values of the game are above those of the program
    minimise: bool  #: whether the one who decides wants the total small
    texts: Texts  #: variables of the counters
    passed: str | None  #: variable that tells whether the sides have changed, if they can
    begun: str | None  #: variable that tells whether there was a decision, if that matters

    @property
    def flags(self) -> list[str]:
        """The variables `passed` and `begun`, as far as there are such."""
        return [name for name in (self.passed, self.begun) if name is not None]

    @property
    def property(self) -> str:
        """The question whose answer is the value of the game, in the language of PRISM and Storm."""
        return question(self.kind, minimise=self.minimise)

    def node(self, state: Hashable) -> int:
        """Value of the variable ``s`` in a core state; an `UnknownStateError` if there is no such one."""
        if state not in self._nodes:
            raise UnknownStateError(f"{state!r} is not a core state of this game", value=state)
        return self._nodes[state]

    @cached_property
    def _nodes(self) -> dict[Hashable, int]:
        return dict(zip(self.lattice.states, self.lattice.state_node.tolist(), strict=True))

    def valuation(self, state: At[Any]) -> dict[str, int | bool]:
        """Values of the variables where the one to move first is in a state, before the first decision.

        The state has the values of the counters; where the game has none such, it is an `UnknownStateError`.
        """
        full_state(state, self.lattice.axes).point(self.lattice.axes)  # raises
        return {"s": self.node(state.state)} | self.texts.values(state.counters) | dict.fromkeys(self.flags, False)


def write_lattice(lattice: Lattice, path: PathLike, *, labels: Labels = None) -> PrismProgram:
    """Write a game with counters in the PRISM language, as `write_prism` does; see the module for how."""
    writer = _Writer(lattice, labels)
    write_lines(path, writer.lines())
    return writer.program


class _Writer:
    def __init__(self, lattice: Lattice, labels: Labels) -> None:
        self.lattice = lattice = for_sense(lattice)
        names = Names(["s"])
        self.texts = texts = Texts(lattice.axes, names)
        kind = lattice.kind
        passes = bool((lattice.sign < 0).any())
        passed = names.new("passed") if passes else None
        begun = names.new("begun") if lattice.discount < 1 else None
        maximises, minimises = bool((kind == Kind.MAX).any()), bool((kind == Kind.MIN).any())
        two = passes or (maximises and minimises)
        model = "smg" if two else "mdp" if maximises or minimises else "dtmc"
        shift = lattice.total / 2 if passes else Fraction(0)
        self.program = PrismProgram(lattice, model, shift, minimises and not two, texts, passed, begun)
        self.done = lattice.n_nodes
        self.kinds = kind.tolist()
        self.edges = [range(first, end) for first, end in itertools.pairwise(lattice.indptr.tolist())]
        self.guard = lattice.guard.tolist()
        self.updates = [lattice.updates[at] if at >= 0 else () for at in lattice.update.tolist()]
        self.reward = [_reward(lattice, at) for at in lattice.reward.tolist()]
        start = lattice.counters(lattice.start_point)
        self.start = texts.values(start) | dict.fromkeys(self.program.flags, False)
        self.range = {axis.name: bounds(Expr("counter", (axis.name,), 1), texts.axes) for axis in lattice.axes}
        named = label_names(labels or {})
        self.labels = {label: [self._labelled(state) for state in states] for label, states in named.items()}
        self.guards = [texts.condition(guard, AND) for guard in lattice.guards]
        self.formulas: dict[str, str] = {}  # by text
        times = Multiset(self.guard)
        for at, text in enumerate(self.guards):
            if times[at] > 1 and len(text) > _LONG:
                self.guards[at] = self.formulas[text] = names.new(f"guard{at}")
        self._known = cache(self._looked_at)

    def _labelled(self, state: Hashable) -> str:
        if not isinstance(state, At):
            return f"s={self.program.node(state)}"
        return " & ".join(
            (name if value else f"!{name}") if isinstance(value, bool) else f"{name}={value}"
            for name, value in self.program.valuation(state).items()
            if name not in self.program.flags
        )

    # --- text ---------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        program = self.program
        ends = [f"s={node}" for node, kind in enumerate(self.kinds) if kind == Kind.END]
        labels = {"end": ends, "done": [f"s={self.done}"], **self.labels}
        parts = self._variables(), list(self._commands()), self._rewards(), labels, self.formulas
        return program_lines("game", program.kind, program.property, program.shift, *parts)

    def _variables(self) -> Iterator[str]:
        yield f"s : [0..{self.done}] init {self.lattice.start};"
        ranges = {self.texts.variable[name]: self.range[name] for name in self.texts.variable}
        for name, value in self.start.items():
            kind = f"[{ranges[name][0]}..{ranges[name][1]}]" if name in ranges else "bool"
            yield f"{name} : {kind} init {_literal(value)};"

    # --- commands -----------------------------------------------------------

    def _views(self, node: int) -> list[tuple[str, str]]:
        """Beginning of the actions of a node and condition, for each side that may be the mover."""
        if self.program.kind != "smg":
            return [("a", "")]
        kind, passed = self.kinds[node], self.program.passed
        if passed is None:
            return [("min" if kind == Kind.MIN else "max", "")]
        if kind not in (Kind.MAX, Kind.MIN):
            return [("max", "")]
        mine, other = ("max", "min") if kind == Kind.MAX else ("min", "max")
        return [(mine, f" & !{passed}"), (other, f" & {passed}")]

    def _commands(self) -> Iterator[Command]:
        """All commands; a comment where a state begins has its name."""
        lattice, actions = self.lattice, iter(self.lattice.actions)
        named = lattice.node_state.tolist()
        one = Fraction(1)
        for node, kind in enumerate(self.kinds):
            if named[node] >= 0:
                yield Command("", "", _words(lattice.states[named[node]]))
            edges = self.edges[node]
            views = self._views(node)
            player = views[0][0]
            if kind == Kind.END:
                yield Command(f"{player}0", f"s={node} -> {self._over(one)}")
            elif kind == Kind.CHANCE and not lattice.switch[node]:
                chances = self._chances(edges).items()
                roll = " + ".join(f"{self._guarded(edge, p)} : {self._assignments(edge)}" for edge, p in chances)
                yield Command(f"{player}0", f"s={node} -> {roll}")
            elif kind == Kind.CHANCE:
                for k, edge in enumerate(edges):
                    yield Command(f"{player}{k}", f"s={node}{self._when(edge)} -> {self._branch(one, edge)}")
            else:
                for k, edge in enumerate(edges):
                    note = _words(next(actions))
                    for player, side in views:
                        for begun, branches in self._option(edge):
                            text = f"s={node}{side}{begun}{self._when(edge, option=True)} -> {branches}"
                            yield Command(f"{player}{k}", text, note)
        player = "max" if self.program.kind == "smg" else "a"
        yield Command(f"{player}0", f"s={self.done} -> 1 : (s'={self.done})")

    def _option(self, edge: int) -> Iterator[tuple[str, str]]:
        """Condition and branches of an option: for the first decision of a play, and for later ones."""
        begun, discount = self.program.begun, self.lattice.discount
        if begun is None:
            yield "", self._branch(Fraction(1), edge)
            return
        yield f" & !{begun}", f"{self._branch(Fraction(1), edge)}&({begun}'=true)"
        later = [self._branch(discount, edge)] if discount else []
        yield f" & {begun}", " + ".join([*later, self._over(1 - discount)])

    def _guarded(self, edge: int, p: Fraction) -> str:
        """Text of a probability that is 0 where the guard of an edge does not hold."""
        guard, text = self.guard[edge], number_text(p, exact=True)
        return f"({self.guards[guard]} ? {text} : 0)" if guard >= 0 else text

    def _branch(self, p: Fraction, edge: int) -> str:
        return f"{number_text(p, exact=True)} : {self._assignments(edge)}"

    def _assignments(self, edge: int) -> str:
        found = [f"(s'={self.lattice.dst[edge]})"]
        for one in self.updates[edge]:
            axis = self.texts.axes[one.name]
            if axis.boxes:
                bits = {box: self.texts.bit(one.value, at) for at, box in enumerate(self.texts.box[one.name])}
                found += [f"({box}'={bit})" for box, bit in bits.items() if bit != box]
                continue
            name, text = self.texts.variable[one.name], self.texts.number(one.value)
            if axis.outside == "clip":
                low, high = self.range[one.name]
                below, above = self._leaves(one)
                text = f"min({high}, {text})" if above else text
                text = f"max({low}, {text})" if below else text
            if text != name:
                found.append(f"({name}'={text})")
        if self.lattice.sign[edge] < 0:
            found.append(f"({self.program.passed}'=!{self.program.passed})")
        return "&".join(found)

    def _leaves(self, update: Update) -> tuple[bool, bool]:
        """Whether an update may lead below the range of its counter, and above it."""
        low, high = self.range[update.name]
        least, most = bounds(update.value, self.texts.axes)
        return least < low, most > high

    def _when(self, edge: int, *, option: bool = False) -> str:
        """Return what must hold for an edge to be there, besides the node."""
        found = [self.guards[self.guard[edge]]] if self.guard[edge] >= 0 else []
        for one in self.updates[edge] if option else ():
            if self.texts.axes[one.name].outside == "forbid":
                low, high = self.range[one.name]
                below, above = self._leaves(one)
                found += [f"{self.texts.number(one.value, SUM)} >= {low}"] * below
                found += [f"{self.texts.number(one.value, SUM)} <= {high}"] * above
        return "".join(f" & {text}" for text in found)

    def _over(self, p: Fraction) -> str:
        """Return the branch that ends the play."""
        assigned = "&".join(f"({name}'={_literal(value)})" for name, value in {"s": self.done, **self.start}.items())
        return f"{number_text(p, exact=True)} : {assigned}"

    def _chances(self, edges: Iterable[int]) -> dict[int, Fraction]:
        """Probability of the edges of a chance node, where their guards hold."""
        numerator = {edge: int(self.lattice.numerator[edge]) for edge in edges}
        guards = {self.guard[edge] for edge in edges} - {-1}
        total = sum(numerator.values())
        # Where all guards are defined, those that hold cover every case; play must not come elsewhere.
        if guards and (known := np.logical_and.reduce([self._known(guard)[1] for guard in guards])).any():
            at = int(np.argmax(known))
            holds = {-1} | {guard for guard in guards if self._known(guard)[0][at]}
            total = sum(part for edge, part in numerator.items() if self.guard[edge] in holds)
        return {edge: Fraction(part, total) for edge, part in numerator.items()}

    def _looked_at(self, guard: int) -> tuple[Any, Any]:
        """Return whether a guard holds at the points of the sample, and whether it is defined there."""
        sample = np.arange(min(self.lattice.size, _SAMPLE))
        return self.lattice.guard_at(guard, sample), self.lattice.guard_defined_at(guard, sample)

    # --- rewards ------------------------------------------------------------

    def _rewards(self) -> Iterator[str]:
        lattice, program = self.lattice, self.program
        begun, passed = program.begun, program.passed
        for node, kind in enumerate(self.kinds):
            edges = self.edges[node]
            if kind == Kind.END:
                paid = _reward(lattice, int(lattice.payoff[node]))
                found = [self._paid(paid - program.shift if program.shift else paid)]
            elif kind == Kind.CHANCE and not lattice.switch[node]:
                found = [self._mean(edges)]
            else:
                found = [self._paid(self.reward[edge]) for edge in edges]
                if begun is not None and kind != Kind.CHANCE:
                    factor = number_text(lattice.discount, exact=True)
                    found = [text and f"({begun} ? {factor} : 1) * ({text})" for text in found]
            mine, theirs = (self._views(node) * 2)[:2]
            for k, text in enumerate(found):
                if text and passed is None:
                    yield f"[{mine[0]}{k}] s={node} : {text};"
                elif text:
                    # Everything is paid from the view of the one who moved first.
                    yield f"[{mine[0]}{k}] s={node} & !{passed} : {text};"
                    yield f"[{theirs[0]}{k}] s={node} & {passed} : -({text});"

    def _paid(self, reward: Expr) -> str:
        """Text of a reward, empty for 0."""
        return "" if reward.value == 0 else self.texts.number(reward)

    def _mean(self, edges: Iterable[int]) -> str:
        """Text of the expected reward of a chance node."""
        fixed, parts = Fraction(0), []
        for edge, p in self._chances(edges).items():
            reward = self.reward[edge]
            if self.guard[edge] < 0 and reward.value is not None:
                fixed += p * Fraction(reward.value)
            elif reward.value != 0:
                parts.append(f"{self._guarded(edge, p)} * {self.texts.number(reward, ATOM)}")
        return " + ".join([*([number_text(fixed, exact=True)] if fixed else []), *parts])


def _reward(lattice: Lattice, at: int) -> Expr:
    return lattice.rewards[at] if at >= 0 else as_expr(0)


def _words(value: Any) -> str:
    """Return a state or action on one line, not too long."""
    text = " ".join(action_text(value).split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _literal(value: int | bool) -> str:
    return str(value).lower()
