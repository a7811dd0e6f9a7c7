"""The long-run average, against every policy followed in fractions."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from helpers.changed_solutions import changed
from helpers.counter_games import Jar
from helpers.examples import example
from helpers.faulty_solvers import REJECTED_AS_ANSWER, REJECTED_BY_CERTIFICATE, Honest, OneWrongAction
from helpers.random_networks import solve_dense
from helpers.zilch import Turn, Zilch

from mdpdice import (
    AverageReward,
    Discounted,
    Game,
    Network,
    Solution,
    Status,
    compile_lattice,
    cross_check,
    d6,
    decide,
    end,
    explore,
    go,
    markov_chain,
    pass_to,
    repeated,
    roll,
    solve,
)
from mdpdice.archives import write_archive
from mdpdice.certification.average_bounds import bound
from mdpdice.crosscheck.comparison import compare_policies
from mdpdice.errors import (
    CorruptFileError,
    CycleError,
    GameError,
    PluginError,
    ProblemMismatchError,
    SolveInterrupted,
    UnsupportedError,
)
from mdpdice.games.pig import PigTurn
from mdpdice.objectives.staying import Staying
from mdpdice.solving.files import solution_members
from mdpdice.solving.problem import prepare

SOLVERS = ("auto", "value-iteration", "policy-iteration", "linear-programming", "exact")


# --- every policy ---------------------------------------------------------------


def some_model(seed):
    """Some states with some choices; few moves lead to many states, so that there are several classes and periods."""
    rng = random.Random(seed)
    n = rng.randint(1, 5)
    choices = []
    for state in range(n):
        rows = []
        for _ in range(rng.randint(1, 3)):
            targets = rng.sample(range(n), min(n, rng.choice([1, 1, 1, 2, 3])))
            parts = [rng.randint(1, 4) for _ in targets]
            if rng.random() < 0.15:
                targets, parts = [state], [1]
            reward = Fraction(rng.randint(-6, 6), rng.choice([1, 1, 2, 3]))
            rows.append((reward, {t: Fraction(p, sum(parts)) for t, p in zip(targets, parts, strict=True)}))
        choices.append(rows)
    ends = [state for state in range(1, n) if rng.random() < 0.1]
    return choices, ends


def network_of(choices, ends, **more):
    flat = [row for rows in choices for row in rows]
    choice_ptr = [0, *itertools.accumulate(len(rows) for rows in choices)]
    branch_ptr = [0, *itertools.accumulate(len(move) for _, move in flat)]
    moves = [branch for _, move in flat for branch in move.items()]
    return Network.from_choices(
        choice_ptr,
        branch_ptr,
        [target for target, _ in moves],
        [chance for _, chance in moves],
        [reward for reward, _ in flat],
        terminal=dict.fromkeys(ends, 7),
        **more,
    )


def classes(rows):
    """Sets of states that a chain stays in."""
    n = len(rows)
    reach = [{i} for i in range(n)]
    for _ in range(n):
        reach = [set().union(*(reach[j] for j in rows[i][1]), reach[i]) for i in range(n)]
    return {frozenset(reach[i]) for i in range(n) if all(i in reach[j] for j in reach[i])}


def averages(rows, counted):
    """Average of a chain from every state, per visit of a counted one; None where none is visited for ever."""
    n = len(rows)
    gain = [None] * n
    for stay in classes(rows):
        inside = sorted(stay)
        # Flow out of each state is the flow into it; all of it is 1.
        matrix = [[Fraction(i == j) - rows[i][1].get(j, 0) for i in inside] for j in inside[1:]]
        share = solve_dense([*matrix, [1] * len(inside)], [0] * (len(inside) - 1) + [1])
        visits = sum(x for x, i in zip(share, inside, strict=True) if i in counted)
        if not visits:
            return None
        for i in inside:
            gain[i] = sum(x * rows[j][0] for x, j in zip(share, inside, strict=True)) / visits
    open_ = [i for i in range(n) if gain[i] is None]
    matrix = [[Fraction(i == j) - rows[i][1].get(j, 0) for j in open_] for i in open_]
    right = [sum(p * gain[j] for j, p in rows[i][1].items() if gain[j] is not None) for i in open_]
    for i, value in zip(open_, solve_dense(matrix, right) if open_ else [], strict=True):
        gain[i] = value
    return gain


def best_averages(choices, ends, counted, best=max):
    """The best of all policies, state by state; None if one of them comes to no counted state."""
    found = [None] * len(choices)
    stop = [[(Fraction(0), {i: Fraction(1)})] if i in ends else rows for i, rows in enumerate(choices)]
    for rows in itertools.product(*stop):
        gain = averages(rows, counted | set(ends))
        if gain is None:
            return None
        found = [x if y is None else best(x, y) for x, y in zip(gain, found, strict=True)]
    return found


def compare(seed, solver):
    """Compare all states of a random model; whether every policy is counted again and again."""
    choices, ends = some_model(seed)
    rng = random.Random(seed)
    n, sense = len(choices), rng.choice(["max", "min"])
    counted = set(range(n)) if rng.random() < 0.6 else {i for i in range(n) if rng.random() < 0.7}
    right = best_averages(choices, ends, counted, max if sense == "max" else min)
    if right is None:
        return False
    per = None if counted == set(range(n)) else sorted(counted)
    found = solve(network_of(choices, ends), AverageReward(sense, per), solver=solver)
    assert found.status is (Status.EXACT if solver == "exact" else Status.CERTIFIED), (seed, found.reason)
    for i in range(n):
        assert found.value(i) == pytest.approx(float(right[i]), abs=1e-8), seed
        assert found.lower(i) <= right[i] <= found.upper(i), seed
        if solver == "exact":
            assert found.exact(i) == right[i], seed
    # The policy itself has these averages.
    kept = [[rows[found.action(i)]] if i not in ends else rows for i, rows in enumerate(choices)]
    for i, own in enumerate(best_averages(kept, ends, counted)):
        assert own == pytest.approx(float(right[i]), abs=1e-8), seed
    return True


@pytest.mark.parametrize("solver", SOLVERS)
def test_small_models_against_all_policies(solver):
    assert sum(compare(seed, solver) for seed in range(100)) > 60


@pytest.mark.slow
def test_more_small_models_against_all_policies():
    assert sum(compare(seed, SOLVERS[seed % 5]) for seed in range(200, 3200)) > 2000


# --- games and textbooks -----------------------------------------------------------


def endless_pig(p):
    """Pig without an end: every decision rolls, and one of them banks first."""
    rolled = roll(d6, lambda k: go(0 if k == 1 else min(p + k, 100)))
    return decide({"bank": roll(d6, lambda k: go(0 if k == 1 else k), reward=p), "roll": rolled})


@pytest.mark.parametrize("solver", SOLVERS)
def test_pig_without_an_end(solver):
    pig = Game.of(start=0, node=endless_pig)
    found = solve(pig, AverageReward(), solver=solver)
    assert found.value() == pytest.approx(10 / 3, abs=1e-9)
    turns = solve(repeated(PigTurn()), AverageReward(per=[0]), solver=solver)
    assert turns.value() == pytest.approx(8.141794893727, abs=1e-11)
    assert (turns.action(19), turns.action(20)) == ("roll", "hold")
    if solver == "exact":
        assert found.exact() == Fraction(10, 3)
        assert turns.exact() == solve(PigTurn(), solver="exact").exact()


TAXICAB = [  # R. A. Howard, "Dynamic Programming and Markov Processes" (1960): 13.34, standing in all towns
    [((10, 4, 8), (8, 4, 4)), ((8, 2, 4), (1, 12, 3)), ((4, 6, 4), (4, 2, 10))],
    [((14, 0, 18), (8, 0, 8)), ((8, 16, 8), (1, 14, 1))],
    [((10, 2, 8), (4, 4, 8)), ((6, 4, 2), (2, 12, 2)), ((4, 0, 8), (12, 1, 3))],
]


def test_taxicab():
    choices = [
        [
            (
                sum(Fraction(r * p, 16) for r, p in zip(pay, parts, strict=True)),
                {t: Fraction(p, 16) for t, p in enumerate(parts) if p},
            )
            for pay, parts in rows
        ]
        for rows in TAXICAB
    ]
    right = best_averages(choices, [], {0, 1, 2})
    for solver in SOLVERS:
        found = solve(network_of(choices, []), AverageReward(), solver=solver)
        assert found.value() == pytest.approx(float(right[0]), abs=1e-9)
        assert [found.action(town) for town in range(3)] == [1, 1, 1]
    assert float(found.exact()) == pytest.approx(13.34, abs=0.005)
    # His relative values, town 3 being worth 0, are -1.18 and 12.66.
    bias = found.details["bias"]
    assert [float(one - bias[2]) for one in bias] == pytest.approx([-1.18, 12.66, 0], abs=0.005)


# Price, trade-in value, running costs and the chance (in thousandths) to last another quarter, by age in quarters.
CARS = """
2000 1600 50 1000 1840 1460 53 999 1680 1340 56 998 1560 1230 59 997 1300 1050 62 996 1220 980 65 994 1150 910 68 991
1080 840 71 988 900 710 75 985 840 650 78 983 780 600 81 980 730 550 84 975 600 480 87 970 560 430 90 965 520 390 93 960
480 360 96 955 440 330 100 950 420 310 103 945 400 290 106 940 380 270 109 935 360 255 112 930 345 240 115 925
330 225 118 919 315 210 121 910 300 200 125 900 290 190 129 890 280 180 133 880 265 170 137 865 250 160 141 850
240 150 145 820 230 145 150 790 220 140 155 760 210 135 160 730 200 130 167 660 190 120 175 590 180 115 182 510
170 110 190 430 160 105 205 300 150 95 220 200 140 87 235 100 130 80 250 0"""


def test_car_replacement():
    """Howard's second example: the average cost of a quarter is 150.95."""
    numbers = list(map(int, CARS.split()))
    price, trade, costs, lasts = (numbers[k::4] for k in range(4))

    def kept(age):
        lasting = Fraction(lasts[age], 1000)
        return {age + 1: lasting, 40: 1 - lasting} if age < 39 and lasting < 1 else {min(age + 1, 40): Fraction(1)}

    choices = [
        [(-costs[age], kept(age)), *((trade[age] - price[new] - costs[new], kept(new)) for new in range(40))]
        for age in range(1, 41)
    ]
    choices = [[(r, {t - 1: p for t, p in move.items()}) for r, move in rows] for rows in choices]
    values = [solve(network_of(choices, []), AverageReward(), solver=name) for name in SOLVERS]
    assert all(one.value() == pytest.approx(-150.95, abs=0.005) for one in values)
    exact = values[-1].exact()
    assert all(one.lower() <= exact <= one.upper() for one in values)
    keeping = [averages([rows[found.action(i)] for i, rows in enumerate(choices)], set(range(40))) for found in values]
    assert keeping[-1][0] == exact


