"""DRN: a file that Storm wrote, round trips of everything the tests have, and files that are wrong."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import attrs
import pytest
from helpers import reference_models
from helpers.random_games import Table, acyclic_games, tables
from hypothesis import HealthCheck, given, settings

from mdpdice import Game, Reach, Total, UntilReward, d6, decide, end, explore, go, pass_to, roll
from mdpdice.errors import CorruptFileError, GameError, UnsupportedError
from mdpdice.formats import read_drn, write_drn
from mdpdice.games.pig import Piglet, PigTurn

# Horizons of 100 are left to the small ones below: unrolled, they have 6,000 states.
LONG = ("gym_frozenlake4x4/3", "gym_cliffwalking/3")
ONE_PLAYER = [name for name in reference_models.names() if not name.startswith("game_") and name not in LONG]
RARELY = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


# --- a file of another program ---------------------------------------------------


def test_a_file_of_storm_has_the_published_answers(robot: Path, tools) -> None:
    model = read_drn(robot / "consensus.drn", exact=True)
    assert (model.kind, model.n_states, model.n_choices, len(model.target)) == ("mdp", 272, 400, 492)
    network, finished = model.network(), model.labelled("finished")
    ones = Reach(sorted({*finished} & {*model.labelled("all_coins_equal_1")}), sense="min")
    apart = Reach(sorted({*finished} - {*model.labelled("agree")}))
    assert tools.exact_values(network, ones)[0] == Fraction(49, 128)
    assert tools.exact_values(network, apart)[0] == Fraction(13, 120)
    for sense, steps in (("max", 75), ("min", 48)):
        asked = UntilReward(finished, sense=sense)
        assert tools.float_values(network, objective=asked)[0] == pytest.approx(steps, abs=1e-8)


def test_the_robot_of_the_lectures_has_its_published_answers(robot: Path, tools) -> None:
    model = read_drn(robot / "robot.drn", exact=True)
    assert (model.kind, model.n_states, model.n_choices, len(model.target)) == ("mdp", 6, 10, 16)
    assert list(model.rewards) == ["move", "time", "wear"]
    network = model.network("move")
    assert network.start == 0
    assert [network.action_of(edge) for edge in network.edges(0)] == ["east", "south"]
    goal = Reach(model.labelled("goal1"))
    assert tools.exact_values(network, goal)[0] == Fraction(1, 2)
    safe = Reach(model.labelled("goal1"), avoiding=model.labelled("hazard"))
    assert tools.exact_values(network, safe)[0] == Fraction(1, 10)
    moves = tools.float_values(network, objective=UntilReward(model.labelled("goal2"), sense="min"))
    by_hand = [Fraction(19, 15), 1, 0, 0, Fraction(5, 3), Fraction(10, 9)]  # tests/data/formats/README.md
    assert moves[:6] == pytest.approx([float(x) for x in by_hand], abs=1e-9)


def test_state_rewards_are_paid_with_every_choice(robot: Path) -> None:
    model = read_drn(robot / "robot.drn", exact=True)
    assert list(model.rewards["wear"])[:4] == [Fraction(1, 2), 0, 3, Fraction(5, 2)]  # 2.5 + 0.5 east
    assert set(model.rewards["time"]) == {1}


def test_several_rewards_must_be_told_apart(robot: Path) -> None:
    model = read_drn(robot / "robot.drn")
    with pytest.raises(GameError, match="'move', 'time', 'wear'"):
        model.network()
    with pytest.raises(GameError, match="'fuel'"):
        model.network("fuel")
    with pytest.raises(GameError, match="init, hazard, goal2, goal1"):
        model.labelled("goal3")


# --- round trips -------------------------------------------------------------------


@pytest.mark.parametrize("name", ONE_PLAYER)
def test_every_property_of_the_models_survives(name: str, tmp_path: Path, tools) -> None:
    case = reference_models.load(name, exact=True)
    objective = case.objective
    until = isinstance(objective, UntilReward)
    network = case.network if until else objective.apply(case.network)
    labels = {"target": [network.states[i] for i in objective.targets]} if until else None
    found = write_drn(network, tmp_path / "x.drn", labels=labels)
    model = read_drn(tmp_path / "x.drn")
    assert same(model, found.model)
    # The model that is read answers the same question with the reference value.
    asked = UntilReward(model.labelled("target"), sense=objective.sense) if until else Total(objective.sense)
    if model.n_states > 400 or name.startswith("qvbs_haddad"):
        return  # equal models have equal values, and solving these exactly takes long
    values = tools.exact_values(model.network(), asked)
    assert [values[state] for state in found.node[network.state_node]] == case.exact


def same(one, other) -> bool:
    return (
        one.kind == other.kind
        and one.start == other.start
        and all((getattr(one, a) == getattr(other, a)).all() for a in ("choice_ptr", "branch_ptr", "target"))
        and list(one.probability) == list(other.probability)
        and {k: list(v) for k, v in one.rewards.items()} == {k: list(v) for k, v in other.rewards.items()}
        and {k: v for k, v in one.labels.items() if v} == {k: v for k, v in other.labels.items() if v}
        and list(one.actions) == list(other.actions)
    )


@RARELY
@given(game=acyclic_games(discounts=(1, Fraction(9, 10))))
def test_random_games_keep_their_exact_values(game, tmp_path: Path, tools) -> None:
    network = explore(game)
    found = write_drn(network, tmp_path / "x.drn")
    tools.same_at_every_node(network, found, read_drn(tmp_path / "x.drn").network())


@RARELY
@given(table=tables())
def test_random_processes_with_cycles_keep_their_exact_values(table, tmp_path: Path, tools) -> None:
    network = explore(Table(table, discount=Fraction(3, 4)))
    found = write_drn(network, tmp_path / "x.drn")
    tools.same_at_every_node(network, found, read_drn(tmp_path / "x.drn").network())


def test_a_horizon_is_unrolled(tmp_path: Path, tools) -> None:
    network = attrs.evolve(explore(PigTurn(cap=12)), horizon=3)
    found = write_drn(network, tmp_path / "x.drn")
    assert found.model.n_states == 4 * network.n_nodes + 1
    tools.same_at_every_node(network, found, read_drn(tmp_path / "x.drn").network())


def test_decimals_in_place_of_fractions_are_the_same_floats(tmp_path: Path) -> None:
    network = explore(PigTurn(cap=12))
    write_drn(network, tmp_path / "x.drn", exact=False)
    text = (tmp_path / "x.drn").read_text()
    assert "/" not in text.replace("//", "")
    model = read_drn(tmp_path / "x.drn")
    assert {float(p) for p in model.probability} == {1.0, 1 / 6}


def test_a_minimiser_asks_for_the_minimum(tmp_path: Path, tools) -> None:
    game = Game.of(start=0, node=lambda s: end(s) if s else decide({"a": go(1), "b": go(2)}, player=1))
    network = explore(game)
    found = write_drn(network, tmp_path / "x.drn")
    assert found.property == 'R{"reward"}min=? [ C ]'
    back = read_drn(tmp_path / "x.drn").network()
    assert tools.exact_values(back, Total("min"))[found.node[network.start]] == tools.exact_values(network)[0] == 1


def test_two_players_are_refused_with_the_format_that_knows_them(tmp_path: Path) -> None:
    both = Game.of(start=0, node=lambda s: end(s) if s > 1 else decide({"a": go(s + 1)}, player=s))
    for game in (Piglet(goal=3), both):
        with pytest.raises(UnsupportedError, match="write_prism"):
            write_drn(explore(game), tmp_path / "x.drn")
    assert list(tmp_path.iterdir()) == []


def test_names_of_actions_are_words_and_differ(tmp_path: Path) -> None:
    options = [("a b", end(1)), ("a_b", end(2)), ((1, "x"), end(3)), ("ä", end(4)), ("", end(5))]
    network = explore(Game.of(start=0, node=lambda s: decide(options)))
    write_drn(network, tmp_path / "x.drn")
    back = read_drn(tmp_path / "x.drn").network()
    names = [back.action_of(edge) for edge in back.edges(0)]
    assert len(set(names)) == 5
    assert names[0] == "a_b"
    assert all(re.fullmatch(r"[A-Za-z0-9_]+", name) for name in names)


def test_labels_are_given_and_found(tmp_path: Path) -> None:
    network = explore(PigTurn(cap=6))
    write_drn(network, tmp_path / "x.drn", labels={"rich": [6, 7]})
    model = read_drn(tmp_path / "x.drn")
    assert model.labelled("rich") == [network.node_of(6), network.node_of(7)]
    with pytest.raises(GameError, match="letters, digits"):
        write_drn(network, tmp_path / "x.drn", labels={"not so rich": [6]})


def test_pass_to_with_a_chance_that_leads_nowhere_new(tmp_path: Path) -> None:
    game = Game.of(start=0, node=lambda s: roll(d6, lambda k: end(1) if k == 6 else pass_to(s)))
    with pytest.raises(UnsupportedError):
        write_drn(explore(game), tmp_path / "x.drn")


# --- files that are wrong ------------------------------------------------------------

GOOD = """@type: MDP
@value_type: rational
@parameters

