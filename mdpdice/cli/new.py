"""``mdpdice new``: the first files of a game."""

from __future__ import annotations

import keyword
from pathlib import Path
from string import Template

import click

from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.options import json_option

TEMPLATES = Path(__file__).parent / "templates"
FOLDER = click.Path(exists=True, file_okay=False, writable=True)


@command()
@click.argument("name")
@click.option("--folder", type=FOLDER, default=".", help="Where to write.")
@json_option
def new(name: str, folder: str) -> Answer:
    """Write a small game to start from, and its test: NAME.py and test_NAME.py.

    Both run as they are. Existing files are never overwritten.

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
    for path, template in zip(paths, ("game.py.txt", "test.py.txt"), strict=True):
        text = Template((TEMPLATES / template).read_text(encoding="utf-8"))
        with path.open("x", encoding="utf-8") as file:
            file.write(text.substitute(words))
    game = f"{paths[0]}:{cls}"
    lines = [*(f"{path} is written" for path in paths), f"Try:\n  mdpdice solve {game}\n  pytest {paths[1]}"]
    return Answer({"files": [str(path) for path in paths], "game": game}, lines)
