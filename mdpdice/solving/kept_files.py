"""Solutions in one file with all that was proved of them, so that nothing is explored or certified when they are read.

Beside what a file of `Solution.save` holds there are the intervals and what was explored: a network with its names, or
which points of a lattice play can reach.  It serves one version of a game and of the library, which its question names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.answers.answer import Status
from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.node_values import Averages, NodeValues
from mdpdice.answers.solution import Solution
from mdpdice.archives import Archive, Question, exact_text, rational, read_header, text_member, write_archive
from mdpdice.backend import Run
from mdpdice.lattices.grid_tables import GridTables
from mdpdice.lattices.layering import rank_points
from mdpdice.lattices.program import compile_program
from mdpdice.lattices.reachable_layers import Layer, Layers
from mdpdice.modelling.equality import same_kind
from mdpdice.modelling.game import Game
from mdpdice.modelling.text import decode, encode, init_fields, init_names, named_classes
from mdpdice.networks.files import NETWORK_DTYPES, NetworkFile, network_members
from mdpdice.networks.names import NamedStates
from mdpdice.networks.network import Network
from mdpdice.objectives.objective import Objective, asked
from mdpdice.objectives.on_lattices import lower_lattice
from mdpdice.solving.files import ANSWER_DTYPES, HEADER, VERSION, SavedAnswer, load_flat, load_lattice, solution_members
from mdpdice.solving.lattice_route import compile_for
from mdpdice.solving.problem import prepare

FORMAT = "mdpdice-kept-answer-3"
_REMEDY = "the game is solved again"
MOST_NAMES = 1_000_000
"""States up to which a network is kept with its names, which take a while to write; larger ones are explored again."""
_ENTRIES = {**HEADER, "question": dict, "notes": list, "width": float, "exact": (list, type(None)), "size": list}
_NETWORK = {f"network_{name}": kinds for name, kinds in NETWORK_DTYPES.items()}
_DTYPES = (
    _NETWORK | ANSWER_DTYPES | {"reached": ("|u1",)} | dict.fromkeys(("layers", "points", "parts"), ("<i8", "<i4"))
)
_DTYPES |= dict.fromkeys(("lowers", "uppers", "widths", "costs"), ("<f8",))


# --- writing -----------------------------------------------------------------


def write_kept(
    solution: Solution, path: str | os.PathLike[str], game: Game[Any, Any], question: dict[str, Any]
) -> None:
    """Write a solution of a game to a file, which is replaced at once or not at all."""
    table, exact, size = solution.table, None, []
    members: dict[str, NDArray[Any]] = {name: np.zeros(0, kinds[0]) for name, kinds in _DTYPES.items()}
    if isinstance(table, GridValues):
        size = [table.layers.states, table.layers.edges, bool(table.layers.ranks.progress)]
        members |= {"widths": table.widths, **_layer_members(table.layers)}
    else:
        members |= {"lowers": table.lowers, "uppers": table.uppers, **_named_network(table.network, game)}
        if isinstance(table, Averages):
            members["costs"] = table.reward
        if table.exact is not None:
            exact = [[exact_text(x) if isinstance(x, Fraction) else str(x) for x in row] for row in table.exact]
    more = {"question": question, "notes": list(solution.provenance.notes), "width": float(solution.width)}
    members |= solution_members(solution, FORMAT, **more, exact=exact, size=size)
    write_archive(path, members)


def _named_network(network: Network, game: Game[Any, Any]) -> dict[str, NDArray[Any]]:
    """Return a network with its names; nothing of one that is soon explored again, or whose names have no text."""
    if isinstance(network.states, NamedStates) or network.n_states > MOST_NAMES:
        return {}
    classes = named_classes(type(game))
    names = [by_columns(each, classes) for each in (network.states, network.actions)]
    if None in names:
        return {}
    return {f"network_{name}": array for name, array in network_members(network, *names).items()}


def _layer_members(layers: Layers) -> dict[str, NDArray[Any]]:
    none = np.full(1, -1)
    found = layers.layers
    parts = [none if one.part is None else one.part for one in found]
    sizes = [(one.number, len(one.points), len(part)) for one, part in zip(found, parts, strict=True)]
    return {
        "reached": np.packbits(layers.reached),
        "layers": np.array(sizes),
        "points": np.concatenate([one.points for one in found]),
        "parts": np.concatenate(parts),
    }


def write_tables(tables: dict[str, Any], path: str | os.PathLike[str], question: dict[str, Any]) -> None:
    """Write JSON data that were made of a solution to a file."""
    header = {"format": FORMAT, "version": VERSION, "question": question, "tables": tables}
    write_archive(path, {"header": text_member(header)})


# --- reading -----------------------------------------------------------------


def read_tables(path: str | os.PathLike[str], question: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON data in a file; CorruptFileError where it is damaged, or answers another question."""
    file = Archive(os.fspath(path), {"header": ("|u1",)}, _REMEDY)
    entries = {"format": str, "version": int, "question": dict, "tables": dict}
    tables: dict[str, Any] = _header(file, file.read(), entries, question)["tables"]
    return tables


def _header(file: Archive, members: Any, entries: Any, question: dict[str, Any]) -> dict[str, Any]:
    header = read_header(file, members, FORMAT, VERSION, entries)
    if header["question"] != question:
        raise file.corrupt("question", "it answers another one")
    return header


