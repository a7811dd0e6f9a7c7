"""``mdpdice import``: a model from a file of another tool."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import click

import mdpdice
from mdpdice.cli.case import solver_of
from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.options import NewFile, format_option, json_option, sense_option
from mdpdice.cli.text import aligned, named
from mdpdice.cli.values import value_data, value_rows


@command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@format_option
@click.option("--reward", metavar="NAME", help="The reward structure, where the file has several.")
@click.option("--discount", metavar="X", help="Factor per step, as 0.99 or 99/100.")
@click.option("--to", "target", metavar="FILE", type=NewFile(), help="Write the network here, usually .npz.")
@click.option("--solve", "solves", is_flag=True, help="Solve it and prove the answer.")
@click.option("--reach", metavar="LABEL", help="With --solve: the probability of reaching this label.")
@click.option("--until", metavar="LABEL", help="With --solve: the expected reward until reaching this label.")
@click.option("--start", metavar="STATE", help="Where play starts: 3, or with chances 0:1/2,3:1/2.")
@click.option("--tolerance", type=float, metavar="X", help="How far sums of chances may be from 1.  [1e-9]")
@click.option("--exact", is_flag=True, help="Read decimals exactly: 0.1 is 1/10.")
@click.option("--solver", default="auto", help="With --solve: the solver.")
@sense_option
@json_option
def import_(file: str, form: str | None, target: str | None, solves: bool, **options: Any) -> Answer:
    """Read a model from a file of another tool, and show what it holds.

    Formats: npz, drn, prism-explicit (.tra), umb, petsc.

    Exit status: 0 read (and, with --solve, proved), 1 not, 2 wrong usage.
    """
    import attrs

    from mdpdice.formats import Model, find_format, read_file, write_file

    asked = SimpleNamespace(**options)
    reward, discount, sense = asked.reward, asked.discount, asked.sense
    if (asked.reach or asked.until) and not solves:
        raise click.UsageError("--reach and --until go with --solve")
    if asked.reach and asked.until:
        raise click.UsageError("--reach and --until are two questions; ask one")
    with named():
        found = find_format(file, form)
        into = None if target is None else find_format(target, writing=True)
        if discount is not None:
            mdpdice.Discounted(discount)
    begin = None if asked.start is None else _start(asked.start)
    how = {"start": begin, "tolerance": asked.tolerance, "exact": asked.exact or None}
    read = read_file(file, found.name, **{key: value for key, value in how.items() if value is not None})
    data: dict[str, Any] = {"file": file, "format": found.name}
    if isinstance(read, Model):
        if reward is not None and reward not in read.rewards:
            there = ", ".join(map(repr, read.rewards)) or "none"
            raise click.UsageError(f"{file} has no reward structure {reward!r}; it has: {there}")
        data |= {"kind": read.kind, "rewards": list(read.rewards), "labels": list(read.labels)}
        # What does not ask for rewards needs none.
        unpaid = len(read.rewards) > 1 and reward is None and (asked.reach is not None or not (solves or target))
        network = read.network(reward or (next(iter(read.rewards)) if unpaid else None), discount=discount or 1)
    else:
        if reward is not None:
            raise click.UsageError("this format has no named rewards")
        network = read if discount is None else mdpdice.Discounted(discount).apply(read)
    network = network if sense is None else attrs.evolve(network, sense=sense)
    data |= {"states": network.n_states, "nodes": network.n_nodes, "edges": network.n_edges}
    if into is not None and target is not None:
        write_file(network, target, into.name)
        data["written"] = target
    if solves:
        objective = _objective(read, asked.reach, asked.until, sense)
        data |= value_data(mdpdice.solve(network, objective, solver=solver_of(asked.solver)))
    data["notes"] = [*network.warnings]
    return Answer(data, _lines(data, network), not solves or data["value"] is not None)


def _start(text: str) -> dict[int, Fraction]:
    """Return the states of ``3`` or ``0:1/2,3:1/2``, with their chances."""
    found: dict[int, Fraction] = {}
    for part in text.split(","):
        state, colon, chance = part.partition(":")
        with contextlib.suppress(ValueError, ZeroDivisionError):
            found[int(state)] = Fraction(chance) if colon else Fraction(1)
            continue
        raise click.UsageError(f"--start {text}: write a state, or states with chances as 0:1/2,3:1/2")
    return found


def _objective(read: Any, reach: str | None, until: str | None, sense: Any) -> mdpdice.Objective:
    if (label := reach or until) is None:
        return mdpdice.Total(sense)
    if not hasattr(read, "labelled"):
        raise click.UsageError("this format has no labels")
    with named():
        targets = read.labelled(label)
    return mdpdice.Reach(targets, sense=sense) if reach else mdpdice.UntilReward(targets, sense=sense)


def _lines(data: dict[str, Any], network: mdpdice.Network) -> list[str]:
    rows: list[tuple[str, str]] = [("file", f"{data['file']} ({data['format']})")]
    if "kind" in data:
        rows += [("kind", data["kind"]), *((key, ", ".join(data[key]) or "none") for key in ("rewards", "labels"))]
    rows.append(("size", f"{network.n_states:,} states, {network.n_nodes:,} nodes, {network.n_edges:,} edges"))
    if "written" in data:
        rows.append(("written", data["written"]))
    if "value" in data:
        rows += [*value_rows(data), ("solver", data["solver"])]
    return [aligned(rows), *(f"note: {note}" for note in data["notes"])]
