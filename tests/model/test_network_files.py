"""Networks as files: what comes back, and what is refused."""

from __future__ import annotations

import enum
import hashlib
import io
import json
import os
import random
import stat
import subprocess
import sys
import textwrap
import zipfile
from fractions import Fraction
from typing import NamedTuple

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Table, acyclic_games, tables

from mdpdice import Dist, Game, Network, decide, end, explore, go, pass_to, roll, solve
from mdpdice.errors import CorruptFileError, UnknownStateError

SEAL = 64


class Side(enum.Enum):
    HEADS = 1
    TAILS = 2


@attrs.frozen
class Box:
    inside: object


class Pick(NamedTuple):
    number: int


tenth = Dist({True: 0.1, False: 0.9})
NODES = {
    "start": lambda: decide(
        [(Pick(1), go((1, "x"))), ("roll", roll(Dist({1: 1, 2: 2}), lambda k: go(Box(k))))]
    ),
    (1, "x"): lambda: roll(
        tenth, lambda a: roll(tenth, lambda b: roll(tenth, lambda c: go(Box(1 + (a and b and c)))))
    ),
    Box(1): lambda: decide({1.5: end(Fraction(1, 3)), None: pass_to(Side.HEADS, reward=Fraction(1, 7))}),
    Box(2): lambda: go(Side.TAILS, reward=-0.0),
    Side.HEADS: lambda: decide({True: end(2**53 + 1)}),
    Side.TAILS: lambda: end(10**300),
}


class Mixed(Game[str | tuple | Box | Side, Pick | str]):
    """Everything that a file has to carry: names of all kinds, long weights, numbers that no float equals."""

    def start(self):
        return "start"

    def node(self, state):
        return NODES[state]()


@pytest.fixture(scope="module")
def mixed():
    network = explore(Mixed())
    assert network.numerator.dtype == object
    assert network.exact_rewards
    assert network.exact_payoffs
    return network


@pytest.fixture
def path(tmp_path):
    return tmp_path / "network.npz"


def same(one, other):
    """Equal in every array, bit for bit, and in every exact number."""
    for field in attrs.fields(Network):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, field.name
            assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes(), field.name
        elif field.name in ("states", "actions"):
            assert list(a) == list(b)
            assert [type(x) for x in a] == [type(x) for x in b]
        else:
            assert a == b, field.name
    assert one.digest == other.digest


def corrupt(path, **fields):
    with pytest.raises(CorruptFileError) as caught:
        Network.load(path)
    error = caught.value
    assert error.code == "CorruptFile"
    assert error.path == os.fspath(path)
    assert error.field
    assert os.fspath(path) in str(error)
    for name, value in fields.items():
        assert getattr(error, name) == value, error
    return error


# --- round trips ---------------------------------------------------------------------------------


def test_everything_comes_back_with_the_game(mixed, path):
    mixed.save(path)
    same(Network.load(path, Mixed()), mixed)


def test_without_the_game_classes_come_back_as_their_text(mixed, path):
    mixed.save(path)
    back = Network.load(path)
    assert list(back.states) == [
        "start", (1, "x"), '{"Box": {"inside": 1}}', '{"Box": {"inside": 2}}', '{"Side": "HEADS"}', '{"Side": "TAILS"}',
    ]  # fmt: skip
    assert list(back.actions) == ['{"Pick": {"number": 1}}', "roll", 1.5, None, True]
    assert back.digest == mixed.digest
    assert back.node_of((1, "x")) == mixed.node_of((1, "x"))
    same(attrs.evolve(back, states=mixed.states, actions=mixed.actions), mixed)


def test_another_game_does_not_know_the_names(mixed, path):
    class Other(Game[str, str]):
        def start(self):
            return ""

        def node(self, state):
            return end()

    mixed.save(path)
    with pytest.raises(UnknownStateError, match="the classes are: none"):
        Network.load(path, Other())


