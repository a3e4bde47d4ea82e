"""A user's program: what type checkers know of arrays and of functions of arrays."""

from typing import assert_type

import weft.numpy as np
from weft import Array, lax, random

x = np.arange(6.0)

# operators
assert_type(x + 1, Array)
assert_type(2 * x, Array)
assert_type(x @ x, Array)
assert_type(x**2, Array)
assert_type(-x, Array)
assert_type(abs(x), Array)
assert_type(1 / x, Array)
assert_type(x // 2, Array)
assert_type(x > 0, Array)
assert_type(x == x, Array)
assert_type((x > 0) & (x < 1), Array)
assert_type(~(x > 0), Array)
assert_type(divmod(x, 2), tuple[Array, Array])

# indexing
assert_type(x[0], Array)
assert_type(x[1:3, None], Array)
assert_type(x[x > 0], Array)
assert_type(x.at[0].set(1.0), Array)

# methods and attributes
assert_type(x.sum(), Array)
assert_type(x.mean(axis=0), Array)
assert_type(x.reshape(2, 3).T, Array)
assert_type(x.astype("int32"), Array)
assert_type(x.argmax(), Array)
assert_type(x.max(axis=0, keepdims=True), Array)
assert_type(x.dot(x), Array)
assert_type(x.real, Array)
assert_type(x.nonzero(), tuple[Array, ...])
assert_type(x.shape, tuple[int, ...])
assert_type(x.ndim, int)
assert_type(float(x[0]), float)
assert_type(x.block_until_ready(), Array)
for row in x:
    assert_type(row, Array)

# functions
assert_type(np.sin(x), Array)
assert_type(np.add(x, 1), Array)
assert_type(np.where(x > 0, x, 0), Array)
assert_type(np.sum(x, axis=0), Array)
assert_type(np.concatenate([x, x]), Array)
assert_type(np.einsum("i,i->", x, x), Array)
assert_type(np.dot(x, x), Array)
assert_type(np.zeros((2, 3)), Array)
assert_type(np.array([1.0, 2.0]), Array)
assert_type(np.linspace(0, 1, 5), Array)
assert_type(np.clip(x, 0, 1), Array)
assert_type(np.stack([x, x]), Array)
assert_type(np.exp(x).sum() / x.size, Array)
assert_type(lax.add(x, x), Array)
assert_type(lax.exp(x), Array)
assert_type(lax.dot(x, x), Array)
assert_type(lax.select(x > 0, x, x), Array)
assert_type(lax.stop_gradient(x), Array)
key = random.PRNGKey(0)
assert_type(random.normal(key, (3,)), Array)
assert_type(random.uniform(key, (3,)), Array)
assert_type(random.permutation(key, x), Array)

# refused
np.sin()  # error: an argument is missing
np.sin(x, x)  # error: one too many
np.sum(x, axes=0)  # error: no such argument
print(x.transposed)  # error: no such attribute
