"""``mdpdice best-set``: the best six of the dice that you own."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import click

from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.options import NewFile, json_option
from mdpdice.cli.progress_bars import ProgressBars
from mdpdice.cli.text import aligned, figure, named

CHECKPOINT = "Keep what is known in this file when the search is stopped; the same command continues from there."


@command("best-set")
@click.argument("dice", nargs=-1, required=True)
@click.option("--race", is_flag=True, help="Choose by the chance to win a race, not by the points of a turn.")
@click.option("--target", type=int, default=4000, help="Points that win the race.")
@click.option("--theirs", default="6", metavar="DICE", help="The dice of the other player.")
@click.option("--among", type=click.IntRange(1), default=5, help="Number of sets to try in the race.")
@click.option("--jobs", type=click.IntRange(1), default=1, help="Number of processes that compare and solve sets.")
@click.option("--checkpoint", type=NewFile(), metavar="PATH", help=CHECKPOINT)
@json_option
def best_set(
    dice: tuple[str, ...], race: bool, target: int, theirs: str, among: int, jobs: int, checkpoint: str | None
) -> Answer:
    """Choose the best six of DICE, all the dice you own: 2 x Lucky die, Odd die, ...

    They are the best by the points of a turn. For a race the sets that are best by points are tried; the others are
    not proved to be worse. 'mdpdice dice' lists the dice.
    """
    from mdpdice.games.farkle.purse import best_set as search
    from mdpdice.games.farkle.race import FarkleRace

    began = time.perf_counter()
    with ProgressBars() as progress, contextlib.ExitStack() as stack:
        executor = stack.enter_context(ProcessPoolExecutor(jobs, get_context("spawn"))) if jobs > 1 else None
        with named():
            duel = FarkleRace(target=target, their_dice=theirs) if race else None
            best = search(" ".join(dice), executor, race=duel, among=among, checkpoint=checkpoint, progress=progress)
    seconds, six = time.perf_counter() - began, [die.name for die in best.dice]
    data = {**best._asdict(), "dice": six, "race": race, "seconds": seconds}
    what = f"chance to win to {target:,} points if you begin" if race else "points of a turn"
    how = "had fewer points in a turn, and were not raced" if race else "worth less"
    rows = [
        ("best six", ", ".join(f"{six.count(name)} x {name}" for name in dict.fromkeys(six))),
        ("value", f"{figure(best.value)} ({what})"),
        ("interval", f"[{figure(best.lower)}, {figure(best.upper)}]"),
        ("sets", f"{best.sets:,}: {best.solved:,} solved, {best.excluded:,} {how}"),
        ("time", f"{seconds:.1f} s"),
    ]
    return Answer(data, [aligned(rows)])
