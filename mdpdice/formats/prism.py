"""The PRISM language, which PRISM, PRISM-games and Storm read: a network as one module over a state variable.

Every choice is a command, ``[a3_1] s=3 -> 1/6 : (s'=0) + 5/6 : (s'=7);``, with an action of its own to which
its reward is
tied; the comment behind it is the user's name.  In a game, actions that begin with ``max`` and
``min`` belong to those players.  Numbers are fractions, so nothing is rounded.

A game with counters is written with its variables (`mdpdice.formats.prism_counters`), unless it is explored before.

References
----------
M. Kwiatkowska, G. Norman, D. Parker, G. Santos, "PRISM-games 3.0: Stochastic game verification with
concurrency, equilibria and time",
*CAV 2020*, LNCS 12225, 475-487.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, overload

from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.to_network import explore
from mdpdice.formats.exported_model import REWARD, Explicit, Model, choice_names, explicit
from mdpdice.formats.line_reader import number_text, write_lines
from mdpdice.formats.prism_counters import PrismProgram, write_lattice
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.counters import axes
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Network

__all__ = ["write_prism"]


@overload
def write_prism(
    source: Network,
    path: str | os.PathLike[str],
    *,
    labels: Mapping[str, Iterable[Hashable]] | None = None,
) -> Explicit: ...
@overload
def write_prism(
    source: Lattice,
    path: str | os.PathLike[str],
    *,
    labels: Mapping[str, Iterable[Hashable]] | None = None,
) -> PrismProgram: ...
@overload
def write_prism(
    source: Game[Any, Any],
    path: str | os.PathLike[str],
    *,
    labels: Mapping[str, Iterable[Hashable]] | None = None,
) -> Explicit | PrismProgram: ...
def write_prism(
    source: Network | Lattice | Game[Any, Any],
    path: str | os.PathLike[str],
    *,
    labels: Mapping[str, Iterable[Hashable]] | None = None,
) -> Explicit | PrismProgram:
    """Write a game in the PRISM language.

    Parameters
    ----------
    source : Network, Lattice or Game
        A network of one player or of two, which is written state by state as `mdpdice.formats.exported_model`
        describes; or a
        game with counters or the lattice of one, which is written with the counters as variables
        (`mdpdice.formats.prism_counters`).  A game without counters is explored.
    path : path
        By custom it ends in ``.pm``, ``.nm`` or ``.prism``.
    labels : mapping of str to collection of states, optional
        Labels to give besides ``init``, ``end`` and ``done``.  With variables these are core states, or `At`.

    Returns
    -------
    Explicit or PrismProgram
        Both have a `property`, the question to ask, and a `shift` to add to the answer.  An `Explicit` tells which
        value of the variable ``s`` every node of the network is, a `PrismProgram` the values of the variables in
        a state.

    Raises
    ------
    UnsupportedError
        A number is too long.
    UnknownStateError
        A state of a label is not there.
    GameError
        A label has a name that the language does not allow.
    """
    if isinstance(source, Game):
        source = compile_lattice(source) if axes(source) else explore(source)
    if isinstance(source, Lattice):
        return write_lattice(source, path, labels=labels)
    found = explicit(source, labels=labels)
    write_lines(path, _lines(found))
    return found


def _lines(found: Explicit) -> Iterator[str]:
    model = found.model
    yield "// Exported by mdpdice"
    yield f"// The value of the game is that of {found.property}"
    if found.shift:
        yield f"// plus {found.shift}: the sides share {2 * found.shift}, and here their payoffs sum to 0"
    yield model.kind
    yield ""
    if model.kind == "smg":
        yield from _players(model)
    yield from _module(model)
    yield ""
    yield f'rewards "{REWARD}"'
    for choice, (state, k) in enumerate(_places(model)):
        if model.rewards[REWARD][choice]:
            reward = number_text(model.rewards[REWARD][choice], exact=True)
            yield f"  [{_action(model, state, k)}] s={state} : {reward};"
    yield "endrewards"
    yield ""
    for label, states in model.labels.items():
        if label != "init":  # that one is PRISM's own
            yield f'label "{label}" = {" | ".join(f"s={state}" for state in states) or "false"};'


def _places(model: Model) -> Iterator[tuple[int, int]]:
    """State of every choice, and its number there."""
    choice_ptr = model.choice_ptr.tolist()
    for state in range(model.n_states):
        for choice in range(choice_ptr[state], choice_ptr[state + 1]):
            yield state, choice - choice_ptr[state]


def _action(model: Model, state: int, k: int) -> str:
    """Action of a choice; one for every number, so that the choices of a state differ."""
    if model.owner is None:
        return f"a{k}"
    return f"{'min' if model.owner[state] else 'max'}{k}"


def _players(model: Model) -> Iterator[str]:
    actions = dict.fromkeys(_action(model, state, k) for state, k in _places(model))
    for player in ("maximiser", "minimiser"):
        yield f"player {player}"
        yield f"  {', '.join(f'[{action}]' for action in actions if action.startswith(player[:3]))}"
        yield "endplayer"
    yield ""


def _module(model: Model) -> Iterator[str]:
    yield "module network"
    yield f"  s : [0..{model.n_states - 1}] init {model.start};"
    branch_ptr, target = model.branch_ptr.tolist(), model.target.tolist()
    names = choice_names(model)
    for choice, (state, k) in enumerate(_places(model)):
        branches = " + ".join(
            f"{number_text(model.probability[at], exact=True)} : (s'={target[at]})"
            for at in range(branch_ptr[choice], branch_ptr[choice + 1])
        )
        note = f" // {names[choice]}" if names[choice] else ""
        yield f"  [{_action(model, state, k)}] s={state} -> {branches};{note}"
    yield "endmodule"
