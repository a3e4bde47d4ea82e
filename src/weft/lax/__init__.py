"""Operators on arrays, close to XLA's, which do not promote dtypes and rarely broadcast. `add_p` is
the primitive of `add`, for programs that read equations or apply primitives with parameters.
docs/extending.md describes primitives.
"""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        ".higher_order.cond": "cond:cond_p",
        ".higher_order.scan": "scan:scan_p",
        ".higher_order.while_loop": "while_loop:while_p",
        ".primitives.arithmetic": """
            abs_:abs_p cbrt:cbrt_p ceil:ceil_p div:div_p floor:floor_p integer_pow:integer_pow_p
            is_finite:is_finite_p max_:max_p min_:min_p mul:mul_p neg:neg_p nextafter:nextafter_p
            rem:rem_p round_:round_p rsqrt:rsqrt_p sign:sign_p sqrt:sqrt_p square:square_p sub:sub_p
        """,
        ".primitives.bessel_functions": "bessel_i0e:bessel_i0e_p bessel_i1e:bessel_i1e_p",
        ".primitives.bitwise": """
            bitwise_and:and_p clz:clz_p bitwise_not:not_p bitwise_or:or_p
            population_count:population_count_p shift_left:shift_left_p
            shift_right_arithmetic:shift_right_arithmetic_p
            shift_right_logical:shift_right_logical_p bitwise_xor:xor_p
        """,
        ".primitives.collectives": """
            all_gather:all_gather_p all_to_all:all_to_all_p axis_index:axis_index_p pmax:pmax_p
            pmin:pmin_p ppermute:ppermute_p psum:psum_p psum_scatter:reduce_scatter_p
        """,
        ".primitives.comparison": "eq:eq_p ge:ge_p gt:gt_p le:le_p lt:lt_p ne:ne_p",
        ".primitives.complex_numbers": "complex_:complex_p conj:conj_p imag:imag_p real:real_p",
        ".primitives.conversion": """
            bitcast_convert_type:bitcast_convert_type_p reduce_precision:reduce_precision_p
        """,
        ".primitives.convolution": "conv_general_dilated:conv_general_dilated_p",
        ".primitives.creation": "iota:iota_p",
        ".primitives.cumulative": """
            cumlogsumexp:cumlogsumexp_p cummax:cummax_p cummin:cummin_p cumprod:cumprod_p
            cumsum:cumsum_p
        """,
        ".primitives.dynamic_slicing": """
            dynamic_slice:dynamic_slice_p dynamic_update_slice:dynamic_update_slice_p
        """,
        ".primitives.error_functions": "erf_inv:erf_inv_p erf:erf_p erfc:erfc_p",
        ".primitives.exponential": """
            exp2:exp2_p exp:exp_p expm1:expm1_p log1p:log1p_p log:log_p logistic:logistic_p
            pow_:pow_p
        """,
        ".primitives.fft": "fft:fft_p",
        ".primitives.gamma_functions": """
            digamma:digamma_p lgamma:lgamma_p polygamma:polygamma_p zeta:zeta_p
        """,
        ".primitives.incomplete_gamma_beta": """
            igamma_grad_a:igamma_grad_a_p igamma:igamma_p igammac:igammac_p
            random_gamma_grad:random_gamma_grad_p
            regularized_incomplete_beta:regularized_incomplete_beta_p
        """,
        ".primitives.indexing": """
            gather:gather_p scatter_add:scatter_add_p scatter_max:scatter_max_p
            scatter_min:scatter_min_p scatter_mul:scatter_mul_p scatter:scatter_p
        """,
        ".primitives.products": "dot_general:dot_general_p",
        ".primitives.reductions": """
            argmax:argmax_p argmin:argmin_p reduce_and:reduce_and_p reduce_max:reduce_max_p
            reduce_min:reduce_min_p reduce_or:reduce_or_p reduce_prod:reduce_prod_p
            reduce_xor:reduce_xor_p
        """,
        ".primitives.selection": """
            clamp:clamp_p copy:copy_p optimization_barrier:optimization_barrier_p
            select_n:select_n_p
        """,
        ".primitives.slicing": """
            concatenate:concatenate_p pad:pad_p rev:rev_p slice_:slice_p split:split_p
        """,
        ".primitives.sorting": "sort:sort_p top_k:top_k_p",
        ".primitives.structural": """
            add:add_p broadcast_in_dim:broadcast_in_dim_p
            convert_element_type:convert_element_type_p reduce_sum:reduce_sum_p reshape:reshape_p
            transpose:transpose_p
        """,
        ".primitives.trigonometric": """
            acos:acos_p acosh:acosh_p asin:asin_p asinh:asinh_p atan2:atan2_p atan:atan_p
            atanh:atanh_p cos:cos_p cosh:cosh_p sin:sin_p sinh:sinh_p tan:tan_p tanh:tanh_p
        """,
        ".primitives.variadic_reductions": "reduce:reduce_p",
        ".primitives.windows": """
            reduce_window_max:reduce_window_max_p reduce_window_min:reduce_window_min_p
            reduce_window_sum:reduce_window_sum_p
        """,
        "accuracy": "AccuracyMode Tolerance",
        "arithmetic": """
            RoundingMethod abs add cbrt ceil div floor integer_pow is_finite max min mul neg
            nextafter reciprocal rem round rsqrt sign sqrt square sub
        """,
        "associative_scan": "associative_scan",
        "bitwise": """
            bitwise_and bitwise_not bitwise_or bitwise_xor clz mulhi population_count shift_left
            shift_right_arithmetic shift_right_logical
        """,
        "comparison": "eq ge gt le lt ne",
        "complex_numbers": "complex conj imag real",
        "conditionals": "cond platform_dependent switch",
        "conversion": "bitcast_convert_type convert_element_type dtype reduce_precision",
        "convolution": """
            ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers conv conv_dimension_numbers
            conv_general_dilated conv_general_dilated_patches conv_transpose
            conv_with_general_padding
        """,
        "convolution_shapes": """
            conv_general_permutations conv_general_shape_tuple conv_shape_tuple
            conv_transpose_shape_tuple
        """,
        "creation": "broadcasted_iota empty full full_like iota zeros_like_array",
        "cumulative": "cumlogsumexp cummax cummin cumprod cumsum",
        "exponential": "exp exp2 expm1 log log1p logistic pow",
        "fft": "FftType fft",
        "indexing": """
            GatherDimensionNumbers GatherScatterMode ScatterDimensionNumbers gather index_take
            scatter scatter_add scatter_apply scatter_max scatter_min scatter_mul scatter_sub
        """,
        "joining": "concatenate split stack unstack",
        "local_convolution": "conv_general_dilated_local",
        "loops": "fori_loop map scan while_loop",
        "padding": "pad padtype_to_pads",
        "parallel": """
            all_gather all_to_all axis_index axis_size pmax pmean pmin ppermute pshuffle psum
            psum_scatter pswapaxes
        """,
        "products": """
            DotAlgorithm DotAlgorithmPreset DotDimensionNumbers Precision PrecisionLike batch_matmul
            dot dot_general scaled_dot
        """,
        "ragged_products": "RaggedDotDimensionNumbers ragged_dot ragged_dot_general",
        "random_numbers": "RandomAlgorithm rng_bit_generator rng_uniform",
        "reductions": """
            argmax argmin reduce reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum
            reduce_xor
        """,
        "select_windows": "select_and_gather_add select_and_scatter select_and_scatter_add",
        "selection": "clamp optimization_barrier select select_n stop_gradient tie_in",
        "shapes": """
            broadcast broadcast_in_dim broadcast_like broadcast_shapes broadcast_to_rank collapse
            expand_dims reshape rev squeeze tile transpose
        """,
        "sharding_constraint": "with_sharding_constraint",
        "slicing": """
            dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_update_index_in_dim
            dynamic_update_slice dynamic_update_slice_in_dim index_in_dim slice slice_in_dim
        """,
        "solvers": "custom_linear_solve custom_root",
        "sorting": "approx_max_k approx_min_k sort sort_key_val top_k",
        "special": """
            bessel_i0e bessel_i1e betainc digamma erf erf_inv erfc igamma igamma_grad_a igammac
            lgamma polygamma random_gamma_grad zeta
        """,
        "trigonometric": "acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh",
        "windows": "reduce_window reduce_window_shape_tuple",
    },
    modules="linalg",
)
