"""What a page says is what Python says: options, words and values in positions of seeded plays, in a browser."""

from __future__ import annotations

import itertools
import json
import re

import attrs
import pytest
from click.testing import CliRunner
from helpers.browsers import chromium
from helpers.page_positions import compared, engine_in

from mdpdice import Counter, Game, d6, decide, die, end, explore, go, pool, product, roll, solve, when
from mdpdice.cli import main
from mdpdice.cli.case import open_case
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.games.farkle import FarkleRace, KcdFarkle
from mdpdice.games.knucklebones import Knucklebones
from mdpdice.games.konijnenhokken import Konijnenhokken, KonijnenhokkenRace
from mdpdice.games.pig import Piglet, PigRace, PigTurn
from mdpdice.games.school import School, SchoolCombination
from mdpdice.games.yahtzee import Yahtzee
from mdpdice.games.yatzy import Yatzy
from mdpdice.looks import Dice, Rolled, Score, look_of
from mdpdice.web import page as pages
from mdpdice.web import write_page
from mdpdice.web.rules import Rules


@attrs.frozen
class Tiles(Game):
    """Tiles are turned over by the sum of two dice, one or two at a time; few points left are good."""

    sense = "min"
    tiles: int = 6

    def start(self):
        return tuple(range(1, self.tiles + 1))

    def node(self, state):
        if isinstance(state[0], tuple):
            up, total = state
            sets = [some for n in (1, 2) for some in itertools.combinations(up, n) if sum(some) == total]
            left = ((some, tuple(tile for tile in up if tile not in some)) for some in sets)
            return decide((some, go(rest) if rest else end(0)) for some, rest in left) if sets else end(sum(up))
        return roll(product(die(4), die(4)).map(sum), lambda total: go((state, total)))


