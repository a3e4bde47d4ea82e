"""NumPy's functions and types, on weft's arrays."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "array_api": "__array_api_version__ __array_namespace_info__ bool",
        "bits": """
            bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
            bitwise_right_shift bitwise_xor invert left_shift packbits right_shift unpackbits
        """,
        "buffers": "from_dlpack frombuffer fromfile fromfunction fromiter fromstring",
        "choosing": "piecewise select where",
        "constants": """
            ComplexWarning bfloat16 bool_ can_cast cdouble character complex64 complex128 complex_
            complexfloating csingle double dtype e euler_gamma finfo flexible float4_e2m1fn
            float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2
            float8_e5m2fnuz float8_e8m0fnu float16 float32 float64 float_ floating generic iinfo
            index_exp inexact inf int2 int4 int8 int16 int32 int64 int_ integer isdtype issubdtype
            issubsctype nan ndarray newaxis number object_ pi promote_types result_type s_
            signedinteger single uint uint2 uint4 uint8 uint16 uint32 uint64 unsignedinteger
        """,
        "creation": """
            array asanyarray asarray ascontiguousarray astype copy empty empty_like full full_like
            ones ones_like zeros zeros_like
        """,
        "divisors": "gcd lcm",
        "editing": "delete insert",
        "einsums": "einsum einsum_path",
        "elementwise": """
            abs absolute add cbrt conj conjugate divide divmod fabs float_power floor_divide fmod
            hypot imag maximum minimum mod multiply negative positive pow power real reciprocal
            remainder sign sqrt square subtract true_divide
        """,
        "files": "load save savez",
        "fitting": "poly polyfit roots",
        "flat_indices": "ravel_multi_index unravel_index",
        "functional": """
            apply_along_axis apply_over_axes convolve correlate diff ediff1d gradient trapezoid
            trapz unwrap vectorize
        """,
        "indexing": "argwhere flatnonzero nonzero unstack",
        "interpolation": "interp",
        "joining": """
            append array_split block column_stack concat concatenate dsplit dstack hsplit hstack
            row_stack split stack vsplit vstack
        """,
        "logic": """
            allclose array_equal array_equiv equal greater greater_equal isclose iscomplex
            iscomplexobj isfinite isinf isnan isneginf isposinf isreal isrealobj isscalar less
            less_equal logical_and logical_not logical_or logical_xor not_equal
        """,
        "matrices": """
            diag diag_indices diag_indices_from diagflat diagonal eye fill_diagonal identity
            mask_indices trace tri tril tril_indices tril_indices_from triu triu_indices
            triu_indices_from
        """,
        "means": "mean std var",
        "nan_reductions": """
            nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum
            nanvar
        """,
        "padding": "pad",
        "polynomials": "polyadd polyder polydiv polyint polymul polysub polyval trim_zeros vander",
        "printing": "array_repr array_str get_printoptions printoptions set_printoptions",
        "products": "cross dot inner kron matmul matvec outer tensordot vdot vecdot vecmat",
        "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
        "ranges": "arange c_ geomspace indices ix_ linspace logspace meshgrid mgrid ogrid r_",
        "reductions": """
            all alltrue amax amin any count_nonzero max min prod product ptp sometrue sum
        """,
        "repeating": "repeat roll tile",
        "rounding": """
            around ceil clip copysign fix floor fmax fmin frexp heaviside ldexp modf nan_to_num
            nextafter rint round round_ signbit spacing trunc
        """,
        "running": "argmax argmin cumprod cumproduct cumsum cumulative_prod cumulative_sum",
        "sets": """
            in1d intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts
            unique_inverse unique_values
        """,
        "shapes": """
            atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to
            expand_dims flip fliplr flipud iterable matrix_transpose moveaxis ndim permute_dims
            ravel reshape resize rollaxis rot90 shape size squeeze swapaxes transpose
        """,
        "sorting": "argpartition argsort lexsort msort partition searchsorted sort sort_complex",
        "statistics": """
            average bincount corrcoef cov digitize histogram histogram2d histogram_bin_edges
            histogramdd
        """,
        "taking": "choose compress extract place put put_along_axis take take_along_axis",
        "transcendental": """
            acos acosh angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan
            atan2 atanh cos cosh deg2rad degrees exp exp2 expm1 i0 log log1p log2 log10 logaddexp
            logaddexp2 rad2deg radians sin sinc sinh tan tanh
        """,
        "ufuncs": "frompyfunc ufunc",
        "windows": "bartlett blackman hamming hanning kaiser",
    },
    modules="fft linalg",
    together="operators products reductions means shapes transcendental",
)
