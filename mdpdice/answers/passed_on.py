"""Properties that are those of a part."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

T = TypeVar("T")


class PassedOn(property, Generic[T]):
    """A property that hands on what a part says: ``PassedOn[str]("provenance.solver", "Who proposed the answer.")``."""

    def __init__(self, path: str, about: str) -> None:
        super().__init__(attrgetter(path), doc=about)

    if TYPE_CHECKING:

        def __get__(self, owner: Any, kind: type | None = None, /) -> T: ...  # type: ignore[override]  # of objects only
