"""Networks as files: what comes back, and what is refused."""

from __future__ import annotations

import json
import os
import random
import stat
import subprocess
import sys
import textwrap
from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.mixed_game import Mixed, same
from helpers.random_games import Table, acyclic_games, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice import Dist, Game, Network, decide, end, explore, go, roll, solve
from mdpdice.errors import UnknownStateError
from mdpdice.looks import Look

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
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.fractions(),
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
    network = Network.from_choices([0, 1, 1], [0, 2], [0, 1], ["1/3", "2/3"], [1], terminal={1: "1/7"}, discount="9/10")
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
    network = explore(Game.of(start=0, node=lambda s: roll(Dist({1: 7**6000 - 1, 2: 1}), lambda k: end(k + tiny))))
    network.save(path)
    back = Network.load(path)
    same(back, network)
    assert back.row(0)[1] == tiny


def test_a_loaded_network_is_read_only_and_solves(mixed, path):
    declared = Game.of(start=0, node=lambda s: decide({"a": go(s + 1, reward=1), "b": end(3)}) if s < 5 else end())
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
            return decide({"next": go(Die(state.face + 1)), "stop": end(state.face)}) if state.face < 6 else end()

    class SpelledLook(Look, of=Spelled):
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


def test_where_nothing_can_be_written_the_name_that_was_asked_for_is_told(mixed, tmp_path):
    missing = tmp_path / "missing" / "game.npz"
    with pytest.raises(FileNotFoundError) as caught:
        mixed.save(missing)
    assert caught.value.filename == str(missing)
    with pytest.raises(IsADirectoryError) as caught:
        mixed.save(tmp_path)
    assert caught.value.filename == str(tmp_path)
    assert list(tmp_path.iterdir()) == []


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
