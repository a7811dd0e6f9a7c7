"""What compiled loops call becomes a part of them: it is optimised, and made machine code, with them only.

By itself numba does so with every function that another one calls, then with both, and so on outwards: code that is
four calls deep is optimised four times.  Parts have no machine code of their own, and none is kept on disk.
"""

from __future__ import annotations

import gc
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class Part(JITCodeLibrary):
    """Code that waits until it is linked into that of a caller."""

    def _optimize_functions(self, _module: Any) -> None: ...

    def _optimize_final_module(self) -> None: ...

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> Part:
        """Where numba puts what a function needs from Python once it has machine code."""
        return self

    def set_env(self, _name: str, _environment: object) -> None:
        """Nothing compiled here needs anything."""


class WholeCompiler(Compiler):
    """The compiler of numba, without searches for garbage meanwhile: these took a sixth of the time."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a function; only one thread at a time does."""
        enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(function)
        finally:
            if enabled:
                gc.enable()


class PartCompiler(WholeCompiler):
    """The same, but for what becomes of the code."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, library or Part(target.codegen(), "part"), *rest)