def test_machine_replacement_and_car_rental():
    """Averages of textbook models of the examples, against discounts close to 1."""
    machines, cars = example("machine_replacement")["Machine"](), example("car_rental")["CarRental"]()
    for game, sense, discount in ((machines, "min", Fraction(1, 10**9)), (cars, "max", Fraction(1, 10**7))):
        found = solve(game, AverageReward(sense))
        patient = solve(game, Discounted(1 - discount, sense), solver="policy-iteration").estimate()
        assert found.value() == pytest.approx(patient * float(discount), rel=1e-4)
    machine = solve(machines, AverageReward("min"), solver="exact")
    assert machine.exact() == Fraction(5000, 3)
    assert [machine.action(k) for k in range(4)] == ["leave", "leave", "overhaul", "replace"]


@pytest.mark.slow
def test_zilch():
    found = solve(Zilch(), AverageReward(per=lambda state: isinstance(state.state, Turn)))
    assert found.value() == pytest.approx(620.854672, abs=1e-6)


def test_a_short_zilch_by_two_back_ends():
    network = explore(Zilch(1500))
    per = AverageReward(per=lambda state: isinstance(state.state, Turn))
    first, second = (solve(network, per, solver=name) for name in ("value-iteration", "policy-iteration"))
    assert first.value() == pytest.approx(second.value(), abs=1e-8)
    assert (first.proved, second.proved) == (True, True)
    assert 500 < first.value() < 620.854672


