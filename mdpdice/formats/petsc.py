"""PETSc binary matrices, as madupite reads them: stacked transition probabilities and stage costs.

A decision table of n states with m actions each (`mdpdice.formats.decision_tables`) is two sparse matrices: row
``s * m + a`` of the first, of shape (n * m, n), has the probabilities of action ``a`` in state ``s``; the second, of
shape (n, m), has the costs, or the rewards where they are to be maximised.  The file of a matrix (AIJ) holds, all
numbers with the most significant byte first:

==================  =======  ====================================
what                count    type
==================  =======  ====================================
1211216             1        int32, marks a matrix
rows, columns       2        int32
non-zeros           1        int32
non-zeros by row    rows     int32
columns             nnz      int32, increasing within a row
values              nnz      float64
==================  =======  ====================================

References
----------
S. Balay and others, *PETSc/TAO users manual*, ANL-21/39, Argonne National Laboratory; manual page of ``MatLoad``.

M. Gargiani, P. Pawlowsky, R. Sieber, V. Hapla, J. Lygeros, "madupite: A high-performance distributed solver for
large-scale Markov decision processes", *Journal of Open Source Software* 10 (2025).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mdpdice.archives import replaced
from mdpdice.errors import CorruptFileError, GameError, UnsupportedError
from mdpdice.formats.decision_tables import Table, tabulate
from mdpdice.formats.exported_model import Start, decision_process
from mdpdice.formats.line_reader import PathLike
from mdpdice.networks.network import Network

_MATRIX = 1211216
_INT, _FLOAT = np.dtype(">i4"), np.dtype(">f8")
_LARGEST = np.iinfo(np.int32).max


# --- writing -----------------------------------------------------------------


def write_petsc(network: Network, transitions: PathLike, costs: PathLike, *, mode: str = "reward") -> Table:
    """Write a network as two PETSc binary matrices.

    Every state has every action there: where a state has fewer options, its last one is repeated.

    Parameters
    ----------
    network : Network
        A network of one player.
    transitions, costs : path
        The files; a discount stands in neither, it is ``Table.discount``.
    mode : {"reward", "cost"}
        Write rewards, for madupite's ``-mode MAXREWARD``, or costs, the negated rewards, for ``MINCOST``.

    Returns
    -------
    Table
        Which node of the network a state is; `Table.values` turns values of rewards back.

    Raises
    ------
    UnsupportedError
        There are two players, the table cannot hold the network, or its indices pass 32 bits.
    """
    sign = _sign(mode)
    if Path(transitions).absolute() == Path(costs).absolute():
        raise GameError(f"transitions and costs are two files; both are {os.fspath(transitions)}", value=transitions)
    table = tabulate(network, "a stacked matrix for madupite")
    choice = table.padded()
    _write(transitions, csr_array(table.matrix[choice.ravel()]))
    _write(costs, csr_array(sign * table.reward[choice]))
    return table


def _sign(mode: str) -> float:
    """Return what the numbers of the second file are multiplied with to be rewards."""
    if mode not in ("reward", "cost"):
        raise GameError(f'mode {mode!r}: it is "reward" or "cost"', value=mode)
    return 1.0 if mode == "reward" else -1.0


def _write(path: PathLike, matrix: Any) -> None:
    matrix.sort_indices()
    if max(*matrix.shape, matrix.nnz) > _LARGEST:
        msg = f"a matrix of shape {matrix.shape} with {matrix.nnz:,} entries needs more than the 32 bits of the format"
        raise UnsupportedError(msg, limit=_LARGEST)
    with replaced(Path(path)) as file:
        for part in ([_MATRIX, *matrix.shape, matrix.nnz], np.diff(matrix.indptr), matrix.indices):
            file.write(np.asarray(part, dtype=_INT).tobytes())
        file.write(np.asarray(matrix.data, dtype=_FLOAT).tobytes())


# --- reading -----------------------------------------------------------------


def read_petsc(
    transitions: PathLike,
    costs: PathLike,
    *,
    mode: str = "reward",
    discount: Any = 1,
    start: Start = 0,
    tolerance: float = 1e-9,
) -> Network:
    """Read a network from two PETSc binary matrices.

    Parameters
    ----------
    transitions, costs : path
        The files.
    mode : {"reward", "cost"}
        Whether the second matrix has rewards or costs; costs become negative rewards.
    discount, start, tolerance
        As for `from_pymdptoolbox`, and so are the errors of numbers.

    Raises
    ------
    CorruptFileError
        A file is not such a matrix, or the two do not fit together; `path` and `field` say where.
    """
    sign = _sign(mode)
    matrix, cost = _read(transitions), _read(costs)
    n, m = cost.shape
    if matrix.shape != (n * m, n):
        raise _corrupt(transitions, "shape", f"it is {matrix.shape}; costs of shape {cost.shape} need {(n * m, n)}")
    if len(empty := np.flatnonzero(np.diff(matrix.indptr) == 0)):
        raise _corrupt(transitions, "rows", f"row {empty[0]} is empty: action {empty[0] % m} leads nowhere")
    # The rewards are dense, but no larger than the rows of the other file.
    rewards = sign * cost.toarray().ravel() + 0.0
    model = decision_process(np.arange(n + 1) * m, matrix, rewards, start=start, tolerance=tolerance)
    return model.network(discount=discount)


def _corrupt(path: PathLike, field: str, what: str) -> CorruptFileError:
    msg = f"{os.fspath(path)} cannot be used ({field}): {what}; write it again with PETSc or write_petsc"
    return CorruptFileError(msg, path=os.fspath(path), field=field)


def _read(path: PathLike) -> Any:
    with Path(path).open("rb") as file:
        if (size := os.fstat(file.fileno()).st_size) < 4 * _INT.itemsize:
            raise _corrupt(path, "header", f"it has {size} bytes, fewer than a header")
        mark, rows, columns, entries = _numbers(file, 4, _INT).tolist()
        if mark != _MATRIX:
            raise _corrupt(path, "header", f"it begins with {mark}; a matrix with 32-bit indices begins with {_MATRIX}")
        if entries < 0:
            raise _corrupt(path, "header", f"it announces {entries} entries: dense matrices are not read")
        # Compared before anything is allocated.
        wanted = (4 + rows + entries) * _INT.itemsize + entries * _FLOAT.itemsize
        if rows < 1 or columns < 1 or size != wanted:
            what = f"{rows} rows, {columns} columns, {entries} entries need {wanted:,} bytes, not {size:,}"
            raise _corrupt(path, "header", what)
        width = _numbers(file, rows, _INT).astype(np.int64)
        if (width < 0).any() or width.sum() != entries:
            raise _corrupt(path, "rows", f"the rows have {width.sum()} entries, not {entries}")
        indices = _numbers(file, entries, _INT).astype(np.int64)
        data = _numbers(file, entries, _FLOAT).astype(np.float64)
    if entries and not (indices.min() >= 0 and indices.max() < columns):
        raise _corrupt(path, "columns", f"they go from {indices.min()} to {indices.max()}, of {columns}")
    if not np.isfinite(data).all():
        raise _corrupt(path, "values", f"entry {np.flatnonzero(~np.isfinite(data))[0]} is not finite")
    row = np.repeat(np.arange(rows), width)
    if len(back := np.flatnonzero((np.diff(row) == 0) & (np.diff(indices) <= 0))):
        raise _corrupt(path, "columns", f"those of row {row[back[0]]} do not increase")
    return csr_array((data, indices, np.concatenate(([0], np.cumsum(width)))), shape=(rows, columns))


def _numbers(file: IO[bytes], count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(file.read(count * dtype.itemsize), dtype=dtype)
