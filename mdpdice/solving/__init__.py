"""`solve`: choose a route, run a solver, certify, answer; checkpoints, time limits, Ctrl-C."""
