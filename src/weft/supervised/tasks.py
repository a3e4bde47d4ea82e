"""TrainTask combines data with a loss and an optimizer, EvalTask combines data with metrics.
Batches draws from the data: it begins new epochs, counts batches, and has a position. EndOfData is
raised when data end and cannot begin again.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as onp

from .. import option_checks
from ..core.array import Array
from ..layers.base import Layer
from ..optimizers.base import Optimizer
from ..user_lines import noted
from .lr_schedules import checked_rate

__all__ = ["Batches", "EndOfData", "EvalTask", "TrainTask"]

POSITIONS = (("get_state", "set_state"), ("state_dict", "load_state_dict"))
"""The methods that get and set a position, of iterators of grain and weft, and of PyTorch."""


class EndOfData(Exception):
    """Raised when the data have ended and cannot begin again."""


class Batches:
    """Draws batches from data, and begins a new epoch when they end.

    Args:
      owner: the name of the task, for errors.
      data: an iterator, or an iterable such as a list of batches or a loader. A generator cannot
        begin again.
      sample: a batch with the shapes of all batches; by default the first one, which `next` still
        returns.
    """

    def __init__(self, owner: str, data: Any, sample: Any = None) -> None:
        if not (hasattr(data, "__next__") or hasattr(data, "__iter__")) or isinstance(data, str):
            raise noted(
                TypeError(
                    f"{owner}: labeled_data must be an iterator of batches; got "
                    f"{type(data).__name__}\n"
                    "  fix: call a function that makes batches, such as data.Serial(…), with ()"
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
        self.sample = as_tuple_of_arrays(owner, sample)

    def __next__(self) -> Any:
        batch = self._waiting.pop() if self._waiting else self._drawn()
        self.count += 1
        return as_tuple_of_arrays(self._owner, batch)

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
        for getter, setter in POSITIONS:
            if self.count and hasattr(self._iterator, getter) and hasattr(self._iterator, setter):
                state["stream"] = getattr(self._iterator, getter)()
                break
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Sets the position. An iterator without positions skips the batches before it."""
        count = state["count"]
        if "stream" in state:
            for getter, setter in POSITIONS:
                if hasattr(self._iterator, getter) and hasattr(self._iterator, setter):
                    getattr(self._iterator, setter)(state["stream"])
                    self._waiting.clear()
                    self.count, self.epoch = count, state["epoch"]
                    return
        while self.count < count:
            next(self)


class TrainTask:
    """Data to train on, a loss, an optimizer, and how often to report and save.

    Args:
      labeled_data: an iterator of batches, tuples of arrays [batch, …]: the inputs of the model,
        then the further inputs of the loss, usually targets and weights. After an iterable ends,
        such as a list or a loader, a new epoch begins.
      loss_layer: a layer that maps the model's outputs and the rest of the batch to a scalar.
      optimizer: an optimizer. With `Loop(use_memory_efficient_trainer=True)`, a function that makes
        an optimizer, such as its class. For optax, use `optimizers.from_optax(tx)`.
      lr_schedule: a function from the number of a step, from 1, to a learning rate; None uses the
        optimizer's own rate.
      n_steps_per_checkpoint: the model is evaluated and saved after step 1 and after multiples of
        this number.
      n_steps_per_permanent_checkpoint: steps between two checkpoints that are kept permanently;
        None keeps none.
      loss_name: the name of the loss in reports; by default, the layer's name.
      sample_batch: a batch whose shapes and dtypes are those of all batches; by default, the first
        batch.
      export_prefix: the folder of this task's logs, if a loop has several tasks; by default, the
        task's number.

    Raises: TypeError, ValueError: an option is invalid.

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
            _check_takes_a_step(lr_schedule)
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
        """The data from which batches are drawn."""
        return self._labeled_data

    @property
    def sample_batch(self) -> Any:
        """A batch with the shapes and dtypes of all batches."""
        return self.batches.sample

    def next_batch(self) -> Any:
        """The next batch. When the data end, the first batch of a new epoch, if the data can begin
        again.

        Raises: EndOfData: the data have ended, and cannot begin again.
        """
        return next(self.batches)

    @property
    def export_prefix(self) -> str | None:
        """The folder of this task's logs, if a loop has several tasks."""
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
        """The number of steps between two permanent checkpoints."""
        return self._n_steps_per_permanent_checkpoint

    @property
    def optimizer(self) -> Optimizer | Callable[[], Optimizer]:
        """The optimizer, or the function that makes it."""
        return self._optimizer

    def learning_rate(self, step: int) -> float:
        """The learning rate of a step: the schedule's, or the optimizer's own.

        Raises: ValueError: the schedule returns a number that is negative or not finite.
        """
        if self._lr_schedule is not None:
            return checked_rate(self._lr_schedule, step)
        optimizer = self._optimizer
        instance = optimizer if isinstance(optimizer, Optimizer) else optimizer()
        return float(instance.opt_params["learning_rate"])


