"""Policies and solutions in files: round trips, damage, and lies."""

import io
import zipfile
from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.changed_solutions import changed
from helpers.small_games import PlainRace

from mdpdice import (
    Discounted,
    Dist,
    Game,
    Horizon,
    PayoffAtLeast,
    Policy,
    Reach,
    Solution,
    Status,
    Total,
    UntilReward,
    Utility,
    d6,
    decide,
    end,
    evaluate,
    explore,
    go,
    roll,
    solve,
)
from mdpdice.archives import write_archive
from mdpdice.errors import CorruptFileError, ProblemMismatchError, UnknownStateError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigTurn

# --- policies -----------------------------------------------------------------------------------------


def policies():
    network = explore(PigTurn(30))
    staged = attrs.evolve(network, horizon=2)
    big = 3**80
    return [
        Policy.of(network, lambda p: "hold" if p >= 20 else "roll"),
        Policy.uniform(network),
        Policy(network, np.where(network.decides, network.indptr[:-1], -1), network.decides[network.source] * 0.3),
        Policy.of(network, lambda p: Dist({"hold": big, "roll": 1})),
        Policy.of(staged, lambda p, left: "hold" if left == 1 else "roll", staged=True),
        Policy.of(staged, lambda p, left: Dist({"hold": big, "roll": left}), staged=True),
        Policy.of(staged, lambda p: "hold"),
    ]


@pytest.mark.parametrize("number", range(7))
def test_policies_come_back(number, tmp_path):
    policy = policies()[number]
    policy.save(tmp_path / "policy.npz")
    network = explore(PigTurn(30))
    back = Policy.load(tmp_path / "policy.npz", attrs.evolve(network, horizon=policy.network.horizon))
    assert np.array_equal(back.choice, policy.choice)
    assert (back.weight is None) == (policy.weight is None)
    if policy.weight is not None:
        assert back.weight.dtype == policy.weight.dtype
        assert (back.weight == policy.weight).all()
    # numpy reads the arrays, without pickle; and the same policy gives the same file.
    with np.load(tmp_path / "policy.npz", allow_pickle=False) as arrays:
        assert np.array_equal(arrays["choice"], policy.choice)
    policy.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "policy.npz").read_bytes()


def test_policies_of_other_networks(tmp_path):
    path = tmp_path / "policy.npz"
    Policy.uniform(explore(PigTurn(30))).save(path)
    with pytest.raises(CorruptFileError, match="another network") as caught:
        Policy.load(path, explore(PigTurn(31)))
    assert (caught.value.field, caught.value.path) == ("digest", str(path))
    with pytest.raises(FileNotFoundError):
        Policy.load(tmp_path / "nothing.npz", explore(PigTurn(30)))
    solve(PigTurn(30)).save(path)
    with pytest.raises(CorruptFileError):
        Policy.load(path, explore(PigTurn(30)))


