"""Decompositions of matrices and solvers: a family a file."""
