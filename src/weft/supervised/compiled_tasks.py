"""The compiled parts of a loop: a model with a loss in a trainer, or with metrics in an Evaluator.

with_ends puts a loss or metrics after a model; trainer_of and reversible_trainer_of make trainers;
signature_of gives the signatures of a task's batches.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as onp

from .. import option_checks
from ..errors import ShapeError
from ..layers.base import Layer
from ..layers.combinators import Branch
from ..layers.precision import InPrecision
from ..layers.serial import as_tuple, assembled, inputs_from_stack
from ..optimizers.base import Optimizer
from ..optimizers.trainer import ReversibleSerialTrainer, Trainer, extract_reversible_blocks
from ..random import fold_in
from ..shapes import signature
from ..transforms.jit.function import jit
from ..user_lines import levels_to_user, noted
from .tasks import EndOfData, EvalTask, TrainTask

__all__ = ["Evaluator", "reversible_trainer_of", "signature_of", "trainer_of", "with_ends"]


def signature_of(task: TrainTask | EvalTask) -> tuple[Any, ...]:
    """The signatures of the arrays of a task's batches."""
    return tuple(map(signature, task.sample_batch))


def with_ends(model: Layer, ends: Sequence[Layer], batch: tuple[Any, ...], key: Any) -> Layer:
    """The model followed by a loss or metrics.

    Args:
      model: the model, initialized.
      ends: the loss or metrics; they are initialized here.
      batch: the signatures of a batch: the model's inputs, and further inputs of `ends`.
      key: random key.
    Raises: ValueError: the ends take more inputs than the batch has.
    """
    outputs = as_tuple(model.output_signature(inputs_from_stack(batch, model.n_in)))
    stack = outputs + batch[model.n_in :]
    end = ends[0] if len(ends) == 1 else Branch(*ends)
    if len(stack) < end.n_in:
        raise noted(
            ValueError(
                f"Loop: {end.name} takes {end.n_in} tensors; the model gives {len(outputs)}, and "
                f"the batch has {len(stack) - len(outputs)} beside the model's inputs\n"
                "  fix: batches of (inputs, targets, weights); data.AddLossWeights() adds the "
                "weights"
            )
        )
    end.init(inputs_from_stack(stack, end.n_in), rng=key)
    return assembled(model, end)


def trainer_of(
    model: Layer, task: TrainTask, precision: str | None, n_devices: int, key: Any, **options: Any
) -> Trainer:
    """A trainer of a model with a task's loss and optimizer."""
    optimizer = task.optimizer
    if not isinstance(optimizer, Optimizer):
        raise option_checks.wrong_type(
            "Loop", "the optimizer of a task", "an optimizer, such as Adam(0.001)", optimizer
        )
    if precision is not None:
        model = InPrecision(model, precision)
        options["loss_scale"] = "dynamic" if precision == "float16" else None
    whole = with_ends(model, [task.loss_layer], signature_of(task), key)
    _warn_of_categories(model, task)
    optimizer.tree_init(whole.weights)
    return Trainer(whole, optimizer, n_devices, **options)


def _warn_of_categories(model: Layer, task: TrainTask) -> None:
    """Warns of targets in the sample batch that are not categories of the model's outputs."""
    batch, n_in = task.sample_batch, model.n_in
    outputs = as_tuple(model.output_signature(inputs_from_stack(signature_of(task), n_in)))
    # a model with two inputs returns (scores, targets); otherwise the targets are in the batch
    first = n_in - 1 if len(outputs) == 2 else n_in
    scores, targets = outputs[0].shape, onp.asarray(batch[first]) if first < len(batch) else None
    if targets is None or targets.dtype.kind not in "iu" or targets.shape != scores[:-1]:
        return
    wrong = (targets < 0) | (targets >= scores[-1])
    if len(batch) > first + 1 and batch[first + 1].shape == targets.shape:
        wrong &= onp.asarray(batch[first + 1]) != 0
    if wrong.any():
        warnings.warn(
            f"Loop: targets of the first batch have the category {targets[wrong][0]}, but the "
            f"model's outputs have {scores[-1]}, from 0: such targets count as no category\n"
            f"  fix: a model with more categories; weights of 0 where there is no target",
            stacklevel=levels_to_user(),
        )


def reversible_trainer_of(
    model: Layer, tasks: Sequence[TrainTask], chunk: int, free: bool, n_devices: int, key: Any
) -> ReversibleSerialTrainer:
    """A trainer that trains the model one layer at a time, with the optimizers of the only task."""
    if len(tasks) != 1:
        raise noted(
            ValueError(f"Loop: the memory-efficient trainer takes one task; got {len(tasks)}")
        )
    (task,) = tasks
    if isinstance(task.optimizer, Optimizer):
        raise option_checks.wrong_type(
            "Loop",
            "the optimizer of a task for the memory-efficient trainer",
            "a function that makes an optimizer, such as its class",
            task.optimizer,
        )
    with_ends(model, [task.loss_layer], signature_of(task), key)
    blocks, loss = extract_reversible_blocks([model, task.loss_layer], chunk)
    return ReversibleSerialTrainer(
        blocks, loss, task.optimizer, n_devices, free_accelerators_on_step=free
    )


class Evaluator:
    """A model with the metrics of a task, compiled.

    Args:
      task: the task.
      model_with_metrics: the result of `with_ends`.
      place: a function that puts a batch on the devices.
    """

    def __init__(self, task: EvalTask, model_with_metrics: Layer, place: Any) -> None:
        self._task, self._model, self._place = task, model_with_metrics, place
        self._run = jit(model_with_metrics.pure_fn)

    def means(self, key: Any) -> tuple[dict[str, float], int, Any]:
        """The mean of each metric over the next batches, their number, and the last state."""
        names = self._task.metric_names
        sums, n = onp.zeros(len(names)), 0
        weights, state = self._model.weights, self._model.state
        new_state = state
        for i in range(self._task.n_eval_batches):
            try:
                batch = self._task.next_batch()
            except EndOfData:
                break
            values, new_state = self._run(self._place(batch), weights, state, fold_in(key, i))
            # the metrics are followed by unused entries of the batch
            for at, (name, value) in enumerate(zip(names, as_tuple(values), strict=False)):
                if onp.ndim(value):
                    raise noted(
                        ShapeError(
                            f"EvalTask: a metric must be a scalar; {name} gave an array of shape "
                            f"{onp.shape(value)}\n  fix: end it with tl.Mean(axis=None)"
                        )
                    )
                sums[at] += float(value)
            n += 1
        return dict(zip(names, sums / max(n, 1), strict=True)), n, new_state
