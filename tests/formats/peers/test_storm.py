"""Storm answers for what was written as DRN, explicit files and in the PRISM language, at every state."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest
import stormpy

from mdpdice import Network, Reach, UntilReward, explore, solve
from mdpdice.formats import read_drn, read_prism_explicit, write_drn, write_prism, write_prism_explicit
from mdpdice.games.pig import Piglet

DATA = Path(__file__).parents[2] / "data" / "formats"
UNDISCOUNTED = [
    "pig",
    "farkle",
    "walk",
    "gym_frozenlake4x4/2",
    "qvbs_ij.3/0",
    "qvbs_cdrive.2/0",
    "qvbs_blocksworld.5/0",
]
DISCOUNTED = ["gym_frozenlake4x4/0", "gym_cliffwalking/0", "gym_taxi/0", "pig", "walk"]


def answers(model, question: str, context=None) -> list:
    result = stormpy.model_checking(model, stormpy.parse_property(question, context))
    return [result.get_value(state) for state in range(model.nr_states)]


def fractions(values) -> list[Fraction]:
    return [Fraction(str(value)) for value in values]


@pytest.mark.parametrize("name", UNDISCOUNTED)
def test_drn_has_the_exact_values(name: str, networks, tmp_path: Path) -> None:
    network = networks["undiscounted"][name]
    found = write_drn(network, tmp_path / "x.drn")
    storm = fractions(answers(stormpy.build_model_from_drn[stormpy.Rational](tmp_path / "x.drn"), found.property))
    solution = solve(network, solver="exact")
    assert solution.nodes.exact is not None, solution.reason
    assert [storm[state] for state in found.node.tolist()] == list(solution.nodes.exact[-1])


@pytest.mark.parametrize("name", DISCOUNTED)
def test_a_discount_in_drn_has_the_same_values(name: str, networks, tmp_path: Path) -> None:
    network = networks["discounted"][name]
    # Storm's total rewards are not negative: what costs is asked as a reward of the minimiser.
    if (network.reward < 0).any():
        network = attrs.evolve(
            network, kind=[2 if k == 1 else k for k in network.kind], reward=0.0 - network.reward, exact_rewards={}
        )
        if (network.reward < 0).any():
            network = attrs.evolve(network, reward=network.reward - network.reward.min() * network.step)
    found = write_drn(network, tmp_path / "x.drn")
    storm = fractions(answers(stormpy.build_model_from_drn[stormpy.Rational](tmp_path / "x.drn"), found.property))
    mine = networks["values"](network)
    assert [float(storm[state]) for state in found.node.tolist()] == pytest.approx(mine, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["pig", "walk", "gym_frozenlake4x4/2"])
def test_explicit_files_have_the_values(name: str, networks, tmp_path: Path) -> None:
    network = networks["undiscounted"][name]
    found = write_prism_explicit(network, tmp_path / "x.tra", dialect="storm")
    model = stormpy.build_model_from_explicit(
        tmp_path / "x.tra", tmp_path / "x.lab", transition_rewards=tmp_path / "x.trew"
    )
    storm = answers(model, 'Rmax=? [ F "done" ]' if name != "gym_frozenlake4x4/2" else "Rmax=? [ C ]")
    # Storm's floating-point answers are good to six digits.
    assert [storm[state] for state in found.node.tolist()] == pytest.approx(
        networks["values"](network), rel=1e-5, abs=1e-5
    )


@pytest.mark.parametrize("name", ["pig", "walk", "gym_frozenlake4x4/2"])
def test_the_prism_language_has_the_exact_values(name: str, networks, tmp_path: Path) -> None:
    network = networks["undiscounted"][name]
    found = write_prism(network, tmp_path / "x.prism")
    solution = solve(network, solver="exact")
    # Storm explores what can be reached from the initial state, so every state is made that once.
    for node in range(0, network.n_nodes, max(1, network.n_nodes // 12)):
        text = (tmp_path / "x.prism").read_text().replace(f"init {network.start};", f"init {found.node[node]};")
        (tmp_path / "y.prism").write_text(text)
        program = stormpy.parse_prism_program(tmp_path / "y.prism")
        model = stormpy.build_model[stormpy.Rational](program)
        storm = fractions(answers(model, found.property))
        assert storm[model.initial_states[0]] == solution.nodes.exact[-1][node]


@pytest.mark.parametrize("goal", [2, 3])
def test_a_game_in_the_prism_language_is_the_same_to_storm(goal: int, tmp_path: Path) -> None:
    """Storm's package builds games and does not solve them, so what it built is solved here."""
    network = explore(Piglet(goal=goal))
    found = write_prism(network, tmp_path / "x.prism")
    model = stormpy.build_model[stormpy.Rational](stormpy.parse_prism_program(tmp_path / "x.prism"))
    assert str(model.model_type) == "ModelType.SMG"
    matrix, rewards = model.transition_matrix, fractions(model.reward_models["reward"].state_action_rewards)
    groups = [range(matrix.get_row_group_start(s), matrix.get_row_group_end(s)) for s in range(model.nr_states)]
    rows = [[(e.column, Fraction(str(e.value))) for e in matrix.get_row(row)] for group in groups for row in group]
    players = [model.get_player_of_state(s) for s in range(model.nr_states)]
    first = players[model.initial_states[0]]
    back = Network.from_choices(
        [0, *(group.stop for group in groups)],
        [0, *itertools.accumulate(len(row) for row in rows)],
        [to for row in rows for to, _ in row],
        [p for row in rows for _, p in row],
        rewards,
        owner=[int(player != first) for player in players],
        start=model.initial_states[0],
    )
    mine, other = solve(network, solver="exact"), solve(back, solver="exact")
    assert set(players) == {0, 1}
    assert mine.nodes.exact[-1][network.start] == other.nodes.exact[-1][back.start] + found.shift


