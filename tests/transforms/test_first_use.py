"""Each transformation works as the first thing that a process does: modules load as they are
needed, and none may count on another one having been loaded."""

import subprocess
import sys

import pytest

BEGIN = """
import weft
import weft.numpy as np
from weft import lax
x = np.linspace(0.1, 1.0, 3)
"""
FIRST = {
    "jit": "weft.jit(np.sin)(x)",
    "grad of checkpoint": "weft.grad(weft.checkpoint(lambda x: np.sum(np.sin(x))))(x)",
    "jvp": "weft.jvp(np.sin, (x,), (x,))",
    "vmap with a name": "weft.vmap(lambda x: lax.psum(x, 'i'), axis_name='i')(x)",
    "hessian": "weft.hessian(lambda x: np.sum(np.sin(x)))(x)",
    "linear_transpose": "weft.linear_transpose(lambda x: x * 2.0, x)(x)",
    "custom_vjp in scan": """
f = weft.custom_vjp(lambda x: np.sum(x))
f.defvjp(lambda x: (np.sum(x), x), lambda x, ct: (x * ct,))
loss = lambda x: lax.scan(lambda c, s: (c + f(x), None), 0.0, x)[0]
weft.make_jaxpr(weft.grad(loss))(x)
""",
    "scan": "weft.grad(lambda x: lax.scan(lambda c, s: (c * s, c), 1.0, x)[0])(x)",
    "cond": "weft.vmap(weft.grad(lambda x: lax.cond(x > 0, np.sin, np.cos, x)))(x)",
    "while": "weft.vmap(lambda x: lax.while_loop(lambda x: x < 3, lambda x: x + 1, x))(x)",
    "make_jaxpr": "weft.make_jaxpr(np.sin)(x)",
}


@pytest.mark.parametrize("name", FIRST)
def test_first_use(name):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BEGIN + FIRST[name]],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("switch", ["debug_nans", "enable_checks"])
def test_a_switch_is_turned_on_before_the_first_operation(switch):
    code = (
        "import weft; from weft.experimental import io_callback\n"
        f"with weft.{switch}(True): assert float(weft.jit(lambda x: x + 1)(1.0)) == 2"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_program_of_several_primitives_is_checked_as_the_first_operation():
    code = (
        "import numpy, weft.numpy as np, weft\n"
        "x = numpy.ones((2, 3))\n"
        "with weft.debug_nans(True): assert float(np.einsum('ij,ij->', x, x)) == 6"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_derivative_rule_is_applied_before_the_first_operation():
    code = """
import weft
f = weft.custom_jvp(lambda x: x)
f.defjvp(lambda primals, tangents: (primals[0], 5 * tangents[0]))
g = weft.custom_vjp(lambda x: f(x))
g.defvjp(lambda x: (f(x), None), lambda _, ct: (f(ct),))
assert float(weft.grad(g)(2.0)) == 1
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
