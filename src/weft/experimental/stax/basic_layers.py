"""Layers of one array without windows: Dense, BatchNorm, Flatten, Identity and Dropout."""

import math
from collections.abc import Sequence
from typing import Any

from ... import numpy as np, random
from ...core.array import Tracer
from ...core.source import located
from ...errors import ShapeError
from ...nn import standardize
from ...nn.initializers import Initializer, glorot_normal, normal, ones, zeros
from ...numpy.axes import all_axes, one_axis
from ...numpy.promotion import value
from ...typing import ArrayLike, PyTree
from .pairs import Layer, array, layer, parameters, positive, settled, shape_of

__all__ = ["BatchNorm", "Dense", "Dropout", "Flatten", "Identity", "glorot", "randn"]

glorot = glorot_normal
randn = normal


@located
def Dense(
    out_dim: int, W_init: Initializer | None = None, b_init: Initializer | None = None
) -> Layer:
    """A layer that multiplies by a matrix and adds a vector: inputs · W + b.

    Args:
      out_dim: the length of the last axis of the outputs.
      W_init, b_init: `init(key, shape)` for the parameters; by default `glorot()` and `randn()`.
    Returns: (init_fun, apply_fun); the parameters are (W [in_dim, out_dim], b [out_dim]).
    Raises: ValueError: shapes do not match, or `out_dim` is not a positive int.
    Example:
      >>> from weft.experimental import stax
      >>> init_fun, apply_fun = stax.Dense(3)
      >>> out_shape, params = init_fun(random.PRNGKey(0), (-1, 2))
      >>> out_shape, apply_fun(params, np.ones((5, 2))).shape
      ((-1, 3), (5, 3))
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    out_dim = positive("Dense", "out_dim", out_dim)
    make_W, make_b = W_init or glorot(), b_init or randn()

    def init(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
        shape = shape_of("Dense", input_shape, least=1)
        in_dim = settled("Dense", shape, len(shape) - 1)
        k1, k2 = random.split(rng)
        return (*shape[:-1], out_dim), (make_W(k1, (in_dim, out_dim)), make_b(k2, (out_dim,)))

    def apply(params: PyTree, inputs: Any) -> Any:
        W, b = parameters("Dense", params, 2)
        x = array("Dense", inputs)
        if x.shape[-1:] != np.shape(W)[:1]:
            raise ShapeError(
                f"Dense: the last axis of inputs must have the length of W's first; got inputs "
                f"{x.aval} and W of shape {np.shape(W)}"
            )
        return np.dot(x, W) + b

    return layer(init, apply)


@located
def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: ArrayLike = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = zeros,
    gamma_init: Initializer = ones,
) -> Layer:
    """A layer that normalizes batches to mean 0 and variance 1, then shifts and scales them.

    The mean and the variance are always those of the inputs, also at test time; there are no
    running averages.

    Args:
      axis: the axis or axes of the mean and the variance; by default all of [N, H, W] in
        [N, H, W, C].
      epsilon: added to the variance.
      center, scale: whether to add a trainable beta, and to multiply by a trainable gamma.
      beta_init, gamma_init: `init(key, shape)` for these parameters.
    Returns: (init_fun, apply_fun); the parameters are (beta, gamma), each with the lengths of the
      axes that are not in `axis`, or () without such axes.
    Raises: ValueError: an axis is out of range.
    Example:
      >>> from weft.experimental import stax
      >>> init_fun, apply_fun = stax.BatchNorm(axis=0)
      >>> _, params = init_fun(random.PRNGKey(0), (-1, 1))
      >>> apply_fun(params, np.array([[1.0], [3.0]])).round(3)
      Array([[-1.],
             [ 1.]], dtype=float32)
    Source: arXiv:1502.03167.
    """
    listed = tuple(axis) if isinstance(axis, Sequence) else (axis,)

    def init(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
        shape = shape_of("BatchNorm", input_shape)
        over = [one_axis("BatchNorm", a, len(shape)) for a in listed]
        kept = tuple([settled("BatchNorm", shape, a) for a in range(len(shape)) if a not in over])
        k1, k2 = random.split(rng)
        beta = beta_init(k1, kept) if center else ()
        return shape, (beta, gamma_init(k2, kept) if scale else ())

    def apply(params: PyTree, inputs: Any) -> Any:
        beta, gamma = parameters("BatchNorm", params, 2)
        x = array("BatchNorm", inputs)
        over = all_axes("BatchNorm", listed, x)
        z = standardize(x, over, epsilon=epsilon)
        if scale:
            z = np.expand_dims(_fitting("gamma", gamma, x, over), over) * z
        return z + np.expand_dims(_fitting("beta", beta, x, over), over) if center else z

    return layer(init, apply)


def _fitting(argument: str, parameter: Any, x: Any, axes: Sequence[int]) -> Any:
    """A parameter of BatchNorm. Raises an error if its shape does not match the inputs."""
    entry = value("BatchNorm", parameter, argument)
    shape = tuple([n for a, n in enumerate(x.shape) if a not in axes])
    if entry.shape != shape:
        raise ShapeError(
            f"BatchNorm: {argument} must have shape {shape} for {x.aval}; got {entry.aval}"
        )
    return entry


def _flat_shape(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
    n, *rest = shape_of("Flatten", input_shape, least=1)
    return (n, -1 if -1 in rest else math.prod(rest)), ()


def _flattened(params: PyTree, inputs: Any) -> Any:
    x = array("Flatten", inputs)
    if not x.ndim:
        raise ShapeError(f"Flatten: inputs must have at least one axis; got {x.aval}")
    return np.reshape(x, (x.shape[0], math.prod(x.shape[1:])))


Flatten = layer(_flat_shape, _flattened)
Identity = layer(lambda rng, input_shape: (input_shape, ()), lambda params, inputs: inputs)


@located
def Dropout(rate: ArrayLike, mode: str = "train") -> Layer:
    """A layer that sets random elements to 0.

    Args:
      rate: the probability of keeping an element, above 0. Kept elements are divided by it.
      mode: "train", or "test", which returns the inputs unchanged.
    Returns: (init_fun, apply_fun); there are no parameters. In training, `apply_fun` needs a key:
      `apply_fun(params, inputs, rng=key)`.
    Raises: ValueError: `rate` isn't above 0 and at most 1; an unknown mode; no key in training.
    Example:
      >>> from weft.experimental import stax
      >>> _, apply_fun = stax.Dropout(0.5)
      >>> apply_fun((), np.ones(4), rng=random.PRNGKey(0))
      Array([0., 2., 0., 2.], dtype=float32)
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    if mode not in ("train", "test"):
        raise ValueError(f"Dropout: mode must be 'train' or 'test'; got {mode!r}")
    probability = value("Dropout", rate, "rate")
    if probability.ndim:
        raise ShapeError(f"Dropout: rate must be a number; got {probability.aval}")
    if not isinstance(probability, Tracer) and not 0 < float(probability) <= 1:
        raise ValueError(
            "Dropout: rate must be above 0 and at most 1: the probability with which an element is "
            f"kept; got {float(probability):g}"
        )

    @located
    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
        return input_shape, ()

    @located
    def apply_fun(params: PyTree, inputs: Any, rng: Any = None, **kwargs: Any) -> Any:
        if mode == "test":
            return inputs
        if rng is None:
            raise ValueError(
                "Dropout: training needs a key\n  fix: apply_fun(params, inputs, rng=key), or "
                "Dropout(rate, mode='test') where nothing is to be dropped"
            )
        x = array("Dropout", inputs)
        keep = random.bernoulli(rng, probability, x.shape)
        return np.where(keep, x / probability, 0)

    return init_fun, apply_fun
