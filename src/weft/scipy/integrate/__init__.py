"""Integrals of samples, with SciPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "..numpy.calculus": "trapezoid",
        "quadrature": "cumulative_trapezoid simpson",
    },
)
