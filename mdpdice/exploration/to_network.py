"""Exploration: from a declared game to a flat `Network`, breadth first from the start.

Every reachable state is asked for its node once.  Chance nodes written inside
an option or inside each other are folded into one distribution; parallel edges
of a chance node are merged with the mean of their rewards, exactly.

Steps.  A step is one decision: an edge takes a step if it enters a decision
node, except on the chance prefix, the chance nodes that a play passes before
its first decision.  A chance state that is both in the prefix and reached later
becomes two nodes, since its edges take a step in one role only.

Batches.  A `ClassicMDP` that gives its transitions in batches is asked level by level, an action of many states at a
time.  States are numbered batch by batch, and branches of an action to one state stay apart, with their own rewards.

Counters.  A game with counters is asked for its core states only, and replicated
over the values of the counters (`mdpdice.lattices.lattice`, `mdpdice.exploration.expansion`).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Hashable
from itertools import chain, compress, groupby
from operator import attrgetter
from typing import Any, TypeVar

import attrs
import numpy as np

from mdpdice.backend import Progress
from mdpdice.errors import GameError, StateLimitError
from mdpdice.exploration.chance_prefix import separate_prefix
from mdpdice.exploration.expansion import replicate
from mdpdice.exploration.repeatability import check_batches, check_repeatable
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.traversal import CHANCE_KIND, END_KIND, PLAYER_KIND, Traversal, dead_end, whole_weights
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.asking import ask, ask_game, placed
from mdpdice.modelling.checks import hashing_error, not_a_node_error, not_an_edge_error
from mdpdice.modelling.counters import axes
from mdpdice.modelling.equality import same_kinds
from mdpdice.modelling.game import Chance, ClassicMDP, Decide, End, Game, Go, PassTo, Unavailable, Uncertain
from mdpdice.modelling.number import count, finite_number
from mdpdice.modelling.sense import sense_of
from mdpdice.networks.arrays import split_exact
from mdpdice.networks.choices import SUM_TOLERANCE, build
from mdpdice.networks.network import Kind, Network

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)


def explore(
    game: Game[S, A],
    *,
    merge: bool = True,
    max_states: int = 10_000_000,
    max_bytes: int | None = None,
    progress: Progress | None = None,
    lattice: Lattice | None = None,
) -> Network:
    """Compile a game into a `Network` of the states that can be reached from its start.

    Parameters
    ----------
    game : Game
        What to explore.
    merge : bool
        Merge parallel edges of a chance node and give them their mean reward; those that pay less than 0 stay
        apart from those that pay more.
        ``False`` keeps them apart, as distributions of outcomes need.
    max_states : int
        Largest number of states.  With the default a game is also refused in which, from a million states on,
        some number only rises or falls; any other limit says that this is meant.
    max_bytes : int, optional
        Largest memory, in bytes, estimated while exploring; by default
        four fifths of what the machine, or the limit of the process, allows.
    progress : callable, optional
        Called as ``progress("explore", {"states": ..., "explored": ..., "edges": ...})``.
    lattice : Lattice, optional
        What `mdpdice.compile_lattice` made of this game, if it has counters and that was done before.

    Returns
    -------
    Network
        States in the order in which they were found, the start first.

    Raises
    ------
    StateLimitError
        A limit was passed, or will be; the message names it and shows states of the frontier.  Or `Game.least_states`
        or the lattice of a game with counters says that it would be, and nothing was explored.
    GameError
        The game raised, or returned something that is not a node; or the lattice is one of another game.
    NonDeterministicGameError
        It gave options from a set, or another node when it was asked again; a few states are.
    StateCollisionError
        Two different states are equal in Python.
    DeadEndError, DuplicateActionError, RewardNotFiniteError
        A state has no option, two with one action, or a reward that is not finite.
    """
    __tracebackhide__ = True
    if not isinstance(game, Game):
        raise GameError(f"{game!r} is not a Game; a class needs to be called: MyGame()", value=game)
    sense_of(game)  # before a long exploration
    max_states = count(max_states, "max_states")
    if (least := ask_game(game.least_states)) is not None and least > max_states:
        raise _too_large(game, least, max_states)
    if lattice is not None and (lattice.axes != axes(game) or (lattice.averaged and not merge)):
        raise GameError(f"{lattice!r} is not compile_lattice(game, merge={merge}); leave it out", value=lattice)
    if axes(game):
        limits: dict[str, Any] = {"max_states": max_states, "max_bytes": max_bytes, "progress": progress}
        lattice = compile_lattice(game, merge=merge, **limits) if lattice is None else lattice
        check_repeatable(game, lattice.states)
        network = replicate(lattice, **limits)
        symmetric = type(game).canonical is not Game.canonical
        return attrs.evolve(network, canonical=game.unrolled().canonical) if symmetric else network
    batches = isinstance(game, ClassicMDP) and type(game).transitions is not ClassicMDP.transitions
    network = (_BatchTraversal if batches else _FlatTraversal)(game, merge, max_states, max_bytes, progress).run()
    # A state of a model for batches has very many choices, and these were not asked for one by one.
    check_repeatable(game, network.states[:1] if batches else network.states)
    if batches:
        check_batches(game, network)  # type: ignore[arg-type]
    return network


def _too_large(game: Game[Any, Any], least: int, limit: int) -> StateLimitError:
    ahead = type(game).estimate is not Game.estimate
    remedy = "look some decisions ahead, with solver='lookahead'" if ahead else "choose smaller parameters"
    msg = f"this game has at least {least:,} states, more than max_states={limit:,}, so it was not explored; {remedy}"
    return StateLimitError(msg, explored=0, frontier=[], value=least, limit=limit)


_ACTIONS, _OPTIONS = attrgetter("actions"), attrgetter("options")


class _FlatTraversal(Traversal[Network]):
    """A traversal that writes the rows of a flat network."""

    # --- rows ---------------------------------------------------------------

    def write_all(self, nodes: list[Any]) -> None:
        """Write the rows of the next states: decisions in a row, which are the most, together if they are plain."""
        __tracebackhide__ = True
        for kind, run in groupby(nodes, type):
            rows = [*run]
            if kind is not Decide or not self._write_plain(rows):
                super().write_all(rows)

    def _write_plain(self, rows: list[Any]) -> bool:
        """Write decisions whose options all go or end, and pay nothing on the way; return whether it was done."""
        listed = [*map(_OPTIONS, rows)]
        options = [*chain.from_iterable(listed)]
        if not all(listed):
            return False
        try:
            given = [one.state for one in options if type(one) is Go and one.reward == 0 and not one.updates]
            ends = [(at, one.payoff) for at, one in enumerate(options) if type(one) is End]
            players = [PLAYER_KIND[row.player] for row in rows]
            # Out of order nothing gets a number.
            keys = self._numbers(given) if len(given) + len(ends) == len(options) else []
            if len(keys) + len(ends) < len(options):
                return False
            for at, payoff in ends:
                keys.insert(at, self._end(payoff))
        except Exception:  # noqa: BLE001 - it is found again, with its place
            return False
        self.state_row.extend(range(len(self.kinds), len(self.kinds) + len(rows)))
        self.kinds.extend(players)
        self.degrees.fromlist([*map(len, listed)])
        self.keys.fromlist(keys)
        self.actions.extend(chain.from_iterable(map(_ACTIONS, rows)))
        return True

    def _numbers(self, given: list[Any]) -> list[int]:
        """Numbers of states, all at once; none if something is wrong, or there is symmetry."""
        if self.canonical is None:
            with contextlib.suppress(Exception):
                found = [*map(self.index.__getitem__, given)]
                if len(found) == len(given) and same_kinds([*map(self.states.__getitem__, found)], given):
                    return found
        return []

    def write_node(self, node: Any) -> None:
        """Write the row of a node, or of what `_inside` was given."""
        __tracebackhide__ = True
        kind = type(node)
        if kind is Decide:
            self._write_decision(node)
        elif kind is Uncertain:
            self._append(self._nature(node), [self._inside(self._lottery(one)) for one in node.options], [], None)
        elif kind is Chance:
            keys, nums, rewards = self._lottery(node)
            self._append(CHANCE_KIND, keys, nums, rewards)
        elif kind is End:
            self.payoffs[len(self.kinds)] = finite_number(node.payoff, "payoff")
            self._append(END_KIND, [], [], None)
        elif kind is Go or kind is PassTo:
            key = self._edge(node)
            rewards = {0: finite_number(node.reward, "reward")} if node.reward != 0 else None
            self._append(CHANCE_KIND, [key], [1], rewards)
        else:
            raise not_a_node_error(node)

    def _write_decision(self, node: Decide[Any, Any]) -> None:
        __tracebackhide__ = True
        keys: list[int] = []
        rewards: dict[int, Any] = {}
        actions = node.actions
        self.mover = node.player
        dropped = 0
        ends = self.ends
        try:
            for option in node.options:
                kind = type(option)
                if kind is Go:
                    key = self._target(option.state)  # type: ignore[attr-defined]
                    if option.reward != 0 or option.updates:  # type: ignore[attr-defined]
                        self._edge(option)
                        rewards[len(keys)] = finite_number(option.reward, "reward")  # type: ignore[attr-defined]
                elif kind is End:
                    end = ends.get(option.payoff)  # type: ignore[attr-defined]
                    key = self._end(option.payoff) if end is None else end  # type: ignore[attr-defined]
                elif kind is Chance:
                    row = self._lottery(option)  # type: ignore[arg-type]
                    if len(row[0]) == 1:
                        key = row[0][0]
                        if row[2]:
                            rewards[len(keys)] = row[2][0]
                    else:
                        key = self._inside(row)
                elif kind is PassTo or kind is Uncertain:
                    key = self._edge(option)
                    if option.reward != 0:  # type: ignore[attr-defined]
                        rewards[len(keys)] = finite_number(option.reward, "reward")  # type: ignore[attr-defined]
                elif option is None or kind is Unavailable:
                    dropped += 1
                    continue
                else:
                    raise not_an_edge_error(option)  # noqa: TRY301
                keys.append(key)
        except Exception as error:  # noqa: BLE001 - it goes on, with its place
            action = actions[len(keys) + dropped]
            raise (wrong := placed(error, None, action, hashing_error, option)) from wrong.__cause__
        if dropped:
            there = [not (option is None or type(option) is Unavailable) for option in node.options]
            actions = list(compress(actions, there))
        if not keys:
            raise dead_end()
        self.actions.extend(actions)
        self._append(PLAYER_KIND[node.player], keys, [], rewards)

    def _lottery(self, node: Chance[Any]) -> tuple[list[int], list[int], dict[int, Any] | None]:
        """Targets, integer weights and non-zero rewards of a chance node, merged."""
        if node.dist.defect:
            self._record_defect(node.dist.defect)
        if not self.merge or node.reward != 0:
            return self._general_lottery(node)
        row: dict[int, int] = {}
        paid: dict[int, Any] = {}
        get, target = row.get, self._target
        for weight, edge in zip(node.dist.weights, node.edges, strict=True):
            kind = type(edge)
            if kind is Go:
                if edge.updates:  # type: ignore[attr-defined]
                    return self._general_lottery(node)
                key = target(edge.state)  # type: ignore[attr-defined]
            elif kind is End:
                key = self._end(edge.payoff)  # type: ignore[attr-defined]
            elif kind is PassTo:
                key = self._edge(edge)
            else:
                return self._general_lottery(node)
            reward = 0 if kind is End else edge.reward  # type: ignore[attr-defined]
            if key in row and paid.get(key, 0) != reward:
                return self._general_lottery(node)
            row[key] = get(key, 0) + weight
            if reward != 0:
                paid[key] = reward
        if not paid:
            return list(row), list(row.values()), None
        divisor = math.gcd(*row.values()) if len(row) < len(node.edges) else 1
        rewards = {at: finite_number(paid[key], "reward") for at, key in enumerate(row) if key in paid}
        return list(row), [weight // divisor for weight in row.values()], rewards

    def _edge(self, edge: Any) -> int:
        """Target of an edge that is neither a chance node nor a guard, and changes no counters."""
        if (type(edge) is Go or type(edge) is PassTo) and edge.updates:
            raise not_an_edge_error(edge)
        return super()._edge(edge)

    def _general_lottery(self, node: Chance[Any]) -> tuple[list[int], list[int], dict[int, Any] | None]:
        """Do the same for chance inside chance, for rewards, and without merging."""
        entries = []
        for edge, weight, paid, _ in self._leaves(node):
            key = self._edge(edge)
            entries.append((key, weight, paid if type(edge) is End else paid + self._exact(edge.reward)))
        if self.merge:
            entries = self._merged(entries)
        nums, _ = whole_weights([weight for _, weight, _ in entries])
        rewards = {at: finite_number(reward, "reward") for at, (_, _, reward) in enumerate(entries) if reward}
        return [key for key, _, _ in entries], nums, rewards

    def finish(self) -> Network:
        """Return the network of the rows."""
        fields, first_end = self.assemble()
        kind, dst = fields["kind"], fields["dst"]
        payoffs = self.payoffs | {first_end + at: value for at, value in enumerate(self.ends)}
        fields["payoff"], fields["exact_payoffs"] = split_exact(len(kind), payoffs)
        fields["reward"], fields["exact_rewards"] = split_exact(len(dst), self.rewards)
        fields["step"] = (((kind == Kind.MAX) | (kind == Kind.MIN)) & (fields["node_state"] >= 0))[dst]
        return Network(**separate_prefix(fields), canonical=self.canonical)


class _BatchTraversal(_FlatTraversal):
    """A traversal that asks for `ClassicMDP.transitions`, and for no node."""

    game: Any

    def _explore_all(self) -> int:
        __tracebackhide__ = True
        # Choice, probability and reward of every branch.
        self.columns: list[Any] = [(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))]
        while (position := len(self.state_row)) < len(self.states):
            asked = defaultdict(list)
            for state in self.states[position:]:
                if ask_game(self.game.terminal, state):
                    self.payoffs[len(self.state_row)] = 0
                else:
                    actions = [*ask_game(self.game.ordered_actions, state)]
                    for choice, action in enumerate(actions, len(self.actions)):
                        asked[action].append((state, choice))
                    self.actions += actions
                self.state_row.append(len(self.actions))
            for action, asking in asked.items():
                self._ask(action, *zip(*asking, strict=True))
                if len(self.keys) >= self.next_check or time.monotonic() > self.next_look:
                    self._check_limits(position)
        return position

    def _ask(self, action: Any, states: tuple[Any, ...], choices: tuple[int, ...]) -> None:
        """Ask for the transitions of an action, and number the next states."""
        __tracebackhide__ = True
        found = ask(self.game.transitions, states, action, what="transitions()", state=states[0], action=action)
        try:
            targets, *numbers = found
            rows = targets.tolist() if isinstance(targets, np.ndarray) else targets
            shape = len(states), len(rows[0])
            chance, reward = (np.broadcast_to(part, shape).ravel() for part in numbers)
            names = np.fromiter(chain.from_iterable(rows), dtype=object).reshape(chance.shape)
        except (TypeError, ValueError, IndexError) as error:
            msg = f"transitions() gave not next states, probabilities, rewards, each {len(states)} times k ({error})"
            raise GameError(msg, state=states[0], action=action, value=found) from error
        branches = np.flatnonzero(chance)
        known, given = len(self.keys), names[branches].tolist()
        try:
            self.keys.extend(self._numbers(given) or map(self._target, given))
        except Exception as error:  # noqa: BLE001 - it goes on, with its place
            at = branches[len(self.keys) - known]  # those before it are numbered
            raise (bad := placed(error, states[at // shape[1]], action, hashing_error, names[at])) from bad.__cause__
        self.columns.append((np.repeat(choices, shape[1])[branches], chance[branches], reward[branches]))

    def finish(self) -> Network:
        """Return the network of the arrays."""
        choice, chance, reward = map(np.concatenate, zip(*self.columns, strict=True))
        order = np.argsort(choice, kind="stable")
        width = np.bincount(choice, minlength=len(self.actions))
        choice_ptr, branch_ptr = (np.concatenate(([0], part)) for part in (self.state_row, np.cumsum(width)))
        made = build(
            choice_ptr, branch_ptr, np.asarray(self.keys)[order], chance[order], reward[order], terminal=self.payoffs,
            owner=None, discount=self.game.discount, start=0, states=self.states, actions=self.actions,
            reward_per="branch", tolerance=SUM_TOLERANCE,
        )  # fmt: skip
        step = made.step & (made.kind[made.dst] != Kind.END)
        return attrs.evolve(made, step=step, sense=self.game.sense, canonical=self.canonical)
