"""Matrix decompositions and solvers; each file has one family."""
