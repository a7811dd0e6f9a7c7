"""The package of the page."""

import mdpdice.web


def test_it_says_what_it_is() -> None:
    assert "browser" in (mdpdice.web.__doc__ or "")
