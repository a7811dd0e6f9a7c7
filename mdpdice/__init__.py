"""mdpdice: declare a game, solve it with interchangeable back-ends, certify the answer."""

from mdpdice.dice import d6, die, pool
from mdpdice.dist import Dist, certainly, product, uniform
from mdpdice.exploration import explore
from mdpdice.game import ClassicMDP, Edge, Game, Node, Option, chance, decide, end, go, pass_to, roll, when
from mdpdice.network import Kind, Network
