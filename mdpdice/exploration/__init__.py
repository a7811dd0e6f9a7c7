"""From a declared game to a network or a lattice."""
