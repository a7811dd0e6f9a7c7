"""The solvers that come with mdpdice, imported as `mdpdice.solvers`."""
