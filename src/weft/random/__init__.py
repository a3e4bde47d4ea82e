"""Random numbers: functions of keys, which are never used up and never change by themselves."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "continuous": """
            cauchy double_sided_maxwell exponential geometric gumbel laplace logistic lognormal
            maxwell pareto rayleigh triangular wald weibull_min
        """,
        "counts": "binomial multinomial",
        "distributions": "bernoulli normal rademacher randint truncated_normal uniform",
        "gammas": "beta chisquare dirichlet f gamma loggamma poisson t",
        "matrices": "multivariate_normal orthogonal",
        "orders": "categorical choice permutation shuffle",
        "prng": "PRNGKey bits clone fold_in key key_data key_dtype key_impl split wrap_key_data",
        "vectors": "ball generalized_normal",
    },
)
