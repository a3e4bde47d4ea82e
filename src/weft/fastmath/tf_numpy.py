"""NumPy's functions in TensorFlow: `tensorflow.experimental.numpy`, and the functions it lacks.

64-bit results become 32-bit results, as on the backend `jax`. Functions without derivatives, such
as `unique`, are NumPy's own and need known values.
"""

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as onp

from ..errors import DerivativeError
from ..tree_util import tree_leaves, tree_map
from ..user_lines import noted
from .backends import Backend
from .namespaces import Names
from .tensorflow_module import narrow_dtype, numpy_dtype, tensor, tf, tnp


def _narrowed(x: Any) -> Any:
    """Converts one or several results to 32 bits if 64 bits are not enabled."""
    if tf.is_tensor(x):
        return tensor(x)
    return type(x)(_narrowed(item) for item in x) if isinstance(x, tuple | list) else x


def adapted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A TensorFlow function with 32-bit results, for all dtypes. TensorFlow follows NumPy's rules,
    which treat bfloat16 as float32; such results are converted back.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("dtype") is not None:
            kwargs["dtype"] = narrow_dtype(kwargs["dtype"]).as_numpy_dtype
            return _narrowed(function(*args, **kwargs))
        result = _narrowed(function(*args, **kwargs))
        if getattr(result, "dtype", None) == tf.float32 and _are_short(args):
            return tf.cast(result, tf.bfloat16)
        return result

    return call


def _are_short(args: Sequence[Any]) -> bool:
    """True if there are floats among the arrays, and all of them are bfloat16."""
    dtypes = {x.dtype for x in args if tf.is_tensor(x) and x.dtype.is_floating}
    return dtypes == {tf.bfloat16} and not any(isinstance(x, onp.ndarray) for x in args)


def on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function of known values. It has no derivative, and cannot be compiled."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(tf.is_tensor(x) and not hasattr(x, "numpy") for x in (*args, *kwargs.values())):
            raise noted(
                TypeError(
                    f"fastmath.numpy.{function.__name__}: on the backend 'tensorflow-numpy' it is "
                    "NumPy's own, which needs values; it got a traced tensor"
                    "\n  fix: call it outside jit, vmap and loops"
                )
            )
        result = function(*map(_host, args), **{k: _host(x) for k, x in kwargs.items()})
        return _without_derivative(function.__name__, (args, kwargs), _of_host(result))

    return call


def _without_derivative(name: str, arguments: Any, results: Any) -> Any:
    """Results of a NumPy function; their derivative raises an error instead of being zero."""
    floats, outs = (
        [x for x in tree_leaves(tree) if tf.is_tensor(x) and x.dtype.is_floating]
        for tree in (arguments, results)
    )
    if not floats or not outs:
        return results

    @tf.custom_gradient
    def constant(*_: Any) -> Any:
        def refuse(*cts: Any) -> Any:
            raise noted(
                DerivativeError(
                    f"fastmath.numpy.{name}: on the backend 'tensorflow-numpy' it is NumPy's own, "
                    "and has no derivative\n  fix: fastmath.stop_gradient(x), or use_backend('jax')"
                )
            )

        return outs, refuse

    ys = iter(constant(*floats))
    return tree_map(lambda x: next(ys) if tf.is_tensor(x) and x.dtype.is_floating else x, results)


