"""Collectives: operations between the elements of a mapped axis, or between devices."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Collective(NamedTuple):
    """`primitive.collective` of an operation in which the elements of an axis take part together.

    Its parameter `axes` names the axes. `vmap` of an axis that is among them calls `rule` in the
    place of the batch rule.

    Attributes:
      rule: called as (args, batched, axis, **params), with the `Axis`; returns the outputs as a
        batch rule does. It is called though no argument be batched. `None` of an operation that
        names no axes: XLA moves parts of its arrays between any devices.
      communicates: the devices of a mesh have to come to the operation together.
      equal_results: all elements that take part get the same results.
      resolve: of an operation that asks which values vary along an axis; called as (args, varies,
        axis, **params), it returns the outputs where that is known.
    """

    rule: Callable[..., Any] | None = None
    communicates: bool = True
    equal_results: bool = False
    resolve: Callable[..., Any] | None = None
