# Written by `make exports`: editors and type checkers read it instead of `__init__.py`.
from ..higher_order import cond as _cond, scan as _scan, while_loop as _while_loop
from ..primitives import (
    arithmetic as _arithmetic,
    bessel_functions as _bessel_functions,
    bitwise as _bitwise,
    collectives as _collectives,
    comparison as _comparison,
    complex_numbers as _complex_numbers,
    conversion as _conversion,
    convolution as _convolution,
    creation as _creation,
    cumulative as _cumulative,
    dynamic_slicing as _dynamic_slicing,
    error_functions as _error_functions,
    exponential as _exponential,
    fft as _fft,
    gamma_functions as _gamma_functions,
    incomplete_gamma_beta as _incomplete_gamma_beta,
    indexing as _indexing,
    products as _products,
    reductions as _reductions,
    selection as _selection,
    slicing as _slicing,
    sorting as _sorting,
    structural as _structural,
    trigonometric as _trigonometric,
    variadic_reductions as _variadic_reductions,
    windows as _windows,
)
from . import linalg as linalg
from .accuracy import AccuracyMode as AccuracyMode, Tolerance as Tolerance
from .arithmetic import (
    RoundingMethod as RoundingMethod,
    abs as abs,
    add as add,
    cbrt as cbrt,
    ceil as ceil,
    div as div,
    floor as floor,
    integer_pow as integer_pow,
    is_finite as is_finite,
    max as max,
    min as min,
    mul as mul,
    neg as neg,
    nextafter as nextafter,
    reciprocal as reciprocal,
    rem as rem,
    round as round,
    rsqrt as rsqrt,
    sign as sign,
    sqrt as sqrt,
    square as square,
    sub as sub,
)
from .associative_scan import associative_scan as associative_scan
from .bitwise import (
    bitwise_and as bitwise_and,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    clz as clz,
    mulhi as mulhi,
    population_count as population_count,
    shift_left as shift_left,
    shift_right_arithmetic as shift_right_arithmetic,
    shift_right_logical as shift_right_logical,
)
from .comparison import eq as eq, ge as ge, gt as gt, le as le, lt as lt, ne as ne
from .complex_numbers import complex as complex, conj as conj, imag as imag, real as real
from .conditionals import cond as cond, platform_dependent as platform_dependent, switch as switch
from .conversion import (
    bitcast_convert_type as bitcast_convert_type,
    convert_element_type as convert_element_type,
    dtype as dtype,
    reduce_precision as reduce_precision,
)
from .convolution import (
    ConvDimensionNumbers as ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
    conv as conv,
    conv_dimension_numbers as conv_dimension_numbers,
    conv_general_dilated as conv_general_dilated,
    conv_general_dilated_patches as conv_general_dilated_patches,
    conv_transpose as conv_transpose,
    conv_with_general_padding as conv_with_general_padding,
)
from .convolution_shapes import (
    conv_general_permutations as conv_general_permutations,
    conv_general_shape_tuple as conv_general_shape_tuple,
    conv_shape_tuple as conv_shape_tuple,
    conv_transpose_shape_tuple as conv_transpose_shape_tuple,
)
from .creation import (
    broadcasted_iota as broadcasted_iota,
    empty as empty,
    full as full,
    full_like as full_like,
    iota as iota,
    zeros_like_array as zeros_like_array,
)
from .cumulative import (
    cumlogsumexp as cumlogsumexp,
    cummax as cummax,
    cummin as cummin,
    cumprod as cumprod,
    cumsum as cumsum,
)
from .exponential import (
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    logistic as logistic,
    pow as pow,
)
from .fft import FftType as FftType, fft as fft
from .indexing import (
    GatherDimensionNumbers as GatherDimensionNumbers,
    GatherScatterMode as GatherScatterMode,
    ScatterDimensionNumbers as ScatterDimensionNumbers,
    gather as gather,
    index_take as index_take,
    scatter as scatter,
    scatter_add as scatter_add,
    scatter_apply as scatter_apply,
    scatter_max as scatter_max,
    scatter_min as scatter_min,
    scatter_mul as scatter_mul,
    scatter_sub as scatter_sub,
)
from .joining import concatenate as concatenate, split as split, stack as stack, unstack as unstack
from .local_convolution import conv_general_dilated_local as conv_general_dilated_local
from .loops import fori_loop as fori_loop, map as map, scan as scan, while_loop as while_loop
from .padding import pad as pad, padtype_to_pads as padtype_to_pads
from .parallel import (
    all_gather as all_gather,
    all_to_all as all_to_all,
    axis_index as axis_index,
    axis_size as axis_size,
    pmax as pmax,
    pmean as pmean,
    pmin as pmin,
    ppermute as ppermute,
    pshuffle as pshuffle,
    psum as psum,
    psum_scatter as psum_scatter,
    pswapaxes as pswapaxes,
)
from .products import (
    DotAlgorithm as DotAlgorithm,
    DotAlgorithmPreset as DotAlgorithmPreset,
    DotDimensionNumbers as DotDimensionNumbers,
    Precision as Precision,
    PrecisionLike as PrecisionLike,
    batch_matmul as batch_matmul,
    dot as dot,
    dot_general as dot_general,
    scaled_dot as scaled_dot,
)
from .ragged_products import (
    RaggedDotDimensionNumbers as RaggedDotDimensionNumbers,
    ragged_dot as ragged_dot,
    ragged_dot_general as ragged_dot_general,
)
from .random_numbers import (
    RandomAlgorithm as RandomAlgorithm,
    rng_bit_generator as rng_bit_generator,
    rng_uniform as rng_uniform,
)
from .reductions import (
    argmax as argmax,
    argmin as argmin,
    reduce as reduce,
    reduce_and as reduce_and,
    reduce_max as reduce_max,
    reduce_min as reduce_min,
    reduce_or as reduce_or,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
    reduce_xor as reduce_xor,
)
from .select_windows import (
    select_and_gather_add as select_and_gather_add,
    select_and_scatter as select_and_scatter,
    select_and_scatter_add as select_and_scatter_add,
)
from .selection import (
    clamp as clamp,
    optimization_barrier as optimization_barrier,
    select as select,
    select_n as select_n,
    stop_gradient as stop_gradient,
    tie_in as tie_in,
)
from .shapes import (
    broadcast as broadcast,
    broadcast_in_dim as broadcast_in_dim,
    broadcast_like as broadcast_like,
    broadcast_shapes as broadcast_shapes,
    broadcast_to_rank as broadcast_to_rank,
    collapse as collapse,
    expand_dims as expand_dims,
    reshape as reshape,
    rev as rev,
    squeeze as squeeze,
    tile as tile,
    transpose as transpose,
)
from .sharding_constraint import with_sharding_constraint as with_sharding_constraint
from .slicing import (
    dynamic_index_in_dim as dynamic_index_in_dim,
    dynamic_slice as dynamic_slice,
    dynamic_slice_in_dim as dynamic_slice_in_dim,
    dynamic_update_index_in_dim as dynamic_update_index_in_dim,
    dynamic_update_slice as dynamic_update_slice,
    dynamic_update_slice_in_dim as dynamic_update_slice_in_dim,
    index_in_dim as index_in_dim,
    slice as slice,
    slice_in_dim as slice_in_dim,
)
from .solvers import custom_linear_solve as custom_linear_solve, custom_root as custom_root
from .sorting import (
    approx_max_k as approx_max_k,
    approx_min_k as approx_min_k,
    sort as sort,
    sort_key_val as sort_key_val,
    top_k as top_k,
)
from .special import (
    bessel_i0e as bessel_i0e,
    bessel_i1e as bessel_i1e,
    betainc as betainc,
    digamma as digamma,
    erf as erf,
    erf_inv as erf_inv,
    erfc as erfc,
    igamma as igamma,
    igamma_grad_a as igamma_grad_a,
    igammac as igammac,
    lgamma as lgamma,
    polygamma as polygamma,
    random_gamma_grad as random_gamma_grad,
    zeta as zeta,
)
from .trigonometric import (
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cos as cos,
    cosh as cosh,
    sin as sin,
    sinh as sinh,
    tan as tan,
    tanh as tanh,
)
from .windows import (
    reduce_window as reduce_window,
    reduce_window_shape_tuple as reduce_window_shape_tuple,
)

