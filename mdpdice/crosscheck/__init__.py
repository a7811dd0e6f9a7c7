"""Several back-ends on one problem, compared."""
