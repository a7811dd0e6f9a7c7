"""Who plays: everything that answers "what do you do here?", as policies, and where they play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.backend import Progress, Run
from mdpdice.errors import GameError, MdpDiceError
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.to_network import explore
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.counters import At
from mdpdice.modelling.distribution import Dist
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Network
from mdpdice.solving.lattice_route import fits_lattices, large_layers
from mdpdice.spelling import did_you_mean

__all__ = ["Player", "Players", "answers_of", "model_of", "policies_of"]

Player: TypeAlias = "Policy | Solution | Callable[[Any], Any] | str"
"""A policy, a solution (its policy), a function of the state, or a name that the game knows."""
Players: TypeAlias = "Player | Sequence[Player]"
"""One for all decisions, or one per player: the first belongs to the one who moves first (with `pass_to`), or
maximises (with MIN nodes)."""


def policies_of(game: object, given: Players) -> tuple[Policy, ...]:
    """One policy for all decisions, or one for each player.

    Parameters
    ----------
    game : Game, Network or Lattice
        What is played; only a game knows names, ``"random"`` apart.
    given : Player or sequence of one or two

    Raises
    ------
    GameError
        It is no policy, or the game does not know the name.
    """
    both = (given,) if isinstance(given, str) or not isinstance(given, Sequence) else tuple(given)
    if not 1 <= len(both) <= 2:
        msg = f"a game has one or two players, not {len(both)}"
        raise GameError(msg, value=len(both))
    return tuple(_policy(game, one) for one in both)


def _policy(game: object, given: object) -> Policy:
    if isinstance(given, Policy):
        return given
    if isinstance(given, Solution):
        return given.policy
    if isinstance(given, str):
        return _named(game, given)
    if callable(given):
        return Policy(rule=given)
    msg = f"{given!r} is no policy; give a Policy, a Solution, a function of the state, or a name that the game knows"
    raise GameError(msg, value=given)


def _named(game: object, name: str) -> Policy:
    if name == "random":
        return Policy()
    rule = game.named_policy(name) if isinstance(game, Game) else None
    if rule is not None:
        return Policy(rule=rule)
    known = ["random", *(game.policy_names() if isinstance(game, Game) else ())]
    hint = did_you_mean(name, known)
    what = "this game knows" if isinstance(game, Game) else f"a {type(game).__name__} knows"
    msg = f"there is no policy {name!r}; {hint}{what} {', '.join(map(repr, known))}"
    raise GameError(msg, value=name)


def model_of(
    game: Game[Any, Any] | Network | Lattice,
    policies: Sequence[Policy] = (),
    *,
    merge: bool = True,
    progress: Progress | None = None,
) -> Network | Lattice:
    """Where a game is played: on its network, or on its lattice where that is too large.

    Parameters
    ----------
    game : Game, Network or Lattice
        A network or a lattice is taken as it is.
    policies : sequence of Policy
        A policy of a network is played on a network.
    merge : bool
        Whether parallel edges with different rewards are merged into their mean.
    progress : callable, optional
        As for `mdpdice.explore`.
    """
    if isinstance(game, Network | Lattice):
        return game
    if not isinstance(game, Game):
        msg = f"{game!r} is neither a Game nor a Network; a class needs to be called: MyGame()"
        raise GameError(msg, value=game)
    lattice = None
    if all(policy.is_rule for policy in policies) and fits_lattices(game, None):
        lattice = compile_lattice(game, progress=progress)
        if large_layers(lattice, None, Run(progress=progress)) is not None:
            return lattice if merge or not lattice.averaged else compile_lattice(game, merge=False)
    network = explore(game, progress=progress, lattice=lattice)
    return network if merge or not network.averaged else explore(game, merge=False, progress=progress)


def answers_of(policy: Policy) -> Callable[[At[Any]], Any]:
    """The function that a policy is: of a state it gives an action, a `Dist`, or what a rule gives otherwise.

    Parameters
    ----------
    policy : Policy
        Not the one that chooses at random.
    """
    rule = policy.rule
    function = rule.action if isinstance(rule, Solution) else rule

    def answer(state: At[Any]) -> Any:
        try:
            return Dist(policy.probabilities(state)) if function is None else function(state)
        except MdpDiceError as error:
            raise error.at(state) from error.__cause__
        except Exception as error:
            msg = f"the policy raised {type(error).__name__}: {error}"
            raise GameError(msg, state=state) from error

    return answer
