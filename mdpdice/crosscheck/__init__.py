"""Several solvers on one problem, compared."""
