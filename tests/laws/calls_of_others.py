"""Calls of functions of `weft.nn`, `random`, `scipy`, `image` and `ops`, for laws."""

import functools
import importlib

import weft.numpy as np
from weft import scipy

# fmt: off
NN = [
    (lambda f, a: f(a.x),
     "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu "
     "log_sigmoid log_softmax logmeanexp logsumexp mish normalize relu relu6 selu sigmoid "
     "silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus standardize swish "
     "tanh"),
    (lambda f, a: f(a.x, axis=0), "softmax log_softmax logsumexp standardize"),
    (lambda f, a: f(a.p), "log1mexp"),
    (lambda f, a: f(a.n[0], 9), "one_hot"),
    (lambda f, a: f(*[v[:, :32 if a.large else 4].reshape(1, -1, 2, 16 if a.large else 2)
                      for v in (a.few, a.few + 1, -a.few)]), "dot_product_attention"),
]

INITIALIZERS = [
    (lambda f, a: f()(a.key, (a.order, a.order), a.dtype),
     "glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform "
     "lecun_normal lecun_uniform normal orthogonal truncated_normal uniform xavier_normal "
     "xavier_uniform"),
    (lambda f, a: f()(a.key, (3, a.order, a.order), a.dtype), "delta_orthogonal"),
    (lambda f, a: f(2.0)(a.key, (a.order,), a.dtype), "constant"),
    (lambda f, a: f(a.key, (a.order,), a.dtype), "zeros ones"),
    (lambda f, a: f(2.0, "fan_in", "normal")(a.key, (a.order, a.order), a.dtype),
     "variance_scaling"),
]

RANDOM = [
    (lambda f, a: f(a.key, a.draws),
     "bits cauchy exponential gumbel laplace logistic maxwell normal rademacher uniform"),
    (lambda f, a: f(a.key, shape=a.draws), "lognormal"),
    (lambda f, a: f(a.key, 2.5, a.draws),
     "chisquare gamma loggamma generalized_normal pareto poisson t wald"),
    (lambda f, a: f(a.key, 0.3, a.draws), "bernoulli geometric"),
    (lambda f, a: f(a.key, 1.5, a.draws), "rayleigh"),
    (lambda f, a: f(a.key, 2.0, 3.0, a.draws), "beta f weibull_min truncated_normal"),
    (lambda f, a: f(a.key, 0.0, 2.0, a.draws), "double_sided_maxwell"),
    (lambda f, a: f(a.key, 20, 0.3, a.draws), "binomial"),
    (lambda f, a: f(a.key, 20, np.array([0.2, 0.3, 0.5], a.dtype)), "multinomial"),
    (lambda f, a: f(a.key, 0.0, 0.4, 1.0, a.draws), "triangular"),
    (lambda f, a: f(a.key, 3, shape=a.draws), "ball"),
    (lambda f, a: f(a.key, a.few), "categorical"),
    (lambda f, a: f(a.key, a.v, a.draws), "choice"),
    (lambda f, a: f(a.key, a.order, a.draws, p=abs(a.short)), "choice"),
    (lambda f, a: f(a.key, np.array([1.0, 2.0, 3.0], a.dtype), a.draws), "dirichlet"),
    (lambda f, a: f(a.key, a.short, a.spd), "multivariate_normal"),
    (lambda f, a: f(a.key, a.order), "orthogonal permutation split"),
    (lambda f, a: f(a.key, a.x), "permutation shuffle"),
    (lambda f, a: f(a.key, a.draws, 0, 1000), "randint"),
    (lambda f, a: f(a.key, 3), "fold_in"),
    (lambda f, a: f(3), "PRNGKey key"),
    (lambda f, a: f(a.key), "clone key_data wrap_key_data"),
]

SPECIAL = [
    (lambda f, a: f(a.x),
     "dawsn digamma erf erfc erfcx expi expit exprel fresnel gammasgn i0 i0e i1 i1e "
     "log_ndtr log_softmax logsumexp ndtr sici softmax wofz"),
    (lambda f, a: f(a.p), "entr exp1 factorial gamma gammaln loggamma spence lambertw"),
    (lambda f, a: f(a.u), "ellipe ellipk ellipkm1 logit ndtri"),
    (lambda f, a: f(2 * a.u - 1), "erfinv"),
    (lambda f, a: f(a.p, a.q),
     "beta betaln boxcox boxcox1p gammainc gammaincc huber kl_div poch pseudo_huber rel_entr "
     "xlog1py xlogy owens_t comb"),
    (lambda f, a: f(1 + a.p, a.q), "zeta"),
    (lambda f, a: f(1, a.p), "polygamma expn spherical_in spherical_jn spherical_kn spherical_yn"),
    (lambda f, a: f(a.p, a.q, a.u), "betainc hyp1f1"),
    (lambda f, a: f(a.p, a.q, a.p + 1, a.u / 2), "hyp2f1"),
    (lambda f, a: f(3 + a.p, 2), "multigammaln"),
    (lambda f, a: f(6), "bernoulli"),
    (lambda f, a: f(a.p[0], v=3), "bessel_jn"),
    (lambda f, a: f(3, 3, a.u[0]), "lpmn"),
    (lambda f, a: f(3, 3, a.u[0], True), "lpmn_values"),
    (lambda f, a: f(np.full(a.u[0].shape, 2), np.full(a.u[0].shape, 3), a.p[0], a.q[0]),
     "sph_harm_y"),
    (lambda f, a: f(np.full(a.u[0].shape, 2), np.full(a.u[0].shape, 3), a.p[0], a.q[0], n_max=3),
     "sph_harm"),
]

