"""The bot that plays the best way, and the public program's, in the game as it is."""

import pytest

from mdpdice import Policy, evaluate, simulate
from mdpdice.errors import UnknownStateError
from mdpdice.games.konijnenhokken import Field


def test_100_000_turns(solution):
    played = simulate(solution.network, Policy.from_solution(solution), 100_000, seed=999)
    assert abs(played.mean - solution.value()) < 4 * played.standard_error
    lost = played.frequency(0)
    assert 0.3 < lost < 0.6
    assert played.standard_error < 0.05


def test_value_of_the_bot(solution):
    found = evaluate(solution.network, Policy.from_solution(solution))
    assert found.value() == pytest.approx(solution.value(), rel=1e-12)


@pytest.fixture(scope="module")
def public_bot(game, solution, defective):
    """What the public program's bot does; it takes a roll for one without cages where it sees none."""

    def act(state):
        if not isinstance(state, Field):
            spared = state.twos - (not state.ones) > 0
            state = state._replace(cages=state.cages if not state.c or spared else 0)
        try:
            return defective.action(state)
        except UnknownStateError:  # it never comes there
            return "stop" if isinstance(state, Field) else game.takes(state)[0]

    return Policy.of(solution.network, act)


def test_the_public_bot_wins_what_its_table_says(solution, defective, public_bot):
    # It never takes the cages that it does not see, so its number is right for its own play.
    found = evaluate(solution.network, public_bot)
    assert found.value() == pytest.approx(defective.value(), rel=1e-12)
    played = simulate(solution.network, public_bot, 100_000, seed=999)
    assert abs(played.mean - defective.value()) < 4 * played.standard_error