@reward_models
r
@nr_states
2
@nr_choices
3
@model
state 0 [0] init
\taction a [1]
\t\t0 : 1/2
\t\t1 : 1/2
\taction b [0]
\t\t1 : 1
state 1 [0] done
\taction a [0]
\t\t1 : 1
"""


@pytest.fixture
def file(tmp_path: Path):
    def write(text: str | bytes) -> Path:
        path = tmp_path / "x.drn"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_the_good_file_is_good(file, tools) -> None:
    assert tools.exact_values(read_drn(file(GOOD)).network())[0] == 2


@pytest.mark.parametrize(
    ("old", "new", "field", "line"),
    [
        ("@type: MDP", "@type: MPD", "@type", 1),
        ("@type: MDP\n", "", "@type", 10),
        ("rational", "irrational", "@value_type", 2),
        ("@nr_states\n2", "@nr_states\n3", "@nr_states", None),
        ("@nr_states\n2", "@nr_states\n99999999999", "@nr_states", 8),
        ("@nr_states\n2", "@nr_states\n-2", "@nr_states", 8),
        ("@nr_states\n2", "@nr_states\ntwo", "@nr_states", 8),
        ("@nr_states\n2\n", "", "@nr_states", 9),
        ("@nr_choices\n3", "@nr_choices\n4", "@nr_choices", None),
        ("@nr_choices", "@nr_states", "@nr_states", 9),
        ("@nr_choices", "@number", "header", 9),
        ("@model", "// model", "@nr_choices", 12),
        ("state 1", "state 2", "state", 18),
        ("state 0 [0]", "state 0 [0", "reward", 12),
        ("state 0 [0] init", 'state 0 [0] "init', "label", 12),
        ("init", "first", "init", None),
        ("action a [1]", "action a [x]", "reward", 13),
        ("action a [1]", "action a [1] b", "action", 13),
        ("action a [1]", "action a [nan]", "reward", 13),
        ("action a [1]", "action a [1e999]", "reward", 13),
        ("action a [1]", "action a [1/0]", "reward", 13),
        ("\taction a [1]\n", "", "branch", 13),
        ("\t\t0 : 1/2\n\t\t1 : 1/2\n", "", "action", 14),
        ("0 : 1/2", "0 : 1/3", "probability", 13),
        ("0 : 1/2", "0 : -1/2", "probability", 14),
        ("0 : 1/2", "0 : 3/2", "probability", 14),
        ("0 : 1/2", "0 1/2", "branch", 14),
        ("0 : 1/2", "7 : 1/2", "target", 14),
        ("0 : 1/2", "0 : $p", "probability", 14),
        ("\taction a [0]\n\t\t1 : 1\n", "", "state", 18),
        ("@parameters\n\n", "@parameters\n\n@placeholders\np : 1\n", "@placeholders", 6),
    ],
)
def test_what_is_wrong_is_named_with_its_line(file, old: str, new: str, field: str, line: int | None) -> None:
    assert GOOD.count(old) >= 1
    path = file(GOOD.replace(old, new, 1))
    with pytest.raises(CorruptFileError) as caught:
        read_drn(path)
    assert (caught.value.field, caught.value.path) == (field, str(path))
    if line is not None:
        assert caught.value.line == line
        assert f"line {line}" in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe@type", b"\0" * 100, b"@type: MDP\n" + b"x" * 50])
def test_what_is_no_text_of_this_kind_is_refused(file, data: bytes) -> None:
    with pytest.raises(CorruptFileError):
        read_drn(file(data))


@pytest.mark.parametrize("cut", range(30, len(GOOD) - 3, 23))
def test_a_file_that_was_cut_off_is_not_taken_for_whole(file, cut: int) -> None:
    with pytest.raises((CorruptFileError, UnsupportedError)):
        read_drn(file(GOOD[:cut]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@type: MDP", "@type: CTMC"),
        ("@type: MDP", "@type: POMDP"),
        ("rational", "parametric"),
        ("rational", "double-interval"),
        ("@parameters\n\n", "@parameters\np q\n"),
        ("state 0 [0]", "state 0 !2 [0]"),
        ("0 : 1/2", "0 : [0.1, 0.2]"),
    ],
)
def test_models_of_another_kind_are_refused_by_name(file, old: str, new: str) -> None:
    with pytest.raises(UnsupportedError):
        read_drn(file(GOOD.replace(old, new, 1)))


def test_decimals_of_placeholders_are_exact_where_the_file_is_rational(file) -> None:
    text = GOOD.replace("@parameters\n\n", "@parameters\n\n@placeholders\n$p : 0.1\n")
    text = text.replace("0 : 1/2", "0 : $p", 1).replace("1 : 1/2", "1 : 9/10", 1)
    assert read_drn(file(text)).probability[:2] == [Fraction(1, 10), Fraction(9, 10)]
    assert read_drn(file(text), exact=False).probability[0] == 0.1  # the float


def test_placeholders_and_unnamed_actions_are_read(file) -> None:
    text = GOOD.replace("@parameters\n\n", "@parameters\n\n@placeholders\n$p : 1/2\n").replace("1/2\n\t\t", "$p\n\t\t")
    text = text.replace("action b", "action __NOLABEL__")
    network = read_drn(file(text)).network()
    assert [network.action_of(edge) for edge in network.edges(0)] == ["a", 1]


def test_few_digits_need_a_tolerance(file) -> None:
    text = GOOD.replace("0 : 1/2", "0 : 0.33333").replace("1 : 1/2", "1 : 0.66666")
    with pytest.raises(CorruptFileError, match="tolerance"):
        read_drn(file(text))
    model = read_drn(file(text), tolerance=1e-4)
    assert sum(Fraction(p) for p in model.probability[:2]) == 1


def test_the_reader_never_runs_out_of_errors_of_its_own(file) -> None:
    """Every change of one character is read or refused with an error of the library."""
    refused = 0
    for at in range(len(GOOD)):
        for character in "x /":
            path = file(GOOD[:at] + character + GOOD[at + 1 :])
            try:
                read_drn(path)
            except (CorruptFileError, UnsupportedError):
                refused += 1
    assert refused > 200
