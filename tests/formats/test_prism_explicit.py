"""PRISM's explicit files: files that PRISM wrote, both dialects, round trips, and files that are wrong."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from helpers import reference_models
from helpers.random_games import Table, acyclic_games, tables
from hypothesis import HealthCheck, given, settings

from mdpdice import Reach, Total, UntilReward, d6, end, explore, go, roll
from mdpdice.errors import CorruptFileError, GameError, UnsupportedError
from mdpdice.formats import read_prism_explicit, write_prism_explicit
from mdpdice.games.pig import Piglet, PigTurn
from mdpdice.modelling.game import Game

RARELY = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

# The die of Knuth and Yao (1976), in the dialect of Storm: a fair die by fair coins.
DIE = """dtmc
0 1 0.5
0 2 0.5
1 3 0.5
1 4 0.5
2 5 0.5
2 6 0.5
3 1 0.5
3 7 0.5
4 8 0.5
4 9 0.5
5 10 0.5
5 11 0.5
6 2 0.5
6 12 0.5
7 7 1
8 8 1
9 9 1
10 10 1
11 11 1
12 12 1
"""
DIE_LABELS = """#DECLARATION
init deadlock one six done
#END
0 init
7 one done
8 done
9 done
10 done
11 done
12 six done
"""


def test_the_robot_of_the_lectures_has_its_published_answers(robot: Path, tools) -> None:
    model = read_prism_explicit(robot / "robot.tra", exact=True)
    assert (model.kind, list(model.rewards)) == ("mdp", ["move"])
    network = model.network()
    assert [network.action_of(edge) for edge in network.edges(0)] == ["east", "south"]
    assert tools.exact_values(network, Reach(model.labelled("goal1")))[0] == Fraction(1, 2)
    safe = Reach(model.labelled("goal1"), avoiding=model.labelled("hazard"))
    assert tools.exact_values(network, safe)[0] == Fraction(1, 10)
    moves = tools.float_values(network, objective=UntilReward(model.labelled("goal2"), sense="min"))
    assert moves[0] == pytest.approx(19 / 15, abs=1e-9)


def test_the_die_of_knuth_and_yao(tmp_path: Path, tools) -> None:
    (tmp_path / "die.tra").write_text(DIE)
    (tmp_path / "die.lab").write_text(DIE_LABELS)
    (tmp_path / "die.srew").write_text("".join(f"{s} 1\n" for s in range(7)))
    model = read_prism_explicit(tmp_path / "die.tra")
    network = model.network()
    assert (model.kind, network.start, network.n_states) == ("dtmc", 0, 13)
    assert tools.exact_values(network, Reach(model.labelled("six")))[0] == Fraction(1, 6)
    # 11/3 coins, Knuth and Yao's own number.
    assert tools.exact_values(network, UntilReward(model.labelled("done")))[0] == Fraction(11, 3)


def test_variables_name_the_states(robot: Path, tmp_path: Path) -> None:
    shutil.copy(robot / "robot.tra", tmp_path / "r.tra")
    (tmp_path / "r.sta").write_text(
        "# States\n(x,free)\n" + "".join(f"{i}:({i // 2},{'true' if i % 2 else 'false'})\n" for i in range(6))
    )
    network = read_prism_explicit(tmp_path / "r.tra").network()
    assert network.node_of((2, True)) == 5
    (tmp_path / "r.sta").write_text("(x)\n0:(1)\n1:(1)\n2:(2)\n3:(3)\n4:(4)\n5:(5)\n")
    with pytest.raises(CorruptFileError, match="same values"):
        read_prism_explicit(tmp_path / "r.tra")


@pytest.mark.parametrize("dialect", ["prism", "storm"])
@pytest.mark.parametrize("name", ["gym_frozenlake4x4/2", "qvbs_consensus.2_K2/3", "qvbs_ij.3/0", "qvbs_cdrive.2/0"])
def test_models_survive_in_both_dialects(name: str, dialect: str, tmp_path: Path, tools) -> None:
    case = reference_models.load(name, exact=True)
    until = isinstance(case.objective, UntilReward)
    network = case.network if until else case.objective.apply(case.network)
    labels = {"target": [network.states[i] for i in case.objective.targets]} if until else None
    found = write_prism_explicit(network, tmp_path / "x.tra", exact=True, dialect=dialect, labels=labels)
    model = read_prism_explicit(tmp_path / "x.tra", exact=True)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".lab", ".tra", ".trew"]
    assert list(model.probability) == list(found.model.probability)
    assert (model.target == found.model.target).all()
    assert {k: v for k, v in model.labels.items() if v} == {k: v for k, v in found.model.labels.items() if v}
    sense = case.objective.sense
    asked = UntilReward(model.labelled("target"), sense=sense) if until else Total(sense)
    values = tools.exact_values(model.network(), asked)
    assert [values[state] for state in found.node[network.state_node]] == case.exact


@RARELY
@given(game=acyclic_games(discounts=(1, Fraction(9, 10))))
def test_random_games_keep_their_exact_values(game, tmp_path: Path, tools) -> None:
    network = explore(game)
    found = write_prism_explicit(network, tmp_path / "x.tra", exact=True)
    tools.same_at_every_node(network, found, read_prism_explicit(tmp_path / "x.tra", exact=True).network())


@RARELY
@given(table=tables())
def test_random_processes_keep_their_values_in_decimals(table, tmp_path: Path, tools) -> None:
    network = explore(Table(table, discount=Fraction(3, 4)))
    found = write_prism_explicit(network, tmp_path / "x.tra")
    back = read_prism_explicit(tmp_path / "x.tra").network()
    mine, other = tools.float_values(network), tools.float_values(back)
    assert mine == pytest.approx(other[[back.node_of(s) for s in found.node.tolist()]], abs=1e-9)


def test_rewards_of_an_earlier_model_do_not_stay(tmp_path: Path) -> None:
    chain = explore(Game.of(start=0, node=lambda s: roll(d6, lambda k: end(k) if k > 3 else go(0, reward=1))))
    write_prism_explicit(explore(Table({0: {"a": (_certainly(1), {1: 2})}, 1: None})), tmp_path / "x.tra")
    assert (tmp_path / "x.trew").exists()
    write_prism_explicit(chain, tmp_path / "x.tra")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".lab", ".srew", ".tra"]
    assert read_prism_explicit(tmp_path / "x.tra").kind == "dtmc"


def _certainly(state):
    from mdpdice import certainly

    return certainly(state)


def test_two_players_and_unknown_dialects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="write_prism"):
        write_prism_explicit(explore(Piglet(goal=2)), tmp_path / "x.tra")
    with pytest.raises(GameError, match="dialect"):
        write_prism_explicit(explore(Piglet(goal=2)), tmp_path / "x.tra", dialect="mrmc")


@pytest.mark.parametrize(
    ("suffix", "old", "new", "field", "line"),
    [
        (".tra", "6 10 16", "6 10", "action", 3),
        (".tra", "6 10 16", "6 10 17", "sizes", None),
        (".tra", "6 10 16", "6 11 16", "sizes", None),
        (".tra", "6 10 16", "5 10 16", "target", 12),
        (".tra", "6 10 16", "6 10 999999999", "sizes", 1),
        (".tra", "6 10 16", "six", "sizes", 1),
        (".tra", "0 0 0 0.4 east", "0 0 0 4/0 east", "probability", 2),
        (".tra", "0 0 0 0.4 east", "0 0 0 1.4 east", "probability", 2),
        (".tra", "0 0 0 0.4 east", "0 0 0 0.2 east", "probability", 2),
        (".tra", "0 0 0 0.4 east", "0 0 0 0.4 west", "action", 3),
        (".tra", "0 0 0 0.4 east", "0 0 x 0.4 east", "target", 2),
        (".tra", "3 0 3 1 stuck", "3 1 3 1 stuck", "choice", 11),
        (".trew", "6 10 14", "6 11 14", "sizes", 3),
        (".lab", '1="deadlock"', "1=deadlock", "label", 2),
        (".lab", "0: 0", "0: 9", "label", 3),
        (".lab", "0: 0", "9: 0", "state", 3),
        (".trew", "6 10 14", "7 10 14", "sizes", 3),
        (".trew", "6 10 14", "6 10 15", "sizes", None),
        (".trew", "0 0 0 1\n", "0 0 5 1\n", "transition", 4),
        (".trew", "0 0 0 1\n", "0 0 1 1\n", "transition", 5),
        (".trew", "0 0 0 1\n", "0 0 0 inf\n", "reward", 4),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    robot: Path, tmp_path: Path, suffix: str, old: str, new: str, field: str, line: int | None
) -> None:
    for other in (".tra", ".lab", ".trew"):
        shutil.copy(robot / f"robot{other}", tmp_path / f"x{other}")
    path = tmp_path / f"x{suffix}"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(CorruptFileError) as caught:
        read_prism_explicit(tmp_path / "x.tra")
    assert (caught.value.field, caught.value.path, caught.value.line) == (field, str(path), line)


def test_no_states_at_all(tmp_path: Path) -> None:
    (tmp_path / "x.tra").write_text("0 0\n")
    with pytest.raises(CorruptFileError, match="no states"):
        read_prism_explicit(tmp_path / "x.tra")
    (tmp_path / "x.tra").write_text("")
    with pytest.raises(CorruptFileError, match="first line"):
        read_prism_explicit(tmp_path / "x.tra")


def test_deadlocks_end_the_play(tmp_path: Path, tools) -> None:
    (tmp_path / "x.tra").write_text("3 2\n0 1 0.5\n0 2 0.5\n")
    (tmp_path / "x.srew").write_text("3 1\n0 4\n")
    assert tools.exact_values(read_prism_explicit(tmp_path / "x.tra").network())[0] == 4


def test_rewards_of_two_names_are_two_structures(robot: Path, tmp_path: Path) -> None:
    for suffix in (".tra", ".trew"):
        shutil.copy(robot / f"robot{suffix}", tmp_path / f"x{suffix}")
    (tmp_path / "x.srew").write_text(
        '# Reward structure: "time"\n# State rewards\n6 6\n' + "".join(f"{s} 1\n" for s in range(6))
    )
    model = read_prism_explicit(tmp_path / "x.tra")
    assert {name: sum(row) for name, row in model.rewards.items()} == {"time": 10, "move": 8}
    (tmp_path / "x.srew").write_text('# Reward structure: "move"\n6 1\n0 2\n')
    assert list(read_prism_explicit(tmp_path / "x.tra").rewards["move"]) == [3, 3, 1, 1, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("suffix", [".lab", ".sta", ".srew", ".trew"])
def test_the_transitions_do_not_take_the_name_of_another_file(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(GameError, match=r"x\.tra"):
        write_prism_explicit(explore(PigTurn(cap=4)), tmp_path / f"x{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".lab", ".trew"])
def test_a_file_that_was_emptied_is_not_taken_for_one_that_says_nothing(suffix: str, tmp_path: Path) -> None:
    write_prism_explicit(explore(PigTurn(cap=4)), tmp_path / "x.tra")
    read_prism_explicit(tmp_path / "x.tra")
    (tmp_path / f"x{suffix}").write_text("# nothing\n")
    with pytest.raises(CorruptFileError, match="empty"):
        read_prism_explicit(tmp_path / "x.tra")
