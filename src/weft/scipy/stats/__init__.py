"""Distributions and statistics, with SciPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "kernel_density": "gaussian_kde",
        "summary_statistics": "ModeResult mode rankdata sem",
    },
    modules="""
        bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l
        gumbel_r laplace logistic multinomial multivariate_normal nbinom norm pareto poisson t
        truncnorm uniform vonmises wrapcauchy
    """,
)
