"""``python -m mdpdice.cli`` is the same as the command ``mdpdice``."""

from mdpdice.cli import main

if __name__ == "__main__":
    main(prog_name="mdpdice")
