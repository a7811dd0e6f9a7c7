"""Play in the browser: one page for any declared game, as a file or from a server."""
