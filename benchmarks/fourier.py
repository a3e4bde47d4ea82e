"""How long do Fourier transforms take? A small one un-jitted, large ones compiled, and gradients of
the sum of squares of their results."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy

TITLE = "Fourier transforms"
UNIT = "µs a call, result awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax", "numpy")
ALWAYS = ("numpy",)

SMALL = ("fft", "rfft", "irfft")
LARGE = {
    "fft of 2²⁰": ("fft", (2**20,), "complex64"),
    "rfft of 2²⁰": ("rfft", (2**20,), "float32"),
    "irfft of 2¹⁹ + 1": ("irfft", (2**19 + 1,), "complex64"),
    "fft of 1000 × 256": ("fft", (1000, 256), "complex64"),
    "rfft2 of 512 × 512": ("rfft2", (512, 512), "float32"),
}
TARGETS = {
    "jax": {
        **{f"{name} of 64, un-jitted": 5.0 for name in SMALL},
        **dict.fromkeys(LARGE, 1.0),
        **{f"gradient, {name}": 1.0 for name in LARGE},
    },
    "numpy": {f"{name} of 64, un-jitted": 1 / 3 for name in SMALL},
}


def signal(peer: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Noise, complex if the dtype is."""
    random = numpy.random.RandomState(0)
    x = random.standard_normal(shape)
    return peer.array((x + 1j * x[::-1] if dtype == "complex64" else x).astype(dtype))


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time). NumPy has no gradients, and compiles nothing."""
    np, ready = peer.np, peer.ready
    for name in SMALL:
        f, x = (
            getattr(np.fft, name),
            signal(peer, (64,), "float32" if name == "rfft" else "complex64"),
        )
        yield f"{name} of 64, un-jitted", lambda f=f, x=x: ready(f(x))
    jit = getattr(peer, "jit", lambda f: f)
    for about, (name, shape, dtype) in LARGE.items():
        f, x = getattr(np.fft, name), signal(peer, shape, dtype)
        compiled = jit(f)
        yield about, lambda f=compiled, x=x: ready(f(x))
        if peer.name == "numpy":
            continue

        def loss(x: Any, f: Any = f) -> Any:
            return np.sum(np.abs(f(x)) ** 2)

        gradient = jit(peer.grad(loss))
        yield f"gradient, {about}", lambda f=gradient, x=x: ready(f(x))
