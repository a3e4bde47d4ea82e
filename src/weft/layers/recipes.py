"""Recipes: a layer remembers the call that made it, so that `in_mode` can make it again.

Classes need no change: Made stores a Recipe of each object, with its class and arguments.
takes_mode decorates a function that makes a layer.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self, TypeVar

__all__ = ["takes_mode"]

Make = TypeVar("Make", bound=Callable[..., Any])


class Recipe(NamedTuple):
    """A call that made a layer: the class or function, and its arguments."""

    make: Callable[..., Any]
    positional: tuple[Any, ...]
    keyword: Mapping[str, Any]

    def arguments(self) -> dict[str, Any] | None:
        """The arguments by name, with defaults; `*names` become a tuple and `**names` a dict. None
        if the class hides them with its own `__new__`."""
        try:
            bound = inspect.signature(self.make).bind(*self.positional, **self.keyword)
        except (TypeError, ValueError):
            return None
        bound.apply_defaults()
        return bound.arguments

    def mode(self) -> Any:
        """The argument `mode`; None if there is none."""
        return self.keyword.get("mode", (self.arguments() or {}).get("mode"))

    def again(self, mode: str | None, replaced: Callable[[Any], Any]) -> Any:
        """Makes another layer.

        Args:
          mode: its mode; None for the original mode.
          replaced: a function applied to each argument.
        """
        signature = inspect.signature(self.make)
        bound = signature.bind(*self.positional, **self.keyword)
        if mode is not None and "mode" in signature.parameters:
            bound.arguments["mode"] = mode
        elif mode is not None:  # one of `**keywords`
            bound = signature.bind(*self.positional, **{**self.keyword, "mode": mode})
        for name, value in bound.arguments.items():
            bound.arguments[name] = replaced(value)
        return self.make(*bound.args, **bound.kwargs)


class Made:
    """An object with a recipe: its class, and the arguments with which the class was called."""

    def __new__(cls, *positional: Any, **keyword: Any) -> Self:
        made = super().__new__(cls)
        made.__dict__["_recipe"] = Recipe(cls, positional, keyword)
        return made


def takes_mode(make: Make) -> Make:
    """A decorator for a function with a parameter `mode` that makes a layer.

    `in_mode` calls the function again for another mode. It is needed if the mode changes which
    layers are built, or the mode of a part. A function that only passes `mode` on does not need it.

    Args:
      make: the function; it makes new layers at each call.
    Returns: the function; its layers remember the call.
    Example:
      >>> from weft import layers as tl
      >>> @tl.takes_mode
      ... def Encoder(n_units, mode="train"):
      ...     layer = tl.Dense(n_units)
      ...     return tl.Cache(layer) if mode == "predict" else layer
      >>> tl.in_mode(Encoder(3), "predict")
      Cache[
        Dense_3
      ]
    """

    @functools.wraps(make)
    def remembered(*positional: Any, **keyword: Any) -> Any:
        layer = make(*positional, **keyword)
        layer.__dict__["_recipe"] = Recipe(remembered, positional, keyword)
        return layer

    return remembered  # type: ignore[return-value]
