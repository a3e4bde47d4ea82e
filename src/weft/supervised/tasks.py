"""TrainTask and EvalTask: data with what to do with it, a loss and an optimizer, or metrics.

Batches draws from the data: it begins again where data can, counts, and knows its position.
EndOfData is raised where data end for good.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as onp

from ..layers import option_checks
from ..layers.base import Layer
from ..optimizers.base import Optimizer
from ..user_lines import noted
from .lr_schedules import checked_rate

__all__ = ["Batches", "EndOfData", "EvalTask", "TrainTask"]

POSITIONS = (("get_state", "set_state"), ("state_dict", "load_state_dict"))
"""The methods by which iterators of grain and weft, and of PyTorch, give and take a position."""


class EndOfData(Exception):
    """The data have ended, and cannot begin again."""


class Batches:
    """Draws batches from data, and begins a new epoch where they end.

    Args:
      owner: the name of the task, for errors.
      data: an iterator, or something that gives one each time, such as a list of batches or a
        loader. A generator cannot begin again.
      sample: a batch whose shapes all have; by default, the first one, which is then the first
        that `next` gives.
    """

    def __init__(self, owner: str, data: Any, sample: Any = None) -> None:
        if not (hasattr(data, "__next__") or hasattr(data, "__iter__")) or isinstance(data, str):
            raise noted(
                TypeError(
                    f"{owner}: labeled_data must be an iterator of batches; got "
                    f"{type(data).__name__}\n"
                    "  fix: call a function of batches; give one of data.Serial(…) its ()"
                )
            )
        self._owner, self._data = owner, data
        self._iterator: Iterator[Any] = data if hasattr(data, "__next__") else iter(data)
        self._waiting: list[Any] = []
        self.count = self.epoch = 0
        if sample is None:
            try:
                sample = self._drawn()
            except EndOfData:
                raise noted(ValueError(f"{owner}: labeled_data has no batches")) from None
            self._waiting.append(sample)
        self.sample = sample

    def __next__(self) -> Any:
        batch = self._waiting.pop() if self._waiting else self._drawn()
        self.count += 1
        return batch

    def _drawn(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            pass
        self._iterator = iter(self._data)
        try:
            batch = next(self._iterator)
        except StopIteration:
            raise EndOfData(f"{self._owner}: the data ended after {self.count} batches") from None
        self.epoch += 1
        return batch

    def get_state(self) -> dict[str, Any]:
        """The position: the number of batches, and the iterator's own position if it has one."""
        state: dict[str, Any] = {"count": self.count, "epoch": self.epoch}
        for get, put in POSITIONS:
            if self.count and hasattr(self._iterator, get) and hasattr(self._iterator, put):
                state["stream"] = getattr(self._iterator, get)()
                break
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Goes to a position; without one of the iterator's own, as many batches are left out."""
        count = state["count"]
        if "stream" in state:
            for get, put in POSITIONS:
                if hasattr(self._iterator, get) and hasattr(self._iterator, put):
                    getattr(self._iterator, put)(state["stream"])
                    self._waiting.clear()
                    self.count, self.epoch = count, state["epoch"]
                    return
        while self.count < count:
            next(self)


