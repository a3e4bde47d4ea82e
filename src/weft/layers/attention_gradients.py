"""The output and the gradients of a layer, computed at once: what reversible residuals need.

Knows layers only as functions of inputs, weights, state and key.
"""

from collections.abc import Callable
from typing import Any

from .. import fastmath


def forward_and_or_backward_of(layer: Any) -> Callable[..., tuple[Any, Any, Any, Any]]:
    """A function as `EfficientAttentionBase.forward_and_or_backward`, for any layer.

    Args:
      layer: the layer; its derivative is taken of the whole.
    Returns: a function of (inputs, weights, state, rng, output_grad=None, compute_output=True,
      update_state=True), which returns (output, new_state, inputs_grad, weights_grad) with None for
      what isn't asked for.
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