@given(
    st.lists(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False)
            | st.text()
            | st.fractions(),
            lambda inner: st.lists(inner, max_size=2).map(tuple) | st.frozensets(inner, max_size=2),
            max_leaves=4,
        ),
        min_size=1,
        max_size=5,
        unique_by=repr,
    )
)
@settings(max_examples=40, deadline=None)
def test_plain_names_come_back_equal_without_a_game(tmp_path_factory, names):
    path = tmp_path_factory.getbasetemp() / "plain.npz"
    n = len(names)
    network = Network(
        kind=[1, *[0] * n], indptr=[0, *[n] * (n + 1)], dst=range(1, n + 1), weight=[1] * n, reward=[0] * n,
        sign=[1] * n, step=[0] * n, payoff=[0, *range(n)], start=0, states=names, state_node=range(1, n + 1),
        actions=names,
    )  # fmt: skip
    network.save(path)
    same(Network.load(path), network)


@given(st.one_of(acyclic_games(pass_on=True), acyclic_games(players=(0, 1)), tables().map(Table)))
@settings(max_examples=25, deadline=None)
def test_random_games_come_back(tmp_path_factory, declared):
    path = tmp_path_factory.getbasetemp() / "random.npz"
    network = explore(declared)
    network.save(path)
    same(Network.load(path), network)


def test_numbered_states_come_back_as_a_range(path):
    network = Network.from_choices(
        [0, 1, 1], [0, 2], [0, 1], ["1/3", "2/3"], [1], terminal={1: "1/7"}, discount="9/10"
    )
    network.save(path)
    back = Network.load(path)
    same(back, network)
    assert back.states == range(2)
    assert back.row(2) == [Fraction(1, 3), Fraction(2, 3)]
    assert back.discount == Fraction(9, 10)


@pytest.mark.parametrize(
    "fields", [{"horizon": 0}, {"horizon": 7}, {"total": Fraction(1, 3)}, {"warnings": ("ä", "b")}]
)
def test_settings_come_back(path, fields):
    network = attrs.evolve(explore(Game.of(start=0, node=lambda s: decide({"a": end(1)}))), **fields)
    network.save(path)
    same(Network.load(path), network)


def test_numbers_beyond_pythons_limit_of_digits_come_back(path):
    # More than 4,300 digits: str() and int() refuse them.
    tiny = Fraction(1, 7**6000)
    network = explore(
        Game.of(start=0, node=lambda s: roll(Dist({1: 7**6000 - 1, 2: 1}), lambda k: end(k + tiny)))
    )
    network.save(path)
    back = Network.load(path)
    same(back, network)
    assert back.row(0)[1] == tiny


def test_a_loaded_network_is_read_only_and_solves(mixed, path):
    declared = Game.of(
        start=0, node=lambda s: decide({"a": go(s + 1, reward=1), "b": end(3)}) if s < 5 else end()
    )
    explore(declared).save(path)
    back = Network.load(path)
    assert not any(getattr(back, name).flags.writeable for name in ("kind", "dst", "weight", "numerator"))
    assert solve(back).value() == solve(declared).value() == 7


def test_a_game_with_texts_of_its_own(path):
    class Die:
        """A state that has no text of its own: not attrs, not a tuple."""

        def __init__(self, face):
            self.face = face

        def __eq__(self, other):
            return isinstance(other, Die) and self.face == other.face

        def __hash__(self):
            return hash(self.face)

    class Spelled(Game[Die, str]):
        def start(self):
            return Die(1)

        def node(self, state):
            return (
                decide({"next": go(Die(state.face + 1)), "stop": end(state.face)})
                if state.face < 6
                else end()
            )

        def show_state(self, state):
            return f"die {state.face}"

        def read_state(self, text):
            return Die(int(text.removeprefix("die ")))

    network = explore(Spelled())
    with pytest.raises(UnknownStateError, match=r"has no text.*save\(path, game\)"):
        network.save(path)
    assert not path.exists()
    network.save(path, Spelled())
    assert list(Network.load(path).states) == [f"die {k}" for k in range(1, 7)]
    same(Network.load(path, Spelled()), network)


def test_actions_without_a_text(path):
    action = object()
    network = explore(Game.of(start=0, node=lambda s: decide([(action, end())])))
    with pytest.raises(UnknownStateError, match="has no text"):
        network.save(path)
    assert list(path.parent.iterdir()) == []


