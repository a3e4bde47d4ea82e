"""Convolutions as layers: Conv and GeneralConv, ConvTranspose, Conv1DTranspose and
GeneralConvTranspose.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ... import random
from ...core.source import located
from ...lax import conv_general_dilated, conv_transpose, padtype_to_pads
from ...nn.initializers import Initializer, glorot_normal, normal
from ...typing import PyTree
from .pairs import (
    Layer,
    Padding,
    array,
    layer,
    lengths_of,
    pads_of,
    parameters,
    positive,
    settled,
    shape_of,
)

__all__ = ["Conv", "Conv1DTranspose", "ConvTranspose", "GeneralConv", "GeneralConvTranspose"]
Specs = Sequence[str]


@located
def GeneralConv(
    dimension_numbers: Specs,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer | None = None,
) -> Layer:
    """A layer that convolves with a kernel and adds a bias for each channel.

    Args:
      dimension_numbers: the layout of inputs, kernel and outputs, a letter for each axis, such as
        ('NHWC', 'HWIO', 'NHWC'): N is the batch, C are channels, I and O the kernel's channels.
      out_chan: the number of channels of the outputs.
      filter_shape: the length of the kernel along each spatial axis, in the order of its layout.
      strides: the step along each spatial axis; 1 by default.
      padding: 'VALID', 'SAME', 'SAME_LOWER', or a pair (before, after) for each spatial axis.
      W_init, b_init: `init(key, shape)` for the parameters; by default `glorot` of the axes I and
        O, and `randn(1e-6)`.
    Returns: (init_fun, apply_fun); the parameters are (W, b); b broadcasts to the outputs.
    Raises: ValueError: shapes or the layout do not match.
    Example:
      >>> from weft.experimental import stax
      >>> init_fun, _ = stax.GeneralConv(("NCHW", "OIHW", "NCHW"), 8, (3, 3), padding="SAME")
      >>> out_shape, (W, b) = init_fun(random.PRNGKey(0), (-1, 3, 28, 28))
      >>> out_shape, W.shape, b.shape
      ((-1, 8, 28, 28), (8, 3, 3, 3), (8, 1, 1))
    Source: JAX documentation, `jax.example_libraries.stax`.
    """

    def out_length(n: int, k: int, stride: int, pad: Any) -> int:
        low, high = padtype_to_pads((n,), (k,), (stride,), pad)[0] if isinstance(pad, str) else pad
        return max(0, (n + low + high - k) // stride + 1)

    return _convolution(
        "GeneralConv", dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init,
        out_length, lambda x, W, steps, numbers: conv_general_dilated(
            x, W, steps, padding, dimension_numbers=numbers),
    )  # fmt: skip


@located
def GeneralConvTranspose(
    dimension_numbers: Specs,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer | None = None,
) -> Layer:
    """A layer that convolves with fractional strides, so its outputs are larger than its inputs.

    Args:
      dimension_numbers, out_chan, filter_shape, W_init, b_init: as in `GeneralConv`.
      strides: the factor by which the outputs are larger, for each spatial axis; 1 by default.
      padding: 'SAME' (lengths times strides), 'VALID' (every position that the kernel reaches), or
        a pair (before, after) for each spatial axis: the padding of the dilated inputs.
    Returns: (init_fun, apply_fun); the parameters are (W, b); b broadcasts to the outputs.
    Raises: ValueError: shapes or the layout do not match.
    Example:
      >>> from weft.experimental import stax
      >>> layout = ("NHWC", "HWIO", "NHWC")
      >>> init_fun, _ = stax.GeneralConvTranspose(layout, 8, (3, 3), (2, 2), "SAME")
      >>> init_fun(random.PRNGKey(0), (-1, 14, 14, 3))[0]
      (-1, 28, 28, 8)
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    if isinstance(padding, str) and padding.upper() not in ("SAME", "VALID"):
        raise ValueError(
            f"GeneralConvTranspose: padding must be 'SAME', 'VALID' or pairs; got {padding!r}"
        )

    def out_length(n: int, k: int, stride: int, pad: Any) -> int:
        if isinstance(pad, str):
            return n * stride + (max(k - stride, 0) if pad.upper() == "VALID" else 0)
        return max(0, (n - 1) * stride + sum(pad) - k + 2)

    return _convolution(
        "GeneralConvTranspose", dimension_numbers, out_chan, filter_shape, strides, padding, W_init,
        b_init, out_length, lambda x, W, steps, numbers: conv_transpose(
            x, W, steps, padding, dimension_numbers=numbers),
    )  # fmt: skip


