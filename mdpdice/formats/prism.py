"""The PRISM language, which PRISM, PRISM-games and Storm read: a network as one module over a state variable.

Every choice is a command, ``[a1] s=3 -> 1/6 : (s'=0) + 5/6 : (s'=7);``.  Its action says which choice of the state
it is, and so ties the reward to it; the comment behind it is the user's name.  In a game, actions that begin with
``max`` and ``min`` belong to those players.  Numbers are fractions, so nothing is rounded.

A game with counters is written with its variables (`mdpdice.formats.prism_counters`), unless it is explored before.

References
----------
M. Kwiatkowska, G. Norman, D. Parker, G. Santos, "PRISM-games 3.0: Stochastic game verification with
concurrency, equilibria and time", *CAV 2020*, LNCS 12225, 475-487.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, overload

from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.to_network import explore
from mdpdice.formats.exported_model import REWARD, Explicit, choices_of, explicit
from mdpdice.formats.line_reader import Labels, PathLike, number_text, write_lines
from mdpdice.formats.prism_counters import PrismProgram, write_lattice
from mdpdice.formats.prism_program import Command, program_lines
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.counters import axes
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Network


@overload
def write_prism(source: Network, path: PathLike, *, labels: Labels = None) -> Explicit: ...
@overload
def write_prism(source: Lattice, path: PathLike, *, labels: Labels = None) -> PrismProgram: ...
@overload
def write_prism(source: Game[Any, Any], path: PathLike, *, labels: Labels = None) -> Explicit | PrismProgram: ...
def write_prism(
    source: Network | Lattice | Game[Any, Any], path: PathLike, *, labels: Labels = None
) -> Explicit | PrismProgram:
    """Write a game in the PRISM language.

    Parameters
    ----------
    source : Network, Lattice or Game
        A network of one player or of two, which is written state by state as `mdpdice.formats.exported_model`
        describes; or a game with counters or the lattice of one, which is written with the counters as variables
        (`mdpdice.formats.prism_counters`).  A game without counters is explored.
    path : path
        Usually ending in ``.pm``, ``.nm`` or ``.prism``.
    labels : mapping of str to collection of states, optional
        As for `write_drn`, and so are the errors.  With variables these are core states, or `At`.

    Returns
    -------
    Explicit or PrismProgram
        Both have a `property`, the question to ask, and a `shift` to add to the answer.  An `Explicit` gives the value
        of the variable ``s`` for every node of the network, a `PrismProgram` the values of the variables in a state.
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
    commands, rewards = [], []
    for (state, k, name, branches), reward in zip(choices_of(model), model.rewards[REWARD], strict=True):
        # One action for every number, so that the choices of a state differ.
        player = "a" if model.owner is None else "min" if model.owner[state] else "max"
        text = " + ".join(f"{number_text(p, exact=True)} : (s'={to})" for to, p in branches)
        commands.append(Command(f"{player}{k}", f"s={state} -> {text}", name))
        if reward:
            rewards.append(f"[{player}{k}] s={state} : {number_text(reward, exact=True)};")
    labels = {label: [f"s={state}" for state in states] for label, states in model.labels.items()}
    labels.pop("init")
    variables = [f"s : [0..{model.n_states - 1}] init {model.start};"]
    return program_lines("network", model.kind, found.property, found.shift, variables, commands, rewards, labels)