# --- shapes -----------------------------------------------------------------------------


def test_a_chain_counts_its_states():
    chain = markov_chain(Game.of(start=0, node=endless_pig), lambda p: "bank")
    assert solve(chain, AverageReward()).value() == pytest.approx(10 / 3)


def several_classes():
    """Three places to stay in, one in turns, and an end."""

    def node(place):
        match place:
            case "start":
                return decide({"left": roll(d6, lambda k: go("two") if k > 2 else end(99)), "right": go("one")})
            case "one":
                return decide({"stay": go("one", reward=1), "try": go("start")})
        return decide({"on": go("two" if place == "other" else "other", reward=3 if place == "two" else 0)})

    return Game.of(start="start", node=node)


def test_periods_classes_and_ends():
    game = several_classes()
    found = solve(game, AverageReward(), solver="exact")
    # Four of six plays are worth 3/2 for ever, and the others have ended.
    assert (found.exact(), found.action()) == (1, "left")
    assert (found.exact("two"), found.exact("one"), found.exact("other")) == (Fraction(3, 2), 1, Fraction(3, 2))
    least = solve(game, AverageReward("min"), solver="exact")
    assert (least.exact(), least.action(), least.action("one")) == (0, "right", "try")
    assert "bias" not in found.details


def test_an_action_is_worth_the_average_less_what_it_costs_once():
    for sense, sign in (("max", 1), ("min", -1)):
        found = solve(repeated(PigTurn(cap=30)), AverageReward(sense, per=[0]), solver="exact")
        bias = dict(zip(found.network.states, found.details["bias"], strict=True))
        assert bias[0] == 0
        for points in range(2, 30):
            q = found.q(points)
            assert q["hold"] == pytest.approx(float(found.exact() + points - bias[points]))
            assert sign * q[found.action(points)] == max(sign * one for one in q.values()) == sign * found.value()


