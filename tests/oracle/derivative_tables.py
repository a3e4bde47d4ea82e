"""Tables of derivatives: of what has them, at ordinary places and at singular ones."""

from oracle.lax_tables import expressions
from oracle.numpy_tables import X

DIFFERENTIABLE = (
    "np.sin(x) * x",
    "np.prod(x, axis=1)",
    "np.sort(x, axis=0)",
    "np.max(np.stack([x, x]), axis=0)",
    "np.cumprod(np.where(x > 1.5, 0.0, x), axis=1)",
    "np.einsum('ij,kj->ik', x, x)",
    "np.std(x, axis=0)",
    "x[np.array([0, 0, 2])] ** 3",
    "x.at[np.array([0, 0])].add(x[1:] ** 2)",
    "lax.cumlogsumexp(x, 1)",
    "lax.scan(lambda c, r: (np.sin(c) * r, c), x[0], x)[1]",
    "lax.fori_loop(0, 3, lambda i, v: np.sin(v) * x, x)",
    "lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), 'SAME')",
    "lax.conv_general_dilated(x[None, None], x[None, None, :2, :2], (1, 1), 'SAME')",
)

ONE = """
lax.neg lax.sign lax.floor lax.square lax.exp lax.exp2 lax.expm1 lax.log1p lax.sin lax.cos lax.tan
lax.atan lax.sinh lax.cosh lax.tanh lax.asinh lax.erf lax.erfc lax.logistic np.abs np.sqrt np.log
np.cbrt np.reciprocal np.fabs np.log2 np.log10 np.arctan np.nan_to_num np.deg2rad np.round np.modf
np.frexp np.cumsum np.sort np.max np.min np.ptp np.sum np.mean np.prod np.median np.nanmax
np.nansum np.unwrap np.average np.diff
"""
TWO = """
lax.add lax.sub lax.mul lax.div lax.rem lax.max lax.min lax.atan2 np.maximum np.minimum np.fmax
np.fmin np.mod np.fmod np.heaviside np.arctan2 np.remainder np.floor_divide
"""
COMPLEX = """
z * z; z / (z + 3); np.exp(z); np.sqrt(z); np.log(z); np.abs(z); np.real(z) * z; z @ z.T;
np.vdot(z, z); np.prod(z, axis=0); np.cumsum(z, axis=1); np.angle(z); z ** 3; z ** 0.5;
np.tanh(z / 3); np.where(z.real > 0, z, z.conj()); np.einsum('ij,kj->ik', z, z.conj());
lax.complex(z.real ** 2, z.imag); z.at[0].mul(z[1]); lax.integer_pow(z, -2); lax.conj(z) * z;
np.mean(abs(z) ** 2); lax.scan(lambda c, r: (c * r, c.real), z[0], z)[1]; np.logaddexp(z, z[0]);
np.convolve(z[0], z[1])
"""

