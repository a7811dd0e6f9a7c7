"""A solved game as one page for a browser: rules, values, words and certificate in a file of HTML."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from mdpdice.answers.solution import Solution
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.looks import look_of
from mdpdice.looks.text import spaced
from mdpdice.modelling.text import init_names
from mdpdice.web.packing import packed, squeezed
from mdpdice.web.rules import Rules, Thrown, too_large
from mdpdice.web.seats import named_seats
from mdpdice.web.tables import charts
from mdpdice.web.values import stored_values
from mdpdice.web.words import face_data

STATIC = Path(__file__).parent / "static"
MOST_BYTES = 3_000_000
"""Size of a page."""
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)


@attrs.frozen
class Page:
    """A page that was written.

    Parameters
    ----------
    bytes : int
        Its size.
    values : int
        Values in it; all others follow from them.
    rounding : float
        How far these are from the values of the solution at most, in proportion to values of more than 1.
    """

    bytes: int
    values: int
    rounding: float


def write_page(
    solution: Solution,
    path: str | os.PathLike[str],
    *,
    seats: Sequence[str] = (),
    given: Mapping[str, Any] | None = None,
) -> Page:
    """Write a solved game as one HTML file in which it can be played, with advice; it needs no network.

    Parameters
    ----------
    solution : Solution
        What `mdpdice.solve` gave for a game, with the total as objective and without a horizon.
    path : path
        The file.
    seats : sequence of str
        Policies that the game knows by name, to play against: rules that follow from numbers, such as
        ``hold-at:25``.
    given : mapping, optional
        ``game`` and ``parameters`` as the page shall name them; by default those of the class.

    Returns
    -------
    Page
        Its size, and how its values were rounded.

    Raises
    ------
    UnsupportedError
        The game does not fit into a page, or something else was asked than its total.  Nothing is written.
    GameError
        The solution is not that of a game, or there is no such policy.
    """
    text, page = page_text(solution, seats, given)
    Path(path).write_text(text, encoding="utf-8")
    return page


def page_text(
    solution: Solution, seats: Sequence[str] = (), given: Mapping[str, Any] | None = None
) -> tuple[str, Page]:
    """Return the text of a page, and what is to be said of it."""
    data, page = page_data(solution, seats, given)
    text, style = ((STATIC / name).read_text(encoding="utf-8") for name in ("page.html", "style.css"))
    text = text.replace('<link rel="stylesheet" href="style.css">', f"<style>\n{style}</style>")
    script = f'<script id="data" type="application/json">{data}</script>\n'
    script += f'<script type="module">\n{modules_of("file.js")}</script>'
    text = text.replace('<script type="module" src="start.js"></script>', script)
    size = len(text.encode())
    if size > MOST_BYTES:
        raise too_large(f"the page would have {size:,} bytes, more than {MOST_BYTES:,}")
    return text, attrs.evolve(page, bytes=size)


def page_data(
    solution: Solution, seats: Sequence[str] = (), given: Mapping[str, Any] | None = None
) -> tuple[str, Page]:
    """Return what a page knows of a game, as JSON; `given` are its name and parameters as on the command line."""
    game = solution.game
    if game is None:
        raise GameError("a page needs the game that was solved: write_page(solve(game), path)", value=solution)
    plain = solution.given is None and solution.objective == "total" and solution.horizon is None
    if not plain or game.discount != 1:
        msg = "a page shows the best play for the total, without a discount or a horizon; 'mdpdice serve' plays others"
        raise UnsupportedError(msg, value=solution)
    look = look_of(game)
    rules = Rules(look)
    values, error = stored_values(solution, rules)
    rows, lists = list(rules.nodes), rules.words.lists
    kinds, *numbers = np.array([row[:4] for row in rows]).T
    columns = [[packed(column[kinds == kind]) for column in numbers] for kind in range(6)]
    names = "name", "first", "step", "size", "start", "outside"
    said = [(axis.name, (by := axis.values).start, by.step, len(by), axis.start, axis.outside) for axis in rules.axes]
    axes = [dict(zip(names, one, strict=True)) for one in said]
    shown: list[Any] = []
    with contextlib.suppress(UnsupportedError):  # a game on a lattice has too many states to list
        shown = charts(look.tables(solution)) if solution.proved else []

    def groups(made: Thrown) -> list[Any]:
        return [[list(map(face_data, die.faces)), die.weights, die.name, count] for die, count in made.throw.groups]

    model: dict[str, Any] = {
        "about": _about(solution, error) | dict(given or {}),
        "axes": axes,
        "total": float(game.total),
        "sense": solution.sense,
        "two": bool(((kinds == 5) | ((kinds == 1) & (numbers[0] == 1))).any()),
        "rules": named_seats(look, rules, seats),
        "goals": [[goal.name, goal.least, goal.most] for goal in look.goals()],
        "charts": shown,
        "exprs": rules.trees,
        "updates": list(rules.updates),
        "throws": [{"groups": groups(one), "of": one.of, "weights": one.dist.weights} for one in rules.throws],
        **lists,
    }
    tables = _lists(model.pop("tables"))
    data = {
        "model": squeezed(json.dumps(model, separators=(",", ":")).encode()),
        "nodes": packed(kinds),
        "columns": columns,
        "children": _lists([row[4:] for row in rows]),
        "roots": packed(rules.roots),
        "shown": [packed(column) for column in zip(*rules.tables, strict=True)],
        "tables": tables,
        **values,
    }
    return json.dumps(data, separators=(",", ":")), Page(0, values["values"], error)


def _lists(lists: Sequence[Sequence[int]]) -> list[Any]:
    return [packed([len(one) for one in lists]), packed([number for one in lists for number in one])]


def _about(solution: Solution, error: float) -> dict[str, Any]:
    """Return what the page says of the game and of the answer."""
    game: Any = solution.game
    kind = type(game)
    parameters = {name: getattr(game, name) for name in init_names(kind) or ()}
    about: dict[str, Any] = {
        "game": kind.__name__,
        "title": spaced(kind.__name__).capitalize(),
        "description": " ".join(inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].split()),
        "parameters": {key: value for key, value in parameters.items() if isinstance(value, int | float | str)},
        "value": solution.estimate(),
        "status": solution.status.value,
        "proved": solution.reason,
        "rounding": f"values here are off by at most {error:.1e} of max(1, |value|)",
        "digest": solution.digest,
        "version": f"mdpdice {solution.version}",
        "cite": f"mdpdice {solution.version}, dice games as Markov decision processes, with certificates",
        "chance": game.total == 1,
    }
    if solution.proved:
        about |= {"lower": solution.lower(), "upper": solution.upper()}
        about["proved"] = f"the value lies in this interval, whatever {solution.solver} did to find it"
    return about


def modules_of(first: str) -> str:
    """Return a module and all that it imports as one; their names differ."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in texts:
            texts[name] = (STATIC / name).read_text(encoding="utf-8")
            for other in _IMPORT.findall(texts[name]):
                visit(other)
            order.append(name)

    texts: dict[str, str] = {}
    visit(first)
    return "\n".join(re.sub(r"^export ", "", _IMPORT.sub("", texts[name]), flags=re.MULTILINE) for name in order)
