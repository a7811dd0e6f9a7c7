"""Curves, distributions, thresholds and bounds are those that were computed."""

from __future__ import annotations

import numpy as np
import pytest

from mdpdice import Policy, d6, decide, end, errors, explore, go, outcomes, roll, solve
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigTurn, hold_at
from mdpdice.looks import look_of
from mdpdice.modelling.game import Game
from mdpdice.plots import bound_chart, capped_solutions, outcome_chart, stage_curve, threshold_bars, value_curve


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_values_and_their_intervals(turn):
    ax = value_curve(turn, "state", unit="points", xlabel="points at risk")
    (line,) = ax.lines
    decided = [n for n in line.get_xdata() if n < 40]
    assert line.get_ydata()[: len(decided)].tolist() == [turn.value(int(n)) for n in decided]
    assert (np.diff(line.get_xdata()) > 0).all()
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert corners[:, 1].min() == pytest.approx(turn.lower(0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("points at risk", "value (points)")


def test_actions_cross_where_the_best_one_changes(turn):
    ax = value_curve(turn, "state", actions=True)
    hold, roll_ = (dict(zip(*line.get_data(), strict=True)) for line in ax.lines)
    assert labels(ax) == ["hold", "roll"]
    assert hold[19] < roll_[19]
    assert hold[21] > roll_[21]
    assert roll_[7] == turn.q(7)["roll"]
    # Told apart by more than colour.
    assert len({line.get_linestyle() for line in ax.lines}) == 2


def test_one_curve_for_every_number(race):
    ax = value_curve(race, "mine", by="theirs", where=lambda s: s.counters["turn"] == 0 and s.counters["theirs"] < 5)
    assert labels(ax) == ["theirs 0", "theirs 2", "theirs 3", "theirs 4"]
    with pytest.raises(errors.GameError, match="several states are at"):
        value_curve(race, "mine", by="theirs")
    with pytest.raises(errors.GameError, match="leave out one"):
        value_curve(race, "mine", by="theirs", actions=True)


def test_values_by_decisions_left(turn):
    solution = solve(turn.network, horizon=6)
    ax = stage_curve(solution, states={"nothing": 0, "ten": 10})
    first, second = ax.lines
    assert first.get_ydata().tolist() == [solution.value(steps_left=k) for k in range(7)]
    assert second.get_ydata().tolist() == [solution.value(10, steps_left=k) for k in range(7)]
    assert labels(ax) == ["nothing", "ten"]
    with pytest.raises(errors.HorizonRangeError, match="horizon"):
        stage_curve(turn)


def test_distribution_of_totals(turn):
    found = outcomes(turn.network, Policy.of(turn.network, hold_at(20)))
    ax = outcome_chart(found, unit="points")
    bars = {bar.get_x() + bar.get_width() / 2: bar.get_height() for bar in ax.containers[0]}
    assert bars.keys() == set(found.totals.tolist())
    assert bars[0] == found.prob(0)
    assert labels(ax) == ["mean 8.142"]
    assert ax.lines[0].get_xdata()[0] == found.mean
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("total of a play (points)", "chance of this total")


def test_several_distributions(turn):
    found = {f"hold at {n}": outcomes(turn.network, Policy.of(turn.network, hold_at(n))) for n in (10, 20)}
    ax = outcome_chart(found, at_least=True)
    curves = [line for line in ax.lines if line.get_label().startswith("hold")]
    for line, one in zip(curves, found.values(), strict=True):
        xs, ys = line.get_data()
        for total, chance in zip(xs[:-1], ys[:-1], strict=True):
            assert chance == pytest.approx(one.at_least(total))
        assert ys[-1] == 0
    assert labels(ax) == ["hold at 10 (mean 6.874)", "hold at 20 (mean 8.142)"]
    bars = outcome_chart(found)
    assert [len(container) for container in bars.containers] == [len(one) for one in found.values()]


def test_what_is_not_drawn_is_said():
    game = Game.of(
        start=0,
        node=lambda n: decide({"on": roll(d6, lambda k: end(3) if k < 4 else go(1))}) if n == 0
        else decide({"on": go(1, reward=1)}),
    )  # fmt: skip
    network = explore(game, merge=False)
    ax = outcome_chart(outcomes(network, Policy.uniform(network)))
    assert [text.get_text() for text in ax.texts] == ["not drawn: 0.5 infinite"]
    rest = outcome_chart(outcomes(network, Policy.uniform(network)), at_least=True)
    assert rest.lines[0].get_ydata().tolist() == [1.0, 0.5]
    with pytest.raises(errors.GameError, match="no finite total"):
        outcome_chart({})


def test_thresholds_as_bars():
    found = look_of(KcdFarkle(dice=3, cap=1000)).thresholds()
    ax = threshold_bars(found, xlabel="dice left", ylabel="bank from (points)")
    assert [bar.get_height() for bar in ax.containers[0]] == list(found[0].vector)
    assert [text.get_text() for text in ax.texts] == [str(number) for number in found[0].vector]
    with pytest.raises(errors.GameError, match="same number of entries"):
        threshold_bars(found, labels=["one"])
    with pytest.raises(errors.GameError, match="same number of entries"):
        threshold_bars([])


def test_bounds_close_in(race):
    found = capped_solutions(race.network)
    assert [one.proved for one in found] == [False] * (len(found) - 1) + [True]
    ax = bound_chart(found)
    upper, lower, value = (line.get_ydata() for line in ax.lines)
    assert (np.diff(upper) <= 1e-12).all()
    assert (np.diff(lower) >= -1e-12).all()
    assert (lower <= race.value() + 1e-12).all()
    assert (upper >= race.value() - 1e-12).all()
    assert value[-1] == pytest.approx(race.value())
    assert ax.lines[0].get_xdata().tolist() == [one.iterations for one in found]
    apart = bound_chart(found, width=True)
    assert apart.lines[0].get_ydata() == pytest.approx(upper - lower)
    assert apart.get_yscale() == "log"
    assert "chance to win" in apart.get_ylabel()


def test_bounds_of_one_problem(race, turn):
    with pytest.raises(errors.GameError, match="2 solutions of 2 problems"):
        bound_chart([race, turn])
    with pytest.raises(errors.UnsupportedError, match="value-iteration or policy-iteration"):
        capped_solutions(PigTurn(), solver="exact")
    assert capped_solutions(PigTurn(cap=30), solver="policy-iteration")[-1].proved
