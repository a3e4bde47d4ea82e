# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .continuous import (
    cauchy as cauchy,
    double_sided_maxwell as double_sided_maxwell,
    exponential as exponential,
    geometric as geometric,
    gumbel as gumbel,
    laplace as laplace,
    logistic as logistic,
    lognormal as lognormal,
    maxwell as maxwell,
    pareto as pareto,
    rayleigh as rayleigh,
    triangular as triangular,
    wald as wald,
    weibull_min as weibull_min,
)
from .counts import binomial as binomial, multinomial as multinomial
from .distributions import (
    bernoulli as bernoulli,
    normal as normal,
    rademacher as rademacher,
    randint as randint,
    truncated_normal as truncated_normal,
    uniform as uniform,
)
from .gammas import (
    beta as beta,
    chisquare as chisquare,
    dirichlet as dirichlet,
    f as f,
    gamma as gamma,
    loggamma as loggamma,
    poisson as poisson,
    t as t,
)
from .matrices import multivariate_normal as multivariate_normal, orthogonal as orthogonal
from .orders import (
    categorical as categorical,
    choice as choice,
    permutation as permutation,
    shuffle as shuffle,
)
from .prng import (
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
from .vectors import ball as ball, generalized_normal as generalized_normal
