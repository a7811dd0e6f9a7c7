"""Gymnasium: tables ``P`` of what every action leads to come in, and games go out as environments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mdpdice.errors import GameError, MdpDiceError, MissingPackageError, ProbabilityRangeError
from mdpdice.exploration.to_network import explore
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import finite_number, own_number
from mdpdice.networks.choices import SUM_TOLERANCE
from mdpdice.networks.network import Network

if TYPE_CHECKING:
    from mdpdice.formats.gymnasium_environment import NetworkEnv

OVER = "over"
"""The state where a play is that was terminated; underscores are added where the table has a state of that name."""


def from_gymnasium(
    source: Any,
    *,
    discount: Any = 1,
    start: Hashable | Mapping[Hashable, Any] | None = None,
    max_denominator: int | None = None,
    tolerance: float = SUM_TOLERANCE,
) -> Network:
    """Return a network from a toy-text environment, or from any dictionary ``P``.

    Parameters
    ----------
    source : gymnasium.Env, mapping or sequence
        An environment whose ``unwrapped.P`` is such a table, or the table: ``P[state][action]`` lists
        ``(probability, next state, reward, terminated)``.  A state without actions ends the play.
    discount : number
        Factor per step in (0, 1].
    start : state, or mapping of state to number, optional
        State to start in, or the states to start in with their chances; by default as the environment does, or in the
        first state of the table.
    max_denominator : int, optional
        Take every probability for the closest fraction with no larger denominator, so that 0.33333333333333337 is
        1/3 and answers can be exact.  One that is farther than `tolerance` from the probability is refused.
    tolerance : float
        How far the probabilities of an action may be from 1 in sum; then they are scaled.

    Returns
    -------
    Network
        Its states are those of the table and, last, ``"over"`` (``"over_"`` where the table has a state of that name,
        and so on): where ``terminated`` is set, the play ends after the reward, whatever the table says of the next
        state. Entries of one row with the same next state are merged with their mean reward.

    Raises
    ------
    GameError
        The source has no table, or an entry has another form.
    ProbabilitySumError, ProbabilityRangeError, RewardNotFiniteError, DiscountRangeError
        A number is out of its range; the error names state and action.
    """
    if max_denominator is not None and (type(max_denominator) is not int or max_denominator < 1):
        raise GameError(f"max_denominator is a positive whole number, not {max_denominator!r}", value=max_denominator)
    table, first = _table(source)
    states = list(table)
    number = {state: at for at, state in enumerate(states)}
    over, name = len(states), OVER
    while name in number:
        name += "_"
    choice_ptr, branch_ptr = [0], [0]
    target: list[int] = []
    probability: list[Any] = []
    rewards: list[Any] = []
    actions: list[Hashable] = []
    for state, choices in table.items():
        for action, entries in _items(choices):
            try:
                row = _row(entries, number, max_denominator, tolerance)
            except MdpDiceError as error:
                raise error.at(state, action) from error.__cause__
            for (to, _), parts in row.items():
                total = parts[0][0] if len(parts) == 1 else sum(Fraction(p) for p, _ in parts)
                target.append(to)
                probability.append(total)
                rewards.append(_mean(parts, total))
            branch_ptr.append(len(target))
            actions.append(action)
        choice_ptr.append(len(actions))
    choice_ptr.append(len(actions))
    begin = first if start is None else start
    starts = list(begin.items()) if isinstance(begin, Mapping) else [(begin, 1)]
    if unknown := [state for state, _ in starts if _place(number, state) is None]:
        raise GameError(f"the start state {unknown[0]!r} is not in the table", value=unknown[0])
    return Network.from_choices(
        choice_ptr,
        branch_ptr,
        target,
        probability,
        rewards,
        terminal={over: 0} | {number[state]: 0 for state, choices in table.items() if not choices},
        discount=discount,
        start={number[state]: chance for state, chance in starts},
        states=[*states, name],
        actions=actions,
        reward_per="branch",
        tolerance=tolerance,
    )


def _table(source: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the table of a source by its states, and the states to start in with their chances."""
    inner = getattr(source, "unwrapped", source)
    table = getattr(inner, "P", inner)
    if not isinstance(table, Mapping | list | tuple) or not table:
        msg = f"{type(inner).__name__} has no table P[state][action] = [(probability, next, reward, terminated), ...]"
        raise GameError(msg, value=source)
    found = {_plain(state): choices for state, choices in _items(table)}
    if (chances := getattr(inner, "initial_state_distrib", None)) is None:
        return found, {next(iter(found)): 1}
    return found, {state: chance for state, chance in enumerate(np.asarray(chances).tolist()) if chance}


