"""debug_pipeline: a decorator that prints examples of a generator function as they pass."""

import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any

from .. import option_checks

__all__ = ["debug_pipeline"]


def debug_pipeline(
    f: Callable[..., Iterator[Any]],
    debug: bool = False,
    method: str = "pow",
    log_prefix: str | None = None,
) -> Callable[..., Iterator[Any]]:
    """A decorator that logs the examples of a generator function.

    Args:
      f: a function that returns an iterator.
      debug: whether to log examples; if False, the result is `f`.
      method: "pow" logs the examples whose number is a power of two, "every" all of them; numbers
        start at 1.
      log_prefix: the prefix of each line; None is the function's name.
    Returns: a function with the same arguments and examples.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> def numbers():
      ...     yield from range(5)
      >>> list(debug_pipeline(numbers, debug=True)())
      [0, 1, 2, 3, 4]
    Source: Trax documentation, `data.debug_data_pipeline.debug_pipeline`.
    """
    name = "debug_pipeline"
    option_checks.function(name, "f", f, "that gives an iterator")
    option_checks.choice(name, "method", method, ("pow", "every"))
    if not option_checks.flag(name, "debug", debug):
        return f
    prefix = getattr(f, "__name__", name) if log_prefix is None else log_prefix

    @functools.wraps(f)
    def logged(*args: Any, **options: Any) -> Iterator[Any]:
        for number, example in enumerate(f(*args, **options), 1):
            if method == "every" or number & (number - 1) == 0:
                logging.getLogger(__name__).info("%s: example %d: %s", prefix, number, example)
            yield example

    return logged
