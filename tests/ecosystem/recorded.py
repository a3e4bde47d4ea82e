"""What a program's arrays are, in a file: enough of each array to tell it from another."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MANY = 40
"""So many elements of an array are kept, and of a longer one its sums."""
RTOL, ATOL = 1e-4, 1e-5
"""How far apart two libraries' values may be: float32, after some steps of training."""


class Digest(NamedTuple):
    """An array: its type, elements at even distances, and two weighted sums of all."""

    type: str
    size: int
    elements: np.ndarray
    sums: np.ndarray


def digest(x: Any) -> Digest:
    """What is kept of an array."""
    x = np.asarray(x)
    flat = x.reshape(-1)
    kept = flat[:: max(1, -(-flat.size // MANY))]
    wide = flat.astype("float64")
    sums = [wide.sum(), (wide * np.cos(np.arange(flat.size))).sum()] if flat.size > MANY else []
    return Digest(f"{x.dtype}{list(x.shape)}", flat.size, kept, np.array(sums))


def write(path: Path, programs: Mapping[str, Iterable[Digest]]) -> int:
    """Writes the arrays of programs; returns how many there are."""
    arrays = {}
    for name, digests in programs.items():
        for n, d in enumerate(digests):
            arrays[f"{name}/{n:03}/{d.type}/{d.size}/elements"] = d.elements
            if d.sums.size:
                arrays[f"{name}/{n:03}/{d.type}/{d.size}/sums"] = d.sums
    np.savez_compressed(path, **arrays)
    return sum(key.endswith("/elements") for key in arrays)


def read(path: Path) -> dict[str, list[Digest]]:
    """The arrays of programs, in order."""
    found: dict[str, list[Digest]] = {}
    with np.load(path) as file:
        for key in sorted(k for k in file if k.endswith("/elements")):
            name, _, kind, size, _ = key.split("/")
            sums_key = key.removesuffix("elements") + "sums"
            sums = file[sums_key] if sums_key in file else np.zeros(0)
            found.setdefault(name, []).append(Digest(kind, int(size), file[key], sums))
    return found
