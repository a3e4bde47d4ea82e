"""Layers that compute losses and metrics of a batch: a number of outputs, targets and weights.

All are stateless, without trained weights, and give a scalar. A *weight* here is how much an
element of the batch counts; weights of 0 mask elements. A weighted mean is sum(values · weights) /
sum(weights). On several devices, in a `pmap` over the axis 'batch', the divisor is the mean of the
devices' sums of weights, so that the mean of the devices' metrics is that of the whole batch.
"""

from typing import Any

from .. import fastmath
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from . import options
from .base import Fn, Layer
from .combinators import Serial
from .core import ArgMax, LogSoftmax, log_softmax, one_hot

__all__ = [
    "Accuracy",
    "BinaryCrossEntropy",
    "BinaryCrossEntropyLoss",
    "BinaryCrossEntropySum",
    "CategoryAccuracy",
    "CategoryCrossEntropy",
    "CrossEntropyLoss",
    "CrossEntropyLossWithLogSoftmax",
    "CrossEntropySum",
    "L2Loss",
    "MacroAveragedFScore",
    "MaskedSequenceAccuracy",
    "SequenceAccuracy",
    "SmoothL1Loss",
    "WeightedCategoryAccuracy",
    "WeightedCategoryCrossEntropy",
    "WeightedFScore",
    "WeightedSum",
]

# --- categories ---


def CategoryAccuracy() -> Layer:
    """A layer that computes how often the largest component is the target.

    Returns: a layer from (model outputs [..., N], target categories [...], ints from 0 to N - 1) to
      the mean over all vectors.
    Raises (when called): ShapeError: the shapes don't fit.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> outputs = jnp.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
      >>> float(tl.CategoryAccuracy()((outputs, jnp.array([1, 0, 0, 0]))))
      0.75
    Source: Trax documentation, `layers.CategoryAccuracy`.
    """
    name = "CategoryAccuracy"

    def f(model_output: Any, targets: Any) -> Any:
        return jnp.mean(_hits(name, model_output, targets).astype(jnp.float32))

    return Fn(name, f)


def WeightedCategoryAccuracy() -> Layer:
    """A layer that computes the weighted mean of how often the largest component is the target.

    Returns: a layer from (model outputs [..., N], target categories [...], weights, which broadcast
      to the targets) to a scalar.
    Raises (when called): ShapeError: the shapes don't fit.
    Source: Trax documentation, `layers.WeightedCategoryAccuracy`.
    """
    name = "WeightedCategoryAccuracy"

    def f(model_output: Any, targets: Any, weights: Any) -> Any:
        return _weighted_mean(name, _hits(name, model_output, targets), weights)

    return Fn(name, f)


def CategoryCrossEntropy(label_smoothing: float | None = None) -> Layer:
    """A layer that computes the mean cross entropy of target categories and softmax(outputs).

    -Σ pᵢ log qᵢ, with q = softmax(outputs) and p = one_hot(target), or with label smoothing
    p = (1 - ε) · one_hot(target) + ε/N.

    Args:
      label_smoothing: ε, from 0 to 1; None is 0.
    Returns: a layer from (model outputs before softmax [..., N], target categories [...]) to a
      scalar.
    Raises:
      TypeError, ValueError: the label smoothing isn't a number from 0 to 1.
      ShapeError (when called): the shapes don't fit.
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
      label_smoothing: ε, from 0 to 1; None is 0.
      cutoff: cross entropies below it count as 0, and others as what is above it.
    Returns: a layer from (model outputs before softmax [..., N], target categories [...], weights,
      which broadcast to the targets) to a scalar.
    Raises:
      TypeError, ValueError: an option isn't a number in its range.
      ShapeError (when called): the shapes don't fit.
    Source: Trax documentation, `layers.WeightedCategoryCrossEntropy`.
    """
    name = "WeightedCategoryCrossEntropy"
    smoothing = _smoothing(name, label_smoothing)
    options.number(name, "cutoff", cutoff)

    def f(model_output: Any, targets: Any, weights: Any) -> Any:
        values = _category_cross_entropy(name, model_output, targets, smoothing, cutoff)
        return _weighted_mean(name, values, weights)

    return Fn(name, f)


