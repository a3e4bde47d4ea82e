"""Decompositions in plain operations, for devices without a library of solvers."""