LINALG = [
    (lambda f, a: f(a.spd), "cholesky cho_factor eigh sqrtm logm"),
    (lambda f, a: f(a.m), "det expm hessenberg inv lu lu_factor polar qr schur svd tril triu"),
    (lambda f, a: f(a.tall), "qr svd lu"),
    (lambda f, a: f(a.m, a.m2), "block_diag solve expm_frechet"),
    (lambda f, a: f(a.m, a.short), "solve"),
    (lambda f, a: f(a.m, a.m2, a.m), "solve_sylvester"),
    (lambda f, a: f((np.linalg.cholesky(a.spd), True), a.short), "cho_solve"),
    (lambda f, a: f(scipy.linalg.lu_factor(a.m), a.short), "lu_solve"),
    (lambda f, a: f(np.triu(a.m) + 3 * np.eye(a.order, dtype=a.dtype), a.short),
     "solve_triangular"),
    (lambda f, a: f((1, 1), np.ones((3, a.order), a.dtype).at[1].set(4), a.short), "solve_banded"),
    (lambda f, a: f(np.ones((2, a.order), a.dtype).at[1].set(4), a.short), "solveh_banded"),
    (lambda f, a: f(a.short, a.short[1:]), "eigh_tridiagonal"),
    (lambda f, a: f(a.spd, np.sin), "funm"),
    (lambda f, a: f(a.m, a.m2), "qr_multiply"),
    (lambda f, a: f(*scipy.linalg.schur(a.m)), "rsf2csf"),
    (lambda f, a: f(a.short), "circulant companion fiedler fiedler_companion hankel toeplitz"),
    (lambda f, a: f(a.short, 4), "convolution_matrix"),
    (lambda f, a: f(a.short, abs(a.short[1:])), "leslie"),
    (lambda f, a: f(8), "dft hadamard helmert hilbert invhilbert invpascal pascal"),
]

STATS = [
    (lambda f, a: f(a.x), "rankdata sem"),
    (lambda f, a: f(a.i), "mode"),
]

SIGNAL = [
    (lambda f, a: f(a.v, a.short), "convolve correlate fftconvolve"),
    (lambda f, a: f(a.m, a.m2), "convolve2d correlate2d"),
    (lambda f, a: f(a.x), "detrend"),
    (lambda f, a: f(a.v, nperseg=4), "stft welch"),
    (lambda f, a: f(a.v, a.w, nperseg=4), "csd"),
    (lambda f, a: f(scipy.signal.stft(a.v, nperseg=4)[2], nperseg=4), "istft"),
]

INTEGRATE = [(lambda f, a: f(a.x), "cumulative_trapezoid simpson trapezoid")]
NDIMAGE = [(lambda f, a: f(a.m, [a.u * 3, a.u * 4], 1), "map_coordinates")]
FFT = [(lambda f, a: f(a.x), "dct dctn dst dstn idct idctn idst idstn")]
CLUSTER = [(lambda f, a: f(a.m, a.m2), "vq")]
OPTIMIZE = [(lambda f, a: f(lambda x: np.sum((x - 1) ** 4), a.short, method="BFGS"), "minimize")]
SPARSE = [(lambda f, a: f(lambda x: a.spd @ x, a.short), "bicgstab cg gmres")]
IMAGE = [
    (lambda f, a: f(a.x, (7, 9), "cubic"), "resize"),
    (lambda f, a: f(a.x, (7, 9), (0, 1), np.array([1.5, 0.7]), np.array([0.1, 0.2]), "linear"),
     "scale_and_translate"),
]
OPS = [
    (lambda f, a: f(a.v, np.arange(a.length) % 5, 5),
     "segment_max segment_min segment_prod segment_sum"),
    (lambda f, a: f(a.x, 1, 2.0), "index_add index_max index_min index_mul index_update"),
]

DISTRIBUTIONS = {
    "beta": (2.0, 3.0), "cauchy": (), "chi2": (3.0,), "expon": (), "gamma": (2.5,),
    "gennorm": (1.5,), "gumbel_l": (), "gumbel_r": (), "laplace": (), "logistic": (), "norm": (),
    "pareto": (2.5,), "t": (4.0,), "truncnorm": (-1.0, 2.0), "uniform": (), "vonmises": (2.0,),
    "wrapcauchy": (0.4,), "bernoulli": (0.3,), "betabinom": (10, 2.0, 3.0), "binom": (10, 0.3),
    "geom": (0.3,), "nbinom": (5, 0.3), "poisson": (3.0,),
}
"""The parameters of each distribution of `weft.scipy.stats`."""

METHODS = (
    "pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "entropy"
)

VECTORS = {
    "dirichlet": lambda f, a: f(np.array([0.2, 0.3, 0.5], a.dtype), np.array([1.0, 2, 3], a.dtype)),
    "multinomial": lambda f, a: f(np.array([1, 2, 3]), 6, np.array([0.2, 0.3, 0.5], a.dtype)),
    "multivariate_normal": lambda f, a: f(a.short, a.short + 1, a.spd),
}
"""Calls of the distributions of vectors."""
# fmt: on


def drawn(parameters, discrete, f, a):
    """A distribution's function, at points that it has."""
    if f.__name__ == "entropy":
        return f(*parameters)
    points = a.n if discrete and f.__name__ not in ("ppf", "isf") else a.u
    return f(points[:30, :40], *parameters)  # quantiles of discrete ones are searched for, in loops


def distributions():
    """Calls of all functions of all distributions: (module, calls)."""
    for name in (*DISTRIBUTIONS, *VECTORS):
        module = importlib.import_module(f"weft.scipy.stats.{name}")
        there = " ".join(m for m in METHODS if m in module.__all__)
        discrete = hasattr(module, "pmf")
        call = VECTORS.get(name) or functools.partial(drawn, DISTRIBUTIONS[name], discrete)
        yield f"scipy.stats.{name}", [(call, there)]
