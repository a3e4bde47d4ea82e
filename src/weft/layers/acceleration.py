"""Accelerate runs a layer on several devices, each of which computes a part of the batch with the
same weights. Its parts are jit_forward, mean_or_pmean, for_n_devices, reshape_by_device, on_cpu
and on_accelerator.
"""

from collections.abc import Callable
from typing import Any

import numpy as onp

from .. import fastmath, option_checks
from ..core.array import Tracer
from ..errors import ShapeError
from ..fastmath import Backend, nested_map, numpy as jnp, tree_leaves
from ..transforms.devices.device_put import device_put, device_put_replicated
from ..transforms.devices.devices import devices, local_devices
from ..user_lines import noted
from . import base
from .base import Layer, LayerError
from .layer_errors import described
from .weight_trees import is_state_marker, is_weights_marker

__all__ = [
    "Accelerate",
    "for_n_devices",
    "jit_forward",
    "mean_or_pmean",
    "on_accelerator",
    "on_cpu",
    "reshape_by_device",
]


class Accelerate(Layer):
    """Runs a layer compiled and data-parallel: each device computes a part of the batch.

    The inputs are divided along their first axis, and each part runs on its device. On one device
    the layer is compiled. If the number of devices divides the batch, the outputs equal the
    layer's, except for random numbers, because each device has its own key. Otherwise the batch is
    padded with zeros, and the padding's outputs are removed; outputs that depend on the whole
    batch, as after `BatchNorm` in mode 'train', may then differ. An output without a batch axis,
    such as a loss, becomes one number for each device.

    Inputs, outputs, weights and state are the layer's; on n devices, n > 1, every array has an
    additional first axis of length n, with one element per device.

    If the layer already has weights, `init` is not needed: they are copied to the devices at the
    first use. `replicate_weights` and `replicate_state` set new ones.

    Args:
      layer: a layer.
      n_devices: the number of devices; None or 0 for all devices of this process.
    Raises:
      TypeError: `layer` is not a layer.
      ValueError: there are fewer devices.
      LayerError (when called): the inputs' first axes differ.
    Example:
      >>> from weft import layers as tl, shapes
      >>> from weft.fastmath import numpy as jnp
      >>> x = jnp.ones((5, 2))
      >>> layer = tl.Dense(3)
      >>> _ = layer.init(shapes.signature(x))
      >>> fast_layer = tl.Accelerate(layer)
      >>> bool(jnp.allclose(fast_layer(x), layer(x)))
      True
    Source: Trax documentation, `layers.Accelerate`.
    """

    def __init__(self, layer: Layer, n_devices: int | None = None) -> None:
        if not isinstance(layer, Layer):
            raise option_checks.wrong_type("Accelerate", "layer", "a layer", layer)
        super().__init__(n_in=layer.n_in, n_out=layer.n_out)
        available = fastmath.local_device_count()
        self._n_devices = checked_device_count("Accelerate", n_devices or available)
        self._sublayers, self._needs_key = [layer], layer._needs_key
        self._weights, self._state = None, None
        if self._n_devices == 1:
            self._run_parts = fastmath.jit(layer.pure_fn)
        else:
            self._run_parts = fastmath.pmap(layer.pure_fn, axis_name="batch")

    @property
    def sublayer(self) -> Layer:
        """The inner layer."""
        return self._sublayers[0]

    def pure_fn(
        self, x: Any, weights: Any, state: Any, rng: Any, use_cache: bool = False
    ) -> tuple[Any, Any]:
        """The layer's `pure_fn`, run on the devices.

        Args:
          x: the inputs.
          weights: the layer's weights; on several devices, with an additional first axis.
          state: the layer's state.
          rng: a random key; it is split among several devices.
          use_cache: whether the layer keeps the weights and the new state, as in `Layer.pure_fn`.
        Returns: (outputs, new state).
        Raises: LayerError: as `Layer.pure_fn`.
        """
        is_repeated = is_weights_marker(weights) and is_state_marker(state)
        if is_repeated:
            weights, state = self.weights, self.state
        try:
            outputs, new_state = self._run(x, weights, state, rng)
        except LayerError:
            raise
        except Exception as error:
            raise self._error("pure_fn", x, error, not use_cache) from None
        if use_cache:
            self.weights, self.state = weights, new_state
        return outputs, base.GET_STATE_FROM_CACHE if is_repeated else new_state

    def _run(self, x: Any, weights: Any, state: Any, rng: Any) -> tuple[Any, Any]:
        n = self._n_devices
        if n == 1:
            return self._run_parts(x, weights, state, rng)
        size = _batch_size(x)
        padding = -size % n
        if padding:
            x = nested_map(lambda part: _padded(part, padding), x)
        outputs, new_state = self._run_parts(reshape_by_device(x, n), weights, state, _keys(rng, n))
        joined = nested_map(_joined, outputs)
        if padding:  # a loss (one for each device) has no batch axis to cut
            joined = fastmath.nested_map_multiarg(
                lambda y, parts: y[:size] if len(parts.shape) > 1 else y, joined, outputs
            )
        return joined, new_state

    def init(
        self, input_signature: Any, rng: Any = None, use_cache: bool = False
    ) -> tuple[Any, Any]:
        """Initializes the layer, and copies its weights and state to the devices.

        Args: as `Layer.init`.
        Returns: (weights, state) of this layer.
        Raises: LayerError: as `Layer.init`.
        """
        weights, state = self.sublayer.init(input_signature, rng, use_cache)
        self._init_signature = described(input_signature)
        if is_weights_marker(weights) and is_state_marker(state):
            return weights, state
        self._weights, self._state = (
            self._replicated(weights),
            for_n_devices(state, self._n_devices),
        )
        return self._weights, self._state

    def replicate_weights(self, weights: Any) -> None:
        """Sets the weights of the layer, and copies them to the devices.

        Args:
          weights: the layer's weights, without a device axis.
        """
        self.sublayer.weights = weights
        self._weights = self._replicated(weights)

    def replicate_state(self, state: Any) -> None:
        """Sets the state of the layer, and copies it to the devices.

        Args:
          state: the layer's state, without a device axis.
        """
        self.sublayer.state = state
        self._state = for_n_devices(state, self._n_devices)

    @property
    def weights(self) -> Any:
        """The weights; copies them to the devices if necessary."""
        if self._weights is None:
            self._weights = self._replicated(self.sublayer.weights)
        return self._weights

    @weights.setter
    def weights(self, weights: Any) -> None:
        if is_weights_marker(weights):
            return
        self._weights = weights
        self.sublayer.weights = self._first(weights)

    @property
    def state(self) -> Any:
        """The state; copies it to the devices if necessary."""
        if self._state is None:
            self._state = for_n_devices(self.sublayer.state, self._n_devices)
        return self._state

    @state.setter
    def state(self, state: Any) -> None:
        if is_state_marker(state):
            return
        self._state = state
        self.sublayer.state = self._first(state)

    def _replicated(self, weights: Any) -> Any:
        """Weights on the devices: a copy or, with `base.N_WEIGHTS_SHARDS`, a part on each."""
        shards = base.N_WEIGHTS_SHARDS
        if shards == 1:
            return for_n_devices(weights, self._n_devices)
        if self._n_devices != fastmath.global_device_count() or self._n_devices % shards:
            raise noted(
                ValueError(
                    f"Accelerate: weights in {shards} parts (N_WEIGHTS_SHARDS) need all "
                    f"{fastmath.global_device_count()} devices, in groups of {shards}; got "
                    f"n_devices={self._n_devices}"
                )
            )
        return base.shard(weights, shards)

    def _first(self, replicas: Any) -> Any:
        """The first device's part."""
        if self._n_devices == 1:
            return replicas
        return nested_map(lambda leaf: leaf[0], replicas)


