"""What the recorded streams consist of: calls of a module like `weft.random`, by label.

`python tests/random_streams.py MODULE classic.npz` records another library's streams with the
switches that its environment sets; a third argument names another table (`64`, `newer`). The files
in `random/data/` came from version 0.10.2 of the library that the seeds describe, with the
partitionable streams off (classic) and on.
"""

import sys

import numpy as np

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
P = np.float32([0.1, 0.2, 0.3, 0.2, 0.2])
LOGITS = np.log(np.float32([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]))
BOUNDS = [(0, 10), (-5, 5), (0, 256), (-128, 128), (0, 2**31 - 1), (3, 3), (5, 2), (10, 1000)]


def f32(*xs):
    return np.float32(xs)


# fmt: off
KEYS = {
    "split": lambda r, k: r.split(k, 5),
    "split to a shape": lambda r, k: r.split(k, (2, 3)),
    "fold_in": lambda r, k: r.fold_in(k, 7),
    "fold_in negative": lambda r, k: r.fold_in(k, np.int32(-7)),
    "PRNGKey": lambda r, k: np.stack([r.PRNGKey(s) for s in (0, 42, 2**31, 2**40 + 17, -3)]),
}
BITS = {
    f"bits {width} {shape}": lambda r, k, width=width, shape=shape: r.bits(k, shape, f"uint{width}")
    for width in (8, 16, 32)
    for shape in ((), (1,), (2,), (3,), (5,), (2, 3), (31,), (0,), (4, 0), (1001,))
}
INTEGERS = {
    **{
        f"randint {t} {low} {high}": lambda r, k, t=t, a=low, b=high: r.randint(k, (9,), a, b, t)
        for t in ("int8", "uint8", "int16", "uint16", "int32", "uint32")
        for low, high in BOUNDS
    },
    "randint nearly all": lambda r, k: r.randint(k, (5,), -(2**31), 2**31 - 1, "int32"),
    "randint arrays": lambda r, k: r.randint(k, (3,), np.int32([1, 5, 9]), np.int32([4, 1000, 9])),
    "randint beyond": lambda r, k: r.randint(k, (4,), 0, np.int32([300, 256, 255, 1]), "uint8"),
    "randint below": lambda r, k: r.randint(k, (4,), np.int32(-300), 100, "int8"),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (9,)),
    "bernoulli of its own shape": lambda r, k: r.bernoulli(k, f32(0.1, 0.9, 0.5)),
    "bernoulli scalar": lambda r, k: r.bernoulli(k),
    "rademacher": lambda r, k: r.rademacher(k, (9,)),
    "geometric": lambda r, k: r.geometric(k, 0.3, (20,)),
    "permutation": lambda r, k: r.permutation(k, 10),
    "permutation, two rounds": lambda r, k: r.permutation(k, 3000),
    "permutation of rows": lambda r, k: r.permutation(k, X),
    "permutation of columns": lambda r, k: r.permutation(k, X, 1),
    "permutation, independent": lambda r, k: r.permutation(k, X, 2, True),
    "permutation of none": lambda r, k: r.permutation(k, 0),
    "choice": lambda r, k: r.choice(k, 10, (4,)),
    "choice without replacement": lambda r, k: r.choice(k, 10, (4,), False),
    "choice of slices": lambda r, k: r.choice(k, X, (2, 2), True, None, 2),
    "choice of slices, once": lambda r, k: r.choice(k, X, (3,), False, None, 1),
    "choice with p": lambda r, k: r.choice(k, 5, (20,), True, P),
    "choice with p, once": lambda r, k: r.choice(k, 5, (3,), False, P),
    "categorical": lambda r, k: r.categorical(k, LOGITS),
    "categorical, axis 0": lambda r, k: r.categorical(k, LOGITS, 0),
    "categorical, shape": lambda r, k: r.categorical(k, LOGITS, -1, (5, 2)),
    "categorical, axis 0 and shape": lambda r, k: r.categorical(k, LOGITS, 0, (4, 3)),
}
FLOATS = {
    "uniform": lambda r, k: r.uniform(k, (7,)),
    "uniform scalar": lambda r, k: r.uniform(k),
    "uniform in a range": lambda r, k: r.uniform(k, (2, 3), "float32", -2.0, 3.0),
    "uniform with arrays": lambda r, k: r.uniform(k, (2, 2), "float32", f32(0, 1), f32([1], [2])),
    "uniform bfloat16": lambda r, k: r.uniform(k, (5,), "bfloat16"),
    "uniform float16": lambda r, k: r.uniform(k, (5,), "float16", -1, 1),
    "normal": lambda r, k: r.normal(k, (1001,)),
    "normal bfloat16": lambda r, k: r.normal(k, (20,), "bfloat16"),
    "normal float16": lambda r, k: r.normal(k, (20,), "float16"),
    "normal complex64": lambda r, k: r.normal(k, (9,), "complex64"),
    "truncated_normal": lambda r, k: r.truncated_normal(k, -2, 2, (30,)),
    "truncated_normal with arrays": lambda r, k: r.truncated_normal(k, f32(0, 1), f32(2, 3)),
    "exponential": lambda r, k: r.exponential(k, (20,)),
    "exponential float16": lambda r, k: r.exponential(k, (20,), "float16"),
    "gumbel": lambda r, k: r.gumbel(k, (20,)),
    "gumbel bfloat16": lambda r, k: r.gumbel(k, (20,), "bfloat16"),
    "laplace": lambda r, k: r.laplace(k, (20,)),
    "logistic": lambda r, k: r.logistic(k, (20,)),
    "cauchy": lambda r, k: r.cauchy(k, (20,)),
    "maxwell": lambda r, k: r.maxwell(k, (20,)),
    "double_sided_maxwell": lambda r, k: r.double_sided_maxwell(k, f32(1, 2), f32(2, 2), (3,)),
    "weibull_min": lambda r, k: r.weibull_min(k, 2.0, 3.0, (20,)),
    "pareto": lambda r, k: r.pareto(k, f32(1, 2, 3)),
    "rayleigh": lambda r, k: r.rayleigh(k, 2.0, (20,)),
    "lognormal": lambda r, k: r.lognormal(k, 0.5, (20,)),
    "triangular": lambda r, k: r.triangular(k, -1.0, 0.5, 2.0, (20,)),
    "wald": lambda r, k: r.wald(k, 2.0, (20,)),
    "gamma": lambda r, k: r.gamma(k, f32(0.1, 0.5, 1, 3, 100)),
    "gamma with a shape": lambda r, k: r.gamma(k, f32([1], [2]), (2, 3)),
    "loggamma": lambda r, k: r.loggamma(k, f32(0.001, 0.1, 0.5, 1, 3, 100)),
    "beta": lambda r, k: r.beta(k, 2.0, 0.5, (20,)),
    "chisquare": lambda r, k: r.chisquare(k, 3.0, (20,)),
    "f": lambda r, k: r.f(k, 3.0, 5.0, (20,)),
    "t": lambda r, k: r.t(k, 3.0, (20,)),
    "dirichlet": lambda r, k: r.dirichlet(k, f32(0.5, 1, 2), (4,)),
}
COUNTS = {
    "poisson": lambda r, k: r.poisson(k, 3.0, (20,)),
    "poisson, large": lambda r, k: r.poisson(k, 30.0, (20,)),
    "poisson with an array": lambda r, k: r.poisson(k, f32(0, 0.5, 5, 50, 1000)),
}
def by(impl):
    """Samples of another generator, of its key for 5, its children and its fold."""
    return {
        f"{impl}: {name}": lambda r, k, impl=impl, case=case: case(r, r.key(5, impl=impl))
        for name, case in {
            "split": lambda r, k: r.key_data(r.split(k, (2, 3))),
            "split twice": lambda r, k: r.key_data(r.split(r.split(k)[1], 5)),
            "fold_in": lambda r, k: r.key_data(r.fold_in(r.split(k)[0], 7)),
            "bits 8": lambda r, k: r.bits(k, (3, 5), "uint8"),
            "bits 16": lambda r, k: r.bits(k, (7,), "uint16"),
            "bits 32": lambda r, k: r.bits(r.split(k)[1], (2, 5), "uint32"),
            "normal": lambda r, k: r.normal(k, (9,)),
            "randint": lambda r, k: r.randint(k, (9,), -5, 1000),
            "permutation": lambda r, k: r.permutation(k, 7),
        }.items()
    }


