"""Policies as they are named on the command line: ``optimal``, ``random``, one of the game, or a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

import click

import mdpdice
from mdpdice.cli.case import Case, lookahead
from mdpdice.cli.limits import MOST_STATES, limits, most_states
from mdpdice.cli.objectives import refuse_valueless
from mdpdice.cli.routes import large
from mdpdice.cli.text import action_data, named
from mdpdice.errors import GameError, MdpDiceError

Rule: TypeAlias = Callable[[Any], Any]
"""What a player does in a state, or thinks of the actions there."""


def known_names(case: Case) -> str:
    """Return what may be written for a policy of a game, for messages."""
    named = ["optimal", "random", "lookahead:DEPTH", *(known.form for known in case.look.policies())]
    return f"{', '.join(named)}, or a file of 'mdpdice policy {case.name} --save FILE'"


def rule_of(case: Case, name: str) -> Rule | None:
    """Return the rule of a name that the game knows; a `click.UsageError` if what follows the name is wrong."""
    with named():
        return case.look.policy(name)


def search_of(case: Case, name: str) -> mdpdice.Solver | None:
    """Return the solver of ``lookahead:DEPTH``, which searches from every state that it is asked about; else None."""
    if name.partition(":")[0] != "lookahead":
        return None
    if case.horizon is not None:
        raise click.UsageError("lookahead knows no --horizon; ask the optimal player")
    return lookahead(name)


class Looking:
    """Some decisions looked ahead from every state that is asked about, with one table for all."""

    def __init__(self, game: mdpdice.Game[Any, Any], solver: mdpdice.Solver) -> None:
        from mdpdice.policies.playthrough import plain

        self.game = plain(game)
        self.solver = cast("Any", solver)
        self._waiting: list[Any] = []
        self._rows: Iterator[dict[Any, float]] | None = None
        self._known: dict[Any, Any] = {}

    def values(self, state: Any) -> dict[Any, float]:
        """Estimate of every action."""
        rows, self._rows = self._rows, None
        if rows is None:
            rows = self.solver.options(self.game, iter(self._waiting.pop, _NOTHING))
        self._waiting.append(state)
        found = next(rows)
        # Kept only if nothing was raised, which would have ended it.
        self._rows = rows
        return found

    def rule(self, state: Any) -> Any:
        """Return the best action, or a `Dist` of all that look equally good.

        Where no difference is seen the first of them would do as well, but two players who always prefer it may
        hand the turn to each other for ever.
        """
        if state not in self._known:
            values = self.values(state)
            node = cast("Any", self.game.node(state))
            turn = 1.0 if (node.player == 1) == (self.game.sense == "min") else -1.0
            best = max(turn * value for value in values.values())
            room = _EQUAL * max(1.0, abs(best))
            equal = [action for action, value in values.items() if turn * value >= best - room]
            self._known[state] = equal[0] if len(equal) == 1 else mdpdice.Dist(dict.fromkeys(equal, 1))
        return self._known[state]


_NOTHING = object()
_EQUAL = 1e-9
"""Estimates that differ by less than this, relative to ``max(1, |value|)``, differ by rounding."""


def rule_and_ratings(case: Case, name: str) -> tuple[Rule, Rule] | None:
    """Return a named rule, of the game or of looking ahead, and how it rates actions, if it does."""
    if chosen := search_of(case, name):
        looking = Looking(case.game, chosen)
        return looking.rule, looking.values
    rule = rule_of(case, name)
    return None if rule is None else (rule, case.look.ratings(name) or (lambda _: None))


def policy_on(
    case: Case,
    name: str,
    model: mdpdice.Network | mdpdice.Lattice,
    optimum: Callable[[], mdpdice.Policy],
    saved: Callable[[Path], mdpdice.Policy],
) -> mdpdice.Policy:
    """Return a named policy on the network of a game (with its horizon) or its lattice; `optimum` solves it.

    `saved` reads a policy of it from a file.
    """
    if name == "optimal":
        return optimum()
    if name == "random":
        return mdpdice.Policy.uniform(model)
    if (found := rule_and_ratings(case, name)) is not None:
        return mdpdice.Policy.of(model, found[0])
    if not Path(name).is_file():
        raise click.UsageError(f"{case.name} has no policy {name!r}; write {known_names(case)}")
    return saved(Path(name))


def file_policy(case: Case, network: mdpdice.Network, path: Path) -> mdpdice.Policy:
    """Return the policy of a file."""
    return _listed(case, path, network) if path.suffix == ".csv" else mdpdice.Policy.load(path, network)


def _lattice_policy(case: Case, lattice: mdpdice.Lattice, path: Path) -> mdpdice.Policy:
    return mdpdice.Solution.load(path, lattice, epsilon=case.epsilon).policy


def players(
    case: Case, names: Sequence[str], solver: str, max_states: int = MOST_STATES
) -> tuple[mdpdice.Network | mdpdice.Lattice, list[mdpdice.Policy]]:
    """Where a game is played, and the policies of its players by their names."""
    # A policy in a file belongs to the network that 'mdpdice policy' wrote out.
    ordinary = case.objective is None and not any(Path(name).is_file() for name in names)
    kept = case.kept(solver) if ordinary and case.horizon is None else None
    layers = large(case, needs_network=not ordinary) if kept is None else None
    lattice = kept.lattice if kept else layers.lattice if layers else None
    model: mdpdice.Network | mdpdice.Lattice
    if lattice is None:
        model, optimum = _on_network(case, kept, solver, most_states(max_states))
        two, saved = model.two_player, partial(file_policy, case, model)
    else:
        # Rewards that differ stay apart, as totals do; a policy in a file is one of the lattice as it was solved.
        apart = lattice.averaged and not any(Path(name).is_file() for name in names)
        model = spread = mdpdice.compile_lattice(case.game, merge=False) if apart else lattice
        two, optimum = two_players(spread), partial(_optimum_on, case, spread, kept, solver)
        saved = partial(_lattice_policy, case, spread)
    if len(names) == 2 and not two:
        raise click.UsageError(alone(case))
    made = {name: policy_on(case, name, model, optimum, saved) for name in dict.fromkeys(names)}
    return model, [made[name] for name in names]


def _optimum_on(case: Case, lattice: mdpdice.Lattice, kept: mdpdice.Solution | None, solver: str) -> mdpdice.Policy:
    from mdpdice.lattices.digest import same_core

    found = case.answer() if kept is None and solver == "auto" else kept
    if found is None or found.lattice is None or not same_core(found.lattice, lattice):
        found = case.solve(solver, lattice)
    return found.policy


def worth(
    case: Case, names: Sequence[str], model: mdpdice.Network | mdpdice.Lattice, policies: list[mdpdice.Policy]
) -> mdpdice.Solution:
    """Evaluate policies; what a solution does was proved with its value, and with two players for both of them."""
    rule = policies[0].rule
    if len(set(names)) == 1 and isinstance(rule, mdpdice.Solution):
        return rule
    return mdpdice.evaluate(model, policies, epsilon=case.epsilon, progress=case.progress)


def _on_network(
    case: Case, kept: mdpdice.Solution | None, solver: str, most: int
) -> tuple[mdpdice.Network, Callable[[], mdpdice.Policy]]:
    """Return the network of a game under its horizon and objective, and what gives the optimal policy there."""
    # Rewards that differ stay apart, so that the distribution of totals is right.
    network = kept.network if kept else mdpdice.explore(case.game, progress=case.progress, max_states=most)
    if averaged := network.averaged:
        network = mdpdice.explore(case.game, merge=False, progress=case.progress, max_states=most)
    refuse_valueless(case.objective)
    whole, network = case.under(network)

    def optimum() -> mdpdice.Policy:
        import attrs

        asked: dict[str, Any] = {"solver": solver, "epsilon": case.epsilon, "progress": case.progress}
        if (found := kept or case.kept(solver, network=True)) is None:
            found = mdpdice.solve(whole, case.objective, **asked, **limits())
            if not averaged:
                case.keep(found, solver, network=True)
        policy = found.policy.on(network)
        return attrs.evolve(policy, rule=found) if found.proved and found.network is network else policy

    return network, optimum


def two_players(lattice: mdpdice.Lattice) -> bool:
    """Whether two players decide on a lattice."""
    return bool((lattice.sign < 0).any() or (lattice.kind == mdpdice.Kind.MIN).any())


def alone(case: Case) -> str:
    """Return the error about ``--against`` in a game of one player."""
    return f"--against is for two players, and {case.name} has one"


def player_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the policies of the players, as rows for people."""
    return [(key, data[key]) for key in ("policy", "against") if data[key] is not None]


