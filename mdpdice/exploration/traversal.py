"""Traversal: every reachable state of a game is asked for its node once, breadth first from the start.

What is written down of a node is for the subclasses: `mdpdice.exploration.to_network` makes
rows of a flat network of it, `mdpdice.lattices.lattice` rows of a core network.  What both
need stands here: the checks of states and of what the game returns, limits and
progress, and rows of edges on the way to arrays.
"""

from __future__ import annotations

import abc
import gc
import math
import time
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from operator import eq
from typing import Any, Generic, TypeVar

import numpy as np

from mdpdice.backend import Progress
from mdpdice.errors import DeadEndError, GameError, StateLimitError
from mdpdice.exploration.assembly import END, FLIP, INLINE, assemble
from mdpdice.exploration.runaway import runaway
from mdpdice.memory import available_bytes, used_bytes
from mdpdice.modelling.asking import ask_game, placed, raised_error
from mdpdice.modelling.checks import check_state, hashing_error, not_an_edge_error
from mdpdice.modelling.distribution import Dist, certainly
from mdpdice.modelling.equality import collision_error, same_kind
from mdpdice.modelling.game import Chance, Conditional, End, Game, Go, PassTo, Uncertain
from mdpdice.modelling.number import count, exact_discount, finite_number
from mdpdice.modelling.sense import sense_of
from mdpdice.networks.network import Kind

R = TypeVar("R")
K = TypeVar("K", bound=Hashable)

# Looking a member of an enum up takes longer than all else that is done for a small node.
END_KIND, CHANCE_KIND, *PLAYER_KIND = map(int, (Kind.END, Kind.CHANCE, Kind.MAX, Kind.MIN))
MAX_STATES = 10_000_000
"""The limit of states unless the user gives another one."""
RUNAWAY = 1_000_000
"""States from which one is looked for."""
SURE = certainly(0)
_AT_ONCE = 128
"""States whose nodes are written together."""
_CHECK_EVERY = 1 << 15  # edges between two looks at the limits
_LOOK_EVERY = 0.1  # seconds between two, where states take long
_EDGE_BYTES = 60
_STATE_BYTES = 300
_FINISHING_BYTES = 60  # per edge and node, while the arrays are put together


class _Numbers(dict[Any, int]):
    """Numbers of states; one that is new is checked and numbered when it is asked for."""

    def __init__(self, states: list[Any]) -> None:
        self.states = states

    def __missing__(self, state: Any) -> int:
        kind = type(state)
        if kind is not int and kind is not str:
            if kind is Dist:
                raise GameError("a distribution is not a state; give a state whose node() is a roll(...)", value=state)
            check_state(state)
        self[state] = number = len(self.states)
        self.states.append(state)
        return number


