"""Computes outputs and gradients of a layer together, for reversible residual layers."""

from collections.abc import Callable
from typing import Any

import numpy as onp

from .. import fastmath
from ..dtypes import float0, issubdtype
from ..fastmath import numpy as jnp
from ..shapes import signature


def is_gradient(ct: Any) -> bool:
    """False for the placeholder of an integer's gradient."""
    return ct is not None and getattr(ct, "dtype", None) != float0


def vjp_of_inexact(
    f: Callable[..., tuple[tuple[Any, ...], Any]], *primals: Any
) -> tuple[tuple[Any, ...], Callable[[tuple[Any, ...]], Any], Any]:
    """The outputs of a function, and a function that pulls back the cotangents of inexact outputs.

    Args:
      f: returns (tuple of arrays, auxiliary data).
      *primals: its arguments.
    Returns: (outputs, pull, auxiliary data). `pull` takes cotangents for the first outputs; missing
      ones and None are zero, and cotangents of integers are ignored.
    """

    def split(*primals: Any) -> Any:
        outputs, aux = f(*primals)
        return tuple([y for y in outputs if is_inexact(y)]), (outputs, aux)

    values, pull, (outputs, aux) = fastmath.vjp(split, *primals, has_aux=True)
    places = [i for i, y in enumerate(outputs) if is_inexact(y)]

    def pull_first(cts: tuple[Any, ...]) -> Any:
        cotangents = [cts[i] if i < len(cts) else None for i in places]
        pairs = zip(cotangents, values, strict=True)
        return pull(tuple([c if is_gradient(c) else jnp.zeros_like(y) for c, y in pairs]))

    return outputs, pull_first, aux


def is_inexact(x: Any) -> bool:
    """True for an array of floats or complex numbers."""
    return issubdtype(signature(x).dtype, onp.inexact)


def forward_and_or_backward_of(layer: Any) -> Callable[..., tuple[Any, Any, Any, Any]]:
    """A function like `EfficientAttentionBase.forward_and_or_backward`, for any layer.

    Args:
      layer: the layer; it is differentiated as one function.
    Returns: a function of (inputs, weights, state, rng, output_grad=None, compute_output=True,
      update_state=True), which returns (output, new_state, inputs_grad, weights_grad) with None for
      results that are not requested.
    """

    def forward_and_or_backward(
        inputs: Any,
        weights: Any,
        state: Any,
        rng: Any,
        output_grad: Any = None,
        compute_output: bool = True,
        update_state: bool = True,
    ) -> tuple[Any, Any, Any, Any]:
        def run(inputs: Any, weights: Any) -> Any:
            return layer.pure_fn(inputs, weights, state, rng)

        if output_grad is None:
            output, new_state = run(inputs, weights)
            inputs_grad = weights_grad = None
        else:
            output, pull, new_state = fastmath.vjp(run, inputs, weights, has_aux=True)
            inputs_grad, weights_grad = pull(output_grad)
        return (
            output if compute_output else None,
            new_state if update_state else None,
            inputs_grad,
            weights_grad,
        )

    return forward_and_or_backward
