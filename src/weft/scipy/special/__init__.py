"""Special functions, with SciPy's names."""

from ...lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "bessel": "bessel_jn i0 i0e i1 i1e spherical_in spherical_jn spherical_kn spherical_yn",
        "combinatorics": "comb factorial poch",
        "elliptic": "ellipe ellipk ellipkm1",
        "error_functions": "dawsn erf erfc erfcx erfinv fresnel log_ndtr ndtr ndtri owens_t wofz",
        "exponential": "boxcox boxcox1p expit exprel logit xlog1py xlogy",
        "exponential_integrals": "exp1 expi expn sici spence",
        "gamma": """
            beta betainc betaln digamma gamma gammainc gammaincc gammaln gammasgn loggamma
            multigammaln polygamma
        """,
        "hypergeometric": "hyp1f1 hyp2f1",
        "information_theory": "entr huber kl_div pseudo_huber rel_entr",
        "lambertw": "lambertw",
        "logsumexp": "log_softmax logsumexp softmax",
        "spherical_harmonics": "lpmn lpmn_values sph_harm sph_harm_y",
        "zeta": "bernoulli zeta",
    },
)
