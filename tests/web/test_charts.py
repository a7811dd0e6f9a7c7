"""What is drawn beside a table: how plays may end on a lattice, and maps that server and page draw alike."""

from __future__ import annotations

import contextlib
import warnings
from types import SimpleNamespace

import pytest
from helpers.browsers import chromium
from helpers.counter_games import SHIPPED, Jar, Race, Sheet
from helpers.few_points import Duel
from helpers.page_positions import engine_in

from mdpdice import At, explore, outcomes, solve
from mdpdice.cli.served import Hall
from mdpdice.errors import UnknownStateError
from mdpdice.games.farkle import FarkleRace
from mdpdice.games.konijnenhokken import KonijnenhokkenRace
from mdpdice.games.pig import PigRace, PigTurn
from mdpdice.games.school import School
from mdpdice.looks import Rolled, look_of
from mdpdice.policies import playthrough
from mdpdice.web import charts
from mdpdice.web import page as pages
from mdpdice.web.rules import Rules
from mdpdice.web.server import application

with warnings.catch_warnings():  # newer ones prefer another client
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

DRAWN = """
async ([data]) => {
  const engine = await globalThis.openPage(data);
  await engine.start({ seats: ["human", "human"], rounds: 1, dice: "drawn", seed: 3 });
  const [closed, [open]] = [await engine.chart(false), await engine.chart(true)];
  const { seen, at } = engine.play.now;
  return { ...open, closed, seen, state: at.state, counters: at.counters };
}
"""


@pytest.fixture(autouse=True)
def always_on_lattices(monkeypatch):
    for limit in (
        "solving.lattice_route.FLAT_UP_TO",
        "solving.pipeline.FALL_BACK_UP_TO",
        "lattices.reachable_layers.LAYERS_FROM",
    ):
        monkeypatch.setattr(f"mdpdice.{limit}_EDGES", 0)


@pytest.fixture(scope="module")
def engine():
    with chromium() as running:
        yield engine_in(running)


def room_of(game, *, alone=False):
    """A room of the server in which the game is solved."""
    found = solve(game)
    assert found.lattice is not None
    case = SimpleNamespace(game=game, look=look_of(game))
    return SimpleNamespace(found=found, case=case, alone=alone, followed=lambda _: None)


def turn_of(game, state, seen=None):
    turn = playthrough.turn_at(playthrough.plain(game), state)
    return playthrough.Turn(turn.state, turn.player, turn.actions, turn.options, seen=seen)


