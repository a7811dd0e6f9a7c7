"""``mdpdice new``: the first files of a game."""

from __future__ import annotations

import keyword
from pathlib import Path
from string import Template

import click

from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.options import json_option

__all__ = ["new"]

GAME = Template('''"""$title: roll a die at most a few times, and keep what the last roll shows.

Replace the rules by your own. A game says where play starts, and what happens in every state: the play
ends, chance moves, or somebody decides. States are values that never change: numbers, texts, tuples, or
frozen classes.

    mdpdice solve $module.py:$cls
    mdpdice solve $module.py:$cls -p rolls=5
    mdpdice advise $module.py:$cls '[4, 1]'
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from mdpdice import Game, Node, d6, decide, end, go, roll

State: TypeAlias = tuple[int, int]
"""What the die shows (0: it was not rolled yet), and the rolls that are left."""


@attrs.frozen
class $cls(Game[State, str]):
    """Roll a die at most a few times, and keep what the last roll shows.

    Parameters
    ----------
    rolls : int
        Most rolls of a play.
    """

    rolls: int = attrs.field(default=3, validator=attrs.validators.ge(1))

    def start(self) -> State:
        return (0, self.rolls)

    def node(self, state: State, /) -> Node[State, str]:
        face, left = state
        again = roll(d6, lambda k: go((k, left - 1)))
        if face == 0:
            return again
        if left == 0:
            return end(face)
        return decide({"keep": end(face), "roll": again})
''')

TEST = Template('''"""$title: its value by hand and by a second way, and all back-ends compared."""

from __future__ import annotations

from fractions import Fraction

from $module import $cls

from mdpdice import cross_check, explore, solve
from mdpdice.looks import look_of


def test_value_by_hand() -> None:
    # One roll is worth 7/2. With two, roll 4, 5, 6 are kept: (4 + 5 + 6) / 6 + 1/2 * 7/2 = 17/4.
    assert solve($cls(rolls=1), solver="exact").exact() == Fraction(7, 2)
    assert solve($cls(rolls=2), solver="exact").exact() == Fraction(17, 4)


def test_value_by_a_second_way() -> None:
    """The same rules as a few lines that share nothing with the game."""
    worth = Fraction(0)
    for _ in range($cls().rolls):
        worth = sum((max(Fraction(k), worth) for k in range(1, 7)), Fraction(0)) / 6
    assert solve($cls(), solver="exact").exact() == worth


def test_decisions() -> None:
    solution = solve($cls())
    assert solution.action((4, 1)) == "keep"
    assert solution.action((4, 2)) == "roll"


def test_solvers_agree() -> None:
    report = cross_check($cls())
    assert report.ok, report


def test_states_have_texts() -> None:
    game = $cls()
    look = look_of(game)
    for state in explore(game).states:
        assert look.read_state(look.show_state(state)) == state
''')


@command()
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, writable=True),
    default=".",
    show_default=True,
    help="Where to write.",
)
@json_option
def new(name: str, folder: str) -> Answer:
    """Write a small game to start from, and its test: NAME.py and test_NAME.py.

    Both run as they are. Files that are there already are never written over.

    Exit status: 0 written, 1 not, 2 wrong usage.
    """
    module = name.removesuffix(".py").replace("-", "_")
    if not module.isidentifier() or keyword.iskeyword(module):
        raise click.UsageError(f"{name}: write a name that Python can import, such as my_game")
    if module in ("mdpdice", "attrs", "test"):
        raise click.UsageError(f"{name}: a file of this name would hide a library; take another one")
    cls = "".join(part[:1].upper() + part[1:] for part in module.split("_")) or "MyGame"
    words = {"module": module, "cls": cls, "title": module.replace("_", " ").strip().capitalize() or cls}
    paths = [Path(folder) / f"{module}.py", Path(folder) / f"test_{module}.py"]
    for path in paths:
        if path.exists():
            raise click.ClickException(f"{path} is there already; take another name or folder")
    for path, template in zip(paths, (GAME, TEST), strict=True):
        with path.open("x", encoding="utf-8") as file:
            file.write(template.substitute(words))
    game = f"{paths[0]}:{cls}"
    lines = [*(f"{path} is written" for path in paths), f"Try:\n  mdpdice solve {game}\n  pytest {paths[1]}"]
    return Answer({"files": [str(path) for path in paths], "game": game}, lines)