def MaskedSequenceAccuracy() -> Layer:
    """A layer that computes how many sequences are right wherever their weight isn't 0.

    Returns: a layer from (model outputs [..., length, N], target categories [..., length], weights,
      which broadcast to the targets) to the mean over all sequences.
    Raises (when called): ShapeError: the shapes don't fit.
    Source: Trax documentation, `layers.MaskedSequenceAccuracy`.
    """
    name = "MaskedSequenceAccuracy"

    def f(model_output: Any, targets: Any, weights: Any) -> Any:
        hits = _hits(name, model_output, targets)
        _check_weights(name, hits, weights)
        right = jnp.all(jnp.logical_or(hits, weights == 0), axis=-1)
        return jnp.mean(right.astype(jnp.float32))

    return Fn(name, f)


def Accuracy(classifier: Layer | None = None) -> Layer:
    """A layer that computes the weighted mean accuracy of a classifier's categories.

    Deprecated in Trax: `WeightedCategoryAccuracy` is the same for the default classifier.

    Args:
      classifier: a layer that makes categories of model outputs; by default `ArgMax()`.
    Returns: a layer from (model outputs, target categories, weights) to a scalar.
    Raises:
      TypeError, ValueError: the classifier isn't a layer from one array to one.
      ShapeError (when called): the shapes don't fit.
    Source: Trax documentation, `layers.Accuracy`.
    """
    return Serial(
        _classifier("Accuracy", classifier),
        Fn("_Accuracy", lambda found, targets: _equal("Accuracy", found, targets)),
        _WeightedMean("Accuracy"),
        name="Accuracy",
        sublayers_to_print=[],
    )


def SequenceAccuracy(classifier: Layer | None = None) -> Layer:
    """A layer that computes how many sequences a classifier gets right wherever the weight is 1.

    Deprecated in Trax: `MaskedSequenceAccuracy` is the same for the default classifier and weights
    of 0 and 1.

    Args:
      classifier: a layer that makes categories of model outputs; by default `ArgMax()`.
    Returns: a layer from (model outputs, target categories [batch, ...], weights) to the mean over
      the batch.
    Raises:
      TypeError, ValueError: the classifier isn't a layer from one array to one.
      ShapeError (when called): the shapes don't fit.
    Source: Trax documentation, `layers.SequenceAccuracy`.
    """
    name = "SequenceAccuracy"

    def mean_of_sequences(hits: Any, weights: Any) -> Any:
        _check_weights(name, hits, weights)
        mistakes = jnp.sum((1.0 - hits) * weights, axis=tuple(range(1, len(hits.shape))))
        return jnp.mean(1.0 - jnp.minimum(jnp.ones_like(mistakes), mistakes))

    return Serial(
        _classifier(name, classifier),
        Fn("_Accuracy", lambda found, targets: _equal(name, found, targets)),
        Fn("_WeightedSequenceMean", mean_of_sequences),
        name=name,
        sublayers_to_print=[],
    )


def CrossEntropyLoss() -> Layer:
    """A layer that computes the weighted mean cross entropy of log-probabilities and targets.

    Deprecated in Trax: `WeightedCategoryCrossEntropy` has the `LogSoftmax` that must come before
    this layer inside.

    Returns: a layer from (log-probabilities [..., N], target categories [...], weights, which
      broadcast to the targets) to a scalar.
    Raises (when called): ShapeError: the shapes don't fit.
    Source: Trax documentation, `layers.CrossEntropyLoss`.
    """
    name = "CrossEntropyLoss"
    return Serial(_CrossEntropy(name), _WeightedMean(name), name=name, sublayers_to_print=[])