def test_the_final_score_on_a_lattice_is_that_of_drawn_plays():
    game = School(open=["grade-5", "grade-6", "pair", "care"])
    network = explore(game, merge=False)
    room, best = room_of(game, alone=True), solve(network)
    decisions = [state for state, node in zip(network.states, network.state_node, strict=True) if network.decides[node]]
    state = decisions[len(decisions) // 2]
    drawn = charts.distribution(room, turn_of(game, state), so=10.0)
    known = outcomes(network, best.policy, state=state)
    assert drawn["plays"] == charts.PLAYS
    assert abs(drawn["mean"] - 10 - known.mean) < 4 * drawn["error"]
    assert drawn["error"] == pytest.approx(known.sd / charts.PLAYS**0.5, rel=0.1)
    assert set(drawn["totals"]) <= {total + 10 for total in known.totals.tolist()}
    assert drawn["totals"] == sorted(drawn["totals"])
    assert sum(drawn["chances"]) == pytest.approx(1)
    met = sum(chance for total, chance in zip(drawn["totals"], drawn["chances"], strict=True) if total >= 100)
    assert drawn["goals"] == {"100 points or more": met, "150 points or more": 0, "200 points or more": 0}


def test_nothing_is_drawn_for_two_or_before_the_game_is_solved():
    room = room_of(PigRace(goal=20))
    turn = turn_of(room.case.game, room.found.start)
    assert charts.distribution(room, turn, so=0.0) is None
    room.found = None
    room.alone = True
    assert charts.distribution(room, turn, so=0.0) is None
    assert charts.strategy_map(room, turn) is None


@pytest.mark.parametrize(
    "game", [Duel(), Jar(), Race(), Sheet(), *SHIPPED.values()], ids=lambda game: type(game).__name__
)
def test_what_is_best_at_many_points_is_what_is_best_at_each(game):
    found = solve(game)
    network = explore(game)
    chosen = {}
    for state, node in zip(network.states, network.state_node, strict=True):
        if network.decides[node]:
            chosen.setdefault(state.state, []).append(state)
    assert chosen
    for states in chosen.values():
        assert charts._best(found.table, states) == [found.action(state) for state in states]


def test_where_play_ends_or_does_not_come_nothing_is_best():
    found = solve(game := PigRace(goal=20))
    away = At(game.start(), mine=19, theirs=0, turn=19)
    with pytest.raises(UnknownStateError):
        found.action(away)
    assert charts._best(found.table, [found.start, away]) == ["roll", None]


@pytest.mark.parametrize(
    "game",
    [PigRace(goal=60), FarkleRace(target=1000), KonijnenhokkenRace(dice=4, target=20)],
    ids=lambda game: type(game).__name__,
)
def test_server_and_page_draw_the_same_map(engine, game):
    room, rules = room_of(game), Rules(look_of(game))
    drawn = engine.evaluate(DRAWN, [pages.page_data(room.found)[0]])
    counters = dict(zip(rules.axis, map(int, drawn["counters"]), strict=True))
    seen = drawn["seen"] and rules.throws[drawn["seen"]["throw"]].rolled[drawn["seen"]["roll"]]
    assert seen is None or isinstance(seen, Rolled)
    turn = turn_of(game, At(list(rules.states)[drawn["state"]], **counters), seen)
    (served,) = charts.strategy_map(room, turn)
    assert drawn["closed"] == []
    assert [served["title"], served["at"]] == [drawn["title"], drawn["at"]]
    for side in ("x", "y"):
        assert [served[side][key] for key in ("label", "values")] == [drawn[side][key] for key in ("label", "values")]
    cells = [
        [None if one is None else chart["names"][one] for row in chart["cells"] for one in row]
        for chart in (served, drawn)
    ]
    assert cells[0] == cells[1]
    assert len(set(cells[0]) - {None}) > 1
    own = room.found.action(turn.state)
    words = look_of(game).words(turn.state, own, seen)
    here = served["cells"][served["at"][1]][served["at"][0]]
    assert words.startswith(served["names"][here])


def test_a_game_without_two_counters_has_no_map():
    game = PigTurn()
    room = SimpleNamespace(found=solve(game), case=SimpleNamespace(game=game, look=look_of(game)))
    assert charts.strategy_map(room, turn_of(game, 5)) is None


def test_they_are_asked_for_over_http():
    games = {"pig-race": ({"goal": 60}, ["human", "human"]), "school": ({"open": "pair,care"}, ["human"])}
    with contextlib.closing(Hall(list(games), 60.0)) as hall:
        client = TestClient(application(hall), base_url="http://127.0.0.1:8377")
        asked = {}
        for game, (parameters, seats) in games.items():
            view = client.post(
                "/tables", json={"game": game, "parameters": parameters, "seats": seats, "seed": 3}
            ).json()
            room = hall.open(game, parameters)
            room.found = solve(room.case.game)
            asked[game] = [client.get(f"/tables/{view['id']}/{name}").json() for name in ("chart", "distribution")]
        ((drawn,), ends), (chart, drawn_plays) = asked["pig-race"], asked["school"]
    assert (drawn["kind"], drawn["names"], drawn["at"]) == ("map", ["roll", "hold"], [0, 0])
    assert (ends, chart) == (None, None)
    assert drawn_plays["plays"] == charts.PLAYS
