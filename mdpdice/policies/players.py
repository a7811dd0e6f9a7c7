"""Who plays: everything that answers "what do you do here?", as policies, and where they play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.backend import Progress, Run
from mdpdice.errors import GameError
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.to_network import explore
from mdpdice.lattices.lattice import Lattice
from mdpdice.looks.look import look_of
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Network
from mdpdice.solving.lattice_route import fits_lattices, large_layers
from mdpdice.spelling import did_you_mean

Player: TypeAlias = "Policy | Solution | Callable[[Any], Any] | str"
"""A policy, a solution (its policy), a function of the state, or a name that the game knows."""
Players: TypeAlias = "Player | Sequence[Player]"
"""One for all decisions, or one per player: the first belongs to the one who moves first (with `pass_to`), or
maximises (with MIN nodes)."""


def policies_of(game: object, given: Players) -> tuple[Policy, ...]:
    """One policy for all decisions, or one for each player; only a game knows names, ``"random"`` apart."""
    both = (given,) if isinstance(given, str) or not isinstance(given, Sequence) else tuple(given)
    if not 1 <= len(both) <= 2:
        raise GameError(f"a game has one or two players, not {len(both)}", value=len(both))
    return tuple(_policy(game, one) for one in both)


def _policy(game: object, given: object) -> Policy:
    if isinstance(given, Policy):
        return given
    if isinstance(given, Solution):
        return given.policy
    if callable(given):
        return Policy(rule=given)
    if not isinstance(given, str):
        able = "a Policy, a Solution, a function of the state, or a name that the game knows"
        raise GameError(f"{given!r} is not a policy; give {able}", value=given)
    if given == "random":
        return Policy()
    look = look_of(game) if isinstance(game, Game) else None
    rule = None if look is None else look.policy(given)
    if rule is not None:
        return Policy(rule=rule)
    known = ["random", *(known.form for known in (look.policies() if look else ()))]
    hint = did_you_mean(given, known)
    what = "this game knows" if isinstance(game, Game) else f"a {type(game).__name__} knows"
    raise GameError(f"there is no policy {given!r}; {hint}{what} {', '.join(map(repr, known))}", value=given)


def model_of(
    game: Game[Any, Any] | Network | Lattice,
    policies: Sequence[Policy] = (),
    *,
    merge: bool = True,
    progress: Progress | None = None,
) -> Network | Lattice:
    """Where a game is played: on its network, or on its lattice where that is too large.

    A network or a lattice is taken as it is, and a policy of a network is played on a network.  With `merge` parallel
    edges with different rewards are merged into their mean.
    """
    if isinstance(game, Network | Lattice):
        return game
    if not isinstance(game, Game):
        raise GameError(f"{game!r} is neither a Game nor a Network; a class needs to be called: MyGame()", value=game)
    lattice = None
    if all(policy.is_rule for policy in policies) and fits_lattices(game, None):
        lattice = compile_lattice(game, progress=progress)
        if large_layers(lattice, None, Run(progress=progress)) is not None:
            return lattice if merge or not lattice.averaged else compile_lattice(game, merge=False)
    network = explore(game, progress=progress, lattice=lattice)
    return network if merge or not network.averaged else explore(game, merge=False, progress=progress)
