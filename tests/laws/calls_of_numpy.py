"""Calls of every function of `weft.numpy` and below it that computes arrays, for laws."""

import numpy as onp

import weft.numpy as np

# fmt: off
NUMPY = [
    (lambda f, a: f(a.x),
     "abs absolute all amax amin angle any alltrue sometrue arctan arcsinh argmax argmin argsort "
     "array around asarray asanyarray ascontiguousarray atan asinh atleast_1d atleast_2d "
     "atleast_3d cbrt ceil conj conjugate copy cos cosh count_nonzero cumprod cumproduct cumsum "
     "deg2rad degrees diff ediff1d empty_like exp exp2 expm1 fabs fix flip "
     "fliplr flipud floor frexp gradient histogram histogram_bin_edges i0 imag iscomplex "
     "isfinite isinf isnan isneginf isposinf isreal logical_not matrix_transpose max "
     "mean median min modf msort nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax "
     "nanmean nanmedian nanmin nanprod nanstd nansum nanvar negative nonzero ones_like positive "
     "prod product ptp radians rad2deg ravel real reciprocal rint rot90 round round_ sign signbit "
     "sin sinc sinh sort sort_complex spacing square squeeze std sum tan tanh transpose trapezoid "
     "trapz tril triu trunc unstack unwrap var zeros_like flatnonzero argwhere"),
    (lambda f, a: f(a.x[:40, :50]), "cov corrcoef unique unique_all unique_counts unique_inverse "
     "unique_values trim_zeros"),
    (lambda f, a: f(a.x, axis=0),
     "mean var std sum prod max argmax median nanmedian nanstd nanvar cumsum cumulative_sum "
     "cumulative_prod sort argsort average any count_nonzero diff expand_dims gradient ptp"),
    (lambda f, a: f(a.x, axis=1), "mean var std sum min cumsum sort nanmean average ptp unwrap"),
    (lambda f, a: f(a.p), "sqrt log log10 log1p log2"),
    (lambda f, a: f(a.u), "arccos acos arcsin asin arctanh atanh"),
    (lambda f, a: f(1 + a.p), "arccosh acosh"),
    (lambda f, a: f(a.z), "abs exp log sqrt sin tanh conjugate angle sum mean real imag"),
    (lambda f, a: f(a.x, a.y),
     "add subtract multiply divide true_divide arctan2 atan2 copysign equal "
     "fmax fmin fmod floor_divide greater greater_equal heaviside hypot less less_equal "
     "logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum mod nextafter "
     "not_equal remainder divmod allclose array_equal array_equiv isclose append vdot vecdot "
     "broadcast_arrays"),
    (lambda f, a: f(a.p, a.y), "pow power float_power"),
    (lambda f, a: f(a.x, 2.5), "add multiply divide maximum floor_divide remainder logaddexp"),
    (lambda f, a: f(a.i), "bitwise_count bitwise_invert bitwise_not invert"),
    (lambda f, a: f(a.i, a.n), "bitwise_and bitwise_or bitwise_xor gcd lcm floor_divide divide"),
    (lambda f, a: f(a.i, a.n % 8), "bitwise_left_shift bitwise_right_shift left_shift right_shift"),
    (lambda f, a: f(a.x, a.n % 8), "ldexp"),
    (lambda f, a: f([a.x, a.y]),
     "block column_stack concat concatenate dstack hstack row_stack stack vstack"),
    (lambda f, a: f(a.m),
     "diag diagonal trace diag_indices_from tril_indices_from triu_indices_from diagflat"),
    (lambda f, a: f(a.m, a.m2), "dot inner kron matmul outer tensordot vecdot"),
    (lambda f, a: f(a.v, a.w), "dot inner vdot"),
    (lambda f, a: f(a.m, a.short), "matvec"),
    (lambda f, a: f(a.short, a.m), "vecmat"),
    (lambda f, a: f(a.v, a.short), "convolve correlate polyadd polysub polymul"),
    (lambda f, a: f(a.short, a.v), "polyval"),
    (lambda f, a: f(a.order),
     "bartlett blackman hamming hanning eye identity tri arange diag_indices tril_indices "
     "triu_indices zeros ones empty"),
    (lambda f, a: f(a.order, 2.5), "kaiser full"),
    (lambda f, a: f(a.x, 0.3), "quantile nanquantile full_like"),
    (lambda f, a: f(a.x, 0.3, axis=0), "quantile nanquantile"),
    (lambda f, a: f(a.x, 30.0), "percentile nanpercentile"),
    (lambda f, a: f(a.v, a.v[:5]), "in1d isin intersect1d setdiff1d setxor1d union1d"),
    (lambda f, a: f(a.x, 2), "array_split split hsplit vsplit repeat roll tile partition "
     "argpartition pad"),
    (lambda f, a: f(a.x[..., None][..., [0, 0]], 2), "dsplit"),
    (lambda f, a: f(1, 5, a.order), "linspace logspace geomspace"),
    (lambda f, a: f(a.short), "poly polyder polyint roots vander ix_"),
    (lambda f, a: f(a.v[:40], a.w[:3]), "polydiv"),
    (lambda f, a: f(a.v[:40], a.w[:40], 3), "polyfit"),
    (lambda f, a: f(a.v, a.w), "histogram2d"),
    (lambda f, a: f(a.short, a.short), "meshgrid"),
    (lambda f, a: f(a.x[:, :3]), "histogramdd"),
    (lambda f, a: f(a.x[:, :3], a.y[:, :3]), "cross"),
    (lambda f, a: f(a.x, a.up), "digitize"),
    (lambda f, a: f(a.up, a.x), "searchsorted"),
    (lambda f, a: f(a.x, a.up, a.w), "interp"),
    (lambda f, a: f(a.n.ravel()), "bincount"),
    (lambda f, a: f(a.b), "packbits"),
    (lambda f, a: f(a.n.astype("uint8")), "unpackbits"),
    (lambda f, a: f(a.x, -0.5, 0.7), "clip"),
    (lambda f, a: f(a.b, a.x, a.y), "where"),
    (lambda f, a: f(a.b, a.x), "extract"),
    (lambda f, a: f(a.b.ravel(), a.x.ravel()), "compress"),
    (lambda f, a: f([a.b, a.x > 0], [a.x, a.y]), "select"),
    (lambda f, a: f(a.x, [a.x > 0, a.x <= 0], [np.sin, np.cos]), "piecewise"),
    (lambda f, a: f(a.n % 2, [a.x, a.y]), "choose"),
    (lambda f, a: f(a.x, a.n % 3, axis=0), "take_along_axis"),
    (lambda f, a: f(a.x, a.n[:, 0] % 3, axis=0), "take"),
    (lambda f, a: f(a.x, 1, axis=0), "delete"),
    (lambda f, a: f(a.x, 1, 2.0, axis=0), "insert"),
    (lambda f, a: f(np.sum, 1, a.x[:9]), "apply_along_axis"),
    (lambda f, a: f(np.sum, a.x, [0]), "apply_over_axes"),
    (lambda f, a: f(a.x, "int32"), "astype"),
    (lambda f, a: f(a.x[0], a.shape), "broadcast_to"),
    (lambda f, a: f("ij,jk->i", a.m, a.m2), "einsum"),
    (lambda f, a: f(a.m, 3.0, inplace=False), "fill_diagonal"),
    (lambda f, a: f(bytes(16), "float32"), "frombuffer"),
    (lambda f, a: f(lambda i, j: i + j, a.shape, dtype=a.dtype), "fromfunction"),
    (lambda f, a: f(map(float, range(a.order)), a.dtype), "fromiter"),
    (lambda f, a: f("1 2 3", a.dtype, sep=" "), "fromstring"),
    (lambda f, a: f(onp.ones(3, a.dtype)), "from_dlpack"),
    (lambda f, a: f(np.add, 2, 1)(a.x, a.y), "frompyfunc"),
    (lambda f, a: f(lambda x: x + 1)(a.short), "vectorize"),
    (lambda f, a: f((3, a.order)), "indices"),
    (lambda f, a: f((a.x[0], a.y[0])), "lexsort"),
    (lambda f, a: f(a.order, np.triu), "mask_indices"),
    (lambda f, a: f(a.x, 0, 1), "moveaxis swapaxes rollaxis"),
    (lambda f, a: f(a.x, (1, 0)), "permute_dims"),
    (lambda f, a: f(a.x, a.b, 1.0, inplace=False), "place"),
    (lambda f, a: f(a.x, np.array([1, 2]), np.array([3.0, 4.0], a.dtype), inplace=False), "put"),
    (lambda f, a: f(a.x, a.n % 3, a.y, axis=0, inplace=False), "put_along_axis"),
    (lambda f, a: f((a.n % 3, a.n % 2), (3, 2)), "ravel_multi_index"),
    (lambda f, a: f(a.x, (a.x.size,)), "reshape resize"),
    (lambda f, a: f(a.n, (100, 100)), "unravel_index"),
]

