# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .bessel import (
    bessel_jn as bessel_jn,
    i0 as i0,
    i0e as i0e,
    i1 as i1,
    i1e as i1e,
    spherical_in as spherical_in,
    spherical_jn as spherical_jn,
    spherical_kn as spherical_kn,
    spherical_yn as spherical_yn,
)
from .combinatorics import comb as comb, factorial as factorial, poch as poch
from .elliptic import ellipe as ellipe, ellipk as ellipk, ellipkm1 as ellipkm1
from .error_functions import (
    dawsn as dawsn,
    erf as erf,
    erfc as erfc,
    erfcx as erfcx,
    erfinv as erfinv,
    fresnel as fresnel,
    log_ndtr as log_ndtr,
    ndtr as ndtr,
    ndtri as ndtri,
    owens_t as owens_t,
    wofz as wofz,
)
from .exponential import (
    boxcox as boxcox,
    boxcox1p as boxcox1p,
    expit as expit,
    exprel as exprel,
    logit as logit,
    xlog1py as xlog1py,
    xlogy as xlogy,
)
from .exponential_integrals import (
    exp1 as exp1,
    expi as expi,
    expn as expn,
    sici as sici,
    spence as spence,
)
from .gamma import (
    beta as beta,
    betainc as betainc,
    betaln as betaln,
    digamma as digamma,
    gamma as gamma,
    gammainc as gammainc,
    gammaincc as gammaincc,
    gammaln as gammaln,
    gammasgn as gammasgn,
    loggamma as loggamma,
    multigammaln as multigammaln,
    polygamma as polygamma,
)
from .hypergeometric import hyp1f1 as hyp1f1, hyp2f1 as hyp2f1
from .information_theory import (
    entr as entr,
    huber as huber,
    kl_div as kl_div,
    pseudo_huber as pseudo_huber,
    rel_entr as rel_entr,
)
from .lambertw import lambertw as lambertw
from .logsumexp import log_softmax as log_softmax, logsumexp as logsumexp, softmax as softmax
from .spherical_harmonics import (
    lpmn as lpmn,
    lpmn_values as lpmn_values,
    sph_harm as sph_harm,
    sph_harm_y as sph_harm_y,
)
from .zeta import bernoulli as bernoulli, zeta as zeta