def _listed(case: Case, path: Path, network: mdpdice.Network) -> mdpdice.Policy:
    """Return a policy from the table ``decisions`` of ``mdpdice policy``."""
    chosen: dict[Hashable, str] = {}
    try:
        # Spreadsheets begin their files with a mark.
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{path} is not UTF-8: {error.reason}, byte {error.start}") from error
    with io.StringIO(text, newline="") as file:
        reader = csv.DictReader(file)
        if not {"state", "action"} <= set(reader.fieldnames or ()):
            msg = f"{path} has no columns 'state' and 'action'; write it with mdpdice policy --table decisions --csv"
            raise click.UsageError(msg)
        for number, row in enumerate(reader, start=2):
            if row["state"] is None or row["action"] is None:
                raise click.UsageError(f"{path}, line {number}: it has too few entries")
            try:
                state = case.look.read_state(row["state"])
            except MdpDiceError as error:
                raise click.UsageError(f"{path}, line {number}: {error.message}") from error
            if chosen.setdefault(state, row["action"]) != row["action"]:
                told = f"another action of {row['state']}, {row['action']}, after {chosen[state]}"
                raise click.UsageError(f"{path}, line {number}: {told}")

    def rule(state: Hashable) -> Any:
        actions = [network.action_of(edge) for edge in network.edges(network.node_of(state))]
        for words in (case.look.words, cast("Any", lambda _, action: _old(action_data(action)))):
            found = [action for action in actions if words(state, action) == chosen.get(state)]
            if len(found) == 1:
                return found[0]
        told = repr(chosen[state]) if state in chosen else "nothing"
        known = ", ".join(case.look.words(state, action) for action in actions)
        raise GameError(f"{path} says {told} here; the actions are {known}", state=state)

    return mdpdice.Policy.of(network, rule)


def _old(action: Any) -> str:
    """JSON data of an action as files had it before games had words: ``Keep(points=200, dice=4)``."""
    if isinstance(action, str):
        return action
    if isinstance(action, dict) and len(action) == 1:
        ((name, body),) = action.items()
        if isinstance(body, dict):
            return f"{name}({', '.join(f'{field}={_old(value)}' for field, value in body.items())})"
        return f"{name}.{body}" if isinstance(body, str) else f"{name}({_old(body)})"
    if isinstance(action, list):
        return f"({', '.join(_old(item) for item in action)})"
    return json.dumps(action)
