"""How loops are compiled: the decorators of all modules with such loops, and what the machine code is kept for.

numba keeps machine code beside the source, and takes it from there as long as the file of the function is
what it was.  But the code contains what the function calls, and constants, and these may come from other files:
after an edit there, or an upgrade in which only those files have changed (pip leaves machine code
where it is), it would be that of an older version.  So a function is stamped with the texts of its
module and of all modules with compiled loops that this one imports, directly or not.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import sys
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
from numpy.typing import NDArray

# What compiled loops are given.  The names tell the type of the elements, for readers: numba infers them, and its
# scalars follow rules that numpy's types do not describe.
Floats: TypeAlias = NDArray[Any]  # float64
Ints: TypeAlias = NDArray[Any]  # int64, or uint64 in the loops over edges
Bools: TypeAlias = NDArray[Any]  # bool
Kinds: TypeAlias = NDArray[Any]  # uint8
Number: TypeAlias = Any  # a scalar that a kernel took out of an array

F = TypeVar("F", bound=Callable[..., Any])

_IMPORT = re.compile(r"^from (mdpdice[\w.]*) import (\w*)", re.MULTILINE)


def njit(function: F) -> F:
    """`numba.njit` with the options of the library; the type of the function stays as it is."""
    return _compiled(function)


def inlined(function: F) -> F:
    """Compile and inline what is called once per node: a call with arrays costs as much as a short row."""
    return _compiled(function, inline="always")


def _compiled(function: F, **options: Any) -> F:
    make = functools.partial(numba.njit, nogil=True, error_model="numpy", **options)
    dispatcher: Any = make(cache=True)(function)
    if dispatcher is not function:  # numba is not switched off
        try:
            file = dispatcher._cache._cache_file  # noqa: SLF001 - there is no other way to say more about a source
            file._source_stamp = (file._source_stamp, stamp(function.__module__))  # noqa: SLF001
        except AttributeError:
            # Code that may be out of date is worse than code that is compiled again.
            dispatcher = make()(function)
    return cast("F", dispatcher)


@functools.cache
def stamp(module: str) -> bytes:
    """Digest of the texts of a module and of all whose loops can be in its own."""
    digest = hashlib.sha256()
    seen = [module]
    for name in seen:
        found: Any = sys.modules[name]
        # A frozen program has no sources; numba looks at the whole file of it.
        with contextlib.suppress(OSError):
            text = found.__loader__.get_data(found.__file__)
            digest.update(text)
            seen += sorted(loops_in(text.decode()) - set(seen))
    return digest.digest()


def loops_in(text: str) -> set[str]:
    """Modules with compiled loops that the text of a module imports at its top."""
    named = {name for module, part in _IMPORT.findall(text) for name in (module, f"{module}.{part}")}
    return {name for name in named & sys.modules.keys() if hasattr(sys.modules[name], "njit")}
