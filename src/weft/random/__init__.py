"""Random numbers as functions of keys. There is no hidden state."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "ball": "ball",
        "beta": "beta dirichlet",
        "binomial": "binomial multinomial",
        "categorical": "categorical",
        "choice": "choice",
        "continuous": """
            cauchy double_sided_maxwell exponential gumbel laplace logistic maxwell pareto rayleigh
            triangular wald weibull_min
        """,
        "discrete": "bernoulli geometric rademacher",
        "gamma": "chisquare f gamma loggamma t",
        "generalized_normal": "generalized_normal",
        "keys": "PRNGKey bits clone fold_in key key_data key_dtype key_impl split wrap_key_data",
        "normal": "lognormal multivariate_normal normal truncated_normal",
        "orthogonal": "orthogonal",
        "permutation": "permutation shuffle",
        "poisson": "poisson",
        "randint": "randint",
        "uniform": "uniform",
    },
)
