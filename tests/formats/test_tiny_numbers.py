"""A number that is not 0 is never written as 0: writers of floats refuse it, exact ones write it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mdpdice import Dist, Game, decide, end, explore, go, roll, solve
from mdpdice.errors import UnsupportedError
from mdpdice.formats import (
    read_drn,
    read_prism_explicit,
    to_mdpsolver,
    to_pymdptoolbox,
    to_quantecon,
    write_drn,
    write_lp,
    write_mps,
    write_petsc,
    write_prism_explicit,
)

TINY = Fraction(1, 10**400)


def model(reward=0, payoff=0, rare=Fraction(1, 2)):
    step = roll(Dist({"on": 1 - rare, "won": rare}), {"on": go(1, reward=reward), "won": end(payoff)}.get)
    return explore(Game.of(start=0, node=lambda s: decide({"stop": end(payoff)} if s else {"try": step})))


MODELS = [model(reward=TINY), model(payoff=-TINY), model(payoff=5, rare=TINY), model(reward=TINY / 3)]


@pytest.mark.parametrize("network", MODELS)
def test_floats_are_refused(network, tmp_path):
    writers = [
        lambda: to_pymdptoolbox(network),
        lambda: to_quantecon(network),
        lambda: to_mdpsolver(network),
        lambda: write_petsc(network, tmp_path / "t", tmp_path / "c"),
        lambda: write_lp(network, tmp_path / "x.lp"),
        lambda: write_mps(network, tmp_path / "x.mps"),
        lambda: write_drn(network, tmp_path / "x.drn", exact=False),
        lambda: write_prism_explicit(network, tmp_path / "x.tra"),
    ]
    for write in writers:
        with pytest.raises(UnsupportedError, match="float"):
            write()


@pytest.mark.parametrize("network", MODELS)
def test_exact_files_hold_them(network, tmp_path):
    truth = solve(network, solver="exact").exact()
    assert truth != 0
    write_drn(network, tmp_path / "x.drn")
    write_prism_explicit(network, tmp_path / "x.tra", exact=True)
    for read, name in ((read_drn, "x.drn"), (read_prism_explicit, "x.tra")):
        assert solve(read(tmp_path / name, exact=True).network(), solver="exact").exact() == truth


@pytest.mark.parametrize("reward", [5e-324, -1e-310])
def test_a_float_near_0_is_written_as_it_is(reward, tmp_path):
    network = explore(Game.of(start=0, node=lambda s: decide({"on": end(0) if s else go(1, reward=reward)})))
    write_drn(network, tmp_path / "x.drn", exact=False)
    assert read_drn(tmp_path / "x.drn", exact=False).network().reward[0] == reward
