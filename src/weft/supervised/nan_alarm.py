"""NanAlarm detects a loss that is not finite; find_nonfinite names the layer and the operation.

StepInputs are the arguments of a step; a Nonfinite describes the operation.
"""

import itertools
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from ..config import debug_infs, debug_nans
from ..core.array import Array, as_value
from ..core.source_location import Part
from ..interpreters.debugging.nonfinite import Operation, details, nonfinite_origin, summary
from ..layers.base import Layer
from ..layers.layer_calls import tree
from ..transforms.derivatives import grad
from ..transforms.tracing import located_program
from ..tree_util import keystr, tree_flatten_with_path
from ..user_lines import noted
from .step_values import StepValues

__all__ = ["NanAlarm", "Nonfinite", "StepInputs", "find_nonfinite"]

ARGUMENTS = ("weights", "state", "batch", "rng")


class StepInputs(NamedTuple):
    """The arguments of a training step, before its update.

    Example:
      >>> inputs = StepInputs(weights=(), state=(), batch=np.ones((8, 2)), rng=None)
      >>> inputs.batch.shape
      (8, 2)
    """

    weights: Any
    state: Any
    batch: Any
    rng: Any


class Nonfinite(NamedTuple):
    """The first operation of a step that made a NaN or an infinity.

    Attributes:
      layer: the layer and its enclosing layers, with their positions among the sublayers:
        `Serial > [0] Serial > [2] Log`; empty outside of layers.
      made_at: the line where the layer was made: `train.py:12`.
      backward: True in the backward pass.
      operation: the name of the operation; empty if the number was in the arguments of the step.
      message: the lines of a message, with the arrays and a fix.
    Example:
      >>> Nonfinite("Serial > [0] Log", "train.py:12", False, "log", "log gave -inf").layer
      'Serial > [0] Log'
    """

    layer: str
    made_at: str
    backward: bool
    operation: str
    message: str


class NanAlarm:
    """Raises an error when a loss, or the norm of the gradients, was not finite.

    Args:
      model_with_loss: the layer whose `pure_fn` computes the loss, for `check` to inspect; None if
        there is none.
      values: numbers of the steps by name, collected elsewhere; by default the alarm collects the
        arguments of `update`.

    `update` takes less than a microsecond and never waits. `check` waits for the device.

    Example:
      >>> alarm = NanAlarm()
      >>> for step in (1, 2, 3):
      ...     alarm.update(np.log(np.asarray(2.0 - step)))
      >>> alarm.check(3)
      Traceback (most recent call last):
          ...
      FloatingPointError: NanAlarm: the loss of step 2 is -inf...
    """

    def __init__(
        self, model_with_loss: Layer | None = None, values: StepValues | None = None
    ) -> None:
        if not (model_with_loss is None or isinstance(model_with_loss, Layer)):
            raise noted(
                TypeError(
                    "NanAlarm: model_with_loss must be a layer whose output is the loss; got "
                    f"{type(model_with_loss).__name__}"
                )
            )
        self._model = model_with_loss
        self._is_owner = values is None
        self._values = StepValues() if values is None else values

    def update(self, loss: Any, **others: Any) -> None:
        """Records the numbers of a step.

        Args:
          loss: the loss, a scalar on a device or a number.
          **others: more numbers, such as `gradients_l2`; the same names at each step.
        """
        self._values.add({"loss": loss, **others})

    def check(
        self, step: int, inputs: Callable[[int], StepInputs] | StepInputs | None = None
    ) -> None:
        """Raises an error if a number was not finite since the last check.

        Args:
          step: the number of the last step.
          inputs: the arguments of the failed step, or a function that maps its number to the
            arguments, perhaps by repeating the steps since a checkpoint. If given, the error names
            the layer. They must be the arguments before the step's update, which spreads a NaN to
            all weights.
        Raises: FloatingPointError: the first number that was not finite, with its step, the layer
          that made it, and a fix.
        """
        first = self._values.first_nonfinite()
        if first is None:
            if self._is_owner:
                self._values.clear()
            return
        index, name = first
        bad = step - len(self._values) + 1 + index
        value = float(self._values.arrays()[name][index])
        lines = [f"NanAlarm: the {name} of step {bad} is {value}"]
        if self._model is None or inputs is None:
            lines.append(
                "  fix: a lower learning rate, or clip_grad_norm of the optimizer; "
                "nan_alarm.find_nonfinite names the layer, for the weights before that step"
            )
        else:
            arguments = inputs(bad) if callable(inputs) else inputs
            nonfinite = find_nonfinite(self._model, *arguments)
            lines.append(nonfinite.message if nonfinite else _NOT_AGAIN)
        raise noted(FloatingPointError("\n".join(lines)))


_NOT_AGAIN = (
    "  with the inputs passed to `check`, the step is finite when run operation by operation\n"
    "  fix: give it the weights, batch and key of that step; if they are, XLA's fused operations "
    "overflow: smaller numbers, or float32 in place of 16 bits"
)


