"""The page needs nothing but what is in its folder."""

from importlib import resources


def test_the_files_of_the_page_are_installed() -> None:
    assert resources.files("mdpdice.web").joinpath("static").is_dir()
