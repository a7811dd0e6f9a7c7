"""Compiled loops of the verifiers, which share none with the rest of the library."""
