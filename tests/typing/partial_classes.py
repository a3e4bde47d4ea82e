"""A user's program: options of custom derivatives by functools.partial, as mypy knows them.

To pyright `functools.partial` of a class with type parameters is of unknown type, so there it
accepts any call.
"""

import functools
from typing import assert_type

import weft
import weft.numpy as np
from weft import Array

x = np.ones(3)


@functools.partial(weft.custom_jvp, nondiff_argnums=(0,))
def scaled(n: int, x: Array) -> Array:
    return x * n


@functools.partial(weft.custom_vjp, nondiff_argnums=(0,))
def multiple(n: int, x: Array) -> Array:
    return x * n


scaled.defjvp(lambda n, primals, tangents: (n * primals[0], n * tangents[0]))
multiple.defvjp(lambda n, x: (n * x, None), lambda n, residual, ct: (n * ct,))
assert_type(scaled(2, x), Array)
assert_type(multiple(2, x), Array)
scaled(2)  # error: an argument is missing
multiple(2)  # error: an argument is missing
