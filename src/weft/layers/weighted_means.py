"""Weighted means over a batch and shape checks, for losses and metrics."""

from typing import Any

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from .base import Fn, Layer

# --- shared functions ---


def weighted_mean_layer(name: str) -> Layer:
    return Fn("_WeightedMean", lambda values, weights: weighted_mean(name, values, weights))


def weighted_sum_layer(name: str) -> Layer:
    def f(values: Any, weights: Any) -> Any:
        check_weights(name, values, weights)
        return jnp.sum(values * weights)

    return Fn("WeightedSum", f)


def weighted_mean(name: str, values: Any, weights: Any) -> Any:
    check_weights(name, values, weights)
    return mean_of_all(values, weights)


def mean_of_all(values: Any, weights: Any) -> Any:
    return jnp.sum(values * weights) / weights_per_device(weights)


def weights_per_device(weights: Any) -> Any:
    """The sum of the weights; in a `pmap`, the mean of the devices' sums."""
    total = jnp.sum(weights)
    if fastmath.global_device_count() < 2:
        return total
    try:
        return fastmath.psum(total, "batch") / fastmath.psum(jnp.ones_like(total), "batch")
    except (NameError, ValueError):  # not in a `pmap` over the batch
        return total


def check_categories(name: str, model_output: Any, targets: Any) -> None:
    shape, target_shape = tuple(model_output.shape), tuple(targets.shape)
    if not shape or target_shape != shape[:-1]:
        fix = ""
        if target_shape == (*shape[:-1], 1):
            fix = "\n  fix: targets[..., 0]"
        elif target_shape == shape:
            fix = "\n  fix: the numbers of categories, such as argmax(targets, axis=-1)"
        raise ShapeError(
            f"{name}: expected targets of the model outputs' shape without the last axis, the "
            f"categories; got outputs of shape {shape} and targets of shape {target_shape}{fix}"
        )


def check_same_shape(name: str, what: str, x: Any, other: str, y: Any) -> None:
    if tuple(x.shape) != tuple(y.shape):
        raise ShapeError(
            f"{name}: {what} must have the shape of {other}; got {tuple(x.shape)} and "
            f"{tuple(y.shape)}"
        )


def check_weights(name: str, values: Any, weights: Any) -> None:
    """Checks that weights broadcast to the values, and not the reverse."""
    shape, full = tuple(weights.shape), tuple(values.shape)
    if len(shape) > len(full) or any(
        n not in (1, m) for n, m in zip(shape[::-1], full[::-1], strict=False)
    ):
        raise ShapeError(
            f"{name}: weights must broadcast to one for each target, shape {full}; got shape "
            f"{shape}"
        )
