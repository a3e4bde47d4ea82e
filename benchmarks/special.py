"""How long do compiled special functions take on 10⁶ float32 elements?"""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy

TITLE = "Special functions of 10⁶ elements"
UNIT = "µs for jit(f), result awaited"
KIND = "steady"
CLOCKS = ("wall", "cpu")
PEERS = ("weft", "jax")

COUNT = 1_000_000
# exp1, expi and expn are left out: jax takes 12 s and more for one call.
# name: what its arguments are drawn from
FUNCTIONS = {
    "erf": ("line",),
    "erfc": ("line",),
    "erfinv": ("symmetric",),
    "erfcx": ("line",),
    "ndtr": ("line",),
    "log_ndtr": ("line",),
    "ndtri": ("unit",),
    "gammaln": ("positive",),
    "digamma": ("positive",),
    "gamma": ("positive",),
    "betaln": ("positive", "positive"),
    "gammainc": ("positive", "positive"),
    "gammaincc": ("positive", "positive"),
    "betainc": ("positive", "positive", "unit"),
    "zeta": ("above_1", "positive"),
    "i0e": ("line",),
    "i1e": ("line",),
    "i0": ("line",),
    "i1": ("line",),
    "xlogy": ("positive", "positive"),
    "entr": ("positive",),
    "logit": ("unit",),
    "rel_entr": ("positive", "positive"),
    "kl_div": ("positive", "positive"),
    "boxcox": ("positive", "symmetric"),
    "boxcox1p": ("positive", "symmetric"),
    "spence": ("positive",),
    "owens_t": ("line", "line"),
}
TARGETS = {"jax": dict.fromkeys(FUNCTIONS, 1.0)}


def drawn(kind: str) -> Any:
    """Arguments that a program may well have."""
    rng = numpy.random.default_rng(0)
    x = {
        "line": lambda: 3 * rng.standard_normal(COUNT),
        "positive": lambda: rng.gamma(2, 2, COUNT) + 0.05,
        "above_1": lambda: rng.gamma(2, 2, COUNT) + 1.1,
        "unit": lambda: rng.uniform(1e-6, 1 - 1e-6, COUNT),
        "symmetric": lambda: rng.uniform(-1, 1, COUNT) * 0.999999,
    }[kind]()
    return x.astype(numpy.float32)


def cases(peer: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, what to time)."""
    special = importlib.import_module(f"{peer.package.__name__}.scipy.special")
    for name, kinds in FUNCTIONS.items():
        f, args = peer.jit(getattr(special, name)), [peer.array(drawn(kind)) for kind in kinds]
        yield name, lambda f=f, args=args: peer.wait(f(*args))
