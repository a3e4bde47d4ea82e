# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .ball import ball as ball
from .beta import beta as beta, dirichlet as dirichlet
from .binomial import binomial as binomial, multinomial as multinomial
from .categorical import categorical as categorical
from .choice import choice as choice
from .continuous import (
    cauchy as cauchy,
    double_sided_maxwell as double_sided_maxwell,
    exponential as exponential,
    gumbel as gumbel,
    laplace as laplace,
    logistic as logistic,
    maxwell as maxwell,
    pareto as pareto,
    rayleigh as rayleigh,
    triangular as triangular,
    wald as wald,
    weibull_min as weibull_min,
)
from .discrete import bernoulli as bernoulli, geometric as geometric, rademacher as rademacher
from .gamma import chisquare as chisquare, f as f, gamma as gamma, loggamma as loggamma, t as t
from .generalized_normal import generalized_normal as generalized_normal
from .keys import (
    PRNGKey as PRNGKey,
    bits as bits,
    clone as clone,
    fold_in as fold_in,
    key as key,
    key_data as key_data,
    key_dtype as key_dtype,
    key_impl as key_impl,
    split as split,
    wrap_key_data as wrap_key_data,
)
from .normal import (
    lognormal as lognormal,
    multivariate_normal as multivariate_normal,
    normal as normal,
    truncated_normal as truncated_normal,
)
from .orthogonal import orthogonal as orthogonal
from .permutation import permutation as permutation, shuffle as shuffle
from .poisson import poisson as poisson
from .randint import randint as randint
from .uniform import uniform as uniform
