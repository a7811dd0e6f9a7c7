"""Small forms of all games, their core states, and what is rolled in them."""

from __future__ import annotations

from helpers.trial_games import Hog, ShutTheBox, Threes, TwoDicePig

from mdpdice import At, explore
from mdpdice.games.farkle import FarkleRace, KcdFarkle
from mdpdice.games.knucklebones import Knucklebones
from mdpdice.games.konijnenhokken import Konijnenhokken, KonijnenhokkenRace
from mdpdice.games.pig import Piglet, PigRace, PigTurn
from mdpdice.games.school import School, SchoolCombination
from mdpdice.games.yahtzee import Yahtzee
from mdpdice.games.yatzy import Yatzy
from mdpdice.modelling.nodes import Chance, Conditional, Decide, Go, PassTo
from mdpdice.policies.playthrough import plain

SHIPPED = {
    "farkle": KcdFarkle(dice=3, cap=400),
    "farkle of three kinds": KcdFarkle(dice="Lucky die, Odd die, Devil's head die", cap=400),
    "farkle-race": FarkleRace(dice=2, target=250),
    "konijnenhokken": Konijnenhokken(dice=4),
    "konijnenhokken-race": KonijnenhokkenRace(dice=2, target=3),
    "knucklebones": Knucklebones(columns=2, rows=1),
    "pig-race": PigRace(goal=8),
    "pig-turn": PigTurn(cap=30),
    "piglet": Piglet(goal=4),
    "school": School(open="care"),
    "school-combination": SchoolCombination(combination="pair"),
    "yahtzee": Yahtzee(),
    "yatzy": Yatzy(),
}
TRIALS = {"shut the box": ShutTheBox(), "threes": Threes(), "two-dice pig": TwoDicePig(), "hog": Hog()}
# These have no small form, so their last turn is looked at.
LAST_TURN = {
    "yahtzee": At("turn", boxes=(1 << 13) - 1 - (1 << 11), upper=60, fifty=0),
    "yatzy": At("turn", boxes=(1 << 15) - 1 - (1 << 13), upper=60),
}


def states(name):
    """All states that play reaches; of a game with counters, full ones."""
    game = plain((SHIPPED | TRIALS)[name])
    return explore(game.at(LAST_TURN[name]) if name in LAST_TURN else game).states


def parts(node):
    """A node, and everything that it is made of."""
    stack = [node]
    while stack:
        yield (found := stack.pop())
        match found:
            case Decide(options=inner) | Chance(edges=inner):
                stack += inner
            case Conditional(then=then, otherwise=otherwise):
                stack += [then, *([] if otherwise is None else [otherwise])]


def rolls(game, most=400):
    """What is rolled in the first core states that play comes to; every distribution once."""
    found, queue = {}, [game.start()]
    seen = set(queue)
    for state in queue:
        for part in parts(game.node(state)):
            if isinstance(part, Chance):
                found.setdefault((part.dist, part.dist.source[:1]), part.dist)
            elif isinstance(part, Go | PassTo) and part.state not in seen and len(queue) < most:
                seen.add(part.state)
                queue.append(part.state)
    return list(found.values())
