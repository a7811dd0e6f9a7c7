"""Asking a solver for an answer, refusing what is none, and saying what it cannot do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.backend import Candidate, Run, Solver, calls_recorded
from mdpdice.errors import MdpDiceError, PluginError
from mdpdice.modelling.number import too_large_error
from mdpdice.networks.digest import CANONICAL
from mdpdice.networks.network import Floats, Ints, Network

T = TypeVar("T")

CHECKSUM_FROM_EDGES = 20_000
"""Edges from which a problem is compared by quick sums instead of its digest, before and after a solver had it."""

HUGE = 1e150
"""Reward or payoff from which infinite values are not blamed on a solver: its sums and products overflow."""

_BEFORE: WeakKeyDictionary[Network, object] = WeakKeyDictionary()
"""What networks looked like when they were first solved."""


def propose(network: Network, solver: Solver, run: Run) -> Candidate:
    """Let a solver propose an answer to a canonical problem, and make sure that it keeps its contract."""
    # Those of the library hand the read-only arrays to code that is compiled for such; `check_solver` watches them.
    own = type(solver).__module__.startswith("mdpdice.solvers.")
    if not own and network not in _BEFORE:
        _BEFORE[network] = _fingerprint(network)
    before = None if own else _BEFORE[network]
    try:
        with calls_recorded() as called:
            candidate = answer_of(solver.name, Candidate, lambda: solver.solve(network, run))
    except MdpDiceError as error:
        _refuse_change(network, before, solver.name, error)
        raise
    _refuse_change(network, before, solver.name)
    # A private copy: nobody may change an answer after it was certified.  Those of the library keep none.
    try:
        copy = None if own else True
        value, policy = np.array(candidate.value, copy=copy), np.array(candidate.policy, copy=copy)
    except (TypeError, ValueError) as error:
        msg = f"solver {solver.name!r} returned an invalid answer: {error}"
        raise PluginError(msg, name=solver.name, phase="answer") from error
    # One that ran in a process of its own tells whom it asked there.
    others = frozenset({*called, *candidate.details.get("called", ())} - {solver.name})
    details = {**candidate.details, "called": others}
    return attrs.evolve(candidate, value=value, policy=policy, details=details)


def answer_of(name: str, kind: type[T], ask: Callable[[], T]) -> T:
    """Return what a solver answers when it is asked; that it crashes, or gives something else, is its error."""
    try:
        answer = ask()
    except MdpDiceError:
        raise
    except Exception as error:
        msg = f"solver {name!r} raised {type(error).__name__}: {error}"
        raise PluginError(msg, name=name, phase="solve") from error
    if not isinstance(answer, kind):
        msg = f"solver {name!r} returned {answer!r} instead of a {kind.__name__}"
        raise PluginError(msg, name=name, phase="answer")
    return answer


def _refuse_change(network: Network, before: object, name: str, cause: Exception | None = None) -> None:
    if before is not None and _fingerprint(network) != before:
        msg = (
            f"solver {name!r} changed the problem that it was given; explore the game again, and do without this solver"
        )
        raise PluginError(msg, name=name, phase="solve") from cause


def _fingerprint(network: Network) -> object:
    """Something that changes when an array of the network does: its digest, or sums where that takes long."""
    if network.n_edges < CHECKSUM_FROM_EDGES:
        network.__dict__.pop("digest", None)
        return network.digest
    sums = []
    for name in (*CANONICAL, "numerator"):
        array: NDArray[Any] = getattr(network, name)
        if array.dtype == object or (name == "numerator" and array is network.weight):
            continue
        data = array.view(np.uint8)
        words = data[: len(data) // 8 * 8].view(np.uint64)
        # It changes with every single word, and when two change places.
        weighed = words @ np.arange(1, 2 * len(words), 2, dtype=np.uint64)
        sums.append((name, int(weighed), data[words.nbytes :].tobytes()))
    return sums


def check_candidate(network: Network, value: Floats, policy: Ints, name: str) -> None:
    """Refuse an answer that is not one: wrong shape, NaN, or edges of other nodes."""
    shape = (network.n_nodes,) if network.horizon is None else (network.horizon + 1, network.n_nodes)
    problem = ""
    if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != np.float64:
        problem = f"its value is not a float64 array of shape {shape}"
    elif not isinstance(policy, np.ndarray) or policy.shape != shape or policy.dtype != np.int64:
        problem = f"its policy is not an int64 array of shape {shape}"
    elif not np.isfinite(value).all():
        node = int(np.argwhere(~np.isfinite(value))[0][-1])
        if max(np.abs(network.reward).max(initial=0.0), np.abs(network.payoff).max(initial=0.0)) >= HUGE:
            raise too_large_error().at(network.describe(node))
        problem = f"its value of {network.describe(node)!r} is {value[..., node].ravel()[0]}"
    else:
        rows = policy if network.horizon is None else policy[1:]
        first, last = network.indptr[:-1], network.indptr[1:]
        wrong = network.decides & ~((first <= rows) & (rows < last))
        if wrong.any():
            node = int(np.argwhere(wrong)[0][-1])
            problem = f"its policy takes no edge of the decision {network.describe(node)!r}"
    if problem:
        msg = f"solver {name!r} returned an invalid answer: {problem}"
        raise PluginError(msg, name=name, phase="answer")
