"""Games with counters in the PRISM language: one module with the variables of the game, not one state per number.

The variable ``s`` is the node of the core, and every counter is a bounded int variable of its own name (flags are
one bool variable per box).  A command is an option or a roll of the core; its guard and its updates are the
conditions and updates of the game, so the text is as long as the declaration and not as its state space:

* A **condition** on an option is part of the guard of its command.  Inside chance it makes the probability
  depend on the counters, ``(turn >= 94 ? 1/6 : 0)``.  A condition at the top level of a state is a node with one
  command per case.
* **Counters that leave their values** stay errors, which PRISM reports, where ``outside="error"``;
  ``"clip"`` becomes ``min`` and ``max`` in the update, and ``"forbid"`` a part of the guard.
* **pass_to**: the bool variable ``passed`` tells which side moves.  It makes the model a game (``smg``), in which
  everything is paid from the view of the one who moved first.
* **A discount** g is the chance 1 - g that the play is over when a decision is left, except the first one; the bool
  variable ``begun`` tells whether there was one.
* **Ends** pay their payoff and go to the node ``done``, with all counters back at their start.

A play that comes to a number that a table lacks, or sets a box beyond the last one, is an error in `mdpdice.explore`
and not in the text that is written.
"""

from __future__ import annotations

import os
from collections import Counter as Multiset
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from mdpdice.errors import UnknownStateError
from mdpdice.formats.exported_model import REWARD, action_text, label_names, question
from mdpdice.formats.line_reader import number_text, write_lines
from mdpdice.formats.prism_expressions import Names, Texts, bounds
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.counters import At, full_state
from mdpdice.modelling.expressions import Expr, as_expr
from mdpdice.networks.network import Kind
from mdpdice.objectives.reductions import for_sense

__all__ = ["PrismProgram", "write_lattice"]

_LONG = 40  # characters from which a text that occurs twice becomes a formula
_WIDTH = 80  # of a comment
_SAMPLE = 4096  # points at which the guards of a roll are looked at


@attrs.frozen(eq=False)
class PrismProgram:
    """A game in the PRISM language, and where its states are.

    Parameters
    ----------
    lattice : Lattice
        What was written.
    kind : {"dtmc", "mdp", "smg"}
        Markov chain, decision process, or game of two players.
    shift : Fraction
        What the values of the game are above those of the program.
    minimise : bool
        Whether the one who decides wants the total small.
    texts : Texts
        Variables of the counters.
    passed, begun : str or None
        Variables that tell whether the sides have changed, and whether there was a decision; None: there is none.
    """

    lattice: Lattice
    kind: str
    shift: Fraction
    minimise: bool
    texts: Texts
    passed: str | None
    begun: str | None

    @property
    def property(self) -> str:
        """The question whose answer is the value of the game, in the language of PRISM and Storm."""
        return question(self.kind, minimise=self.minimise)

    def node(self, state: Hashable) -> int:
        """Value of the variable ``s`` in a core state.

        Raises
        ------
        UnknownStateError
            The game has no such core state.
        """
        if state not in self._nodes:
            msg = f"{state!r} is no core state of this game"
            raise UnknownStateError(msg, value=state)
        return self._nodes[state]

    @cached_property
    def _nodes(self) -> dict[Hashable, int]:
        return dict(zip(self.lattice.states, self.lattice.state_node.tolist(), strict=True))

    def valuation(self, state: At[Any]) -> dict[str, int | bool]:
        """Values of the variables where the one to move first is in a state, before the first decision.

        Parameters
        ----------
        state : At
            A core state and the values of the counters.

        Raises
        ------
        UnknownStateError
            The game has no such state.
        """
        full_state(state, self.lattice.axes).point(self.lattice.axes)  # raises
        node = self.node(state.state)
        found: dict[str, int | bool] = {"s": node}
        for name, value in state.counters.items():
            if name in self.texts.variable:
                found[self.texts.variable[name]] = value
            else:
                found |= {box: bool(value >> at & 1) for at, box in enumerate(self.texts.box[name])}
        return found | {name: False for name in (self.passed, self.begun) if name is not None}


def write_lattice(
    lattice: Lattice,
    path: str | os.PathLike[str],
    *,
    labels: Mapping[str, Iterable[Hashable]] | None = None,
) -> PrismProgram:
    """Write a game with counters in the PRISM language; see the module for how.

    Parameters
    ----------
    lattice : Lattice
        The game, as `mdpdice.compile_lattice` compiles it.
    path : path
        By custom it ends in ``.pm``, ``.nm`` or ``.prism``.
    labels : mapping of str to collection of states, optional
        Labels to give besides ``init``, ``end`` and ``done``: of core states, or of `At` with all counters.

    Raises
    ------
    UnknownStateError
        A state of a label is not in the game.
    GameError
        A label has a name that the language does not allow.
    UnsupportedError
        A number is too long.
    """
    writer = _Writer(lattice, labels or {})
    write_lines(path, writer.lines())
    return writer.program