LINALG = [
    (lambda f, a: f(a.spd), "cholesky eigh eigvalsh"),
    (lambda f, a: f(a.m), "cond det diagonal eig eigvals inv matrix_norm matrix_rank "
     "matrix_transpose norm pinv slogdet svd svdvals trace qr"),
    (lambda f, a: f(a.x), "norm vector_norm"),
    (lambda f, a: f(a.x, axis=0), "norm vector_norm"),
    (lambda f, a: f(a.m, 2), "norm"),
    (lambda f, a: f(a.tall), "qr svd pinv"),
    (lambda f, a: f(a.m, a.m2), "matmul tensordot vecdot solve"),
    (lambda f, a: f(a.short, a.short + 1), "outer"),
    (lambda f, a: f(a.m, a.short), "solve lstsq tensorsolve"),
    (lambda f, a: f(a.x[:, :3], a.y[:, :3]), "cross"),
    (lambda f, a: f(a.m, 3), "matrix_power"),
    (lambda f, a: f([a.m, a.m2, a.m]), "multi_dot"),
    (lambda f, a: f(a.m, 1), "tensorinv"),
]

FFT = [
    (lambda f, a: f(a.x),
     "fft fft2 fftn fftshift ifft ifft2 ifftn ifftshift rfft rfft2 rfftn ihfft"),
    (lambda f, a: f(a.z), "fft hfft irfft irfft2 irfftn"),
    (lambda f, a: f(a.order), "fftfreq rfftfreq"),
]
# fmt: on


def of_arrays(a):
    """What arrays do by operators, methods, indices and updates."""
    x, y, b, n = a.x, a.y, a.b, a.n
    return [
        x + y, 1 - x, x * 2 + 1, x / y, x // 2, x % 0.7, x**2, abs(x) ** 0.5, x @ y.T, x > y,
        x[0], x[1:, ::2], x[b], x[n % 3], x.T.reshape(-1), x.mean(0), x.std(), x.var(1),
        x.at[0].set(1.0), x.at[n % 3].add(1.0), x.at[1].mul(2.0), x.at[0].get(),
    ]  # fmt: skip
