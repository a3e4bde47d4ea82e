"""How long does a whole process take: to import; to import, build a 2-layer MLP, and train a step?

Measured from outside, from the start of Python to its end. `warm disk cache`: an earlier process
has compiled the same program, and both peers keep executables on disk; in the others neither does.
"""

TITLE = "Whole processes"
UNIT = "ms from start to end"
KIND = "whole"
CLOCKS = ("cpu", "wall")
PEERS = ("weft", "jax")
CASES = ("import", "un-jitted step", "jitted step", "jitted step, warm disk cache")
CACHED = CASES[3:]
TARGETS = {"jax": dict(zip(CASES, (4, 4, 2, 3), strict=True))}

IMPORT = """
import {peer}
import {peer}.numpy as np
"""
MODEL = """
import numpy as onp

r = onp.random.RandomState(0)
params = [
    (np.array(r.randn(16, 16).astype("float32")), np.array(r.randn(16).astype("float32")))
    for _ in range(2)
]
x, y = (np.array(r.randn(4, 16).astype("float32")) for _ in range(2))

def loss(params):
    h = x
    for w, b in params:
        h = np.tanh(np.dot(h, w) + b)
    return np.mean((h - y) ** 2)

def step(params):
    value, grads = {peer}.value_and_grad(loss)(params)
    new = [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(params, grads)]
    return value, new
"""
RUN = "\nprint(step(params))\n"
JITTED = "\nprint({peer}.jit(step)(params))\n"
PROGRAMS = dict(
    zip(
        CASES,
        (IMPORT, IMPORT + MODEL + RUN, IMPORT + MODEL + JITTED, IMPORT + MODEL + JITTED),
        strict=True,
    )
)


def program(peer: str, case: str) -> str:
    """The text of the process."""
    return PROGRAMS[case].replace("{peer}", "weft" if peer == "before" else peer)
