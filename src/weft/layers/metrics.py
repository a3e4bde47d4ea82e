"""Layers that compute metrics of a batch from model outputs, targets and weights.

CategoryAccuracy, WeightedCategoryAccuracy, Accuracy, SequenceAccuracy, MaskedSequenceAccuracy,
MacroAveragedFScore, WeightedFScore and WeightedSum are defined here. The losses, which Trax has in
this module too, come from `losses.py`.

All are stateless, without trained weights, and return a scalar. The *weight* of a batch element is
its share in the metric; a weight of 0 masks the element. A weighted mean is
sum(values · weights) / sum(weights). On several devices, in a `pmap` over the axis 'batch', the
divisor is the mean of the devices' sums of weights, so that the mean of the devices' metrics is the
metric of the whole batch.
"""

from typing import Any

from .. import option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp
from .base import Fn, Layer
from .combinators import Serial
from .core import one_hot
from .losses import (
    BinaryCrossEntropy,
    BinaryCrossEntropyLoss,
    BinaryCrossEntropySum,
    CategoryCrossEntropy,
    CrossEntropyLoss,
    CrossEntropyLossWithLogSoftmax,
    CrossEntropySum,
    L2Loss,
    SmoothL1Loss,
    WeightedCategoryCrossEntropy,
)
from .reductions import ArgMax
from .weighted_means import (
    check_categories,
    check_same_shape,
    check_weights,
    weighted_mean,
    weighted_mean_layer,
    weighted_sum_layer,
)

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
    """A layer that computes the fraction of examples whose largest output is the target.

    Returns: a layer from (model outputs [..., N], target categories [...], ints from 0 to N - 1) to
      the mean over all vectors.
    Raises (when called): LayerError: the shapes do not match.
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
    """A layer that computes the weighted fraction of examples whose largest output is the target.

    Returns: a layer from (model outputs [..., N], target categories [...], weights, which broadcast
      to the targets) to a scalar.
    Raises (when called): LayerError: the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> outputs, targets = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 0])
      >>> tl.WeightedCategoryAccuracy()((outputs, targets, np.array([3.0, 1.0])))
      Array(0.75, dtype=float32)
    Source: Trax documentation, `layers.WeightedCategoryAccuracy`.
    """
    name = "WeightedCategoryAccuracy"

    def f(model_output: Any, targets: Any, weights: Any) -> Any:
        return weighted_mean(name, _hits(name, model_output, targets), weights)

    return Fn(name, f)


def MaskedSequenceAccuracy() -> Layer:
    """A layer that computes the fraction of sequences that have no error at positions with nonzero
    weight.

    Returns: a layer from (model outputs [..., length, N], target categories [..., length], weights,
      which broadcast to the targets) to the mean over all sequences.
    Raises (when called): LayerError: the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> outputs = np.eye(2)[np.array([[0, 1], [1, 1]])]
      >>> targets, weights = np.array([[0, 0], [1, 1]]), np.array([[1.0, 0.0], [1.0, 1.0]])
      >>> tl.MaskedSequenceAccuracy()((outputs, targets, weights))
      Array(1., dtype=float32)
    Source: Trax documentation, `layers.MaskedSequenceAccuracy`.
    """
    name = "MaskedSequenceAccuracy"

    def f(model_output: Any, targets: Any, weights: Any) -> Any:
        hits = _hits(name, model_output, targets)
        check_weights(name, hits, weights)
        right = jnp.all(jnp.logical_or(hits, weights == 0), axis=-1)
        return jnp.mean(right.astype(jnp.float32))

    return Fn(name, f)


def Accuracy(classifier: Layer | None = None) -> Layer:
    """A layer that computes the weighted mean accuracy of a classifier's categories.

    Deprecated in Trax: `WeightedCategoryAccuracy` is the same for the default classifier.

    Args:
      classifier: a layer that maps model outputs to categories; by default `ArgMax()`.
    Returns: a layer from (model outputs, target categories, weights) to a scalar.
    Raises:
      TypeError, ValueError: the classifier is not a layer from one array to one array.
      LayerError (when called): the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> outputs, targets = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 0])
      >>> tl.Accuracy()((outputs, targets, np.ones(2)))
      Array(0.5, dtype=float32)
    Source: Trax documentation, `layers.Accuracy`.
    """
    return Serial(
        checked_classifier("Accuracy", classifier),
        Fn("_Accuracy", lambda categories, targets: _equal("Accuracy", categories, targets)),
        weighted_mean_layer("Accuracy"),
        name="Accuracy",
        sublayers_to_print=[],
    )


def SequenceAccuracy(classifier: Layer | None = None) -> Layer:
    """A layer that computes the fraction of sequences that have no error at positions with weight
    1.

    Deprecated in Trax: `MaskedSequenceAccuracy` is the same for the default classifier and weights
    of 0 and 1.

    Args:
      classifier: a layer that maps model outputs to categories; by default `ArgMax()`.
    Returns: a layer from (model outputs, target categories [batch, ...], weights) to the mean over
      the batch.
    Raises:
      TypeError, ValueError: the classifier is not a layer from one array to one array.
      LayerError (when called): the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> outputs = np.eye(2)[np.array([[0, 1], [1, 1]])]
      >>> tl.SequenceAccuracy()((outputs, np.array([[0, 0], [1, 1]]), np.ones((2, 2))))
      Array(0.5, dtype=float32)
    Source: Trax documentation, `layers.SequenceAccuracy`.
    """
    name = "SequenceAccuracy"

    def mean_of_sequences(hits: Any, weights: Any) -> Any:
        check_weights(name, hits, weights)
        mistakes = jnp.sum((1.0 - hits) * weights, axis=tuple(range(1, len(hits.shape))))
        return jnp.mean(1.0 - jnp.minimum(jnp.ones_like(mistakes), mistakes))

    return Serial(
        checked_classifier(name, classifier),
        Fn("_Accuracy", lambda categories, targets: _equal(name, categories, targets)),
        Fn("_WeightedSequenceMean", mean_of_sequences),
        name=name,
        sublayers_to_print=[],
    )


def WeightedSum() -> Layer:
    """A layer that computes Σ values · weights.

    Returns: a layer from (values, weights, which broadcast to the values) to a scalar.
    Raises (when called): LayerError: the shapes do not match.
    Example:
      >>> from weft import layers as tl
      >>> tl.WeightedSum()((np.array([1.0, 2.0]), np.array([1.0, 0.5])))
      Array(2., dtype=float32)
    Source: Trax documentation, `layers.WeightedSum`.
    """
    return weighted_sum_layer("WeightedSum")


# --- F-scores ---


def MacroAveragedFScore(beta: float = 1.0, initial_category_index: int = 0) -> Layer:
    """A layer that computes the unweighted mean of the F-scores of categories.

    F = (1 + β²) · precision · recall / (β² · precision + recall), 0 where it would be 0/0.

    Args:
      beta: β, the weight of recall against precision.
      initial_category_index: the first category to include.
    Returns: a layer from (model outputs [..., N], target categories [...]) to a scalar.
    Raises:
      TypeError, ValueError: an option is not a number in its range.
      LayerError (when called): the shapes do not match, or no category is left.
    Example:
      >>> from weft import layers as tl
      >>> outputs = np.eye(2)[np.array([0, 0, 1, 1])]
      >>> tl.MacroAveragedFScore(beta=1.0)((outputs, np.array([0, 1, 1, 1])))
      Array(0.73333335, dtype=float32)
    Source: van Rijsbergen, Information retrieval (1979); Trax documentation,
      `layers.MacroAveragedFScore`.
    """
    return _f_score("MacroAveragedFScore", beta, initial_category_index, by_frequency=False)


def WeightedFScore(beta: float = 1.0, initial_category_index: int = 0) -> Layer:
    """A layer that computes the mean over targets of the F-scores of their categories.

    Args: as `MacroAveragedFScore`.
    Returns: a layer from (model outputs [..., N], target categories [...]) to a scalar.
    Raises: as `MacroAveragedFScore`.
    Example:
      >>> from weft import layers as tl
      >>> outputs = np.eye(2)[np.array([0, 0, 1, 1])]
      >>> tl.WeightedFScore(beta=1.0)((outputs, np.array([0, 1, 1, 1])))
      Array(0.7666667, dtype=float32)
    Source: van Rijsbergen, Information retrieval (1979); Trax documentation,
      `layers.WeightedFScore`.
    """
    return _f_score("WeightedFScore", beta, initial_category_index, by_frequency=True)


def _f_score(name: str, beta: Any, first: Any, by_frequency: bool) -> Layer:
    """A layer that averages the F-scores of the categories from `first` on."""
    option_checks.number(name, "beta", beta, least=0.0)
    option_checks.whole_number(name, "initial_category_index", first, least=0)

    def f(model_output: Any, targets: Any) -> Any:
        check_categories(name, model_output, targets)
        n = model_output.shape[-1]
        if first >= n:
            raise ShapeError(
                f"{name}: initial_category_index={first} leaves none of {n} categories"
            )
        axes = tuple(range(len(targets.shape)))
        predictions = one_hot(jnp.argmax(model_output, axis=-1), n)
        labels = one_hot(targets, n)
        n_found = jnp.sum(predictions, axis=axes)[first:]
        n_wanted = jnp.sum(labels, axis=axes)[first:]
        n_right = jnp.sum(predictions * labels, axis=axes)[first:]
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


def _hits(name: str, model_output: Any, targets: Any) -> Any:
    """A mask of the positions whose largest component is the target."""
    check_categories(name, model_output, targets)
    return jnp.argmax(model_output, axis=-1) == targets


def _equal(name: str, categories: Any, targets: Any) -> Any:
    """A mask of equal categories, as floats."""
    check_same_shape(name, "targets", targets, "the classifier's categories", categories)
    return (categories == targets).astype(jnp.float32)


def checked_classifier(name: str, classifier: Layer | None) -> Layer:
    if classifier is None:
        return ArgMax()
    if not isinstance(classifier, Layer):
        raise option_checks.wrong_type(name, "classifier", "a layer", classifier)
    if (classifier.n_in, classifier.n_out) != (1, 1):
        raise option_checks.wrong_value(
            name, "classifier", "a layer from one array to one", classifier
        )
    return classifier
