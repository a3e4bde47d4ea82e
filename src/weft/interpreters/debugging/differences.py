"""quotients differentiates a function numerically, with an estimate of the error of each element.

Central differences at two steps, h and h/2, agree where a function is smooth. At a kink they do
not, or the one-sided differences disagree. There, and close to a jump or a NaN, the estimated error
is large, so that no derivative is compared.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes

Host = np.ndarray[Any, Any]
Function = Callable[[Sequence[Any]], list[Host | None]]
"""Maps arguments to outputs in float64 or complex128; `None` for outputs without a derivative."""

STEPS = {8: (1e-3, 1e-5, 3e-2), 4: (2.0**-6, 2.0**-9, 2.0**-4), 2: (2.0**-2, 2.0**-4)}
"""Steps relative to the arguments, by the bytes of a real number. The first suits nearly all
functions; the others suit functions with large higher derivatives, and functions that round
inside."""

CLOSE = 1e-3
"""Below this relative error, no other step is tried."""


class Quotient(NamedTuple):
    """A derivative in a direction, for each output (`None` for outputs without a derivative).

    Attributes:
      outs: the output itself.
      values: the derivative.
      errors: an estimate of its error; infinite where there is no estimate.
      stairs: the elements that change only at larger steps, because the function is a step function
        there.
      follows: whether the output was equal to an argument at all points.
    """

    outs: list[Any]
    values: list[Any]
    errors: list[Any]
    stairs: list[Any]
    follows: list[bool]


def numbers(x: object) -> Host:
    """An inexact array as float64 or complex128."""
    host = np.asarray(x)
    return host.astype(np.complex128 if dtypes.is_complex(host.dtype) else np.float64)


def quotients(
    function: Function, args: Sequence[Any], direction: Sequence[Any], steps: Sequence[float]
) -> Quotient:
    """The derivative of a function in a direction.

    Args:
      args: NumPy arrays, or other objects, which are held fixed.
      direction: an array for each argument that varies, and `None` for the others.
    """
    points: list[tuple[Sequence[Any], list[Any]]] = []

    def at(step: float) -> list[Any]:
        there = [
            x if t is None else (numbers(x) + step * t).astype(x.dtype)
            for x, t in zip(args, direction, strict=True)
        ]
        outs = function(there)
        points.append((there, outs))
        return outs

    middle = at(0.0)
    known = [i for i, m in enumerate(middle) if m is not None]
    blank: list[Any] = [None] * len(middle)
    values, errors, stairs = [*blank], [*blank], [*blank]
    moved: list[list[Host]] = [[] for _ in middle]
    for i in known:
        values[i], errors[i] = np.zeros_like(middle[i]), np.full(middle[i].shape, np.inf)
    for step in steps:
        samples = [at(step), at(-step), at(step / 2), at(-step / 2)]
        for i in known:
            with np.errstate(all="ignore"):
                value, error = extrapolated(middle[i], [s[i] for s in samples], step)
            better = error < errors[i]
            values[i] = np.where(better, value, values[i])
            errors[i] = np.where(better, error, errors[i])
            moved[i].append(np.any([s[i] != middle[i] for s in samples], axis=0))
        if all(is_known_well(values[i], errors[i]) and np.all(moved[i][-1]) for i in known):
            break
    by_size = np.argsort(steps[: len(moved[known[0]])] if known else [])
    follows = [False] * len(middle)
    for i in known:
        rising = [moved[i][n].astype(int) for n in by_size]
        stairs[i] = np.any(np.diff(rising, axis=0) > 0, axis=0)
        errors[i] = np.where(stairs[i], np.inf, errors[i])
        follows[i] = any(
            all(is_argument(there[n], outs[i]) for there, outs in points)
            for n, t in enumerate(direction)
            if t is not None
        )
    return Quotient(middle, values, errors, stairs, follows)


def extrapolated(middle: Host, samples: Sequence[Host], step: float) -> tuple[Host, Host]:
    """Richardson's extrapolation of the central differences at `step` and its half, and an
    estimate of the error."""
    high, low, high_near, low_near = samples
    far, near = (high - low) / (2 * step), (high_near - low_near) / step
    # the one-sided differences approach each other in proportion to the step, unless their limits
    # differ
    bend = np.abs(high - 2 * middle + low) / step
    bend_near = np.abs(high_near - 2 * middle + low_near) / (step / 2)
    error = np.maximum(np.abs(near - far), 2 * np.abs(bend_near - bend / 2))
    return (4 * near - far) / 3, np.where(np.isfinite(error), error, np.inf)


def is_known_well(value: Host, error: Host) -> bool:
    """True if all elements of a derivative are known accurately."""
    size = np.abs(value)
    return bool(np.all(error <= CLOSE * (size + 0.1 * largest_size(size))))


def largest_size(x: Host) -> float:
    """The size of the largest finite element; 0 if there is none."""
    return float(np.max(np.abs(x[np.isfinite(x)]), initial=0.0))


def is_argument(x: Any, out: Host) -> bool:
    """True if an output equals an argument."""
    return np.shape(x) == out.shape and np.array_equal(numbers(x), out)


def directions(args: Sequence[Any], moving: Sequence[int], seed: int) -> list[Any]:
    """Random directions for some of the arguments, in proportion to their elements, so that a small
    step keeps positive numbers positive; `None` for the others."""
    generator = np.random.default_rng(seed)
    return [
        scale_of(x) * normal(generator, x.shape, dtypes.is_complex(x.dtype))
        if i in moving
        else None
        for i, x in enumerate(args)
    ]


def scale_of(x: Any) -> Host:
    """The size of each element; for zeros, the root mean square of all elements."""
    size = np.abs(numbers(x))
    typical = float(np.sqrt(np.mean(size**2))) if size.size else 1.0
    return np.where(size > 0, size, typical if np.isfinite(typical) and typical > 0 else 1.0)


def normal(generator: np.random.Generator, shape: tuple[int, ...], is_complex: bool) -> Host:
    """Normal random numbers."""
    x = np.asarray(generator.standard_normal(shape))
    return x + 1j * generator.standard_normal(shape) if is_complex else x