TIED = "np.asarray([[1.0, 1.0, 2.0, 2.0], [2.0, 1.0, 2.0, 1.0], [1.0, 2.0, 1.0, 3.0]])"
TIES = """
np.max(x, axis=0); np.min(x, axis=1); np.median(x, axis=1); np.sort(x, axis=0);
np.quantile(x, 0.3); np.prod(x - 1, axis=1); np.prod(x - 1); np.cumprod(x - 1, axis=0);
lax.cumprod(x - 1, 1, reverse=True); lax.sort((x, x * 2), num_keys=1); lax.top_k(x, 2)[0];
lax.reduce_max(x, (0, 1)); lax.reduce_prod(x - 1, (0,));
lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), 'VALID');
lax.reduce_window(x, np.inf, lax.min, (3, 3), (1, 2), 'SAME');
lax.reduce_window(x, 0.0, lax.add, (3, 3), (1, 2), ((1, 2), (3, 1)), (1, 2), (2, 1));
lax.clamp(1.0, x, 2.0); np.clip(x, 1.0, 2.0); np.clip(x, x, x); np.maximum(x, 1.0);
np.where(x == 1, x, np.sqrt(x - 1)); np.where(x == 1, 0.0, np.log(x - 1));
np.sqrt(np.sum((x - x) ** 2)); np.std(x - x, axis=0); np.abs(x - 1); np.abs((x - 1) * (1 + 1j));
np.arctan2(x - 1, x - 1); np.logaddexp(x, x); np.nan_to_num(np.where(x == 1, np.inf, x)) * x;
np.nanmean(np.where(x == 1, np.nan, x), axis=0); np.nanprod(np.where(x == 1, np.nan, x), axis=0);
np.nanmax(np.where(x == 1, np.nan, x), axis=0); x[np.asarray([0, 0, -1, 9])];
x[np.asarray([-9, 9]), np.asarray([1, 1])]; x.at[np.asarray([0, 2])].set(x[1:]);
x.at[np.asarray([0, 0, 9])].add(x, mode='drop'); x.at[np.asarray([0, 0])].min(x[1:]);
x.at[np.asarray([0, 0])].max(x[1:]); x.at[np.asarray([0, 2])].mul(x[1:] - 1, unique_indices=True);
x.at[np.asarray([0, 9, 9])].get(mode='clip');
x.at[np.asarray([0, 9])].get(mode='fill', fill_value=3.0);
np.take(x, np.asarray([0, 9, -7]), axis=1, mode='wrap');
np.take_along_axis(x, np.asarray([[0, 0, 3]]), axis=1); lax.dynamic_slice(x, (9, -9), (2, 2));
lax.dynamic_update_slice(x, x[:1, :2] ** 2, (9, -1));
lax.pad(x, x[0, 0], ((-1, 2, 1), (1, -2, 2)));
lax.conv_general_dilated(x[None, None], x[None, None, :2, :3], (2, 1), ((-1, 2), (1, -1)), (1, 2),
    (2, 1));
lax.conv_general_dilated(x.reshape(1, 2, 6), x.reshape(4, 1, 3), (1,), 'SAME',
    feature_group_count=2);
lax.conv_transpose(x.reshape(1, 3, 4), x.reshape(1, 4, 3), (3,), 'VALID');
lax.dot_general(x, x, (((), ()), ((0,), (0,))));
lax.dot(x.astype('bfloat16'), x.T.astype('bfloat16'), preferred_element_type=np.float32);
np.einsum('ii->', x[:, :3]); np.einsum('ij,ij,ij->j', x, x, x);
lax.scatter_max(x, np.asarray([[0], [2], [0]]), x, lax.ScatterDimensionNumbers((1,), (0,), (0,)));
lax.gather(x, np.asarray([[0], [9], [0]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4),
    mode='clip'); lax.convert_element_type(x, 'int32') * x;
lax.convert_element_type(x, 'complex64') ** 2; lax.reduce_precision(x * 1.001, 5, 3);
lax.select_n(x.astype(int), x, x ** 2, x ** 3, x);
lax.rem(-x, 0.75); lax.associative_scan(lax.mul, x - 1, axis=1);
lax.cond(x[0, 0] == 1, lambda v: v, lambda v: v ** 2, x);
lax.switch(x[0, 0].astype(int), [lambda v: v, lambda v: v ** 2], x);
lax.scan(lambda c, y: (lax.max(c, y), c), x[0], x); lax.map(lambda r: np.max(r) * r, x);
np.interp(x, x[0, ::2], x[1, :2]); np.polyval(x[0] - 1, x - 1); np.unwrap(x * 3.2);
np.linspace(x[0], x[1], 4); np.geomspace(x[0], x[1], 3); np.ldexp(x, np.asarray([0, 1, -1, 2]));
np.divmod(x, 0.75); np.sinc(x - 1); np.vectorize(np.hypot)(x, x); np.copysign(x, x - 1.5);
np.select([x == 1, x == 2], [x, x ** 2]);
np.piecewise(x, [x == 1], [lambda v: v ** 2, lambda v: np.sqrt(v - 1)]);
np.histogram(x, 3, weights=x)[0]; np.argmax(x) * x
"""

SMOOTH = """
lax.erf_inv(x / 3); lax.lgamma(x); lax.digamma(x); lax.bessel_i0e(x); lax.bessel_i1e(x);
lax.igamma(x, x + 1); lax.igammac(x + 1, x);
lax.betainc(np.full(x.shape, 2.0), np.full(x.shape, 1.5), x / 3);
lax.zeta(np.full(x.shape, 2.5), x) if False else x; lax.pow(x, x); lax.rsqrt(x);
np.logaddexp(x, 1.0); np.logaddexp2(x, 1.0); np.hypot(x, 2.0); np.power(x, 2.5); 2**x; x**-2;
np.float_power(x, 2); np.i0(x); np.sinc(x); np.cov(x); np.corrcoef(x); np.kron(x, x);
np.cross(x[:, :3], x[:, 1:]); np.trapezoid(x, axis=0); np.gradient(x, 2.0, axis=0);
np.polydiv(x[0], x[1, :2])[0]; np.var(x, axis=0, ddof=1)
"""


def slopes(f, args):
    """Both directions of the derivative of a function."""
    return f"lambda *xs: samples.slopes(api, np, {f}, xs)", args


def derivatives():
    for f in DIFFERENTIABLE:
        total = f"lambda x: np.sum(np.cos({f}))"
        yield f"api.grad({total})", (X,)
        yield f"api.jit(api.grad({total}))", (X,)
        yield f"lambda x: api.jvp({f'lambda x: {f}'}, (x,), (np.cos(x),))", (X,)
        yield f"lambda x: api.jvp(api.grad({total}), (x,), (x,))[1]", (X,)
    rosenbrock = "lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)"
    yield f"api.hessian({rosenbrock})", (f"{X}[0]",)
    for e in expressions(SMOOTH):
        yield slopes(f"lambda x: {e}", (X,))


def singular():
    """At zeros, ties, infinities, NaN."""
    places = "onp.float32([0, -0.0, 1, -1, 2, 0.5, -20, 20])"
    far = "onp.float32([onp.inf, 1e30, -1e30, 88])"
    for name in ONE.split():
        yield slopes(name, (places,))
        if not any(part in name for part in ("prod", "mean", "average", "unwrap", "frexp")):
            yield slopes(name, (far,))
    for name in TWO.split():
        yield slopes(f"lambda xy: {name}(*xy)", ("samples.pairs([0, 1, -1, 2, 0.5, -2])",))


def ties():
    for e in expressions(TIES):
        yield slopes(f"lambda x: {e}", (TIED,))


def complex_numbers():
    for e in expressions(COMPLEX):
        yield slopes(f"lambda z: {e}", ("samples.wave((3, 4), 0.3, 'complex64')",))


TABLES = (derivatives, singular, ties, complex_numbers)
