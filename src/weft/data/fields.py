"""Stages that change or log the fields of examples: AddLossWeights, CastTo, Dup, Log and UnBatch,
and the function add_loss_weights.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import option_checks
from ..typing import DTypeLike
from .stages import Flow, Stage, Unsuitable, described, each, spread

__all__ = ["AddLossWeights", "CastTo", "Dup", "Log", "UnBatch", "add_loss_weights"]


def Dup() -> Stage:
    """A stage that duplicates the first field: (x, …) becomes (x, x, …).

    Returns: a stage.
    Example:
      >>> list(Dup()([(1, 2)]))
      [(1, 1, 2)]
    Source: Trax documentation, `data.Dup`.
    """

    def double(example: Any) -> tuple[Any, ...]:
        if not isinstance(example, tuple | list) or not example:
            raise Unsuitable("a tuple with a first field")
        return example[0], *example

    return each("Dup", double)


def Log(n_steps_per_example: int = 1, only_shapes: bool = True) -> Stage:
    """A stage that prints and logs examples and does not change them.

    Args:
      n_steps_per_example: the interval between printed examples.
      only_shapes: whether to print shapes and dtypes instead of elements.
    Returns: a stage.
    Raises: TypeError, ValueError: an option is invalid.
    Example:
      >>> import numpy
      >>> _ = list(Log()([(numpy.ones((2, 3)),)]))
      (float64[2,3],)
    Source: Trax documentation, `data.Log`.
    """
    n = option_checks.whole_number("Log", "n_steps_per_example", n_steps_per_example)
    option_checks.flag("Log", "only_shapes", only_shapes)

    def run(examples: Iterator[Any]) -> Iterator[Any]:
        for number, example in enumerate(examples):
            if number % n == 0:
                text = described(example) if only_shapes else str(example)
                logging.getLogger(__name__).info("%s", text)
                print(text)
            yield example

    return Flow("Log", run, passes=True)


def CastTo(
    dtype: DTypeLike = np.int32, indices: Sequence[int] = (0, 1), debug: bool = False
) -> Stage:
    """A stage that casts fields to a dtype.

    Args:
      dtype: the dtype.
      indices: the positions of the fields; missing ones are skipped.
      debug: whether to print fields with another dtype.
    Returns: a stage, whose examples are tuples.
    Raises: ShapeError (while it runs): an example is not a tuple.
    Example:
      >>> import numpy
      >>> list(CastTo(numpy.float32, (1,))([(numpy.arange(2), numpy.arange(2))]))
      [(array([0, 1]), array([0., 1.], dtype=float32))]
    Source: Trax documentation, `data.CastTo`.
    """
    target = np.dtype(dtype)
    places = {option_checks.whole_number("CastTo", "indices", i, 0) for i in indices}
    option_checks.flag("CastTo", "debug", debug)

    def cast(example: Any) -> tuple[Any, ...]:
        if not isinstance(example, tuple | list):
            raise Unsuitable("a tuple of arrays", "yield (x,) for an array x alone")
        for i in sorted(places) if debug else ():
            if i < len(example) and np.asarray(example[i]).dtype != target:
                print(f"CastTo: field {i} was {np.asarray(example[i]).dtype}, becomes {target}")
        return tuple(
            np.asarray(x).astype(target) if i in places else x for i, x in enumerate(example)
        )

    return each("CastTo", cast)


def UnBatch() -> Stage:
    """A stage that splits batches into examples.

    Returns: a stage from tuples of arrays [batch, …] to tuples of arrays […]; a bare array becomes
      bare arrays.
    Raises: ShapeError (while it runs): the arrays of a batch differ in their first axis.
    Example:
      >>> import numpy
      >>> list(UnBatch()([(numpy.arange(2), numpy.array([[5], [6]]))]))
      [(np.int64(0), array([5])), (np.int64(1), array([6]))]
    Source: Trax documentation, `data.UnBatch`.
    """

    def rows(batch: Any) -> Iterable[Any]:
        if not isinstance(batch, tuple | list):
            if not np.ndim(batch):
                raise Unsuitable("an array with a batch axis")
            return iter(batch)
        lengths = {np.shape(x)[:1] for x in batch}
        if len(lengths) != 1 or lengths == {()}:
            raise Unsuitable("arrays whose first axes have equal lengths")
        return zip(*batch, strict=True)

    return spread("UnBatch", rows)


def AddLossWeights(id_to_mask: int | None = None) -> Stage:
    """A stage that adds loss weights to examples, or masks existing weights.

    (inputs, targets) become (inputs, targets, ones), with float32 ones of the targets' shape. The
    weights of (inputs, targets, weights) become float32. Examples with other numbers of fields do
    not change.

    Args:
      id_to_mask: the weight of targets with this value is 0; usually the id of padding. None masks
        nothing.
    Returns: a stage, of examples or of batches.
    Raises: ShapeError (while it runs): with `id_to_mask`, an example does not have two or three
      fields.
    Example:
      >>> import numpy
      >>> list(AddLossWeights(id_to_mask=0)([(numpy.array([5]), numpy.array([3, 0]))]))
      [(array([5]), array([3, 0]), array([1., 0.], dtype=float32))]
    Source: Trax documentation, `data.AddLossWeights`.
    """
    if id_to_mask is not None:
        option_checks.number("AddLossWeights", "id_to_mask", id_to_mask)

    def weigh(example: Any) -> Any:
        if not isinstance(example, tuple | list) or len(example) not in (2, 3):
            if id_to_mask is not None:
                raise Unsuitable("a tuple (inputs, targets) or (inputs, targets, weights)")
            return example
        inputs, targets, *weights = example
        weight = np.asarray(weights[0] if weights else np.ones(np.shape(targets)), np.float32)
        if id_to_mask is not None:
            mask = np.asarray(targets) != id_to_mask
            try:
                weight = weight * mask.astype(np.float32)
            except ValueError:
                raise Unsuitable("weights that match the targets") from None
        return inputs, targets, weight

    return each("AddLossWeights", weigh)


def add_loss_weights(generator: Iterable[Any], id_to_mask: int | None = None) -> Iterator[Any]:
    """Adds loss weights to examples, like `AddLossWeights`.

    Args:
      generator: the examples.
      id_to_mask: the weight of targets with this value is 0; None masks nothing.
    Returns: an iterator of (inputs, targets, weights).
    Raises: ShapeError (while it runs): with `id_to_mask`, an example does not have two or three
      fields.
    Example:
      >>> import numpy
      >>> list(add_loss_weights([(numpy.array([5]), numpy.array([3, 4]))]))
      [(array([5]), array([3, 4]), array([1., 1.], dtype=float32))]
    Source: Trax documentation, `data.add_loss_weights`.
    """
    return AddLossWeights(id_to_mask)(generator)
