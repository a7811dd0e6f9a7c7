"""How much memory there is, and how much this process holds."""

from __future__ import annotations

import os
from pathlib import Path

# A container's memory limit is here: version 2 of the interface, then version 1.
_CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN = 4 << 30


def available_bytes() -> int:
    """Memory that this process may still take: of the machine, its container and its own limit."""
    held = used_bytes()
    limits = [int(text) - held for path in _CONTAINER if (text := _read(path)).strip().isdigit()]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") - held)
    try:
        import resource

        # The first of these limits counts what is reserved, too, and the second one no files.
        for kind, field in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
            soft, _ = resource.getrlimit(kind)
            if soft != resource.RLIM_INFINITY:
                limits.append(soft - _statm(field))
    except ImportError:  # not on Windows
        pass
    return max(0, min(limits, default=_UNKNOWN))


def used_bytes() -> int:
    """Memory that this process holds now; 0 where the system does not tell."""
    return _statm(1)


def _statm(field: int) -> int:
    text = _read("/proc/self/statm").split()
    return int(text[field]) * os.sysconf("SC_PAGE_SIZE") if text else 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""
