"""Layers that compute losses of a batch: cross entropies, L2Loss and SmoothL1Loss.

CategoryCrossEntropy, WeightedCategoryCrossEntropy, CrossEntropyLoss, CrossEntropyLossWithLogSoftmax
and CrossEntropySum take categories; BinaryCrossEntropy, BinaryCrossEntropyLoss and
BinaryCrossEntropySum take numbers from 0 to 1. `metrics.py` defines the weights.
"""

from typing import Any

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from .base import Fn, Layer
from .combinators import Serial
from .core import log_softmax, one_hot
from .softmax import LogSoftmax
from .weighted_means import (
    check_categories,
    check_same_shape,
    mean_of_all,
    weighted_mean,
    weighted_mean_layer,
    weighted_sum_layer,
)


def CategoryCrossEntropy(label_smoothing: float | None = None) -> Layer:
    """A layer that computes the mean cross entropy between target categories and softmax(outputs).

    -Σ pᵢ log qᵢ, with q = softmax(outputs) and p = one_hot(target), or with label smoothing
    p = (1 - ε) · one_hot(target) + ε/N.

    Args:
      label_smoothing: ε, from 0 to 1; None means 0.
    Returns: a layer from (model outputs before softmax [..., N], target categories [...]) to a
      scalar.
    Raises:
      TypeError, ValueError: the label smoothing is not a number from 0 to 1.
      LayerError (when called): the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> float(tl.CategoryCrossEntropy()((jnp.zeros((3, 4)), jnp.array([0, 1, 2])))).__round__(4)
      1.3863
    Source: Szegedy et al., Rethinking the Inception architecture (2016), for label smoothing; Trax
      documentation, `layers.CategoryCrossEntropy`.
    """
    name = "CategoryCrossEntropy"
    smoothing = _smoothing(name, label_smoothing)

    def f(model_output: Any, targets: Any) -> Any:
        return jnp.mean(_category_cross_entropy(name, model_output, targets, smoothing, 0.0))

    return Fn(name, f)


def WeightedCategoryCrossEntropy(
    label_smoothing: float | None = None, cutoff: float = 0.0
) -> Layer:
    """A layer that computes the weighted mean of the cross entropies of `CategoryCrossEntropy`.

    Args:
      label_smoothing: ε, from 0 to 1; None means 0.
      cutoff: subtracted from each cross entropy; results below 0 become 0.
    Returns: a layer from (model outputs before softmax [..., N], target categories [...], weights,
      which broadcast to the targets) to a scalar.
    Raises:
      TypeError, ValueError: an option is not a number in its range.
      LayerError (when called): the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> weights = np.array([1.0, 0.0])
      >>> tl.WeightedCategoryCrossEntropy()((np.zeros((2, 4)), np.array([0, 1]), weights))
      Array(1.3862944, dtype=float32)
    Source: Trax documentation, `layers.WeightedCategoryCrossEntropy`.
    """
    name = "WeightedCategoryCrossEntropy"
    smoothing = _smoothing(name, label_smoothing)
    option_checks.number(name, "cutoff", cutoff)

    def f(model_output: Any, targets: Any, weights: Any) -> Any:
        values = _category_cross_entropy(name, model_output, targets, smoothing, cutoff)
        return weighted_mean(name, values, weights)

    return Fn(name, f)


def CrossEntropyLoss() -> Layer:
    """A layer that computes the weighted mean cross entropy of log-probabilities and targets.

    Deprecated in Trax: `WeightedCategoryCrossEntropy` includes the `LogSoftmax` that this layer
    needs before it.

    Returns: a layer from (log-probabilities [..., N], target categories [...], weights, which
      broadcast to the targets) to a scalar.
    Raises (when called): LayerError: the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> log_probabilities = np.log(np.array([[0.5, 0.5], [0.25, 0.75]]))
      >>> tl.CrossEntropyLoss()((log_probabilities, np.array([0, 0]), np.ones(2)))
      Array(1.0397208, dtype=float32)
    Source: Trax documentation, `layers.CrossEntropyLoss`.
    """
    name = "CrossEntropyLoss"
    return Serial(_CrossEntropy(name), weighted_mean_layer(name), name=name, sublayers_to_print=[])


