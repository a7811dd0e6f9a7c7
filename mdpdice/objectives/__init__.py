"""What counts, and its reduction to the canonical problem that solvers solve."""
