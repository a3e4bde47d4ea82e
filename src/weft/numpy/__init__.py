"""NumPy's functions and types, on weft's arrays."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "arithmetic": """
            abs absolute add cbrt divide divmod fabs float_power floor_divide fmod heaviside mod
            multiply negative positive pow power reciprocal remainder sign sqrt square subtract
            true_divide
        """,
        "array_api": "__array_api_version__ __array_namespace_info__ bool",
        "bitwise": """
            bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
            bitwise_right_shift bitwise_xor invert left_shift packbits right_shift unpackbits
        """,
        "calculus": "diff ediff1d gradient trapezoid trapz unwrap",
        "comparison": """
            allclose array_equal array_equiv equal greater greater_equal isclose less less_equal
            not_equal
        """,
        "complex_numbers": "angle conj conjugate imag real",
        "constants": "e euler_gamma inf nan newaxis pi",
        "convolution": "convolve correlate",
        "creation": """
            array asanyarray asarray ascontiguousarray astype copy empty empty_like full full_like
            ones ones_like zeros zeros_like
        """,
        "cumulative": "cumprod cumproduct cumsum cumulative_prod cumulative_sum",
        "divisors": "gcd lcm",
        "dtypes": """
            ComplexWarning bfloat16 bool_ can_cast cdouble character complex64 complex128 complex_
            complexfloating csingle double dtype finfo flexible float4_e2m1fn float8_e3m4
            float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz
            float8_e8m0fnu float16 float32 float64 float_ floating generic iinfo inexact int2 int4
            int8 int16 int32 int64 int_ integer isdtype issubdtype issubsctype ndarray number
            object_ promote_types result_type signedinteger single uint uint2 uint4 uint8 uint16
            uint32 uint64 unsignedinteger
        """,
        "einsum": "einsum einsum_path",
        "exponential": "exp exp2 expm1 log log1p log2 log10 logaddexp logaddexp2",
        "extrema": "clip fmax fmin maximum minimum",
        "files": "load save savez",
        "floating_point": "copysign frexp ldexp modf nan_to_num nextafter signbit spacing",
        "from_data": "from_dlpack frombuffer fromfile fromfunction fromiter fromstring",
        "functional": "apply_along_axis apply_over_axes vectorize",
        "grids": "c_ index_exp meshgrid mgrid ogrid r_ s_",
        "histograms": "bincount digitize histogram histogram2d histogram_bin_edges histogramdd",
        "index_arrays": """
            diag_indices diag_indices_from indices ix_ mask_indices ravel_multi_index tril_indices
            tril_indices_from triu_indices triu_indices_from unravel_index
        """,
        "indexing": "argwhere flatnonzero nonzero",
        "insertion": "delete insert",
        "interpolation": "interp",
        "joining": """
            append block column_stack concat concatenate dstack hstack row_stack stack vstack
        """,
        "logic": """
            iscomplex iscomplexobj isfinite isinf isnan isneginf isposinf isreal isrealobj isscalar
            logical_and logical_not logical_or logical_xor
        """,
        "matrices": "diag diagflat diagonal eye identity trace tri tril triu",
        "nan_reductions": """
            nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum
            nanvar
        """,
        "padding": "pad",
        "polynomials": """
            poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots trim_zeros
            vander
        """,
        "printing": "array_repr array_str get_printoptions printoptions set_printoptions",
        "products": "cross dot inner kron matmul matvec outer tensordot vdot vecdot vecmat",
        "putting": "fill_diagonal place put put_along_axis",
        "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
        "ranges": "arange geomspace linspace logspace",
        "rearranging": "flip fliplr flipud roll rot90",
        "reductions": """
            all alltrue amax amin any argmax argmin count_nonzero max min prod product ptp sometrue
            sum
        """,
        "rounding": "around ceil fix floor rint round round_ trunc",
        "selection": "choose piecewise select where",
        "sets": """
            in1d intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts
            unique_inverse unique_values
        """,
        "shapes": """
            atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to
            expand_dims iterable matrix_transpose moveaxis ndim permute_dims ravel reshape resize
            rollaxis shape size squeeze swapaxes transpose
        """,
        "sorting": "argpartition argsort lexsort msort partition searchsorted sort sort_complex",
        "special": "i0 sinc",
        "splitting": "array_split dsplit hsplit split unstack vsplit",
        "statistics": "average corrcoef cov mean std var",
        "taking": "compress extract take take_along_axis",
        "tiling": "repeat tile",
        "trigonometric": """
            acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2
            atanh cos cosh deg2rad degrees hypot rad2deg radians sin sinh tan tanh
        """,
        "ufuncs": "frompyfunc ufunc",
        "window_functions": "bartlett blackman hamming hanning kaiser",
    },
    modules="fft linalg",
    together="operators products reductions statistics shapes exponential trigonometric",
)