def find_nonfinite(
    model_with_loss: Layer, weights: Any, state: Any, batch: Any, rng: Any
) -> Nonfinite | None:
    """Finds the operation that made the first NaN or infinity in a step's loss or gradients.

    It runs the step operation by operation: first the loss, and if that is finite, its gradient.
    This takes many times the time and memory of a training step. An infinity that does not reach
    the result, such as one in a mask, does not count.

    Args:
      model_with_loss: the layer whose `pure_fn` computes the loss.
      weights, state, batch, rng: the arguments of the step.
    Returns: the operation with its layer, or the input with the number; None if all is finite.
    Raises: TypeError: `model_with_loss` is not a layer.
    Example:
      >>> import numpy
      >>> root = tl.Fn("Root", lambda x: np.sqrt(0 * x))
      >>> model = tl.Serial(tl.Dense(2), root, tl.L2Loss())
      >>> batch = numpy.ones((3, 4)), numpy.ones((3, 2)), numpy.ones((3, 2))
      >>> weights, state = model.init(batch)
      >>> found = find_nonfinite(model, weights, state, batch, None)
      >>> found.layer, found.backward, found.operation
      ('Serial > [1] Root', True, 'div')
    """
    if not isinstance(model_with_loss, Layer):
        raise noted(
            TypeError(
                "find_nonfinite: model_with_loss must be a layer; got "
                f"{type(model_with_loss).__name__}"
            )
        )

    def loss_of(weights: Any, state: Any, batch: Any, rng: Any) -> Any:
        return model_with_loss.pure_fn(batch, weights, state, rng)[0]

    arguments = (weights, state, batch, rng)
    leaves, _ = tree_flatten_with_path(arguments)
    values = [as_value(leaf) for _, leaf in leaves]
    for function, is_backward in ((loss_of, False), (grad(loss_of, allow_int=True), True)):
        origin = nonfinite_origin(
            located_program("find_nonfinite", function, arguments, {}), values
        )
        if origin is None or origin.cause is None:
            continue
        if isinstance(origin.cause, Operation):
            return _operation(model_with_loss, origin.cause, is_backward)
        number = origin.cause.number
        path = None if number is None else leaves[number][0]
        return _input(model_with_loss, path, origin.cause.array)
    return None


def _operation(model: Layer, culprit: Operation, is_backward: bool) -> Nonfinite:
    """The finding for an operation.

    Factors of derivatives are computed in the forward pass. Here they belong to the backward pass,
    because the loss itself is finite.
    """
    parts = _numbered(model, culprit.place.parts)
    place = culprit.place._replace(parts=parts, backward=is_backward)
    culprit = culprit._replace(place=place)
    return Nonfinite(
        layer=" > ".join(part.name for part in parts),
        made_at=_site(parts[-1].file, parts[-1].line) if parts else "",
        backward=is_backward,
        operation=str(culprit.primitive),
        message=_message(culprit),
    )


def _message(culprit: Operation) -> str:
    with debug_nans(True), debug_infs(True):
        return "\n".join(details(culprit))


def _input(model: Layer, path: Any, array: Array) -> Nonfinite:
    """The finding for a number that was in an argument or a constant."""
    if path is None:
        lines = [f"  it came in with a constant of the model: {summary(array)}"]
        return Nonfinite("", "", False, "", "\n".join([*lines, "  fix: look at the constants"]))
    name, keys = ARGUMENTS[path[0].idx], path[1:]
    lines = [f"  it came in with {name}{keystr(keys)}: {summary(array)}"]
    if name == "batch":
        lines.append("  fix: look at the data, and how they are read and normalized")
        return Nonfinite("", "", False, "", "\n".join(lines))
    owner = _owner(model, keys)
    parts = _numbered(model, owner)
    layer = " > ".join(part.name for part in parts)
    made_at = _site(parts[-1].file, parts[-1].line)
    lines.append(f"  layer: {layer}, made at {made_at}")
    lines.append(
        "  fix: an earlier step made it: pass the arguments of that step, or resume from a "
        "checkpoint before it"
    )
    return Nonfinite(layer, made_at, False, "", "\n".join(lines))


def _owner(model: Layer, keys: Any) -> tuple[Part, ...]:
    """The layers from the model down to the one with the weight or state at a path."""
    layer, parts = model, [_part(model)]
    for key in keys:
        number = getattr(key, "idx", None)
        if number is None or number >= len(layer.sublayers):
            break
        layer = layer.sublayers[number]
        parts.append(_part(layer))
    return tuple(parts)


def _part(layer: Layer) -> Part:
    return Part(layer._name, *layer._site, id(layer))


def _site(file: str, line: int) -> str:
    return f"{os.path.basename(file)}:{line}"


def _numbered(model: Layer, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts, with their positions among the sublayers before the names: `[2] Dense`.

    The positions of layers between a part and the next one are included: `[0.2] Dense`.
    """
    if not parts:
        return ()
    layers = {id(layer): layer for layer in tree(model)}
    numbered = [parts[0]]
    for around, part in itertools.pairwise(parts):
        outer = layers.get(around.identity)
        numbers = None if outer is None else _way_down(outer, part.identity)
        label = "" if numbers is None else f"[{'.'.join(map(str, numbers))}] "
        numbered.append(part._replace(name=label + part.name))
    return tuple(numbered)


def _way_down(layer: Layer, identity: int) -> list[int] | None:
    """The shortest path of sublayer positions from a layer to one inside it."""
    ways: list[tuple[list[int], Layer]] = [([], layer)]
    while ways:
        ways = [([*way, i], s) for way, outer in ways for i, s in enumerate(outer.sublayers)]
        for way, inner in ways:
            if id(inner) == identity:
                return way
    return None
