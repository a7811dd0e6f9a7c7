"""What a game whose plays end is worth, by following every play in fractions: no networks, no lattices."""

from __future__ import annotations

from fractions import Fraction

from mdpdice.modelling.game import Chance, Decide, End


def best(game, worth, sense="max"):
    """Value of the start when a play is worth a function of its payoff and all rewards together."""
    known = {}

    def at(state, collected):
        if (state, collected) not in known:
            known[state, collected] = of(game.node(state), collected)
        return known[state, collected]

    def of(node, collected):
        if isinstance(node, Decide):
            there = [option for option in node.options if option is not None]
            choose = max if (node.player == 0) == (sense == "max") else min
            return choose(of(option, collected) for option in there)
        if isinstance(node, End):
            return Fraction(worth(collected + Fraction(node.payoff)))
        collected += Fraction(node.reward)
        if isinstance(node, Chance):
            whole = sum(node.dist.weights)
            parts = zip(node.dist.weights, node.edges, strict=True)
            return sum(Fraction(weight, whole) * of(edge, collected) for weight, edge in parts)
        return at(node.state, collected)

    return at(game.start(), Fraction(0))