def test_numpy_reads_the_arrays(mixed, path):
    mixed.save(path)
    with np.load(path, allow_pickle=False) as arrays:
        assert (arrays["dst"] == mixed.dst).all()
        assert json.loads(arrays["header"].tobytes())["format"] == "mdpdice-network"


def test_the_same_network_gives_the_same_bytes(mixed, tmp_path):
    mixed.save(tmp_path / "a")
    explore(Mixed()).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# --- writing -------------------------------------------------------------------------------------


def test_a_file_is_replaced_and_nothing_is_left_behind(mixed, path):
    path.write_text("something else")
    mixed.save(path)
    assert Network.load(path).digest == mixed.digest
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_path_may_be_text_and_have_any_name(mixed, tmp_path):
    mixed.save(os.fspath(tmp_path / "no ending"))
    assert Network.load(os.fspath(tmp_path / "no ending")).digest == mixed.digest


def test_files_are_made_like_any_other(mixed, path):
    mixed.save(path)
    (path.parent / "other").write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((path.parent / "other").stat().st_mode)


def test_a_failed_write_leaves_the_old_file(mixed, path, monkeypatch):
    mixed.save(path)
    before = path.read_bytes()

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        mixed.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_data_are_on_the_disk_before_the_name_is(mixed, path, monkeypatch):
    order = []
    fsync, replace = os.fsync, type(path).replace

    def sync(file):
        order.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        fsync(file)

    def put(self, to):
        order.append("replace")
        return replace(self, to)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(type(path), "replace", put)
    mixed.save(path)
    assert order == ["file", "replace", "folder"]


def test_a_process_killed_while_writing_leaves_one_whole_file(path):
    # Killed at a random moment while it writes over and over: what is there always loads.
    explore(Game.of(start=0, node=lambda s: decide({"a": go(s + 1)}) if s < 2000 else end(0))).save(path)
    program = textwrap.dedent("""
        import sys
        from mdpdice import *
        def made(p):
            return explore(Game.of(start=0, node=lambda s: decide({"a": go(s + 1)}) if s < 2000 else end(p)))
        nets = [made(p) for p in (1, 2)]
        print("ready", flush=True)
        while True:
            for net in nets:
                net.save(sys.argv[1])
    """)
    chance = random.Random(1)
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        loaded = set()
        for _ in range(15):
            # Reading meanwhile finds whole files too.
            loaded.add(Network.load(path).exact_payoff(2000))
        process.stdout.close()
        try:
            process.wait(chance.uniform(0, 0.2))
        except subprocess.TimeoutExpired:
            process.kill()
    last = Network.load(path)
    assert last.exact_payoff(2000) in (1, 2)
    assert loaded <= {0, 1, 2}


# --- damage --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound(mixed, tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "sound.npz"
    mixed.save(path)
    return path.read_bytes()


def mutate(data, chance):
    """One flipped bit, a cut, a swapped, repeated or lost stretch, a changed byte, something appended."""
    at = chance.randrange(len(data))
    match chance.randrange(7):
        case 0:
            return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        case 1:
            return data[:at]
        case 2:
            to = chance.randrange(len(data))
            a, b = sorted((at, to))
            return data[:a] + data[b:] + data[a:b]
        case 3:
            length = chance.randrange(1, 50)
            return data[: at + length] + data[at:]
        case 4:
            return data[:at] + data[at + chance.randrange(1, 50) :]
        case 5:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        case _:
            return data + bytes(chance.randrange(256) for _ in range(chance.randrange(1, 20)))


def fuzz(sound, path, seeds):
    tried = 0
    for seed in seeds:
        broken = mutate(sound, random.Random(seed))
        if broken == sound:
            continue
        path.write_bytes(broken)
        corrupt(path)
        tried += 1
    return tried


def test_no_damaged_file_is_loaded(sound, path):
    assert fuzz(sound, path, range(400)) > 380


@pytest.mark.slow
def test_no_damaged_file_is_loaded_ten_thousand_times(sound, path):
    assert fuzz(sound, path, range(10_000, 20_000)) > 9_500


