"""How long do the first three un-jitted calls of a function take, all together, in a fresh process?

Nothing of the function is compiled or planned then. A process calls the functions one after the
other; XLA has compiled one program before, so that loading it is not counted.
"""

import importlib
from collections.abc import Callable, Iterator
from time import perf_counter, process_time
from typing import Any

import numpy

TITLE = "First three calls of common functions"
UNIT = "ms for three calls, results awaited; disk caches off"
KIND = "fresh"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax")
VARIABLES = {"OPENBLAS_NUM_THREADS": "1"}

CASES = {"8 x 8": (8, 8), "300 x 300": (300, 300)}
TOTAL = "all of them"
TARGETS = {"jax": {f"{case} {TOTAL}": 3.0 for case in CASES}}

Call = Callable[[], Any]

OF_ONE = """
    abs sign negative positive reciprocal square sqrt cbrt exp exp2 expm1 log log2 log10 log1p
    sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh floor ceil trunc rint round
    isnan isfinite isinf signbit frexp modf deg2rad sinc nan_to_num
    sum prod mean std var max min ptp median argmax argmin any all cumsum cumprod nansum nanmean
    nanmax count_nonzero average sort argsort diff ravel transpose flip fliplr triu tril trace diag
    diagonal zeros_like ones_like copy unique nonzero
"""
OF_TWO = """
    add subtract multiply divide maximum minimum fmax fmin power mod floor_divide fmod divmod hypot
    arctan2 logaddexp copysign nextafter heaviside equal less greater isclose allclose dot matmul
    inner vdot append
"""
OF_MATRICES = "norm inv det slogdet solve cholesky qr svd eigh eigvalsh pinv matrix_rank"
OF_LAYERS = "relu gelu softmax log_softmax sigmoid silu softplus elu logsumexp standardize"
WITH_OPTIONS: dict[str, Callable[..., Any]] = {
    "clip": lambda np, x, y: np.clip(x, 0.2, 0.8),
    "where": lambda np, x, y: np.where(x > 0.5, x, y),
    "sum of rows": lambda np, x, y: np.sum(x, axis=1),
    "max of columns": lambda np, x, y: np.max(x, axis=0, keepdims=True),
    "concatenate": lambda np, x, y: np.concatenate([x, y]),
    "stack": lambda np, x, y: np.stack([x, y]),
    "reshape": lambda np, x, y: np.reshape(x, (-1,)),
    "expand_dims": lambda np, x, y: np.expand_dims(x, 0),
    "broadcast_to": lambda np, x, y: np.broadcast_to(x, (2, *x.shape)),
    "roll": lambda np, x, y: np.roll(x, 1),
    "pad": lambda np, x, y: np.pad(x, 1),
    "tile": lambda np, x, y: np.tile(x, 2),
    "repeat": lambda np, x, y: np.repeat(x, 2),
    "take": lambda np, x, y: np.take(x, 1, axis=0),
    "einsum": lambda np, x, y: np.einsum("ij,jk->ik", x, y),
    "outer": lambda np, x, y: np.outer(x[0], y[0]),
    "kron": lambda np, x, y: np.kron(x[0], y[0]),
    "tensordot": lambda np, x, y: np.tensordot(x, y, 1),
    "astype": lambda np, x, y: x.astype("int32"),
    "x[1:, ::2]": lambda np, x, y: x[1:, ::2],
    "x.at[0].set(1)": lambda np, x, y: x.at[0].set(1.0),
    "quantile": lambda np, x, y: np.quantile(x, 0.3),
    "convolve": lambda np, x, y: np.convolve(x[0], y[0]),
    "searchsorted": lambda np, x, y: np.searchsorted(x[0], y),
    "interp": lambda np, x, y: np.interp(x, y[0], y[1]),
    "histogram": lambda np, x, y: np.histogram(x),
    "arange": lambda np, x, y: np.arange(x.size),
    "linspace": lambda np, x, y: np.linspace(0.0, 1.0, len(x)),
    "eye": lambda np, x, y: np.eye(len(x)),
}


def calls(peer: Any, shape: tuple[int, int]) -> Iterator[tuple[str, Call]]:
    """(name, call) of each function."""
    np = peer.np
    nn = importlib.import_module(f"{peer.package.__name__}.nn")
    random = numpy.random.RandomState(0)
    x, y = (peer.array(random.rand(*shape).astype("float32")) for _ in range(2))
    matrix = random.rand(*shape)
    definite = peer.array((matrix @ matrix.T + len(matrix) * numpy.eye(len(matrix))).astype("f"))
    for name in OF_ONE.split():
        f = getattr(np, name)
        yield name, lambda f=f: f(x)
    for name in OF_TWO.split():
        f = getattr(np, name)
        yield name, lambda f=f: f(x, y)
    yield "cross", lambda: np.cross(x[:, :3], y[:, :3])
    for name in OF_MATRICES.split():
        f, more = getattr(np.linalg, name), (x,) if name == "solve" else ()
        yield f"linalg.{name}", lambda f=f, more=more: f(definite, *more)
    for name in OF_LAYERS.split():
        f = getattr(nn, name)
        yield f"nn.{name}", lambda f=f: f(x)
    for name, f in WITH_OPTIONS.items():
        yield name, lambda f=f: f(np, x, y)


def measure(peer: Any, case: str) -> dict[str, dict[str, float]]:
    """Three calls of each function, and their sum."""
    peer.wait(peer.jit(lambda a: a + 1)(peer.np.ones(3)))
    found, total = {}, {"wall": 0.0, "cpu": 0.0}
    for name, call in calls(peer, CASES[case]):
        cpu, wall = process_time(), perf_counter()
        for _ in range(3):
            peer.wait(call())
        times = {"wall": (perf_counter() - wall) * 1e3, "cpu": (process_time() - cpu) * 1e3}
        found[name] = times
        total = {clock: total[clock] + times[clock] for clock in total}
    return {TOTAL: total, **found}
