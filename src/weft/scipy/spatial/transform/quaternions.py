"""Quaternions [..., 4], scalar last, of rotations: products, and conversions to and from other
forms.

Every function is differentiable wherever its result is smooth, also at the identity.
"""

import math
from typing import Any

from ....lax.linalg import eigh
from ....numpy.arithmetic import absolute, sign, sqrt
from ....numpy.joining import concatenate, stack
from ....numpy.plans import composite
from ....numpy.products import cross
from ....numpy.reductions import argmax
from ....numpy.selection import where
from ....numpy.taking import take_along_axis
from ....numpy.trigonometric import arctan2, cos, sin

SERIES_MAX_SQUARE = 1e-6
"""Squares of angles below which series are used; the first omitted term is below rounding."""


def stack_last(*xs: Any) -> Any:
    """Stacks numbers along a new last axis."""
    return stack(xs, -1)


def square_length(x: Any) -> Any:
    """The squared length, with a last axis of length one."""
    return (x * x).sum(-1, keepdims=True)


@composite
def normalized(q: Any) -> Any:
    """Quaternions of length 1; NaN for zero."""
    return q / sqrt(square_length(q))


@composite
def product(p: Any, q: Any) -> Any:
    """The product of quaternions: rotation q, followed by p."""
    u, v, a, b = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    vector = a * v + b * u + cross(u, v)
    return concatenate([vector, a * b - (u * v).sum(-1, keepdims=True)], -1)


def conjugate(q: Any) -> Any:
    """The inverse rotation."""
    return concatenate([-q[..., :3], q[..., 3:]], -1)


@composite
def rotate_vectors(q: Any, v: Any) -> Any:
    """Rotates vectors."""
    u, w = q[..., :3], q[..., 3:]
    u, v = u + v * 0, v + u * 0
    u_cross_v = cross(u, v)
    return v + 2 * (w * u_cross_v + cross(u, u_cross_v))


@composite
def canonical(q: Any) -> Any:
    """The canonical quaternion of a rotation: w > 0, or w = 0 and the first nonzero element is
    positive."""
    x, y, z, w = (q[..., i : i + 1] for i in range(4))
    first_nonzero = where(w != 0, w, where(x != 0, x, where(y != 0, y, z)))
    return where(first_nonzero < 0, -q, q)


# --- vectors ---


@composite
def from_vector(v: Any) -> Any:
    """Quaternions from rotation vectors: along the axis, with the angle as length."""
    square = square_length(v)
    is_small = square < SERIES_MAX_SQUARE
    angle = sqrt(where(is_small, 1, square))
    scale = where(is_small, 0.5 - square / 48 + square**2 / 3840, sin(angle / 2) / angle)
    scalar_part = where(is_small, 1 - square / 8 + square**2 / 384, cos(angle / 2))
    return concatenate([v * scale, scalar_part], -1)


@composite
def to_vector(q: Any) -> Any:
    """Rotation vectors: along the axis; their length is the angle, from 0 to π."""
    q = canonical(q)
    u, w = q[..., :3], q[..., 3:]
    square = square_length(u)
    is_small = square < SERIES_MAX_SQUARE
    length = sqrt(where(is_small, 1, square))
    series = 2 + square / 3 + square**2 * (3 / 20)
    return u * where(is_small, series, 2 * arctan2(length, where(is_small, 1, w)) / length)


@composite
def angle_of(q: Any) -> Any:
    """The angle, from 0 to π."""
    square = (q[..., :3] ** 2).sum(-1)
    is_zero = square == 0
    length = where(is_zero, 0, sqrt(where(is_zero, 1, square)))
    return 2 * arctan2(length, absolute(q[..., 3]))


@composite
def from_mrp(p: Any) -> Any:
    """Quaternions from modified Rodrigues parameters: the axis times tan(angle / 4)."""
    square = square_length(p)
    return concatenate([2 * p, 1 - square], -1) / (1 + square)


@composite
def to_mrp(q: Any) -> Any:
    """Modified Rodrigues parameters, of length 1 or less."""
    q = where(q[..., 3:] < 0, -q, q)
    return q[..., :3] / (1 + q[..., 3:])


# --- matrices ---


@composite
def to_matrix(q: Any) -> Any:
    """Rotation matrices [..., 3, 3]."""
    x, y, z, w = (q[..., i] for i in range(4))
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w],
    ]
    return stack([stack_last(*row) for row in rows], -2)


