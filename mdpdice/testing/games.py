"""`check_game`: what the rest of the library relies on, and cannot see from a single answer of the game.

The game is explored, explored again, solved, and asked about its states; a game with counters is
compared with its unrolled form, one with symmetries with the game without them.  Everything is decided by the
arrays of the network and by certified intervals, so no tolerance has to be guessed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

import numpy as np

from mdpdice import errors
from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.exploration.repeatability import SAMPLE, check_repeatable
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.exploration.to_network import explore
from mdpdice.looks import Look, NamedPolicy, look_of
from mdpdice.modelling.counters import axes
from mdpdice.modelling.equality import same_kind
from mdpdice.modelling.game import Game
from mdpdice.modelling.sense import sense_of
from mdpdice.modelling.tables import Table
from mdpdice.modelling.text import REMEDY, encode
from mdpdice.networks.network import Kind, Network
from mdpdice.numerics.graph import reachable
from mdpdice.numerics.regions import can_reach
from mdpdice.objectives.objective import Discounted, Horizon, Objective
from mdpdice.testing.equivalent_games import asker, check_counters, check_symmetry
from mdpdice.testing.reports import Conformance, Ledger, subject_of

SAID = {
    "declaration": "what the game says of itself makes sense",
    "nodes": "every state has a node with an option",
    "probabilities": "probabilities sum to 1",
    "rewards": "rewards and payoffs are finite",
    "labels": "states differ, and so do the actions of each",
    "determinism": "asked again, it answers the same",
    "reachability": "the states can be counted",
    "termination": "every play can end, and the value is finite",
    "texts": "the text of a state reads back",
    "counters": "counters keep their ranges",
    "canonical": "a representative stands for itself",
    "symmetry": "a state is worth what its representative is",
    "solution": "it can be solved, and the answer is proved",
    "payoff_range": "no value lies outside payoff_range",
    "estimate": "estimates are finite and in payoff_range",
    "policies": "its own policies choose among the options",
    "words": "notes, summary and tables can be made",
}
"""What each check of a game is about, in a few words."""
GAME_CHECKS = tuple(SAID)
"""Names of the checks of a game."""

_BLAME: dict[str, tuple[type[errors.MdpDiceError], ...]] = {
    "probabilities": (errors.ProbabilitySumError, errors.ProbabilityRangeError, errors.EmptySupportError),
    "labels": (errors.DuplicateActionError, errors.StateCollisionError),
    "determinism": (errors.NonDeterministicGameError,),
    "reachability": (errors.StateLimitError,),
    "rewards": (errors.RewardNotFiniteError,),
    "counters": (errors.CounterRangeError,),
    "declaration": (errors.DiscountRangeError,),
}
"""The check that an error of the exploration belongs to; all others are of ``"nodes"``."""


def check_game(
    game: Game[Any, Any],
    objective: Objective | None = None,
    *,
    horizon: int | None = None,
    endless: bool = False,
    reaches: Sequence[Hashable] = (),
    require: Sequence[str] = (),
    max_states: int = 100_000,
    sample: int = 1_000,
) -> Conformance:
    """Check what the library relies on in a game; choose parameters that make it small.

    `GAME_CHECKS` names the checks, and the reference says what each of them demands.

    Parameters
    ----------
    game : Game
        The game, with its parameters.
    objective, horizon
        How the game is meant to be solved, as for `mdpdice.solve`.
    endless : bool
        Plays may go on for ever.
    reaches : sequence of states
        States that a play must be able to reach, such as one of every kind.
    require : sequence of str
        Checks that must not be skipped.
    max_states : int
        Largest number of states, with and without symmetries and counters.
    sample : int
        States whose texts and estimates are tried, and that are asked again, spread evenly; all if there are no more.
    """
    ledger = Ledger(subject_of(game), GAME_CHECKS, require, max_states=max_states)
    examine(ledger, game, objective, horizon, endless=endless, reaches=reaches, sample=sample)
    return ledger.report()


def examine(
    ledger: Ledger,
    game: Game[Any, Any],
    objective: Objective | None = None,
    horizon: int | None = None,
    *,
    endless: bool = False,
    reaches: Sequence[Hashable] = (),
    sample: int = 1_000,
) -> None:
    """Make all checks of `check_game`, until one fails; the ledger has those before it."""
    _check_declaration(ledger, game)
    network = _explored(ledger, game)
    some = _sample(network.n_states, sample)
    _check_network(ledger, network)
    _check_determinism(ledger, game, network, some)
    _check_reachability(ledger, game, network, reaches)
    asked = isinstance(objective, Horizon) or (isinstance(objective, Discounted) and objective.discount < 1)
    lasting = endless or asked or horizon is not None or network.discount < 1
    if (trap := _trap(network)) is not None and not lasting:
        how = "give it an end, give the game a discount or a horizon, or pass endless=True if this is meant"
        ledger.fail("termination", f"no play that gets there can end; {how}", state=network.describe(trap))
    _check_texts(ledger, game, network, some)
    ask = asker(ledger, objective, horizon)
    solution = ask(network, "solution")
    _check_termination(ledger, game, solution, objective, lasting=lasting)
    check_counters(ledger, game, network)
    check_symmetry(ledger, game, solution, ask)
    ledger.passed("solution", 1, f"certified by {solution.solver}")
    if objective is None and horizon is None:
        _check_payoff_range(ledger, game, solution)
    else:
        ledger.skipped("payoff_range", "it is about the total reward, without a horizon")
    _check_estimate(ledger, game, network, some)
    _check_policies(ledger, game, network)
    _check_words(ledger, game, solution, whole=objective is None and horizon is None)


def _sample(count: int, size: int) -> list[int]:
    """Numbers from 0 to `count` - 1, spread evenly, the first and the last among them."""
    return [int(i) for i in np.unique(np.linspace(0, count - 1, min(count, max(1, size))).round())]


# --- what the game says of itself ----------------------------------------------------------------


def _check_declaration(ledger: Ledger, game: Any) -> None:
    if not isinstance(game, Game):
        how = "a class needs to be called: MyGame()" if isinstance(game, type) else "derive it from mdpdice.Game"
        ledger.fail("declaration", f"{game!r} is not a Game; {how}", value=game)
    ledger.ask("declaration", "sense", sense_of, game)
    bounds: Any = game.payoff_range
    if bounds is not None:
        try:
            low, high = (float(bound) for bound in bounds)
        except (TypeError, ValueError) as error:
            ledger.fail("declaration", f"payoff_range={bounds!r} is not two numbers or None", value=bounds, cause=error)
        if not low <= high or math.isinf(low) or math.isinf(high):
            ledger.fail("declaration", f"payoff_range is {bounds!r}; it is two finite numbers, the smaller first")
    ledger.passed("declaration", 1)


def _explored(ledger: Ledger, game: Game[Any, Any]) -> Network:
    try:
        return explore(game, **ledger.limits)
    except errors.MdpDiceError as error:
        _blame(ledger, error)


def _blame(ledger: Ledger, error: errors.MdpDiceError) -> NoReturn:
    check = next((name for name, kinds in _BLAME.items() if isinstance(error, kinds)), "nodes")
    hint = "; choose smaller parameters, or a larger max_states" if check == "reachability" else ""
    ledger.fail(check, error.message + hint, cause=error)


def _check_network(ledger: Ledger, network: Network) -> None:
    """Check the actions as texts; the rest of a network was checked when it was made."""
    ledger.passed("nodes", network.n_nodes, f"{network.n_states:,} states")
    rows = int((network.kind == Kind.CHANCE).sum())
    ledger.passed("probabilities", rows, "; ".join(("distributions", *network.warnings)))
    ledger.passed("rewards", int((network.reward != 0).sum()) + int((network.kind == Kind.END).sum()))
    for node in np.flatnonzero(network.decides).tolist():
        texts: dict[str, Hashable] = {}
        for edge in network.edges(node):
            action = network.action_of(edge)
            if (text := _text(action)) in texts:
                msg = f"its actions {texts[text]!r} and {action!r} have one text, {text!r}, so nobody could choose"
                ledger.fail("labels", msg, state=network.describe(node), action=action)
            texts[text] = action
    ledger.passed("labels", network.n_states + len(network.actions), "states and actions")


def _text(action: Hashable) -> str:
    try:
        return str(encode(action))
    except errors.UnknownStateError:  # of a type that has no text form
        return repr(action)


def _check_determinism(ledger: Ledger, game: Game[Any, Any], network: Network, some: list[int]) -> None:
    again = _explored(ledger, game)
    remedy = "node() must depend on the state alone, and give its options in an order of its own"
    if again.n_states == network.n_states:
        for old, new in zip(network.states, again.states, strict=True):
            if old != new:
                ledger.fail("determinism", f"explored again, {new!r} stands in place of {old!r}; {remedy}", state=old)
        for node, (old, new) in enumerate(zip(network.actions, again.actions, strict=False)):
            if old != new:
                ledger.fail("determinism", f"explored again, action {node} is {new!r} and not {old!r}; {remedy}")
    if again.digest != network.digest:
        ledger.fail("determinism", f"explored again, it gave another network; {remedy}")
    cores: Sequence[Hashable] = [network.states[i] for i in some]
    if axes(game):
        lattice = compile_lattice(game, **ledger.limits)
        cores = [lattice.states[i] for i in _sample(len(lattice.states), len(some))]
    for first in range(0, len(cores), SAMPLE):
        try:
            check_repeatable(game, cores[first : first + SAMPLE])
        except errors.MdpDiceError as error:
            _blame(ledger, error)
    ledger.passed("determinism", len(cores), "states asked again, all explored again")


# --- where plays go ------------------------------------------------------------------------------


def _check_reachability(ledger: Ledger, game: Game[Any, Any], network: Network, reaches: Sequence[Hashable]) -> None:
    if not (there := reachable(network.indptr, network.dst, [network.start])).all():
        state = network.describe(int(np.argmin(there)))
        ledger.fail("reachability", "no play gets there", state=state)
    for state in reaches:
        with ledger.failing("reachability", "a play cannot reach it: ", state=state):
            network.value_node_of(state)
    if (least := game.least_states()) is not None and least > network.n_states:
        msg = f"least_states() is {least!r}, and only {network.n_states:,} states can be reached"
        ledger.fail("reachability", msg, value=least, limit=network.n_states)
    note = f"states, {len(reaches)} of them asked for" if reaches else "states"
    ledger.passed("reachability", network.n_states, note)


def _trap(network: Network) -> int | None:
    """Return a node from which no end can be reached, whatever the players do; a state, if one is among them."""
    if not len(lost := np.flatnonzero(~can_reach(network, network.kind == Kind.END))):
        return None
    named = lost[network.node_state[lost] >= 0]
    return int(named[0] if len(named) else lost[0])


def _check_termination(
    ledger: Ledger, game: Game[Any, Any], solution: Solution, objective: Objective | None, *, lasting: bool
) -> None:
    """Check that no value is infinite unless the rules are said to give one, and that they are not said so in vain."""
    infinite = ~np.isfinite(solution.nodes.values)
    reason = ledger.ask("termination", "infinite_reason()", look_of(game).infinite_reason) if objective is None else ""
    if infinite.any() and reason is None:
        node = int(np.argwhere(infinite)[0][-1])
        how = "limit it, give the game a discount, or let infinite_reason() of its Look say why this is right"
        msg = f"the value is infinite, since a play can collect without end ({solution.reason}); {how}"
        ledger.fail("termination", msg, state=solution.network.describe(node))
    if objective is None and reason is not None and not infinite.any():
        how = "it gives None where the value is finite"
        msg = f"infinite_reason() says {reason!r}, and the value is {solution.value():.12g}; {how}"
        ledger.fail("termination", msg, value=reason)
    ledger.passed("termination", solution.network.n_nodes, "nodes, plays may be endless" if lasting else "nodes")


# --- texts ---------------------------------------------------------------------------------------


def _check_texts(ledger: Ledger, game: Game[Any, Any], network: Network, some: list[int]) -> None:
    look, seen = look_of(game), dict[str, Hashable]()
    for index in some:
        state = network.states[index]
        text = ledger.ask("texts", "show_state", look.show_state, state, hint=f"; {REMEDY}", state=state)
        if not isinstance(text, str):
            ledger.fail("texts", f"show_state returns {text!r}, which is not a text", state=state, value=text)
        if text in seen:
            msg = f"show_state writes {text!r} for it and for {seen[text]!r}; the text must tell them apart"
            ledger.fail("texts", msg, state=state, value=text)
        seen[text] = state
        try:
            back = look.read_state(text)
        except Exception as error:  # noqa: BLE001 - a function of the user
            msg = f"read_state cannot read {text!r}, which show_state wrote: {type(error).__name__}: {error}; {REMEDY}"
            ledger.fail("texts", msg, state=state, value=text, cause=error)
        if back != state or not same_kind(back, state):
            msg = f"read_state reads {back!r} from {text!r}, which show_state wrote for another state; {REMEDY}"
            ledger.fail("texts", msg, state=state, value=text)
    ledger.passed("texts", len(some), "states")


# --- bounds and guesses --------------------------------------------------------------------------


def _check_payoff_range(ledger: Ledger, game: Game[Any, Any], solution: Solution) -> None:
    if game.payoff_range is None:
        ledger.skipped("payoff_range", "the game declares none")
        return
    network = solution.network
    low, high = (float(bound) for bound in game.payoff_range)
    # What is paid on entering an end counts for the state before it.
    asked = network.node_state >= 0 if network.reward.any() else np.ones(network.n_nodes, dtype=bool)
    room = 1e-9 * max(1.0, abs(low), abs(high))
    outside = asked & ((solution.nodes.lowers > high + room) | (solution.nodes.uppers < low - room))
    if outside.any():
        node, limit = int(np.flatnonzero(outside)[0]), game.payoff_range
        value = float(solution.nodes.values[node])
        why = "a search that trusts it leaves out what it must not"
        msg = f"it is worth {value:.12g}, outside of payoff_range = {limit!r}; {why}"
        ledger.fail("payoff_range", msg, state=network.describe(node), value=value, limit=limit)
    ledger.passed("payoff_range", int(asked.sum()), "values")


def _check_estimate(ledger: Ledger, game: Game[Any, Any], network: Network, some: list[int]) -> None:
    # An unrolled game hands the question on.
    declared: Game[Any, Any] = getattr(game, "game", game)
    if type(declared).estimate is Game.estimate:
        ledger.skipped("estimate", "the game declares none")
        return
    low, high = (-math.inf, math.inf) if game.payoff_range is None else map(float, game.payoff_range)
    asked = 0
    for index in some:
        if network.kind[network.state_node[index]] == Kind.END:
            continue
        state = network.states[index]
        guess = ledger.ask("estimate", "estimate()", lambda one: float(game.estimate(one)), state, state=state)
        # Written so that NaN fails.
        if not (low <= guess <= high and math.isfinite(guess)):
            msg = f"estimate() is {guess!r}, and not a finite number in payoff_range = {game.payoff_range!r}"
            ledger.fail("estimate", msg, state=state, value=guess, limit=game.payoff_range)
        asked += 1
    note = "states" if game.payoff_range is not None else "states; without a payoff_range any finite number will do"
    ledger.passed("estimate", asked, note)


# --- what it tells beside its rules ---------------------------------------------------------------


def _check_words(ledger: Ledger, game: Game[Any, Any], solution: Solution, *, whole: bool) -> None:
    """Check the lines and tables; `whole`: those about an answer too, which are written for the usual objective."""
    look = look_of(game)
    count = len(_listed(ledger, "words", look, "notes", str))
    if whole:
        count += len(_listed(ledger, "words", look, "summary", str, solution))
        count += len(_listed(ledger, "words", look, "tables", Table, solution))
    ledger.passed("words", count, "lines and tables")


def _check_policies(ledger: Ledger, game: Game[Any, Any], network: Network) -> None:
    """Check that the policies with names take available options; names with parameters cannot be tried."""
    known = _listed(ledger, "policies", look_of(game), "policies", NamedPolicy)
    complete = [one.form for one in known if ":" not in one.form]
    for name in complete:
        rule = ledger.ask("policies", f"the rule of {name!r}", look_of(game).policy, name)
        with ledger.failing("policies", f"the policy {name!r}: "):
            Policy.of(network, rule)
    if complete:
        ledger.passed("policies", len(complete), "policies with a name")
    else:
        ledger.skipped("policies", "the game has none whose name is complete")


def _listed(ledger: Ledger, check: str, look: Look[Any], name: str, kind: type, *args: Any) -> list[Any]:
    """Return what a method of a look gives that has to give a list of some kind."""
    found = ledger.ask(check, f"{name}()", getattr(look, name), *args)
    if not isinstance(found, list | tuple) or not all(isinstance(one, kind) for one in found):
        what = "lines" if kind is str else name
        msg = f"{name}() returns {found!r}, not a list of {what}; return a list of {kind.__name__}"
        ledger.fail(check, msg, value=found)
    return list(found)
