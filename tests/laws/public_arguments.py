"""Arguments of public functions, for laws that call each of them."""

import functools
from typing import Any

import numpy as onp

import weft.numpy as np
from weft import random


@functools.cache
def drawn(seed: int, shape: tuple[int, ...]) -> Any:
    """Normal samples."""
    return onp.random.default_rng(seed).standard_normal(shape)


class Arguments:
    """Arguments of one size and dtype, made anew whenever they are asked for.

    Args:
      large: whether arrays are 600 by 1000, vectors 100,000 long and matrices 50 by 50; else they
        are 4 by 6, 7, and 5 by 5.
      dtype: "float32", or "float64" under `enable_x64`.
    """

    def __init__(self, large: bool, dtype: str) -> None:
        self.large, self.dtype = large, dtype
        self.shape = (600, 1000) if large else (4, 6)
        self.length = 100_000 if large else 7
        self.order = 50 if large else 5
        self.draws = (100, 100) if large else (5,)
        """The shape of random samples."""

    def normal(self, seed: int, *shape: int) -> Any:
        """Numbers around 0, in NumPy."""
        return drawn(seed, shape).astype(self.dtype)

    # --- arrays of `shape` ---

    @property
    def x(self) -> Any:
        return np.array(self.normal(1, *self.shape))

    @property
    def y(self) -> Any:
        return np.array(self.normal(2, *self.shape))

    @property
    def p(self) -> Any:
        """Numbers above 0."""
        return np.array(abs(self.normal(3, *self.shape)) + onp.asarray(0.1, self.dtype))

    @property
    def q(self) -> Any:
        """Other numbers above 0."""
        return np.array(abs(self.normal(4, *self.shape)) + onp.asarray(0.1, self.dtype))

    @property
    def few(self) -> Any:
        """At most 30 rows of 40 numbers."""
        return self.x[:30, :40]

    @property
    def u(self) -> Any:
        """Numbers between 0 and 1."""
        return np.array(onp.tanh(abs(self.normal(5, *self.shape)) / 2).clip(0.01, 0.99))

    @property
    def z(self) -> Any:
        """Complex numbers."""
        return np.array(self.normal(6, *self.shape) + 1j * self.normal(7, *self.shape))

    @property
    def i(self) -> Any:
        """Integers."""
        return np.array((self.normal(8, *self.shape) * 9).astype("int32"))

    @property
    def n(self) -> Any:
        """Integers above 0."""
        return np.array((abs(self.normal(9, *self.shape)) * 9 + 1).astype("int32"))

    @property
    def b(self) -> Any:
        """Booleans."""
        return np.array(self.normal(10, *self.shape) > 0)

    # --- vectors of `length` ---

    @property
    def v(self) -> Any:
        return np.array(self.normal(11, self.length))

    @property
    def w(self) -> Any:
        return np.array(self.normal(12, self.length))

    @property
    def up(self) -> Any:
        """Sorted numbers."""
        return np.array(onp.sort(self.normal(13, self.length)))

    # --- matrices of `order` ---

    @property
    def m(self) -> Any:
        return np.array(self.normal(14, self.order, self.order))

    @property
    def m2(self) -> Any:
        return np.array(self.normal(15, self.order, self.order))

    @property
    def spd(self) -> Any:
        """A symmetric, positive definite matrix."""
        m = self.normal(14, self.order, self.order)
        return np.array(m @ m.T / self.order + onp.eye(self.order, dtype=self.dtype))

    @property
    def tall(self) -> Any:
        return np.array(self.normal(16, 2 * self.order, self.order))

    @property
    def short(self) -> Any:
        """A vector."""
        return np.array(self.normal(17, self.order))

    # --- others ---

    @property
    def image(self) -> Any:
        """A batch of an image with two channels."""
        return np.array(self.normal(18, 1, 2, *((60, 50) if self.large else (6, 5))))

    @property
    def kernel(self) -> Any:
        """A convolution's kernel for `image`."""
        return np.array(self.normal(19, 2, 2, 3, 3))

    @property
    def key(self) -> Any:
        return random.PRNGKey(3)
