# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from .bessel_functions import i0 as i0, i0e as i0e, i1 as i1, i1e as i1e
from .bessel_orders import bessel_jn as bessel_jn
from .complex_functions import loggamma as loggamma, wofz as wofz
from .elliptic import ellipe as ellipe, ellipk as ellipk, ellipkm1 as ellipkm1
from .error_functions import (
    erf as erf,
    erfc as erfc,
    erfcx as erfcx,
    erfinv as erfinv,
    log_ndtr as log_ndtr,
    ndtr as ndtr,
    ndtri as ndtri,
)
from .factorials import bernoulli as bernoulli, comb as comb, factorial as factorial, poch as poch
from .gamma_functions import (
    beta as beta,
    betainc as betainc,
    betaln as betaln,
    digamma as digamma,
    gamma as gamma,
    gammainc as gammainc,
    gammaincc as gammaincc,
    gammaln as gammaln,
    gammasgn as gammasgn,
    multigammaln as multigammaln,
    polygamma as polygamma,
)
from .harmonics import (
    lpmn as lpmn,
    lpmn_values as lpmn_values,
    sph_harm as sph_harm,
    sph_harm_y as sph_harm_y,
)
from .hypergeometric import hyp1f1 as hyp1f1, hyp2f1 as hyp2f1, owens_t as owens_t
from .integrals import (
    dawsn as dawsn,
    exp1 as exp1,
    expi as expi,
    expn as expn,
    fresnel as fresnel,
    sici as sici,
    spence as spence,
)
from .lambert import lambertw as lambertw
from .logarithms import (
    boxcox as boxcox,
    boxcox1p as boxcox1p,
    entr as entr,
    expit as expit,
    kl_div as kl_div,
    logit as logit,
    rel_entr as rel_entr,
    xlog1py as xlog1py,
    xlogy as xlogy,
)
from .robust_losses import exprel as exprel, huber as huber, pseudo_huber as pseudo_huber
from .spherical_bessel import (
    spherical_in as spherical_in,
    spherical_jn as spherical_jn,
    spherical_kn as spherical_kn,
    spherical_yn as spherical_yn,
)
from .sums_of_exponentials import (
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    softmax as softmax,
)
from .zeta_functions import zeta as zeta
