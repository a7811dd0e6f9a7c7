"""What a command is asked: a game with its parameters, what counts in it, and how precisely."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import mdpdice
from mdpdice.cli.limits import limits, most_states
from mdpdice.cli.objectives import read_objective
from mdpdice.cli.text import named
from mdpdice.errors import MdpDiceError, UnknownStateError

if TYPE_CHECKING:
    from mdpdice.cli.catalogue import Found
    from mdpdice.cli.progress_bars import ProgressBars
    from mdpdice.looks import Look
    from mdpdice.modelling.sense import Sense


class Case(NamedTuple):
    """What is asked: a game with its parameters, and how precisely.

    `name` and `pairs` are as on the command line, and `given` are the parameters as JSON data; `found` is the class of
    the `game`.  Where `objective` is None the total counts, in the sense of the game.
    """

    name: str
    pairs: Sequence[str]
    found: Found
    game: mdpdice.Game[Any, Any]
    given: dict[str, Any]
    horizon: int | None
    epsilon: float
    as_json: bool
    progress: ProgressBars
    objective: mdpdice.Objective | None = None
    objective_text: str = "total"
    no_cache: bool = False
    prove: bool = False
    repeated: bool = False
    begins: str | None = None  # the position that the game was moved to

    @property
    def look(self) -> Look[Any]:
        """How the game is shown and spoken of."""
        from mdpdice.looks import look_of

        return look_of(self.game)

    @property
    def sense(self) -> Sense:
        """What the player to move wants."""
        return self.game.sense if self.objective is None else self.objective.wanted(self.game)

    def data(self) -> dict[str, Any]:
        """Return the question as JSON data."""
        asked: dict[str, Any] = {"game": self.name, "parameters": self.given, "horizon": self.horizon}
        asked |= {"repeated": True} if self.repeated else {}
        return {**asked, "objective": self.objective_text, "sense": self.sense}

    def rows(self) -> list[tuple[str, str]]:
        """Return the question as rows for people."""
        from mdpdice.answers.answer import question_text
        from mdpdice.cli.catalogue import summary
        from mdpdice.cli.game_parameters import show

        def quoted(value: Any) -> str:
            text = show(value)
            return f"'{text}'" if " " in text else text

        rows = [("game", f"{self.name}{', repeated' * self.repeated}: {summary(self.found)}".rstrip(": "))]
        if self.given:
            pairs = (f"{key}={quoted(value)}" for key, value in self.given.items())
            rows.append(("parameters", " ".join(pairs)))
        if self.objective is not None or self.sense == "min":
            told = question_text(self.objective_text, self.sense) or "maximise the total"
            rows.append(("objective", told))
        if self.horizon is not None:
            rows.append(("horizon", f"at most {self.horizon} decision{'s' * (self.horizon != 1)}"))
        return rows

    def notes(self, solution: mdpdice.Solution | None = None, *, but: str = "") -> list[str]:
        """Remarks of the game and of its network."""
        warned = () if solution is None else solution.warnings
        return [note for note in [*self.look.notes(), *warned] if note != but]

    def infinite(self) -> str | None:
        """Why the value is infinite, where the rules alone show it."""
        return None if self.horizon is not None else self.look.infinite_reason()

    def under(self, network: mdpdice.Network) -> tuple[mdpdice.Network, mdpdice.Network]:
        """Return a network of the game with the horizon, and with the objective too."""
        network = network if self.horizon is None else mdpdice.Horizon(self.horizon).apply(network)
        return network, network if self.objective is None else self.objective.apply(network)

    def refuse_infinite(self, therefore: str) -> None:
        """Refuse a game of infinite value, and say what follows from that."""
        if reason := self.infinite():
            raise click.ClickException(f"{reason}: {therefore}")

    def position(self, text: str) -> Hashable:
        """Return the state of a text."""
        try:
            state: Hashable = self.look.read_state(text)
            hash(state)
        except MdpDiceError as error:
            raise click.UsageError(error.message) from error
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise click.UsageError(f"{text!r} could not be read as a state: {why}") from error
        return state

    def solve(
        self, solver: str, what: mdpdice.Game[Any, Any] | mdpdice.Network | mdpdice.Lattice | None = None, **more: Any
    ) -> mdpdice.Solution:
        """Solve the game, or instead of it `what`; `more` is for `mdpdice.solve`."""
        asked: dict[str, Any] = {"solver": solver_of(solver), "horizon": self.horizon, "epsilon": self.epsilon}
        asked |= {"progress": self.progress, **limits(), **more}
        if "max_states" in more:
            asked["max_states"] = most_states(more["max_states"])
        return mdpdice.solve(self.game if what is None else what, self.objective, **asked)

    def answer(
        self,
        solver: str = "auto",
        make: Callable[[], mdpdice.Solution] | None = None,
        *,
        network: bool = False,
        **more: Any,
    ) -> mdpdice.Solution:
        """Return the kept answer (see `kept`), or make and keep one: by `make`, else by `solve` with `more`."""
        if (found := self.kept(solver, network=network)) is None:
            found = self.solve(solver, **more) if make is None else make()
            self.keep(found, solver, network=network)
        return found

    def kept(self, solver: str = "auto", *, network: bool = False) -> mdpdice.Solution | None:
        """Return the kept answer, if there is one; with `network` no answer on a lattice, unless that is too large."""
        from mdpdice.solving import kept
        from mdpdice.solving.kept_files import read_kept
        from mdpdice.solving.lattice_route import FALL_BACK_UP_TO_EDGES

        asked: dict[str, Any] = {"objective": self.objective, "horizon": self.horizon, "epsilon": self.epsilon}
        asked |= {"prove": self.prove, "lattice_above": FALL_BACK_UP_TO_EDGES if network else 0}
        for form in (network, not network):
            if (question := self.question(solver=solver, network=form)) is None:
                return None
            found = kept.find(question, functools.partial(read_kept, game=self.game, question=question, **asked))
            if found is not None and found.proved:
                return found
        return None

    def keep(self, solution: mdpdice.Solution, solver: str = "auto", *, network: bool = False) -> None:
        """Keep an answer, if it was proved; with `network` one that stands on a network in any case."""
        from mdpdice.modelling.counters import axes
        from mdpdice.solving import kept
        from mdpdice.solving.kept_files import write_kept
        from mdpdice.solving.lattice_route import FLAT_UP_TO_EDGES

        # A large network of a lattice is explored again for longer than it takes to solve the lattice.
        vast = solution.lattice is None and solution.n_edges > FLAT_UP_TO_EDGES and bool(axes(self.game))
        question = self.question(solver=solver, network=network) if solution.proved and not vast else None
        if question is not None:
            kept.keep(question, lambda path: write_kept(solution, path, self.game, question))

    def findings(self, make: Callable[[], dict[str, Any]], **more: Any) -> dict[str, Any]:
        """Return what `make` makes of a solution, which may have ``tables``; kept under the question `more`."""
        import attrs

        from mdpdice.solving import kept
        from mdpdice.solving.kept_files import read_tables, write_tables

        question = None if self.prove else self.question(**more)
        found = None if question is None else kept.find(question, lambda path: read_tables(path, question))
        if found is not None:
            made = {key: [mdpdice.Table(**one) for one in x] if key == "tables" else x for key, x in found.items()}
            return {**made, "proof": "cached"}
        found = make()
        if question is not None and found["value"] is not None:
            told = {key: [attrs.asdict(one) for one in x] if key == "tables" else x for key, x in found.items()}
            kept.keep(question, lambda path: write_tables(told, path, question))
        return found

    def question(self, **more: Any) -> dict[str, Any] | None:
        """Return what distinguishes a kept answer from all others, `more` included; None where nothing is kept."""
        from mdpdice.solving.kept import folder
        from mdpdice.solving.problem import library_version
        from mdpdice.solving.sources import source_hash

        unkept = self.no_cache or getattr(self.objective, "searched", False)
        if unkept or folder() is None or (sources := source_hash(self.game)) is None:
            return None
        return {
            **self.data(),
            "game": self.name.rpartition(":")[2],
            "class": type(self.game).__qualname__,
            "epsilon": self.epsilon,
            "mdpdice": library_version(),
            "sources": sources,
            "begins": self.begins,
            **more,
        }

    def solve_from(self, solver: str, position: Hashable, known: mdpdice.Solution, **more: Any) -> mdpdice.Solution:
        """Solve the game from a position that play from the start, which is `known`, does not come to."""
        from mdpdice.modelling.counters import axes
        from mdpdice.solving.lattice_route import compile_from, fits_lattices

        if not axes(self.game):
            moved = self._replace(game=self.game.at(position), begins=self.look.show_state(position))
            return moved.answer(solver, **more)
        if solver != "auto" or self.horizon is not None or not fits_lattices(self.game, self.objective):
            return self.solve(solver, self.game.at(position), **more)
        core = getattr(position, "state", position)
        # Rules seldom ask whether they know a label.
        if known.lattice is not None and isinstance(core, str) and core not in known.lattice.states:
            raise UnknownStateError(f"no core state is called {core!r}", value=position)
        there = compile_from(self.game, self.objective, position, progress=self.progress)
        return self.solve(solver, there, **more)


def open_case(
    name: str,
    pairs: Sequence[str],
    *,
    as_json: bool,
    progress: ProgressBars,
    horizon: int | None = None,
    epsilon: float = 1e-6,
    objective: str | None = None,
    sense: Sense | None = None,
    repeated: bool = False,
    **more: Any,
) -> Case:
    """Find a game, give it its parameters, and read what counts in it; `more` is about kept answers."""
    from mdpdice.cli.catalogue import find_game
    from mdpdice.cli.game_parameters import build_game
    from mdpdice.modelling.sense import sense_of, with_sense

    found = find_game(name)
    game, given = build_game(name, found, pairs)
    usual = sense_of(game)
    game = with_sense(game, sense or usual)
    game = mdpdice.repeated(game) if repeated else game
    case = Case(name, pairs, found, game, given, horizon, epsilon, as_json, progress, repeated=repeated, **more)
    asked = read_objective(objective, sense, usual, horizon, case.position)
    if asked.objective is not None and asked.horizon is None and (reason := case.look.infinite_reason()):
        raise click.UsageError(f"{reason}, so no network can be made for another objective; add --horizon")
    return case._replace(horizon=asked.horizon, objective=asked.objective, objective_text=asked.text)


def solver_of(text: str) -> str | mdpdice.Solver:
    """Return the solver of a name, or of ``lookahead:DEPTH``."""
    name, colon, _ = text.partition(":")
    check_solver(name)
    return lookahead(text) if colon else name


def lookahead(text: str) -> mdpdice.Solver:
    """Return the solver of ``lookahead:DEPTH``, or of ``lookahead`` with its usual depth."""
    name, colon, depth = text.partition(":")
    if name != "lookahead" or (colon and not (depth.isdecimal() and int(depth))):
        raise click.UsageError(f"{text}: write lookahead:DEPTH with a positive number of decisions")
    make: Any = mdpdice.load_solver(name)
    return make(depth=int(depth)) if colon else make()  # type: ignore[no-any-return]


def check_solver(name: str) -> None:
    """Reject an unknown solver name and list the known ones."""
    if name == "auto" or name in mdpdice.solver_names():
        return
    with named():  # its message lists the known solvers
        mdpdice.load_solver(name)
