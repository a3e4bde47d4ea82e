"""safe_map, safe_zip, split_list, unzip2: functions of lists for interpreters."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from .core.source import located

__all__ = ["safe_map", "safe_zip", "split_list", "unzip2"]

T = TypeVar("T")


@located
def safe_map(f: Callable[..., T], *args: Iterable[object]) -> list[T]:
    """The list of results of a function for the items of several lists of one length.

    Raises: ValueError: the lengths differ.
    Example:
      >>> from weft.util import safe_map
      >>> safe_map(lambda x, y: x + y, [1, 2], [10, 20])
      [11, 22]
    Source: JAX's source, `jax.util.safe_map`: its name and meaning.
    """
    return [f(*items) for items in rows("safe_map", args)]


@located
def safe_zip(*args: Iterable[object]) -> list[tuple[Any, ...]]:
    """The list of tuples of corresponding items of lists of one length.

    Raises: ValueError: the lengths differ.
    Example:
      >>> from weft.util import safe_zip
      >>> safe_zip([1, 2], "ab")
      [(1, 'a'), (2, 'b')]
    Source: JAX's source, `jax.util.safe_zip`: its name and meaning.
    """
    return rows("safe_zip", args)


def rows(operation: str, args: Sequence[Iterable[Any]]) -> list[tuple[Any, ...]]:
    """The tuples of corresponding items of several lists; raises an error for different lengths."""
    columns = [list(a) for a in args]
    lengths = [len(c) for c in columns]
    if not columns or len(set(lengths)) > 1:
        raise ValueError(f"{operation}: expected lists of one length; got lengths {lengths}")
    return list(zip(*columns, strict=True))


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The first items of pairs, and the second ones.

    Example:
      >>> from weft.util import unzip2
      >>> unzip2([(1, "a"), (2, "b")])
      ((1, 2), ('a', 'b'))
    """
    items = list(pairs)
    return tuple([a for a, _ in items]), tuple([b for _, b in items])


@located
def split_list(args: Sequence[T], ns: Sequence[int]) -> list[list[T]]:
    """Splits a list into parts of these lengths, and the remainder.

    Raises: ValueError: the list is shorter.
    Example:
      >>> from weft.util import split_list
      >>> split_list([1, 2, 3, 4], [1, 2])
      [[1], [2, 3], [4]]
    """
    if min(ns, default=0) < 0 or sum(ns) > len(args):
        raise ValueError(f"split_list: {len(args)} items can't be split into parts of {list(ns)}")
    parts, remaining = [], list(args)
    for n in ns:
        parts.append(remaining[:n])
        remaining = remaining[n:]
    return [*parts, remaining]
