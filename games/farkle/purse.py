r"""The best six of the dice that a player owns, by the points of a turn or by the chance to win a race.

What a turn is worth is computed for every set, in floats (`mdpdice.games.farkle.turn_values`), and what may be the
best is solved, with a certificate.

*Nothing better is left out.*  Let :math:`V_S` be the value of a set `S`, :math:`v_S` the float,
:math:`|v_S - V_S| \le \varepsilon V_S`, and :math:`v_B` the largest float.  If :math:`V_S \ge V_B`, then
:math:`v_S \ge (1 - \varepsilon) V_B \ge \frac{1 - \varepsilon}{1 + \varepsilon} v_B \ge (1 - 2 \varepsilon) v_B`.
So a set with :math:`v_S < (1 - 2 \varepsilon) v_B` is worse than `B`, and all others are solved.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import attrs

from mdpdice import solve
from mdpdice.errors import CheckpointMismatchError, CorruptFileError, GameError, SolveInterrupted
from mdpdice.games.farkle.dice_table import Die, chances, list_dice
from mdpdice.games.farkle.game import KcdFarkle
from mdpdice.games.farkle.race import FarkleRace
from mdpdice.games.farkle.rules import KCD, MAX_DICE, Rules
from mdpdice.games.farkle.turn_values import ERROR, Dice, turn_values

Known: TypeAlias = dict[int, Any]  # by the number of a set
Progress: TypeAlias = Callable[[str, Mapping[str, float]], None]

BATCH = 64  # sets whose values are computed together


class BestSet(NamedTuple):
    """The best six dice.

    Attributes
    ----------
    dice : tuple of Die
    value, lower, upper : float
        Expected points of a turn, or the chance to win for the player who starts, and its certified interval.
    sets, solved, excluded : int
        How many different sets of six there are, dice of equal chances being the same; how many were solved, and
        how many were left out, since they are worth less; in a race, since they are worth fewer points in a turn.
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
        Where sets are compared and solved, several at a time.
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
        Called as ``progress("sets compared", {"sets": ..., "of": ...})``, then as ``progress("sets solved", ...)``.

    Raises
    ------
    GameError
        There are fewer than six dice, or `cap` or `among` is out of its range.
    SolveInterrupted
        Ctrl-C stopped it.
    CheckpointMismatchError, CorruptFileError
        The checkpoint belongs to other dice or another race, or is none.

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
    tell = progress or (lambda _phase, _numbers: None)

    def find(what: str, function: Any, known: Known, wanted: list[int], size: int) -> None:
        todo = [at for at in wanted if at not in known]
        batches = [todo[at : at + size] for at in range(0, len(todo), size)]
        with contextlib.closing(_each(executor, function, [[sets[at] for at in batch] for batch in batches])) as every:
            for batch, found in zip(batches, every, strict=True):
                known.update(zip(batch, found, strict=True))
                tell(f"sets {what}", {"sets": len(known), "of": len(wanted)})

    with _kept(checkpoint, repr((rules, cap, race, sets))) as (values, solved):
        find("compared", functools.partial(turn_values, rules, cap), values, list(range(len(sets))), BATCH)
        order = sorted(values, key=lambda at: -values[at])
        may_win = [at for at in order if values[at] >= (1 - 2 * ERROR) * values[order[0]]]
        game, name = (race, "my_dice") if race else (KcdFarkle(rules, cap=cap), "dice")
        find("solved", functools.partial(_solved, game, name), solved, order[:among] if race else may_win, 1)
    first = max(solved, key=lambda at: solved[at])
    six = tuple(owned[chances(die)].pop(0) for die in sets[first])
    (value, lower, _), upper = solved[first], max(upper for _, _, upper in solved.values())
    return BestSet(six, value, lower, upper, len(sets), len(solved), len(sets) - len(solved))


def _each(executor: Executor | None, function: Any, batches: list[list[Dice]]) -> Generator[list[Any], None, None]:
    """Ask about batches of sets; those that were not begun are given up when this is closed."""
    yield from executor.map(function, batches) if executor else map(function, batches)


@contextlib.contextmanager
def _kept(path: str | os.PathLike[str] | None, question: str) -> Iterator[tuple[Known, Known]]:
    """Values and solutions of sets, read from a file and written to it if the search is stopped."""
    file, asked = Path(path) if path else None, hashlib.sha256(question.encode()).hexdigest()
    values: Known = {}
    solved: Known = {}
    if file and file.exists():
        try:
            read, *known = json.loads(file.read_text(encoding="utf-8"))
            values, solved = ({int(at): found for at, found in one.items()} for one in known)
        except (ValueError, TypeError, AttributeError) as error:
            raise CorruptFileError(f"{path} is no search for a best set that was stopped", path=str(path)) from error
        if read != asked:
            msg = f"{path} belongs to a search among other dice, or for another race"
            raise CheckpointMismatchError(msg, path=str(path), field="dice")
    try:
        yield values, solved
    except (KeyboardInterrupt, SolveInterrupted) as stop:
        if file:
            part = file.with_name(f"{file.name}.part")
            part.write_text(json.dumps([asked, values, solved]), encoding="utf-8")
            part.replace(file)
        msg = "the search for the best set was stopped"
        raise SolveInterrupted(msg, checkpoint=str(file) if file else None) from stop
    if file:
        file.unlink(missing_ok=True)


def _solved(game: Any, dice: str, sets: list[Dice]) -> list[list[float]]:
    """Values of a game with sets as its parameter `dice`, and their intervals."""
    found = [solve(attrs.evolve(game, **{dice: some})) for some in sets]
    return [[solution.value(), solution.lower(), solution.upper()] for solution in found]