def CrossEntropyLossWithLogSoftmax() -> Layer:
    """A layer that computes the weighted mean cross entropy of softmax(outputs) and targets.

    Returns: a layer from (model outputs before softmax [..., N], target categories [...], weights)
      to a scalar.
    Raises (when called): ShapeError: the shapes don't fit.
    Source: Trax documentation, `layers.CrossEntropyLossWithLogSoftmax`.
    """
    name = "CrossEntropyLossWithLogSoftmax"
    return Serial(
        LogSoftmax(),
        _CrossEntropy(name),
        _WeightedMean(name),
        name=name,
        sublayers_to_print=[],
    )


def CrossEntropySum() -> Layer:
    """A layer that computes the weighted sum of cross entropies of log-probabilities and targets.

    Returns: a layer from (log-probabilities [..., N], target categories [...], weights, which
      broadcast to the targets) to a scalar.
    Raises (when called): ShapeError: the shapes don't fit.
    Source: Trax documentation, `layers.CrossEntropySum`.
    """
    name = "CrossEntropySum"
    return Serial(_CrossEntropy(name), _weighted_sum(name), name=name, sublayers_to_print=[])


# --- two categories ---


def BinaryCrossEntropy() -> Layer:
    """A layer that computes the mean cross entropy of binary targets and sigmoid(outputs).

    -log q for targets of 1 and -log(1 - q) for those of 0, with q = 1 / (1 + e⁻ˣ). Where q is 0 or
    1 in float32 (x above 17 or below -100), that is infinite or NaN.

    Returns: a layer from (model outputs, targets of 0 and 1 of the same shape) to a scalar.
    Raises (when called): ShapeError: the shapes differ.
    Source: Trax documentation, `layers.BinaryCrossEntropy`.
    """
    name = "BinaryCrossEntropy"

    def f(model_output: Any, targets: Any) -> Any:
        _same_shape(name, "targets", targets, "model outputs", model_output)
        q = fastmath.expit(model_output)
        t = targets.astype(q.dtype)
        return jnp.mean(-(t * jnp.log(q) + (1 - t) * jnp.log(1 - q)))

    return Fn(name, f)


def BinaryCrossEntropyLoss() -> Layer:
    """A layer that computes the weighted mean of a batch's binary cross entropy.

    Deprecated in Trax. The cross entropy is one number for the batch, or a matrix if the inputs
    have a further axis: -1/batch · (targetsᵀ · log p + (1 - targets)ᵀ · log(1 - p)).

    Returns: a layer from (probabilities [batch] or [batch, 1], targets of the same shape, weights)
      to a scalar.
    Raises (when called): ShapeError: the shapes don't fit.
    Source: Trax documentation, `layers.BinaryCrossEntropyLoss`.
    """
    name = "BinaryCrossEntropyLoss"
    weighted = Fn("_WeightedMean", lambda values, w: _mean_of_all(values, w))
    return Serial(_BinaryCrossEntropy(name), weighted, name=name, sublayers_to_print=[])


def BinaryCrossEntropySum() -> Layer:
    """A layer that computes the weighted sum of a batch's binary cross entropy.

    The cross entropy is that of `BinaryCrossEntropyLoss`.

    Returns: a layer from (probabilities [batch] or [batch, 1], targets of the same shape, weights)
      to the sum of all products.
    Raises (when called): ShapeError: the shapes don't fit.
    Source: Trax documentation, `layers.BinaryCrossEntropySum`.
    """
    name = "BinaryCrossEntropySum"
    weighted = Fn("WeightedSum", lambda values, w: jnp.sum(values * w))
    return Serial(_BinaryCrossEntropy(name), weighted, name=name, sublayers_to_print=[])


# --- numbers ---


def L2Loss() -> Layer:
    """A layer that computes the weighted mean of squared errors: Σ w·(y - t)² / Σ w.

    Returns: a layer from (model outputs, targets, weights), all of one shape, to a scalar.
    Raises (when called): ShapeError: the shapes differ.
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
    Raises (when called): ShapeError: the shapes differ.
    Source: Huber, Robust estimation of a location parameter (1964); Trax documentation,
      `layers.SmoothL1Loss`.
    """

    def huber(error: Any) -> Any:
        size = jnp.abs(error)
        return jnp.where(size < 1, 0.5 * error * error, size - 0.5)

    return _elementwise_loss("SmoothL1Loss", huber)


