"""Images: resizing, scaling and moving them."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "resizing": "ResizeMethod resize scale_and_translate",
    },
)
