"""Special functions, with SciPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "bessel_functions": "i0 i0e i1 i1e",
        "bessel_orders": "bessel_jn",
        "complex_functions": "loggamma wofz",
        "elliptic": "ellipe ellipk ellipkm1",
        "error_functions": "erf erfc erfcx erfinv log_ndtr ndtr ndtri",
        "factorials": "bernoulli comb factorial poch",
        "gamma_functions": """
            beta betainc betaln digamma gamma gammainc gammaincc gammaln gammasgn multigammaln
            polygamma
        """,
        "harmonics": "lpmn lpmn_values sph_harm sph_harm_y",
        "hypergeometric": "hyp1f1 hyp2f1 owens_t",
        "integrals": "dawsn exp1 expi expn fresnel sici spence",
        "lambert": "lambertw",
        "logarithms": "boxcox boxcox1p entr expit kl_div logit rel_entr xlog1py xlogy",
        "robust_losses": "exprel huber pseudo_huber",
        "spherical_bessel": "spherical_in spherical_jn spherical_kn spherical_yn",
        "sums_of_exponentials": "log_softmax logsumexp softmax",
        "zeta_functions": "zeta",
    },
)
