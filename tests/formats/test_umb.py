"""UMB: round trips of exact numbers, rewards, labels and names, and files that are damaged or of another kind."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import subprocess
import sys
import tarfile
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from helpers import reference_models
from helpers.random_games import Table, acyclic_games, tables
from hypothesis import HealthCheck, given, settings

from mdpdice import Game, Reach, Total, UntilReward, decide, end, explore, go, roll, solve
from mdpdice.cli import main
from mdpdice.errors import CorruptFileError, MdpDiceError, UnsupportedError
from mdpdice.formats import Model, read_umb, write_drn, write_umb
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import Piglet, PigTurn

umbi = pytest.importorskip("umbi", reason="the package umbi is not there; it needs Python 3.12")
RARELY = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
MODELS = [
    name
    for name in reference_models.names()
    if name not in ("gym_frozenlake4x4/3", "gym_cliffwalking/3") and "taxi" not in name and "N100" not in name
]


# --- round trips -------------------------------------------------------------------


def same(one: Model, other: Model) -> bool:
    return (
        one.kind == other.kind
        and one.start == other.start
        and all((getattr(one, a) == getattr(other, a)).all() for a in ("choice_ptr", "branch_ptr", "target"))
        and list(one.probability) == list(other.probability)
        and {k: list(v) for k, v in one.rewards.items()} == {k: list(v) for k, v in other.rewards.items()}
        and one.labels == other.labels
        and list(one.actions or [""] * one.n_choices) == list(other.actions)
        and (one.owner is None if other.owner is None else (one.owner == other.owner).all())
    )


@pytest.mark.parametrize("name", MODELS)
def test_every_property_of_the_models_survives(name: str, tmp_path: Path, tools) -> None:
    case = reference_models.load(name, exact=True)
    objective = case.objective
    until = isinstance(objective, UntilReward)
    network = case.network if until else objective.apply(case.network)
    labels = {"Target": [network.states[i] for i in objective.targets]} if until else None
    found = write_umb(network, tmp_path / "x.umb", labels=labels)
    model = read_umb(tmp_path / "x.umb")
    assert same(model, found.model)
    if model.n_states > 400 or name.startswith(("qvbs_haddad", "game_pig6")):
        return  # equal models have equal values, and solving these exactly takes long
    asked = UntilReward(model.labelled("Target"), sense=objective.sense) if until else Total(objective.sense)
    values = tools.exact_values(model.network(), asked)
    assert [values[state] + found.shift for state in found.node[network.state_node]] == case.exact


@RARELY
@given(game=acyclic_games(discounts=(1, Fraction(9, 10))))
def test_random_games_keep_their_exact_values(game, tmp_path: Path, tools) -> None:
    network = explore(game)
    found = write_umb(network, tmp_path / "x.umb")
    back = attrs.evolve(read_umb(tmp_path / "x.umb"), states=None).network()
    tools.same_at_every_node(network, found, back)


@RARELY
@given(table=tables())
def test_random_processes_with_cycles_keep_their_exact_values(table, tmp_path: Path, tools) -> None:
    network = explore(Table(table, discount=Fraction(3, 4)))
    found = write_umb(network, tmp_path / "x.umb")
    back = attrs.evolve(read_umb(tmp_path / "x.umb"), states=None).network()
    tools.same_at_every_node(network, found, back)


def test_states_keep_their_names(tmp_path: Path) -> None:
    states = {0: decide({"a": roll({"x": 1, (1, 2): 2}, go), "b": end(1)}), "x": end(3), (1, 2): decide({"c": end(5)})}
    network = explore(Game.of(start=0, node=states.__getitem__))
    write_umb(network, tmp_path / "x.umb", labels={"pair": [(1, 2)]})
    model = read_umb(tmp_path / "x.umb")
    assert {0, "[1, 2]"} <= set(model.states)
    assert model.labelled("pair") == ["[1, 2]"]
    solution, back = solve(network), solve(model.network())
    assert back.value("[1, 2]") == solution.value((1, 2)) == 5
    assert back.value() == solution.value()
    assert back.action(0) == solution.action(0) == "a"


def test_states_of_every_kind_of_game_are_named(tmp_path: Path) -> None:
    for game in (Piglet(goal=3), KcdFarkle(cap=300)):
        network = explore(game)
        write_umb(network, tmp_path / "x.umb")
        model = read_umb(tmp_path / "x.umb")
        assert len(set(model.states)) == model.n_states
        assert sum(not str(state).startswith("#") for state in model.states) == network.n_states


def test_a_game_of_two_players_keeps_both(tmp_path: Path, tools) -> None:
    network = explore(Piglet(goal=3))
    found = write_umb(network, tmp_path / "x.umb")
    model = read_umb(tmp_path / "x.umb")
    assert model.kind == "smg"
    assert found.shift == Fraction(1, 2)
    tools.same_at_every_node(network, found, attrs.evolve(model, states=None).network())


def test_a_horizon_is_unrolled(tmp_path: Path, tools) -> None:
    network = attrs.evolve(explore(PigTurn(cap=12)), horizon=3)
    found = write_umb(network, tmp_path / "x.umb")
    model = read_umb(tmp_path / "x.umb")
    assert model.n_states == 4 * network.n_nodes + 1
    tools.same_at_every_node(network, found, attrs.evolve(model, states=None).network())


def test_longer_rationals_have_more_bits(tmp_path: Path) -> None:
    tiny = Fraction(1, 3**200)
    game = Game.of(start=0, node=lambda s: end(7**150) if s else roll({1: tiny, 2: 1 - tiny}, go))
    found = write_umb(explore(game), tmp_path / "x.umb")
    assert same(read_umb(tmp_path / "x.umb"), found.model)
    huge = Game.of(start=0, node=lambda s: end(1) if s else decide({"a": go(1, reward=1 << 40_000)}))
    with pytest.raises(MdpDiceError):
        write_umb(explore(huge), tmp_path / "y.umb")
    assert not (tmp_path / "y.umb").exists()


def test_doubles_are_the_floats_or_what_they_are_printed_as(tmp_path: Path) -> None:
    game = Game.of(start=0, node=lambda s: end("1/10") if s else roll({1: Fraction(1, 10), 2: Fraction(9, 10)}, go))
    found = write_umb(explore(game), tmp_path / "x.umb", exact=False)
    floats, read = read_umb(tmp_path / "x.umb"), read_umb(tmp_path / "x.umb", exact=True)
    assert list(floats.probability) == [float(p) for p in found.model.probability]
    assert list(read.probability) == list(found.model.probability)
    assert list(read.rewards["reward"]) == list(found.model.rewards["reward"])
    small = explore(Game.of(start=0, node=lambda s: end(Fraction(1, 10**400))))
    with pytest.raises(UnsupportedError, match="exact=True"):
        write_umb(small, tmp_path / "x.umb", exact=False)


def test_what_is_not_packed_and_what_xz_packs_is_read(tmp_path: Path) -> None:
    found = write_umb(explore(PigTurn(cap=6)), tmp_path / "x.umb")
    plain = gzip.decompress((tmp_path / "x.umb").read_bytes())
    for data in (plain, lzma.compress(plain)):
        (tmp_path / "y.umb").write_bytes(data)
        assert same(read_umb(tmp_path / "y.umb"), found.model)


def test_start_is_chosen_as_everywhere(tmp_path: Path) -> None:
    network = explore(PigTurn(cap=6))
    write_umb(network, tmp_path / "x.umb")
    members = unpacked(tmp_path / "x.umb")
    members["state-is-initial.bin"] = b"\x05" + members["state-is-initial.bin"][1:]
    pack(members, tmp_path / "y.umb")
    with pytest.raises(UnsupportedError, match="2 initial states: 0, 2"):
        read_umb(tmp_path / "y.umb")
    model = read_umb(tmp_path / "y.umb", start={0: "1/2", 2: "1/2"})
    whole, first, second = (solve(attrs.evolve(model, start=s).network()).value() for s in (model.start, 0, 2))
    assert whole == pytest.approx((first + second) / 2)


def test_the_command_line_exports_and_imports(tmp_path: Path) -> None:
    path = str(tmp_path / "pig.umb")
    written = CliRunner().invoke(main, ["export", "pig-turn", "-p", "cap=12", "--to", path])
    assert written.exit_code == 0, written.output
    read = CliRunner().invoke(main, ["import", path, "--solve", "--solver", "exact", "--start", "0", "--json"])
    said = json.loads(read.output)
    assert (said["format"], said["kind"], said["status"], said["notes"]) == ("umb", "mdp", "exact", [])
    assert said["value"] == float(solve(explore(PigTurn(cap=12)), solver="exact").exact())
    assert {"lower", "upper"} <= set(said)


# --- rewards and labels of other tools -----------------------------------------------


def unpacked(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def pack(members: dict[str, bytes], path: Path) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def doubles(*numbers: float) -> bytes:
    return np.array(numbers, dtype="<f8").tobytes()


def pointers(*numbers: int) -> bytes:
    return np.array(numbers, dtype="<u8").tobytes()


def small(**changes) -> dict[str, bytes]:
    """A process of 3 states, where the first one chooses between 1 branch and 2, as another tool writes it."""
    double = {"type": "double", "size": 64}
    system = {
        "time": "discrete", "#players": 1, "#states": 3, "#initial-states": 1, "#choices": 4, "#choice-actions": 0,
        "#branches": 5, "#branch-actions": 0, "#observations": 0, "branch-probability-type": double,
    }  # fmt: skip
    system |= changes.pop("system", {})
    index = {
        "format-version": 1,
        "format-revision": 0,
        "transition-system": system,
        "annotations": {
            "rewards": {"r-1": {"alias": "Cost!", "applies-to": ["states", "choices", "branches"], "type": double}},
            "aps": {"g": {"alias": "Goal 1", "applies-to": ["states"], "type": {"type": "bool", "size": 1}}},
            "other": {"x": {"applies-to": ["states"], "type": {"type": "uint", "size": 64}}},
        },
        "valuations": {"states": {"unique": True, "classes": [{"variables": [
            {"name": "s", "type": {"type": "uint", "size": 7}, "offset": -1},
            {"name": "b", "type": {"type": "bool", "size": 1}},
        ]}]}},
    } | changes.pop("index", {})  # fmt: skip
    return {
        "index.json": json.dumps(index).encode(),
        "state-is-initial.bin": pointers(1),
        "state-to-choices.bin": pointers(0, 2, 3, 4),
        "choice-to-branches.bin": pointers(0, 1, 3, 4, 5),
        "branch-to-target.bin": pointers(1, 1, 2, 1, 2),
        "branch-to-probability.bin": doubles(1, 0.25, 0.75, 1, 1),
        "annotations/rewards/r-1/states/values.bin": doubles(1, 0, 0),
        "annotations/rewards/r-1/choices/values.bin": doubles(0.5, 0, 0, 0),
        "annotations/rewards/r-1/branches/values.bin": doubles(0, 4, 8, 0, 0),
        "annotations/aps/g/states/values.bin": pointers(4),
        "annotations/other/x/states/values.bin": pointers(1, 2, 3),
        "valuations/states/valuations.bin": bytes([1, 0x82, 3]),
    } | changes


def test_rewards_of_states_choices_and_branches_are_added(tmp_path: Path) -> None:
    pack(small(), tmp_path / "x.umb")
    model = read_umb(tmp_path / "x.umb")
    assert list(model.rewards["Cost!"]) == [1.5, 8.0, 0.0, 0.0]  # 1 + 1/2; 1 + 4/4 + 8 * 3/4
    assert model.labels == {"Goal 1": (2,), "init": (0,)}
    assert model.states == [(0, False), (1, True), (2, False)]
    assert solve(model.network(), Reach(model.labelled("Goal 1"))).value() == 0.75


def test_files_that_need_not_be_there_have_their_defaults(tmp_path: Path) -> None:
    # One choice for every state, one branch for every choice, and no reward.
    changes = {"#players": 0, "#choices": 3, "#branches": 3}
    members = small(system=changes, **{"branch-to-target.bin": pointers(1, 2, 2)})
    members["branch-to-probability.bin"] = doubles(1, 1, 1)
    keep = ("index.json", "state-is-initial.bin", "branch-to-target.bin", "branch-to-probability.bin")
    pack({name: members[name] for name in keep}, tmp_path / "x.umb")
    with pytest.raises(CorruptFileError):  # its variables
        read_umb(tmp_path / "x.umb")
    index = json.loads(members["index.json"])
    del index["valuations"]
    pack({name: members[name] for name in keep} | {"index.json": json.dumps(index).encode()}, tmp_path / "x.umb")
    model = read_umb(tmp_path / "x.umb")
    assert (model.kind, model.target.tolist(), list(model.rewards["Cost!"])) == ("dtmc", [1, 2, 2], [0, 0, 0])


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"time": "stochastic", "exit-rate-type": {"type": "double", "size": 64}}, "exit rates"),
        ({"time": "urgent-stochastic"}, "exit rates"),
        ({"#observations": 2, "observations-apply-to": "states"}, "observations"),
        ({"#players": 3, "player-names": ["a", "b", "c"]}, "more than two players"),
        ({"branch-probability-type": {"type": "double-interval", "size": 128}}, "intervals"),
        ({"branch-probability-type": {"type": "rational-interval", "size": 256}}, "intervals"),
    ],
)
def test_other_models_are_refused_by_name(changes, what: str, tmp_path: Path) -> None:
    pack(small(system=changes), tmp_path / "x.umb")
    with pytest.raises(UnsupportedError, match=f"x.umb has {what}"):
        read_umb(tmp_path / "x.umb")


def test_a_transition_system_without_probabilities_is_refused(tmp_path: Path) -> None:
    members = small()
    index = json.loads(members["index.json"])
    del index["transition-system"]["branch-probability-type"]
    pack(members | {"index.json": json.dumps(index).encode()}, tmp_path / "x.umb")
    with pytest.raises(UnsupportedError, match="no probabilities"):
        read_umb(tmp_path / "x.umb")


# --- damage --------------------------------------------------------------------------

RATIONAL = {"branch-probability-type": {"type": "rational", "size": 128}}
WIDE = {"branch-probability-type": {"type": "rational", "size": 1 << 20}}
DAMAGE = {
    "pointers that fall": ({"state-to-choices.bin": pointers(0, 3, 2, 4)}, "state-to-choices"),
    "pointers beyond": ({"state-to-choices.bin": pointers(0, 2, 3, 5)}, "state-to-choices"),
    "pointers that end early": ({"state-to-choices.bin": pointers(0, 2, 3, 3)}, "state-to-choices"),
    "pointers that begin late": ({"choice-to-branches.bin": pointers(1, 1, 3, 4, 5)}, "choice-to-branches"),
    "pointers of 64 bits": ({"choice-to-branches.bin": pointers(0, 1, 1 << 63, 4, 5)}, "choice-to-branches"),
    "too few pointers": ({"choice-to-branches.bin": pointers(0, 1, 3, 5)}, "choice-to-branches"),
    "no pointers": ({"choice-to-branches.bin": b""}, "choice-to-branches"),
    "half a pointer": ({"choice-to-branches.bin": bytes(39)}, "choice-to-branches"),
    "a choice without branches": ({"choice-to-branches.bin": pointers(0, 0, 3, 4, 5)}, "probability"),
    "a target beyond": ({"branch-to-target.bin": pointers(1, 1, 3, 1, 2)}, "branch-to-target"),
    "too few targets": ({"branch-to-target.bin": pointers(1, 1, 2, 1)}, "branch-to-target"),
    "a negative chance": ({"branch-to-probability.bin": doubles(1, -0.25, 1.25, 1, 1)}, "branch-to-probability"),
    "a chance that is nan": ({"branch-to-probability.bin": doubles(1, float("nan"), 1, 1, 1)}, "branch-to-prob"),
    "chances that sum to 2": ({"branch-to-probability.bin": doubles(1, 1, 1, 1, 1)}, "probability"),
    "no chances": ({"branch-to-probability.bin": b""}, "branch-to-probability"),
    "an infinite reward": ({"annotations/rewards/r-1/states/values.bin": doubles(1, 0, float("inf"))}, "rewards"),
    "too few rewards": ({"annotations/rewards/r-1/choices/values.bin": doubles(1, 0)}, "rewards"),
    "too long a label": ({"annotations/aps/g/states/values.bin": pointers(4, 0)}, "aps"),
    "too few names": ({"valuations/states/valuations.bin": b"\x01"}, "valuations"),
    "no initial state": ({"state-is-initial.bin": pointers(0)}, "init"),
    "no index": ({"index.json": b""}, "umb"),
    "an index that is no object": ({"index.json": b"[]"}, "umb"),
    "a deep index": ({"index.json": b"[" * 100_000}, "umb"),
    "an index in no alphabet": ({"index.json": b"\xff\xfe{}"}, "umb"),
    "states without end": ({"system": {"#states": 1 << 60}}, "index.json"),
    "branches without end": ({"system": {"#branches": 1 << 60}}, "index.json"),
    "actions without end": ({"system": {"#choice-actions": (1 << 32) - 1}}, "index.json"),
    "one state less": ({"system": {"#states": 2}}, "state-to-choices"),
    "numbers as words": ({"system": {"#states": "three"}}, "umb"),
    "a chain with choices": ({"system": {"#players": 0}}, "state-to-choices"),
    "numbers of a million bits": ({"system": WIDE, "branch-to-probability.bin": bytes(5 << 17)}, "branch-to"),
    "a denominator of 0": ({"system": RATIONAL, "branch-to-probability.bin": bytes(80)}, "umb"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(name: str, tmp_path: Path) -> None:
    changes, field = DAMAGE[name]
    pack(small(**changes), tmp_path / "x.umb")
    with pytest.raises(CorruptFileError, match="x.umb") as caught:
        read_umb(tmp_path / "x.umb")
    assert field in caught.value.field


def test_nothing_is_printed_about_damage(tmp_path: Path) -> None:
    pack(small(system={"#states": "three"}), tmp_path / "x.umb")
    code = f"import mdpdice.formats as f; f.read_umb({str(tmp_path / 'x.umb')!r})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.startswith("Traceback")
    assert run.stderr.splitlines()[-1].startswith("mdpdice.errors.CorruptFileError")
    assert "validation error\n{" not in run.stderr


def test_states_whose_variables_are_equal_have_numbers(tmp_path: Path) -> None:
    pack(small(**{"valuations/states/valuations.bin": bytes([1, 2, 1])}), tmp_path / "x.umb")
    model = read_umb(tmp_path / "x.umb")
    assert model.states is None
    assert model.labelled("Goal 1") == [2]


def test_texts_of_actions_that_overlap_are_damage(tmp_path: Path) -> None:
    write_umb(explore(PigTurn(cap=6)), tmp_path / "x.umb")
    members = unpacked(tmp_path / "x.umb")
    ends = np.frombuffer(members["actions/choices/string-mapping.bin"], dtype="<u8").tolist()
    for wrong in ([ends[0], ends[2], ends[1], *ends[3:]], [*ends[:-1], ends[-1] + 1], ends[:-1]):
        pack(members | {"actions/choices/string-mapping.bin": pointers(*wrong)}, tmp_path / "y.umb")
        with pytest.raises(CorruptFileError, match="string-mapping"):
            read_umb(tmp_path / "y.umb")
    values = members["actions/choices/values.bin"]
    pack(members | {"actions/choices/values.bin": b"\x09" + values[1:]}, tmp_path / "y.umb")
    with pytest.raises(CorruptFileError, match="actions/choices/values"):
        read_umb(tmp_path / "y.umb")


def test_files_that_unpack_to_more_than_there_is_room_for_are_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("mdpdice.formats.umb._MOST", 1 << 20)
    for pack_ in (gzip.compress, lzma.compress):
        (tmp_path / "x.umb").write_bytes(pack_(bytes(1 << 24)))
        with pytest.raises(CorruptFileError, match="unpacks to more than 1,048,576 bytes"):
            read_umb(tmp_path / "x.umb")


def test_any_end_that_is_missing_is_noticed(tmp_path: Path) -> None:
    write_umb(explore(PigTurn(cap=6)), tmp_path / "x.umb")
    packed = (tmp_path / "x.umb").read_bytes()
    plain = gzip.decompress(packed)
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        members = [member.offset for member in tar]
    for data in [*(packed[:at] for at in range(0, len(packed), 97)), *(plain[:at] for at in members)]:
        (tmp_path / "y.umb").write_bytes(data)
        with pytest.raises(CorruptFileError):
            read_umb(tmp_path / "y.umb")


def damaged(members: dict[str, bytes], rng: random.Random) -> dict[str, bytes]:
    """One to three members changed: bytes, lengths, the member as a whole, or a number of the index."""
    found = dict(members)
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(sorted(found))
        data = bytearray(found[name])
        way = rng.randrange(5)
        if way == 0:
            found.pop(name)
            found.setdefault("index.json", members["index.json"])
        elif way == 1:
            found[name] = bytes(data[: rng.randint(0, len(data))]) + rng.randbytes(rng.choice((0, 1, 8, 64)))
        elif way == 2 and data:
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            found[name] = bytes(data)
        elif way == 3:
            text = members["index.json"].decode()
            digits = [at for at, letter in enumerate(text) if letter.isdigit()]
            at = rng.choice(digits)
            found["index.json"] = (
                f"{text[:at]}{rng.choice(('0', '7', '99999', '-1', '1e9', 'x'))}{text[at + 1 :]}".encode()
            )
        else:
            found[name], other = found[rng.choice(sorted(found))], found[name]
            found[rng.choice(sorted(found))] = other
    return found


def test_a_damaged_file_is_an_error_of_the_library(tmp_path: Path) -> None:
    rng = random.Random(15)
    write_umb(explore(PigTurn(cap=6)), tmp_path / "a.umb", labels={"low": [0]})
    write_umb(explore(Piglet(goal=2)), tmp_path / "b.umb", exact=False)
    pack(small(), tmp_path / "c.umb")
    sources = [tmp_path / f"{name}.umb" for name in "abc"]
    members, raw = [unpacked(path) for path in sources], [path.read_bytes() for path in sources]
    refused = 0
    for at in range(900):
        if at % 3:
            pack(damaged(members[at % 9 // 3], rng), tmp_path / "x.umb")
        else:
            data = bytearray(raw[at % 9 // 3])
            for _ in range(rng.randint(1, 3)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            (tmp_path / "x.umb").write_bytes(bytes(data))
        try:
            model = read_umb(tmp_path / "x.umb")
        except (CorruptFileError, UnsupportedError):
            refused += 1
            continue
        try:
            network = model.network()
        except MdpDiceError:
            continue
        assert network.n_nodes >= model.n_states
    assert refused > 450


def test_a_file_of_another_format_is_no_umb(tmp_path: Path) -> None:
    write_drn(explore(PigTurn(cap=6)), tmp_path / "x.umb")
    with pytest.raises(CorruptFileError):
        read_umb(tmp_path / "x.umb")
