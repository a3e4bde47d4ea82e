"""Functions to resize, scale and move images."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "resize": "ResizeMethod resize scale_and_translate",
    },
)
