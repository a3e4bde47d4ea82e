"""Rotations of space: Rotation, which stores quaternions. The formulas are in `quaternions`."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ....core.array import Array
from ....core.source import located
from ....errors import ShapeError
from ....numpy.axes import strict_int
from ....numpy.creation import asarray, dtype_argument, from_numpy, ones
from ....numpy.joining import concatenate as joined
from ....numpy.promotion import promote_values, value
from ....numpy.shapes import broadcast_to
from ....random.normal import normal
from ....tree_registration import register_pytree_node_class
from ....typing import ArrayLike, DTypeLike
from . import quaternions as q

__all__ = ["Rotation"]


def numbers(name: str, argument: str, x: Any, trailing_shape: tuple[int, ...]) -> Any:
    """An inexact value whose last axes must be `trailing_shape`; converts lists."""
    array = asarray(x) if isinstance(x, (list, tuple)) else value(name, x, argument)
    (result,) = promote_values(name, array, to_inexact=True)
    if result.shape[max(result.ndim - len(trailing_shape), 0) :] != trailing_shape:
        raise ShapeError(
            f"{name}: {argument} must have the last axes {list(trailing_shape)}; got {result.aval}"
        )
    return result


def axes_of(name: str, seq: Any, counts: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """(axes as numbers, True for axes of the rotated body) from letters."""
    letters = seq if isinstance(seq, str) else ""
    intrinsic = letters.isupper()
    valid = all(c in ("XYZ" if intrinsic else "xyz") for c in letters)
    neighbours = any(a == b for a, b in pairwise(letters))
    if len(letters) not in counts or not valid or neighbours:
        raise ValueError(
            f"{name}: seq must be {' or '.join(map(str, counts))} letters of 'xyz' (fixed axes) "
            f"or 'XYZ' (axes of the rotated body), with different neighbours; got {seq!r}"
        )
    return tuple(["xyz".index(c) for c in letters.lower()]), intrinsic


def in_radians(x: Any, degrees: bool) -> Any:
    """Angles converted to radians if `degrees` is set."""
    return x * (math.pi / 180) if degrees else x


def in_degrees(x: Any, degrees: bool) -> Any:
    """Radians, converted to degrees if `degrees` is set."""
    return x * (180 / math.pi) if degrees else x


@register_pytree_node_class
class Rotation:
    """A rotation in space, or an array of rotations; a pytree of one array.

    Args:
      quat: quaternions [..., 4] of length 1, scalar last; `from_quat` normalizes others.
    Example:
      >>> from weft.scipy.spatial.transform import Rotation
      >>> turn = Rotation.from_euler("z", 90, degrees=True)
      >>> (turn * turn).apply(np.array([1.0, 0.0, 0.0])).round(4)
      Array([-1.,  0.,  0.], dtype=float32)
    Source: scipy.spatial.transform.Rotation.
    """

    __slots__ = ("quat",)

    quat: Any

    def __init__(self, quat: ArrayLike) -> None:
        self.quat = numbers("Rotation", "quat", quat, (4,))

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        """The quaternions, for `weft.tree_util`."""
        return (self.quat,), None

    @classmethod
    def tree_unflatten(cls, data: None, children: tuple[Any]) -> "Rotation":
        """The rotation with the leaf that a transformation returns."""
        rotation = object.__new__(cls)
        rotation.quat = children[0]
        return rotation

    # --- from other forms ---

    @classmethod
    @located
    def from_quat(cls, quat: ArrayLike, scalar_first: bool = False) -> "Rotation":
        """Rotations from quaternions [..., 4] of any length; length 0 gives NaN."""
        x = q.normalized(numbers("Rotation.from_quat", "quat", quat, (4,)))
        return cls(joined([x[..., 1:], x[..., :1]], -1) if scalar_first else x)

    @classmethod
    @located
    def from_matrix(cls, matrix: ArrayLike) -> "Rotation":
        """Rotations from orthogonal matrices [..., 3, 3] with determinant 1. Matrices whose
        determinant is not positive, such as reflections, give NaN."""
        return cls(q.from_matrix(numbers("Rotation.from_matrix", "matrix", matrix, (3, 3))))

    @classmethod
    @located
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> "Rotation":
        """Rotations from rotation vectors [..., 3]: along the axis, with the angle as length."""
        vector = numbers("Rotation.from_rotvec", "rotvec", rotvec, (3,))
        return cls(q.from_vector(in_radians(vector, degrees)))

    @classmethod
    @located
    def from_mrp(cls, mrp: ArrayLike) -> "Rotation":
        """Rotations from modified Rodrigues parameters [..., 3]: the axis times tan(angle / 4)."""
        return cls(q.from_mrp(numbers("Rotation.from_mrp", "mrp", mrp, (3,))))

    @classmethod
    @located
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> "Rotation":
        """Rotations from Euler angles: successive rotations about axes.

        Args:
          seq: one to three letters: 'xyz' for fixed axes, 'XYZ' for axes of the rotated body.
          angles: [..., n] for n letters; for one letter, also a number.
          degrees: whether the angles are in degrees.
        """
        name = "Rotation.from_euler"
        axes, intrinsic = axes_of(name, seq, (1, 2, 3))
        radians = numbers(name, "angles", angles, ())
        if len(axes) == 1 and not radians.ndim:
            radians = radians[..., None]
        if not radians.ndim or radians.shape[-1] != len(axes):
            raise ShapeError(
                f"{name}: angles must have a last axis of length {len(axes)} for {seq!r}; got "
                f"{radians.aval}"
            )
        return cls(q.from_angles(in_radians(radians, degrees), axes=axes, intrinsic=intrinsic))

    @classmethod
    @located
    def identity(cls, num: int | None = None, dtype: DTypeLike = float) -> "Rotation":
        """The identity rotation, or an array of `num` identity rotations."""
        one = np.array([0.0, 0.0, 0.0, 1.0], dtype_argument("Rotation.identity", dtype))
        if num is not None:
            one = np.tile(one, (strict_int("Rotation.identity", num, "num"), 1))
        return cls(from_numpy(one))

    @classmethod
    @located
    def random(cls, random_key: ArrayLike, num: int | None = None) -> "Rotation":
        """A uniformly distributed random rotation, or an array of `num` such rotations."""
        batch_shape = () if num is None else (strict_int("Rotation.random", num, "num"),)
        return cls(q.normalized(normal(random_key, (*batch_shape, 4))))

    @classmethod
    @located
    def concatenate(cls, rotations: Sequence["Rotation"]) -> "Rotation":
        """An array of all rotations of a sequence."""
        lines = [r.quat.reshape(-1, 4) for r in rotations]
        if not lines:
            raise ShapeError("Rotation.concatenate: expected at least one rotation; got none")
        return cls(joined(lines, 0))

    # --- to other forms ---

    @located
    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Quaternions [..., 4]; `canonical` selects the one with w > 0 (where w = 0, the first
        nonzero element is positive).
        """
        x = q.canonical(self.quat) if canonical else self.quat
        return joined([x[..., 3:], x[..., :3]], -1) if scalar_first else x

    @located
    def as_matrix(self) -> Array:
        """Rotation matrices [..., 3, 3]."""
        return q.to_matrix(self.quat)

    @located
    def as_rotvec(self, degrees: bool = False) -> Array:
        """Rotation vectors [..., 3]: along the axis, with the angle as length."""
        return in_degrees(q.to_vector(self.quat), degrees)

    @located
    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters [..., 3]: the axis times tan(angle / 4)."""
        return q.to_mrp(self.quat)

    @located
    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Three Euler angles [..., 3], as `from_euler` takes them. In gimbal lock, where the first
        and last axis coincide, the last angle is 0.
        """
        axes, intrinsic = axes_of("Rotation.as_euler", seq, (3,))
        return in_degrees(q.to_angles(self.quat, axes=axes, intrinsic=intrinsic), degrees)

    # --- operations ---

    @located
    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Rotates vectors [..., 3], or rotates them back; rotations and vectors broadcast."""
        v = numbers("Rotation.apply", "vectors", vectors, (3,))
        return q.rotate_vectors(q.conjugate(self.quat) if inverse else self.quat, v)

    def inv(self) -> "Rotation":
        """The inverse rotation."""
        return Rotation(q.conjugate(self.quat))

    @located
    def magnitude(self) -> Array:
        """The rotation angles, from 0 to π."""
        return q.angle_of(self.quat)

    @located
    def mean(self, weights: ArrayLike | None = None) -> "Rotation":
        """The mean rotation, which minimizes the mean squared distance of the matrices.

        Args:
          weights: one for each rotation, not negative; all are 1 by default.
        Raises: ShapeError: a wrong number of weights. ValueError: a negative one, outside of `jit`.
        """
        quat = self.quat.reshape(-1, 4)
        if weights is None:
            return Rotation(q.mean(quat, ones(quat.shape[0], quat.dtype)))
        weight_values = numbers("Rotation.mean", "weights", weights, ()).reshape(-1)
        if weight_values.shape[0] != quat.shape[0]:
            raise ShapeError(
                f"Rotation.mean: expected {quat.shape[0]} weights, one for each rotation; got "
                f"{weight_values.aval}"
            )
        concrete = weight_values.concrete()
        if concrete is not None and (np.asarray(concrete) < 0).any():
            raise ValueError(
                f"Rotation.mean: weights must not be negative; got {np.asarray(concrete)!s:.200}"
            )
        return Rotation(q.mean(quat, weight_values.astype(quat.dtype)))

    @located
    def __mul__(self, other: "Rotation") -> "Rotation":
        """The composition: rotation `other`, followed by this one."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(q.product(*_broadcast_quaternions(self.quat, other.quat)))

    @located
    def __pow__(self, n: float | Array) -> "Rotation":
        """The rotation about the same axis by n times the angle."""
        return Rotation(q.from_vector(q.to_vector(self.quat) * n))

    @located
    def __getitem__(self, indexer: Any) -> "Rotation":
        """The rotations at an index."""
        if self.single:
            raise TypeError("Rotation: a single rotation has no elements")
        return Rotation(self.quat[indexer])

    def __len__(self) -> int:
        """The number of rotations; TypeError for a single one."""
        if self.single:
            raise TypeError("Rotation: a single rotation has no len()")
        return int(self.quat.shape[0])

    def __bool__(self) -> bool:
        """True, even for an array without rotations."""
        return True

    def __iter__(self) -> Iterator["Rotation"]:
        """Iterates over the rotations."""
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Rotation(quat={self.quat!r})"

    @property
    def single(self) -> bool:
        """True for a single rotation, False for an array of rotations."""
        return bool(self.quat.ndim == 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of rotations."""
        return tuple(self.quat.shape[:-1])


def _broadcast_quaternions(x: Any, y: Any) -> tuple[Any, Any]:
    """Two arrays of quaternions, broadcast to one shape and dtype."""
    x, y = promote_values("Rotation", x, y)
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise ShapeError(
            f"Rotation: {x.shape[:-1]} and {y.shape[:-1]} rotations don't broadcast"
        ) from None
    return broadcast_to(x, shape), broadcast_to(y, shape)
