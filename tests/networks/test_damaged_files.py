"""Files that are damaged, and files that somebody forged: none is loaded."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import zipfile
from fractions import Fraction

import numpy as np
import pytest
from helpers.mixed_game import Mixed, same

from mdpdice import Network
from mdpdice.errors import CorruptFileError

SEAL = 64


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


@pytest.fixture
def forged(monkeypatch):
    """Networks that nobody checked; the digest is computed over all numbers, so the forger states that of his own."""

    def make(**arrays):
        with monkeypatch.context() as unchecked:
            unchecked.setattr("mdpdice.networks.network.check_network", lambda network: None)
            return Network(**arrays)

    return make


def test_weights_and_exact_numerators_that_contradict_each_other(path, forged):
    # Both are right alone.
    forged(
        kind=[3, 0, 0], indptr=[0, 2, 2, 2], dst=[1, 2], weight=[0.5, 0.5], reward=[0, 0], sign=[1, 1], step=[0, 0],
        payoff=[0, 1, 2], start=0, numerator=np.array([1, 2]),
    ).save(path)  # fmt: skip
    assert "by its numerator 0.333" in str(corrupt(path, field="network"))


def test_exact_numbers_that_contradict_their_floats(path, forged):
    sound = {
        "kind": [3, 0, 0], "indptr": [0, 2, 2, 2], "dst": [1, 2], "weight": [0.5, 0.5], "reward": [0, 0],
        "sign": [1, 1], "step": [0, 0], "payoff": [0, 1, 2], "start": 0,
    }  # fmt: skip
    for numbers in ({"exact_rewards": {0: Fraction(1, 3)}}, {"exact_payoffs": {1: Fraction(1, 3)}}):
        forged(**sound, **numbers).save(path)
        assert "is not the float nearest" in str(corrupt(path, field="network"))


def test_the_error_says_what_to_do(sound, path):
    path.write_bytes(sound[:-1])
    assert "write it again with Network.save" in str(corrupt(path))