def test_every_bit_of_the_end_counts(sound, path):
    # Where an archive keeps its directory, dates, attributes and comment, which do not change what is read.
    for at in range(len(sound) - 200, len(sound)):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 0x20]) + sound[at + 1 :])
        corrupt(path, field="seal")


@pytest.mark.parametrize("data", [b"", b"x", b"\0" * 1000, b"PK\x05\x06" + b"\0" * 18])
def test_files_of_another_kind(path, data):
    path.write_bytes(data)
    corrupt(path, field="seal")


def test_an_archive_of_numpys_own(path):
    np.savez(path, dst=np.zeros(3))
    corrupt(path, field="seal")


def test_a_file_that_is_not_there(path):
    with pytest.raises(FileNotFoundError):
        Network.load(path)


# --- files written on purpose --------------------------------------------------------------------


def sealed(members, path, *, compress=zipfile.ZIP_STORED, names=None):
    """A file with the right hash, whatever is in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compress) as archive:
        archive.comment = b"mdpdice sha256 " + b"0" * SEAL
        for name, data in members.items():
            archive.writestr((names or {}).get(name, f"{name}.npy"), data)
    data = buffer.getvalue()[:-SEAL]
    path.write_bytes(data + hashlib.sha256(data).hexdigest().encode())


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename.removesuffix(".npy"): archive.read(info) for info in archive.infolist()}


def npy(array):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), version=(1, 0))
    return buffer.getvalue()


def text(data):
    return npy(np.frombuffer(json.dumps(data).encode(), dtype=np.uint8))


def header_of(data):
    return json.loads(np.load(io.BytesIO(members_of(data)["header"])).tobytes())


def test_the_forger_of_these_tests_can_forge(sound, path, mixed):
    # Otherwise the tests below would pass because of a wrong seal.
    sealed(members_of(sound), path)
    same(Network.load(path, Mixed()), mixed)


HEADER = {
    "format": "other",
    "version": 2,
    "start": 1.5,
    "discount": "1/0",
    "horizon": "3",
    "total": "0.5",
    "warnings": [1],
    "digest": "0" * 64,
    "states": -1,
    "shown": 1,
    "exact_rewards": {"0": "1/3"},
    "exact_payoffs": {"99": "1"},
    "exact_numerators": ["1"],
}


@pytest.mark.parametrize("key", HEADER)
def test_a_header_that_lies(sound, path, key):
    sealed(members_of(sound) | {"header": text(header_of(sound) | {key: HEADER[key]})}, path)
    corrupt(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"discount": "3/2"},
        {"discount": "1e9"},
        {"discount": 1},
        {"start": 10**6},
        {"start": True},
        {"horizon": -1},
        {"states": 10**18},
        {"states": 3},
        {"exact_rewards": {"x": "1"}},
        {"exact_rewards": {"-1": "1"}},
        {"exact_rewards": []},
        {"exact_payoffs": None},
        {"warnings": "text"},
        {"digest": None},
        {"more": 1},
    ],
)
def test_a_header_of_the_wrong_form(sound, path, changes):
    sealed(members_of(sound) | {"header": text(header_of(sound) | changes)}, path)
    corrupt(path)


@pytest.mark.parametrize("data", [[], 3, "x", None, {}, {"format": "mdpdice-network", "version": 1}])
def test_a_header_that_is_none(sound, path, data):
    sealed(members_of(sound) | {"header": text(data)}, path)
    corrupt(path, field="header")


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xff", b"[" * 100_000, b"9" * 10_000])
@pytest.mark.parametrize("member", ["header", "states", "actions"])
def test_members_that_are_no_json(sound, path, member, raw):
    sealed(members_of(sound) | {member: npy(np.frombuffer(raw, dtype=np.uint8))}, path)
    corrupt(path, field=member)


@pytest.mark.parametrize("member", ["states", "actions"])
@pytest.mark.parametrize("data", [{}, 3, [1], ["a"] * 100])
def test_names_that_do_not_fit(sound, path, member, data):
    sealed(members_of(sound) | {member: text(data)}, path)
    corrupt(path)


ARRAYS = ["kind", "indptr", "dst", "weight", "reward", "sign", "step", "payoff", "state_node", "node_state"]


@pytest.mark.parametrize("member", [name for name in ARRAYS if name not in ("state_node", "node_state")])
def test_an_array_that_lies(sound, path, member):
    """Every number of every array is changed, one at a time, with a right seal: the digest or a check finds it.

    The names of the states are left out: any name is as right as any other.
    """
    members = members_of(sound)
    array = np.load(io.BytesIO(members[member]))
    for at in range(len(array)):
        changed = array.copy()
        match changed.dtype.kind:
            case "b":
                changed[at] = not changed[at]
            case "f":
                changed[at] = -changed[at] - 1
            case _:
                changed[at] += 1
        sealed(members | {member: npy(changed)}, path)
        corrupt(path)


@pytest.mark.parametrize("member", [*ARRAYS, "numerator", "header", "states", "actions"])
def test_arrays_of_the_wrong_form(sound, path, member):
    members = members_of(sound)
    array = np.load(io.BytesIO(members[member]))
    assert member == "numerator" or len(array)
    for other in (
        array[:-1] if len(array) else np.zeros(1),
        np.append(array, array[-1:] if len(array) else 1.0),
        array.reshape(1, -1),
        np.zeros(len(array), dtype=">i4"),
        array.astype(np.complex128),
        np.array("x"),
    ):
        sealed(members | {member: npy(other)}, path)
        corrupt(path)


def test_pickles_are_not_opened(sound, path):
    class Boom:
        def __reduce__(self):
            return os.mkdir, (os.fspath(path.parent / "executed"),)

    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.array([Boom()], dtype=object), allow_pickle=True)
    sealed(members_of(sound) | {"dst": buffer.getvalue()}, path)
    corrupt(path, field="dst")
    assert not (path.parent / "executed").exists()


@pytest.mark.parametrize("count", [10**15, 2**63, 2**64 + 4, -1])
def test_lengths_are_not_believed(sound, path, count):
    # A header that announces petabytes must not make anybody allocate them.
    members = members_of(sound)
    lie = io.BytesIO()
    np.lib.format.write_array_header_1_0(lie, {"descr": "<i8", "fortran_order": False, "shape": (count,)})
    sealed(members | {"dst": lie.getvalue() + b"\0" * 64}, path)
    corrupt(path, field="dst")


def test_compressed_members_are_refused(sound, path):
    bomb = members_of(sound) | {"dst": npy(np.zeros(10**6, dtype=np.int64))}
    sealed(bomb, path, compress=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 100_000
    corrupt(path, field="archive")


def test_other_members_are_refused(sound, path):
    members = members_of(sound)
    sealed(members | {"more": b""}, path)
    corrupt(path, field="archive")
    sealed({name: data for name, data in members.items() if name != "step"}, path)
    corrupt(path, field="archive")
    sealed(members, path, names={"dst": "../dst.npy"})
    corrupt(path, field="archive")


def test_weights_and_exact_numerators_that_contradict_each_other(path):
    # Both are right alone; the digest is computed over both, so the forger states that of his own network.
    forged = Network(
        kind=[3, 0, 0], indptr=[0, 2, 2, 2], dst=[1, 2], weight=[0.5, 0.5], reward=[0, 0], sign=[1, 1], step=[0, 0],
        payoff=[0, 1, 2], start=0, numerator=np.array([1, 2]),
    )  # fmt: skip
    forged.save(path)
    corrupt(path, field="numerator")


def test_exact_numbers_that_contradict_their_floats(path):
    sound = {
        "kind": [3, 0, 0], "indptr": [0, 2, 2, 2], "dst": [1, 2], "weight": [0.5, 0.5], "reward": [0, 0],
        "sign": [1, 1], "step": [0, 0], "payoff": [0, 1, 2], "start": 0,
    }  # fmt: skip
    Network(**sound, exact_rewards={0: Fraction(1, 3)}).save(path)
    corrupt(path, field="exact_rewards")
    Network(**sound, exact_payoffs={1: Fraction(1, 3)}).save(path)
    corrupt(path, field="exact_payoffs")


def test_the_error_says_what_to_do(sound, path):
    path.write_bytes(sound[:-1])
    assert "write it again with Network.save" in str(corrupt(path))
