"""How loops are compiled: the decorators of all modules with such loops, and what the machine code is kept for.

numba keeps machine code beside the source, and takes it from there as long as the file of the function is
what it was.  But the code contains what the function calls, and constants, and these may come from other files:
after an edit there, or an upgrade in which only those files have changed (pip leaves machine code
where it is), it would be that of an older version.  So a function is stamped with the texts of its
module and of all modules with compiled loops that this one imports, directly or not.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib
import os
import re
import select
import sys
import threading
from collections.abc import Callable
from typing import IO, Any, TypeAlias, TypeVar, cast

import numpy as np
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


PLAIN_UP_TO = 200_000
"""Elements of arrays that loops go through in plain Python, all together, before one is compiled: about 0.1 s."""
ALONE = "MDPDICE_COMPILE_ALONE"
"""Environment variable: unless it is empty, there is no second process."""
SECOND = "mdpdice.cli.small_runs"
"""The module that is the second process."""
_MAKING = threading.RLock()


def njit(function: F) -> F:
    """Compile with the options of the library, on the first call; the type of the function stays as it is."""
    return cast("F", Loop(function))


def nested(function: F) -> F:
    """Compile what compiled loops alone call: there is no way in from Python."""
    return cast("F", Loop(function, within=True))


def brief(function: F) -> F:
    """Compile what goes over its arrays once or twice; small ones are left to plain Python, which is sooner done."""
    return cast("F", Loop(function, plain=True))


def inlined(function: F) -> F:
    """Compile and inline what is called once per node: a call with arrays costs as much as a short row."""
    return cast("F", Loop(function, within=True, inline="always"))


class Loop:
    """A loop that is compiled when it is needed: to import numba takes longer than to solve a small game."""

    spent = 0  # elements that plain Python went through
    made, begun = 0, 0  # loops of all modules that are imported, and those that had to be compiled
    told: Callable[[int, int], None] | None = None  # whoever wants to hear of the latter
    compiling = False
    route = ""  # what is being done, if a second process may compile for it
    second: IO[bytes] | None = None  # what that says
    theirs = ""  # what it compiles
    recorded: list[tuple[Loop, tuple[Any, ...]]] | None = None  # calls in plain Python, with the types of arguments

    def __init__(
        self, function: Callable[..., Any], *, plain: bool = False, within: bool = False, **options: Any
    ) -> None:
        self.function, self.plain, self.within, self.options = function, plain, within, options
        self.name = f"{function.__module__}.{function.__name__}"
        functools.update_wrapper(self, function)
        Loop.made += not options

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code, or the function itself."""
        if self.within:  # it is plain Python that calls
            return self.function(*arguments)
        if Loop.recorded is not None:
            Loop.recorded.append((self, tuple(map(_numba().typeof, arguments))))
            count = len(Loop.recorded)
            with np.errstate(all="ignore"):
                result = self.function(*arguments)
            del Loop.recorded[count:]  # what it calls is a part of it
            return result
        if self.plain and not Loop.compiling:
            Loop.spent += _elements(arguments)
            if Loop.spent <= PLAIN_UP_TO:
                with np.errstate(all="ignore"):
                    return self.function(*arguments)
        Loop.compiling = True
        return self.compiled(*arguments)

    def __getattr__(self, name: str) -> Any:
        """Hand on what numba looks for where compiled code calls this, such as the type of the compiled function."""
        if name.startswith("__"):  # others look for these, in vain
            raise AttributeError(name)
        return getattr(self.part, name)

    @functools.cached_property
    def compiled(self) -> Any:
        """Make the function of numba, in the first of all threads that call it."""
        with _MAKING:
            if "compiled" not in self.__dict__:
                self.__dict__["compiled"] = _dispatcher(self.function, self.name)
            return self.__dict__["compiled"]

    @functools.cached_property
    def part(self) -> Any:
        """The function of numba that compiled loops call."""
        if self.within and not self.options:
            _tell()
        return _make(self.function, "PartCompiler", no_cpython_wrapper=True, **self.options)


def _make(function: Callable[..., Any], compiler: str = "WholeCompiler", **options: Any) -> Any:
    numba = _numba()
    with contextlib.suppress(ImportError):  # another numba takes longer, to the same end
        from mdpdice import compiled_parts

        options["pipeline_class"] = getattr(compiled_parts, compiler)
    return numba.njit(function, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)


def _dispatcher(function: Callable[..., Any], name: str) -> Any:
    dispatcher: Any = _make(function, cache=True)
    if dispatcher is not function:  # numba is not switched off
        try:
            file = dispatcher._cache._cache_file  # noqa: SLF001 - there is no other way to say more about a source
            file._source_stamp = (file._source_stamp, stamp(function.__module__))  # noqa: SLF001
            if not file._load_index():  # noqa: SLF001
                _tell()
                if Loop.recorded is None:
                    _begin(name)
            if Loop.recorded is not None:  # the first process may write code of the same loop at the same time
                file._data_name_pattern = f"{os.getpid()}.{file._data_name_pattern}"  # noqa: SLF001
        except AttributeError:
            # Code that may be out of date is worse than code that is compiled again.
            dispatcher = _make(function)
    return dispatcher


def _tell() -> None:
    Loop.begun += 1
    if Loop.told:
        Loop.told(Loop.begun, Loop.made)


@functools.cache
def _numba() -> Any:
    """Import numba without the search for a BLAS, for which it imports ``scipy.linalg`` before any loop.

    That takes longer than some commands. scipy is installed, and where a loop needs the BLAS, numba looks again.
    """
    import numba

    with contextlib.suppress(AttributeError, ImportError):
        linalg: Any = importlib.import_module("numba.np.linalg")
        look, linalg.ensure_blas = linalg.ensure_blas, lambda: None
        try:
            arrays: Any = importlib.import_module("numba.np.arraymath")
            arrays.ensure_blas = look
        finally:
            linalg.ensure_blas = look
    return numba


def _begin(loop: str) -> None:
    """Start the second process, or wait while it compiles a loop, and take that from the disk then."""
    Loop.second = Loop.second or _second(loop)
    with contextlib.suppress(ValueError):  # `select` takes a thousand files
        while Loop.second and (Loop.theirs == loop or select.select([Loop.second], [], [], 0)[0]):
            Loop.theirs = Loop.second.readline().decode().strip()
            if not Loop.theirs:  # it has ended
                Loop.second, Loop.route = None, ""


def _second(loop: str) -> IO[bytes] | None:
    """Start a process that compiles what comes after a loop on the route, if that is of use; what it says."""
    from subprocess import DEVNULL, PIPE, Popen

    processors = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    # Python may be a part of another program; and on Windows `select` is for sockets alone.
    python = os.name == "posix" and (sys.executable or "").rpartition("/")[2].startswith("python")
    if not (python and Loop.route and len(processors) > 1) or os.environ.get(ALONE):
        return None
    command = [sys.executable, "-P", "-m", SECOND, Loop.route, loop]
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with contextlib.suppress(OSError):
        process = Popen(command, 0, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=os.environ | path)  # noqa: S603
        atexit.register(process.wait)
        atexit.register(process.kill)  # which comes first
        return process.stdout
    return None


def _elements(some: Any) -> int:
    """Count the elements of an array, or of the arrays in a tuple."""
    return some.size if isinstance(some, np.ndarray) else sum(map(_elements, some)) if isinstance(some, tuple) else 0


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
    return {name for name in named & sys.modules.keys() if {"njit", "brief", "nested"} & vars(sys.modules[name]).keys()}
