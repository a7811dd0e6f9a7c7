"""How games are shown and spoken of: what lies on the table, words of actions, texts of states, real dice.

A `mdpdice.looks.look.Look` belongs to a class of games; one that has none of its own gets the default, which needs
nothing but the declaration.
"""
