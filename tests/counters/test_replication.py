"""Games with counters as networks: the compiled route against the plain one, which shares nothing with it."""

from __future__ import annotations

import numpy as np
from counter_strategies import counter_games
from hypothesis import HealthCheck, given, settings

from mdpdice import Kind, explore
from mdpdice.errors import MdpDiceError


def rows(network):
    """What a network says about every state, without the numbers of its nodes.

    Parallel edges of chance nodes are merged, and an option that leads to chance with one way on is
    that way: the plain route does both at every point, the compiled one where it holds at all points.
    """

    def name(node):
        state = network.state_of(node)
        if state is not None:
            return repr(state)
        return f"end({network.exact_payoff(node)})" if network.kind[node] == Kind.END else repr(lottery(node))

    def edges(node):
        for e, p in zip(network.edges(node), network.row(node), strict=True):
            to = int(network.dst[e])
            yield to, int(network.sign[e]), bool(network.step[e]), p, network.exact_reward(e)

    def lottery(node):
        merged = {}
        for to, sign, step, p, reward in edges(node):
            weight, paid = merged.get((name(to), sign, step), (0, 0))
            merged[name(to), sign, step] = weight + p, paid + p * reward
        return sorted((*key, p, paid / p) for key, (p, paid) in merged.items())

    def option(edge):
        to, sign, step, p, reward = edge
        if network.node_state[to] < 0 and network.kind[to] == Kind.CHANCE and len(lottery(to)) == 1:
            return lottery(to)[0]
        return name(to), sign, step, p, reward

    def row(node):
        if not network.decides[node]:
            return int(network.kind[node]), lottery(node), network.exact_payoff(node)
        actions = [network.action_of(e) for e in network.edges(node)]
        return int(network.kind[node]), list(zip(actions, map(option, edges(node)), strict=True))

    found = {}
    for node in np.flatnonzero(network.node_state >= 0).tolist():
        found.setdefault(repr(network.state_of(node)), []).append(repr(row(node)))
    return {state: sorted(texts) for state, texts in found.items()}


def outcome(game, **options):
    try:
        return explore(game, **options)
    except MdpDiceError as error:
        return error


def assert_equal(game, **options):
    fast, plain = outcome(game, **options), outcome(game.unrolled(), **options)
    if isinstance(plain, MdpDiceError):
        assert isinstance(fast, MdpDiceError), fast
        assert fast.state == plain.state
        return None
    if isinstance(fast, MdpDiceError):
        raise fast
    assert set(fast.states) == set(plain.states)
    assert len(fast.states) == len(plain.states)
    assert rows(fast) == rows(plain)
    assert (fast.total, fast.discount, fast.warnings) == (plain.total, plain.discount, plain.warnings)
    assert fast.state_of(fast.start) == plain.state_of(plain.start)
    return fast, plain


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(counter_games())
def test_random_games_are_the_same_on_both_routes(game):
    assert_equal(game)
