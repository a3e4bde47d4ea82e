"""Integer division that has no quotient: XLA's constant folding must not end the process."""

import subprocess
import sys

import pytest

PROGRAM = """
import numpy as onp, weft, weft.numpy as np
from weft import lax
def f():
    x = np.asarray(onp.array({x}, onp.{dtype}))
    return lax.{name}(lax.full_like(x, {x}), lax.full_like(x, {y}))
print(weft.jit(f)())
"""


@pytest.mark.parametrize(
    ("name", "dtype", "x", "y", "expected"),
    [
        ("div", "int32", 7, 0, -1),
        ("rem", "int32", 7, 0, 7),
        ("div", "int32", -(2**31), -1, -(2**31)),
        ("rem", "int32", -(2**31), -1, 0),
        ("div", "uint8", 7, 0, 255),
        ("rem", "uint8", 7, 0, 7),
        ("div", "int8", -7, 2, -3),
        ("rem", "int8", -7, 2, -1),
    ],
)
def test_a_division_of_constants_compiles(name, dtype, x, y, expected):
    program = PROGRAM.format(name=name, dtype=dtype, x=x, y=y)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(expected)