class EvalTask:
    """Data to evaluate on, and metrics.

    Args:
      labeled_data: an iterator of batches, as for `TrainTask`.
      metrics: one or several layers that map the model's outputs and the rest of the batch to
        scalars.
      metric_names: their names in reports; by default, the layers' names.
      n_eval_batches: the number of batches of an evaluation, over which metrics are averaged. Each
        evaluation continues where the last one ended.
      sample_batch: a batch whose shapes and dtypes are those of all batches; by default, the first
        batch.
      export_prefix: the folder of this task's logs, if a loop has several tasks; by default, the
        task's number.

    Raises: TypeError, ValueError: an option is invalid.

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
        metrics: Layer | Sequence[Layer],
        metric_names: str | Sequence[str] | None = None,
        n_eval_batches: int = 1,
        sample_batch: Any = None,
        export_prefix: str | None = None,
    ) -> None:
        layers: list[Any] = list(metrics) if isinstance(metrics, list | tuple) else [metrics]
        for metric in layers:
            if not isinstance(metric, Layer):
                raise option_checks.wrong_type(
                    "EvalTask", "metrics", "a layer, or a list of layers", metric
                )
        if isinstance(metric_names, str):
            metric_names = [metric_names]
        names = [m.name for m in layers] if metric_names is None else list(metric_names)
        if len(names) != len(layers):
            raise noted(
                ValueError(
                    f"EvalTask: {len(layers)} metrics need as many metric_names; got {len(names)}"
                )
            )
        self._metrics, self._metric_names = layers, names
        self._n_eval_batches = option_checks.whole_number(
            "EvalTask", "n_eval_batches", n_eval_batches
        )
        self.batches = Batches("EvalTask", labeled_data, sample_batch)
        self._labeled_data, self._export_prefix = labeled_data, export_prefix

    @property
    def labeled_data(self) -> Any:
        """The data from which batches are drawn."""
        return self._labeled_data

    @property
    def sample_batch(self) -> Any:
        """A batch with the shapes and dtypes of all batches."""
        return self.batches.sample

    def next_batch(self) -> Any:
        """The next batch; see `TrainTask.next_batch`."""
        return next(self.batches)

    @property
    def export_prefix(self) -> str | None:
        """The folder of this task's logs, if a loop has several tasks."""
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
    """A batch as a tuple of arrays; tensors of other libraries become NumPy arrays.

    Raises: TypeError: it is not a tuple of arrays, or it has strings, objects or rows of several
      lengths.
    """
    if type(batch) is tuple and all(type(x) is onp.ndarray and x.dtype.kind in NUMBERS
                                    for x in batch):  # fmt: skip
        return batch
    if not isinstance(batch, tuple | list):
        fix = "(inputs, targets)"
        if isinstance(batch, Mapping):
            fix = f"data.Serial(data.Examples(…, keys={list(batch)}))()"
        raise noted(
            TypeError(
                f"{owner}: a batch must be a tuple of arrays: inputs, targets, …; got "
                f"{type(batch).__name__}\n  fix: {fix}"
            )
        )
    return tuple(_as_array(owner, place, x) for place, x in enumerate(batch))


NUMBERS = "biufcV"
"""The dtype kinds of numbers; bfloat16 and other dtypes that NumPy lacks are of kind V."""


def _as_array(owner: str, place: int, x: Any) -> Any:
    """An array of a batch, as a NumPy or weft array."""
    if isinstance(x, Array):
        return x
    fix = "arrays of numbers; data.Batch(…) pads rows to one length"
    if isinstance(x, tuple | list) and any(hasattr(row, "shape") for row in x):
        wrong, fix = f"is a {type(x).__name__} of arrays", "a flat tuple: (inputs, …, targets)"
    else:
        try:
            array = onp.asarray(x.detach().cpu() if hasattr(x, "detach") else x)
        except (TypeError, ValueError) as error:
            wrong = f"is not an array: {error}"
        else:
            if array.dtype.kind in NUMBERS:
                return array
            wrong = f"has values of {array.dtype}"
            if array.dtype.kind in "US":
                fix = "data.Tokenize(…) makes numbers of texts"
    raise noted(TypeError(f"{owner}: element {place} of a batch {wrong}\n  fix: {fix}"))


def _check_takes_a_step(schedule: Callable[..., Any]) -> None:
    """Raises an error for a function that cannot be called with just a step."""
    try:
        inspect.signature(schedule).bind(1)
    except TypeError:
        name = getattr(schedule, "__name__", repr(schedule))
        called = f"{name}({', '.join(inspect.signature(schedule).parameters)})"
        raise noted(
            TypeError(
                f"TrainTask: lr_schedule must be a function of the step alone; got {called}\n"
                f"  fix: its result, {name}(…)"
            )
        ) from None
    except ValueError:  # C functions have no signature
        return
