"""Exploration: from a declared game to a flat `Network`, breadth first from the start.

Every reachable state is asked for its node once.  Chance nodes written inside
an option or inside each other are folded into one distribution; parallel edges
of a chance node are merged with the mean of their rewards, exactly.

Steps.  A step is one decision: an edge takes a step if it enters a decision
node, except on the chance prefix, the chance nodes that a play passes before
its first decision.  A chance state that is both in the prefix and reached later
becomes two nodes, since its edges take a step in one role only.
"""

from __future__ import annotations

import gc
import math
from array import array
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import compress
from typing import Any, TypeVar

import attrs
import numpy as np

from mdpdice.backend import Progress
from mdpdice.errors import DeadEndError, GameError, MdpDiceError, StateLimitError
from mdpdice.game import Chance, Decide, End, Game, Go, PassTo, Unavailable
from mdpdice.memory import available_bytes, used_bytes
from mdpdice.network import Kind, Network
from mdpdice.prefix import separate_prefix
from mdpdice.state_checks import (
    check_state,
    collision_error,
    exact_discount,
    finite_number,
    hashing_error,
    not_a_node_error,
    not_an_edge_error,
    same_types,
)

__all__ = ["explore"]

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)

# While exploring, the target of an edge is one int: the index of a state, or of
# an inline end or chance node in a number range of its own, and a mark for pass_to.
_END = 1 << 40
_CHANCE = 1 << 41
_FLIP = 1 << 42
_INDEX = _END - 1
# Looking a member of an enum up takes longer than all else that is done for a small node.
_END_KIND, _MAX_KIND, _MIN_KIND, _CHANCE_KIND = map(int, (Kind.END, Kind.MAX, Kind.MIN, Kind.CHANCE))
_CHECK_EVERY = 1 << 15  # edges between two looks at the limits
_EDGE_BYTES = 60
_STATE_BYTES = 300
_FINISHING_BYTES = 60  # per edge and node, while the arrays are put together


def explore(
    game: Game[S, A],
    *,
    merge: bool = True,
    max_states: int = 10_000_000,
    max_bytes: int | None = None,
    progress: Progress | None = None,
) -> Network:
    """Compile a game into a `Network` of the states that can be reached from its start.

    Parameters
    ----------
    game : Game
        What to explore.
    merge : bool
        Merge parallel edges of a chance node and give them their mean reward.
        ``False`` keeps them apart, as distributions of outcomes need.
    max_states : int
        Largest number of states.
    max_bytes : int, optional
        Largest memory, in bytes, estimated while exploring; by default
        four fifths of what the machine, or the limit of the process, allows.
    progress : callable, optional
        Called as ``progress("explore", {"states": ..., "explored": ..., "edges": ...})``.

    Returns
    -------
    Network
        States in the order in which they were found, the start first.

    Raises
    ------
    StateLimitError
        A limit was passed; the message names it and shows states of the frontier.
    GameError
        The game raised, or returned something that is not a node.
    StateCollisionError
        Two different states are equal in Python.
    DeadEndError, DuplicateActionError, RewardNotFiniteError
        A state has no option, two with one action, or a reward that is no finite number.
    """
    limit = available_bytes() * 4 // 5 if max_bytes is None else max_bytes
    return _Explorer(game, merge, max_states, limit, progress).run()


def _nothing(state: Any) -> None:
    """Find no state, so that every target takes the way through `Game.canonical`."""


