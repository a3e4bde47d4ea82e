"""ReversibleSerialTrainer: training in memory that does not grow with reversible layers.

The forward pass keeps only the inputs of standard layers and the last outputs. The backward pass
recomputes the inputs of each reversible layer from its outputs, and updates a layer's weights as
soon as their gradients are known. extract_reversible_blocks splits a model into blocks for it, and
init_reversible_blocks initializes them. Sources: Gomez, Ren, Urtasun, Grosse (2017), The Reversible
Residual Network; Kitaev, Kaiser, Levskaya (2020), Reformer.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as onp

from .. import fastmath, option_checks
from ..dtypes import float0
from ..errors import ShapeError
from ..fastmath import nested_map, numpy as jnp, tree_leaves
from ..layers.acceleration import checked_device_count, on_cpu
from ..layers.attention_gradients import is_gradient, is_inexact, vjp_of_inexact
from ..layers.base import Layer
from ..layers.reversible import ReversibleLayer
from ..layers.serial import (
    Serial,
    as_tuple,
    assembled,
    inputs_from_stack,
    outputs_onto_stack,
    packed,
)
from ..shapes import signature
from ..sharding import Mesh, NamedSharding, PartitionSpec
from ..transforms.devices.device_put import device_put
from ..transforms.devices.devices import local_devices
from ..user_lines import noted
from .base import Optimizer

__all__ = ["ReversibleSerialTrainer", "extract_reversible_blocks", "init_reversible_blocks"]

Block = tuple[Sequence[Layer], Sequence[ReversibleLayer]]
BORDERS = ("StripFromConcatenateWithPadding", "Select")
"""The chunked part of a loss begins after the last layer with one of these names."""
ENDS = ("Dense", "LogSoftmax", "_CrossEntropy", "_WeightedMean")
"""The last layers of a chunked loss."""


class ReversibleSerialTrainer:
    """Trains `Serial(all blocks, loss_layer)` one layer at a time, with memory for one layer. Each
    standard part, each reversible layer and the loss have their own optimizer, so clipping and
    gradient norms are per layer. The blocks must not share weights.

    Args:
      blocks: pairs (standard layers, reversible layers), in order, initialized.
      loss_layer: a layer from the stack after the blocks to a scalar, initialized.
      optimizer_fn: a function without arguments that makes an optimizer, such as the class.
      n_devices: the number of this process's devices among which each batch is divided; by default,
        all.
      memoize_jit: False recompiles a layer's functions at every step.
      free_accelerators_on_step: no effect; buffers are always freed as soon as they are unused.
      adasum: must be False, because the gradients of a layer are computed over all devices at once.

    Raises: TypeError, ValueError: an option is invalid.

    Example:
      >>> from weft import layers as tl, optimizers
      >>> half = lambda: tl.ReversibleHalfResidual(tl.Dense(2))
      >>> layers = [tl.Dup(), half(), tl.ReversibleSwap(), half(), tl.Add(), tl.L2Loss()]
      >>> blocks, loss_layer = optimizers.extract_reversible_blocks(layers)
      >>> x, y, weights = np.ones((8, 2)), np.zeros((8, 2)), np.ones((8, 2))
      >>> key = random.PRNGKey(0)
      >>> optimizers.init_reversible_blocks(blocks, loss_layer, (x, y, weights), key)
      >>> trainer = optimizers.ReversibleSerialTrainer(blocks, loss_layer, optimizers.SGD)
      >>> losses = [float(trainer.one_step((x, y, weights), key)[0]) for _ in "abc"]
      >>> losses[0] > losses[1] > losses[2]
      True

    Source: Trax documentation, `optimizers.trainer.ReversibleSerialTrainer`.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        loss_layer: Layer,
        optimizer_fn: Callable[[], Optimizer],
        n_devices: int | None = None,
        memoize_jit: bool = True,
        free_accelerators_on_step: bool = False,
        adasum: bool = False,
    ) -> None:
        name = type(self).__name__
        option_checks.function(name, "optimizer_fn", optimizer_fn, "that makes an optimizer")
        option_checks.flag(name, "free_accelerators_on_step", free_accelerators_on_step)
        if option_checks.flag(name, "adasum", adasum):
            raise option_checks.wrong_value(name, "adasum", "False", adasum)
        self._memoize = option_checks.flag(name, "memoize_jit", memoize_jit)
        self._loss_layer, self._optimizer_fn = loss_layer, optimizer_fn
        self._n_devices = checked_device_count(name, n_devices or fastmath.local_device_count())
        self._blocks: list[tuple[_Part, list[_Part]]] = []
        for standard, reversible in blocks:
            first = _Part(assembled(*standard), optimizer_fn(), False)
            rest = [_Part(layer, optimizer_fn(), True) for layer in reversible]
            self._blocks.append((first, rest))
        self._loss = _Part(loss_layer, optimizer_fn(), False)
        mesh = Mesh(onp.array(local_devices()[: self._n_devices]), ("batch",))
        self._whole = NamedSharding(mesh, PartitionSpec())
        self._divided = NamedSharding(mesh, PartitionSpec("batch"))

    @property
    def loss_layer(self) -> Layer:
        """The layer that computes the loss."""
        return self._loss_layer

    @property
    def all_layers(self) -> list[Layer]:
        """All layers in order: standard parts, reversible layers, and last the loss."""
        return [part.layer for part in self._parts()]

    @property
    def optimizer_fn(self) -> Callable[[], Optimizer]:
        """The function that makes an optimizer."""
        return self._optimizer_fn

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer of the loss layer."""
        return self._loss.optimizer

    @property
    def n_devices(self) -> int:
        """The number of devices that are used."""
        return self._n_devices

    @property
    def slots(self) -> Any:
        """The optimizers' state: (standard, [reversible, …]) for each block, then the loss."""
        blocks = [
            (a.optimizer.slots, [b.optimizer.slots for b in rest]) for a, rest in self._blocks
        ]
        return [*blocks, self._loss.optimizer.slots]

    @slots.setter
    def slots(self, slots: Any) -> None:
        *blocks, loss = slots
        for (first, rest), (slot, others) in zip(self._blocks, blocks, strict=True):
            first.optimizer.slots = slot
            for part, other in zip(rest, others, strict=True):
                part.optimizer.slots = other
        self._loss.optimizer.slots = loss

    def one_step(
        self, batch: Any, rng: Any, step: int = 0, learning_rate: float | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Trains on a batch: changes the weights and the state of each layer, and its slots.

        Args:
          batch: the inputs of the first block, and further inputs of later layers.
          rng: random key. The keys of a step are derived from it and from `step`.
          step: number of the step, which optimizers use.
          learning_rate: replaces the optimizers' learning rate, for this and later steps.
        Returns: (loss, stats). The stats are those of each layer, "layer0/gradients_l2" and so on,
          counted from the inputs.
        """
        if not self._memoize:
            for part in self._parts():
                part.compile()
        if learning_rate is not None:
            for part in self._parts():
                part.opt_params["learning_rate"] = learning_rate
        stack = as_tuple(self.placed(batch))
        keys = iter(fastmath.random.split(fastmath.random.fold_in(rng, step), len(self._parts())))
        done: list[tuple[_Part, Any, Any, Any, Any]] = []  # (part, inputs if kept, states, key)
        for first, rest in self._blocks:
            for part in (first, *rest):
                key = next(keys)
                inputs = inputs_from_stack(stack, part.layer.n_in)
                state = part.layer.state
                outputs, new_state = part.forward(
                    inputs, self._on_devices(part.layer.weights), state, key
                )
                stack = as_tuple(outputs_onto_stack(outputs, stack, part.layer.n_in))
                done.append((part, None if part.is_reversible else inputs, state, new_state, key))
        loss_in = inputs_from_stack(stack, self._loss.layer.n_in)
        loss, grads, stats = self._backward_of_loss(loss_in, next(keys), step)
        everything = {len(done): stats}
        below = stack[self._loss.layer.n_in :]
        all_grads = as_tuple(outputs_onto_stack(grads, (loss, *[None] * len(below)), 1))
        while done:
            part, inputs, state, new_state, key = done.pop()
            n = part.layer.n_out
            ct = as_tuple(inputs_from_stack(all_grads, n))
            outputs = inputs_from_stack(stack, n)
            values = outputs if part.is_reversible else inputs
            inputs, ct, stats = self._backward(part, values, new_state, ct, state, key, step)
            stack = as_tuple(outputs_onto_stack(inputs, stack, n))
            all_grads = as_tuple(outputs_onto_stack(ct, all_grads, n))
            part.layer.state = new_state
            everything[len(done)] = stats
        return loss, {
            f"layer{i}/{name}": value
            for i in sorted(everything)
            for name, value in everything[i].items()
        }

    def read(self) -> None:
        """Does nothing, because the layers themselves have the weights."""

    write = read

    advance = one_step

    def _parts(self) -> list["_Part"]:
        return [part for first, rest in self._blocks for part in (first, *rest)] + [self._loss]

    def _on_devices(self, tree: Any) -> Any:
        """Copies weights or slots from host memory to the devices."""
        return tree if self._n_devices == 1 else device_put(tree, self._whole)

    def placed(self, batch: Any) -> Any:
        """The batch, divided among the devices if there are several."""
        if self._n_devices == 1:
            return batch
        for leaf in tree_leaves(batch):
            if onp.shape(leaf)[:1] == () or onp.shape(leaf)[0] % self._n_devices:
                raise noted(
                    ShapeError(
                        f"ReversibleSerialTrainer: {self._n_devices} devices must divide the "
                        f"batch; got an array of shape {onp.shape(leaf)}"
                    )
                )
        return nested_map(lambda leaf: device_put(leaf, self._divided), batch)

    def _backward_of_loss(self, inputs: Any, key: Any, step: int) -> tuple[Any, Any, Any]:
        part = self._loss
        loss, grads, weights, new_state, slots, stats = part.value_and_backward(
            inputs,
            self._on_devices(part.layer.weights),
            part.layer.state,
            self._on_devices(part.slots),
            part.opt_params,
            key,
            step,
        )
        part.layer.state = new_state
        part.keep(weights, slots)
        return loss, grads, stats

    def _backward(
        self, part: "_Part", values: Any, new_state: Any, ct: Any, state: Any, key: Any, step: int
    ) -> tuple[Any, Any, Any]:
        """(inputs, their gradients, stats) of a part, whose weights are updated."""
        inputs, grads, weights, slots, stats = part.backward(
            values,
            ct,
            self._on_devices(part.layer.weights),
            state,
            new_state,
            self._on_devices(part.slots),
            part.opt_params,
            key,
            step,
        )
        part.keep(weights, slots)
        return inputs, grads, stats


class _Part:
    """A layer with its optimizer, and the compiled functions of both."""

    def __init__(self, layer: Layer, optimizer: Optimizer, is_reversible: bool) -> None:
        self.layer, self.optimizer, self.is_reversible = layer, optimizer, is_reversible
        self.has_weights = bool(tree_leaves(layer.weights))
        optimizer.tree_init(layer.weights)
        self.opt_params = dict(optimizer.opt_params)
        self.compile()

    @property
    def slots(self) -> Any:
        return self.optimizer.slots

    def compile(self) -> None:
        """Drops the compiled programs."""
        self.forward = fastmath.jit(self.layer.pure_fn)
        self.backward = fastmath.jit(self._reversed if self.is_reversible else self._pulled_back)
        self.value_and_backward = fastmath.jit(self._loss_and_grads)

    def keep(self, weights: Any, slots: Any) -> None:
        """Stores new weights and slots in host memory."""
        if self.has_weights:
            self.layer.weights = on_cpu(weights)
            self.optimizer.slots = on_cpu(slots)

    def _updated(self, step: Any, grads: Any, weights: Any, slots: Any, params: Any) -> Any:
        if not self.has_weights:
            return weights, slots, {}
        return self.optimizer.tree_update(step, grads, weights, slots, params, store_slots=False)

    def _reversed(
        self,
        outputs: Any,
        ct: Any,
        weights: Any,
        state: Any,
        new_state: Any,
        slots: Any,
        params: Any,
        key: Any,
        step: Any,
    ) -> Any:
        ct = packed(tuple(map(_cotangent, ct, as_tuple(outputs))))
        inputs, (grads, weights_grads) = self.layer.reverse_and_grad(  # type: ignore[attr-defined]
            outputs, ct, weights, state, new_state, key
        )
        weights, slots, stats = self._updated(step, weights_grads, weights, slots, params)
        return inputs, _without_float0(grads), weights, slots, stats

    def _pulled_back(
        self,
        inputs: Any,
        ct: Any,
        weights: Any,
        state: Any,
        new_state: Any,
        slots: Any,
        params: Any,
        key: Any,
        step: Any,
    ) -> Any:
        _, (grads, weights_grads), _ = self._pull(inputs, weights, state, key, ct)
        weights, slots, stats = self._updated(step, weights_grads, weights, slots, params)
        return inputs, _without_float0(grads), weights, slots, stats

    def _loss_and_grads(
        self, inputs: Any, weights: Any, state: Any, slots: Any, params: Any, key: Any, step: Any
    ) -> Any:
        (loss,), (grads, weights_grads), new_state = self._pull(inputs, weights, state, key, None)
        if tuple(loss.shape):
            raise ShapeError(
                f"ReversibleSerialTrainer: the loss must be a scalar; {self.layer.name} gave an "
                f"array of shape {tuple(loss.shape)}"
            )
        weights, slots, stats = self._updated(step, weights_grads, weights, slots, params)
        return loss, _without_float0(grads), weights, new_state, slots, stats

    def _pull(self, inputs: Any, weights: Any, state: Any, key: Any, ct: Any) -> Any:
        """(outputs, gradients of inputs and weights, new state). The cotangent of a loss is 1."""

        def forward(inputs: Any, weights: Any) -> Any:
            outputs, new_state = self.layer.pure_fn(inputs, weights, state, key)
            return as_tuple(outputs), new_state

        outputs, pull, new_state = vjp_of_inexact(forward, inputs, weights)
        return outputs, pull((jnp.ones_like(outputs[0]),) if ct is None else ct), new_state


def _cotangent(ct: Any, output: Any) -> Any:
    """The cotangent of an output; for integers it has the dtype float0."""
    if not is_inexact(output):
        return onp.zeros(output.shape, float0)
    return jnp.zeros_like(output) if ct is None else ct


def _without_float0(grads: Any) -> tuple[Any, ...]:
    """Gradients of inputs, with None for integer inputs."""
    return tuple([g if is_gradient(g) else None for g in as_tuple(grads)])


def extract_reversible_blocks(
    layers: Sequence[Layer], loss_chunk_size: int = 0
) -> tuple[list[tuple[list[Layer], list[ReversibleLayer]]], Layer]:
    """Splits layers into blocks of standard and reversible layers, and a loss.

    Args:
      layers: layers of a model with its loss; `Serial` layers are replaced by their sublayers.
      loss_chunk_size: the number of rows (batch · length) for which the last layers of the loss are
        computed at a time, which saves memory for logits over a large vocabulary; 0 for all. The
        loss must then end in `Dense`, `LogSoftmax` and the cross-entropy, after a `Select`.
    Returns: (blocks, loss_layer): pairs (standard layers, reversible layers), and the layers after
      the last reversible one in a `Serial`.
    Raises: ValueError: the last layer is reversible, or the loss cannot be computed in chunks.
    Example:
      >>> from weft import layers as tl
      >>> layers = [tl.Dup(), tl.ReversibleSwap(), tl.Add(), tl.L2Loss()]
      >>> blocks, loss_layer = extract_reversible_blocks(layers)
      >>> [(len(standard), len(reversible)) for standard, reversible in blocks]
      [(1, 1)]
    Source: Trax documentation, `optimizers.trainer.extract_reversible_blocks`.
    """
    name = "extract_reversible_blocks"
    chunk = option_checks.whole_number(name, "loss_chunk_size", loss_chunk_size, least=0)
    blocks: list[tuple[list[Layer], list[ReversibleLayer]]] = []
    standard: list[Layer] = []
    reversible: list[ReversibleLayer] = []
    for layer in _flat(layers):
        if isinstance(layer, ReversibleLayer):
            reversible.append(layer)
            continue
        if reversible:
            blocks.append((standard, reversible))
            standard, reversible = [], []
        standard.append(layer)
    if reversible or not standard:
        raise noted(
            ValueError(
                f"{name}: the layers end with the loss, which is not reversible; got "
                f"{reversible[-1].name if reversible else 'no layers'}"
            )
        )
    if chunk:
        standard = _in_chunks(standard, chunk)
    return blocks, assembled(*standard)


def init_reversible_blocks(
    blocks: Sequence[Block], loss_layer: Layer, input_signature: Any, rng: Any
) -> None:
    """Initializes the layers of blocks and the loss, in order.

    Args:
      blocks: pairs (standard layers, reversible layers).
      loss_layer: the layer of the loss.
      input_signature: signature of a batch: a `ShapeDtype` or array, or a tuple of them.
      rng: random key, which is split over the layers.
    Example:
      >>> from weft import layers as tl
      >>> blocks, loss_layer = [([tl.Dense(3)], [])], tl.L2Loss()
      >>> batch = np.ones((2, 4)), np.ones((2, 3)), np.ones((2, 3))
      >>> init_reversible_blocks(blocks, loss_layer, batch, random.PRNGKey(0))
      >>> blocks[0][0][0].weights[0].shape
      (4, 3)
    Source: Trax documentation, `optimizers.trainer.init_reversible_blocks`.
    """
    layers = [layer for block in blocks for part in block for layer in part] + [loss_layer]
    stack = as_tuple(nested_map(signature, input_signature))
    for layer, key in zip(layers, fastmath.random.split(rng, len(layers)), strict=True):
        inputs = inputs_from_stack(stack, layer.n_in)
        layer.init(inputs, rng=key)
        layer.weights = on_cpu(layer.weights)
        outputs = layer.output_signature(inputs)
        stack = as_tuple(outputs_onto_stack(outputs, stack, layer.n_in))


def _flat(layers: Any) -> list[Layer]:
    """The layers, with `Serial` layers replaced by their sublayers."""
    flat: list[Layer] = []
    for layer in [layers] if isinstance(layers, Layer) else layers:
        if isinstance(layer, list | tuple) or type(layer) is Serial:
            flat += _flat(layer if isinstance(layer, list | tuple) else layer.sublayers)
        else:
            flat.append(layer)
    return flat


def _in_chunks(layers: list[Layer], chunk: int) -> list[Layer]:
    """The layers of a loss, whose last layers are computed for some rows at a time."""
    names = [layer.name for layer in layers]
    named = [name for name in names if name]  # checks of shapes have no name
    ends = [n.startswith(end) for n, end in zip(named[-len(ENDS) :], ENDS, strict=False)]
    borders = [i for i, name in enumerate(names) if name.startswith(BORDERS)]
    if len(ends) < len(ENDS) or not all(ends) or not borders:
        raise noted(
            ValueError(
                "extract_reversible_blocks: with loss_chunk_size the loss must end in "
                f"{', '.join(ENDS)}, after {' or '.join(BORDERS)}; got {', '.join(named)}"
            )
        )
    first = borders[-1] + 1
    return [*layers[:first], _ChunkedLoss(layers[first:-1], layers[-1], chunk)]


class _ChunkedLoss(Layer):
    """A mean over rows whose values are computed for `chunk` rows at a time, and recomputed in the
    backward pass."""

    def __init__(self, layers: Sequence[Layer], mean: Layer, chunk: int) -> None:
        values = assembled(*layers)
        super().__init__(n_in=values.n_in + 1)
        self.__dict__.update(_sublayers=[values, mean], _weights=(None, None), _state=(None, None))
        self._chunk = chunk

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the layers for rows."""
        rows = tuple([s.replace(shape=(1, *s.shape[2:])) for s in input_signature[:-1]])
        values, mean = self._sublayers
        values.init(rows)
        mean.init((values.output_signature(rows), input_signature[-1]))

    def forward(self, inputs: Any) -> Any:
        """The mean of the values."""
        values, mean = self._sublayers
        *arrays, loss_weights = [jnp.reshape(x, (-1, *x.shape[2:])) for x in inputs]
        n = arrays[0].shape[0]
        padding = -n % self._chunk
        parts = [
            jnp.reshape(
                jnp.pad(x, ((0, padding),) + ((0, 0),) * (x.ndim - 1)),
                (-1, self._chunk, *x.shape[1:]),
            )
            for x in arrays
        ]
        weights, state, key = self.weights[0], self.state[0], self.rng

        def body(_: None, part: Any) -> tuple[None, Any]:
            return None, values.pure_fn(part, weights, state, key)[0]

        _, rows = fastmath.scan(fastmath.remat(body), None, tuple(parts))
        return mean.pure_fn(
            (jnp.reshape(rows, (-1, *rows.shape[2:]))[:n], loss_weights),
            self.weights[1],
            self.state[1],
            key,
        )[0]
