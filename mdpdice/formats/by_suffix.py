"""Formats by name and by the end of a file's name, for the command line and for programs that do not care which."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from mdpdice.errors import UnsupportedError
from mdpdice.formats.drn import read_drn, write_drn
from mdpdice.formats.exported_model import Model
from mdpdice.formats.line_reader import PathLike
from mdpdice.formats.lp_mps import write_lp, write_mps
from mdpdice.formats.networkx_graphs import write_dot
from mdpdice.formats.petsc import read_petsc, write_petsc
from mdpdice.formats.prism import write_prism
from mdpdice.formats.prism_explicit import read_prism_explicit, write_prism_explicit
from mdpdice.formats.umb import read_umb, write_umb
from mdpdice.lattices.lattice import Lattice
from mdpdice.networks.network import Network


@attrs.frozen
class FileFormat:
    """A format of files."""

    name: str  #: what it is called on the command line
    about: str  #: what it is, in a line
    suffixes: tuple[str, ...]  #: ends of file names
    read: Callable[..., Model | Network] | None = None  #: from a path, and keywords among `takes`
    write: Callable[[Any, PathLike], Any] | None = None  #: takes a network and a path
    lattices: bool = False  #: whether it writes the lattice of a game with counters too
    takes: tuple[str, ...] = ()  #: what its reader can be asked: start, tolerance, exact


def _costs(path: PathLike) -> Path:
    """Return the file of costs beside that of transitions: ``x.petsc`` and ``x.costs.petsc``."""
    given = Path(path)
    return given.with_name(f"{given.stem}.costs{given.suffix}")


_EXPLICIT = ("start", "tolerance", "exact")

#: Every format, in the order of the documentation.
FORMATS: tuple[FileFormat, ...] = (
    FileFormat("npz", "a network with all that it holds", (".npz",), Network.load, Network.save),
    FileFormat("drn", "Storm's explicit format", (".drn",), read_drn, write_drn, takes=_EXPLICIT),
    FileFormat(
        "prism-explicit",
        "PRISM's explicit files, .tra with .lab and .srew or .trew beside it",
        (".tra",),
        read_prism_explicit,
        write_prism_explicit,
        takes=_EXPLICIT,
    ),
    FileFormat("umb", "Storm's and PRISM's binary format", (".umb",), read_umb, write_umb, takes=_EXPLICIT),
    FileFormat("prism", "the PRISM language", (".prism", ".pm", ".nm", ".smg"), None, write_prism, lattices=True),
    FileFormat(
        "petsc",
        "PETSc matrices for madupite, x.petsc with rewards in x.costs.petsc",
        (".petsc", ".bin"),
        lambda path, **options: read_petsc(path, _costs(path), **options),
        lambda network, path: write_petsc(network, path, _costs(path)),
        takes=("start", "tolerance"),
    ),
    FileFormat("dot", "a drawing for Graphviz", (".dot", ".gv"), None, write_dot),
    FileFormat("lp", "the linear program, in CPLEX' LP format", (".lp",), None, write_lp),
    FileFormat("mps", "the linear program, in the MPS format", (".mps",), None, write_mps),
)


def find_format(path: PathLike, name: str | None = None, *, writing: bool = False) -> FileFormat:
    """Return the format of a file by its name, or by the end of the file's name; the `UnsupportedError` lists all."""
    able = [found for found in FORMATS if (found.write if writing else found.read) is not None]
    what = "written" if writing else "read"
    have = "; ".join(f"{found.name} ({', '.join(found.suffixes)})" for found in able)
    asked = f"a file named {Path(path).name!r}" if name is None else f"format {name!r}"
    suffix = Path(path).suffix.lower()
    chosen = [one for one in FORMATS if (suffix in one.suffixes if name is None else name == one.name)]
    if not chosen or chosen[0] not in able:
        raise UnsupportedError(f"{asked} cannot be {what}; formats that can are: {have}", value=name or os.fspath(path))
    return chosen[0]


def read_file(path: PathLike, name: str | None = None, **options: Any) -> Model | Network:
    """Read a file of any format that can be read; explicit models come as `Model`, which may have several rewards.

    The `options` are ``start``, ``tolerance`` and ``exact``, as the readers take them.  An `UnsupportedError` says that
    the format is not known or its reader does not take an option, a `CorruptFileError` that the file is damaged.
    """
    found = find_format(path, name)
    assert found.read is not None
    for option in options:
        if option not in found.takes:
            able = ", ".join(other.name for other in FORMATS if option in other.takes)
            raise UnsupportedError(f"{found.name} is read without {option}=; with it are: {able}", value=option)
    return found.read(path, **options)


def write_file(source: Network | Lattice, path: PathLike, name: str | None = None) -> None:
    """Write a network to a file of any format that can be written, or a lattice to one of the PRISM language."""
    found = find_format(path, name, writing=True)
    assert found.write is not None
    if isinstance(source, Lattice) and not found.lattices:
        able = ", ".join(other.name for other in FORMATS if other.lattices)
        msg = f"{found.name} holds networks, and this is a lattice; write replicate(lattice), or one of: {able}"
        raise UnsupportedError(msg, value=found.name)
    found.write(source, path)
