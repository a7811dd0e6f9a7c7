"""What a user writes: games, nodes, distributions, dice, counters, expressions, and states as text."""
