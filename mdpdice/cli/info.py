"""``mdpdice info``: the size and structure of a game."""

from __future__ import annotations

from typing import Any

import click

import mdpdice
from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, command_words, game_command
from mdpdice.cli.options import json_option, parameters_option
from mdpdice.cli.routes import large
from mdpdice.cli.text import aligned
from mdpdice.errors import StateLimitError

NO_GRID = dict.fromkeys(("grid", "core", "bound"))
NOT_EXPLORED = dict.fromkeys(
    (
        *("states", "nodes", "edges", "kinds", "players", "components", "largest_component", "bytes"),
        *("cyclic_components", "cycle", "end_components", "largest_degree", "layers", "solvers", "digest"),
    )
)


@game_command()
@parameters_option(" 'mdpdice info NAME --help' describes them.")
@click.option("--before", is_flag=True, help="Show only what is known before exploring: counters, grid, bound.")
@click.option("--max-states", type=click.IntRange(1), default=1_000_000, metavar="N", help="Most states to explore.")
@json_option
def info(case: Case, before: bool, max_states: int) -> Answer:
    """Show the size and structure of a game, and which solvers can solve it.

    For a game with counters the grid and a bound of the memory are known before it is explored. A game so large
    that it is solved on its lattice is not explored.

    Exit status: 0 shown, 1 it could not be explored within the limits, 2 wrong usage.
    """
    data = _data(case, max_states, explores=not before)
    return Answer(data, [aligned(_rows(case, data))], data["refused"] is None)


def _data(case: Case, max_states: int, *, explores: bool) -> dict[str, Any]:
    from mdpdice.lattices.size import size_bound
    from mdpdice.memory import available_bytes
    from mdpdice.modelling.counters import axes
    from mdpdice.solving.lattice_route import LAYER_SWEEPS

    game = case.game
    data: dict[str, Any] = {"game": case.name, "parameters": case.given, "counters": [], **NO_GRID}
    data |= {"available_bytes": available_bytes(), "discount": str(game.discount)}
    data |= {"refused": case.infinite(), **NOT_EXPLORED}
    if data["refused"] is not None:
        return data
    lattice = None
    if found := axes(game):
        lattice = mdpdice.compile_lattice(game, max_states=max_states, progress=case.progress)
        nodes, edges, size = size_bound(lattice)
        data["counters"] = [_counter(axis) for axis in found]
        data["grid"] = lattice.size
        data["core"] = {"states": len(lattice.states), "nodes": len(lattice.kind), "edges": len(lattice.dst)}
        data["bound"] = {"nodes": nodes, "edges": edges, "bytes": size}
    if explores:
        try:
            if (layers := large(case, lattice)) is not None:
                told = {"states": layers.states, "edges": layers.edges, "layers": len(layers.layers)}
                data |= {**told, "solvers": [LAYER_SWEEPS]}
            else:
                most: dict[str, Any] = {"max_states": max_states, "lattice": lattice}
                data |= _structure(case, mdpdice.explore(game, progress=case.progress, **most))
        except StateLimitError as error:
            data["refused"] = command_words(error.message)
    return data


def _counter(axis: Any) -> dict[str, Any]:
    size, ends = len(axis.values), (axis.values[0], axis.values[-1])
    return {"name": axis.name, "values": size, "from": ends[0], "to": ends[1], "flags": bool(axis.boxes)}


