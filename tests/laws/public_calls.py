"""Calls of all public functions that compute arrays, and a program that prints the digests of their
results: `python public_calls.py [--backwards]`, with the names of calls in its input, as JSON.

The name of a call is that of the function, its number among the function's, the size and the dtype:
"numpy.sum 1 large float32".
"""

import hashlib
import importlib
import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import calls_of_lax
import calls_of_numpy
import calls_of_others
import numpy as onp
from public_arguments import Arguments

import weft
from weft import tree_util
from weft.extended_dtypes import is_extended

CALLS = {
    "numpy": calls_of_numpy.NUMPY,
    "numpy.linalg": calls_of_numpy.LINALG,
    "numpy.fft": calls_of_numpy.FFT,
    "lax": calls_of_lax.LAX,
    "lax.linalg": calls_of_lax.LINALG,
    "nn": calls_of_others.NN,
    "nn.initializers": calls_of_others.INITIALIZERS,
    "random": calls_of_others.RANDOM,
    "scipy.special": calls_of_others.SPECIAL,
    "scipy.linalg": calls_of_others.LINALG,
    "scipy.stats": calls_of_others.STATS,
    "scipy.signal": calls_of_others.SIGNAL,
    "scipy.integrate": calls_of_others.INTEGRATE,
    "scipy.ndimage": calls_of_others.NDIMAGE,
    "scipy.fft": calls_of_others.FFT,
    "scipy.cluster.vq": calls_of_others.CLUSTER,
    "scipy.optimize": calls_of_others.OPTIMIZE,
    "scipy.sparse.linalg": calls_of_others.SPARSE,
    "image": calls_of_others.IMAGE,
    "ops": calls_of_others.OPS,
    **dict(calls_of_others.distributions()),
}
"""The calls of each namespace: (function of a public function and arguments, names)."""

FUNCTIONS: dict[str, list[Callable[..., Any]]] = {}
"""The calls of each public function, by its name below `weft`."""

for path, rows in CALLS.items():
    for call, names in rows:
        for name in names.split():
            FUNCTIONS.setdefault(f"{path}.{name}", []).append(call)
FUNCTIONS["Array"] = [lambda _, a: calls_of_numpy.of_arrays(a)]


def public(name: str) -> Any:
    """A public function, by its name below `weft`."""
    path, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(f"weft.{path}" if path else "weft"), attribute)


def digest(result: Any) -> str:
    """The digest of a result: structure, types and bits; NaNs are alike."""
    found = hashlib.sha256()
    leaves, tree = tree_util.tree_flatten(result)
    found.update(str(tree).encode())
    for leaf in leaves:
        if is_extended(getattr(leaf, "dtype", None)):
            leaf = weft.random.key_data(leaf)
        host = onp.asarray(leaf)
        found.update(f"{host.dtype} {host.shape} {getattr(leaf, 'weak_type', None)}".encode())
        if host.dtype.kind in "fc":
            parts = host.reshape(-1).view(host.real.dtype)
            host = onp.where(onp.isnan(parts), onp.asarray(onp.nan, parts.dtype), parts)
        found.update(host.tobytes())
    return found.hexdigest()[:16]


def digests(call_name: str, compiles_first: bool) -> dict[str, list[str]]:
    """The digests of three calls in a row, each with arguments of its own, and of the text of the
    compiled call, which is made before them or afterwards."""
    name, number, size, dtype = call_name.split()
    call, function = FUNCTIONS[name][int(number)], public(name)

    def arguments() -> Arguments:
        return Arguments(size == "large", dtype)

    def text() -> str:
        given = arguments()
        try:
            return digest_of(weft.jit(lambda: call(function, given)).lower().as_text())
        except Exception as error:  # it needs values, and refuses tracers
            return type(error).__name__

    with weft.enable_x64(dtype == "float64"):
        before = [text()] if compiles_first else []
        calls = [digest(call(function, arguments())) for _ in range(3)]
        return {"calls": calls, "program": before or [text()]}


def digest_of(text: str) -> str:
    """The digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def main() -> None:
    warnings.simplefilter("ignore")
    names = json.load(sys.stdin)
    backwards = "--backwards" in sys.argv
    if backwards:
        names.reverse()
    print(json.dumps({name: digests(name, backwards) for name in names}))


if __name__ == "__main__":
    main()
