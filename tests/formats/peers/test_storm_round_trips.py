"""Storm reads what was written as DRN and UMB, has the same value at every state, and its own files are read again."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import stormpy
from helpers import reference_models

from mdpdice import Network, solve
from mdpdice.formats import read_drn, read_umb, write_drn, write_umb

FORMS = [
    "drn",
    pytest.param("umb", marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="umbi needs Python 3.12")),
]
MODELS = [
    *("pig", "farkle", "walk", "gym_frozenlake4x4/2", "qvbs_ij.3/0", "qvbs_cdrive.2/0", "qvbs_blocksworld.5/0"),
    *("qvbs_consensus.2_K2/1", "qvbs_csma.2-2/0", "qvbs_csma.2-2/1", "qvbs_haddad-monmege_N20/0"),
    *("qvbs_pacman_MAXSTEPS5/0", "qvbs_rectangle-tireworld.5/0", "qvbs_zeroconf_N20_K2_resettrue/1"),
]
PLAY = [*("pig", "walk"), "gym_frozenlake4x4/0"]  # with a discount


def built(path: Path, form: str, number: type = stormpy.Rational):
    if form == "drn":
        return stormpy.build_model_from_drn[number](path)
    options = stormpy.io.UmbImportOptions()
    kinds = stormpy.io.UmbImportValueType
    options.value_type = kinds.RATIONAL if number is stormpy.Rational else kinds.DOUBLE
    return stormpy.build_model_from_umb(path, options=options)


def solved(model, question: str) -> list[Fraction]:
    result = stormpy.model_checking(model, stormpy.parse_property(question))
    return [Fraction(str(result.get_value(state))) for state in range(model.nr_states)]


def asked(name: str, networks) -> Network:
    if name in networks["undiscounted"]:
        return networks["undiscounted"][name]
    case = reference_models.load(name, exact=True)
    return case.objective.apply(case.network)


def same(one, other, near) -> None:
    for part in ("choice_ptr", "branch_ptr", "target"):
        assert (getattr(one, part) == getattr(other, part)).all()
    assert near(one.probability, other.probability)
    assert near(one.rewards["reward"], other.rewards["reward"])
    assert {label: states for label, states in one.labels.items() if states} == {
        label: states for label, states in other.labels.items() if states
    }
    assert one.start == other.start


def equal(one, other) -> bool:
    return list(one) == list(other)


def close(one, other) -> bool:
    return np.allclose([float(x) for x in one], [float(x) for x in other], rtol=1e-14, atol=0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_storm_has_the_exact_value_of_every_state(name: str, form: str, networks, tmp_path: Path) -> None:
    network = asked(name, networks)
    write, read = (write_drn, read_drn) if form == "drn" else (write_umb, read_umb)
    found = write(network, tmp_path / "x")
    storm = built(tmp_path / "x", form)
    solution = solve(network, solver="exact")
    assert solution.nodes.exact is not None, solution.reason
    values = solved(storm, found.property)
    assert [values[state] for state in found.node.tolist()] == list(solution.nodes.exact[-1])
    # What Storm writes is the model that was written: rationals in DRN; in UMB its release writes doubles alone.
    if form == "drn":
        stormpy.io.export_to_drn(storm, tmp_path / "y")
        same(found.model, read(tmp_path / "y", exact=True), equal)
    else:
        stormpy.io.export_to_umb(built(tmp_path / "x", form, float), tmp_path / "y")
        same(found.model, read(tmp_path / "y"), close)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", PLAY)
def test_a_discount_is_the_same_to_storm(name: str, form: str, networks, tmp_path: Path) -> None:
    network = networks["discounted"][name]
    found = (write_drn if form == "drn" else write_umb)(network, tmp_path / "x")
    values = solved(built(tmp_path / "x", form), found.property)
    mine = networks["values"](network)
    assert [float(values[state]) for state in found.node.tolist()] == pytest.approx(mine, rel=1e-9, abs=1e-9)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="umbi needs Python 3.12")
def test_what_storm_writes_as_umb_is_read_with_all_its_rewards_and_labels(robot_of_storm: Path) -> None:
    model, wanted = read_umb(robot_of_storm / "robot.umb", exact=True), read_drn(robot_of_storm / "robot.drn")
    assert list(model.rewards) == ["move", "time", "wear"]
    assert model.labels == wanted.labels
    assert list(model.probability) == [Fraction(repr(float(p))) for p in wanted.probability]
    for name, rewards in model.rewards.items():
        assert [float(x) for x in rewards] == [float(x) for x in wanted.rewards[name]]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="umbi needs Python 3.12")
def test_variables_of_storm_are_the_names_of_the_states(tmp_path: Path) -> None:
    import stormpy.examples.files

    program = stormpy.parse_prism_program(stormpy.examples.files.prism_dtmc_die)
    options = stormpy.BuilderOptions()
    options.set_build_state_valuations()
    options.set_build_all_labels()
    stormpy.io.export_to_umb(stormpy.build_model(program, options=options), tmp_path / "die.umb")
    die = read_umb(tmp_path / "die.umb")
    assert die.kind == "dtmc"
    assert die.states is not None
    assert sorted(die.states) == [*((s, 0) for s in range(7)), *((7, d) for d in range(1, 7))]


@pytest.fixture
def robot_of_storm(tmp_path: Path) -> Path:
    data = Path(__file__).parents[2] / "data" / "formats" / "robot.drn"
    (tmp_path / "robot.drn").write_bytes(data.read_bytes())
    stormpy.io.export_to_umb(stormpy.build_model_from_drn(data), tmp_path / "robot.umb")
    return tmp_path
