"""Games by name: those of the entry-point group ``mdpdice.games``, and classes in a user's file."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import click

from mdpdice.backend import registered
from mdpdice.errors import PluginError
from mdpdice.modelling.game import Game
from mdpdice.spelling import did_you_mean

GROUP = "mdpdice.games"

Found: TypeAlias = type[Game[Any, Any]] | Game[Any, Any]
"""A game still to be given its parameters, or a ready one (as `Game.of` makes) that has none."""


def _entry_points() -> dict[str, EntryPoint]:
    return registered(entry_points, GROUP, tuple(sys.path))


def game_names() -> list[str]:
    """Names of the registered games, in alphabetical order, without loading them."""
    return sorted(_entry_points())


def load_game(name: str) -> Found:
    """Class of a registered game; a PluginError where it cannot be loaded, or is not a game."""
    point = _entry_points()[name]
    try:
        game: Found = point.load()
    except Exception as error:
        message = f"game {name!r} could not be loaded from {point.value}: {type(error).__name__}: {error}"
        raise PluginError(message, name=name, phase="load") from error
    if not _is_game(game):
        raise PluginError(f"game {name!r}: {point.value} is not a Game", name=name, phase="load")
    return game


def find_game(name: str) -> Found:
    """Game of a NAME on the command line: a registered one, or ``path/to/file.py:ClassName``."""
    registered = game_names()
    if name in registered:
        return load_game(name)
    path, colon, attribute = (name, "", "") if name.endswith(".py") else name.rpartition(":")
    if colon or path:
        return _find_in_file(Path(path), attribute)
    known = f"{did_you_mean(name, registered)}shipped are: {', '.join(registered) or 'none'}"
    own = "A game of your own is named by its file: path/to/file.py:ClassName"
    raise click.UsageError(f"no game is called {name!r}; {known}. {own}")


def _find_in_file(path: Path, attribute: str) -> Found:
    if path.suffix != ".py" or not path.is_file():
        raise click.UsageError(f"there is no Python file {str(path)!r}; write path/to/file.py:ClassName")
    module = _import_file(path)
    games = sorted(_games_in(module))
    there = f"games in {path} are: {', '.join(games)}" if games else f"no class in {path} derives from Game"
    if not attribute:
        raise click.UsageError(f"say which game of the file is meant, as {path}:ClassName; {there}")
    if not hasattr(module, attribute):
        raise click.UsageError(f"{path} has no {attribute!r}; {there}")
    found = getattr(module, attribute)
    if not _is_game(found):
        raise click.UsageError(f"{attribute} in {path} is not a mdpdice Game; {there}")
    if inspect.isabstract(found):
        missing = " and ".join(sorted(found.__abstractmethods__))
        raise click.ClickException(f"game {attribute} in {path} does not define {missing}")
    game: Found = found
    return game


def _import_file(path: Path) -> ModuleType:
    # A name of its own, so that a file called random.py does not stand in for the real one.
    name = "mdpdice_file_" + re.sub(r"\W", "_", path.stem)
    if (spec := importlib.util.spec_from_file_location(name, path)) is None or spec.loader is None:
        raise click.UsageError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    # The file may import its neighbours, as it may when Python runs it; last, so that none hides a library.
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.append(folder)
    sys.modules[name] = module  # annotations are looked up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        why = f"{type(error).__name__}: {error}{blame(error, path)}"
        raise click.ClickException(f"{path} could not be imported: {why}") from error
    return module


def _games_in(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        own = isinstance(value, type) and value.__module__ == module.__name__
        if _is_game(value) and (own or isinstance(value, Game)) and not inspect.isabstract(value):
            yield name


def _is_game(value: Any) -> bool:
    return isinstance(value, Game) or (isinstance(value, type) and issubclass(value, Game))


def blame(error: BaseException, path: Path | None = None) -> str:
    """Where an error came from, as `` (file.py, line 3)``: the last line in `path`, or the last of all."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or isinstance(error, SyntaxError):  # a syntax error says it itself
        return ""
    inside = [frame for frame in frames if path is not None and Path(frame.filename) == path.absolute()]
    frame = (inside or frames)[-1]
    return f" ({Path(frame.filename).name}, line {frame.lineno})"


def summary(game: Found) -> str:
    """First sentence or line of a game's docstring."""
    cls = game if isinstance(game, type) else type(game)
    return " ".join(inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0].split())