def _structure(case: Case, network: mdpdice.Network) -> dict[str, Any]:
    import attrs
    import numpy as np

    from mdpdice.backend import available_solvers
    from mdpdice.numerics import graph
    from mdpdice.solving.problem import prepare

    count = np.bincount(network.kind, minlength=4)
    taken = network.weight > 0
    label = graph.strong_components(network.indptr, network.dst, taken)
    sizes = np.bincount(label)
    cyclic = graph.cyclic_components(network.indptr, network.dst, label, taken)
    cycle = graph.find_cycle(network.indptr, network.dst, taken) if cyclic.any() else []
    ends = graph.end_components(network.indptr, network.dst, network.kind == mdpdice.Kind.CHANCE, taken)
    need = prepare(network).needs() - {mdpdice.Feature.HORIZON}
    arrays = (getattr(network, field.name) for field in attrs.fields(mdpdice.Network))
    return {
        "states": network.n_states,
        "nodes": network.n_nodes,
        "edges": network.n_edges,
        "kinds": {kind.name: int(count[kind]) for kind in mdpdice.Kind if count[kind]},
        "largest_degree": int(np.diff(network.indptr).max(initial=0)),
        "players": 2 if network.two_player else 1,
        "components": len(sizes),
        "largest_component": int(sizes.max()),
        "cyclic_components": int(cyclic.sum()),
        "cycle": [_shown(case, network, node) for node in cycle[:6]],
        "end_components": len(np.unique(ends[ends >= 0])),
        "bytes": sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)),
        "solvers": sorted(name for name, cls in available_solvers().items() if need <= cls.features),
        "digest": network.digest,
    }


def _shown(case: Case, network: mdpdice.Network, node: int) -> str:
    state = network.state_of(node)
    return str(network.describe(node)) if state is None else case.look.show_state(state)


def _rows(case: Case, data: dict[str, Any]) -> list[tuple[str, str]]:
    rows = case.rows()
    if data["grid"] is not None:
        core, bound = data["core"], data["bound"]
        rows += [
            ("counters", ", ".join(map(_counter_text, data["counters"]))),
            ("grid", f"{data['grid']:,} points"),
            ("core", f"{core['states']:,} states, {core['nodes']:,} nodes, {core['edges']:,} edges"),
            ("at most", f"{bound['nodes']:,} nodes, {bound['edges']:,} edges, {_bytes(bound['bytes'])} to explore"),
        ]
    if data["refused"] is not None:
        rows.append(("not explored", data["refused"]))
    elif data["states"] is None:
        rows.append(("not explored", "skipped (--before)"))
    memory = f"{_bytes(data['available_bytes'])} available"
    if data["states"] is None:
        return [*rows, ("memory", memory)]
    if data["layers"] is not None:
        layers = f"{data['layers']:,}; solved one after the other, without listing the states"
        rows += [("states", f"{data['states']:,}"), ("edges", f"{data['edges']:,}"), ("layers", layers)]
        return [*rows, ("memory", memory), ("solvers", ", ".join(data["solvers"]))]
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in data["kinds"].items())
    cyclic = data["cyclic_components"]
    rows += [
        ("states", f"{data['states']:,}"),
        ("nodes", f"{data['nodes']:,}: {kinds}"),
        ("edges", f"{data['edges']:,}, at most {data['largest_degree']:,} from one node"),
        ("players", str(data["players"])),
        ("discount", data["discount"]),
        ("components", f"{data['components']:,}, the largest of {data['largest_component']:,} nodes"),
        ("cycles", f"in {cyclic:,} components" if cyclic else "none"),
    ]
    if cyclic:
        more = "" if len(data["cycle"]) < 6 else " -> ..."
        rows.append(("for instance", " -> ".join(map(str, data["cycle"])) + more))
        ends = data["end_components"]
        rows.append(("endless", f"play can stay for ever in {ends:,} end components" if ends else "every play stops"))
    rows += [
        ("memory", f"{_bytes(data['bytes'])} of arrays; {_bytes(data['available_bytes'])} were free"),
        ("solvers", ", ".join(data["solvers"])),
        ("digest", data["digest"][:16]),
    ]
    return rows


def _counter_text(one: dict[str, Any]) -> str:
    if one["flags"]:
        return f"{one['name']} ({one['values'].bit_length() - 1} flags)"
    return f"{one['name']} ({one['from']}..{one['to']}, {one['values']:,} values)"


def _bytes(number: int) -> str:
    size = float(number)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"
