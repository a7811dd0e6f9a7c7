"""The command line `mdpdice`: list, solve, crosscheck, advise, policy, evaluate, simulate, thresholds, play, tree,
plot, info, new, export and import.

Only click is imported before a command runs, so that ``--help`` answers at once.
"""

from mdpdice.cli import models as models
from mdpdice.cli import pictures as pictures
from mdpdice.cli import strategies as strategies
from mdpdice.cli import transfer as transfer
from mdpdice.cli import trees as trees
from mdpdice.cli.commands import main

__all__ = ["main"]
