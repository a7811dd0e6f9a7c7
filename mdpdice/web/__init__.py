"""Play in the browser: one page for any declared game, as a file or from a server."""

from mdpdice.web.page import Page, write_page

__all__ = ["Page", "write_page"]
