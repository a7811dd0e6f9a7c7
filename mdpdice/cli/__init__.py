"""The command line `mdpdice`: list, solve, crosscheck and advise.

Only click is imported before a command runs, so that ``--help`` answers at once.
"""

from mdpdice.cli.commands import main

__all__ = ["main"]
