"""Compiled loops over arrays; nothing here knows a class of the library."""
