"""The engine on an accelerator gives what it gives on the CPU. Skips itself where there is none."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax, random

pytestmark = pytest.mark.gpu


def network(params, x):
    for w, b in params:
        x = np.tanh(np.dot(x, w) + b)
    return np.sum(x**2)


def arguments():
    keys = random.split(random.PRNGKey(0), 4)
    params = [(random.normal(k, (16, 16)) * 0.3, np.zeros(16)) for k in keys[:3]]
    return params, random.normal(keys[3], (4, 16))


def rounded(tree):
    return [onp.asarray(x) for x in weft.tree_util.tree_leaves(tree)]


PROGRAMS = {
    "eager": lambda: np.sum(np.sin(np.arange(100.0)) * 2.0),
    "gradient": lambda: weft.grad(network)(*arguments()),
    "compiled gradient": lambda: weft.jit(weft.grad(network))(*arguments()),
    "per example": lambda: weft.jit(weft.vmap(weft.grad(network), (None, 0)))(*arguments()),
    "scan": lambda: lax.scan(lambda c, x: (c * 0.9 + x, c), 0.0, np.arange(10.0)),
    "random bits": lambda: random.bits(random.PRNGKey(1), (1000,)),
    "sort": lambda: np.sort(random.normal(random.PRNGKey(2), (1000,))),
    "convolution": lambda: lax.conv(np.ones((1, 2, 8, 8)), np.ones((3, 2, 3, 3)), (1, 1), "SAME"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_accelerator_agrees_with_the_cpu(name):
    on_accelerator = rounded(PROGRAMS[name]())
    with weft.config.temporarily(eager_tier="host"):
        cpu = weft.devices("cpu")[0]
        on_cpu = rounded(weft.device_put(PROGRAMS[name](), cpu))
    for a, b in zip(on_accelerator, on_cpu, strict=True):
        onp.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-4)
