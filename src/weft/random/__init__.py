"""Random numbers: functions of keys, which are never used up and never change by themselves."""

from typing import TYPE_CHECKING

from ..lazy import exports

if TYPE_CHECKING:
    from .continuous import (
        cauchy,
        double_sided_maxwell,
        exponential,
        geometric,
        gumbel,
        laplace,
        logistic,
        lognormal,
        maxwell,
        pareto,
        rayleigh,
        triangular,
        wald,
        weibull_min,
    )
    from .distributions import bernoulli, normal, rademacher, randint, truncated_normal, uniform
    from .gammas import beta, chisquare, dirichlet, f, gamma, loggamma, poisson, t
    from .orders import categorical, choice, permutation, shuffle
    from .prng import PRNGKey, bits, clone, fold_in, key, key_data, key_impl, split, wrap_key_data

__all__ = [
    "PRNGKey",
    "bernoulli",
    "beta",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "shuffle",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "continuous": (
            "cauchy",
            "double_sided_maxwell",
            "exponential",
            "geometric",
            "gumbel",
            "laplace",
            "logistic",
            "lognormal",
            "maxwell",
            "pareto",
            "rayleigh",
            "triangular",
            "wald",
            "weibull_min",
        ),
        "distributions": (
            "bernoulli",
            "normal",
            "rademacher",
            "randint",
            "truncated_normal",
            "uniform",
        ),
        "gammas": (
            "beta",
            "chisquare",
            "dirichlet",
            "f",
            "gamma",
            "loggamma",
            "poisson",
            "t",
        ),
        "orders": (
            "categorical",
            "choice",
            "permutation",
            "shuffle",
        ),
        "prng": (
            "PRNGKey",
            "bits",
            "clone",
            "fold_in",
            "key",
            "key_data",
            "key_impl",
            "split",
            "wrap_key_data",
        ),
    },
)