@composite
def from_matrix(m: Any) -> Any:
    """Quaternions from orthogonal matrices [..., 3, 3]; NaN where the determinant is not positive.

    Each of four formulas gives a multiple of the quaternion; the formula of the largest element is
    used.
    Source: S. W. Shepperd, "Quaternion from rotation matrix", Journal of Guidance and Control 1
    (1978).
    """
    (a, b, c), (d, e, f), (g, h, i) = (
        tuple(m[..., row, column] for column in range(3)) for row in range(3)
    )
    trace = a + e + i
    choices = stack(
        [
            stack_last(1 - trace + 2 * a, b + d, c + g, h - f),
            stack_last(b + d, 1 - trace + 2 * e, f + h, c - g),
            stack_last(c + g, f + h, 1 - trace + 2 * i, d - b),
            stack_last(h - f, c - g, d - b, 1 + trace),
        ],
        -2,
    )
    largest = argmax(stack_last(a, e, i, trace), -1)[..., None, None]
    quat = normalized(take_along_axis(choices, largest, -2)[..., 0, :])
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return where((determinant > 0)[..., None], quat, math.nan)


@composite
def mean(q: Any, weights: Any) -> Any:
    """The mean rotation [4] of [n, 4], which minimizes the mean squared distance of the matrices.

    Source: F. L. Markley et al., "Averaging quaternions", Journal of Guidance, Control, and
    Dynamics 30 (2007): the vector of the largest eigenvalue of Σ w q qᵀ.
    """
    matrix = (weights[:, None, None] * q[:, :, None] * q[:, None, :]).sum(0)
    vectors, _ = eigh(matrix)
    return vectors[:, -1]


# --- Euler angles ---


def axis_rotation(axis: int, angle: Any) -> Any:
    """Rotations about a fixed axis."""
    zero = angle * 0
    elements = [zero, zero, zero, cos(angle / 2)]
    elements[axis] = sin(angle / 2)
    return stack_last(*elements)


@composite
def from_angles(angles: Any, *, axes: tuple[int, ...], intrinsic: bool) -> Any:
    """Quaternions from successive rotations about fixed axes, or about axes of the rotated body."""
    q = axis_rotation(axes[0], angles[..., 0])
    for position, axis in enumerate(axes[1:], 1):
        factor = axis_rotation(axis, angles[..., position])
        q = product(q, factor) if intrinsic else product(factor, q)
    return q


@composite
def to_angles(q: Any, *, axes: tuple[int, ...], intrinsic: bool) -> Any:
    """Three Euler angles about fixed axes, or about axes of the rotated body.

    In gimbal lock, where two axes coincide, the last angle is 0.

    Source: E. Bernardes, S. Viollet, "Quaternion to Euler angles conversion: a direct, general and
    computationally efficient method", PLoS ONE 17 (2022).
    """
    i, j, k = axes[::-1] if intrinsic else axes
    is_proper = i == k
    if is_proper:
        k = 3 - i - j
    parity = (i - j) * (j - k) * (k - i) // 2
    x, y, z, w = q[..., i], q[..., j], q[..., k] * parity, q[..., 3]
    a, b, c, d = (w, x, y, z) if is_proper else (w - y, x + z, y + w, z - x)
    upper, lower = c * c + d * d, a * a + b * b
    tolerance = 1e-14 if q.dtype.itemsize == 8 else 1e-12
    at_zero, at_pi = upper <= tolerance * lower, lower <= tolerance * upper
    is_singular = at_zero | at_pi
    middle_angle = 2 * arctan2(_root(upper), _root(lower))
    total = arctan2(where(at_pi, 0, b), where(at_pi, 1, a))
    difference = arctan2(where(at_zero, 0, d), where(at_zero, 1, c))
    one, other = total - difference, total + difference
    first_angle, third_angle = (other, one) if intrinsic else (one, other)
    flip = 1 if intrinsic else -1
    first_angle = where(at_zero, 2 * total, where(at_pi, flip * 2 * difference, first_angle))
    third_angle = where(is_singular, 0, third_angle)
    if not is_proper:
        middle_angle = middle_angle - math.pi / 2
        if intrinsic:
            first_angle = first_angle * parity
        else:
            third_angle = third_angle * parity
    return stack_last(_wrapped(first_angle), _wrapped(middle_angle), _wrapped(third_angle))


def _root(square: Any) -> Any:
    """The square root, with a derivative of 0 at 0."""
    is_zero = square == 0
    return where(is_zero, 0, sqrt(where(is_zero, 1, square)))


def _wrapped(angle: Any) -> Any:
    """The equivalent angle between -π and π."""
    return where(absolute(angle) > math.pi, angle - sign(angle) * (2 * math.pi), angle)