def test_storm_confirms_the_references_of_the_robot() -> None:
    model = stormpy.build_model_from_drn[stormpy.Rational](DATA / "robot.drn")
    assert fractions(answers(model, 'R{"move"}min=? [ F "goal2" ]'))[:6] == [
        Fraction(19, 15),
        1,
        0,
        0,
        Fraction(5, 3),
        Fraction(10, 9),
    ]
    assert fractions(answers(model, 'Pmax=? [ F "goal1" ]'))[0] == Fraction(1, 2)
    assert fractions(answers(model, 'Pmax=? [ !"hazard" U "goal1" ]'))[0] == Fraction(1, 10)


def test_storm_writes_the_file_of_the_tests_again(tmp_path: Path) -> None:
    """The shared coin of randomised consensus, from its arrays."""
    from stormpy.developer import storage

    with np.load(DATA.parent / "models" / "qvbs_consensus.2_K2.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    choice_ptr, branch_ptr = arrays["choice_ptr"].tolist(), arrays["tr_ptr"].tolist()
    builder = storage.SparseMatrixBuilder(
        rows=0, columns=0, entries=0, force_dimensions=False, has_custom_row_grouping=True, row_groups=0
    )
    labels = storage.StateLabeling(len(choice_ptr) - 1)
    for first, end in itertools.pairwise(choice_ptr):
        builder.new_row_group(first)
        for choice in range(first, end):
            row = slice(branch_ptr[choice], branch_ptr[choice + 1])
            for to, p in sorted(zip(arrays["tr_col"][row].tolist(), arrays["tr_prob"][row].tolist(), strict=True)):
                builder.add_next_value(choice, to, p)
    for name in sorted(name for name in arrays if name.startswith("lab__")):
        labels.add_label(name[5:])
        for state in arrays[name].tolist():
            labels.add_label_to_state(name[5:], state)
    steps = storage.SparseRewardModel(optional_state_action_reward_vector=arrays["rew__steps"].tolist())
    parts = storage.SparseModelComponents(
        transition_matrix=builder.build(), state_labeling=labels, reward_models={"steps": steps}
    )
    stormpy.io.export_to_drn(storage.SparseMdp(parts), tmp_path / "x.drn")
    assert (tmp_path / "x.drn").read_bytes() == (DATA / "consensus.drn").read_bytes()


def test_files_of_storm_are_read_with_its_own_answers() -> None:
    """Storm's examples, as its Python package installs them."""
    import stormpy.examples

    folder = Path(stormpy.examples.__file__).parent / "files"
    die = read_prism_explicit(folder / "dtmc" / "die.tra", state_rewards=None)
    assert solve(die.network(), Reach(die.labelled("three"))).value() == pytest.approx(1 / 6)
    dice = read_prism_explicit(
        folder / "mdp" / "two_dice.tra", state_rewards=folder / "rew" / "two_dice.flip.state.rew"
    )
    flips = solve(dice.network(), UntilReward(dice.labelled("done"), sense="min")).value()
    model = stormpy.build_model_from_explicit(
        folder / "mdp" / "two_dice.tra",
        folder / "mdp" / "two_dice.lab",
        state_rewards=folder / "rew" / "two_dice.flip.state.rew",
    )
    storm = answers(model, 'Rmin=? [ F "done" ]')
    assert flips == pytest.approx(storm[0], rel=1e-6)
    assert solve(dice.network(), Reach(dice.labelled("seven"))).value() == pytest.approx(1 / 6)


def test_what_storm_writes_is_read(networks, tmp_path: Path) -> None:
    network = networks["undiscounted"]["walk"]
    write_drn(network, tmp_path / "x.drn")
    stormpy.io.export_to_drn(stormpy.build_model_from_drn[stormpy.Rational](tmp_path / "x.drn"), tmp_path / "y.drn")
    one, two = read_drn(tmp_path / "x.drn"), read_drn(tmp_path / "y.drn", exact=True)
    assert (one.target == two.target).all()
    assert list(one.probability) == list(two.probability)
    assert list(one.rewards["reward"]) == list(two.rewards["reward"])