def test_a_player_who_minimises_by_the_model():
    """The sense of an objective turns the kind of a node, and so is the sign of a bias."""
    choices, _ = some_model(3)
    owner = [1] * len(choices)
    for sense, other in (("max", "min"), ("min", "max")):
        for solver in ("auto", "exact"):
            one = solve(network_of(choices, []), AverageReward(sense), solver=solver)
            two = solve(network_of(choices, [], owner=owner), AverageReward(other), solver=solver)
            assert one.value() == pytest.approx(two.value(), abs=1e-9)
            for state in one.states:
                assert one.q(state) == pytest.approx(two.q(state), abs=1e-8)
            assert list(map(float, one.details["bias"])) == pytest.approx(
                list(map(float, two.details["bias"])), abs=1e-8
            )


def test_a_discount_is_not_heeded():
    pig = Game.of(start=0, node=endless_pig, discount=0.5)
    assert solve(pig, AverageReward()).value() == pytest.approx(10 / 3)


def test_every_play_ends():
    found = solve(PigTurn(), AverageReward())
    assert (found.value(), found.status) == (0, Status.CERTIFIED)
    assert "repeated(game) starts it again" in found.warnings[-1]
    assert solve(PigTurn(), AverageReward(), solver="exact").exact() == 0


# --- again and again ----------------------------------------------------------------------


def test_games_with_counters():
    once = solve(explore(Jar()), solver="exact").exact()
    found = solve(repeated(Jar()), AverageReward(per=[Jar().unrolled().start()]), solver="exact")
    assert found.exact() == once


def test_other_objectives_of_a_game_again_and_again():
    again = repeated(PigTurn(cap=20))
    assert solve(again).value() == inf
    # Ten decisions hold many turns; the payoff of the first one counts as before.
    assert solve(again, horizon=1).value() == 0
    once = solve(PigTurn(cap=20), horizon=10).value()
    assert solve(again, horizon=10).value() > once
    assert again.at(19).start() == 19


# --- files, and several solvers -------------------------------------------------------------------


def saved(found, model, objective, path, **changes):
    """The answer of a file, with some of what it holds changed and sealed again."""
    members = {name: array.copy() for name, array in solution_members(found).items()}
    for name, change in changes.items():
        change(members[name])
    write_archive(path, members)
    return Solution.load(path, model, objective)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sense", ["max", "min"])
