"""The server of the page: whole games over HTTP, every refusal, hostile requests, and many tables at once."""

from __future__ import annotations

import contextlib
import json
import random
import re
import subprocess
import sysconfig
import threading
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import click.testing
import pytest

import mdpdice
from mdpdice.cli import main
from mdpdice.cli.served import Hall, Room
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigTurn
from mdpdice.games.school import School
from mdpdice.looks import look_of
from mdpdice.web.server import LARGEST_BODY, MOST_TABLES, STATIC, application

with warnings.catch_warnings():  # newer ones prefer another client
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

TRIALS = Path(__file__).parents[1] / "helpers" / "trial_games.py"
NAMES = ("pig-turn", "piglet", "school", "knucklebones", "farkle", "farkle-race")
FILES = tuple(f"{TRIALS}:{name}" for name in ("ShutTheBox", "Threes", "TwoDicePig", "Hog"))
HOME = "http://127.0.0.1:8377"


def served(hall: Hall, host: str = "127.0.0.1") -> TestClient:
    return TestClient(application(hall, host), base_url=HOME, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def hall() -> Iterator[Hall]:
    with contextlib.closing(Hall([*NAMES, *FILES], 60.0)) as hall:
        yield hall


@pytest.fixture
def small() -> Iterator[Hall]:
    """A hall of its own, with little time."""
    with contextlib.closing(Hall(["pig-turn", "farkle-race"], 0.2)) as hall:
        yield hall


@pytest.fixture
def client(hall: Hall) -> TestClient:
    return served(hall)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve in this process, without waiting: a process takes two seconds to begin."""

    def solution(self: Room, most: int = 0) -> mdpdice.Solution:
        if self.found is None:
            self.found = mdpdice.solve(self.case.game)
        return self.found

    monkeypatch.setattr(Room, "solution", solution)


def ask(client, path, **said):
    """The answer, after what has to be solved first."""
    while True:
        response = client.post(path, json=said) if said else client.get(path)
        if response.status_code != 202:
            assert response.status_code == 200, response.text
            return response.json()
        assert "event: done" in client.get(f"/solving/{response.json()['solving']}").text


def sit(client, game, *seats, **more):
    return ask(client, "/tables", game=game, seats=list(seats or ["human"]), **{"seed": 3, **more})


def act(client, view, generator):
    """Do something that may be done."""
    path, turn = f"/tables/{view['id']}", view["turn"]
    if view["actions"]:
        return ask(client, f"{path}/choose", turn=turn, i=generator.randrange(len(view["actions"])))
    if view["outcomes"]:
        return ask(client, f"{path}/roll", turn=turn, i=generator.randrange(len(view["outcomes"])))
    return ask(client, f"{path}/roll", turn=turn, faces=[generator.choice(die["faces"]) for die in view["dice"]])


def play(client, view, seed=1):
    """Play a round to its end; numbers and words of what people chose, and all views."""
    generator, chosen, views = random.Random(seed), [], [view]
    while not view["over"]:
        last = view
        view = act(client, view, generator)
        assert view["turn"] == last["turn"] + 1
        # What was chosen is the first thing that has happened since.
        if last["actions"]:
            words = view["events"][len(last["events"])]["words"]
            chosen.append(([one["words"] for one in last["actions"]].index(words) + 1, words))
        views.append(view)
    return chosen, views


# --- whole games ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "seats"),
    [
        ("pig-turn", ["human"]),
        ("piglet", ["human", "human"]),
        ("piglet", ["hold-at:1", "human"]),
        ("school", ["human", "bob"]),
        ("knucklebones", ["human", "lookahead:1"]),
        ("farkle-race", ["human", "threshold:300,300,300,300,300,300"]),
        *((name, ["human", "random"]) for name in FILES),
    ],
    ids=lambda given: given.rpartition(":")[2] if isinstance(given, str) else "-".join(given).replace(":", ""),
)
@pytest.mark.parametrize("rounds", [1, 2])
def test_whole_games_as_the_command_line_plays_them(client, tmp_path, game, seats, rounds):
    parameters = {"farkle-race": {"target": 1000}, "school": {"open": "grade-6,pair,trash"}}.get(game, {})
    view = sit(client, game, *seats, rounds=rounds, parameters=parameters)
    lines = []
    for at in range(rounds):
        assert (view["round"], len(view["scores"])) == (at + 1, at + bool(view["over"]))
        chosen, views = play(client, view, seed=at)
        # Numbers would be confused with actions that are numbers.
        lines += [words if game.endswith(("Hog", "knucklebones")) else str(number) for number, words in chosen]
        view = views[-1]
        assert len(view["scores"]) == at + 1
        assert view["over"]["payoff"] == view["scores"][at][0]
        assert view["events"][-1]["kind"] == "end"
        if at + 1 < rounds:
            view = ask(client, f"/tables/{view['id']}/again", turn=view["turn"])
    record = tmp_path / "record"
    given = [f"-p{key}={value}" for key, value in parameters.items()]
    arguments = ["play", game, *given, "--seats", ",".join(seats), "--seed", 3, "--rounds", rounds, "--record", record]
    result = click.testing.CliRunner().invoke(main, list(map(str, arguments)), input="\n".join([*lines, ""]))
    assert result.exit_code == 0, result.output
    assert ask(client, f"/tables/{view['id']}/record")["text"] == record.read_text(encoding="utf-8")


@pytest.mark.parametrize("game", ["pig-turn", "knucklebones", "farkle", FILES[0], FILES[2], FILES[3]])
def test_own_dice(client, game):
    seats = ["human"] if game in ("pig-turn", "farkle", FILES[0]) else ["human", "random"]
    view = sit(client, game, *seats, dice="mine")
    _, views = play(client, view, seed=0)
    listed = [view["outcomes"] for view in views if view["outcomes"]]
    asked = [view["dice"] for view in views if view["dice"]]
    assert listed or asked
    for outcomes in listed:
        assert sum(Fraction(one["chance"]) for one in outcomes) == 1
        assert len({json.dumps([one["words"], one["faces"]]) for one in outcomes}) == len(outcomes)
    if game == "farkle":
        assert asked[0] == [{"name": "", "faces": ["1", "2", "3", "4", "5", "6"]}] * 6
    rolls = [event for event in views[-1]["events"] if event["kind"] == "roll"]
    assert len(rolls) >= len(listed) + len(asked)


def test_what_is_tapped_is_what_lies_there(client):
    view = sit(client, "farkle", dice="mine")
    path = f"/tables/{view['id']}"
    view = ask(client, f"{path}/roll", turn=0, faces=["5", 1, "2", "5", "3", "2"])
    (dice,) = [part for part in view["parts"] if part["kind"] == "dice"]
    assert dice["faces"] == [1, 2, 2, 3, 5, 5]
    assert view["events"] == [
        {"kind": "roll", "seat": 0, "words": "1 2 2 3 5 5", "lost": False, "faces": [1, 2, 2, 3, 5, 5]}
    ]
    taps = {tuple(tuple(places) for places in one["tap"]["places"]) for one in view["actions"] if one["tap"]}
    assert ((0,),) in taps
    # Another order of the dice on the table is the same throw.
    again = sit(client, "farkle", dice="mine")
    again = ask(client, f"/tables/{again['id']}/roll", turn=0, faces=[1, 2, 2, 3, 5, 5])
    assert again["actions"] == view["actions"]


def test_undo_gives_the_same_dice(client):
    generator = random.Random(4)
    view = sit(client, "piglet", "human", "random")
    path, views = f"/tables/{view['id']}", [view]
    while not view["over"] or len(views) < 2:
        views.append(view := act(client, view, generator))
    for before in views[-2::-1]:
        assert view["may_undo"]
        view = ask(client, f"{path}/undo", turn=view["turn"])
        assert {**view, "turn": 0} == {**before, "turn": 0}
    assert not view["may_undo"]
    assert client.post(f"{path}/undo", json={"turn": view["turn"]}).status_code == 409


def test_four_side_by_side(client):
    view = sit(client, "pig-turn", "human", "hold-at:20", "random", "hold-at:15", rounds=3)
    for _ in range(2):
        view = play(client, view)[1][-1]
        view = ask(client, f"/tables/{view['id']}/again", turn=view["turn"])
    view = play(client, view)[1][-1]
    assert [len(scores) for scores in view["scores"]] == [4, 4, 4]
    text = ask(client, f"/tables/{view['id']}/record")["text"]
    assert len(re.findall(r"^.*: [\d.]+ on average, \d of 3 won$", text, flags=re.MULTILINE)) == 4
    assert client.post(f"/tables/{view['id']}/again", json={"turn": view["turn"]}).status_code == 409
    too_many = client.post("/tables", json={"game": "piglet", "seats": ["human"] * 3})
    assert (too_many.status_code, "two players" in too_many.text) == (400, True)


def test_parameters_of_the_form(client):
    view = sit(client, "knucklebones", "human", "human", parameters={"rows": 2, "columns": "2", "payoff": "points"})
    assert {key: view["parameters"][key] for key in ("rows", "columns", "payoff")} == {
        "rows": 2, "columns": 2, "payoff": "points",
    }  # fmt: skip
    (mine, theirs) = [part for part in view["parts"] if part["kind"] == "grid"]
    assert [len(mine["rows"]), len(mine["rows"][0])] == [2, 2]
    assert {mine["of"], theirs["of"]} == {0, 1}


# --- what is known ----------------------------------------------------------------------------------------


def test_advice_and_review(client):
    view = sit(client, "pig-turn")
    path, best = f"/tables/{view['id']}", mdpdice.solve(PigTurn())
    assert "value" not in ask(client, f"{path}/about")
    assert ask(client, f"{path}/distribution") is None
    total = 0.0
    while not view["over"]:
        (points,) = [part["value"] for part in view["parts"]]
        advice = ask(client, f"{path}/advice")
        values = best.q(points)
        assert [row["value"] for row in advice] == pytest.approx(list(values.values()), abs=1e-9)
        assert [row["best"] for row in advice] == [action in best.ties(points) for action in values]
        assert [row["loss"] for row in advice] == pytest.approx([max(values.values()) - one for one in values.values()])
        assert [row["words"] for row in advice] == [one["words"] for one in view["actions"]]
        for at, action in enumerate(values):
            assert list(advice[at]["goals"]) == [f"{least} points or more" for least in (10, 20, 30)]
            for least in (10, 20, 30) if action == "hold" else ():
                assert advice[at]["goals"][f"{least} points or more"] == (points >= least)
        ahead = ask(client, f"{path}/distribution")
        there = mdpdice.outcomes(best.network, best.policy, state=points)
        assert (ahead["totals"], ahead["chances"]) == (list(there.totals), pytest.approx(list(there.chances)))
        assert ahead["mean"] == pytest.approx(max(values.values()))
        taken = next(row for row in advice if row["best"])
        assert taken["goals"]["20 points or more"] == pytest.approx(there.at_least(20))
        worst = max(advice, key=lambda row: row["loss"])
        total += worst["loss"]
        view = ask(client, f"{path}/choose", turn=view["turn"], i=worst["i"])
    review = ask(client, f"{path}/review")
    assert review["lost"] == pytest.approx([total])
    assert total > 0
    assert [one["loss"] > 0 for one in review["decisions"]] == [
        one["words"] != one["best_words"] for one in review["decisions"]
    ]
    about = ask(client, f"{path}/about")
    assert about["value"] == pytest.approx(best.value(), abs=1e-9)
    assert (about["status"], about["digest"]) == ("certified", best.digest)
    assert ask(client, f"{path}/boxes") is None
    assert client.get(f"{path}/advice").status_code == 409


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("game", FILES, ids=lambda name: name.rpartition(":")[2])
def test_nothing_is_lost_by_best_play(client, game):
    view = sit(client, game, "human", "optimal")
    path = f"/tables/{view['id']}"
    while not view["over"]:
        if view["actions"]:
            advice = ask(client, f"{path}/advice")
            losses = [row["loss"] for row in advice]
            assert min(losses) == 0
            view = ask(client, f"{path}/choose", turn=view["turn"], i=losses.index(0))
    assert ask(client, f"{path}/review")["lost"] == [0, 0]


def test_the_strategy_as_tables(client):
    view = sit(client, "farkle", parameters={"dice": 2, "cap": 500})
    assert ask(client, f"/tables/{view['id']}/chart") is None
    ask(client, f"/tables/{view['id']}/advice")
    drawn = ask(client, f"/tables/{view['id']}/chart")
    tables = look_of(game := KcdFarkle(dice=2, cap=500)).tables(mdpdice.solve(game))
    assert [table["title"] for table in drawn] == [found.title for found in tables]
    assert drawn[0]["columns"] == ["dice", "bank from"]
    assert [table["rows"] for table in drawn] == [[list(row) for row in found.rows] for found in tables]


def test_alike_dice_are_not_told_apart(client):
    view = sit(client, FILES[0], dice="mine")
    chances = {tuple(one["faces"]): one["chance"] for one in view["outcomes"]}
    assert len(chances) == 21
    assert (chances[1, 1], chances[1, 2]) == ("1/36", "1/18")


@pytest.mark.usefixtures("at_once")
def test_what_boxes_are_worth(client):
    game = School(open=["grade-5", "grade-6", "pair", "care"])
    view = sit(client, "school", parameters={"open": ["grade-5", "grade-6", "pair", "care"]})
    worth = ask(client, f"/tables/{view['id']}/boxes")["sheet"]
    (sheet,) = [part for part in view["parts"] if part["kind"] == "boxes"]
    assert len(worth) == len(sheet["names"])
    solution = mdpdice.solve(game)
    for at, less in enumerate(worth):
        without = solution.value(mdpdice.At(game.start(), used=1 << at))
        assert less == pytest.approx(solution.value() - without)


def test_too_large_a_game_is_looked_ahead_in(client):
    view = sit(client, "knucklebones", "human", "random")
    advice = ask(client, f"/tables/{view['id']}/advice")
    assert len(advice) == 3
    assert all(abs(row["value"]) <= 1 for row in advice)
    assert "value" not in ask(client, f"/tables/{view['id']}/about")


def test_solving_is_watched_and_cancelled(client):
    view = sit(client, "farkle-race", "human", "random")
    path = f"/tables/{view['id']}/advice"
    key = client.get(path).json()["solving"]
    assert client.get(path).json() == {"solving": key}
    ended = threading.Event()

    def cancel():
        ended.wait(0.5)
        assert client.post(f"/solving/{key}/cancel", json={}).status_code == 200

    thread = threading.Thread(target=cancel)
    thread.start()
    told = client.get(f"/solving/{key}")
    thread.join()
    assert told.headers["content-type"].startswith("text/event-stream")
    events = re.findall(r"event: (\w+)\ndata: (.*)\n\n", told.text)
    assert [name for name, _ in events][-1] == "failed"
    assert json.loads(events[0][1]).keys() >= {"phase", "done", "total"}
    assert "cancelled" in json.loads(events[-1][1])["error"]
    other = client.get(path).json()["solving"]
    assert other != key
    assert client.post(f"/solving/{other}/cancel", json={}).status_code == 200
    assert client.get("/solving/nothing").status_code == 404
    assert client.post("/solving/nothing/cancel", json={}).status_code == 404


def test_solving_takes_so_long_at_most(small):
    client = served(small)
    said = {"game": "farkle-race", "seats": ["human", "optimal"]}
    key = client.post("/tables", json=said).json()["solving"]
    assert "event: done" in client.get(f"/solving/{key}").text
    refused = client.post("/tables", json=said)
    assert (refused.status_code, refused.json()) == (400, {"error": "the game was not solved within 0.2 seconds"})


# --- decisions for programs ------------------------------------------------------------------------------------


def test_bob_decides(client):
    state = "open=all dice=1,2,3,6,6 rerolls=2"
    found = ask(client, "/decide", game="school", state=state, policy="bob")
    position = look_of(School()).read_state(state)
    rated = look_of(School()).ratings("bob")(position)
    assert found["data"] == {"Reroll": {"dice": [1, 2, 3]}}
    assert found["action"] == "reroll 1 2 3"
    assert sorted(found["ratings"].values()) == pytest.approx(sorted(map(float, rated.values())))
    assert found["value"] == max(found["ratings"].values())


@pytest.mark.usefixtures("at_once")
def test_best_play_decides(client):
    assert ask(client, "/decide", game="pig-turn", state="25")["action"].startswith("hold")
    found = ask(client, "/decide", game="pig-turn", state="12", parameters={})
    assert (found["action"], found["value"]) == ("roll", pytest.approx(mdpdice.solve(PigTurn()).q(12)["roll"]))
    hold = ask(client, "/decide", game="pig-turn", state="12", policy="hold-at:10")
    assert (hold["data"], hold["value"], hold["ratings"]) == ("hold", None, None)
    ahead = ask(client, "/decide", game="pig-turn", state="12", policy="lookahead:2")
    assert ahead["action"] == "roll"


@pytest.mark.parametrize(
    "said",
    [
        {"state": "12", "policy": "human"},
        {"state": "12", "policy": "random"},
        {"state": "12", "policy": "/etc/passwd"},
        {"state": "12", "policy": "hold-at:x"},
        {"game": "school", "policy": "bob", "state": "open=all dice=9,9,9,9,9 rerolls=2"},
        {"game": "school", "policy": "bob", "state": "open=all dice=1,1 rerolls=7"},
        {"game": "knucklebones", "policy": "lookahead:1", "state": "die=99"},
        {"state": "1000000"},
        {"state": "roll"},
        {"state": "("},
        {"state": "[" * 5000},
        {"state": "9" * 5000},
        {"state": '{"' + "a" * 100},
    ],
)
@pytest.mark.usefixtures("at_once")
def test_what_cannot_be_decided(client, said):
    refused = client.post("/decide", json={"game": "pig-turn", **said})
    assert refused.status_code == 400, refused.text
    assert refused.json()["error"]


# --- refusals ----------------------------------------------------------------------------------------------------


def test_games_on_offer(client):
    found = {one["name"]: one for one in client.get("/games").json()}
    assert tuple(found) == NAMES + FILES
    assert {name: one["players"] for name, one in found.items() if name in NAMES} == {
        "pig-turn": 1, "piglet": 2, "school": 1, "knucklebones": 2, "farkle": 1, "farkle-race": 2,
    }  # fmt: skip
    assert found["school"]["seats"] == ["optimal", "random", "lookahead", "bob"]
    assert found[FILES[1]]["title"] == "Threes"
    (dice,) = found[FILES[1]]["parameters"]
    assert (dice["name"], dice["value"], dice["allowed"]) == ("dice", 3, "a whole number")


def test_the_page_is_served(client):
    for path in ["/", *(f"/{file.name}" for file in STATIC.iterdir() if file.suffix in (".js", ".css", ".html"))]:
        found = client.get(path)
        assert found.status_code == 200
        assert found.headers["x-content-type-options"] == "nosniff"
        policy = found.headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; ")
        assert "unsafe" not in policy
        assert "access-control-allow-origin" not in found.headers
    assert client.get("/remote.js").headers["content-type"].startswith("text/javascript")
    page = client.get("/").text
    assert not re.search(r"<script(?![^>]*\bsrc=)|\bon\w+=|\bstyle=", page)


@pytest.mark.parametrize(
    "path",
    ["/server.py", "/..%2fserver.py", "/../server.py", "/%2e%2e/server.py", "/static/page.js", "/page.js/", "/%00"],
)
def test_nothing_else_is_served(client, path):
    assert client.get(path).status_code in (400, 404)


@pytest.mark.parametrize(
    ("status", "path", "said"),
    [
        (400, "/tables", {}),
        (400, "/tables", []),
        (400, "/tables", {"game": 7}),
        (400, "/tables", {"game": "chess"}),
        (400, "/tables", {"game": "../x.py:Game"}),
        (400, "/tables", {"game": "tests/helpers/trial_games.py:Hog"}),
        (400, "/tables", {"game": "pig-turn", "unknown": 1}),
        (400, "/tables", {"game": "pig-turn", "seats": []}),
        (400, "/tables", {"game": "pig-turn", "seats": ["human"] * 5}),
        (400, "/tables", {"game": "pig-turn", "seats": [7]}),
        (400, "/tables", {"game": "pig-turn", "seats": ["pyproject.toml"]}),
        (400, "/tables", {"game": "pig-turn", "seats": ["/etc/passwd"]}),
        (400, "/tables", {"game": "pig-turn", "seats": ["human:5"]}),
        (400, "/tables", {"game": "pig-turn", "seats": ["lookahead:6"]}),
        (400, "/tables", {"game": "pig-turn", "seats": ["hold-at:-1"]}),
        (400, "/tables", {"game": "pig-turn", "rounds": 0}),
        (400, "/tables", {"game": "pig-turn", "rounds": 10**9}),
        (400, "/tables", {"game": "pig-turn", "rounds": True}),
        (400, "/tables", {"game": "pig-turn", "seed": -1}),
        (400, "/tables", {"game": "pig-turn", "seed": 1.5}),
        (400, "/tables", {"game": "pig-turn", "dice": "loaded"}),
        (400, "/tables", {"game": "pig-turn", "parameters": {"goal": 10**9}}),
        (400, "/tables", {"game": "pig-turn", "parameters": {"goal": "99999999"}}),
        (400, "/tables", {"game": "pig-turn", "parameters": {"nothing": 1}}),
        (400, "/tables", {"game": "pig-turn", "parameters": {"goal": {}}}),
        (400, "/tables", {"game": "farkle", "parameters": {"dice": "/etc/passwd"}}),
        (404, "/tables/nothing/choose", {"turn": 0, "i": 0}),
        (409, "{table}/choose", {"turn": 1, "i": 0}),
        (409, "{table}/choose", {"turn": -1, "i": 0}),
        (400, "{table}/choose", {"turn": 0, "i": 2}),
        (400, "{table}/choose", {"turn": 0, "i": -1}),
        (400, "{table}/choose", {"turn": 0, "i": "0"}),
        (400, "{table}/choose", {"turn": 0}),
        (400, "{table}/choose", {"i": 0}),
        (409, "{table}/roll", {"turn": 0, "i": 0}),
        (409, "{table}/undo", {"turn": 0}),
        (409, "{table}/again", {"turn": 0}),
        (405, "{table}", {}),
        (405, "{table}/advice", {}),
        (400, "{mine}/roll", {"turn": 1, "i": 6}),
        (400, "{mine}/roll", {"turn": 1}),
        (400, "{mine}/roll", {"turn": 1, "faces": []}),
        (400, "{mine}/roll", {"turn": 1, "faces": [7]}),
        (400, "{mine}/roll", {"turn": 1, "faces": [[1]]}),
        (400, "{mine}/roll", {"turn": 1, "faces": ["x" * 1000]}),
        (409, "{mine}/choose", {"turn": 1, "i": 0}),
    ],
)
def test_refusals(client, status, path, said):
    table, mine = sit(client, "pig-turn"), sit(client, "pig-turn", dice="mine")
    mine = ask(client, f"/tables/{mine['id']}/choose", turn=0, i=1)
    path = path.format(table=f"/tables/{table['id']}", mine=f"/tables/{mine['id']}")
    refused = client.post(path, json=said)
    assert refused.status_code == status, refused.text
    assert len(refused.json()["error"]) > 10
    for view in (table, mine):
        assert client.get(f"/tables/{view['id']}").json() == view


def test_reading_is_strict(client):
    def status(body, **headers):
        return client.post("/tables", content=body, headers=headers).status_code

    good, kind = b'{"game": "pig-turn"}', {"content-type": "application/json"}
    assert status(good, **kind) == 200
    assert status(good, **{"content-type": "application/json; charset=utf-8"}) == 200
    assert status(good) == 415
    assert status(good, **{"content-type": "text/plain"}) == 415
    assert status(good, **{"content-type": "application/x-www-form-urlencoded"}) == 415
    for body in (b"", b"{", b"\xff\xfe", b"null", b"[" * 9000, b'{"game": NaN}', b'{"seed": ' + b"9" * 9000 + b"}"):
        assert status(body, **kind) == 400
    assert status(b" " * (LARGEST_BODY + 1), **kind) == 413
    assert status(iter([b" " * 10_000] * 3), **kind) == 413


def test_hosts(hall, client):
    def status(client, **headers):
        return client.get("/games", headers=headers).status_code

    for host in ("localhost", "127.0.0.1", "localhost:8377", "[::1]:8377", "LOCALHOST"):
        assert status(client, host=host) == 200
    for host in ("", "evil.example", "localhost.evil.example:8377", "192.168.0.7:8377", "127.0.0.1.evil.example", "["):
        assert status(client, host=host) == 421
    assert status(client, host="localhost:8377", origin="http://localhost:8377") == 200
    for origin in ("http://evil.example", "null", "http://localhost:9999"):
        assert status(client, host="localhost:8377", origin=origin) == 403
    network = served(hall, "0.0.0.0")
    assert status(network, host="192.168.0.7:8377") == 200
    assert status(network, host="evil.example") == 421
    assert status(served(hall, "dice.example"), host="dice.example:8377") == 200
    options = client.options("/tables", headers={"access-control-request-method": "POST"})
    assert options.status_code == 405
    assert "access-control-allow-origin" not in options.headers


def test_tables_are_limited(monkeypatch, small):
    client = served(small)
    first = sit(client, "pig-turn")
    for _ in range(MOST_TABLES - 1):
        sit(client, "pig-turn")
    refused = client.post("/tables", json={"game": "pig-turn"})
    assert (refused.status_code, refused.json()["error"]) == (429, f"all {MOST_TABLES} tables are taken")
    monkeypatch.setattr("mdpdice.web.server.IDLE", -1.0)
    sit(client, "pig-turn")
    assert client.get(f"/tables/{first['id']}").status_code == 404


def test_a_table_from_before_a_restart_is_gone(hall, client):
    view = sit(client, "pig-turn")
    other = served(hall)
    for path in ("", "/advice", "/record"):
        assert other.get(f"/tables/{view['id']}{path}").status_code == 410
    gone = other.post(f"/tables/{view['id']}/choose", json={"turn": 0, "i": 0})
    assert (gone.status_code, "started again" in gone.json()["error"]) == (410, True)
    assert client.get(f"/tables/{view['id']}").json() == view
    assert other.get("/tables/abc-def").status_code == 404


def junk(generator, depth=0):
    """Any JSON."""
    kinds = 6 if depth > 3 else 8
    match generator.randrange(kinds):
        case 0:
            return None
        case 1:
            return generator.random() < 0.5
        case 2:
            return generator.choice([-1, 0, 1, 2**31, 2**63, 10**40, -(10**300)])
        case 3:
            return generator.choice([0.0, -1.5, 1e300])
        case 4 | 5:
            texts = [
                "",
                "human",
                "pig-turn",
                "../../etc/passwd",
                "file:///etc/passwd",
                "\x00",
                "é\ud800"[:1],
                "x" * 300,
            ]
            return generator.choice([*texts, "{}", "__import__('os')", "%s%n", "hold-at:20", "optimal", "lookahead:6"])
        case 6:
            return [junk(generator, depth + 1) for _ in range(generator.randrange(4))]
    keys = ["game", "parameters", "seats", "rounds", "turn", "i", "faces", "state", "policy", "__class__", ""]
    return {generator.choice(keys): junk(generator, depth + 1) for _ in range(generator.randrange(5))}


@pytest.mark.usefixtures("at_once")
def test_hostile_requests_change_nothing(client):
    generator = random.Random(19)
    view = sit(client, "pig-turn")
    table = f"/tables/{view['id']}"
    paths = ["/tables", "/decide", "/games", "/", table, "/tables/../games", "/solving/x", "/solving/x/cancel"]
    paths += [f"{table}/{name}" for name in ("choose", "roll", "undo", "again", "advice", "record", "..", "%00")]
    wanted = {"game": "pig-turn", "turn": 7, "i": 5, "state": "12"}
    fields = {"/tables": ["game"], "/decide": ["game", "state"], "/choose": ["turn", "i"], "/roll": ["turn", "i"]}
    statuses = set()
    for _ in range(1500):
        body, path = junk(generator), generator.choice(paths)
        if generator.random() < 0.4:
            # Almost right: at most one field is wrong, or one too many.
            known = next((names for end, names in fields.items() if path.endswith(end)), ("turn",))
            body = {name: wanted[name] for name in known}
            body |= {generator.choice([*known, *known, "seats", ""]): junk(generator)}
        raw = json.dumps(body).encode()
        if generator.random() < 0.2:
            raw = raw[: generator.randrange(len(raw) + 1)] + bytes([generator.randrange(256)])
        headers = {"content-type": generator.choice(["application/json"] * 6 + ["text/plain", "", "application/xml"])}
        if generator.random() < 0.1:
            headers["host"] = generator.choice(["evil.example", "", "127.0.0.1@evil", "[::1", "a" * 500])
        method = generator.choice(["POST"] * 8 + ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
        found = client.request(method, path, content=raw, headers=headers)
        if found.status_code == 200:  # it was right, by chance: a new table, or an answer
            assert path in ("/tables", "/decide")
        else:
            assert 400 <= found.status_code < 500, (method, path, raw, found.text)
            statuses.add(found.status_code)
            if method != "TRACE":
                assert found.json()["error"]
    assert statuses == {400, 404, 405, 409, 415, 421}
    assert client.get(table).json() == view


def test_fifty_tables_at_once(client):
    games = ["pig-turn", "piglet", "knucklebones", "farkle", *FILES]

    def whole(at):
        game = games[at % len(games)]
        two = game in ("piglet", "knucklebones", *FILES[2:])
        view = sit(client, game, *(["human", "random"] if two else ["human"]), seed=at // len(games))
        words, views = play(client, view, seed=at // len(games))
        return game, words, {**views[-1], "id": ""}

    with ThreadPoolExecutor(50) as pool:
        together = list(pool.map(whole, range(50)))
    assert together == [whole(at) for at in range(50)]


# --- the process ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def process(*arguments):
    command = [str(Path(sysconfig.get_path("scripts")) / "mdpdice"), "serve", "--json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            told = json.loads(child.stdout.readline())
            assert told["games"] == [arguments[0]]
            yield child, told["url"]
        finally:
            child.kill()


def fetched(url, said=None):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, None if said is None else json.dumps(said).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, json.loads(response.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_a_server_is_killed_and_started_again():
    with process("pig-turn", "--port", "0") as (child, url):
        status, view = fetched(f"{url}tables", {"game": "pig-turn"})
        assert status == 200
        assert fetched(f"{url}tables/{view['id']}")[1] == view
        port = url.rstrip("/").rpartition(":")[2]
        child.kill()
    with process("pig-turn", "--port", port) as (child, again):
        assert again == url
        assert fetched(f"{url}tables/{view['id']}")[0] == 410
        assert fetched(f"{url}tables", {"game": "pig-turn"})[0] == 200
        taken = click.testing.CliRunner().invoke(main, ["serve", "pig-turn", "--port", port])
        assert (taken.exit_code, "--port 0 takes a free one" in taken.output) == (1, True)
        child.terminate()
        assert child.wait(10) in (0, -15)
        assert child.stderr.read() == ""


def test_wrong_usage_of_the_command(monkeypatch):
    run = click.testing.CliRunner()
    assert run.invoke(main, ["serve", "chess"]).exit_code == 2
    assert run.invoke(main, ["serve", "--port", "70000"]).exit_code == 2
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    missing = run.invoke(main, ["serve"])
    assert (missing.exit_code, "pip install 'mdpdice[serve]'" in missing.output) == (1, True)