class _Explorer:
    def __init__(
        self, game: Game[Any, Any], merge: bool, max_states: int, max_bytes: int, progress: Progress | None
    ) -> None:
        self.game = game
        self.merge = merge
        self.max_states = max_states
        self.max_bytes = max_bytes
        self.progress = progress
        self.used_before = used_bytes()
        self.next_check = _CHECK_EVERY
        overridden = getattr(type(game), "canonical", None) is not Game.canonical
        self.canonical: Callable[[Any], Any] | None = game.canonical if overridden else None
        self.states: list[Any] = []
        self.index: dict[Any, int] = {}
        self.ends: dict[Any, int] = {}
        # Rows in the order in which they are written; `keys` are targets as above.
        self.kinds = bytearray()
        self.degrees = array("q")
        self.keys = array("q")
        self.nums: Any = array("q")
        self.rewards: dict[int, Any] = {}
        self.payoffs: dict[int, Any] = {}
        self.state_row = array("q")
        self.chance_row = array("q")
        self.actions: list[Any] = []
        self.defects = 0
        self.worst_defect: tuple[Fraction, Any] = (Fraction(0), None)
        self.flips = False
        self.averaged = False

    # --- the loop -----------------------------------------------------------

    def run(self) -> Network:
        if not isinstance(self.game, Game):
            msg = f"{self.game!r} is not a Game; a class needs to be called: explore(MyGame())"
            raise GameError(msg, value=self.game)
        start = self._call(self.game.start)
        try:
            self._target(start)
        except GameError as error:
            if error.state is None:
                error.message = f"start() gave {start!r}: {error.message}"
            raise
        except Exception as error:
            raise hashing_error(error) from error
        # Collecting garbage among millions of live states takes longer than making them.
        collecting = gc.isenabled()
        gc.disable()
        try:
            position = self._explore_all()
            self._check_limits(position)
            return self._finish()
        except MemoryError as error:
            # The estimate was wrong, or somebody else took the memory.
            raise self._limit_error("max_bytes", self.max_bytes, len(self.state_row)) from error
        finally:
            if collecting:
                gc.enable()

    def _explore_all(self) -> int:
        position = 0
        states, node_of = self.states, self.game.node
        while position < len(states):
            state = states[position]
            try:
                node = node_of(state)
            except MdpDiceError as error:
                raise error.at(state) from error.__cause__
            except MemoryError:
                raise
            except Exception as error:
                msg = f"node() raised {type(error).__name__}: {error}"
                raise GameError(msg, state=state) from error
            try:
                self._write(node)
            except MdpDiceError as error:
                raise error.at(state) from error.__cause__
            except MemoryError:
                raise
            except Exception as error:
                raise hashing_error(error).at(state) from error
            position += 1
            if len(self.keys) >= self.next_check or len(states) > self.max_states:
                self._check_limits(position)
        return position

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        """What a function of the game gives; an error names it and its state."""
        state = args[0] if args else None
        try:
            return function(*args)
        except MdpDiceError as error:
            raise error.at(state) from error.__cause__
        except Exception as error:
            msg = f"{getattr(function, '__name__', 'the game')}() raised {type(error).__name__}: {error}"
            raise GameError(msg, state=state) from error

    def _check_limits(self, position: int) -> None:
        found, edges = len(self.states), len(self.keys)
        self.next_check = edges + _CHECK_EVERY
        if found > self.max_states:
            raise self._limit_error("max_states", self.max_states, position)
        # States can be large, so what the process holds is looked at too.
        size = edges * _EDGE_BYTES + found * _STATE_BYTES
        grown = used_bytes() - self.used_before + (edges + len(self.kinds)) * _FINISHING_BYTES
        if max(size, grown) > self.max_bytes:
            raise self._limit_error("max_bytes", self.max_bytes, position)
        if self.progress is not None:
            self.progress("explore", {"states": found, "explored": position, "edges": edges})

    def _limit_error(self, name: str, limit: int, position: int) -> StateLimitError:
        found = len(self.states)
        frontier = self.states[position : position + 3] or self.states[-3:]
        msg = (
            f"exploration passed {name}={limit:,} with {found:,} states and {len(self.keys):,} edges; "
            f"states still to explore are, for example, {frontier!r}. Merge equal futures, cap a score, "
            f"or raise {name}"
        )
        return StateLimitError(msg, explored=found, frontier=frontier, value=found, limit=limit)

    # --- targets ------------------------------------------------------------

    def _target(self, state: Any) -> int:
        """Index of a state, which is admitted if it is new."""
        if self.canonical is not None:
            state = self._call(self.canonical, state)
        found = self.index.get(state)
        if found is not None:
            known = self.states[found]
            if known is not state and not same_types(known, state):
                raise collision_error(known, state)
            return found
        kind = type(state)
        if kind is not int and kind is not str:
            check_state(state)
        self.index[state] = found = len(self.states)
        self.states.append(state)
        return found

    def _end(self, payoff: Any) -> int:
        found = self.ends.get(payoff)
        if found is None:
            payoff = finite_number(payoff, "payoff")
            found = self.ends.setdefault(payoff, _END + len(self.ends))
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
            return self._target(edge.state) | _FLIP
        raise not_an_edge_error(edge)

    # --- rows ---------------------------------------------------------------

    def _write(self, node: Any) -> None:
        """Write the row of the next state, and of the chance nodes inside its options."""
        self.state_row.append(len(self.kinds))
        kind = type(node)
        if kind is Decide:
            self._write_decision(node)
        elif kind is Chance:
            keys, nums, rewards = self._lottery(node)
            self._append(_CHANCE_KIND, keys, nums, rewards)
        elif kind is End:
            self.payoffs[len(self.kinds)] = finite_number(node.payoff, "payoff")
            self._append(_END_KIND, [], [], None)
        elif kind is Go or kind is PassTo:
            key = self._edge(node)
            rewards = {0: finite_number(node.reward, "reward")} if node.reward != 0 else None
            self._append(_CHANCE_KIND, [key], [1], rewards)
        else:
            raise not_a_node_error(node)

    def _append(self, kind: int, keys: list[int], nums: list[int], rewards: dict[int, Any] | None) -> None:
        """Write one row; `nums` are the weights of a chance node."""
        if rewards:
            first = len(self.keys)
            for at, reward in rewards.items():
                self.rewards[first + at] = reward
        self.kinds.append(kind)
        self.degrees.append(len(keys))
        self.keys.extend(keys)
        if kind == _CHANCE_KIND:
            if type(self.nums) is not list and sum(nums) >= 1 << 63:
                # Weights of 2^63 and more (many floats multiplied) need Python's integers from here on.
                self.nums = self.nums.tolist()
            self.nums.extend(nums)

    def _write_decision(self, node: Decide[Any, Any]) -> None:
        keys: list[int] = []
        rewards: dict[int, Any] = {}
        pending: list[tuple[list[int], list[int], dict[int, Any] | None]] = []
        actions = node.actions
        dropped = False
        index = self.index.get if self.canonical is None else _nothing
        ends, states = self.ends, self.states
        at = 0
        try:
            # Written out for speed: this loop runs once per option of the model.
            for at, option in enumerate(node.options):  # noqa: B007 - read when an error is located
                kind = type(option)
                if kind is Go:
                    state = option.state  # type: ignore[attr-defined]
                    key = index(state)
                    if key is None:
                        key = self._target(state)
                    elif (known := states[key]) is not state and not same_types(known, state):
                        raise collision_error(known, state)  # noqa: TRY301
                    if option.reward != 0:  # type: ignore[attr-defined]
                        rewards[len(keys)] = finite_number(option.reward, "reward")  # type: ignore[attr-defined]
                elif kind is End:
                    key = ends.get(option.payoff)  # type: ignore[attr-defined]
                    if key is None:
                        key = self._end(option.payoff)  # type: ignore[attr-defined]
                elif kind is Chance:
                    row = self._lottery(option)  # type: ignore[arg-type]
                    if len(row[0]) == 1:
                        key = row[0][0]
                        if row[2]:
                            rewards[len(keys)] = row[2][0]
                    else:
                        key = _CHANCE + len(self.chance_row) + len(pending)
                        pending.append(row)
                elif kind is PassTo:
                    key = self._edge(option)
                    if option.reward != 0:  # type: ignore[attr-defined]
                        rewards[len(keys)] = finite_number(option.reward, "reward")  # type: ignore[attr-defined]
                elif option is None or kind is Unavailable:
                    dropped = True
                    continue
                else:
                    raise not_an_edge_error(option)  # noqa: TRY301
                keys.append(key)
        except MdpDiceError as error:
            error.action = actions[at] if error.action is None else error.action
            raise
        except MemoryError:
            raise
        except Exception as error:
            raise hashing_error(error).at(None, actions[at]) from error
        if dropped:
            there = [not (option is None or type(option) is Unavailable) for option in node.options]
            actions = list(compress(actions, there))
        if not keys:
            msg = "a decision without an available option; end the play here, or give it an option"
            raise DeadEndError(msg)
        self.actions.extend(actions)
        self._append(_MAX_KIND if node.player == 0 else _MIN_KIND, keys, [], rewards)
        for row in pending:
            self.chance_row.append(len(self.kinds))
            self._append(_CHANCE_KIND, *row)

    def _lottery(self, node: Chance[Any]) -> tuple[list[int], list[int], dict[int, Any] | None]:
        """Targets, integer weights and non-zero rewards of a chance node, merged."""
        if node.dist.defect:
            self._record_defect(node.dist.defect)
        if not self.merge or node.reward != 0:
            return self._general_lottery(node)
        row: dict[int, int] = {}
        get, states = row.get, self.states
        index = self.index.get if self.canonical is None else _nothing
        for weight, edge in zip(node.dist.weights, node.edges, strict=True):
            kind = type(edge)
            if kind is Go:
                if edge.reward != 0:  # type: ignore[attr-defined]
                    return self._general_lottery(node)
                state = edge.state  # type: ignore[attr-defined]
                key = index(state)
                if key is None:
                    key = self._target(state)
                elif (known := states[key]) is not state and not same_types(known, state):
                    raise collision_error(known, state)
            elif kind is End:
                key = self._end(edge.payoff)  # type: ignore[attr-defined]
            elif kind is PassTo and edge.reward == 0:  # type: ignore[attr-defined]
                key = self._edge(edge)
            else:
                return self._general_lottery(node)
            row[key] = get(key, 0) + weight
        return list(row), list(row.values()), None

    def _general_lottery(self, node: Chance[Any]) -> tuple[list[int], list[int], dict[int, Any] | None]:
        """The same for chance inside chance, for rewards, and without merging."""
        entries: list[tuple[int, Fraction, Fraction | int]] = []
        stack: list[tuple[Any, Fraction, Any]] = [(node, Fraction(1), 0)]
        while stack:
            edge, weight, reward = stack.pop()
            if type(edge) is Chance:
                if edge.dist.defect and edge is not node:
                    self._record_defect(edge.dist.defect)
                reward = reward + _exact(edge.reward)
                total = edge.dist.total
                pairs = zip(edge.edges, edge.dist.weights, strict=True)
                stack.extend(reversed([(inner, weight * Fraction(w, total), reward) for inner, w in pairs]))
                continue
            key = self._edge(edge)
            if type(edge) is not End:
                reward = reward + _exact(edge.reward)
            entries.append((key, weight, reward))
        if self.merge:
            merged: dict[int, tuple[Fraction, Fraction | int]] = {}
            for key, weight, reward in entries:
                if key not in merged:
                    merged[key] = (weight, weight * reward)
                else:
                    self.averaged |= merged[key][1] != merged[key][0] * reward
                    merged[key] = (merged[key][0] + weight, merged[key][1] + weight * reward)
            entries = [(key, weight, product / weight) for key, (weight, product) in merged.items()]
        common = math.lcm(*(weight.denominator for _, weight, _ in entries))
        nums = [weight.numerator * (common // weight.denominator) for _, weight, _ in entries]
        rewards = {at: finite_number(reward, "reward") for at, (_, _, reward) in enumerate(entries) if reward}
        return [key for key, _, _ in entries], nums, rewards

    def _record_defect(self, defect: Fraction) -> None:
        """Remember that probabilities of the state being written were normalised."""
        self.defects += 1
        if abs(defect) > abs(self.worst_defect[0]):
            self.worst_defect = (defect, self.states[len(self.state_row) - 1])

    def _warnings(self) -> tuple[str, ...]:
        """One sentence, however many there are: a large model would hold millions."""
        if not self.defects:
            return ()
        defect, state = self.worst_defect
        text = (
            f"{self.defects} distributions do not sum to 1 and mean the normalised rationals; "
            f"the largest defect is {float(defect):.3g}, in state {state!r}"
        )
        return (text,)

    # --- the network --------------------------------------------------------

    def _finish(self) -> Network:
        n_rows, n_ends = len(self.kinds), len(self.ends)
        keys = np.frombuffer(self.keys, dtype=np.int64) if self.keys else np.zeros(0, dtype=np.int64)
        index = keys & _INDEX
        state_row = np.frombuffer(self.state_row, dtype=np.int64)
        dst = state_row[np.where(keys & (_END | _CHANCE), 0, index)]
        is_end = (keys & _END) != 0
        dst[is_end] = n_rows + index[is_end]
        is_chance = (keys & _CHANCE) != 0
        if self.chance_row:
            dst[is_chance] = np.frombuffer(self.chance_row, dtype=np.int64)[index[is_chance]]
        kind = np.concatenate(
            (np.frombuffer(self.kinds, dtype=np.uint8), np.full(n_ends, Kind.END, dtype=np.uint8))
        )
        degree = np.concatenate(
            (np.frombuffer(self.degrees, dtype=np.int64), np.zeros(n_ends, dtype=np.int64))
        )
        indptr = np.concatenate(([0], np.cumsum(degree)))
        payoff, exact_payoffs = _numbers(
            n_rows + n_ends, self.payoffs | {n_rows + at: value for at, value in enumerate(self.ends)}
        )
        reward, exact_rewards = _numbers(len(keys), self.rewards)
        numerator, weight = _weights(self.nums, kind, indptr)
        sign = np.where(keys & _FLIP, -1, 1).astype(np.int8)
        decides = (kind == Kind.MAX) | (kind == Kind.MIN)
        if self.flips and (kind == Kind.MIN).any():
            msg = "a game uses either pass_to (payoffs seen by the mover) or player=1 (payoffs of player 0), not both"
            raise GameError(msg)
        network = Network(
            kind=kind,
            indptr=indptr,
            dst=dst,
            weight=weight,
            reward=reward,
            sign=sign,
            step=decides[dst],
            payoff=payoff,
            start=0,
            # The discount is checked on the finished network, whose steps may still change.
            horizon=None,
            total=Fraction(finite_number(self.game.total, "total")),
            numerator=numerator,
            states=self.states,
            state_node=state_row,
            actions=self.actions,
            exact_rewards=exact_rewards,
            exact_payoffs=exact_payoffs,
            warnings=self._warnings(),
            averaged=self.averaged,
        )
        network = separate_prefix(network)
        discount = exact_discount(self.game.discount)
        return network if discount == 1 else attrs.evolve(network, discount=discount)


def _weights(nums: Any, kind: Any, indptr: Any) -> tuple[Any, Any]:
    """Exact numerators of all edges from those of chance nodes, and the probabilities that they mean."""
    degree = np.diff(indptr)
    chance = np.repeat(kind == Kind.CHANCE, degree)
    weight = np.ones(len(chance))
    if type(nums) is not list:
        numerator = np.ones(len(chance), dtype=np.int64)
        if len(nums):
            numerator[chance] = np.frombuffer(nums, dtype=np.int64)
            total = np.add.reduceat(np.append(numerator, 0), indptr[:-1])
            weight[chance] = (numerator / np.repeat(total, degree))[chance]
        return numerator, weight
    exact = np.ones(len(chance), dtype=object)
    exact[chance] = nums
    for node in np.flatnonzero(kind == Kind.CHANCE).tolist():
        lo, hi = int(indptr[node]), int(indptr[node + 1])
        whole = sum(exact[lo:hi])
        # A probability below the smallest float is still one.
        weight[lo:hi] = [num / whole or 5e-324 for num in exact[lo:hi]]
    return exact, weight


def _numbers(size: int, values: dict[int, Any]) -> tuple[Any, dict[int, Fraction]]:
    """An array of floats, and those values that the floats do not equal."""
    result = np.zeros(size)
    exact = {}
    for at, value in values.items():
        result[at] = nearest = float(value)
        # Python compares a float with an int or a Fraction exactly.
        if nearest != value:
            exact[at] = Fraction(value)
    return result, exact


def _exact(value: Any) -> Any:
    return value if type(value) is int else Fraction(finite_number(value, "reward"))