class _Writer:
    def __init__(self, lattice: Lattice, labels: Mapping[str, Iterable[Hashable]]) -> None:
        self.lattice = lattice = for_sense(lattice)
        names = Names(["s"])
        self.texts = Texts(lattice.axes, names)
        kind = lattice.kind
        self.passes = bool((lattice.sign < 0).any())
        passed = names.new("passed") if self.passes else None
        begun = names.new("begun") if lattice.discount < 1 else None
        maximises, minimises = bool((kind == Kind.MAX).any()), bool((kind == Kind.MIN).any())
        two = self.passes or (maximises and minimises)
        self.program = PrismProgram(
            lattice,
            "smg" if two else "mdp" if maximises or minimises else "dtmc",
            lattice.total / 2 if self.passes else Fraction(0),
            minimises and not two,
            self.texts,
            passed,
            begun,
        )
        self.done = lattice.n_nodes
        self.kinds = kind.tolist()
        self.indptr = lattice.indptr.tolist()
        self.columns = [
            column.tolist()
            for column in (lattice.dst, lattice.guard, lattice.update, lattice.reward, lattice.sign)
        ]
        self.labels = {
            label: [self._labelled(state) for state in states]
            for label, states in label_names(labels).items()
        }
        self.formulas: dict[str, str] = {}  # by text
        self._prepare(names)
        self._defined: dict[int, Any] = {}
        self._sample = np.arange(min(lattice.size, _SAMPLE))

    def _prepare(self, names: Names) -> None:
        """Texts of the conditions; long ones that occur twice become formulas."""
        lattice = self.lattice
        guards = [self.texts.case(guard) for guard in lattice.guards]
        times = Multiset(at for at in lattice.guard.tolist() if at >= 0)
        for at, text in enumerate(guards):
            if times[at] > 1 and len(text) > _LONG:
                guards[at] = self.formulas[text] = names.new(f"guard{at}")
        self.guards = guards

    def _labelled(self, state: Hashable) -> str:
        if not isinstance(state, At):
            return f"s={self.program.node(state)}"
        return " & ".join(
            (name if value else f"!{name}") if isinstance(value, bool) else f"{name}={value}"
            for name, value in self.program.valuation(state).items()
            if name not in (self.program.passed, self.program.begun)
        )

    # --- text ---------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        program, lattice = self.program, self.lattice
        yield "// Exported by mdpdice"
        yield f"// The value of the game is that of {program.property}"
        if program.shift:
            yield f"// plus {program.shift}: the sides share {2 * program.shift}, and here their payoffs sum to 0"
        yield program.kind
        yield ""
        commands = list(self._commands())
        if program.kind == "smg":
            for player in ("maximiser", "minimiser"):
                actions = dict.fromkeys(action for action, _, _ in commands if action.startswith(player[:3]))
                yield f"player {player}"
                yield f"  {', '.join(f'[{action}]' for action in actions)}"
                yield "endplayer"
            yield ""
        for text, name in self.formulas.items():
            yield f"formula {name} = {text};"
        if self.formulas:
            yield ""
        yield "module game"
        yield f"  s : [0..{self.done}] init {lattice.start};"
        yield from self._variables()
        for action, text, note in commands:
            yield f"  [{action}] {text};{f' // {note}' if note else ''}" if action else f"  // {note}"
        yield "endmodule"
        yield ""
        yield f'rewards "{REWARD}"'
        yield from self._rewards()
        yield "endrewards"
        yield ""
        ends = [f"s={node}" for node, kind in enumerate(self.kinds) if kind == Kind.END]
        for label, where in {"end": ends, "done": [f"s={self.done}"], **self.labels}.items():
            yield f'label "{label}" = {" | ".join(f"({one})" if "&" in one else one for one in where) or "false"};'

    def _variables(self) -> Iterator[str]:
        start = self.lattice.counters(self.lattice.start_point)
        for axis in self.lattice.axes:
            if axis.flags:
                for at, box in enumerate(self.texts.box[axis.name]):
                    yield f"  {box} : bool init {_truth(start[axis.name] >> at & 1)};"
            else:
                low, high = bounds(_counter(axis.name), self.texts.axes)
                yield f"  {self.texts.variable[axis.name]} : [{low}..{high}] init {start[axis.name]};"
        for name in (self.program.passed, self.program.begun):
            if name is not None:
                yield f"  {name} : bool init false;"

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

    def _commands(self) -> Iterator[tuple[str, str, str]]:
        """Action, text and note of every command; no action where a state begins, whose name is the note."""
        lattice, actions = self.lattice, iter(self.lattice.actions)
        named = lattice.node_state.tolist()
        for node, kind in enumerate(self.kinds):
            if named[node] >= 0:
                yield "", "", _words(lattice.states[named[node]])
            edges = range(self.indptr[node], self.indptr[node + 1])
            views = self._views(node)
            if kind == Kind.END:
                yield f"{views[0][0]}0", f"s={node} -> {self._over(Fraction(1))}", ""
            elif kind == Kind.CHANCE and not lattice.switch[node]:
                yield f"{views[0][0]}0", f"s={node} -> {self._roll(edges)}", ""
            elif kind == Kind.CHANCE:
                for k, edge in enumerate(edges):
                    yield (
                        f"{views[0][0]}{k}",
                        f"s={node}{self._when(edge)} -> {self._branch(Fraction(1), edge)}",
                        "",
                    )
            else:
                for k, edge in enumerate(edges):
                    note = _words(next(actions))
                    for player, side in views:
                        for begun, branches in self._option(edge):
                            text = f"s={node}{side}{begun}{self._when(edge, option=True)} -> {branches}"
                            yield f"{player}{k}", text, note
        yield f"{'max' if self.program.kind == 'smg' else 'a'}0", f"s={self.done} -> 1 : (s'={self.done})", ""

    def _option(self, edge: int) -> Iterator[tuple[str, str]]:
        """Condition and branches of an option: for the first decision of a play, and for later ones."""
        begun, discount = self.program.begun, self.lattice.discount
        if begun is None:
            yield "", self._branch(Fraction(1), edge)
            return
        yield f" & !{begun}", self._branch(Fraction(1), edge, (f"({begun}'=true)",))
        later = [self._branch(discount, edge)] if discount else []
        yield f" & {begun}", " + ".join([*later, self._over(1 - discount)])

    def _roll(self, edges: range) -> str:
        possible = [edge for edge in edges if self.lattice.numerator[edge] > 0]
        chances = self._chances(possible)
        branches = []
        for edge in possible:
            guard, chance = self.columns[1][edge], number_text(chances[edge], exact=True)
            if guard >= 0:
                chance = f"({self.guards[guard]} ? {chance} : 0)"
            branches.append(f"{chance} : {self._assignments(edge)}")
        return " + ".join(branches)

    def _branch(self, p: Fraction, edge: int, more: tuple[str, ...] = ()) -> str:
        return f"{number_text(p, exact=True)} : {self._assignments(edge, more)}"

    def _assignments(self, edge: int, more: tuple[str, ...] = ()) -> str:
        dst, _, update, _, sign = (column[edge] for column in self.columns)
        found = [f"(s'={dst})"]
        for one in self.lattice.updates[update] if update >= 0 else ():
            axis = self.texts.axes[one.name]
            if axis.flags:
                for at, box in enumerate(self.texts.box[one.name]):
                    bit = self.texts.bit(one.value, at)
                    if bit != box:
                        found.append(f"({box}'={bit})")
                continue
            name, text = self.texts.variable[one.name], self.texts.number(one.value)
            low, high = bounds(_counter(one.name), self.texts.axes)
            least, most = bounds(one.value, self.texts.axes)
            if axis.outside == "clip":
                text = f"min({high}, {text})" if most > high else text
                text = f"max({low}, {text})" if least < low else text
            if text != name:
                found.append(f"({name}'={text})")
        if sign < 0:
            found.append(f"({self.program.passed}'=!{self.program.passed})")
        return "&".join([*found, *more])

    def _when(self, edge: int, *, option: bool = False) -> str:
        """What must hold for an edge to be there, besides the node."""
        _, guard, update, _, _ = (column[edge] for column in self.columns)
        found = [self.guards[guard]] if guard >= 0 else []
        for one in self.lattice.updates[update] if update >= 0 and option else ():
            axis = self.texts.axes[one.name]
            if axis.outside == "forbid":
                low, high = bounds(_counter(one.name), self.texts.axes)
                least, most = bounds(one.value, self.texts.axes)
                found += [f"{self.texts.side(one.value)} >= {low}"] * (least < low)
                found += [f"{self.texts.side(one.value)} <= {high}"] * (most > high)
        return "".join(f" & {text}" for text in found)

    def _over(self, p: Fraction) -> str:
        """The branch that ends the play."""
        start = self.lattice.counters(self.lattice.start_point)
        found = [f"(s'={self.done})"]
        for axis in self.lattice.axes:
            if axis.flags:
                found += [
                    f"({box}'={_truth(start[axis.name] >> at & 1)})"
                    for at, box in enumerate(self.texts.box[axis.name])
                ]
            else:
                found.append(f"({self.texts.variable[axis.name]}'={start[axis.name]})")
        found += [f"({name}'=false)" for name in (self.program.passed, self.program.begun) if name]
        return f"{number_text(p, exact=True)} : {'&'.join(found)}"

    def _chances(self, edges: list[int]) -> dict[int, Fraction]:
        """Probability of the edges of a chance node, where their guards hold."""
        numerator = {edge: int(self.lattice.numerator[edge]) for edge in edges}
        guards = {self.columns[1][edge] for edge in edges} - {-1}
        total = sum(numerator.values())
        if guards:
            # Where all guards can be told, those that hold make up the whole; elsewhere play must not come.
            known = np.logical_and.reduce([self._known(guard)[1] for guard in guards])
            if known.any():
                at = int(np.argmax(known))
                total = sum(
                    part
                    for edge, part in numerator.items()
                    if self.columns[1][edge] < 0 or self._known(self.columns[1][edge])[0][at]
                )
        return {edge: Fraction(part, total) for edge, part in numerator.items()}

    def _known(self, guard: int) -> Any:
        """At the points of the sample: whether a guard holds, and whether it can be told."""
        if guard not in self._defined:
            self._defined[guard] = (
                self.lattice.guard_at(guard, self._sample),
                self.lattice.guard_defined_at(guard, self._sample),
            )
        return self._defined[guard]

    # --- rewards ------------------------------------------------------------

    def _rewards(self) -> Iterator[str]:
        lattice, begun, discount = self.lattice, self.program.begun, self.lattice.discount
        for node, kind in enumerate(self.kinds):
            edges = range(self.indptr[node], self.indptr[node + 1])
            if kind == Kind.END:
                payoff = int(lattice.payoff[node])
                paid = lattice.rewards[payoff] if payoff >= 0 else as_expr(0)
                found = [(0, self._paid(paid - self.program.shift if self.program.shift else paid))]
            elif kind == Kind.CHANCE and not lattice.switch[node]:
                found = [(0, self._mean([edge for edge in edges if lattice.numerator[edge] > 0]))]
            else:
                found = [(k, self._paid(self._reward(edge))) for k, edge in enumerate(edges)]
                if begun is not None and kind != Kind.CHANCE:
                    factor = number_text(discount, exact=True)
                    found = [(k, text and f"({begun} ? {factor} : 1) * ({text})") for k, text in found]
            for k, text in found:
                if text:
                    yield from self._items(node, k, text)

    def _items(self, node: int, k: int, text: str) -> Iterator[str]:
        passed = self.program.passed
        if passed is None:
            yield f"  [{self._views(node)[0][0]}{k}] s={node} : {text};"
            return
        # Everything is paid from the view of the one who moved first.
        mine, theirs = (self._views(node) * 2)[:2]
        yield f"  [{mine[0]}{k}] s={node} & !{passed} : {text};"
        yield f"  [{theirs[0]}{k}] s={node} & {passed} : -({text});"

    def _reward(self, edge: int) -> Expr:
        reward = self.columns[3][edge]
        return self.lattice.rewards[reward] if reward >= 0 else as_expr(0)

    def _paid(self, reward: Expr) -> str:
        """Text of a reward, empty for 0."""
        return "" if reward.value == 0 else self.texts.number(reward)

    def _mean(self, edges: list[int]) -> str:
        """Text of the expected reward of a chance node."""
        chances, fixed, parts = self._chances(edges), Fraction(0), []
        for edge in edges:
            reward, guard = self._reward(edge), self.columns[1][edge]
            if reward.value == 0:
                continue
            if guard < 0 and reward.value is not None:
                fixed += chances[edge] * Fraction(reward.value)
                continue
            p = number_text(chances[edge], exact=True)
            p = p if guard < 0 else f"({self.guards[guard]} ? {p} : 0)"
            parts.append(f"{p} * {self.texts.operand(reward)}")
        return " + ".join([*([number_text(fixed, exact=True)] if fixed else []), *parts])


def _counter(name: str) -> Expr:
    return Expr("counter", (name,), 1)


def _words(value: Any) -> str:
    """A state or action on one line, not too long."""
    text = " ".join(action_text(value).split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _truth(value: int) -> str:
    return "true" if value else "false"