def _host(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return type(x)(map(_host, x)) if not hasattr(x, "_fields") else x
    return x.numpy() if tf.is_tensor(x) else x


def _of_host(x: Any) -> Any:
    if isinstance(x, onp.ndarray | onp.generic):
        return tensor(x)
    return type(x)(map(_of_host, x)) if type(x) in (tuple, list) else x


def _dtype(x: Any) -> Any:
    """The NumPy dtype for a TensorFlow dtype; other objects are unchanged."""
    return onp.dtype(x.as_numpy_dtype) if isinstance(x, tf.DType) else x


# --- functions that differ in TensorFlow ---


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """True if a dtype belongs to a category."""
    arg1 = _dtype(arg1)
    if onp.dtype(arg1).kind == "V" and arg2 in (onp.floating, onp.inexact, onp.number):
        return onp.dtype(arg1).name == "bfloat16"
    return onp.issubdtype(arg1, _dtype(arg2))


def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """Pads an array."""
    array = tensor(array)
    widths = onp.broadcast_to(onp.asarray(pad_width), (len(array.shape), 2))
    if mode in ("constant", "reflect", "symmetric"):
        value = options.pop("constant_values", 0)
        if onp.ndim(value) == 0 and not options:
            return (
                tf.pad(array, widths, mode, value)
                if mode == "constant"
                else tf.pad(array, widths, mode)
            )
    index = onp.arange(int(onp.prod(array.shape))).reshape(tuple(array.shape))
    if mode in ("edge", "wrap", "reflect", "symmetric"):
        return tnp.take(tnp.ravel(array), onp.pad(index, widths, mode, **options))
    raise noted(ValueError(f"pad: mode {mode!r} isn't available on the backend 'tensorflow-numpy'"))


def true_divide(x1: Any, x2: Any) -> Any:
    """Divides; the result is a float."""
    return tensor(tnp.true_divide(x1, x2))


def isin(element: Any, test_elements: Any, invert: bool = False) -> Any:
    """A mask of the elements that are in `test_elements`."""
    element, others = tensor(element), tnp.ravel(tensor(test_elements))
    is_member = tf.reduce_any(element[..., None] == others, axis=-1)
    return ~is_member if invert else is_member


def linear_algebra() -> types.SimpleNamespace:
    """The namespace `linalg`."""

    def qr(a: Any, mode: str = "reduced") -> Any:
        q, r = tf.linalg.qr(tensor(a), full_matrices=mode == "complete")
        return r if mode == "r" else (q, r)

    def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
        kind = "euclidean" if ord in (None, "fro") else ord
        return tf.norm(tensor(x), kind, axis, keepdims)

    def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
        if not compute_uv:
            return tf.linalg.svd(tensor(a), compute_uv=False)
        s, u, v = tf.linalg.svd(tensor(a), full_matrices)
        return u, s, tf.linalg.adjoint(v)

    def solve(a: Any, b: Any) -> Any:
        a, b = tensor(a), tensor(b)
        return (
            tf.linalg.solve(a, b[..., None])[..., 0]
            if len(b.shape) == 1
            else (tf.linalg.solve(a, b))
        )

    return types.SimpleNamespace(
        cholesky=lambda a: tf.linalg.cholesky(tensor(a)),
        det=lambda a: tf.linalg.det(tensor(a)),
        eigh=lambda a: tf.linalg.eigh(tensor(a)),
        inv=lambda a: tf.linalg.inv(tensor(a)),
        matrix_rank=lambda a: tf.linalg.matrix_rank(tensor(a)),
        norm=norm,
        pinv=lambda a: tf.linalg.pinv(tensor(a)),
        qr=qr,
        slogdet=lambda a: tuple(tf.linalg.slogdet(tensor(a))),
        solve=solve,
        svd=svd,
    )


def _extreme_of_rest(reduce: Callable[..., Any], fill: float) -> Callable[..., Any]:
    """Reduces the elements that are not NaN."""

    def call(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        a = tensor(a)
        all_nan = tf.reduce_all(tf.math.is_nan(a), axis, keepdims)
        result = reduce(tf.where(tf.math.is_nan(a), tf.cast(fill, a.dtype), a), axis, keepdims)
        return tf.where(all_nan, tf.cast(onp.nan, a.dtype), result)

    return call


def _choice_of_rest(choose: Callable[..., Any]) -> Callable[..., Any]:
    """`fmin` or `fmax`: if one operand is NaN, the result is the other."""

    def call(x1: Any, x2: Any) -> Any:
        x1, x2 = tnp.broadcast_arrays(x1, x2)
        return tnp.where(tnp.isnan(x1), x2, tnp.where(tnp.isnan(x2), x1, choose(x1, x2)))

    return call


def nan_to_num(x: Any, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Replaces NaN and infinities by finite numbers."""
    x = tensor(x)
    limits = ml_dtypes.finfo(numpy_dtype(x))
    x = tf.where(tf.math.is_nan(x), tf.cast(nan, x.dtype), x)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    x = tf.where(x == onp.inf, tf.cast(high, x.dtype), x)
    return tf.where(x == -onp.inf, tf.cast(low, x.dtype), x)


def astype(x: Any, dtype: Any) -> Any:
    """Converts an array to another dtype."""
    return tensor(x, dtype)


def trunc(x: Any) -> Any:
    """Truncates numbers to integers."""
    x = tensor(x)
    return tnp.where(x < 0, tnp.ceil(x), tnp.floor(x))


RENAMED = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "concat": "concatenate", "degrees": "rad2deg",
    "permute_dims": "transpose", "pow": "power", "radians": "deg2rad", "rint": "round",
    "round_": "round", "invert": "bitwise_not", "bitwise_invert": "bitwise_not",
    "cumulative_sum": "cumsum", "cumulative_prod": "cumprod", "cumproduct": "cumprod",
    "product": "prod", "alltrue": "all", "sometrue": "any", "row_stack": "vstack",
}  # fmt: skip
"""Aliases of TensorFlow's functions."""

OF_NUMPY = (
    "broadcast_shapes can_cast isdtype iterable c_ r_ s_ index_exp e pi inf nan newaxis euler_gamma"
    " bool generic number integer signedinteger unsignedinteger floating complexfloating inexact"
    " single double uint dtype mgrid ogrid finfo iinfo float16 float32 float64 int8 int16 int32"
    " int64 uint8 uint16 uint32 uint64 complex64 complex128 bool_ inexact"
)
"""The names that are NumPy's on every backend: dtypes, constants, functions of shapes."""

ON_HOST = (
    "array_split argpartition argwhere array_equiv bartlett bincount blackman choose column_stack"
    " convolve corrcoef correlate cov delete diag_indices_from digitize ediff1d extract"
    " flatnonzero gradient hamming hanning histogram histogram2d histogramdd i0 indices insert"
    " interp intersect1d kaiser lexsort median nanmedian nanpercentile nanquantile nanargmax"
    " nanargmin packbits unpackbits percentile quantile poly polyfit roots searchsorted setdiff1d"
    " setxor1d tril_indices tril_indices_from trim_zeros triu_indices triu_indices_from union1d"
    " unique unravel_index ravel_multi_index unwrap block bitwise_count frexp"
    " histogram_bin_edges ldexp mask_indices modf nancumprod nancumsum nanstd nanvar partition"
    " polyadd polyder polydiv polyint polymul polysub resize rollaxis sort_complex spacing"
    " trapezoid"
)
"""Functions of values that are NumPy's own."""

UNADAPTED = "iscomplexobj isrealobj isscalar ndim shape size promote_types"
"""Functions whose results are not arrays, and are returned unchanged."""


def _result_type(*arrays_and_dtypes: Any) -> Any:
    """The NumPy dtype for several arrays or dtypes."""
    return onp.dtype(narrow_dtype(tnp.result_type(*arrays_and_dtypes)).as_numpy_dtype)


def _names() -> dict[str, Any]:
    """All names and their functions."""
    functions: dict[str, Any] = {}
    for name in dir(tnp):
        value = getattr(tnp, name)
        if not name.startswith("_") and callable(value) and not isinstance(value, type):
            functions[name] = value if name in UNADAPTED.split() else adapted(value)
    functions |= {name: functions[other] for name, other in RENAMED.items()}
    functions |= {name: getattr(onp, name) for name in OF_NUMPY.split()}
    functions |= {name: on_host(getattr(onp, name)) for name in ON_HOST.split()}
    return functions | {
        "DeviceArray": tnp.ndarray,
        "astype": astype,
        "bfloat16": ml_dtypes.bfloat16,
        "copysign": lambda x1, x2: tnp.where(
            tnp.signbit(x1) == tnp.signbit(x2), tensor(x1), -tensor(x1)
        ),
        "divide": true_divide,
        "fmax": _choice_of_rest(tnp.maximum),
        "fmin": _choice_of_rest(tnp.minimum),
        "fmod": lambda x1, x2: (
            tensor(x1) - trunc(tnp.true_divide(x1, x2)).astype(_result_type(x1, x2)) * tensor(x2)
        ),
        "isin": isin,
        "issubdtype": issubdtype,
        "left_shift": lambda x1, x2: tf.bitwise.left_shift(*_alike(x1, x2)),
        "linalg": linear_algebra(),
        "matrix_transpose": lambda x: tf.linalg.matrix_transpose(tensor(x)),
        "nan_to_num": nan_to_num,
        "nanmax": _extreme_of_rest(tf.reduce_max, -onp.inf),
        "nanmin": _extreme_of_rest(tf.reduce_min, onp.inf),
        "pad": pad,
        "result_type": _result_type,
        "right_shift": lambda x1, x2: tf.bitwise.right_shift(*_alike(x1, x2)),
        "true_divide": true_divide,
        "trunc": trunc,
        "unstack": lambda x, axis=0: tuple(tf.unstack(tensor(x), axis=axis)),
        "vecdot": lambda x1, x2: tf.reduce_sum(tensor(x1) * tensor(x2), -1),
    }


def _alike(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Two operands with the same dtype."""
    dtype = _result_type(x1, x2)
    return tensor(x1, dtype), tensor(x2, dtype)


TF_NUMPY = Names(Backend.TFNP, tnp, _names())
"""The namespace."""
