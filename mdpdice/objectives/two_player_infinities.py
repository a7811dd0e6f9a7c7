"""Two players: where one of them can collect without end, whatever the other does, found by the graph alone.

Where no end component holds rewards of both signs, a play collects without end if it stays, from some
move on, in one that collects.  So the value is plus infinity where the maximiser can make sure that positive
rewards come again and again with positive probability: a Buechi objective of a turn-based stochastic game,
for which one choice per node is enough; and minus infinity, by the sides of `pass_to`, where the minimiser can.
The set is found in three nested fixed points: from where a player can bring a positive reward about; what is left
when nodes are removed from which the other one can reach those where that cannot be (here it comes almost surely,
again and again); and from where play can be brought there.  Repeated on the rest, since keeping away may lead there.

References
----------
K. Chatterjee, M. Jurdzinski, T. A. Henzinger, "Quantitative stochastic parity games", SODA 2004, 121-130.
"""

from __future__ import annotations

import attrs
import numpy as np

from mdpdice.errors import UnsupportedError
from mdpdice.networks.network import Bools, Ints, Kind, Network
from mdpdice.numerics.graph import attract, end_components, is_acyclic
from mdpdice.objectives.reductions import Lowering, both_sides, negate, without


def drop_won(network: Network) -> Lowering | None:
    """Leave out the nodes of a game of two players whose value is infinite, found by the graph alone.

    In end components with rewards of both signs only those are found where a player need never pay: what
    else there is depends on numbers.
    """
    if (
        not network.two_player
        or network.discount < 1
        or network.horizon is not None
        or not network.reward.any()
        or is_acyclic(network.indptr, network.dst)
    ):
        return None
    game = both_sides(network)
    won, chosen = _Sides(game, game.kind == Kind.CHANCE, game.kind == Kind.MAX).won_by_maximiser()
    n = network.n_nodes
    plus, minus = won[:n], won[n:]
    if not won.any():
        return None
    if (plus & minus).any():
        msg = "from here either player can collect for ever, so the total has no mean; use a discount or a horizon"
        raise UnsupportedError(msg, state=network.describe(int(np.argmax(plus & minus))))
    policy = np.where(network.decides, network.indptr[:-1], -1)
    for nodes, edge in ((plus, chosen[:n]), (minus, chosen[n:] - network.n_edges)):
        mine = nodes & (edge >= 0)
        policy[mine] = edge[mine]
    return attrs.evolve(without(network, ~(plus | minus), policy, because="won"), lost=minus)


def turn_if_alone(network: Network) -> Lowering | None:
    """Make a minimiser who is the only player left a maximiser of what was paid."""
    alone = bool((network.kind == Kind.MIN).any()) and not network.two_player
    return negate(network) if alone else None


@attrs.frozen(eq=False)
class _Sides:
    """The game with a node for either side: node ``N + i`` is node ``i`` as the opponent of the mover sees it."""

    game: Network
    chance: Bools
    maximises: Bools

    def won_by_maximiser(self) -> tuple[Bools, Ints]:
        """Where the maximiser collects without end with positive probability, and the edges to take there."""
        component = end_components(self.game.indptr, self.game.dst, self.chance)
        before = component[self.game.source]
        inside = (before >= 0) & (before == component[self.game.dst])
        # Edges that collect in a component, and those that pay in one where others collect.
        collects = inside & (self.game.reward > 0)
        spoils = inside & (self.game.reward < 0) & np.isin(before, before[collects])
        chosen = np.full(len(self.chance), -1)
        won = np.zeros(len(self.chance), dtype=np.bool_)
        while collects.any():
            sure, rank = self._almost_surely(~won, collects, spoils)
            if not sure.any():
                break
            among = sure[self.game.source] & sure[self.game.dst] & ~spoils
            self._choose(chosen, sure, among & (collects | (rank[self.game.dst] < rank[self.game.source])))
            rank = np.where(won | sure, 0, -1)
            self._attract(rank, self.chance | self.maximises)
            nearer = (rank[self.game.dst] >= 0) & (rank[self.game.dst] < rank[self.game.source])
            self._choose(chosen, (rank > 0) & ~won & ~sure, nearer)
            won = rank >= 0
        return won, chosen

    def _almost_surely(self, alive: Bools, collects: Bools, spoils: Bools) -> tuple[Bools, Ints]:
        """Where the maximiser collects again and again almost surely if plays stay `alive`, and how far the next is.

        That is without options that spoil it, and away from where the other player or chance may take one.
        """
        n = len(alive)
        usable = ~(spoils & self.maximises[self.game.source])
        never = np.zeros(n, dtype=np.bool_)
        never[self.game.source[spoils & usable]] = True
        inside = alive
        while True:
            among = usable & inside[self.game.source] & inside[self.game.dst]
            lost = np.where(inside & never, 0, -1)
            self._attract(lost, ~self.maximises, among)
            inside = inside & (lost < 0)
            among = usable & inside[self.game.source] & inside[self.game.dst]
            degree = np.bincount(self.game.source[among], minlength=n)
            paid = np.bincount(self.game.source[among & collects], minlength=n)
            rank = np.full(n, -1)
            rank[inside & (paid > 0) & (self.chance | self.maximises | (paid == degree))] = 0
            self._attract(rank, self.chance | self.maximises, among & ~collects)
            if not (never := inside & (rank < 0)).any():
                return inside, rank

    def _attract(self, rank: Ints, some: Bools, keep: Bools | None = None) -> None:
        """Rank nodes that come to ranked ones: those in `some` by one of their edges, the others by all."""
        attract(self.game.source, self.game.dst, some, rank, keep)

    def _choose(self, chosen: Ints, nodes: Bools, good: Bools) -> None:
        """Write down the first good edge of the maximiser's decisions among some nodes."""
        edges = np.flatnonzero(good & (nodes & self.maximises)[self.game.source])[::-1]
        chosen[self.game.source[edges]] = edges
