"""Cases of the laws: one module a family, each with a list `CASES`."""
