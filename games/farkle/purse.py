r"""The best six of the dice that a player owns, by the points of a turn or by the chance to win a race.

A set `S` is worth :math:`V_S(S, 0)`, with :math:`V_S(D, p)` for the value of rolling `D`, a part of `S`, with `p`
points at risk (`mdpdice.games.farkle.game`).

*The bound.*  Let a player exchange dice: to roll `k` of them, take any `k` of `S`, whatever was set aside.
Then a roll is as good as its faces, counted in `c`, and with :math:`(s, k') \in c` for the points of a selection and
the number of dice that it leaves (all six where it leaves none),

.. math::

   W_k(p) = \max_{D \subseteq S, |D| = k} E_D[h(c, p)], \qquad h(\text{bust}, p) = 0, \qquad
   h(c, p) = \max\bigl(p + b(c), \max_{(s, k') \in c, \, p + s < cap} W_{k'}(p + s)\bigr).

:math:`V_S(D, p) \le W_{|D|}(p)`.  Proof, from the most points downwards, since every selection adds points: a turn
banks :math:`b(c)` as above, or keeps `s` points and rolls what is left, some :math:`D' \subseteq S` with
:math:`(s, |D'|) \in c`, for which :math:`V_S(D', p + s) \le W_{|D'|}(p + s)` was shown before.  So no option is worth
more than :math:`h(c, p)`, and `D` is one of the sets of the maximum.

*The search.*  Sets are solved in the order of their bounds, with a certificate, until the next bound is below the best
value.  The bounds are floats: sums of products of numbers that are not negative, of at most 120,000 terms, one in the
other at most 10,000 times.  So their relative error is below 1e-6, and what is left out is worse by more.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import heapq
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from mdpdice import pool, solve
from mdpdice.errors import CheckpointMismatchError, CorruptFileError, GameError, SolveInterrupted
from mdpdice.games.farkle.dice_table import Die, chances, list_dice
from mdpdice.games.farkle.game import KcdFarkle
from mdpdice.games.farkle.race import FarkleRace
from mdpdice.games.farkle.rules import JOKER, KCD, MAX_DICE, Counts, Rules, counts_of, unpack

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Dice: TypeAlias = tuple[Die, ...]
Known: TypeAlias = dict[int, Any]  # by the number of a set
Progress: TypeAlias = Callable[[str, Mapping[str, float]], None]

SLACK = 1e-6
BATCH = 32  # bounds that are found together


class BestSet(NamedTuple):
    """The best six dice.

    Attributes
    ----------
    dice : tuple of Die
    value, lower, upper : float
        Expected points of a turn, or the chance to win for the player who starts, and its certified interval.
    sets, solved, excluded : int
        How many different sets of six there are, dice of equal chances being the same; how many were solved, and
        how many were left out: by their bounds, or in a race by the points of a turn.
    """

    dice: Dice
    value: float
    lower: float
    upper: float
    sets: int
    solved: int
    excluded: int


def best_set(
    dice: str | Iterable[str | Die],
    executor: Executor | None = None,
    *,
    race: FarkleRace | None = None,
    among: int = 5,
    rules: Rules = KCD,
    cap: int = 6000,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> BestSet:
    """Return the best six of some dice (see the module's text).

    Parameters
    ----------
    dice : names or `Die` objects, as a list or separated by commas
        At least six, as in ``2 x Lucky die, Odd die``.
    executor : concurrent.futures.Executor, optional
        Where sets are solved, several at a time.
    race : FarkleRace, optional
        Choose by the chance to win this race with the six as `my_dice`, among the sets that are best by points.  The
        other sets are not proved to be worse.
    among : int
        How many sets are tried in the race.
    rules : Rules
        What scores in a turn; where there is a race, its rules are taken.
    cap : int
        Points at which a turn ends, at most 10,000.
    checkpoint : path, optional
        Where to write what is known when the search is stopped, for the next call; it is believed then.
    progress : callable, optional
        Called as ``progress("sets bounded", {"sets": ..., "of": ...})``, then as ``progress("sets solved", ...)``.

    Raises
    ------
    GameError
        There are fewer than six dice, or `cap` or `among` is out of its range.
    SolveInterrupted
        Ctrl-C stopped it.
    CheckpointMismatchError, CorruptFileError
        The checkpoint belongs to other dice, or is none.

    Examples
    --------
    >>> from mdpdice.games.farkle import best_set
    >>> found = best_set("Odd, Lucky, 5 x Ordinary", cap=500)
    >>> [die.short_name for die in found.dice[:3]], round(found.value, 6), found.sets, found.solved
    (['Odd die', 'Lucky die', 'Ordinary die'], 590.062756, 3, 1)
    """
    rules = race.rules if race else rules
    owned: dict[Any, list[Die]] = {}
    for die in list_dice(dice):
        owned.setdefault(chances(die), []).append(die)
    mine = [same[0] for same in owned.values() for _ in same]
    if len(mine) < MAX_DICE or among < 1 or not 1 <= cap <= 10_000:
        msg = f"{len(mine)} dice, among={among}, cap={cap}: give six dice or more, and a cap from 1 to 10,000 points"
        raise GameError(msg, value=dice)
    sets = list(dict.fromkeys(itertools.combinations(mine, MAX_DICE)))
    wanted = min(among, len(sets)) if race else 1
    tell = progress or (lambda _phase, _numbers: None)
    raced: Known = {}

    def find(what: str, function: Any, batches: Any, known: Known, of: Callable[[], int]) -> None:
        for batch, found in _each(executor, function, sets, batches):
            known.update(zip(batch, found, strict=True))
            tell(f"sets {what}", {"sets": len(known), "of": of()})

    with _kept(checkpoint, repr((rules, cap, sets))) as (bounds, solved):
        todo = [at for at in range(len(sets)) if at not in bounds]
        batches = (todo[at : at + BATCH] for at in range(0, len(todo), BATCH))
        find("bounded", functools.partial(_bounds, rules, cap), batches, bounds, lambda: len(sets))
        order = sorted(bounds, key=lambda at: -bounds[at])

        def may_win(at: int) -> bool:
            best = heapq.nlargest(wanted, (lower for _, lower, _ in solved.values()))
            return len(best) < wanted or bounds[at] * (1 + SLACK) >= best[-1]

        rest = ([at] for at in itertools.takewhile(may_win, order) if at not in solved)
        turn = functools.partial(_solved, KcdFarkle(rules, cap=cap), "dice")
        find("solved", turn, rest, solved, lambda: sum(map(may_win, order)))
        if race:
            best = heapq.nlargest(wanted, solved, key=lambda at: solved[at])
            duel = functools.partial(_solved, race, "my_dice")
            find("raced", duel, ([at] for at in best), raced, lambda: wanted)
    solved = raced if race else solved
    first = max(solved, key=lambda at: solved[at])
    six = tuple(owned[chances(die)].pop(0) for die in sets[first])
    (value, lower, _), upper = solved[first], max(upper for _, _, upper in solved.values())
    return BestSet(six, value, lower, upper, len(sets), len(solved), len(sets) - len(solved))


def _each(
    executor: Executor | None, function: Any, sets: list[Dice], batches: Iterable[list[int]]
) -> Iterator[tuple[list[int], list[Any]]]:
    """Ask about batches of sets, a few at a time; which batches come next may depend on the answers."""
    if executor is None:
        yield from ((batch, function([sets[at] for at in batch])) for batch in batches)
        return
    waiting: dict[Future[list[Any]], list[int]] = {}
    for batch in itertools.chain(batches, itertools.repeat(None)):
        if batch is not None:
            waiting[executor.submit(function, [sets[at] for at in batch])] = batch
        elif not waiting:
            return
        if batch is None or len(waiting) > (os.cpu_count() or 1):
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()


@contextlib.contextmanager
def _kept(path: str | os.PathLike[str] | None, question: str) -> Iterator[tuple[Known, Known]]:
    """Bounds and solutions of sets, read from a file and written to it if the search is stopped."""
    file, asked = Path(path) if path else None, hashlib.sha256(question.encode()).hexdigest()
    bounds: Known = {}
    solved: Known = {}
    if file and file.exists():
        try:
            read, *known = json.loads(file.read_text(encoding="utf-8"))
            bounds, solved = ({int(at): found for at, found in one.items()} for one in known)
        except (ValueError, TypeError, AttributeError) as error:
            raise CorruptFileError(f"{path} is no search for a best set that was stopped", path=str(path)) from error
        if read != asked:
            raise CheckpointMismatchError(f"{path} belongs to a search among other dice", path=str(path), field="dice")
    try:
        yield bounds, solved
    except (KeyboardInterrupt, SolveInterrupted) as stop:
        if file:
            part = file.with_name(f"{file.name}.part")
            part.write_text(json.dumps([asked, bounds, solved]), encoding="utf-8")
            part.replace(file)
        msg = "the search for the best set was stopped"
        raise SolveInterrupted(msg, checkpoint=str(file) if file else None) from stop
    if file:
        file.unlink(missing_ok=True)


def _solved(game: Any, dice: str, sets: list[Dice]) -> list[list[float]]:
    """Values of a game with sets as its parameter `dice`, and their intervals."""
    found = [solve(attrs.evolve(game, **{dice: some})) for some in sets]
    return [[solution.value(), solution.lower(), solution.upper()] for solution in found]


# --- bounds ---------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=20_000)
def _thrown(dice: Dice, rules: Rules, jokers: int) -> Floats:
    """Chances of the count vectors that some dice show and that score, in their places."""
    shown = pool([die.symbols() for die in dice], faces=range(1, JOKER + 1))
    weight = dict(zip(shown.outcomes, shown.weights, strict=True))
    return np.array([weight.get(counts, 0) / shown.total for counts in _offers(rules, jokers)[0][len(dice) - 1]])


@functools.cache
def _offers(rules: Rules, jokers: int) -> tuple[list[dict[Counts, int]], Ints, Ints, Ints, Ints]:
    """Return what count vectors offer, for 1 to 6 dice: their places, most points to bank, and selections in a row.

    Of the selections: where those of each vector start, their points, and how many dice they leave.
    """
    scores = rules.scores(jokers)
    legal, worth = np.array([unpack(code) for code in scores]), np.array(list(scores.values()))
    places, offered, dice = [], [], []
    for number in range(1, MAX_DICE + 1):
        rolls = itertools.combinations_with_replacement(range(1, JOKER + 1), number)
        throws = np.array([counts_of(roll) for roll in rolls if roll.count(JOKER) <= jokers])
        fits = np.all(throws[:, None] >= legal, axis=2)
        scoring = np.flatnonzero(fits.any(axis=1))
        places.append({tuple(one): at for at, one in enumerate(throws[scoring].tolist())})
        offered.append(fits[scoring])
        dice += [number] * len(scoring)
    throw, chosen = np.nonzero(np.concatenate(offered))
    left = np.array(dice)[throw] - legal[chosen].sum(axis=1)
    first = np.flatnonzero(np.diff(throw, prepend=-1))
    best = np.maximum.reduceat(worth[chosen], first)[:, None]
    return places, best, first, worth[chosen], np.where(left, left, MAX_DICE)


def _bounds(rules: Rules, cap: int, sets: list[Dice]) -> list[float]:
    """W of the module's text for six dice and no points, of several sets at once."""
    jokers = MAX_DICE if any(die.joker for dice in sets for die in dice) else 0
    places, best, first, points, left = _offers(rules, jokers)
    thrown = functools.partial(_thrown, rules=rules, jokers=jokers)
    chance = [
        np.array([list(map(thrown, itertools.combinations(dice, k))) for dice in sets]) for k in range(1, MAX_DICE + 1)
    ]
    ends = np.cumsum([len(some) for some in places])[:-1]
    steps, gain = -(-cap // rules.grid), points // rules.grid
    worth = np.zeros((steps + gain.max(), MAX_DICE + 1, len(sets)))  # 0 from the cap on: the turn ends there
    for at in range(steps - 1, -1, -1):
        offered = np.maximum.reduceat(worth[at + gain, left], first)
        rolls = np.split(np.maximum(offered, at * rules.grid + best), ends)
        for k, (odds, some) in enumerate(zip(chance, rolls, strict=True), start=1):
            worth[at, k] = (odds @ some.T[:, :, None])[:, :, 0].max(axis=1)
    return [float(one) for one in worth[0, MAX_DICE]]
