"""What ``mdpdice info`` answers: JSON data first, and from it the text for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdpdice.backend import Feature, available_solvers
from mdpdice.cli.answers import Case, question
from mdpdice.cli.chosen import large
from mdpdice.cli.progress import ProgressBars
from mdpdice.cli.shared import command_words
from mdpdice.cli.text import aligned
from mdpdice.errors import StateLimitError
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.to_network import explore
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.lattices.size import size_bound
from mdpdice.memory import available_bytes
from mdpdice.modelling.counters import axes
from mdpdice.networks.network import Kind, Network
from mdpdice.numerics import graph
from mdpdice.solving.problem import prepare

__all__ = ["informed", "informed_text"]

NOT_EXPLORED = dict.fromkeys(
    (
        *("states", "nodes", "edges", "kinds", "players", "components", "largest_component", "bytes"),
        *("cyclic_components", "cycle", "end_components", "largest_degree", "layers", "solvers", "digest"),
    )
)


def informed(case: Case, max_states: int, *, explores: bool) -> dict[str, Any]:
    """The answer of ``mdpdice info`` as JSON data."""
    game = case.game
    data: dict[str, Any] = {
        **case.data(),
        "counters": [],
        "grid": None,
        "core": None,
        "bound": None,
        "available_bytes": available_bytes(),
        "discount": str(game.discount),
        "refused": case.infinite(),
        **NOT_EXPLORED,
    }
    for key in ("horizon", "objective", "sense"):
        del data[key]
    if data["refused"] is not None:
        return data
    with ProgressBars() as progress:
        found = axes(game)
        lattice = None
        if found:
            lattice = compile_lattice(game, max_states=max_states, progress=progress)
            nodes, edges, size = size_bound(lattice)
            data["counters"] = [
                {
                    "name": axis.name,
                    "values": len(axis.values),
                    "from": axis.values[0],
                    "to": axis.values[-1],
                    "flags": bool(axis.flags),
                }
                for axis in found
            ]
            data["grid"] = lattice.size
            data["core"] = {
                "states": len(lattice.states),
                "nodes": len(lattice.kind),
                "edges": len(lattice.dst),
            }
            data["bound"] = {"nodes": nodes, "edges": edges, "bytes": size}
        if explores:
            try:
                layers = large(case, progress, lattice)
                if layers is not None:
                    data |= _on_lattice(layers)
                else:
                    network = explore(game, max_states=max_states, progress=progress, lattice=lattice)
                    data |= _structure(case, network)
            except StateLimitError as error:
                data["refused"] = command_words(error.message)
    return data


def _on_lattice(layers: Layers) -> dict[str, Any]:
    """What is told of a game that `solve` does not write out."""
    need = {Feature.LATTICE, Feature.CYCLIC} if layers.cyclic else {Feature.LATTICE}
    return {
        "states": layers.states,
        "edges": layers.edges,
        "layers": len(layers.layers),
        "solvers": sorted(name for name, cls in available_solvers().items() if need <= cls.features),
    }


def _structure(case: Case, network: Network) -> dict[str, Any]:
    count = np.bincount(network.kind, minlength=4)
    taken = network.weight > 0
    label = graph.strong_components(network.indptr, network.dst, taken)
    sizes = np.bincount(label)
    cyclic = graph.cyclic_components(network.indptr, network.dst, label, taken)
    cycle = graph.find_cycle(network.indptr, network.dst, taken) if cyclic.any() else []
    chance = network.kind == Kind.CHANCE
    ends = graph.end_components(network.indptr, network.dst, chance, taken)
    need = prepare(network).needs()
    return {
        "states": network.n_states,
        "nodes": network.n_nodes,
        "edges": network.n_edges,
        "kinds": {kind.name: int(count[kind]) for kind in Kind if count[kind]},
        "largest_degree": int(np.diff(network.indptr).max(initial=0)),
        "players": 2 if network.two_player else 1,
        "components": len(sizes),
        "largest_component": int(sizes.max()),
        "cyclic_components": int(cyclic.sum()),
        "cycle": [_shown(case, network, node) for node in cycle[:6]],
        "end_components": len(np.unique(ends[ends >= 0])),
        "bytes": sum(
            getattr(network, name).nbytes
            for name in (
                *("kind", "indptr", "dst", "weight", "reward", "sign", "step", "payoff"),
                *("numerator", "state_node", "node_state"),
            )
        ),
        "solvers": sorted(
            name for name, cls in available_solvers().items() if need <= cls.features | {Feature.HORIZON}
        ),
        "digest": network.digest,
    }


def _shown(case: Case, network: Network, node: int) -> str:
    state = network.state_of(node)
    return str(network.describe(node)) if state is None else case.game.show_state(state)


def informed_text(case: Case, data: dict[str, Any]) -> str:
    """The answer of ``mdpdice info`` for people."""
    rows = question(case)
    if data["grid"] is not None:
        counters = ", ".join(_counter(one) for one in data["counters"])
        core, bound = data["core"], data["bound"]
        rows += [
            ("counters", counters),
            ("grid", f"{data['grid']:,} points"),
            ("core", f"{core['states']:,} states, {core['nodes']:,} nodes, {core['edges']:,} edges"),
            (
                "at most",
                f"{bound['nodes']:,} nodes, {bound['edges']:,} edges, {_bytes(bound['bytes'])} to explore",
            ),
        ]
    if data["refused"] is not None:
        rows.append(("not explored", data["refused"]))
    elif data["states"] is None:
        rows.append(("not explored", "as you asked"))
    memory = f"{_bytes(data['available_bytes'])} are there"
    if data["states"] is None:
        return aligned([*rows, ("memory", memory)])
    if data["layers"] is not None:
        rows += [
            ("states", f"{data['states']:,}"),
            ("edges", f"{data['edges']:,}"),
            ("layers", f"{data['layers']:,}; solved one after the other, and never written out"),
            ("memory", memory),
            ("solvers", ", ".join(data["solvers"])),
        ]
        return aligned(rows)
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
        rows.append(
            ("endless", f"play can stay for ever in {ends:,} end components" if ends else "every play stops")
        )
    rows += [
        ("memory", f"{_bytes(data['bytes'])} of arrays; {_bytes(data['available_bytes'])} were free"),
        ("solvers", ", ".join(data["solvers"])),
        ("digest", data["digest"][:16]),
    ]
    return aligned(rows)


def _counter(one: dict[str, Any]) -> str:
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