def WeightedSum() -> Layer:
    """A layer that computes Σ values · weights.

    Returns: a layer from (values, weights, which broadcast to the values) to a scalar.
    Raises (when called): ShapeError: the shapes don't fit.
    Source: Trax documentation, `layers.WeightedSum`.
    """
    return _weighted_sum("WeightedSum")


# --- F-scores ---


def MacroAveragedFScore(beta: float = 1.0, initial_category_index: int = 0) -> Layer:
    """A layer that computes the mean over categories of F-scores, however frequent they are.

    F = (1 + β²) · precision · recall / (β² · precision + recall), 0 where it would be 0/0.

    Args:
      beta: β, the weight of recall against precision.
      initial_category_index: the first category that counts.
    Returns: a layer from (model outputs [..., N], target categories [...]) to a scalar.
    Raises:
      TypeError, ValueError: an option isn't a number in its range.
      ShapeError (when called): the shapes don't fit, or no category is left.
    Source: van Rijsbergen, Information retrieval (1979); Trax documentation,
      `layers.MacroAveragedFScore`.
    """
    return _f_score("MacroAveragedFScore", beta, initial_category_index, by_frequency=False)


def WeightedFScore(beta: float = 1.0, initial_category_index: int = 0) -> Layer:
    """A layer that computes the mean over targets of the F-scores of their categories.

    Args: as `MacroAveragedFScore`.
    Returns: a layer from (model outputs [..., N], target categories [...]) to a scalar.
    Raises: as `MacroAveragedFScore`.
    Source: van Rijsbergen, Information retrieval (1979); Trax documentation,
      `layers.WeightedFScore`.
    """
    return _f_score("WeightedFScore", beta, initial_category_index, by_frequency=True)


def _f_score(name: str, beta: Any, first: Any, by_frequency: bool) -> Layer:
    """A layer that averages the F-scores of the categories from `first` on."""
    options.number(name, "beta", beta, least=0.0)
    options.whole_number(name, "initial_category_index", first, least=0)

    def f(model_output: Any, targets: Any) -> Any:
        _check_categories(name, model_output, targets)
        n = model_output.shape[-1]
        if first >= n:
            raise ShapeError(
                f"{name}: initial_category_index={first} leaves none of {n} categories"
            )
        axes = tuple(range(len(targets.shape)))
        found = one_hot(jnp.argmax(model_output, axis=-1), n)
        wanted = one_hot(targets, n)
        n_found = jnp.sum(found, axis=axes)[first:]
        n_wanted = jnp.sum(wanted, axis=axes)[first:]
        n_right = jnp.sum(found * wanted, axis=axes)[first:]
        precision, recall = _ratio(n_right, n_found), _ratio(n_right, n_wanted)
        square = beta * beta
        scores = _ratio((square + 1) * precision * recall, square * precision + recall)
        if by_frequency:
            return _ratio(jnp.sum(scores * n_wanted), jnp.sum(n_wanted))
        return jnp.mean(scores)

    return Fn(name, f)


def _ratio(x: Any, y: Any) -> Any:
    """x / y, and 0 where y is 0."""
    zero = y == 0
    return jnp.where(zero, jnp.zeros_like(x), x / jnp.where(zero, jnp.ones_like(y), y))


# --- what they share ---


def _WeightedMean(name: str) -> Layer:
    return Fn("_WeightedMean", lambda values, weights: _weighted_mean(name, values, weights))


def _weighted_sum(name: str) -> Layer:
    def f(values: Any, weights: Any) -> Any:
        _check_weights(name, values, weights)
        return jnp.sum(values * weights)

    return Fn("WeightedSum", f)


def _CrossEntropy(name: str) -> Layer:
    def f(log_probabilities: Any, targets: Any) -> Any:
        _check_categories(name, log_probabilities, targets)
        wanted = one_hot(targets, log_probabilities.shape[-1])
        return -jnp.sum(log_probabilities * wanted, axis=-1)

    return Fn("_CrossEntropy", f)


