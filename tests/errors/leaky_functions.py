"""Functions that keep a traced value, each in another kind of place."""

import weft.numpy as np

seen = []
table = {}


class Model:
    weights = None

    def __call__(self, x):
        self.weights = np.sin(x)
        return np.sum(x)


def into_a_list(x):
    seen.append(np.cos(x) * 2.0)
    return np.sum(x)


def into_a_global_dict(x):
    table["x"] = (x + 1.0,)
    return np.sum(x)


def into_an_attribute(x, model=Model()):  # noqa: B008
    return model(x)


def counter():
    last = None

    def f(x):
        nonlocal last
        last = x * 2.0
        return np.sum(x)

    return f


def generator(x):
    def each(y):
        yield y

    table["generator"] = g = each(x * 3.0)
    next(g)
    return np.sum(x)