def test_a_file_gives_the_same_answer(solver, sense, tmp_path):
    path = tmp_path / "answer.npz"
    for model, per in ((repeated(PigTurn(cap=30)), [0]), (several_classes(), None), (PigTurn(cap=30), None)):
        objective = AverageReward(sense, per)
        found = solve(model, objective, solver=solver)
        found.save(path)
        again = Solution.load(path, model, objective)
        assert (again.status, again.solver, again.digest) == (Status.CERTIFIED, found.solver, found.digest)
        assert np.array_equal(again.nodes.values, found.nodes.values)
        assert (again.nodes.lowers <= found.nodes.uppers).all()
        assert (found.nodes.lowers <= again.nodes.uppers).all()
        assert np.array_equal(again.nodes.choice, found.nodes.choice)
        assert ("bias" in again.details) is ("bias" in found.details)
        for state in found.states:
            assert again.q(state) == pytest.approx(found.q(state), abs=1e-9)
        unproved = Solution.load(path, model, objective, prove=False)
        assert (unproved.status, unproved.estimate()) == (Status.UNCERTIFIED, found.value())


def test_a_file_answers_one_question(tmp_path):
    game, path = repeated(PigTurn(cap=30)), tmp_path / "answer.npz"
    solve(game, AverageReward(per=[0])).save(path)
    for model, objective in (
        (game, AverageReward()),
        (game, AverageReward(per=[0, 2])),
        (game, AverageReward("min", per=[0])),
        (game, None),
        (repeated(PigTurn(cap=31)), AverageReward(per=[0])),
    ):
        with pytest.raises(ProblemMismatchError):
            Solution.load(path, model, objective)
    solve(several_classes(), Discounted(Fraction(1, 2))).save(path)
    with pytest.raises(ProblemMismatchError):
        Solution.load(path, several_classes(), AverageReward())


def off_by(row, much):
    def change(array):
        array[row] += much

    return change


def first_options(row, indptr, decides):
    def change(array):
        array[row, decides] = indptr[:-1][decides]

    return change


@pytest.mark.parametrize("solver", ["auto", "policy-iteration"])
@pytest.mark.parametrize("sense", ["max", "min"])
def test_a_changed_file_proves_nothing_wrong(solver, sense, tmp_path):
    path = tmp_path / "answer.npz"
    for model, per in ((repeated(PigTurn(cap=30)), [0]), (several_classes(), None)):
        objective = AverageReward(sense, per)
        found, right = (solve(model, objective, solver=name) for name in (solver, "exact"))
        net = found.network
        for changes in (
            {"values": off_by(0, 0.01)},
            {"values": off_by(1, 0.01)},
            {"values": off_by(2, np.arange(net.n_nodes) % 3 * 0.01)},
            {"policy": first_options(1, net.indptr, net.decides)},
            {"policy": lambda array: array[1].fill(-1)},
            {"policy": lambda array: array[0].fill(-1)},
            {"values": off_by(0, np.nan)},
            {"values": off_by(1, np.nan)},
            {"values": off_by(2, np.inf)},
        ):
            try:
                again = saved(found, model, objective, path, **changes)
            except CorruptFileError:
                continue
            for state in net.states:
                assert again.lower(state) <= right.exact(state) <= again.upper(state)
            if again.proved:  # where nothing rests on what was changed
                assert again.value() == pytest.approx(float(right.exact()), abs=1e-6)
        with pytest.raises(CorruptFileError, match="shape"):
            saved(found, model, objective, path, values=lambda array: array.resize(array.size, refcheck=False))


def test_several_solvers_agree():
    for model, per, sense in (
        (repeated(PigTurn()), [0], "max"),
        (several_classes(), None, "max"),
        (several_classes(), None, "min"),
    ):
        report = cross_check(model, AverageReward(sense, per), at_least={"independent": 4, "policies": 1, "actions": 1})
        assert report.ok, report
        ran = {found.solver: found for found in report.solutions}
        assert set(ran) == {"exact", "linear-programming", "policy-iteration", "value-iteration"}
        assert ran["exact"].status is Status.EXACT
        assert ran["policy-iteration"].value() == pytest.approx(float(ran["exact"].exact()), abs=1e-8)


def test_several_solvers_agree_on_random_models():
    for seed in range(25):
        report = cross_check(network_of(*some_model(seed)), AverageReward(random.Random(seed).choice(["max", "min"])))
        assert report.ok, (seed, report)


@pytest.mark.parametrize("wrong", REJECTED_BY_CERTIFICATE, ids=lambda one: one.name)
def test_a_wrong_solver_is_noticed(wrong):
    found = cross_check(several_classes(), AverageReward(), solvers=["exact", "value-iteration", wrong()])
    (judged,) = (one for one in found.solutions if one.solver == wrong.name)
    if judged.proved:  # one action that is wrong by little is found out by asking again
        assert found.ok
        assert judged.value() == pytest.approx(1, abs=1e-6)
    else:
        assert not found.ok


