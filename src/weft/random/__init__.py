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
    from .counts import binomial, multinomial
    from .distributions import bernoulli, normal, rademacher, randint, truncated_normal, uniform
    from .gammas import beta, chisquare, dirichlet, f, gamma, loggamma, poisson, t
    from .matrices import multivariate_normal, orthogonal
    from .orders import categorical, choice, permutation, shuffle
    from .prng import (
        PRNGKey,
        bits,
        clone,
        fold_in,
        key,
        key_data,
        key_dtype,
        key_impl,
        split,
        wrap_key_data,
    )
    from .vectors import ball, generalized_normal

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
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
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
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
        "counts": (
            "binomial",
            "multinomial",
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
        "matrices": (
            "multivariate_normal",
            "orthogonal",
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
            "key_dtype",
            "key_impl",
            "split",
            "wrap_key_data",
        ),
        "vectors": (
            "ball",
            "generalized_normal",
        ),
    },
)