class Traversal(abc.ABC, Generic[R]):
    """One walk through a game; `run` does it, and subclasses say what becomes of a node."""

    def __init__(
        self, game: Game[Any, Any], merge: bool, max_states: int, max_bytes: int | None, progress: Progress | None
    ) -> None:
        self.game = game
        self.merge = merge
        self.max_states = count(max_states, "max_states")
        self.max_bytes = available_bytes() * 4 // 5 if max_bytes is None else count(max_bytes, "max_bytes")
        self.progress = progress
        self.used_before = used_bytes()
        self.next_check = _CHECK_EVERY
        self.next_look = 0.0
        self.next_runaway = RUNAWAY
        self.unchanged = 0  # states that were looked at again
        symmetric = type(game).canonical is not Game.canonical
        self.canonical: Callable[[Any], Any] | None = game.canonical if symmetric else None
        self.states: list[Any] = []
        self.index = _Numbers(self.states)
        self.ends: dict[Any, int] = {}
        # Rows in the order in which they are written; `keys` are targets as above.
        self.kinds = bytearray()
        self.degrees = array("q")
        self.keys = array("q")
        self.nums: Any = array("q")
        self.rewards: dict[int, Any] = {}
        self.payoffs: dict[int, Any] = {}
        self.state_row = array("q")
        self.inline_row = array("q")
        self.actions: list[Any] = []
        self.defects = 0
        self.worst_defect: tuple[Fraction, Any] = (Fraction(0), None)
        self.flips = False
        self.natures, self.starter = 0, False  # rows where nature minimises, and whether some oppose the starter
        self.mover = 0  # who decides in the node that is written
        # Nodes inside the one that is written, with their inline number and who decides around them.
        self.pending: list[tuple[int, Any, int]] = []
        self.averaged = False

    # --- the loop -----------------------------------------------------------

    def run(self) -> R:
        """Ask all reachable states for their nodes, have these written down, and return what they make."""
        __tracebackhide__ = True
        start = ask_game(self.game.start)
        try:
            self._target(start)
        except GameError as error:
            if error.state is None:
                error.message = f"start() gave {start!r}: {error.message}"
            raise
        except Exception as error:
            raise hashing_error(error, start, "start(): ") from error
        # Collecting garbage among millions of live states takes longer than making them.
        collecting = gc.isenabled()
        gc.disable()
        try:
            self._check_limits(self._explore_all())
            return self.finish()
        except MemoryError as error:
            # The estimate was wrong, or another program took the memory.  This makes room for the message.
            self.index.clear()
            raise self._limit_error("max_bytes", self.max_bytes, len(self.state_row)) from error
        finally:
            if collecting:
                gc.enable()

    def _explore_all(self) -> int:
        __tracebackhide__ = True
        position = 0
        states, keys, node_of = self.states, self.keys, self.game.node
        clock = time.monotonic
        self.next_look = clock() + _LOOK_EVERY
        while position < len(states):
            # No limit may be passed by much.
            room = min(self.max_states - len(states), self.next_check - len(keys))
            at_once = max(1, min(_AT_ONCE, room * len(self.kinds) // (len(keys) + 1)))
            nodes: list[Any] = []
            wrong: Exception | None = None
            try:
                nodes.extend(map(node_of, states[position : position + at_once]))
            except Exception as error:  # noqa: BLE001 - it goes on, with its place
                wrong = placed(error, states[position + len(nodes)], None, raised_error, "node()")
            self.write_all(nodes)
            if wrong is not None:
                raise wrong from wrong.__cause__
            position += len(nodes)
            if clock() > self.next_look or len(keys) >= self.next_check or len(states) > self.max_states:
                self._check_limits(position)
        return position

    def _check_limits(self, position: int) -> None:
        self._check_unchanged(position)
        found, edges = len(self.states), len(self.keys)
        self.next_check = edges + _CHECK_EVERY
        self.next_look = time.monotonic() + _LOOK_EVERY
        if found > self.max_states:
            raise self._limit_error("max_states", self.max_states, position)
        # States can be large, so what the process holds is looked at too.
        size = edges * _EDGE_BYTES + found * _STATE_BYTES
        grown = used_bytes() - self.used_before + (edges + len(self.kinds)) * _FINISHING_BYTES
        if max(size, grown) > self.max_bytes:
            raise self._limit_error("max_bytes", self.max_bytes, position)
        # Any other limit is the user's own word that the game is that large.
        if found >= self.next_runaway and self.max_states == MAX_STATES:
            self.next_runaway = 2 * found
            if (moves := runaway(self.states)) is not None:
                how = "end the play there, or cap the number where it no longer matters"
                large = f"If the game is this large, say so with another limit, such as max_states={2 * MAX_STATES:_}"
                msg = f"after {found:,} states {moves}, so exploring may never end; {how}. {large}"
                last = self.states[-3:]
                raise StateLimitError(msg, explored=found, frontier=last, value=found, limit=self.max_states)
        if self.progress is not None:
            self.progress("explore", {"states": found, "explored": position, "edges": edges})

    def _check_unchanged(self, position: int) -> None:
        """Reject states that changed after the game returned them.

        A state that has changed is no longer found where it was filed.
        """
        found = map(self.index.get, islice(self.states, self.unchanged, position))
        if not all(map(eq, found, range(self.unchanged, position))):
            state = next(s for at, s in enumerate(self.states) if self.index.get(s) != at)
            raise GameError("a state was changed after the game returned it; make its class @attrs.frozen", state=state)
        self.unchanged = position

    def _limit_error(self, name: str, limit: int, position: int) -> StateLimitError:
        found = len(self.states)
        frontier = self.states[position : position + 3] or self.states[-3:]
        ahead = f"states still to explore are, for example, {frontier!r}"
        msg = f"exploration passed {name}={limit:,} with {found:,} states and {len(self.keys):,} edges; {ahead}"
        msg += f". Merge equal futures, cap a score, or raise {name}"
        if type(self.game).estimate is not Game.estimate:
            msg += "; or look some decisions ahead, with solver='lookahead'"
        return StateLimitError(msg, explored=found, frontier=frontier, value=found, limit=limit)

    # --- targets ------------------------------------------------------------

    def _target(self, state: Any) -> int:
        """Index of a state, which is admitted if it is new."""
        if self.canonical is not None:
            state = ask_game(self.canonical, state)
        found = self.index[state]
        known = self.states[found]
        if known is not state and not same_kind(known, state):
            raise collision_error(known, state)
        return found

    def _end(self, payoff: Any) -> int:
        found = self.ends.get(payoff)
        if found is None:
            payoff = finite_number(payoff, "payoff")
            found = self.ends.setdefault(payoff, END + len(self.ends))
        return found

    def _edge(self, edge: Any) -> int:
        """Target of an edge that is neither a chance node nor a guard."""
        kind = type(edge)
        if kind is Go:
            return self._target(edge.state)
        if kind is End:
            return self._end(edge.payoff)
        if kind is PassTo:
            self.flips = True
            return self._target(edge.state) | FLIP
        if kind is Uncertain:
            return self._inside(edge)
        raise not_an_edge_error(edge)

    def _inside(self, node: Any) -> int:
        """Key of a node that is part of the one being written, and will be written after it."""
        number = len(self.inline_row)
        self.inline_row.append(-1)
        self.pending.append((number, node, self.mover))
        return INLINE + number

    # --- rows ---------------------------------------------------------------

    def write_all(self, nodes: list[Any]) -> None:
        """Write the rows of the next states, and of the nodes inside them."""
        __tracebackhide__ = True
        for node in nodes:
            try:
                self._write(node)
            except Exception as error:  # noqa: BLE001 - it goes on, with its place
                state = self.states[len(self.state_row) - 1]
                raise (wrong := placed(error, state, None, hashing_error, node)) from wrong.__cause__

    def _write(self, node: Any) -> None:
        __tracebackhide__ = True
        self.state_row.append(len(self.kinds))
        self.mover = 0
        self.write_node(Chance(SURE, (node,), 0) if type(node) is Uncertain else node)  # nature's has no state
        for number, inner, mover in self.pending:  # which grows
            self.inline_row[number], self.mover = len(self.kinds), mover
            self._append(CHANCE_KIND, *inner) if type(inner) is tuple else self.write_node(inner)
        self.pending.clear()

    @abc.abstractmethod
    def write_node(self, node: Any) -> None:
        """Write the row of a node, or of what `_inside` was given."""

    def _nature(self, node: Uncertain[Any]) -> int:
        """Kind of a row of nature, whose actions are noted down."""
        self.actions += node.actions
        self.starter |= node.against == "starter"
        minimises = node.victim(self.mover) == 0
        self.natures += minimises
        return PLAYER_KIND[minimises]

    @abc.abstractmethod
    def finish(self) -> R:
        """Return what all rows make together."""

    def _append(self, kind: int, keys: list[int], nums: list[int], rewards: dict[int, Any] | None) -> None:
        """Write one row; `nums` are the weights of a chance node."""
        if rewards:
            first = len(self.keys)
            for at, reward in rewards.items():
                self.rewards[first + at] = reward
        self.kinds.append(kind)
        self.degrees.append(len(keys))
        self.keys.extend(keys)
        if kind == CHANCE_KIND:
            if type(self.nums) is not list and sum(nums) >= 1 << 63:
                # Weights of 2^63 and more (many floats multiplied) need Python's integers from here on.
                self.nums = self.nums.tolist()
            self.nums.extend(nums)

    def _leaves(self, node: Chance[Any], guard: int = -1) -> Iterator[tuple[Any, Fraction, Any, int]]:
        """Edges at the end of chance inside chance: with probability, rewards before it, and guard."""
        stack: list[tuple[Any, Fraction, Any, int]] = [(node, Fraction(1), 0, guard)]
        while stack:
            edge, weight, reward, guard = stack.pop()
            if type(edge) is Conditional and edge.otherwise is not None:
                stack.extend(reversed([(case, weight, reward, g) for case, g in self._cases(edge, guard)]))
                continue
            if type(edge) is not Chance:
                yield edge, weight, reward, guard
                continue
            if edge.dist.defect and edge is not node:
                self._record_defect(edge.dist.defect)
            reward = reward + self._exact(edge.reward)
            total = edge.dist.total
            pairs = zip(edge.edges, edge.dist.weights, strict=True)
            stack.extend(reversed([(inner, weight * Fraction(w, total), reward, guard) for inner, w in pairs]))

    def _cases(self, edge: Any, guard: int) -> Iterator[tuple[Any, int]]:
        """Branches of a condition over counters, each with its guard."""
        raise not_an_edge_error(edge)

    def _exact(self, value: Any) -> Any:
        """Return a reward that can be added to others without rounding."""
        return value if type(value) is int else Fraction(finite_number(value, "reward"))

    def _merged(self, entries: list[tuple[K, Fraction, Any]]) -> list[tuple[K, Fraction, Any]]:
        """Targets, probabilities and rewards with one entry per target, which has the mean reward.

        There are two where some rewards are above 0 and some below: whether a cycle both collects and pays, so that it
        has no total, must not be hidden by a mean.
        """
        merged: dict[K, dict[int, tuple[Fraction, Fraction | int]]] = {}
        for key, weight, reward in entries:
            # Multiplying and dividing fractions takes most of the time, and most rewards are 0.
            product = weight * reward if reward else 0
            sign = 0 if not reward else 1 if reward > 0 else -1
            parts = merged.setdefault(key, {})
            if sign not in parts:
                parts[sign] = (weight, product)
            else:
                before, paid = parts[sign]
                self.averaged |= paid != (before * reward if reward else 0)
                parts[sign] = (before + weight, paid + product)
        for parts in merged.values():
            if 0 in parts and len(parts) > 1:
                self.averaged = True
                weight, _ = parts.pop(0)
                sign, (before, paid) = next(iter(parts.items()))
                parts[sign] = (before + weight, paid)
        return [
            (key, weight, paid / weight if paid else 0)
            for key, parts in merged.items()
            for weight, paid in parts.values()
        ]

    def _record_defect(self, defect: Fraction) -> None:
        """Remember that probabilities of the state being written were normalised."""
        self.defects += 1
        if abs(defect) > abs(self.worst_defect[0]):
            self.worst_defect = (defect, self.states[len(self.state_row) - 1])

    # --- the end ------------------------------------------------------------

    def assemble(self, totals: Sequence[int] | None = None) -> tuple[dict[str, Any], int]:
        """Return the fields that networks and lattices have in common, and the node of the first inline end."""
        if self.flips and self.kinds.count(Kind.MIN) > self.natures:
            raise GameError("use pass_to (payoffs seen by the mover) or player=1 (payoffs of player 0), not both")
        written = self.kinds, self.degrees, self.keys, self.nums, self.state_row, self.inline_row
        rows = assemble(*written, len(self.ends), totals)
        if self.flips and self.starter:
            raise GameError("with pass_to let states say who started: against='mover' if started else 'other'")
        if self.flips and self.natures:
            # The opponent of the mover picks for nature, and passes the move back.
            picks = rows["kind"] == Kind.MIN
            rows["kind"][picks] = Kind.MAX
            rows["sign"][np.repeat(picks, np.diff(rows["indptr"])) ^ picks[rows["dst"]]] *= -1
        node_state = np.full(len(rows["kind"]), -1, dtype=np.int64)
        node_state[rows["state_node"]] = np.arange(len(self.states))
        return {
            **rows,
            "start": 0,
            "discount": exact_discount(self.game.discount),
            "total": Fraction(finite_number(self.game.total, "total")),
            "sense": sense_of(self.game),
            "states": self.states,
            "node_state": node_state,
            "actions": self.actions,
            "warnings": self._warnings(),
            "averaged": self.averaged,
        }, len(self.kinds)

    def _warnings(self) -> tuple[str, ...]:
        """One sentence, however many there are: a large model would hold millions."""
        if not self.defects:
            return ()
        defect, state = self.worst_defect
        largest = f"the largest defect is {float(defect):.3g}, in state {state!r}"
        return (f"{self.defects} distributions do not sum to 1 and mean the normalised rationals; {largest}",)


def dead_end() -> DeadEndError:
    """Return the error for a decision that offers nothing."""
    return DeadEndError("a decision without an available option; end the play here, or give it an option")


def whole_weights(weights: Sequence[Fraction]) -> tuple[list[int], int]:
    """Weights as parts of the least whole, and that."""
    whole = math.lcm(*(weight.denominator for weight in weights))
    return [weight.numerator * (whole // weight.denominator) for weight in weights], whole
