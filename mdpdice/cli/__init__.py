"""The command line `mdpdice`: one module per command, and what they share.

The command line is a user of the library: it imports `mdpdice`, whose parts are imported when they are first used, and
other modules of the library where they are needed.  Only click is imported before a command runs, so that ``--help``
answers at once.
"""

from mdpdice.cli.main import main

__all__ = ["main"]