FINE = {
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (50,), "high"),
    "bernoulli float16": lambda r, k: r.bernoulli(k, np.float16([0.4, 0.01]), (40, 2), "high"),
    "gumbel": lambda r, k: r.gumbel(k, (50,), mode="high"),
    "gumbel float16": lambda r, k: r.gumbel(k, (500,), "float16", "high"),
    "gumbel bfloat16": lambda r, k: r.gumbel(k, (500,), "bfloat16", mode="high"),
    "categorical": lambda r, k: r.categorical(k, LOGITS, shape=(20, 2), mode="high"),
    "categorical, once": lambda r, k: r.categorical(
        k, LOGITS, shape=(2, 2), replace=False, mode="high"
    ),
    "choice": lambda r, k: r.choice(k, 9, (20,), mode="high"),
    "choice, once": lambda r, k: r.choice(k, 9, (5,), False, mode="high"),
    "choice with p": lambda r, k: r.choice(k, 5, (20,), True, P, mode="high"),
    "choice with p, once": lambda r, k: r.choice(k, 5, (3,), False, P, mode="high"),
}
NEWER = {
    "binomial": lambda r, k: r.binomial(
        k, f32(10, 1000, 100, 5, -1, np.nan, 5), f32(0.3, 0.5, 0.9, 1, 0.5, 0.5, -1)
    ),
    "multinomial": lambda r, k: r.multinomial(k, f32(5, 300), f32([0.2, 0, 0.8], [1, 2, 3])),
    "generalized_normal": lambda r, k: r.generalized_normal(k, 1.5, (9,)),
    "ball": lambda r, k: r.ball(k, 3, 2.0, (4,)),
    "multivariate_normal": lambda r, k: r.multivariate_normal(
        k, f32(1, 2), f32([2, 0.5], [0.5, 1]), (3,)
    ),
    "orthogonal": lambda r, k: r.orthogonal(k, 3),
    "orthogonal rows": lambda r, k: r.orthogonal(k, 2, (2,), "complex64", 3),
    **by("rbg"),
    **by("unsafe_rbg"),
    **{f"fine {label}": case for label, case in FINE.items()},
}
IN_64_BITS = {
    "PRNGKey": KEYS["PRNGKey"],
    "bits": lambda r, k: r.bits(k, (5,)),
    "uniform": lambda r, k: r.uniform(k, (5,)),
    "normal": lambda r, k: r.normal(k, (50,)),
    "randint": lambda r, k: r.randint(k, (5,), -3, 2**40),
    "randint nearly all": lambda r, k: r.randint(k, (5,), -(2**63), 2**63 - 1),
    "permutation": lambda r, k: r.permutation(k, 5),
}
# fmt: on
SEEDS = (0, 42)


def record(module, path, table=""):
    """Writes the values of all cases."""
    tables = {
        "": {**KEYS, **BITS, **INTEGERS, **FLOATS, **COUNTS},
        "64": IN_64_BITS,
        "newer": NEWER,
    }
    cases = tables[table]
    values = {}
    for seed in SEEDS:
        for label, case in cases.items():
            value = np.asarray(case(module, module.PRNGKey(seed)))
            narrow = value.dtype.name == "bfloat16"
            values[f"{seed}/{label}"] = value.astype(np.float32) if narrow else value
    np.savez_compressed(path, **values)


if __name__ == "__main__":
    import importlib

    record(importlib.import_module(sys.argv[1]), sys.argv[2], *sys.argv[3:])