def read_kept(
    path: str | os.PathLike[str], game: Game[Any, Any], question: dict[str, Any], objective: Objective | None = None,
    *, horizon: int | None = None, epsilon: float = 1e-6, prove: bool = False, lattice_above: int = 0,
) -> Solution | None:  # fmt: skip
    """Return the solution in a file; with `prove` certified again, else its `details` say that it is kept.

    None where it stands on a lattice with no more edges than `lattice_above`.

    Raises
    ------
    CorruptFileError, ProblemMismatchError
        The file is damaged, or answers another question.
    """
    file = Archive(os.fspath(path), _DTYPES, _REMEDY, dimensions=2)
    members = file.read()
    header = _header(file, members, _ENTRIES, question)
    chosen = asked(game, objective)
    read = SavedAnswer(file, header, members, Status(header["status"]))
    on_lattice = header["route"] == "lattice"
    if on_lattice and header["size"][1] <= lattice_above:
        return None
    if prove:
        if on_lattice:
            found = load_lattice(read, game, chosen, horizon, epsilon, prove=True)
        else:
            found = load_flat(read, prepare(game, chosen, horizon=horizon), epsilon, prove=True)
        return attrs.evolve(found, game=game)
    with file.part("answer"):
        table = _grid_values(read, game, chosen) if on_lattice else _node_values(read, game, chosen, horizon)
        made = read.made(table.digest, Question(header["objective"], chosen.wanted(game)))
        made = attrs.evolve(made, notes=tuple(header["notes"]), details={"proof": "cached"})
        return Solution(table, read.claimed, made, header["width"], header["reason"], game=game)


def _node_values(read: SavedAnswer, game: Game[Any, Any], objective: Objective, horizon: int | None) -> NodeValues:
    members, exact = read.members, read.header["exact"]
    if len(members["network_header"]):
        parts = {name.removeprefix("network_"): members[name] for name in _NETWORK}
        network = _Named(read.file.path, game).network(parts)
        if type(game).canonical is not Game.canonical:
            network = attrs.evolve(network, canonical=game.canonical)
    else:
        network = prepare(game, objective, horizon=horizon).network
    if exact is not None:
        exact = [[float(x) if "inf" in x else rational(x) for x in row] for row in exact]
    return read.table(network, members["lowers"], members["uppers"], exact)


class _Named(NetworkFile):
    """A network whose names are in columns."""

    def names(self, members: dict[str, NDArray[Any]], field: str, read: Any) -> list[Any]:
        return from_columns(json.loads(members[field].tobytes()), self.classes)


def _grid_values(read: SavedAnswer, game: Game[Any, Any], objective: Objective) -> GridValues:
    members = read.members
    states, edges, inferred = read.header["size"]
    lattice, _ = lower_lattice(compile_for(game, objective), objective, Run())
    program = compile_program(lattice)
    shape = len(program.entries), lattice.size
    reached = np.unpackbits(members["reached"], count=shape[0] * shape[1]).view(bool).reshape(shape)
    layers, at, part_at = [], 0, 0
    for number, length, parted in members["layers"].tolist():
        part = members["parts"][part_at : part_at + parted]
        points = members["points"][at : at + length]
        layers.append(Layer(number, points, None if part[0] < 0 else part))
        at, part_at = at + length, part_at + parted
    ranks = rank_points(lattice, infer=inferred)
    stored = np.full(shape, np.nan)
    stored[reached] = members["values"]
    found = Layers(program, ranks, tuple(layers), reached, states, edges, GridTables(lattice))
    return GridValues(found, stored, members["widths"], objective.wanted(game))


# --- names, by columns: read much faster than one by one -----------------------


def by_columns(names: Sequence[Hashable], classes: Mapping[str, type]) -> dict[str, Any] | None:
    """JSON data that `from_columns` makes these names of again; None where it cannot."""
    # One object often stands in many places.
    distinct = {id(name): name for name in names}
    place = {key: at for at, key in enumerate(distinct)}
    rows: dict[type, list[list[Any]]] = {type(name): [] for name in distinct.values()}
    try:
        for name in distinct.values():
            parts = init_fields(name) or {"": name}
            rows[type(name)].append([encode(part) for part in parts.values()])
        data = {
            "kinds": [cls.__name__ if cls in classes.values() and init_names(cls) else "" for cls in rows],
            "columns": [[_numbered(column) for column in zip(*each, strict=True)] for each in rows.values()],
            "order": [list(rows).index(type(name)) for name in distinct.values()],
            "places": [place[id(name)] for name in names],
        }
        again = from_columns(data, classes)
    except Exception:  # noqa: BLE001 - a name that has no text, or a class that cannot be made of its parts
        return None
    same = all(one == name and same_kind(one, name) for one, name in zip(again, names, strict=True))
    return data if same else None


def _numbered(column: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return the different parts in a column, and the number of that in every row."""
    texts = list(map(json.dumps, column))
    distinct = dict(zip(texts, column, strict=True))
    number = {text: at for at, text in enumerate(distinct)}
    return list(distinct.values()), [number[text] for text in texts]


def from_columns(data: Mapping[str, Any], classes: Mapping[str, type]) -> list[Any]:
    """Return the names that JSON data of `by_columns` stand for."""
    made = []
    for kind, columns in zip(data["kinds"], data["columns"], strict=True):
        known = [([decode(part, classes) for part in distinct], at) for distinct, at in columns]
        parts = [[distinct[number] for number in at] for distinct, at in known]
        made.append(iter(_made(classes[kind], parts) if kind else parts[0]))
    distinct = [next(made[kind]) for kind in data["order"]]
    return [distinct[at] for at in data["places"]]


def _made(cls: type, parts: list[list[Any]]) -> list[Any]:
    if issubclass(cls, tuple):
        return list(map(cls, *parts))
    names = init_names(cls) or ()
    return [cls(**dict(zip(names, row, strict=True))) for row in zip(*parts, strict=True)]