@attrs.frozen
class Duel(Game):
    """One adds dice that are thrown for the sake of another, the other takes away; clipped and forbidden counters."""

    points = Counter(range(12), outside="clip")
    tokens = Counter(range(3), outside="forbid")

    def start(self):
        return "first"

    def node(self, state):
        more = d6.bind(die).map(lambda face: face // 2)
        if state == "first":
            return decide(
                {
                    "spend": go("second", self.tokens.add(1)),
                    "throw": roll(more, lambda k: go("second", self.points.add(k)), reward=self.tokens),
                    "stop": when(self.points > 3, end(self.points)),
                }
            )
        over = self.points >= 9
        away = roll(pool([d6] * 2).map(max), lambda k: go("first", self.points.add(-(k // 3))))
        return when(over, end(self.points), decide({"away": away, "leave": go("first", self.points.add(2))}, player=1))


@pytest.fixture(scope="module")
def engine():
    with chromium() as running:
        yield engine_in(running)


@pytest.mark.parametrize(
    "game",
    [
        PigTurn(),
        PigRace(goal=25),
        Piglet(goal=4),
        KcdFarkle(cap=1000),
        KcdFarkle(dice="Lucky die, Odd die, Odd die", cap=600),
        FarkleRace(target=500),
        Konijnenhokken(dice=4),
        KonijnenhokkenRace(dice=3, target=15),
        Knucklebones(columns=2, rows=1),
        SchoolCombination(combination="pair"),
        Tiles(),
        Duel(),
    ],
    ids=lambda game: type(game).__name__,
)
def test_options_and_values_are_those_of_python(engine, game):
    solution = solve(game)
    for dice, positions in (("drawn", 200), ("mine", 50)):
        compared_to, worst, _ = compared(engine, solution, dice, positions)
        assert compared_to == positions
        assert worst < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    "game",
    [
        PigRace(),
        KcdFarkle(),
        FarkleRace(),
        Konijnenhokken(),
        KonijnenhokkenRace(),
        Knucklebones(columns=2, rows=2),
        School(),
        Yahtzee(),
        Yatzy(),
    ],
    ids=lambda game: type(game).__name__,
)
def test_whole_games_fit_and_agree(engine, tmp_path, game):
    solution = solve(game)
    written = write_page(solution, tmp_path / "game.html")
    assert written.bytes == (tmp_path / "game.html").stat().st_size <= 3_000_000
    assert written.rounding < 1e-6
    positions, worst, _ = compared(engine, solution)
    assert positions == 200
    assert worst < 1e-6


def test_a_play_is_taken_back_recorded_and_reviewed(engine):
    data, _ = pages.page_data(solve(PigTurn()), ["hold-at:12"], {"game": "pig-turn", "parameters": {"cap": 100}})
    told = engine.evaluate(
        """async (data) => {
          const engine = await globalThis.openPage(data);
          let view = await engine.start({ seats: ["human", "hold-at:12"], rounds: 1, dice: "mine", seed: 5 });
          view = await engine.choose(1);
          const outcomes = view.outcomes;
          view = await engine.roll([6]);
          const six = view.parts[0].value;
          view = await engine.undo();
          view = await engine.roll(3);
          const four = view.parts[0].value;
          view = await engine.choose(0);
          const wrong = await engine.roll(9).catch((error) => error.message);
          while (!view.over) view = await engine.roll(5);
          const refused = await engine.choose(0).catch((error) => error.message);
          const [review, record] = [await engine.review(), await engine.record()];
          return { outcomes, six, four, wrong, refused, view, review, record };
        }""",
        data,
    )
    assert told["outcomes"] == [{"words": str(face), "chance": "1/6", "faces": [face]} for face in range(1, 7)]
    assert (told["six"], told["four"]) == (6, 4)
    assert told["wrong"] == "These dice cannot show that."
    assert told["refused"] == "There is nothing to decide now."
    assert told["view"]["scores"] == [[4, 12]]
    assert [one["words"] for one in told["review"]["decisions"]] == ["roll", "hold 4 points"]
    assert told["review"]["decisions"][1]["best_words"] == "roll"
    assert told["review"]["lost"][0] > 0 == told["review"]["lost"][1]
    assert told["record"].splitlines()[1:5] == [
        "game: pig-turn",
        "parameter: cap=100",
        "seats: human,hold-at:12",
        "seed: 5",
    ]


RECORDED = {
    "pig-race": (("goal=20",), ["optimal", "human"], 2),
    "farkle": (("cap=1000",), ["human", "optimal"], 1),
    "school-combination": ((), ["human"], 3),
    "knucklebones": (("columns=2", "rows=1"), ["human", "random"], 2),
    "pig-turn": ((), ["human", "optimal", "human", "random"], 2),
    "konijnenhokken": (("dice=4",), ["random", "human", "optimal"], 1),
}


@pytest.mark.parametrize("dice", ["drawn", "mine"])
@pytest.mark.parametrize("name", RECORDED)
def test_the_command_line_reads_the_record_of_a_page(engine, tmp_path, name, dice):
    pairs, seats, rounds = RECORDED[name]
    case = open_case(name, pairs, as_json=True, progress=None)
    data, _ = pages.page_data(solve(case.game), (), {"game": name, "parameters": case.given})
    played = engine.evaluate(
        """async ([data, seats, rounds, dice]) => {
          const engine = await globalThis.openPage(data);
          let [view, pick] = [await engine.start({ seats, rounds, dice, seed: 4 }), 1];
          while (!view.over || view.round < rounds) {
            pick = (pick * 48271) % 2147483647;
            if (view.over) view = await engine.again();
            else if (view.actions.length) view = await engine.choose(pick % view.actions.length);
            else if (view.outcomes) view = await engine.roll(pick % view.outcomes.length);
            else view = await engine.roll(view.dice.map((die, i) => die.faces[(pick >> i) % die.faces.length]));
          }
          return { record: await engine.record(), scores: view.scores, lost: (await engine.review()).lost };
        }""",
        [data, seats, rounds, dice],
    )
    record = tmp_path / "record.txt"
    record.write_text(played["record"], encoding="utf-8")
    asked = ["play", name, *(word for pair in pairs for word in ("-p", pair)), "--replay", str(record), "--json"]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["results"] == played["scores"]
    for seat, lost in enumerate(played["lost"]):
        mine = [one["lost"] for one in found["review"] if one["seat"] == seat]
        assert sum(mine) == pytest.approx(lost, abs=2e-3)  # values of up to 1000, rounded
    # Only the library says what a computed player thinks.
    told = [re.sub(r" \(worth \S+\)", "", line) for line in result.stderr.splitlines() if " → " in line]
    assert told == [line for line in played["record"].splitlines() if " → " in line]


def test_actions_that_lead_to_the_same_end_keep_their_words(engine):
    game = Game.of(start=0, node=lambda _: decide({"left": end(1), "right": end(1)}))
    data, _ = pages.page_data(solve(game))
    events = engine.evaluate(
        """async (data) => {
          const engine = await globalThis.openPage(data);
          await engine.start({ seats: ["human"], rounds: 1, dice: "drawn", seed: 1 });
          return (await engine.choose(1)).events;
        }""",
        data,
    )
    assert [one["words"] for one in events] == ["right", "total 1"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"seats": []}, "Up to 2 play this game."),
        ({"seats": ["human"] * 3}, "Up to 2 play this game."),
        ({"seats": ["human", "bob"]}, "This page does not know who that is."),
        ({"rounds": 0}, "Rounds: 1 to 100."),
        ({"rounds": 1.5}, "Rounds: 1 to 100."),
        ({"rounds": 101}, "Rounds: 1 to 100."),
    ],
)
def test_a_match_that_cannot_be_is_refused(engine, asked, words):
    data, _ = pages.page_data(solve(PigRace(goal=20)))
    said = engine.evaluate(
        """async ([data, asked]) => {
          const engine = await globalThis.openPage(data);
          return engine.start(asked).then(() => "started", (error) => error.message);
        }""",
        [data, asked],
    )
    assert said == words


def test_equal_seeds_give_equal_dice(engine):
    data, _ = pages.page_data(solve(PigRace(goal=20)))
    plays = engine.evaluate(
        """async (data) => {
          const found = [];
          for (const seed of [1, 1, 2]) {
            const engine = await globalThis.openPage(data);
            const view = await engine.start({ seats: ["optimal", "random"], rounds: 1, dice: "drawn", seed });
            found.push(JSON.stringify(view.events));
          }
          return found;
        }""",
        data,
    )
    assert plays[0] == plays[1] != plays[2]


def test_a_page_is_one_file_that_asks_nobody(tmp_path):
    written = write_page(solve(PigTurn()), tmp_path / "pig.html")
    text = (tmp_path / "pig.html").read_text(encoding="utf-8")
    assert written.bytes == len(text.encode()) < 400_000
    assert not re.findall(r"(?:src|href)=.(?!#|data:)|https?://(?!www\.w3\.org)|^import |^export ", text, re.MULTILINE)
    assert json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text)[1])["children"]


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("mdpdice.web.page.MOST_BYTES", 1000)
    with pytest.raises(UnsupportedError, match=r"does not fit into a page.*mdpdice serve"):
        write_page(solve(PigTurn()), tmp_path / "pig.html")
    assert not list(tmp_path.iterdir())


def test_what_is_no_game_and_what_is_no_total_is_refused(tmp_path):
    with pytest.raises(GameError, match="needs the game"):
        write_page(solve(explore(PigTurn())), tmp_path / "pig.html")
    with pytest.raises(UnsupportedError, match="without a discount or a horizon"):
        write_page(solve(PigTurn(), horizon=3), tmp_path / "pig.html")


def test_a_policy_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(GameError, match="no such policy; those of the game are hold-at:N"):
        write_page(solve(PigTurn()), tmp_path / "pig.html", seats=["bob"])


def test_one_object_is_another_part_where_it_shows_what_was_thrown():
    rules = Rules(look_of(PigTurn()))
    part, dice, thrown = rules.words.part, Dice("roll", faces=(3,)), Rolled((3,))
    still, fresh = part(dice, None), part(dice, thrown)
    assert still != fresh
    for one in (dice, Dice("roll", faces=(3,))):
        assert [part(one, seen) for seen in (None, Rolled((4,)), thrown)] == [still, still, fresh]
    assert len({part(Score("points", value=value), None) for value in (1, True, 1.0)}) == 3