def CrossEntropyLossWithLogSoftmax() -> Layer:
    """A layer that computes the weighted mean cross entropy of softmax(outputs) and targets.

    Returns: a layer from (model outputs before softmax [..., N], target categories [...], weights)
      to a scalar.
    Raises (when called): LayerError: the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> tl.CrossEntropyLossWithLogSoftmax()((np.zeros((2, 4)), np.array([0, 1]), np.ones(2)))
      Array(1.3862944, dtype=float32)
    Source: Trax documentation, `layers.CrossEntropyLossWithLogSoftmax`.
    """
    name = "CrossEntropyLossWithLogSoftmax"
    return Serial(
        LogSoftmax(),
        _CrossEntropy(name),
        weighted_mean_layer(name),
        name=name,
        sublayers_to_print=[],
    )


def CrossEntropySum() -> Layer:
    """A layer that computes the weighted sum of cross entropies of log-probabilities and targets.

    Returns: a layer from (log-probabilities [..., N], target categories [...], weights, which
      broadcast to the targets) to a scalar.
    Raises (when called): LayerError: the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> log_probabilities = np.log(np.array([[0.5, 0.5], [0.25, 0.75]]))
      >>> tl.CrossEntropySum()((log_probabilities, np.array([0, 0]), np.ones(2)))
      Array(2.0794415, dtype=float32)
    Source: Trax documentation, `layers.CrossEntropySum`.
    """
    name = "CrossEntropySum"
    return Serial(_CrossEntropy(name), weighted_sum_layer(name), name=name, sublayers_to_print=[])


# --- two categories ---


def BinaryCrossEntropy() -> Layer:
    """A layer that computes the mean cross entropy between binary targets and sigmoid(outputs).

    -log q for targets of 1 and -log(1 - q) for targets of 0, with q = 1 / (1 + e⁻ˣ). Where q is 0
    or 1 in float32 (x above 17 or below -100), the result is infinite or NaN.

    Returns: a layer from (model outputs, targets of 0 and 1 of the same shape) to a scalar.
    Raises (when called): LayerError: the shapes differ.
    Example:
      >>> from weft import layers as tl
      >>> tl.BinaryCrossEntropy()((np.array([0.0, 2.0]), np.array([1.0, 1.0])))
      Array(0.41003764, dtype=float32)
    Source: Trax documentation, `layers.BinaryCrossEntropy`.
    """
    name = "BinaryCrossEntropy"

    def f(model_output: Any, targets: Any) -> Any:
        check_same_shape(name, "targets", targets, "model outputs", model_output)
        q = fastmath.expit(model_output)
        t = targets.astype(q.dtype)
        return jnp.mean(-(t * jnp.log(q) + (1 - t) * jnp.log(1 - q)))

    return Fn(name, f)


def BinaryCrossEntropyLoss() -> Layer:
    """A layer that computes the weighted mean of a batch's binary cross entropy.

    Deprecated in Trax. The cross entropy is one number for the batch, or a matrix if the inputs
    have a second axis: -1/batch · (targetsᵀ · log p + (1 - targets)ᵀ · log(1 - p)).

    Returns: a layer from (probabilities [batch] or [batch, 1], targets of the same shape, weights)
      to a scalar.
    Raises (when called): LayerError: the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> probabilities, targets = np.array([0.5, 0.9]), np.array([1.0, 0.0])
      >>> tl.BinaryCrossEntropyLoss()((probabilities, targets, np.ones(2)))
      Array(1.497866, dtype=float32)
    Source: Trax documentation, `layers.BinaryCrossEntropyLoss`.
    """
    name = "BinaryCrossEntropyLoss"
    weighted = Fn("_WeightedMean", lambda values, w: mean_of_all(values, w))
    return Serial(_BinaryCrossEntropy(name), weighted, name=name, sublayers_to_print=[])


