"""The processes that mpiexec has started a command in; mpi4py is imported only where there are several."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from mdpdice.errors import MissingPackageError, UnsupportedError


def _told(name: str) -> int:
    """Return what MPICH, Intel's MPI, or Open MPI say in the environment; 0 where nobody does."""
    known = (os.environ.get(f"PMI_{name}"), os.environ.get(f"OMPI_COMM_WORLD_{name}"))
    return next((int(text) for text in known if text is not None and text.isdecimal()), 0)


def keep_quiet() -> None:
    """Let only the first process say something."""
    if _told("RANK") > 0:
        sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends


def communicator(checkpoint: str | None) -> Any:
    """Return what the processes have in common, for `mdpdice.solve`; None if this is the only one."""
    if (count := _told("SIZE")) < 2:
        return None
    try:
        from mpi4py import MPI
    except ImportError as error:
        msg = f"{count} processes share a solve by mpi4py: pip install mdpdice[mpi]"
        raise MissingPackageError(msg, package="mpi4py") from error
    comm = MPI.COMM_WORLD
    if comm.size != count:
        msg = f"mpiexec started {count} processes and mpi4py sees {comm.size}: take the mpiexec of the MPI that it uses"
        raise UnsupportedError(msg)
    if comm.rank == 0:
        after = f"from what {checkpoint} holds" if checkpoint else "from the start; with --checkpoint DIR, from there"
        who = f"{count} processes. If one dies, mpiexec ends all"
        click.echo(f"{who}. The same command, with any number of them, goes on {after}.", err=True)
    return comm
