"""How games are shown and spoken of: what lies on the table, words of actions, texts of states, real dice.

A `Look` belongs to a class of games; one that has none of its own gets the default, which needs nothing but the
declaration.
"""

from mdpdice.looks.line import said, told
from mdpdice.looks.look import Goal, Look, NamedPolicy, look_of
from mdpdice.looks.parts import Act, Boxes, Dice, Grid, Note, Part, Score, Text, Tokens, parted, spoken
from mdpdice.looks.throw import Die, Rolled, Throw, draw, remember

__all__ = ["Act", "Boxes", "Dice", "Die", "Goal", "Grid", "Look", "NamedPolicy", "Note", "Part", "Rolled"]
__all__ += ["Score", "Text", "Throw", "Tokens", "draw", "look_of", "parted", "remember", "said", "spoken"]
__all__ += ["told"]
