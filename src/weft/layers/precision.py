"""InPrecision: computes a layer in another floating-point dtype, with weights in float32."""

from typing import Any

import numpy as onp

from .. import option_checks
from ..dtypes import bfloat16
from ..fastmath import nested_map, numpy as jnp
from .attention_gradients import is_inexact
from .base import Layer
from .serial import Wrapper, checked_layer

__all__ = ["InPrecision"]

DTYPES = {"bfloat16": bfloat16, "float16": onp.float16, "float32": onp.float32}


class InPrecision(Wrapper):
    """Computes a layer in a 16-bit floating-point dtype; the weights stay in float32.

    Float weights and inputs are cast to the dtype, and outputs are cast back to float32, so a loss
    after the layer is computed in float32. Gradients of the weights are float32.

    Args:
      layer: a layer.
      dtype: "bfloat16", "float16" or "float32".

    Raises: TypeError, ValueError: an option is invalid.

    Example:
      >>> from weft import layers as tl
      >>> layer = tl.InPrecision(tl.Dense(3), "bfloat16")
      >>> weights, state = layer.init(np.ones((2, 4), np.float32))
      >>> layer(np.ones((2, 4), np.float32)).dtype, weights[0][0].dtype
      (dtype('float32'), dtype('float32'))

    Source: Micikevicius et al. (2018), Mixed Precision Training.
    """

    def __init__(self, layer: Layer, dtype: str) -> None:
        checked_layer("InPrecision", "layer", layer)
        option_checks.choice("InPrecision", "dtype", dtype, tuple(DTYPES))
        super().__init__(layer, layer.n_in, layer.n_out)
        self._needs_key = layer._needs_key
        self._dtype = DTYPES[dtype]

    def init_weights_and_state(self, input_signature: Any) -> None:
        """Initializes the layer."""
        self.sublayer.init(input_signature, use_cache=True)

    def forward(self, inputs: Any) -> Any:
        """The layer's outputs; floats are float32."""
        (weights,), (state,) = self.weights, self.state
        cast = _caster(self._dtype)
        outputs, new_state = self.sublayer.pure_fn(
            nested_map(cast, inputs), nested_map(cast, weights), state, self.rng, True
        )
        # The state keeps its dtypes, so that the next call is the same program.
        self.state = (_like(new_state, state),)
        return nested_map(_caster(onp.float32), outputs)


def _caster(dtype: Any) -> Any:
    """A function that casts floats, and returns other arrays unchanged."""
    return lambda x: jnp.asarray(x, dtype) if is_inexact(x) else x


def _like(new: Any, old: Any) -> Any:
    """Nested arrays with the dtypes of other nested arrays."""
    if isinstance(new, dict):
        return {name: _like(new[name], old[name]) for name in new}
    if isinstance(new, list | tuple):
        return type(new)(map(_like, new, old))
    return new.astype(old.dtype) if hasattr(old, "dtype") and new.dtype != old.dtype else new
