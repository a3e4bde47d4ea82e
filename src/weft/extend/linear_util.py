"""WrappedFun and wrap_init: functions as objects, for libraries that use them."""

from collections.abc import Callable
from typing import Any

__all__ = ["WrappedFun", "wrap_init"]


class WrappedFun:
    """A function, with parameters for each call.

    Attributes:
      f: the function.
      params: keyword arguments.
    Example:
      >>> from weft.extend import linear_util
      >>> scaled = linear_util.WrappedFun(lambda x, factor: factor * x, {"factor": 3})
      >>> scaled.call_wrapped(2)
      6
    """

    __slots__ = ("f", "params")

    def __init__(self, f: Callable[..., Any], params: dict[str, Any]) -> None:
        self.f, self.params = f, params

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed wrapped function>")

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function with these arguments and with `params`.

        Args:
          args, kwargs: further arguments of the function.
        Returns: the function's result.
        """
        return self.f(*args, **self.params, **kwargs)

    def __repr__(self) -> str:
        return f"WrappedFun({self.__name__})"


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """A function as a `WrappedFun`.

    Args:
      f: the function.
      params: keyword arguments for each call.
      debug_info: has no effect.
    Returns: the `WrappedFun`.
    Example:
      >>> from weft.extend import linear_util
      >>> linear_util.wrap_init(lambda x, y: x + y, {"y": 2}).call_wrapped(1)
      3
    Source: JAX documentation, `jax.extend.linear_util.wrap_init`.
    """
    return WrappedFun(f, dict(params or {}))