cond_p = _cond.cond
scan_p = _scan.scan
while_p = _while_loop.while_loop
abs_p = _arithmetic.abs_
cbrt_p = _arithmetic.cbrt
ceil_p = _arithmetic.ceil
div_p = _arithmetic.div
floor_p = _arithmetic.floor
integer_pow_p = _arithmetic.integer_pow
is_finite_p = _arithmetic.is_finite
max_p = _arithmetic.max_
min_p = _arithmetic.min_
mul_p = _arithmetic.mul
neg_p = _arithmetic.neg
nextafter_p = _arithmetic.nextafter
rem_p = _arithmetic.rem
round_p = _arithmetic.round_
rsqrt_p = _arithmetic.rsqrt
sign_p = _arithmetic.sign
sqrt_p = _arithmetic.sqrt
square_p = _arithmetic.square
sub_p = _arithmetic.sub
bessel_i0e_p = _bessel_functions.bessel_i0e
bessel_i1e_p = _bessel_functions.bessel_i1e
and_p = _bitwise.bitwise_and
clz_p = _bitwise.clz
not_p = _bitwise.bitwise_not
or_p = _bitwise.bitwise_or
population_count_p = _bitwise.population_count
shift_left_p = _bitwise.shift_left
shift_right_arithmetic_p = _bitwise.shift_right_arithmetic
shift_right_logical_p = _bitwise.shift_right_logical
xor_p = _bitwise.bitwise_xor
all_gather_p = _collectives.all_gather
all_to_all_p = _collectives.all_to_all
axis_index_p = _collectives.axis_index
pmax_p = _collectives.pmax
pmin_p = _collectives.pmin
ppermute_p = _collectives.ppermute
psum_p = _collectives.psum
reduce_scatter_p = _collectives.psum_scatter
eq_p = _comparison.eq
ge_p = _comparison.ge
gt_p = _comparison.gt
le_p = _comparison.le
lt_p = _comparison.lt
ne_p = _comparison.ne
complex_p = _complex_numbers.complex_
conj_p = _complex_numbers.conj
imag_p = _complex_numbers.imag
real_p = _complex_numbers.real
bitcast_convert_type_p = _conversion.bitcast_convert_type
reduce_precision_p = _conversion.reduce_precision
conv_general_dilated_p = _convolution.conv_general_dilated
iota_p = _creation.iota
cumlogsumexp_p = _cumulative.cumlogsumexp
cummax_p = _cumulative.cummax
cummin_p = _cumulative.cummin
cumprod_p = _cumulative.cumprod
cumsum_p = _cumulative.cumsum
dynamic_slice_p = _dynamic_slicing.dynamic_slice
dynamic_update_slice_p = _dynamic_slicing.dynamic_update_slice
erf_inv_p = _error_functions.erf_inv
erf_p = _error_functions.erf
erfc_p = _error_functions.erfc
exp2_p = _exponential.exp2
exp_p = _exponential.exp
expm1_p = _exponential.expm1
log1p_p = _exponential.log1p
log_p = _exponential.log
logistic_p = _exponential.logistic
pow_p = _exponential.pow_
fft_p = _fft.fft
digamma_p = _gamma_functions.digamma
lgamma_p = _gamma_functions.lgamma
polygamma_p = _gamma_functions.polygamma
zeta_p = _gamma_functions.zeta
igamma_grad_a_p = _incomplete_gamma_beta.igamma_grad_a
igamma_p = _incomplete_gamma_beta.igamma
igammac_p = _incomplete_gamma_beta.igammac
random_gamma_grad_p = _incomplete_gamma_beta.random_gamma_grad
regularized_incomplete_beta_p = _incomplete_gamma_beta.regularized_incomplete_beta
gather_p = _indexing.gather
scatter_add_p = _indexing.scatter_add
scatter_max_p = _indexing.scatter_max
scatter_min_p = _indexing.scatter_min
scatter_mul_p = _indexing.scatter_mul
scatter_p = _indexing.scatter
dot_general_p = _products.dot_general
argmax_p = _reductions.argmax
argmin_p = _reductions.argmin
reduce_and_p = _reductions.reduce_and
reduce_max_p = _reductions.reduce_max
reduce_min_p = _reductions.reduce_min
reduce_or_p = _reductions.reduce_or
reduce_prod_p = _reductions.reduce_prod
reduce_xor_p = _reductions.reduce_xor
clamp_p = _selection.clamp
copy_p = _selection.copy
optimization_barrier_p = _selection.optimization_barrier
select_n_p = _selection.select_n
concatenate_p = _slicing.concatenate
pad_p = _slicing.pad
rev_p = _slicing.rev
slice_p = _slicing.slice_
split_p = _slicing.split
sort_p = _sorting.sort
top_k_p = _sorting.top_k
add_p = _structural.add
broadcast_in_dim_p = _structural.broadcast_in_dim
convert_element_type_p = _structural.convert_element_type
reduce_sum_p = _structural.reduce_sum
reshape_p = _structural.reshape
transpose_p = _structural.transpose
acos_p = _trigonometric.acos
acosh_p = _trigonometric.acosh
asin_p = _trigonometric.asin
asinh_p = _trigonometric.asinh
atan2_p = _trigonometric.atan2
atan_p = _trigonometric.atan
atanh_p = _trigonometric.atanh
cos_p = _trigonometric.cos
cosh_p = _trigonometric.cosh
sin_p = _trigonometric.sin
sinh_p = _trigonometric.sinh
tan_p = _trigonometric.tan
tanh_p = _trigonometric.tanh
reduce_p = _variadic_reductions.reduce
reduce_window_max_p = _windows.reduce_window_max
reduce_window_min_p = _windows.reduce_window_min
reduce_window_sum_p = _windows.reduce_window_sum