class TrainTask:
    """Data to train on, a loss, an optimizer, and how often to report and save.

    Args:
      labeled_data: an iterator of batches, tuples of arrays [batch, …]: the inputs of the model,
        then what the loss takes beside its outputs, usually targets and weights. Something that
        gives an iterator each time, such as a list or a loader, begins a new epoch at its end.
      loss_layer: a layer from the model's outputs and the rest of the batch to a scalar.
      optimizer: an optimizer. With `Loop(use_memory_efficient_trainer=True)`, a function that makes
        one, such as the class. One of another library is `optimizers.from_optax(tx)`.
      lr_schedule: a function from the number of a step, from 1, to a learning rate; None keeps the
        optimizer's.
      n_steps_per_checkpoint: the model is evaluated and saved after step 1 and every so many steps.
      n_steps_per_permanent_checkpoint: a checkpoint is kept every so many steps; None for none.
      loss_name: name of the loss in reports; by default, the layer's.
      sample_batch: a batch of the shapes and dtypes of all; by default, the first one.
      export_prefix: the folder of this task's logs, where a loop has several; by default, its
        number.

    Raises: TypeError, ValueError: an option has another form.

    Example:
      >>> import numpy
      >>> from weft import layers as tl, optimizers
      >>> from weft.supervised import training
      >>> batch = numpy.ones((4, 3)), numpy.zeros((4, 1)), numpy.ones((4, 1))
      >>> task = training.TrainTask([batch], tl.L2Loss(), optimizers.SGD(0.1))
      >>> task.loss_name, task.learning_rate(1)
      ('L2Loss', 0.1)

    Source: Trax documentation, `supervised.training.TrainTask`.
    """

    def __init__(
        self,
        labeled_data: Any,
        loss_layer: Layer,
        optimizer: Optimizer | Callable[[], Optimizer],
        lr_schedule: Callable[[int], Any] | None = None,
        n_steps_per_checkpoint: int = 100,
        n_steps_per_permanent_checkpoint: int | None = None,
        loss_name: str | None = None,
        sample_batch: Any = None,
        export_prefix: str | None = None,
    ) -> None:
        if not isinstance(loss_layer, Layer):
            raise option_checks.wrong_type("TrainTask", "loss_layer", "a layer", loss_layer)
        if not isinstance(optimizer, Optimizer) and not callable(optimizer):
            raise option_checks.wrong_type(
                "TrainTask", "optimizer", "an optimizer, such as Adam(0.001)", optimizer
            )
        if lr_schedule is not None:
            option_checks.function("TrainTask", "lr_schedule", lr_schedule, "of the step")
        self._loss_layer, self._optimizer, self._lr_schedule = loss_layer, optimizer, lr_schedule
        self._n_steps_per_checkpoint = option_checks.whole_number(
            "TrainTask", "n_steps_per_checkpoint", n_steps_per_checkpoint
        )
        self._n_steps_per_permanent_checkpoint = (
            n_steps_per_permanent_checkpoint
            and option_checks.whole_number(
                "TrainTask", "n_steps_per_permanent_checkpoint", n_steps_per_permanent_checkpoint
            )
        )
        self._loss_name, self._export_prefix = loss_name or loss_layer.name, export_prefix
        self.batches = Batches("TrainTask", labeled_data, sample_batch)
        self._labeled_data = labeled_data

    @property
    def labeled_data(self) -> Any:
        """The data that batches are drawn from."""
        return self._labeled_data

    @property
    def sample_batch(self) -> Any:
        """A batch of the shapes and dtypes of all."""
        return self.batches.sample

    def next_batch(self) -> Any:
        """The next batch; at the end of data that can begin again, the first of a new epoch.

        Raises: EndOfData: the data have ended, and cannot begin again.
        """
        return next(self.batches)

    @property
    def export_prefix(self) -> str | None:
        """The folder of this task's logs, where a loop has several tasks."""
        return self._export_prefix

    @property
    def loss_layer(self) -> Layer:
        """The layer that computes the loss."""
        return self._loss_layer

    @property
    def loss_name(self) -> str:
        """The name of the loss in reports."""
        return self._loss_name

    @property
    def n_steps_per_checkpoint(self) -> int:
        """The number of steps between two checkpoints."""
        return self._n_steps_per_checkpoint

    @property
    def n_steps_per_permanent_checkpoint(self) -> int | None:
        """The number of steps between two checkpoints that are kept."""
        return self._n_steps_per_permanent_checkpoint

    @property
    def optimizer(self) -> Optimizer | Callable[[], Optimizer]:
        """The optimizer, or the function that makes one."""
        return self._optimizer

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step: the schedule's, or the optimizer's own.

        Raises: ValueError: the schedule gives a number that is not finite, or is negative.
        """
        if self._lr_schedule is not None:
            return checked_rate(self._lr_schedule, step)
        optimizer = self._optimizer
        made = optimizer if isinstance(optimizer, Optimizer) else optimizer()
        return float(made.opt_params["learning_rate"])


class EvalTask:
    """Data to evaluate on, and metrics.

    Args:
      labeled_data: an iterator of batches, as for `TrainTask`.
      metrics: layers from the model's outputs and the rest of the batch to scalars.
      metric_names: their names in reports; by default, the layers'.
      n_eval_batches: the number of batches of an evaluation, over which metrics are averaged. Each
        evaluation reads on where the last one ended.
      sample_batch: a batch of the shapes and dtypes of all; by default, the first one.
      export_prefix: the folder of this task's logs, where a loop has several; by default, its
        number.

    Raises: TypeError, ValueError: an option has another form.

    Example:
      >>> import numpy
      >>> from weft import layers as tl
      >>> from weft.supervised import training
      >>> batch = numpy.ones((4, 3)), numpy.zeros(4, int), numpy.ones(4)
      >>> training.EvalTask([batch], [tl.CategoryAccuracy()]).metric_names
      ['CategoryAccuracy']

    Source: Trax documentation, `supervised.training.EvalTask`.
    """

    def __init__(
        self,
        labeled_data: Any,
        metrics: Sequence[Layer],
        metric_names: Sequence[str] | None = None,
        n_eval_batches: int = 1,
        sample_batch: Any = None,
        export_prefix: str | None = None,
    ) -> None:
        metrics = [metrics] if isinstance(metrics, Layer) else list(metrics)
        for metric in metrics:
            if not isinstance(metric, Layer):
                raise option_checks.wrong_type("EvalTask", "metrics", "layers", metric)
        names = [m.name for m in metrics] if metric_names is None else list(metric_names)
        if len(names) != len(metrics):
            raise noted(
                ValueError(
                    f"EvalTask: {len(metrics)} metrics need as many metric_names; got {len(names)}"
                )
            )
        self._metrics, self._metric_names = metrics, names
        self._n_eval_batches = option_checks.whole_number(
            "EvalTask", "n_eval_batches", n_eval_batches
        )
        self.batches = Batches("EvalTask", labeled_data, sample_batch)
        self._labeled_data, self._export_prefix = labeled_data, export_prefix

    @property
    def labeled_data(self) -> Any:
        """The data that batches are drawn from."""
        return self._labeled_data

    @property
    def sample_batch(self) -> Any:
        """A batch of the shapes and dtypes of all."""
        return self.batches.sample

    def next_batch(self) -> Any:
        """The next batch; see `TrainTask.next_batch`."""
        return next(self.batches)

    @property
    def export_prefix(self) -> str | None:
        """The folder of this task's logs, where a loop has several tasks."""
        return self._export_prefix

    @property
    def metrics(self) -> list[Layer]:
        """The layers that compute metrics."""
        return self._metrics

    @property
    def metric_names(self) -> list[str]:
        """The names of the metrics in reports."""
        return self._metric_names

    @property
    def n_eval_batches(self) -> int:
        """The number of batches of an evaluation."""
        return self._n_eval_batches


def as_tuple_of_arrays(owner: str, batch: Any) -> tuple[Any, ...]:
    """A batch as a tuple of arrays.

    Raises: TypeError: it is something else.
    """
    if not isinstance(batch, tuple | list):
        raise noted(
            TypeError(
                f"{owner}: a batch must be a tuple of arrays: inputs, targets, …; got "
                f"{type(batch).__name__}"
            )
        )
    return tuple(x if hasattr(x, "shape") else onp.asarray(x) for x in batch)
