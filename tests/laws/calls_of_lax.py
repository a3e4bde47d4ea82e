"""Calls of every function of `weft.lax` and `weft.lax.linalg` that computes arrays, for laws."""

import functools

import weft
import weft.numpy as np
from weft import lax


def mapped(call):
    """A call of a collective for each row, under a named axis."""
    return lambda f, a: weft.vmap(functools.partial(call, f), axis_name="i")(a.x[:4, :4])


def smooth(x):
    return x**3 - x - 1


NHWC = ("NHWC", "HWIO", "NHWC")
GATHER = lax.GatherDimensionNumbers((1,), (0,), (0,))
SCATTER = lax.ScatterDimensionNumbers((1,), (0,), (0,))
PLACES = [[2], [0]]

# fmt: off
LAX = [
    (lambda f, a: f(a.x),
     "abs asinh atan bessel_i0e bessel_i1e cbrt ceil cos cosh "
     "cumlogsumexp cummax cummin cumprod cumsum erf erfc exp exp2 expm1 floor is_finite logistic "
     "neg optimization_barrier round sign sin sinh square stop_gradient tan tanh zeros_like_array "
     "unstack sort"),
    (lambda f, a: f(a.z), "real imag conj exp log"),
    (lambda f, a: f(a.p), "digamma lgamma log log1p reciprocal rsqrt sqrt"),
    (lambda f, a: f(a.u), "acos asin atanh erf_inv"),
    (lambda f, a: f(1 + a.p), "acosh"),
    (lambda f, a: f(a.x, a.y),
     "add atan2 complex div eq ge gt le lt max min mul ne nextafter rem sub tie_in"),
    (lambda f, a: f(a.p, a.y), "pow"),
    (lambda f, a: f(a.p, a.q), "igamma igammac igamma_grad_a random_gamma_grad"),
    (lambda f, a: f(1 + a.p, a.q), "zeta"),
    (lambda f, a: f(np.ones_like(a.p), a.q), "polygamma"),
    (lambda f, a: f(a.p, a.q, a.u), "betainc"),
    (lambda f, a: f(a.i), "bitwise_not clz population_count"),
    (lambda f, a: f(a.i, a.n), "bitwise_and bitwise_or bitwise_xor mulhi div rem"),
    (lambda f, a: f(a.n, a.n % 8),
     "shift_left shift_right_arithmetic shift_right_logical"),
    (lambda f, a: f(a.x, (0,)), "reduce_max reduce_min reduce_prod reduce_sum rev expand_dims"),
    (lambda f, a: f(a.b, (0,)), "reduce_and reduce_or"),
    (lambda f, a: f(a.i, (0,)), "reduce_xor"),
    (lambda f, a: f(a.x, 1, "int32"), "argmax argmin"),
    (lambda f, a: f(a.x, 3), "approx_max_k approx_min_k integer_pow top_k"),
    (lambda f, a: f(a.x, 2), "broadcast_to_rank"),
    (lambda f, a: f(a.x, (2,)), "broadcast"),
    (lambda f, a: f(a.m, a.m2), "dot"),
    (lambda f, a: f(np.stack([a.m, a.m2]), np.stack([a.m2, a.m])), "batch_matmul"),
    (lambda f, a: f(a.m, a.m2, (((1,), (0,)), ((), ()))), "dot_general"),
    (lambda f, a: f([a.m, a.m2], 0), "concatenate stack"),
    (lambda f, a: f(-0.5, a.x, 0.7), "clamp"),
    (lambda f, a: f(a.b, a.x, a.y), "select select_n"),
    (lambda f, a: f(a.x, "int32"), "convert_element_type"),
    (lambda f, a: f(a.i, "uint32"), "bitcast_convert_type"),
    (lambda f, a: f(a.short, (3, a.order), (1,)), "broadcast_in_dim"),
    (lambda f, a: f(a.short, a.m), "broadcast_like"),
    (lambda f, a: f("float32", (3, a.order), 1), "broadcasted_iota"),
    (lambda f, a: f("int32", a.order), "iota"),
    (lambda f, a: f((a.order,), 2.0), "full"),
    (lambda f, a: f(a.x, 2.0), "full_like"),
    (lambda f, a: f((a.order,), "float32"), "empty"),
    (lambda f, a: f(a.x, 0, 2), "collapse"),
    (lambda f, a: f(a.x, 0.0, [(1, 2, 0), (0, 1, 1)]), "pad"),
    (lambda f, a: f(a.x, (a.x.size,)), "reshape"),
    (lambda f, a: f(a.x[None], (0,)), "squeeze"),
    (lambda f, a: f(a.x, (1, 0)), "transpose"),
    (lambda f, a: f(a.x, (2, 1)), "tile"),
    (lambda f, a: f(a.x, (1, a.x.shape[0] - 1)), "split"),
    (lambda f, a: f(a.x, 1), "index_in_dim dynamic_index_in_dim"),
    (lambda f, a: f(a.x, [np.array([1, 2])], (0,)), "index_take"),
    (lambda f, a: f(a.x, (1, 0), (3, 4)), "slice"),
    (lambda f, a: f(a.x, 1, 3), "slice_in_dim"),
    (lambda f, a: f(a.x, (1, 2), (2, 3)), "dynamic_slice"),
    (lambda f, a: f(a.x, 1, 2), "dynamic_slice_in_dim"),
    (lambda f, a: f(a.x, a.y[:2, :3], (1, 2)), "dynamic_update_slice"),
    (lambda f, a: f(a.x, a.y[:2], 1, 0), "dynamic_update_slice_in_dim"),
    (lambda f, a: f(a.x, a.y[0], 1, 0), "dynamic_update_index_in_dim"),
    (lambda f, a: f(a.x, np.array(PLACES), GATHER, (1, a.x.shape[1])), "gather"),
    (lambda f, a: f(a.x, np.array(PLACES), a.y[:2], SCATTER),
     "scatter scatter_add scatter_max scatter_min scatter_mul scatter_sub"),
    (lambda f, a: f(a.x, np.array(PLACES), np.negative, SCATTER, update_shape=(2, a.x.shape[1])),
     "scatter_apply"),
    (lambda f, a: f(a.x, a.y, 0), "sort_key_val"),
    (lambda f, a: f(a.x, 8, 10), "reduce_precision"),
    (lambda f, a: f(a.x, np.array(0, a.dtype), lax.add, (0,)), "reduce"),
    (lambda f, a: f(a.x, np.array(0, a.dtype), lax.add, (2, 3), (1, 2), "VALID"), "reduce_window"),
    (lambda f, a: f(a.x[:4, :6], lax.ge, (2, 3), (2, 3), "VALID", a.y[:2, :2],
                    np.array(0, a.dtype), lax.add), "select_and_scatter"),
    (lambda f, a: f(a.y[:2, :2], a.x[:4, :6], lax.ge_p, (2, 3), (2, 3), "VALID"),
     "select_and_scatter_add"),
    (lambda f, a: f(a.x, a.y, lax.ge_p, (2, 3), (2, 3), "VALID"), "select_and_gather_add"),
    (lambda f, a: f(a.z, "FFT", (a.z.shape[1],)), "fft"),
    (lambda f, a: f(a.image, a.kernel, (1, 1), "SAME"), "conv conv_general_dilated"),
    (lambda f, a: f(a.image, a.kernel, (1, 1), "SAME", (1, 1), (1, 1)),
     "conv_with_general_padding"),
    (lambda f, a: f(a.image, (3, 3), (1, 1), "SAME"), "conv_general_dilated_patches"),
    (lambda f, a: f(a.image.transpose(0, 2, 3, 1), a.kernel.transpose(2, 3, 1, 0), (2, 2), "SAME"),
     "conv_transpose"),
    (lambda f, a: f(a.image, np.ones((2, 18, *a.image.shape[2:]), a.dtype), (1, 1), "SAME", (3, 3)),
     "conv_general_dilated_local"),
    (lambda f, a: f(a.tall, np.stack([a.m, a.m2]), np.array([a.order, a.order])), "ragged_dot"),
    (lambda f, a: f(
        a.tall, np.stack([a.m, a.m2]), np.array([a.order, a.order]),
        lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])), "ragged_dot_general"),
    (lambda f, a: f(lax.add, a.x), "associative_scan"),
    (lambda f, a: f(np.sin, a.few), "map"),
    (lambda f, a: f(lambda c, r: (c + r, c * r), a.few[0], a.few), "scan"),
    (lambda f, a: f(0, 5, lambda i, c: np.sin(c) * i, a.few), "fori_loop"),
    (lambda f, a: f(lambda c: c[0] < 5, lambda c: (c[0] + 1, np.exp(-c[1])), (0, a.few)),
     "while_loop"),
    (lambda f, a: f(a.few[0, 0] > 0, np.sin, np.cos, a.few), "cond"),
    (lambda f, a: f(1, [np.sin, np.cos], a.few), "switch"),
    (lambda f, a: f(a.few, default=np.sin), "platform_dependent"),
    (lambda f, a: f(smooth, np.array(1.5, a.dtype), lambda g, x: weft.lax.fori_loop(
        0, 9, lambda _, y: y - g(y) / 5, x), lambda g, y: y / g(np.ones_like(y))), "custom_root"),
    (lambda f, a: f(lambda x: a.spd @ x, a.short, lambda mv, b: np.linalg.solve(a.spd, b),
                    symmetric=True), "custom_linear_solve"),
    (lambda f, a: f(np.array([1, 2, 3, 4], "uint32"), (3, 5)), "rng_bit_generator"),
    (mapped(lambda f, x: f(x, "i")), "all_gather pmax pmean pmin psum psum_scatter"),
    (mapped(lambda f, x: f(x, "i", 0, 0)), "all_to_all"),
    (mapped(lambda f, x: f(x, "i", [(0, 1), (1, 0)])), "ppermute"),
    (mapped(lambda f, x: f(x, "i", [1, 0, 3, 2])), "pshuffle"),
    (mapped(lambda f, x: f(x, "i", 0)), "pswapaxes"),
    (mapped(lambda f, x: f("i")), "axis_index axis_size"),
]

LINALG = [
    (lambda f, a: f(a.spd), "cholesky eigh tridiagonal"),
    (lambda f, a: f(a.m), "eig hessenberg lu qr schur svd qdwh"),
    (lambda f, a: f(a.tall), "qr svd lu"),
    (lambda f, a: f(np.linalg.cholesky(a.spd).T, a.short / 9), "cholesky_update"),
    (lambda f, a: f(a.m, a.short / 9), "householder_product"),
    (lambda f, a: f(np.arange(a.order, dtype="int32"), a.order), "lu_pivots_to_permutation"),
    (lambda f, a: f(a.m, a.short / 9, a.m2), "ormqr"),
    (lambda f, a: f(a.m, a.spd), "symmetric_product"),
    (lambda f, a: f(np.tril(a.m) + 3 * np.eye(a.order, dtype=a.dtype), a.m2, left_side=True,
                    lower=True), "triangular_solve"),
    (lambda f, a: f(a.short.at[0].set(0), abs(a.short) + 3, a.short.at[-1].set(0), a.m2),
     "tridiagonal_solve"),
]
# fmt: on