def test_a_policy_worth_less_is_noticed():
    """A policy is followed by itself, whatever was proved of the answer that it stands in."""
    problem = prepare(several_classes(), AverageReward())
    found = solve(several_classes(), AverageReward())
    net = found.network
    assert compare_policies(problem, [found]) == (1, [])
    choice = found.nodes.choice.copy()
    for state, action, wrong in (("one", "try", 0), ("start", "right", 1)):
        # There either way is worth 1, but not round and round.
        choice[net.node_of(state)] = net.edge_of(net.node_of(state), action)
        assert len(compare_policies(problem, [changed(found, choice=choice)])[1]) == wrong


# --- what is proved, and what is refused --------------------------------------------------------


@pytest.mark.parametrize("wrong", [*REJECTED_BY_CERTIFICATE, Honest], ids=lambda one: one.name)
def test_wrong_solvers_prove_nothing_wrong(wrong):
    turn = solve(PigTurn(), solver="exact").exact()
    for game, per, right in (
        (repeated(PigTurn()), [0], turn),
        (Game.of(start=0, node=endless_pig), None, Fraction(10, 3)),
    ):
        found = solve(game, AverageReward(per=per), solver=wrong())
        assert found.lower() <= right <= found.upper()
        if found.proved:
            assert found.value() == pytest.approx(float(right), abs=1e-6)
        # One action that is wrong by little is found out by asking again.
        assert found.proved is (wrong is Honest) or wrong is OneWrongAction


@pytest.mark.parametrize("wrong", REJECTED_AS_ANSWER, ids=lambda one: one.name)
def test_solvers_that_break_their_contract(wrong):
    with pytest.raises(PluginError):
        solve(repeated(PigTurn(cap=20)), AverageReward(per=[0]), solver=wrong())


def test_bounds_hold_whatever_the_bias():
    rng = np.random.default_rng(0)
    game = repeated(PigTurn(cap=30))
    right = solve(game, AverageReward(per=[0]), solver="exact").exact()
    net = AverageReward(per=[0]).apply(explore(game))
    staying = Staying.of(net)
    policy = np.where(net.decides, net.indptr[:-1], -1)
    for scale in (1e-12, 1e-6, 1, 1e3):
        for _ in range(20):
            bias = rng.normal(size=net.n_nodes) * scale
            low, high, reason = bound(staying, policy, bias, lambda: None)
            assert reason or low[0] <= right <= high[0]


def test_what_cannot_be_asked(tmp_path):
    ask = AverageReward()
    rivals = Game.of(start=0, node=lambda n: decide({"a": go(1 - n, reward=1)}, player=n))
    with pytest.raises(UnsupportedError, match="AverageReward knows one player"):
        solve(rivals, ask)
    turns = Game.of(start=0, node=lambda n: decide({"go": pass_to(1 - n)}))
    with pytest.raises(UnsupportedError, match="AverageReward is not defined on a game with pass_to"):
        solve(turns, ask)
    ending = Game.of(start=0, node=lambda n: decide({"go": pass_to(1)}) if n == 0 else end(1))
    with pytest.raises(UnsupportedError, match="repeated\\(\\) is for one player"):
        explore(repeated(ending))
    pig = Game.of(start=0, node=endless_pig)
    with pytest.raises(UnsupportedError, match="plays without a horizon"):
        solve(pig, ask, horizon=3)
    with pytest.raises(UnsupportedError, match="nothing is counted; say with per="):
        solve(pig, AverageReward(per=[99]))
    with pytest.raises(UnsupportedError, match="a checkpoint is of one"):
        solve(pig, ask, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(CycleError, match="without cycles"):
        solve(pig, ask, solver="backward-induction")
    with pytest.raises(UnsupportedError, match="not for the objective AverageReward"):
        solve(compile_lattice(Jar()), ask)
    with pytest.raises(SolveInterrupted) as stopped:
        solve(pig, ask, time_limit=1e-6)
    assert stopped.value.partial is None
    with pytest.raises(GameError, match="per="):
        AverageReward(per="state")
    assert (str(ask), str(AverageReward(per=[0]))) == ("average", "average:0")
