"""`solve`: choose a route, run a back-end, certify, answer; checkpoints, time limits, Ctrl-C."""