def jit_forward(
    forward: Callable[..., tuple[Any, Any]], n_devices: int, do_mean: bool = True
) -> Callable[..., tuple[Any, Any]]:
    """Compiles a function like a layer's `pure_fn`, for one or several devices.

    Args:
      forward: a function of (x, weights, state, rng) that returns (outputs, new state).
      n_devices: 1 for one device, or 0 for the first CPU; then the function is only compiled. For
        more devices, weights and state have an additional first axis of that length, as from
        `for_n_devices`, and the number of devices must divide the batch.
      do_mean: on several devices, whether to average the outputs over the batch, or over the
        devices if each has one number; otherwise the outputs are those of the whole batch.
    Returns: a function of (x, weights, state, rng) that returns (outputs, new state).
    Raises:
      TypeError, ValueError: an option is invalid, or there are fewer devices.
      LayerError (when called): the number of devices does not divide the batch.
    Example:
      >>> from weft import layers as tl
      >>> layer = tl.Dense(2)
      >>> weights, state = layer.init(np.ones((3, 4)))
      >>> forward = tl.jit_forward(layer.pure_fn, n_devices=1)
      >>> y, state = forward(np.ones((3, 4)), weights, state, random.PRNGKey(0))
      >>> y.shape
      (3, 2)
    Source: Trax documentation, `layers.jit_forward`.
    """
    option_checks.function("jit_forward", "forward", forward, "(x, weights, state, rng)")
    option_checks.flag("jit_forward", "do_mean", do_mean)
    if n_devices == 0 and fastmath.is_backend(Backend.JAX):
        return fastmath.jit(forward, device=devices("cpu")[0])
    n = checked_device_count("jit_forward", n_devices, least=0)
    if n < 2:
        return fastmath.jit(forward)
    run_parts = fastmath.pmap(forward, axis_name="batch")

    def run(x: Any, weights: Any, state: Any, rng: Any) -> tuple[Any, Any]:
        outputs, new_state = run_parts(reshape_by_device(x, n), weights, state, _keys(rng, n))
        joined = nested_map(_joined, outputs)
        if do_mean:
            joined = nested_map(lambda y: jnp.mean(y, axis=0), joined)
        return joined, new_state

    return run


