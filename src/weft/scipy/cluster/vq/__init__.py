"""Vector quantisation, with SciPy's names."""

from ....lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "vq": "vq",
    },
)