def BinaryCrossEntropySum() -> Layer:
    """A layer that computes the weighted sum of a batch's binary cross entropy.

    The cross entropy is defined as in `BinaryCrossEntropyLoss`.

    Returns: a layer from (probabilities [batch] or [batch, 1], targets of the same shape, weights)
      to the sum of all products.
    Raises (when called): LayerError: the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> tl.BinaryCrossEntropySum()((np.full(3, 0.5), np.ones(3), np.ones(3)))
      Array(2.0794415, dtype=float32)
    Source: Trax documentation, `layers.BinaryCrossEntropySum`.
    """
    name = "BinaryCrossEntropySum"
    weighted = Fn("WeightedSum", lambda values, w: jnp.sum(values * w))
    return Serial(_BinaryCrossEntropy(name), weighted, name=name, sublayers_to_print=[])


# --- numbers ---


def L2Loss() -> Layer:
    """A layer that computes the weighted mean of squared errors: Σ w·(y - t)² / Σ w.

    Returns: a layer from (model outputs, targets, weights), all of one shape, to a scalar.
    Raises (when called): LayerError: the shapes differ.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> y, t, w = jnp.array([1.0, 2.0]), jnp.array([1.0, 5.0]), jnp.array([2.0, 1.0])
      >>> float(tl.L2Loss()((y, t, w)))
      3.0
    Source: Trax documentation, `layers.L2Loss`.
    """
    return _elementwise_loss("L2Loss", lambda error: error * error)


def SmoothL1Loss() -> Layer:
    """A layer that computes the weighted mean of Huber losses of y - t.

    (y - t)²/2 where |y - t| < 1, else |y - t| - 1/2.

    Returns: a layer from (model outputs, targets, weights), all of one shape, to a scalar.
    Raises (when called): LayerError: the shapes differ.
    Example:
      >>> from weft import layers as tl
      >>> tl.SmoothL1Loss()((np.array([0.5, 3.0]), np.zeros(2), np.ones(2)))
      Array(1.3125, dtype=float32)
    Source: Huber, Robust estimation of a location parameter (1964); Trax documentation,
      `layers.SmoothL1Loss`.
    """

    def huber(error: Any) -> Any:
        size = jnp.abs(error)
        return jnp.where(size < 1, 0.5 * error * error, size - 0.5)

    return _elementwise_loss("SmoothL1Loss", huber)


def _CrossEntropy(name: str) -> Layer:
    def f(log_probabilities: Any, targets: Any) -> Any:
        check_categories(name, log_probabilities, targets)
        labels = one_hot(targets, log_probabilities.shape[-1])
        return -jnp.sum(log_probabilities * labels, axis=-1)

    return Fn("_CrossEntropy", f)


def _BinaryCrossEntropy(name: str) -> Layer:
    def f(probabilities: Any, targets: Any) -> Any:
        check_same_shape(name, "targets", targets, "probabilities", probabilities)
        if not targets.shape:
            raise ShapeError(f"{name}: expected arrays with a batch axis; got scalars")
        t = targets.astype(probabilities.dtype)
        positive = jnp.matmul(t.T, jnp.log(probabilities))
        negative = jnp.matmul((1 - t).T, jnp.log(1 - probabilities))
        return -1.0 / t.shape[0] * jnp.squeeze(positive + negative)

    return Fn("_BinaryCrossEntropy", f)


def _elementwise_loss(name: str, loss: Any) -> Layer:
    """The weighted mean of a function of y - t."""

    def f(model_output: Any, targets: Any, weights: Any) -> Any:
        check_same_shape(name, "targets", targets, "model outputs", model_output)
        check_same_shape(name, "weights", weights, "model outputs", model_output)
        return jnp.sum(weights * loss(model_output - targets)) / jnp.sum(weights)

    return Fn(name, f)


def _category_cross_entropy(
    name: str, model_output: Any, targets: Any, smoothing: float, cutoff: float
) -> Any:
    """The cross entropy of each vector."""
    check_categories(name, model_output, targets)
    n = model_output.shape[-1]
    labels = one_hot(targets, n)
    if smoothing:
        labels = labels * (1 - smoothing) + smoothing / n
    values = -jnp.sum(labels * log_softmax(model_output), axis=-1)
    return jnp.maximum(values, cutoff) - cutoff if cutoff > 0.0 else values


def _smoothing(name: str, label_smoothing: Any) -> float:
    if label_smoothing is None:
        return 0.0
    return float(
        option_checks.number(name, "label_smoothing", label_smoothing, least=0.0, most=1.0)
    )
