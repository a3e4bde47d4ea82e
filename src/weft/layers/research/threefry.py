"""threefry_2x32_prf, threefry_2x32_prange: a pseudo-random function of a key and a counter."""

from typing import Any

import numpy as onp

from ...errors import ShapeError
from ...fastmath import numpy as jnp
from ...user_lines import noted

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


def threefry_2x32_prf(key: Any, x: Any) -> Any:
    """The random words for a key and pairs of words.

    Args:
      key: uint32 [2].
      x: uint32 [..., 2].
    Returns: uint32 of the shape of `x`.
    Raises: TypeError: the key or `x` is of another dtype or shape.
    Example:
      >>> threefry_2x32_prf(np.zeros(2, "uint32"), np.zeros(2, "uint32"))
      Array([1797259609, 2579123966], dtype=uint32)
    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; Trax documentation,
      `layers.research.position_encodings`.
    """
    _check_key("threefry_2x32_prf", key)
    if x.ndim < 1 or x.shape[-1] != 2 or not _is_uint32(x):
        raise noted(
            ShapeError(
                "threefry_2x32_prf: x must be pairs of words, uint32[...,2]; "
                f"got {x.dtype} of shape {tuple(x.shape)}"
            )
        )
    return jnp.stack(threefry((key[0], key[1]), (x[..., 0], x[..., 1])), axis=-1)


def threefry_2x32_prange(key: Any, lo: int = 0, hi: int = 2) -> Any:
    """The random words for a key and the counters from `lo` to `hi`, for use as new keys.

    Args:
      key: uint32 [2].
      lo, hi: the first counter, and the one after the last: 0 <= lo <= hi <= 2**64. The first word
        of a pair is the counter's lower half.
    Returns: uint32 [hi - lo, 2].
    Raises: TypeError: not a key of that form. ValueError: an invalid range.
    Example:
      >>> threefry_2x32_prange(np.zeros(2, "uint32"), 1, 3)
      Array([[1351547692, 3235790642],
             [1688610540, 4229293427]], dtype=uint32)
    Source: Trax documentation, `layers.research.position_encodings`.
    """
    _check_key("threefry_2x32_prange", key)
    if not 0 <= lo <= hi <= 2**64:
        raise noted(
            ValueError(
                f"threefry_2x32_prange: expected 0 <= lo <= hi <= 2**64; got lo {lo}, hi {hi}"
            )
        )
    return threefry_2x32_prf(key, jnp.asarray(counters(lo, hi)))


def counters(lo: int, hi: int) -> onp.ndarray:
    """The counters from `lo` to `hi` as pairs of words, the lower first."""
    count = onp.arange(hi - lo, dtype=onp.uint64) + onp.uint64(lo)
    return onp.stack([count, count >> onp.uint64(32)], axis=-1).astype(onp.uint32)


def threefry(key: tuple[Any, Any], words: tuple[Any, Any]) -> tuple[Any, Any]:
    """Twenty rounds of Threefry on pairs of uint32 arrays, of NumPy or a backend."""
    first, second = key
    x, y = words
    with onp.errstate(over="ignore"):  # NumPy scalars warn of overflow, arrays wrap around
        keys = (first, second, first ^ second ^ onp.uint32(PARITY))
        x, y = x + first, y + second
        for group in range(5):
            for rotation in ROTATIONS[group % 2]:
                x = x + y
                y = _rotated(y, rotation) ^ x
            x = x + keys[(group + 1) % 3]
            y = y + (keys[(group + 2) % 3] + onp.uint32(group + 1))
    return x, y


def _rotated(x: Any, by: int) -> Any:
    return (x << onp.uint32(by)) | (x >> onp.uint32(32 - by))


def _check_key(function: str, key: Any) -> None:
    if tuple(key.shape) != (2,) or not _is_uint32(key):
        raise noted(
            ShapeError(
                f"{function}: the key must be uint32[2]; got {key.dtype} of shape "
                f"{tuple(key.shape)}"
            )
        )


def _is_uint32(x: Any) -> bool:
    return "uint32" in str(x.dtype)
