"""Drawings have every node and every edge, and files are what their names say."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from mdpdice import Game, Kind, Policy, decide, end, errors, explore, solve
from mdpdice.games.pig import Piglet, hold_at
from mdpdice.looks import look_of
from mdpdice.networks.network import Network
from mdpdice.plots import draw_network, policy_map, save_picture, value_curve, value_map


def by_label(ax):
    return {one.get_label(): one for one in ax.collections}


def test_every_node_and_edge_is_there(small):
    solution = solve(small)
    ax = draw_network(small, solution)
    drawn = by_label(ax)
    count = {kind: int((small.kind == kind).sum()) for kind in Kind}
    assert len(drawn["decision"].get_offsets()) == count[Kind.MAX]
    assert len(drawn["chance"].get_offsets()) == count[Kind.CHANCE]
    assert len(drawn["end, with its payoff"].get_offsets()) == count[Kind.END]
    assert "decision of the minimiser" not in drawn
    shapes = {len(one.get_paths()[0].vertices) for one in ax.collections}
    assert len(shapes) == 3  # square, circle, octagon
    arrows = {patch.get_gid(): patch for patch in ax.patches if patch.get_gid() is not None}
    assert len(arrows) == small.n_edges
    best = {gid for gid, arrow in arrows.items() if arrow.get_linewidth() > 2}
    assert best == {str(edge) for edge in solution.nodes.choice if edge >= 0}
    dashed = {int(gid) for gid, arrow in arrows.items() if arrow.get_linestyle() != "-"}
    assert dashed == set(np.flatnonzero(~small.decides[small.source]).tolist())
    texts = [text.get_text() for text in ax.texts]
    assert texts.count("1/6") == int((np.isclose(small.weight, 1 / 6)).sum())
    assert "= 4.824" in texts
    assert "start" in texts


def test_no_two_nodes_at_one_place_and_arrows_to_the_right(small):
    ax = draw_network(small)
    places = np.concatenate([np.asarray(one.get_offsets()) for one in ax.collections])
    assert len(np.unique(places.round(6), axis=0)) == small.n_nodes
    for patch in ax.patches:
        if patch.get_gid() is not None:
            (x, _), (to_x, _) = patch._posA_posB
            assert x < to_x


def test_cycles_states_with_names_and_policies():
    network = explore(Piglet())
    ax = draw_network(network, Policy.of(network, hold_at(1)))
    texts = [text.get_text() for text in ax.texts]
    assert "state play\nmine 0\ntheirs 0\nturn 0" in texts or "mine 0\ntheirs 0\nturn 0" in texts
    shown = draw_network(network, show=look_of(Piglet()).show_state)
    assert "mine=0 theirs=0 turn=0" in [text.get_text() for text in shown.texts]


def test_two_players_and_nodes_that_play_never_reaches():
    network = Network(
        kind=[1, 2, 0, 0], indptr=[0, 2, 3, 3, 3], dst=[1, 2, 2], weight=[1] * 3, reward=[0, 2, 0],
        sign=[1] * 3, step=[1] * 3, payoff=[0, 0, 1, 5], start=0,
    )  # fmt: skip
    drawn = by_label(draw_network(network))
    assert len(drawn["decision of the minimiser"].get_offsets()) == 1
    assert len(drawn["end, with its payoff"].get_offsets()) == 2


def test_large_networks_are_refused(race, small):
    with pytest.raises(errors.UnsupportedError, match="could not be read") as caught:
        draw_network(race.network)
    assert caught.value.value == race.network.n_nodes
    assert caught.value.limit == 60
    with pytest.raises(errors.GameError, match="another network"):
        draw_network(small, race)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_files(turn, tmp_path, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in ("one", "two")]
    for path in paths:
        save_picture(policy_map(turn, "state"), path)
    one, two = (path.read_bytes() for path in paths)
    assert one.startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    assert one == two  # no dates, no random names
    if suffix == ".svg":
        assert ET.fromstring(one).tag.endswith("svg")
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_other_endings_are_refused(turn, tmp_path):
    ax = policy_map(turn, "state")
    with pytest.raises(errors.UnsupportedError, match=r"end in \.png, \.svg, \.pdf"):
        save_picture(ax, tmp_path / "map.bmp")
    save_picture(ax.figure, tmp_path / "MAP.PNG")


def test_several_pictures_in_one_figure(turn):
    from matplotlib.figure import Figure

    left, right = Figure().subplots(1, 2)
    assert policy_map(turn, "state", ax=left) is left
    assert not right.collections


def test_no_global_state_and_no_window():
    program = (
        "import sys; from mdpdice import plots; from mdpdice import Game, end, explore\n"
        "plots.region_map(explore(Game.of(start=0, node=end)), bool, 'state')\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_matplotlib_the_error_says_what_to_do():
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from mdpdice.errors import MissingPackageError\n"
        "try: import mdpdice.plots\n"
        "except MissingPackageError as error: print(error.package, error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "matplotlib pictures need matplotlib: pip install mdpdice[plot]"


def test_names_are_drawn_as_they_are_and_not_as_formulas(tmp_path):
    """Between two signs of dollar matplotlib reads a formula, and legends leave out what begins with a stroke."""
    actions = {"$^{$": end(1), "_pass": end(2), "$5 for $6": end(3), "x" * 500: end(4), 1: end(5), "1": end(6)}
    solution = solve(Game.of(start="$\\fra$", node=lambda state: decide(actions)))
    pictures = [
        draw_network(solution.network, solution),
        policy_map(solution, lambda state: 0),
        value_curve(solution, lambda state: 0, actions=True),
    ]
    for number, ax in enumerate(pictures):
        save_picture(ax, tmp_path / f"{number}.svg")
    texts = [text.get_text() for text in pictures[0].texts]
    assert r"\$5 for \$6" in texts
    assert max(map(len, texts)) < 50
    svg = (tmp_path / "2.svg").read_text(encoding="utf-8")
    assert "<!-- $5 for $6 -->" in svg
    assert "<!--  _pass -->" in svg
    assert len(pictures[2].get_lines()) == len(actions)


def test_nothing_to_draw_and_numbers_with_many_digits(turn):
    with pytest.raises(errors.UnsupportedError, match="None in all states"):
        value_map(turn, lambda state: state, lambda state: 0, of=lambda state, value: None)
    big = solve(Game.of(start=0, node=lambda state: decide({"a": end(10**300), "b": end(0)})))
    ax = value_map(big, lambda state: 0, lambda state: 0)
    assert [text.get_text() for text in ax.texts] == ["1e+300"]