def _BinaryCrossEntropy(name: str) -> Layer:
    def f(probabilities: Any, targets: Any) -> Any:
        _same_shape(name, "targets", targets, "probabilities", probabilities)
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
        _same_shape(name, "targets", targets, "model outputs", model_output)
        _same_shape(name, "weights", weights, "model outputs", model_output)
        return jnp.sum(weights * loss(model_output - targets)) / jnp.sum(weights)

    return Fn(name, f)


def _hits(name: str, model_output: Any, targets: Any) -> Any:
    """Mask of the positions whose largest component is the target."""
    _check_categories(name, model_output, targets)
    return jnp.argmax(model_output, axis=-1) == targets


def _equal(name: str, found: Any, targets: Any) -> Any:
    """Mask of equal categories, as floats."""
    _same_shape(name, "targets", targets, "the classifier's categories", found)
    return (found == targets).astype(jnp.float32)


def _category_cross_entropy(
    name: str, model_output: Any, targets: Any, smoothing: float, cutoff: float
) -> Any:
    """The cross entropy of each vector."""
    _check_categories(name, model_output, targets)
    n = model_output.shape[-1]
    wanted = one_hot(targets, n)
    if smoothing:
        wanted = wanted * (1 - smoothing) + smoothing / n
    values = -jnp.sum(wanted * log_softmax(model_output), axis=-1)
    return jnp.maximum(values, cutoff) - cutoff if cutoff > 0.0 else values


def _weighted_mean(name: str, values: Any, weights: Any) -> Any:
    _check_weights(name, values, weights)
    return _mean_of_all(values, weights)


def _mean_of_all(values: Any, weights: Any) -> Any:
    return jnp.sum(values * weights) / _weights_per_device(weights)


def _weights_per_device(weights: Any) -> Any:
    """The sum of the weights; over the devices of a `pmap`, the mean of their sums."""
    total = jnp.sum(weights)
    if fastmath.global_device_count() < 2:
        return total
    try:
        return fastmath.psum(total, "batch") / fastmath.psum(jnp.ones_like(total), "batch")
    except (NameError, ValueError):  # no `pmap` over the batch is around
        return total


def _smoothing(name: str, label_smoothing: Any) -> float:
    if label_smoothing is None:
        return 0.0
    return float(options.number(name, "label_smoothing", label_smoothing, least=0.0, most=1.0))


def _classifier(name: str, classifier: Layer | None) -> Layer:
    if classifier is None:
        return ArgMax()
    if not isinstance(classifier, Layer):
        raise options.wrong_type(name, "classifier", "a layer", classifier)
    if (classifier.n_in, classifier.n_out) != (1, 1):
        raise options.wrong_value(name, "classifier", "a layer from one array to one", classifier)
    return classifier


def _check_categories(name: str, model_output: Any, targets: Any) -> None:
    shape = tuple(model_output.shape)
    if not shape or tuple(targets.shape) != shape[:-1]:
        raise ShapeError(
            f"{name}: expected targets of the model outputs' shape without the last axis, the "
            f"categories; got outputs of shape {shape} and targets of shape {tuple(targets.shape)}"
        )


def _same_shape(name: str, what: str, x: Any, other: str, y: Any) -> None:
    if tuple(x.shape) != tuple(y.shape):
        raise ShapeError(
            f"{name}: {what} must have the shape of {other}; got {tuple(x.shape)} and "
            f"{tuple(y.shape)}"
        )


def _check_weights(name: str, values: Any, weights: Any) -> None:
    """Weights may broadcast to the values, but not the reverse."""
    shape, wanted = tuple(weights.shape), tuple(values.shape)
    if len(shape) > len(wanted) or any(
        n not in (1, m) for n, m in zip(shape[::-1], wanted[::-1], strict=False)
    ):
        raise ShapeError(
            f"{name}: weights must broadcast to one for each target, shape {wanted}; got shape "
            f"{shape}"
        )
