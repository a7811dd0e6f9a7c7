"""The PRISM language: what is written, read by a parser of the tests that knows nothing else."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import attrs
import pytest
from helpers import reference_models
from helpers.random_games import acyclic_games
from hypothesis import HealthCheck, given, settings

from mdpdice import Network, Total, explore
from mdpdice.formats import write_prism
from mdpdice.games.pig import Piglet, PigTurn

GAMES = [name for name in reference_models.names() if name.startswith("game_")]
RARELY = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def parsed(path: Path) -> Network:
    """A program of one module over a variable s, as a network; the rest of the language is an error."""
    text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    kind = text.split()[0]
    players = dict(re.findall(r"player (\w+)\s+(.*?)\s+endplayer", text, re.DOTALL))
    owner_of = {
        name: k
        for k, who in enumerate(("maximiser", "minimiser"))
        for name in re.findall(r"\[(\w+)\]", players.get(who, ""))
    }
    module = re.search(r"module network\n(.*?)endmodule", text, re.DOTALL)[1]
    size, start = map(int, re.search(r"s : \[0\.\.(\d+)\] init (\d+);", module).groups())
    commands = re.findall(r"^  \[(\w+)\] s=(\d+) -> (.*);\s*$", module, re.MULTILINE)
    assert len(commands) == module.count("->")
    block = re.search(r'rewards "reward"\n(.*?)endrewards', text, re.DOTALL)[1]
    rewards = {(a, int(s)): Fraction(r) for a, s, r in re.findall(r"\[(\w+)\] s=(\d+) : (\S+);", block)}
    choices: list[list] = [[] for _ in range(size + 1)]
    for action, state, branches in commands:
        row = [re.fullmatch(r"(\S+) : \(s'=(\d+)\)", branch).groups() for branch in branches.split(" + ")]
        choices[int(state)].append((action, [(Fraction(p), int(to)) for p, to in row]))
    assert len({(a, s) for a, s, _ in commands}) == len(commands)
    ends = [
        s
        for s, mine in enumerate(choices)
        if all(row == [(1, s)] for _, row in mine) and not any((a, s) in rewards for a, _ in mine)
    ]
    flat = [(s, a, row) for s, mine in enumerate(choices) for a, row in mine]
    owner = None
    if kind == "smg":
        owner = [{owner_of[a] for a, _ in mine}.pop() for mine in choices]
        assert all(len({owner_of[a] for a, _ in mine}) == 1 for mine in choices)
    count = [0]
    for mine in choices:
        count.append(count[-1] + len(mine))
    width = [0]
    for _, _, row in flat:
        width.append(width[-1] + len(row))
    return Network.from_choices(
        count,
        width,
        [to for _, _, row in flat for _, to in row],
        [p for _, _, row in flat for p, _ in row],
        [rewards.get((a, s), Fraction(0)) for s, a, _ in flat],
        terminal=dict.fromkeys(ends, 0),
        owner=owner,
        start=start,
    )


@pytest.mark.parametrize("name", GAMES)
def test_the_games_keep_their_reference_values(name: str, tmp_path: Path, tools) -> None:
    case = reference_models.load(name, exact=True)
    network = case.objective.apply(case.network)
    found = write_prism(network, tmp_path / "x.prism")
    assert (tmp_path / "x.prism").read_text().splitlines()[2] == "smg"
    assert found.property == '<<maximiser>> R{"reward"}max=? [ C ]'
    values = tools.exact_values(parsed(tmp_path / "x.prism"), Total(case.objective.sense))
    assert [values[state] + found.shift for state in found.node[network.state_node].tolist()] == case.exact


@RARELY
@given(game=acyclic_games(pass_on=True, totals=(0, 1)))
def test_games_that_pass_the_move_keep_their_exact_values(game, tmp_path: Path, tools) -> None:
    network = explore(game)
    found = write_prism(network, tmp_path / "x.prism")
    tools.same_at_every_node(network, found, parsed(tmp_path / "x.prism"))


@RARELY
@given(game=acyclic_games(players=(0, 1), discounts=(1, Fraction(9, 10))))
def test_games_of_two_players_keep_their_exact_values(game, tmp_path: Path, tools) -> None:
    network = explore(game)
    found = write_prism(network, tmp_path / "x.prism")
    if found.minimise:
        mine, other = (tools.exact_values(network), tools.exact_values(parsed(tmp_path / "x.prism"), Total("min")))
        assert mine == [other[state] for state in found.node.tolist()]
    else:
        tools.same_at_every_node(network, found, parsed(tmp_path / "x.prism"))


def test_piglet_is_a_game_with_the_published_value(tmp_path: Path, tools) -> None:
    network = explore(Piglet(goal=2))
    found = write_prism(network, tmp_path / "x.prism")
    value = tools.exact_values(parsed(tmp_path / "x.prism"))[found.node[network.start]] + found.shift
    assert value == Fraction(4, 7)  # Neller and Presser 2004, page 28: P(0,0,0) of Piglet with goal 2


def test_horizon_and_sides_together(tmp_path: Path, tools) -> None:
    network = attrs.evolve(explore(PigTurn(cap=8)), horizon=2)
    found = write_prism(network, tmp_path / "x.prism")
    tools.same_at_every_node(network, found, parsed(tmp_path / "x.prism"))


def test_the_text_of_a_small_turn(tmp_path: Path) -> None:
    write_prism(explore(PigTurn(cap=2)), tmp_path / "x.pm", labels={"two": [2]})
    assert (tmp_path / "x.pm").read_text().splitlines() == SMALL.splitlines()


SMALL = """// Exported by mdpdice
// The value of the game is that of R{"reward"}max=? [ C ]
mdp

module network
  s : [0..8] init 0;
  [a0] s=0 -> 1 : (s'=7); // hold
  [a1] s=0 -> 1 : (s'=1); // roll
  [a0] s=1 -> 1/6 : (s'=2) + 1/6 : (s'=3) + 1/6 : (s'=4) + 1/6 : (s'=5) + 1/6 : (s'=6) + 1/6 : (s'=7);
  [a0] s=2 -> 1 : (s'=8);
  [a0] s=3 -> 1 : (s'=8);
  [a0] s=4 -> 1 : (s'=8);
  [a0] s=5 -> 1 : (s'=8);
  [a0] s=6 -> 1 : (s'=8);
  [a0] s=7 -> 1 : (s'=8);
  [a0] s=8 -> 1 : (s'=8);
endmodule

rewards "reward"
  [a0] s=2 : 2;
  [a0] s=3 : 3;
  [a0] s=4 : 4;
  [a0] s=5 : 5;
  [a0] s=6 : 6;
endrewards

label "end" = s=2 | s=3 | s=4 | s=5 | s=6 | s=7;
label "done" = s=8;
label "two" = s=2;
"""