def test_every_flipped_bit_and_every_cut_is_found(tmp_path):
    network = explore(PigTurn(8))
    path = tmp_path / "policy.npz"
    Policy.uniform(network).save(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        with pytest.raises(CorruptFileError):
            Policy.load(path, network)
        path.write_bytes(whole[:at])
        with pytest.raises(CorruptFileError):
            Policy.load(path, network)
    path.write_bytes(whole + b"x")
    with pytest.raises(CorruptFileError):
        Policy.load(path, network)
    path.write_bytes(whole)
    Policy.load(path, network)


def rewritten(path, **changes):
    """Replace members of a file by others, with a seal that is right."""
    with np.load(path) as arrays:
        members = dict(arrays)
    for name, change in changes.items():
        members[name] = change(members[name]) if callable(change) else change
    write_archive(path, {name: array for name, array in members.items() if array is not None})


def header(**changes):
    """A change of entries of the header; None removes one."""
    import json

    def change(array):
        entries = json.loads(array.tobytes()) | changes
        text = json.dumps({key: value for key, value in entries.items() if value != "gone"})
        return np.frombuffer(text.encode(), dtype=np.uint8)

    return change


@pytest.mark.parametrize(
    "changes",
    [
        {"choice": lambda a: a[:-1]},
        {"choice": lambda a: a + 1},
        {"choice": lambda a: a.astype(np.int32)},
        {"choice": lambda a: np.stack([a, a])},
        {"choice": lambda a: a.reshape(1, 1, -1)},
        {"weight": lambda a: -a},
        {"weight": lambda a: a[:-1]},
        {"weight": lambda a: a.astype(np.float64) * np.nan},
        {"weight": None},
        {"header": header(version=2)},
        {"header": header(format="mdpdice-solution")},
        {"header": header(randomised=1)},
        {"header": header(randomised="gone")},
        {"header": header(more=1)},
        {"header": header(digest=3)},
        {"header": header(exact_weights=["1", "zz"])},
        {"header": header(exact_weights=["1/0"])},
        {"header": header(exact_weights=["1"])},
        {"header": lambda a: np.frombuffer(b"[1", dtype=np.uint8)},
        {"header": lambda a: np.frombuffer(b"[1]", dtype=np.uint8)},
    ],
)
def test_policies_that_are_none(changes, tmp_path):
    network = explore(PigTurn(8))
    path = tmp_path / "policy.npz"
    Policy.uniform(network).save(path)
    rewritten(path, **changes)
    with pytest.raises(CorruptFileError) as caught:
        Policy.load(path, network)
    assert caught.value.path == str(path)


def test_a_zip_bomb_is_not_opened(tmp_path):
    network = explore(PigTurn(8))
    path = tmp_path / "policy.npz"
    Policy.uniform(network).save(path)
    # The members again, compressed; the seal is made right by hand.
    with zipfile.ZipFile(path) as archive:
        names = {name: archive.read(name) for name in archive.namelist()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"mdpdice sha256 " + b"0" * 64
        for name, data in names.items():
            archive.writestr(name, data)
    import hashlib

    body = file.getvalue()[:-64]
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    with pytest.raises(CorruptFileError, match="compressed"):
        Policy.load(path, network)


def test_a_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    network = explore(PigTurn(8))
    path = tmp_path / "policy.npz"
    policy = Policy.uniform(network)
    policy.save(path)
    before = path.read_bytes()

    def fail(*_args, **_more):
        raise OSError("disk full")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="disk full"):
        Policy.of(network, lambda p: "hold").save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["policy.npz"]


# --- solutions ------------------------------------------------------------------------------------------


def circle(s):
    """A ring without rewards, with one way out; and a risk."""
    if s == 5:
        return end(2)
    options = {"on": go((s + 1) % 5), "back": go(0), "risk": roll(d6, lambda k: end(-1) if k == 1 else go(s))}
    if s == 3:
        options["out"] = go(5)
    return decide(options)


RING = Game.of(start=0, node=circle)
PAID = Game.of(start=0, node=lambda s: end() if s == 2 else decide({"work": go(1 - s, reward=s), "stop": go(2)}))

PROBLEMS = {
    "farkle": (KcdFarkle(cap=500), None, None),
    "horizon": (KcdFarkle(cap=500), None, 3),
    "least": (KcdFarkle(cap=500), Total(sense="min"), None),
    "ring": (RING, None, None),
    "least ring": (RING, Total(sense="min"), None),
    "infinite": (PAID, None, None),
    "discounted": (PAID, Discounted(Fraction(9, 10)), None),
    "reach": (RING, Reach([5]), None),
    "until": (RING, UntilReward([5], sense="min"), None),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_solutions_come_back_certified(name, tmp_path):
    game, objective, horizon = PROBLEMS[name]
    solution = solve(game, objective, horizon=horizon)
    solution.save(tmp_path / "solution.npz")
    back = Solution.load(tmp_path / "solution.npz", game, objective, horizon=horizon)
    assert back.status is Status.CERTIFIED is solution.status
    assert np.allclose(back.nodes.values, solution.nodes.values, rtol=1e-15, atol=1e-15)
    assert np.array_equal(back.nodes.choice, solution.nodes.choice)
    assert (back.solver, back.iterations, back.seconds) == (solution.solver, solution.iterations, solution.seconds)
    assert (back.sense, back.version) == (solution.sense, solution.version)


def test_a_race_comes_back(tmp_path):
    solution = solve(PlainRace())
    solution.save(tmp_path / "race.npz")
    back = Solution.load(tmp_path / "race.npz", PlainRace())
    assert back.value() == pytest.approx(solution.value(), rel=1e-15)
    policy = Policy.from_solution(back)
    assert evaluate(back.network, policy).value() == pytest.approx(solution.value(), abs=1e-9)


@pytest.mark.parametrize("name", ["farkle", "horizon", "least", "discounted"])
def test_a_changed_value_is_not_certified(name, tmp_path):
    game, objective, horizon = PROBLEMS[name]
    path = tmp_path / "solution.npz"
    solution = solve(game, objective, horizon=horizon)
    at = (solution.network.start,) if horizon is None else (horizon, solution.network.start)
    for change in (1e-2, -1e-2):
        values = solution.nodes.values.copy()
        values[at] += change
        changed(solution, values=values).save(path)
        back = Solution.load(path, game, objective, horizon=horizon)
        assert back.status is Status.UNCERTIFIED
        assert back.reason.startswith("the file says certified, but ")
    changed(solution, values=solution.nodes.values * 1.01).save(path)
    assert refused(path, game, objective, horizon)


def refused(path, game, objective=None, horizon=None):
    """Whether a file is rejected, or read as something that is not proved."""
    try:
        return Solution.load(path, game, objective, horizon=horizon).status is Status.UNCERTIFIED
    except CorruptFileError:
        return True


def test_a_changed_policy_is_not_certified(tmp_path):
    game = KcdFarkle(cap=500)
    solution = solve(game)
    network = solution.network
    # Always take the last option: mostly to keep the fewest points.
    policy = np.where(network.decides, network.indptr[1:] - 1, -1)
    changed(solution, choice=policy).save(tmp_path / "solution.npz")
    assert Solution.load(tmp_path / "solution.npz", game).status is Status.UNCERTIFIED


@pytest.mark.parametrize("name", ["ring", "infinite", "reach", "until"])
def test_values_that_contradict_the_graph(name, tmp_path):
    game, objective, horizon = PROBLEMS[name]
    path = tmp_path / "solution.npz"
    solution = solve(game, objective, horizon=horizon)
    for node in range(solution.network.n_nodes):
        for wrong in (
            solution.nodes.values[node] + 1 if np.isfinite(solution.nodes.values[node]) else 7.0,
            np.inf,
            np.nan,
        ):
            if wrong == solution.nodes.values[node]:
                continue
            values = solution.nodes.values.copy()
            values[node] = wrong
            changed(solution, values=values).save(path)
            assert refused(path, game, objective, horizon)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"values": lambda a: a[:-1]}, "values"),
        ({"policy": lambda a: a[:-1]}, "policy"),
        ({"policy": lambda a: a + 10**6}, "policy"),
        ({"policy": lambda a: a * 0 - 2}, "policy"),
        ({"policy": lambda a: a * 0 - 1}, "answer"),
        ({"policy": lambda a: np.roll(a, 1)}, "answer"),
        ({"header": header(sense="min")}, "sense"),
        ({"header": header(status="perfect")}, "status"),
        ({"header": header(digest="0")}, "digest"),
        ({"header": header(seconds=1)}, "seconds"),
        ({"header": header(solver="gone")}, "header"),
    ],
)
def test_solutions_that_are_none(changes, field, tmp_path):
    game = KcdFarkle(cap=200)
    path = tmp_path / "solution.npz"
    solve(game).save(path)
    rewritten(path, **changes)
    with pytest.raises(CorruptFileError) as caught:
        Solution.load(path, game)
    assert caught.value.field == field


