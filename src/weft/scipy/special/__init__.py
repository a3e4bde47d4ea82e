"""Special functions, with SciPy's names."""

from typing import TYPE_CHECKING

from ...lazy import exports

if TYPE_CHECKING:
    from .bessel_functions import i0, i0e, i1, i1e
    from .bessel_orders import bessel_jn
    from .complex_functions import loggamma, wofz
    from .elliptic import ellipe, ellipk, ellipkm1
    from .error_functions import erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri
    from .factorials import bernoulli, comb, factorial, poch
    from .gamma_functions import (
        beta,
        betainc,
        betaln,
        digamma,
        gamma,
        gammainc,
        gammaincc,
        gammaln,
        gammasgn,
        multigammaln,
        polygamma,
    )
    from .harmonics import lpmn, lpmn_values, sph_harm, sph_harm_y
    from .hypergeometric import hyp1f1, hyp2f1, owens_t
    from .integrals import dawsn, exp1, expi, expn, fresnel, sici, spence
    from .lambert import lambertw
    from .logarithms import boxcox, boxcox1p, entr, expit, kl_div, logit, rel_entr, xlog1py, xlogy
    from .robust_losses import exprel, huber, pseudo_huber
    from .spherical_bessel import spherical_in, spherical_jn, spherical_kn, spherical_yn
    from .sums_of_exponentials import log_softmax, logsumexp, softmax
    from .zeta_functions import zeta

__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "ellipe",
    "ellipk",
    "ellipkm1",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "exprel",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "huber",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "lambertw",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "lpmn",
    "lpmn_values",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "pseudo_huber",
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "sph_harm",
    "sph_harm_y",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
    "wofz",
    "xlog1py",
    "xlogy",
    "zeta",
]

__getattr__, __dir__ = exports(
    __name__,
    {
        "bessel_functions": (
            "i0",
            "i0e",
            "i1",
            "i1e",
        ),
        "bessel_orders": ("bessel_jn",),
        "complex_functions": (
            "loggamma",
            "wofz",
        ),
        "elliptic": (
            "ellipe",
            "ellipk",
            "ellipkm1",
        ),
        "error_functions": (
            "erf",
            "erfc",
            "erfcx",
            "erfinv",
            "log_ndtr",
            "ndtr",
            "ndtri",
        ),
        "factorials": (
            "bernoulli",
            "comb",
            "factorial",
            "poch",
        ),
        "gamma_functions": (
            "beta",
            "betainc",
            "betaln",
            "digamma",
            "gamma",
            "gammainc",
            "gammaincc",
            "gammaln",
            "gammasgn",
            "multigammaln",
            "polygamma",
        ),
        "harmonics": (
            "lpmn",
            "lpmn_values",
            "sph_harm",
            "sph_harm_y",
        ),
        "hypergeometric": (
            "hyp1f1",
            "hyp2f1",
            "owens_t",
        ),
        "integrals": (
            "dawsn",
            "exp1",
            "expi",
            "expn",
            "fresnel",
            "sici",
            "spence",
        ),
        "lambert": ("lambertw",),
        "logarithms": (
            "boxcox",
            "boxcox1p",
            "entr",
            "expit",
            "kl_div",
            "logit",
            "rel_entr",
            "xlog1py",
            "xlogy",
        ),
        "robust_losses": (
            "exprel",
            "huber",
            "pseudo_huber",
        ),
        "spherical_bessel": (
            "spherical_in",
            "spherical_jn",
            "spherical_kn",
            "spherical_yn",
        ),
        "sums_of_exponentials": (
            "log_softmax",
            "logsumexp",
            "softmax",
        ),
        "zeta_functions": ("zeta",),
    },
)
