"""Trainer: one compiled step of training, forward, backward and update, on one device or several.

ReversibleSerialTrainer and its functions come from `reversible_trainer.py`.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as onp

from .. import fastmath, option_checks
from ..errors import ShapeError
from ..fastmath import numpy as jnp, tree_leaves
from ..layers.acceleration import Accelerate, checked_device_count
from ..layers.base import Layer
from ..sharding import Mesh, NamedSharding, PartitionSpec
from ..transforms.devices.devices import devices, local_devices, process_count
from ..transforms.devices.make_array import make_array_from_process_local_data
from ..transforms.jit.function import jit
from ..tree_util import tree_map
from ..user_lines import noted
from .base import Optimizer
from .reversible_trainer import (
    ReversibleSerialTrainer,
    extract_reversible_blocks,
    init_reversible_blocks,
)

__all__ = [
    "ReversibleSerialTrainer",
    "Trainer",
    "extract_reversible_blocks",
    "init_reversible_blocks",
]

GROWTH_INTERVAL = 2000
"""The number of steps with finite gradients after which the scale of the loss is doubled."""


class LossScale(NamedTuple):
    """The scale of a loss that is computed in 16 bits, and the number of finite steps since it
    changed."""

    factor: Any
    finite_steps: Any


class Trainer:
    """Trains a model: each step computes a loss and its gradients, and updates the weights.

    The step is compiled once. On several devices it is one program for all of them: each device has
    the weights and computes a part of the batch. The number of devices must divide the batch. With
    several processes, each process passes its own part of the batch.

    Args:
      model_with_loss: a layer from a batch to a scalar loss, such as
        `tl.Serial(model, tl.CrossEntropyLoss())`, initialized.
      optimizer: an optimizer. Its `tree_init` is called with the weights, unless it was called
        before.
      n_devices: the number of devices of this process; by default, all.
      adasum: whether the gradients of the devices are merged by Adasum, which averages parallel
        parts and adds orthogonal ones, before they are averaged. The number of devices must be a
        power of 2.
      accumulation_steps: the number of parts into which a batch is divided. They are computed one
        after the other, and their gradients are averaged, so a large batch needs the memory of one
        part.
      loss_scale: None; a factor of the loss, which keeps small gradients in the range of float16;
        or "dynamic": the factor starts at 2¹⁵, is halved when gradients overflow (that step is
        skipped), and is doubled after 2,000 steps without overflow.

    A step whose loss or gradients are NaN or infinite does not change weights, state or slots.

    Raises:
      TypeError, ValueError: an option is invalid, or there are fewer devices.
      ShapeError (in a step): the loss is not a scalar, or the devices do not divide the batch.

    Example:
      >>> from weft import layers as tl, optimizers
      >>> model = tl.Serial(tl.Dense(1), tl.L2Loss())
      >>> x, y, weights = np.ones((8, 3)), np.zeros((8, 1)), np.ones((8, 1))
      >>> _ = model.init((x, y, weights))
      >>> trainer = optimizers.Trainer(model, optimizers.SGD(0.1))
      >>> losses = [float(trainer.one_step((x, y, weights), random.PRNGKey(0))[0]) for _ in "abc"]
      >>> losses[0] > losses[1] > losses[2]
      True

    Sources: Trax documentation, `optimizers.trainer.Trainer`; Maleki et al. (2020), Scaling
    Distributed Training with Adaptive Summation; Micikevicius et al. (2018), Mixed Precision
    Training.
    """

    def __init__(
        self,
        model_with_loss: Layer,
        optimizer: Optimizer,
        n_devices: int | None = None,
        adasum: bool = False,
        *,
        accumulation_steps: int = 1,
        loss_scale: float | str | None = None,
    ) -> None:
        if not isinstance(model_with_loss, Layer):
            raise option_checks.wrong_type("Trainer", "model_with_loss", "a layer", model_with_loss)
        if not isinstance(optimizer, Optimizer):
            raise option_checks.wrong_type(
                "Trainer", "optimizer", "an optimizer, such as Adam(0.001)", optimizer
            )
        self._model_with_loss, self._optimizer = model_with_loss, optimizer
        self._n_devices = checked_device_count(
            "Trainer", n_devices or fastmath.local_device_count()
        )
        self._adasum = option_checks.flag("Trainer", "adasum", adasum)
        self._parts = option_checks.whole_number(
            "Trainer", "accumulation_steps", accumulation_steps
        )
        self._scales_dynamically = loss_scale == "dynamic"
        self.loss_scale = _checked_scale(loss_scale)
        if optimizer.slots is None:
            optimizer.tree_init(model_with_loss.weights)
        self._opt_params = dict(optimizer.opt_params)
        self._n_parts = self._n_devices * process_count() if self._adasum else 1
        if self._n_parts & (self._n_parts - 1):
            raise noted(
                ValueError(
                    f"Trainer: adasum needs a number of devices that is a power of 2; got "
                    f"{self._n_parts}"
                )
            )
        self._step, self._batch_sharding = self._compiled()
        self.read()

    @property
    def model_with_loss(self) -> Layer:
        """The layer from a batch to a loss."""
        return self._model_with_loss

    @property
    def accelerated_model_with_loss(self) -> Accelerate:
        """The compiled layer from a batch to a loss; for one device."""
        return Accelerate(self._model_with_loss, 1)

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer."""
        return self._optimizer

    @property
    def n_devices(self) -> int:
        """The number of devices of this process that are used."""
        return self._n_devices

    @property
    def slots(self) -> Any:
        """The optimizer's state, one item for each array of weights."""
        return self._optimizer.slots

    @slots.setter
    def slots(self, slots: Any) -> None:
        self._optimizer.slots = slots
        self._slots = slots

    def one_step(
        self, batch: Any, rng: Any, step: int = 0, learning_rate: float | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Trains on a batch: changes the weights and the state of the model, and the slots.

        Args:
          batch: the inputs of `model_with_loss`, usually (inputs, targets, weights), with arrays
            [batch, …].
          rng: random key. The keys of a step are derived from it and from `step`.
          step: number of the step, which optimizers use.
          learning_rate: replaces the optimizer's learning rate, for this and later steps.
        Returns: (loss, stats). The stats are scalars: "loss", "gradients_l2" before clipping, and
          "weights_l2" before the update.
        """
        self.read()
        loss, stats = self.advance(batch, rng, step, learning_rate)
        self.write()
        return loss, stats

    def read(self) -> None:
        """Reads the current weights and state of the model, and the optimizer's slots."""
        model = self._model_with_loss
        self._weights, self._state = model.weights, model.state
        self._slots = self._optimizer.slots
        self._is_shared, self._has_stopped = True, False

    def write(self) -> None:
        """Writes the weights, state and slots of the last step to the model and the optimizer."""
        self._model_with_loss.weights = self._weights
        self._model_with_loss.state = self._state
        self._optimizer.slots = self._slots
        self._is_shared = True

    def advance(
        self, batch: Any, rng: Any, step: int, learning_rate: float | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Trains on a batch like `one_step`, but does not update the model until `write`. This
        saves a loop over many steps the time of setting each layer's weights.
        """
        if learning_rate is not None:
            self._opt_params["learning_rate"] = learning_rate
        batch = self.placed(batch)
        if self._donates and self._is_shared:  # shared arrays must not be donated
            arrays = (self._weights, self._state, self._slots)
            self._weights, self._state, self._slots = tree_map(jnp.copy, arrays)
            self._is_shared = False
        self._weights, self._state, self._slots, guard, stats = self._step(
            self._weights,
            self._state,
            self._slots,
            (self._has_stopped, self.loss_scale),
            self._opt_params,
            batch,
            rng,
            step,
        )
        self._has_stopped, self.loss_scale = guard
        return stats["loss"], stats

    def _compiled(self) -> tuple[Callable[..., Any], Any]:
        """The compiled step, and the sharding of batches if there are several devices."""
        if not fastmath.is_backend(fastmath.Backend.JAX):
            self._donates = False
            return fastmath.jit(self._update), None
        self._donates = local_devices()[0].platform != "cpu"  # donation does not help on XLA's CPU
        donated = (0, 1, 2, 3) if self._donates else ()
        if self._n_devices * process_count() == 1:
            return jit(self._update, donate_argnums=donated), None
        chosen = devices() if process_count() > 1 else local_devices()[: self._n_devices]
        mesh = Mesh(onp.array(chosen), ("batch",))
        whole, divided = (
            NamedSharding(mesh, PartitionSpec()),
            NamedSharding(mesh, PartitionSpec("batch")),
        )
        shardings = (whole, whole, whole, whole, whole, divided, whole, whole)
        step = jit(
            self._update, in_shardings=shardings, out_shardings=whole, donate_argnums=donated
        )
        return step, divided

    def placed(self, batch: Any) -> Any:
        """The batch, divided among the devices of all processes if there are several."""
        if self._batch_sharding is None:
            return batch
        n = self._n_devices
        for leaf in tree_leaves(batch):
            shape = onp.shape(leaf)
            if not shape or shape[0] % n:
                raise noted(
                    ShapeError(
                        f"Trainer: {n} devices must divide the batch, the first axis of each "
                        f"array; got an array of shape {shape}\n"
                        f"  fix: a batch of a multiple of {n}, or n_devices=1"
                    )
                )
        if process_count() == 1:
            return batch
        place = functools.partial(make_array_from_process_local_data, self._batch_sharding)
        return tree_map(lambda leaf: place(onp.asarray(leaf)), batch)

    def _update(
        self,
        weights: Any,
        state: Any,
        slots: Any,
        guard: tuple[Any, LossScale | None],
        opt_params: Any,
        batch: Any,
        rng: Any,
        step: Any,
    ) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """The compiled step: new weights, state, slots and guard, and the stats.

        A step whose loss or gradients are not finite changes nothing. Without loss scaling, later
        steps do not change anything either, until `read`; so the weights stay as they were before
        the bad step.
        """
        has_stopped, scale = guard
        rng = fastmath.random.fold_in(rng, step)
        factor = None if scale is None else scale.factor
        loss, new_state, gradients = self._gradients(weights, state, batch, rng, factor)
        if factor is not None:
            gradients = tree_map(lambda g: g / factor.astype(g.dtype), gradients)
        new_weights, new_slots, metrics = self._optimizer.tree_update(
            step, gradients, weights, slots, opt_params, store_slots=False
        )
        is_finite = jnp.isfinite(loss) & jnp.isfinite(metrics["gradients_l2"])
        is_kept = is_finite if scale is not None else is_finite & ~jnp.asarray(has_stopped)
        if scale is None:
            has_stopped = ~is_kept
        else:
            scale = self._next_scale(scale, is_finite)
        new, old = (new_weights, new_state, new_slots), (weights, state, slots)
        results = tree_map(functools.partial(jnp.where, is_kept), new, old)
        return *results, (has_stopped, scale), {**metrics, "loss": loss}

    def _gradients(
        self, weights: Any, state: Any, batch: Any, rng: Any, factor: Any
    ) -> tuple[Any, Any, Any]:
        """(loss, new state, gradients), averaged over the parts of the batch."""

        def scaled(weights: Any, state: Any, batch: Any, rng: Any) -> tuple[Any, tuple[Any, Any]]:
            loss, new_state = self._model_with_loss.pure_fn(batch, weights, state, rng)
            loss = _scalar(loss)
            return (loss if factor is None else loss * factor), (loss, new_state)

        value_and_grad = fastmath.value_and_grad(scaled, has_aux=True)

        def one(state: Any, batch: Any, rng: Any) -> tuple[Any, Any, Any]:
            (_, (loss, new_state)), gradients = value_and_grad(weights, state, batch, rng)
            return loss, new_state, gradients

        if self._n_parts > 1:
            one = self._merging(one)
        if self._parts == 1:
            return one(state, batch, rng)

        def body(carry: Any, part: Any) -> tuple[Any, None]:
            total, state = carry
            loss, state, gradients = one(state, *part)
            return (tree_map(jnp.add, total, (loss, gradients)), state), None

        parts = _cut("accumulation_steps", batch, self._parts)
        zeros = tree_map(jnp.zeros_like, (jnp.zeros((), jnp.float32), weights))
        (total, state), _ = fastmath.scan(
            body, (zeros, state), (parts, fastmath.random.split(rng, self._parts))
        )
        loss, gradients = tree_map(lambda x: x / self._parts, total)
        return loss, state, gradients

    def _merging(self, one: Callable[..., Any]) -> Callable[..., Any]:
        """The gradients of each device's part of the batch, merged by Adasum and averaged."""
        n = self._n_parts

        def all_parts(state: Any, batch: Any, rng: Any) -> tuple[Any, Any, Any]:
            parts = _cut("n_devices", batch, n)
            loss, states, gradients = fastmath.vmap(one, in_axes=(None, 0, 0))(
                state, parts, fastmath.random.split(rng, n)
            )
            gradients = tree_map(lambda g: jnp.mean(g, axis=0), _adasum(gradients, n))
            return jnp.mean(loss), tree_map(lambda s: s[0], states), gradients

        return all_parts

    def _next_scale(self, scale: LossScale, is_finite: Any) -> LossScale:
        """The scale after a step; a fixed scale does not change."""
        if not self._scales_dynamically:
            return scale
        steps = jnp.where(is_finite, scale.finite_steps + 1, 0)
        grows = steps == GROWTH_INTERVAL
        factor = jnp.where(is_finite, scale.factor, jnp.maximum(scale.factor / 2, 1.0))
        factor = jnp.where(grows & (factor < 2.0**24), factor * 2, factor)
        return LossScale(factor, jnp.where(grows, 0, steps))


def _checked_scale(loss_scale: float | str | None) -> LossScale | None:
    """The initial scale."""
    if loss_scale is None:
        return None
    if isinstance(loss_scale, str):
        option_checks.choice("Trainer", "loss_scale", loss_scale, ("dynamic",))
        loss_scale = 2.0**15
    factor = option_checks.number("Trainer", "loss_scale", loss_scale, above=0)
    return LossScale(jnp.asarray(factor, jnp.float32), jnp.asarray(0, jnp.int32))


def _scalar(loss: Any) -> Any:
    """The loss, which must be one number; unused parts of the batch may follow it."""
    if isinstance(loss, tuple) and loss:
        loss = loss[0]
    if not hasattr(loss, "shape") or tuple(loss.shape):
        what = f"shape {tuple(loss.shape)}" if hasattr(loss, "shape") else type(loss).__name__
        raise ShapeError(
            f"Trainer: the loss must be a scalar; the model with its loss gave {what}\n"
            "  fix: end it with a loss such as tl.CrossEntropyLoss()"
        )
    return loss


def _cut(option: str, batch: Any, n: int) -> Any:
    """A batch divided into `n` batches: each array gets a new first axis."""

    def cut(leaf: Any) -> Any:
        if not leaf.shape or leaf.shape[0] % n:
            raise ShapeError(
                f"Trainer: {option}={n} must divide the batch, the first axis of each array; got "
                f"an array of shape {tuple(leaf.shape)}"
            )
        return jnp.reshape(leaf, (n, leaf.shape[0] // n, *leaf.shape[1:]))

    return tree_map(cut, batch)


def _adasum(gradients: Any, n: int) -> Any:
    """Merges gradients [n, …] of n devices, a power of 2, by pairs. Afterwards all n are equal.

    Maleki et al. (2020), Scaling Distributed Training with Adaptive Summation, equation 4.
    """

    def merged(mine: Any, other: Any) -> Any:
        axes = tuple(range(1, mine.ndim))
        dot = jnp.sum(mine * other, axis=axes, keepdims=True)
        squares = [jnp.sum(g * g, axis=axes, keepdims=True) for g in (mine, other)]
        my_factor, other_factor = [1 - dot / (2 * square + 1e-30) for square in squares]
        return my_factor * mine + other_factor * other

    distance = 1
    while distance < n:
        partner = onp.arange(n) ^ distance
        gradients = tree_map(lambda g, at=partner: merged(g, g[at]), gradients)
        distance *= 2
    return gradients