SMALL, OTHER = KcdFarkle(cap=200), KcdFarkle(cap=250)


@pytest.mark.parametrize(
    ("solved", "opened", "saved", "asked"),
    [
        ((SMALL, None, 2), (SMALL, None, None), "total with horizon 2", "total"),
        ((SMALL, None, 2), (SMALL, None, 3), "total with horizon 2", "total with horizon 3"),
        ((SMALL, Horizon(2), None), (SMALL, None, None), "total with horizon 2", "total"),
        ((SMALL, Total("min"), None), (SMALL, None, None), "total with sense 'min'", "total"),
        ((SMALL, PayoffAtLeast(150), None), (SMALL, None, None), "payoff-at-least:150", "total"),
        ((SMALL, PayoffAtLeast(150), None), (SMALL, Reach([1]), None), "payoff-at-least:150", None),
        ((PAID, Discounted(0.9), None), (PAID, Total(), None), "discounted:0.9", "total"),
        ((PAID, Discounted(0.9), None), (PAID, Discounted("0.9"), None), "discounted:0.9", "discounted:9/10"),
        ((RING, Reach([5], avoiding=[1]), None), (RING, Reach([5]), None), "reach:5 avoiding 1", "reach:5"),
        ((RING, UntilReward([5], sense="min"), None), (RING, UntilReward([4]), None),
         "until-reward:5 with sense 'min'", "until-reward:4"),
    ],
)  # fmt: skip
def test_a_file_says_what_it_answers(solved, opened, saved, asked, tmp_path):
    path = tmp_path / "solution.npz"
    game, objective, horizon = solved
    solve(game, objective, horizon=horizon).save(path)
    assert Solution.load(path, game, objective, horizon=horizon).proved
    game, objective, horizon = opened
    if asked is None:  # whoever asks for nonsense is told that first
        with pytest.raises(UnknownStateError):
            Solution.load(path, game, objective, horizon=horizon)
        return
    with pytest.raises(ProblemMismatchError) as caught:
        Solution.load(path, game, objective, horizon=horizon)
    error = caught.value
    assert (error.saved, error.asked, error.path) == (saved, asked, str(path))
    assert f"about {saved}, and was asked about {asked}; give what was solved: Solution.load(" in str(error)


