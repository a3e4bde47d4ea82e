"""How long do decompositions and systems of equations take, compiled and at once, and gradients?"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy

TITLE = "Linear algebra"
UNIT = (
    "µs a call, result awaited, BLAS with one thread; NumPy compiles nothing, and has no gradients"
)
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax", "numpy")
ALWAYS = ("numpy",)

SIZES = {"64 of 64 × 64": (64, 64, 64), "1024 × 1024": (1024, 1024)}
SMALL = ("solve", "inv", "det", "eigh")
COMPILED = ("cholesky", "lu", "qr", "svd", "eigh", "solve", "inv", "det")
VARIABLES = {"OPENBLAS_NUM_THREADS": "1"}
SLOW = {
    f"{what}{operation}, 1024 × 1024"
    for what in ("", "gradient of ")
    for operation in ("qr", "svd", "eigh")
}
TARGETS = {
    "jax": {
        **{
            f"{what}{operation}, {size}": 1.0
            for size in SIZES
            for what in ("", "gradient of ")
            for operation in COMPILED
        },
        **{f"{operation} at once, 8 × 8": 5.0 for operation in SMALL},
    },
    "numpy": {f"{operation} at once, 8 × 8": 1 / 3 for operation in SMALL},
}


def functions(peer: Any) -> dict[str, Callable[[Any], Any]]:
    """One matrix, or a stack, to arrays."""
    np = peer.np
    return {
        "cholesky": lambda x: np.linalg.cholesky(x),
        "lu": lambda x: peer.package.lax.linalg.lu(x)[0],
        "qr": lambda x: np.linalg.qr(x),
        "svd": lambda x: np.linalg.svd(x, full_matrices=False),
        "eigh": lambda x: np.linalg.eigh(x),
        "solve": lambda x: np.linalg.solve(x, x[..., ::-1]),
        "det": lambda x: np.linalg.slogdet(x),
        "inv": lambda x: np.linalg.inv(x),
    }


def loss_of(np: Any, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A number that depends on all results."""

    def loss(x: Any) -> Any:
        found = function(x)
        parts = found if isinstance(found, tuple) else (found,)
        return sum(np.sum(y * y) for y in parts)

    return loss


def definite(shape: tuple[int, ...]) -> Any:
    """Symmetric positive definite matrices in float32."""
    x = numpy.random.RandomState(0).standard_normal(shape)
    n = shape[-1]
    return (x @ x.swapaxes(-1, -2) / n + numpy.eye(n)).astype("float32")


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    jit = getattr(peer, "jit", lambda f: f)
    all_functions = functions(peer)
    small = peer.array(definite((8, 8)))
    for name in SMALL:
        f = peer.np.linalg.det if name == "det" else all_functions[name]
        yield f"{name} at once, 8 × 8", lambda f=f: peer.wait(f(small))
    for size, shape in SIZES.items():
        x = peer.array(definite(shape))
        for name in COMPILED:
            if name == "lu" and peer.name == "numpy":
                continue  # it has none
            f = jit(all_functions[name])
            yield f"{name}, {size}", lambda f=f, x=x: peer.wait(f(x))
        if hasattr(peer, "grad"):
            for name in COMPILED:
                g = jit(peer.grad(loss_of(peer.np, all_functions[name])))
                yield f"gradient of {name}, {size}", lambda g=g, x=x: peer.wait(g(x))
