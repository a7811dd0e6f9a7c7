"""Notes about what looks like an oversight."""

from __future__ import annotations

from mdpdice import (
    Counter,
    Discounted,
    Game,
    Reach,
    compile_lattice,
    d6,
    decide,
    end,
    explore,
    go,
    pass_to,
    roll,
    solve,
    when,
)


def circle(reward=0):
    return Game.of(start=0, node=lambda s: decide({"on": go((s + 1) % 10, reward=reward), "stay": go(s)}))


def race(total=0, lost=0, won=1):
    def node(state):
        mine, theirs = state
        if theirs >= 6:
            return end(lost)
        if mine >= 10:
            return end(won)
        return decide({"roll": roll(d6, lambda k: pass_to((theirs, mine + k)))})

    return Game.of(start=(0, 4), node=node, total=total)


class CounterRace(Game):
    """The same with counters, whose lattice is solved; `total` is forgotten."""

    mine = Counter(range(60))
    theirs = Counter(range(60))

    def start(self):
        return "turn"

    def node(self, state):
        on = roll(d6, lambda k: pass_to(state, self.mine.set(self.theirs), self.theirs.set(self.mine + k)))
        return when(self.theirs >= 50, end(0), decide({"roll": on}))


def notes(game, *objective):
    return solve(game, *objective).network.warnings


def test_an_endless_game():
    (note,) = notes(circle())
    assert note.startswith("no play can end from any state, and no edge has a reward, so every total is 0")
    assert notes(explore(circle())) == (note,)
    assert explore(circle()).warnings == ()
    assert notes(circle(), Discounted(0.5)) == notes(circle(), Reach([3])) == notes(circle(reward=1)) == ()


def test_a_race_without_a_total():
    (note,) = notes(race())
    assert "give the game total = 1" in note
    assert notes(race(won=0)) == (note,)
    assert notes(race(total=1)) == notes(race(lost=-1)) == ()
    solution = solve(compile_lattice(CounterRace()))
    assert solution.lattice.warnings == (note,)


def test_a_game_of_one_player_may_pay_0_and_1():
    assert notes(Game.of(start=0, node=lambda _: decide({"a": end(0), "b": end(1)}))) == ()
