"""Helpers that split and merge lists by masks and by counts.

A mask has a boolean for each item: which arguments are differentiated, mapped or static.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")

Mask = tuple[bool, ...]


def active(items: Iterable[T], mask: Iterable[bool]) -> list[T]:
    """The items where the mask is true."""
    return [x for x, m in zip(items, mask, strict=True) if m]


def inactive(items: Iterable[T], mask: Iterable[bool]) -> list[T]:
    """The items where the mask is false."""
    return [x for x, m in zip(items, mask, strict=True) if not m]


def partition_list(items: Sequence[T], mask: Sequence[bool]) -> tuple[list[T], list[T]]:
    """The items where the mask is true, and those where it is false.

    Example:
      >>> partition_list(["x", 1, "y"], [True, False, True])
      (['x', 'y'], [1])
    """
    return active(items, mask), inactive(items, mask)


def merge_lists(chosen: Iterable[T], others: Iterable[S], mask: Iterable[bool]) -> list[T | S]:
    """The items of two lists in their positions: the inverse of `partition_list`.

    Example:
      >>> merge_lists(["x", "y"], [1], [True, False, True])
      ['x', 1, 'y']
    """
    first, second = iter(chosen), iter(others)
    return [next(first) if m else next(second) for m in mask]


def scatter_list(items: Iterable[T], mask: Iterable[bool]) -> list[T | None]:
    """The items in the positions where the mask is true, and `None` in the others.

    Example:
      >>> scatter_list(["x", "y"], [True, False, True])
      ['x', None, 'y']
    """
    remaining = iter(items)
    return [next(remaining) if m else None for m in mask]


def fill_list(items: Sequence[T | None], values: Iterable[T]) -> list[T]:
    """The items, with each `None` replaced by the next value.

    Example:
      >>> fill_list(["x", None, "y", None], ["a", "b"])
      ['x', 'a', 'y', 'b']
    """
    remaining = iter(values)
    return [next(remaining) if x is None else x for x in items]


def groups_of(items: Sequence[T], *counts: int) -> list[list[T]]:
    """The items in groups of these sizes, and a last group of the remaining items.

    Example:
      >>> groups_of([1, 2, 3, 4, 5], 2, 1)
      [[1, 2], [3], [4, 5]]
    """
    groups, start = [], 0
    for count in counts:
        groups.append(list(items[start : start + count]))
        start += count
    return [*groups, list(items[start:])]