def _convolution(
    name: str,
    dimension_numbers: Specs,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Padding,
    W_init: Initializer | None,
    b_init: Initializer | None,
    out_length: Callable[[int, int, int, Any], int],
    convolve: Callable[..., Any],
) -> Layer:
    """A layer from its convolution operation and a function for the lengths of its outputs."""
    lhs, rhs, out = specs = _layout(name, dimension_numbers)
    out_chan = positive(name, "out_chan", out_chan)
    spatial = [letter for letter in rhs if letter not in "IO"]
    windows = lengths_of(name, "filter_shape", filter_shape, len(spatial))
    steps = lengths_of(
        name, "strides", [1] * len(windows) if strides is None else strides, len(spatial)
    )
    pads = pads_of(name, padding, len(spatial))
    make_W = W_init or glorot_normal(rhs.index("I"), rhs.index("O"))
    make_b = b_init or normal(1e-6)

    def init(rng: Any, input_shape: Any) -> tuple[Any, PyTree]:
        shape = shape_of(name, input_shape, ndim=len(lhs))
        channels = settled(name, shape, lhs.index("C"))
        lengths = {**dict(zip(lhs, shape, strict=True)), "C": out_chan}
        for letter, k, step, pad in zip(spatial, windows, steps, pads, strict=True):
            if lengths[letter] != -1:
                lengths[letter] = out_length(lengths[letter], k, step, pad)
        kernel = {**dict(zip(spatial, windows, strict=True)), "I": channels, "O": out_chan}
        bias = (out_chan, *[1] * (len(out) - out.index("C") - 1))
        k1, k2 = random.split(rng)
        params = make_W(k1, tuple([kernel[letter] for letter in rhs])), make_b(k2, bias)
        return tuple([lengths[letter] for letter in out]), params

    def apply(params: PyTree, inputs: Any) -> Any:
        W, b = parameters(name, params, 2)
        return convolve(array(name, inputs), W, steps, specs) + b

    return layer(init, apply)


def _layout(name: str, dimension_numbers: Any) -> tuple[str, str, str]:
    """Checks a layout: three strings that name the same axes."""
    if isinstance(dimension_numbers, (tuple, list)) and len(dimension_numbers) == 3:
        lhs, rhs, out = dimension_numbers
        if all(isinstance(s, str) and len(set(s)) == len(s) for s in (lhs, rhs, out)):
            letters = set(lhs) - {"N", "C"}
            whole = {"N", "C"} <= set(lhs) and not letters & {"I", "O"}
            if whole and set(out) == set(lhs) and set(rhs) == letters | {"I", "O"}:
                return lhs, rhs, out
    raise ValueError(
        f"{name}: dimension_numbers must be three strings of letters for axes, such as ('NHWC', "
        f"'HWIO', 'NHWC'); got {dimension_numbers!r}"
    )


@located
def Conv(
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer | None = None,
) -> Layer:
    """`GeneralConv` for images [N, H, W, C], with kernels [H, W, I, O].

    Args: as in `GeneralConv`.
    Returns: (init_fun, apply_fun).
    Raises: as `GeneralConv`.
    Example:
      >>> from weft.experimental import stax
      >>> stax.Conv(8, (3, 3), (2, 2))[0](random.PRNGKey(0), (-1, 28, 28, 3))[0]
      (-1, 13, 13, 8)
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    layout = ("NHWC", "HWIO", "NHWC")
    return GeneralConv(layout, out_chan, filter_shape, strides, padding, W_init, b_init)


@located
def Conv1DTranspose(
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer | None = None,
) -> Layer:
    """`GeneralConvTranspose` for sequences [N, H, C], with kernels [H, I, O].

    Args: as in `GeneralConvTranspose`.
    Returns: (init_fun, apply_fun).
    Raises: as `GeneralConvTranspose`.
    Example:
      >>> from weft.experimental import stax
      >>> stax.Conv1DTranspose(8, (3,), (2,))[0](random.PRNGKey(0), (-1, 10, 3))[0]
      (-1, 21, 8)
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    layout = ("NHC", "HIO", "NHC")
    return GeneralConvTranspose(layout, out_chan, filter_shape, strides, padding, W_init, b_init)


@located
def ConvTranspose(
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    W_init: Initializer | None = None,
    b_init: Initializer | None = None,
) -> Layer:
    """`GeneralConvTranspose` for images [N, H, W, C], with kernels [H, W, I, O].

    Args: as in `GeneralConvTranspose`.
    Returns: (init_fun, apply_fun).
    Raises: as `GeneralConvTranspose`.
    Example:
      >>> from weft.experimental import stax
      >>> stax.ConvTranspose(8, (3, 3), (2, 2))[0](random.PRNGKey(0), (-1, 14, 14, 3))[0]
      (-1, 29, 29, 8)
    Source: JAX documentation, `jax.example_libraries.stax`.
    """
    layout = ("NHWC", "HWIO", "NHWC")
    return GeneralConvTranspose(layout, out_chan, filter_shape, strides, padding, W_init, b_init)
