"""What a solver is, how it is found, and what it hands back.

A solver is a frozen attrs class whose fields are its parameters.  It gets one canonical `Network` (maximise, zero-sum,
objective already lowered) and proposes a `Candidate`; it never decides whether its answer is right.

Solvers are found through the entry-point group ``mdpdice.solvers``, the built-in ones too, and loaded on first use.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast, runtime_checkable

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.errors import GameError, MdpDiceError, PluginError, SolveInterrupted, UnsupportedError
from mdpdice.spelling import did_you_mean

if TYPE_CHECKING:
    from mdpdice.modelling.game import Game
    from mdpdice.networks.network import Network
    from mdpdice.solving.checkpoints import Checkpoint

GROUP = "mdpdice.solvers"

Progress = Callable[[str, Mapping[str, float]], None]
"""Called with the name of a phase (``"explore"``, ``"solve"``) and numbers that show how far it is."""


class Feature(enum.Enum):
    """What a solver can do beyond one player on an acyclic undiscounted network."""

    CYCLIC = "cyclic networks"
    TWO_PLAYER = "two players"
    DISCOUNT = "a discount"
    HORIZON = "a horizon"
    EXACT = "exact rational answers"
    CHECKPOINT = "checkpoints"


def needs(what: str, holds: Callable[[Any], bool]) -> Callable[[object, attrs.Attribute[Any], Any], None]:
    """Return a validator for a parameter of a solver, whose errors are those of this library.

    It is `what` says, ``"a number of at least 1"``, if `holds` is true of it; what that cannot even compare is not.
    """

    def check(_: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        try:
            good = bool(holds(value))
        except (TypeError, ValueError):
            good = False
        if not good:
            raise GameError(f"{attribute.name}={value!r}: it is {what}", value=value)

    return check


def at_least(least: float) -> Callable[[object, attrs.Attribute[Any], Any], None]:
    """Return the validator `needs` of a number that is not below another one."""
    return needs(f"a number of at least {least}", lambda x: x >= least)


class Alone(contextlib.AbstractContextManager["Alone"]):
    """The process that solves a lattice by itself: what `mdpdice.solving.team.Team` is to several."""

    rank, size, local = 0, 1, 1  # its number among all, how many there are, and how many on this machine

    folder: str | None = None  # where common memory lies on disk

    def __exit__(self, *_: object) -> None:
        pass

    def room(self, shape: tuple[int, ...], checkpoint: Checkpoint | None) -> NDArray[np.float64]:
        """Return an array of NaN that all processes of a machine have in common."""
        values = np.empty(shape) if checkpoint is None else checkpoint.room(shape)
        values.fill(np.nan)
        return values

    def marks(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return an array of False that all processes of a machine have in common."""
        return np.zeros(shape, dtype=np.bool_)

    def merge(self, marks: NDArray[np.bool_], points: NDArray[np.int64] | slice) -> None:
        """Mark at some points what any process had marked there when all last met."""

    def share(self, length: int, turn: int = 0) -> tuple[int, int, NDArray[np.int16]]:
        """Return from where to where this process takes points of a layer, and which process takes every point."""
        return 0, length, np.zeros(length, dtype=np.int16)

    def together(self) -> contextlib.AbstractContextManager[None]:
        """Leave the block together: what one process raises there, or raised before it came there, all of them do."""
        return contextlib.nullcontext()

    def exchange(self, values: NDArray[np.float64], points: NDArray[np.int64], owner: NDArray[np.int16]) -> None:
        """Give each other the values of a layer; `owner` tells who solved which point."""

    def handed(self, make: Callable[[], Mapping[str, NDArray[Any]] | None]) -> Mapping[str, NDArray[Any]] | None:
        """Return what `make` gives the first process, to all of them."""
        return make()

    def takes(self, number: int, points: NDArray[np.int64]) -> int:
        """Return in which turn this process verifies some points; 0 if it does not."""
        return 1

    def joined(self, found: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the largest numbers that any process found; NaN is larger than all."""
        return found


@attrs.frozen
class Run:
    """The circumstances of one solve: what to aim at, whom to tell, when to stop."""

    tolerance: float = attrs.field(default=1e-9, validator=at_least(0))
    """Relative width, ``tolerance * max(1, |value|)``, that the answer should be certifiable to."""
    progress: Progress | None = None  #: whom to tell, see `Progress`
    deadline: float | None = None  #: latest moment on the clock of `time.monotonic`, in seconds
    cancel: threading.Event = attrs.field(factory=threading.Event)
    """Set by another thread or a signal handler to stop the solve."""
    on_limit: str = attrs.field(
        default="raise", validator=needs("'raise' or 'partial'", lambda x: x in ("raise", "partial"))
    )
    """What to do when an iteration limit comes first: "raise" or "partial"."""
    checkpoint: Checkpoint | None = None  #: where to keep the state of a long solve; see `resume` and `save`
    team: Alone = attrs.field(factory=Alone, repr=False)  #: the processes that share the work on a lattice
    _offers: list[Callable[[], Candidate]] = attrs.field(factory=list, init=False, repr=False, eq=False)

    def check(self, partial: Candidate | None = None) -> None:
        """Raise `SolveInterrupted` if the solve was cancelled or is out of time, with what was offered or `partial`."""
        late = self.deadline is not None and time.monotonic() > self.deadline
        if late or self.cancel.is_set():
            msg = "the solve ran into its deadline" if late else "the solve was cancelled"
            with contextlib.suppress(Exception):  # an offer that fails must not hide why the solve stops
                partial = self.offered() if partial is None else partial
            raise SolveInterrupted(msg, partial=partial)

    def watch(self, phase: str, numbers: Mapping[str, float]) -> None:
        """Check the time and report progress: the `progress` of exploring, before a solver runs."""
        try:
            self.check()
        except SolveInterrupted as error:
            error.message += " before a solver started"
            raise
        self.tell(phase, **numbers)

    def offer(self, make: Callable[[], Candidate]) -> None:
        """Say what to return if the solve is stopped: `make` gives the candidate so far.

        It may be asked in the middle of any line; unknown values are NaN, and decisions that are not made -1.
        """
        self._offers[:] = [make]

    def offered(self) -> Candidate | None:
        """Return the candidate so far, if the solver has offered one."""
        return self._offers[0]() if self._offers else None

    def resume(self, arrays: Mapping[str, NDArray[Any]]) -> bool:
        """Fill arrays, of int64 or float64, with the state of an earlier solve, if there is one; say whether there is.

        They are all of its state, so that it goes on as if it had not been stopped.  No float is NaN then; if the
        numbers make no sense, which is for the solver to find out, it raises ``run.checkpoint.corrupt(field, what)``.
        """
        return self.checkpoint is not None and self.checkpoint.resume(arrays)

    def save(self, arrays: Mapping[str, NDArray[Any]], iterations: int, *, now: bool = False) -> None:
        """Keep the state of the solve, if it is time to (or `now`, because the solve is stopped)."""
        if self.checkpoint is not None and (now or self.checkpoint.due()):
            self.checkpoint.put("state", arrays, iterations)

    def steps(self) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Iterate over what an earlier solve kept with `step`, before the first one is kept."""
        return iter(()) if self.checkpoint is None else self.checkpoint.steps("steps")

    def step(self, make: Callable[..., Mapping[str, NDArray[Any]]], *arguments: Any) -> None:
        """Keep one more step of the solve, the arrays that `make` gives, which do not change any more."""
        if self.checkpoint is not None:
            self.checkpoint.add("steps", make(*arguments))

    def tell(self, phase: str, **numbers: float) -> None:
        """Report progress, if a callback is set."""
        if self.progress is not None:
            self.progress(phase, numbers)


@attrs.frozen(eq=False)
class Candidate:
    """A proposal of a solver.

    Parameters
    ----------
    value : ndarray of float64, shape (N,), or (horizon + 1, N) with a horizon
        Claimed optimal value of every node, in payoff units.  Row ``k`` holds the values with ``k`` decisions left.
    policy : ndarray of int64, the same shape
        Chosen edge at decision nodes (an index into `Network.dst`), -1 elsewhere and in row 0.
    iterations : int
        Sweeps, pivots or whatever the solver counts.
    details : mapping
        Anything more, by name: bounds, duals, occupation measure.
    """

    value: NDArray[np.float64]
    policy: NDArray[np.int64]
    iterations: int = 0
    details: Mapping[str, Any] = attrs.field(factory=dict)


Solve = TypeVar("Solve", bound=Callable[..., "Candidate"])

# Of all threads: a solver may ask another one in a thread of its own.
_records: dict[int, set[str]] = {}


def traced(solve: Solve) -> Solve:
    """Decorate the `solve` of a solver so that a cross-check can tell who calls whom.

    A solver that asks another one for its answer is no second opinion, nor is one that inherits its `solve`.
    """

    @functools.wraps(solve)
    def recorded(self: Any, problem: Network, run: Run) -> Candidate:
        names = {self.name, *(cls.name for cls in ancestors(self) if vars(cls)["solve"] is recorded)}
        record(names)
        return solve(self, problem, run)

    return cast(Solve, recorded)


def record(names: Iterable[str]) -> None:
    """Tell the cross-checks that are running whose answers were asked for."""
    for calls in list(_records.values()):
        calls.update(names)


def ancestors(solver: object) -> list[Any]:
    """Solvers that the class of one is made of, itself among them."""
    parts = [cls for cls in type(solver).__mro__ if "solve" in vars(cls)]
    return [cls for cls in parts if isinstance(getattr(cls, "name", None), str)]


@contextmanager
def calls_recorded() -> Iterator[set[str]]:
    """Collect the names of the solvers that are asked while the block runs, in whatever thread."""
    calls: set[str] = set()
    _records[id(calls)] = calls
    try:
        yield calls
    finally:
        del _records[id(calls)]


@runtime_checkable
class Solver(Protocol):
    """The protocol of a solver: a frozen attrs class whose fields are its parameters."""

    name: ClassVar[str]
    features: ClassVar[frozenset[Feature]]

    @classmethod
    def available(cls) -> bool:
        """Whether it can run here; cheap, imports nothing heavy."""
        ...

    def solve(self, problem: Network, run: Run) -> Candidate:
        """Propose a value and a policy for a canonical problem."""
        ...


class AlwaysAvailable:
    """A solver that needs nothing beyond what mdpdice itself needs."""

    __slots__ = ()

    @classmethod
    def available(cls) -> bool:
        """Whether it can run here: always."""
        return True


@attrs.frozen(eq=False)
class Searched:
    """What a solver found that looks at a game without exploring it."""

    network: Network  # the part of the game that the answer speaks of
    candidate: Candidate  # value and policy of its nodes
    lower: NDArray[np.float64]  # shape (N,): bounds that the search claims; nobody else has checked them
    upper: NDArray[np.float64]
    reason: str  # what the answer rests on


@runtime_checkable
class GameSolver(Solver, Protocol):
    """The protocol of a solver that takes the game itself, where that is too large to explore.

    Its answers are estimates, so it is asked by name only.  Its `solve` raises `UnsupportedError`.
    """

    def search(self, game: Game[Any, Any], run: Run) -> Searched:
        """Look at the part of a game round its start."""
        ...


def _entry_points() -> dict[str, EntryPoint]:
    return registered(entry_points, GROUP, tuple(sys.path))


@functools.lru_cache(maxsize=8)
def registered(look: Callable[..., Any], group: str, _path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Read the entry points by name, once: the metadata of all that is installed take longer than a small solve.

    Those of the library come first: nobody takes their names over.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(look(group=group), key=lambda p: not p.value.startswith("mdpdice.")):
        if found.setdefault(point.name, point).value != point.value:
            what = group.removeprefix("mdpdice.").removesuffix("s")
            message = f"{what} {point.name!r} is registered twice; {point.value} is left out"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
    return found


def solver_names() -> list[str]:
    """Names of the registered solvers, in alphabetical order, without loading them."""
    return sorted(_entry_points())


def load_solver(name: str) -> type[Solver]:
    """Class of a solver by name.

    Parameters
    ----------
    name : str
        One of `solver_names`.

    Raises
    ------
    UnsupportedError
        No solver has that name; the message lists the known ones and what each can do.
    PluginError
        It is registered but cannot be loaded, or is not a solver.
    """
    points = _entry_points()
    if name not in points:
        there = "; ".join(_describe(point) for point in points.values())
        msg = f"no solver is called {name!r}; {did_you_mean(name, points)}installed are: {there}"
        raise UnsupportedError(msg, value=name)
    try:
        cls = points[name].load()
    except Exception as error:
        msg = f"solver {name!r} could not be loaded from {points[name].value}: {error}"
        raise PluginError(msg, name=name, phase="load") from error
    if missing := _missing_parts(cls):
        raise PluginError(f"{name!r} is not a solver: it lacks {', '.join(missing)}", name=name, phase="load")
    solver: type[Solver] = cls
    return solver


def _missing_parts(solver: object) -> list[str]:
    return [part for part in ("name", "features", "available", "solve") if not hasattr(solver, part)]


def check_named_or_made(solver: object) -> None:
    """Refuse what is neither the name of a solver nor a solver; the `UnsupportedError` says what to write."""
    if not isinstance(solver, str) and (isinstance(solver, type) or _missing_parts(solver)):
        msg = f"solver={solver!r} is not a solver; write the name of one, or one with parameters: ValueIteration()"
        raise UnsupportedError(msg, value=solver)


def _describe(point: EntryPoint) -> str:
    try:
        features = sorted(feature.value for feature in point.load().features)
    except Exception as error:  # noqa: BLE001 - a broken plug-in must not hide the others
        return f"{point.name} (broken: {error})"
    return f"{point.name} ({', '.join(features) or 'acyclic networks of one player'})"


def available_solvers() -> dict[str, type[Solver]]:
    """Every solver of networks that loads and can run here; a broken plug-in warns and is left out.

    A `GameSolver` is not among them.
    """
    found: dict[str, type[Solver]] = {}
    for name in solver_names():
        try:
            cls = load_solver(name)
            if cls.available() and not hasattr(cls, "search"):
                found[name] = cls
        except MdpDiceError as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
        except Exception as error:  # noqa: BLE001 - the code of a plug-in can raise anything
            warnings.warn(f"solver {name!r} failed in available(): {error!r}", RuntimeWarning, stacklevel=2)
    return found


def needed_features(problem: Network, *, cyclic: bool) -> frozenset[Feature]:
    """Features that a solver must have for a canonical problem; whether it has cycles is for the caller to find."""
    need = {
        Feature.CYCLIC: cyclic,
        Feature.TWO_PLAYER: problem.two_player,
        Feature.DISCOUNT: problem.discount < 1,
        Feature.HORIZON: problem.horizon is not None,
    }
    return frozenset(feature for feature, needed in need.items() if needed)
