"""Images: resizing, scaling and moving them."""

from typing import TYPE_CHECKING

from ..lazy import exports

if TYPE_CHECKING:
    from .resizing import ResizeMethod, resize, scale_and_translate

__all__ = [
    "ResizeMethod",
    "resize",
    "scale_and_translate",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "resizing": (
            "ResizeMethod",
            "resize",
            "scale_and_translate",
        ),
    },
)
