"""The best turn to reach some points, which is another question than the most points on average."""

import functools

import pytest

from mdpdice import PayoffAtLeast, Policy, cross_check, evaluate, solve
from mdpdice.games.farkle import KcdFarkle
from mdpdice.looks import look_of


def chance_to_reach(wanted, oracle):
    """P(a turn of six dice banks at least so many points), over all rolls of single dice."""
    table = oracle.offers("kcd", [((1,) * 6, False)], (6,))

    @functools.cache
    def rolling(number, points):
        lines, weights = table[number,]
        total = 0.0
        for weight, best, keeps in lines:
            if points + best >= wanted:
                total += weight
            elif best:
                total += weight * max(rolling(left[0], points + more) for more, left in keeps)
        return total / weights

    return rolling(6, 0)


@pytest.mark.parametrize("wanted", [500, 1000, 2000])
def test_chance_to_reach(wanted, oracle):
    found = solve(KcdFarkle(), PayoffAtLeast(wanted))
    assert found.value() == pytest.approx(chance_to_reach(wanted, oracle), abs=1e-12)


def test_reaching_1000_by_all_back_ends():
    report = cross_check(KcdFarkle(cap=1000), PayoffAtLeast(1000))
    assert report.ok, report.table()
    assert report.independent == 5
    assert report.entries[0].solution.value() == pytest.approx(0.328726314954, abs=1e-12)


def test_it_costs_points_and_the_most_points_cost_chances():
    reach, most = solve(KcdFarkle(), PayoffAtLeast(1000)), solve(KcdFarkle())
    # The same two policies, each asked the question of the other.
    points = evaluate(most.network, Policy.from_solution(reach).on(most.network)).value()
    chance = evaluate(reach.network, Policy.from_solution(most).on(reach.network)).value()
    assert points < most.value() - 100
    assert chance == pytest.approx(0.187354103729, abs=1e-12)
    # With 500 points on the table one takes the money, and the other the best five dice.
    position = look_of(KcdFarkle()).read_state("roll=1,2,2,3,4,5")
    assert most.action(position)[0] == 500
    assert reach.action(position).dice == 5
