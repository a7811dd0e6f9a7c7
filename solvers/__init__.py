"""The back-ends that come with mdpdice, imported as `mdpdice.solvers`."""