def test_a_file_of_another_game(tmp_path):
    path = tmp_path / "solution.npz"
    solve(SMALL, horizon=2).save(path)
    with pytest.raises(ProblemMismatchError, match="another game than this one, or other parameters") as caught:
        Solution.load(path, OTHER, horizon=2)
    assert caught.value.saved == caught.value.asked == "total with horizon 2"


@pytest.mark.parametrize(
    ("objective", "text"),
    [
        (Reach(lambda state: state == 5), "reach:<lambda>"),
        (Reach({9, 10, 8}), "reach:10;8;9"),
        (Reach(range(20)), "reach:0;1;2;3;4;5;6;7;... 20 states"),
        (Utility(circle), "utility:<circle>"),
        (PayoffAtLeast(Fraction(1, 3)), "payoff-at-least:1/3"),
        (PayoffAtLeast(np.inf), "payoff-at-least:inf"),
    ],
)
def test_the_text_of_an_objective_is_the_same_in_every_run(objective, text):
    assert str(objective) == text


def test_a_status_is_earned_or_lost(tmp_path):
    game, path = KcdFarkle(cap=200), tmp_path / "solution.npz"
    solution = solve(game)
    for claimed, expected in (
        (Status.EXACT, Status.CERTIFIED),
        (Status.UNCERTIFIED, Status.CERTIFIED),
        (Status.PARTIAL, Status.CERTIFIED),
        (Status.ESTIMATE, Status.ESTIMATE),
    ):
        attrs.evolve(solution, status=claimed).save(path)
        assert Solution.load(path, game).status is expected
    values = solution.nodes.values.copy()
    values[solution.network.start] += 1
    for claimed, expected in ((Status.EXACT, Status.UNCERTIFIED), (Status.PARTIAL, Status.PARTIAL)):
        changed(attrs.evolve(solution, status=claimed), values=values).save(path)
        assert Solution.load(path, game).status is expected
