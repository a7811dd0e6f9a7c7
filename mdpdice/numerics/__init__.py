"""Numerical building blocks: graph analysis, linear systems and compiled kernels."""
