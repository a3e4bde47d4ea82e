"""Spherical interpolation between rotations at given times: Slerp."""

from typing import Any

import numpy as np

from ....core.source import located
from ....errors import ShapeError
from ....numpy.calculus import diff
from ....numpy.extrema import clip
from ....numpy.sorting import searchsorted
from ....tree_registration import register_pytree_node_class
from ....typing import ArrayLike
from . import quaternions as q
from .rotation import Rotation, numbers

__all__ = ["Slerp"]


@register_pytree_node_class
class Slerp:
    """Spherical linear interpolation of rotations, with a constant axis and speed in each interval.

    A pytree of the times and the rotations.

    Args:
      times: array [n], increasing, n at least 2.
      rotations: n rotations.
    Raises: ShapeError: different numbers of times, or times that do not increase.
    Example:
      >>> from weft.scipy.spatial.transform import Rotation, Slerp
      >>> turns = Rotation.from_euler("z", np.array([[0.0], [90.0]]), degrees=True)
      >>> between = Slerp(np.array([0.0, 1.0]), turns)
      >>> between(0.5).as_euler("zyx", degrees=True).round(3)
      Array([45.,  0.,  0.], dtype=float32)
    Source: scipy.spatial.transform.Slerp.
    """

    __slots__ = ("rotations", "rotvecs", "timedelta", "times")

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @located
    def __init__(self, times: ArrayLike, rotations: Rotation) -> None:
        if not isinstance(rotations, Rotation):
            raise TypeError(f"Slerp: rotations must be a Rotation; got {type(rotations).__name__}")
        moments = numbers("Slerp", "times", times, ())
        if rotations.single or len(rotations) < 2 or rotations.quat.ndim != 2:
            raise ShapeError(f"Slerp: expected at least 2 rotations in a row; got {rotations}")
        if moments.shape != (len(rotations),):
            raise ShapeError(
                f"Slerp: expected a time for each of {len(rotations)} rotations; got {moments.aval}"
            )
        concrete = moments.concrete()
        if concrete is not None and not (np.diff(np.asarray(concrete)) > 0).all():
            raise ShapeError("Slerp: times must rise strictly")
        quat = rotations.quat
        self.times = moments
        self.timedelta = diff(moments)
        self.rotations = rotations
        self.rotvecs = q.to_vector(q.product(q.conjugate(quat[:-1]), quat[1:]))

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> "Slerp":
        """The same as the constructor."""
        return cls(times, rotations)

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """The times, the rotations and the values derived from them, for `weft.tree_util`."""
        return (self.times, self.timedelta, self.rotations, self.rotvecs), None

    @classmethod
    def tree_unflatten(cls, data: None, children: tuple[Any, ...]) -> "Slerp":
        """The interpolation with the arrays that a transformation returns."""
        slerp = object.__new__(cls)
        slerp.times, slerp.timedelta, slerp.rotations, slerp.rotvecs = children
        return slerp

    @located
    def __call__(self, times: ArrayLike) -> Rotation:
        """The rotations at times of any shape.

        Raises: ValueError: a time is out of range. Compiled programs extrapolate from the first or
          last interval instead.
        """
        times_value = numbers("Slerp", "times", times, ())
        concrete, knots = times_value.concrete(), self.times.concrete()
        if concrete is not None and knots is not None:
            concrete, knots = np.asarray(concrete), np.asarray(knots)
            if (concrete < knots[0]).any() or (concrete > knots[-1]).any():
                raise ValueError(
                    f"Slerp: times must be from {knots[0]} to {knots[-1]}; got {concrete.min()} to "
                    f"{concrete.max()}"
                )
        interval = clip(searchsorted(self.times, times_value) - 1, 0, self.timedelta.shape[0] - 1)
        fraction = (times_value - self.times[interval]) / self.timedelta[interval]
        rotation = q.from_vector(self.rotvecs[interval] * fraction[..., None])
        return Rotation(q.product(self.rotations.quat[interval], rotation))
