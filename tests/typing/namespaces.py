"""A user's program: what type checkers know of names that are loaded when they are first used."""

from typing import assert_type

import weft
import weft.layers as tl
import weft.numpy as np
from weft import Array, lax, random, scipy
from weft.experimental import sparse
from weft.numpy import *  # noqa: F403

assert_type(arange(3), Array)  # noqa: F405
assert_type(weft.numpy.fft.fft(np.ones(3)).real, Array)
assert_type(lax.linalg.cholesky(np.eye(2)), Array)
assert_type(scipy.special.erf(np.ones(3)), Array)
assert_type(scipy.stats.norm.pdf(0.0), Array)
assert_type(sparse.BCOO.fromdense(np.eye(2)).todense(), Array)
assert_type(weft.__version__, str)
assert_type(weft.config.enable_x64, bool)
layer: tl.base.Layer = tl.Dense(3)

np.arrange(3)  # error: no such name
weft.arange(3)  # error: it is in weft.numpy
print(random.exports)  # error: what a namespace is made of is no name of it