def mean_or_pmean(n_devices: int, x: Any, axis: int | None = None) -> Any:
    """The mean of numbers over devices.

    Args:
      n_devices: the number of devices.
      x: array whose first axis is the device axis.
      axis: 0 for the mean over the devices, None for the mean of all elements.
    Returns: an undistributed array: of the shape of x without axis 0, or a scalar.
    Raises: ValueError: an invalid axis, or a negative number of devices.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> tl.mean_or_pmean(2, jnp.array([[1.0, 2.0], [3.0, 6.0]]), axis=0)
      Array([2., 4.], dtype=float32)
    Source: Trax documentation, `layers.mean_or_pmean`.
    """
    option_checks.whole_number("mean_or_pmean", "n_devices", n_devices, least=0)
    if axis not in (None, 0):
        raise noted(
            ValueError(f"mean_or_pmean: axis must be 0, the devices, or None for all; got {axis!r}")
        )
    return jnp.mean(x, axis=axis)


def reshape_by_device(x: Any, n_devices: int, pure_np: bool = False) -> Any:
    """Divides the first axis of arrays among devices.

    Args:
      x: arrays [batch, …], possibly nested in lists, tuples and dicts.
      n_devices: the number of parts.
      pure_np: whether to use NumPy on every backend.
    Returns: the same nested arrays, of shapes [n_devices, batch / n_devices, …].
    Raises:
      TypeError, ValueError: `n_devices` isn't a positive int.
      ShapeError: the number of devices does not divide a batch, or an array has no axes.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> tl.reshape_by_device((jnp.zeros((6, 2)), jnp.zeros(4)), 2)[0].shape
      (2, 3, 2)
    Source: Trax documentation, `layers.reshape_by_device`.
    """
    n = option_checks.whole_number("reshape_by_device", "n_devices", n_devices)
    option_checks.flag("reshape_by_device", "pure_np", pure_np)

    def divided(leaf: Any) -> Any:
        leaf = leaf if hasattr(leaf, "shape") else onp.asarray(leaf)
        shape = tuple(leaf.shape)
        if not shape or shape[0] % n:
            raise noted(
                ShapeError(
                    f"reshape_by_device: {n} devices don't divide the batch, the first axis of an "
                    f"array of shape {shape}\n  fix: a batch that is a multiple of {n}"
                )
            )
        reshape = onp.reshape if pure_np else jnp.reshape
        return reshape(leaf, (n, shape[0] // n, *shape[1:]))

    return nested_map(divided, x)


def for_n_devices(x: Any, n_devices: int) -> Any:
    """Copies arrays for several devices.

    Args:
      x: arrays, possibly nested in lists, tuples and dicts.
      n_devices: the number of devices.
    Returns: for one device, x. For more, the same nested arrays with an additional first axis of
      length `n_devices`; on the backend `jax`, each of the first devices has one copy.
    Raises: TypeError, ValueError: `n_devices` is not a number of available devices.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> tl.for_n_devices({"w": jnp.ones(3)}, 1)["w"].shape
      (3,)
    Source: Trax documentation, `layers.for_n_devices`.
    """
    n = checked_device_count("for_n_devices", n_devices, least=0)
    if n < 2:
        return x
    on_devices = fastmath.is_backend(Backend.JAX)

    def copied(leaf: Any) -> Any:
        if on_devices and not isinstance(leaf, Tracer):
            return device_put_replicated(leaf, local_devices()[:n])
        leaf = jnp.asarray(leaf)
        return jnp.broadcast_to(leaf, (n, *leaf.shape))

    return nested_map(copied, x)


def on_cpu(x: Any) -> Any:
    """Copies arrays to the memory of the CPU.

    Args:
      x: arrays, possibly nested.
    Returns: on the backend `jax`, the arrays on the first CPU device; on other backends, x.
    Example:
      >>> from weft import layers as tl
      >>> from weft.fastmath import numpy as jnp
      >>> tl.on_cpu(jnp.ones(2)).device.platform
      'cpu'
    Source: Trax documentation, `layers.on_cpu`.
    """
    if not fastmath.is_backend(Backend.JAX):
        return x
    return device_put(x, devices("cpu")[0])


def on_accelerator(x: Any) -> Any:
    """Copies arrays to the memory of the accelerator, if there is exactly one.

    Args:
      x: arrays, possibly nested.
    Returns: on the backend `jax`, the arrays on the only GPU, or without GPUs on the only TPU;
      otherwise x.
    Example:
      >>> from weft import layers as tl
      >>> tl.on_accelerator(np.arange(3.0))
      Array([0., 1., 2.], dtype=float32)
    Source: Trax documentation, `layers.on_accelerator`.
    """
    if not fastmath.is_backend(Backend.JAX):
        return x
    for platform in ("gpu", "tpu"):
        try:
            matches = devices(platform)
        except RuntimeError:  # there is no such platform
            continue
        return device_put(x, matches[0]) if len(matches) == 1 else x
    return x


def checked_device_count(name: str, n_devices: Any, least: int = 1) -> int:
    """A valid number of devices. Raises an error otherwise."""
    n = option_checks.whole_number(name, "n_devices", n_devices, least)
    available = fastmath.local_device_count()
    if n > max(available, 1):
        raise noted(
            ValueError(
                f"{name}: n_devices must be at most {available}, the devices of this process; got "
                f"{n}\n  fix: on CPUs, WEFT_CPU_DEVICES={n} in the environment makes as many"
            )
        )
    return n


def _batch_size(x: Any) -> int:
    """The common length of the inputs' first axes."""
    sizes = {leaf.shape[0] if len(leaf.shape) else -1 for leaf in tree_leaves(x)}
    if len(sizes) > 1 or -1 in sizes:
        shapes = ", ".join(str(tuple(leaf.shape)) for leaf in tree_leaves(x))
        raise ShapeError(
            "Accelerate: inputs must have one batch axis, the first, of one length; got shapes "
            f"{shapes}"
        )
    return int(sizes.pop()) if sizes else 0


def _padded(x: Any, padding: int) -> Any:
    """An array padded with zeros at the end of its first axis."""
    return jnp.pad(x, ((0, padding),) + ((0, 0),) * (len(x.shape) - 1))


def _joined(y: Any) -> Any:
    """Joins the outputs of all devices into one batch; scalars remain one per device."""
    return jnp.reshape(y, (-1, *y.shape[2:])) if len(y.shape) > 1 else y


def _keys(rng: Any, n: int) -> Any:
    """A random key for each device; None if no key is needed."""
    return None if rng is None else jnp.stack(list(fastmath.random.split(rng, n)))