def _items(table: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(table, Mapping):
        return table.items()
    if isinstance(table, list | tuple):
        return enumerate(table)
    raise GameError(f"{table!r} is neither a dictionary nor a list of actions", value=table)


def _plain(value: Any) -> Any:
    """Python's own object for one of numpy: as names they are not the same."""
    return value.item() if isinstance(value, np.generic) else value


def _place(number: Mapping[Hashable, int], state: Any) -> int | None:
    """Return the number of a state, None where there is no such state."""
    try:
        return number.get(state)
    except TypeError:  # a list, say
        return None


_Row: TypeAlias = dict[tuple[int, bool], list[tuple[Any, Any]]]


def _row(entries: Any, number: Mapping[Hashable, int], max_denominator: int | None, tolerance: float) -> _Row:
    """Return probabilities and rewards by the next state; the state where plays are over is the one after all."""
    if isinstance(entries, str) or not isinstance(entries, Iterable):
        raise GameError(f"{entries!r} is not a list of (probability, next state, reward, terminated)", value=entries)
    row: _Row = {}
    for p, to, reward, terminated in map(_entry, entries):
        if (at := len(number) if terminated else _place(number, to)) is None:
            raise GameError(f"the next state {to!r} is not in the table", value=to)
        chance = p if max_denominator is None else _simple(p, max_denominator, tolerance)
        # Costs stay apart, since a mean hides whether a cycle both collects and pays.
        row.setdefault((at, bool(reward < 0)), []).append((chance, reward))
    return row


def _entry(entry: Any) -> tuple[Any, Any, Any, bool]:
    try:
        p, to, reward, terminated = entry
    except (TypeError, ValueError) as error:
        raise GameError(f"{entry!r} is not (probability, next state, reward, terminated)", value=entry) from error
    if not isinstance(terminated, bool | np.bool_ | int):
        raise GameError(f"terminated={terminated!r} is not True or False", value=terminated)
    chance = own_number(p, "probability")
    # Looked at before entries of one row are added up, which could hide it.
    if not 0 <= chance <= 2:
        raise ProbabilityRangeError(f"probability {p!r} is outside [0, 1]", value=p, limit=(0, 1))
    return chance, _plain(to), finite_number(reward, "reward"), bool(terminated)


def _simple(p: Any, max_denominator: int, tolerance: float) -> Fraction:
    found = Fraction(p).limit_denominator(max_denominator)
    if abs(found - Fraction(p)) > tolerance:
        msg = f"probability {p!r} has no denominator up to max_denominator={max_denominator}; raise that, or tolerance"
        raise GameError(msg, value=p)
    return found


def _mean(parts: list[tuple[Any, Any]], total: Any) -> Any:
    first = parts[0][1]
    if all(reward == first for _, reward in parts) or not total > 0:
        return first
    return sum(p * reward for p, reward in parts) / total


def to_gymnasium(game: Game[Any, Any] | Network) -> NetworkEnv:
    """Return a game as a Gymnasium environment, `mdpdice.formats.gymnasium_environment.NetworkEnv`.

    Parameters
    ----------
    game : Game or Network
        A game of one player.

    Raises
    ------
    MissingPackageError
        Gymnasium is not installed.
    UnsupportedError
        The game has two players.
    """
    try:
        from mdpdice.formats.gymnasium_environment import NetworkEnv
    except ModuleNotFoundError as error:
        if error.name != "gymnasium":
            raise
        raise MissingPackageError("this needs Gymnasium: pip install gymnasium", package="gymnasium") from error
    return NetworkEnv(game if isinstance(game, Network) else explore(game))
