"""Random indices, for tests that hold indexing against NumPy."""

import random

import numpy as np


def random_index(shape: tuple[int, ...], seed: int):
    """An index of any of NumPy's forms into an array of that shape."""
    r = random.Random(seed)
    wanted, used, ellipsis = r.randint(0, len(shape)), 0, False
    items: list = []
    while used < wanted:
        kind = r.choice("isaant")
        if kind == "n" and len(items) < 5:
            items.append(None)
        elif not ellipsis and r.random() < 0.15:
            items.append(...)
            ellipsis = True
        else:
            items.append(kind)
            used += 1
    behind = sum(i is not None for i in items[items.index(...) + 1 :]) if ellipsis else 0
    common = r.choice([(3,), (2, 3)])
    found, axis = [], 0
    for item in items:
        if item is ... or item is None:
            found.append(item)
            axis = len(shape) - behind if item is ... else axis
            continue
        found.append(_item(r, item, shape[axis], common))
        axis += 1
    return tuple(found) if len(found) != 1 or r.random() < 0.5 else found[0]


def _item(r: random.Random, kind: str, n: int, common: tuple[int, ...]):
    if kind == "i":
        return r.randint(-n, n - 1)
    if kind == "t":
        return np.int32(r.randint(-n, n - 1))
    if kind == "a":
        shape = r.choice([common, common[-1:], (1,)])
        places = [r.randint(-n, n - 1) for _ in range(int(np.prod(shape)))]
        return np.array(places, r.choice([np.int32, np.int8])).reshape(shape)
    bounds = [r.choice([None, *range(-n - 1, n + 2)]) for _ in range(2)]
    return slice(*bounds, r.choice([None, 1, 2, -1, -2, 3]))


def dynamic_parts(index) -> tuple[list, object]:
    """The parts of an index that may be known at run time only, and what rebuilds it with them."""
    items = index if isinstance(index, tuple) else (index,)
    parts = [np.asarray(i) for i in items if isinstance(i, (np.ndarray, np.generic))]

    def rebuilt(values):
        values = iter(values)
        return tuple(next(values) if isinstance(i, (np.ndarray, np.generic)) else i for i in items)

    return parts, rebuilt
