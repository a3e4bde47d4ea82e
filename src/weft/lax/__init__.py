"""Operators on arrays, close to XLA's: nothing is promoted, little is broadcast."""

from ..lazy import exports

__all__, __getattr__, __dir__ = exports(
    __name__,
    {
        "accuracy": "AccuracyMode Tolerance",
        "arithmetic": """
            RoundingMethod abs add cbrt ceil div floor integer_pow is_finite max min mul neg
            nextafter reciprocal rem round rsqrt sign sqrt square sub
        """,
        "associative": "associative_scan",
        "bitwise": """
            bitwise_and bitwise_not bitwise_or bitwise_xor clz mulhi population_count shift_left
            shift_right_arithmetic shift_right_logical
        """,
        "comparison": "eq ge gt le lt ne",
        "complex_numbers": "complex conj imag real",
        "contraction": """
            DotAlgorithm DotAlgorithmPreset DotDimensionNumbers Precision PrecisionLike batch_matmul
            dot dot_general
        """,
        "control_flow": "cond platform_dependent switch",
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
        "fourier": "FftType fft",
        "indexing": """
            GatherDimensionNumbers GatherScatterMode ScatterDimensionNumbers gather index_take
            scatter scatter_add scatter_apply scatter_max scatter_min scatter_mul scatter_sub
        """,
        "joining": "concatenate pad rev split stack unstack",
        "local_convolution": "conv_general_dilated_local",
        "loops": "fori_loop map scan while_loop",
        "pads": "padtype_to_pads",
        "parallel": """
            all_gather all_to_all axis_index axis_size pmax pmean pmin ppermute pshuffle psum
            psum_scatter pswapaxes
        """,
        "placement": "with_sharding_constraint",
        "primitive_names": """
            abs_p acos_p acosh_p add_p all_gather_p all_to_all_p and_p argmax_p argmin_p asin_p
            asinh_p atan2_p atan_p atanh_p axis_index_p bessel_i0e_p bessel_i1e_p
            bitcast_convert_type_p broadcast_in_dim_p cbrt_p ceil_p clamp_p clz_p complex_p
            concatenate_p cond_p conj_p conv_general_dilated_p convert_element_type_p copy_p cos_p
            cosh_p cumlogsumexp_p cummax_p cummin_p cumprod_p cumsum_p digamma_p div_p dot_general_p
            dynamic_slice_p dynamic_update_slice_p eq_p erf_inv_p erf_p erfc_p exp2_p exp_p expm1_p
            fft_p floor_p gather_p ge_p gt_p igamma_grad_a_p igamma_p igammac_p imag_p integer_pow_p
            iota_p is_finite_p le_p lgamma_p log1p_p log_p logistic_p lt_p max_p min_p mul_p ne_p
            neg_p nextafter_p not_p optimization_barrier_p or_p pad_p pmax_p pmin_p polygamma_p
            population_count_p pow_p ppermute_p psum_p random_gamma_grad_p real_p reduce_and_p
            reduce_max_p reduce_min_p reduce_or_p reduce_p reduce_precision_p reduce_prod_p
            reduce_scatter_p reduce_sum_p reduce_window_max_p reduce_window_min_p
            reduce_window_sum_p reduce_xor_p regularized_incomplete_beta_p rem_p reshape_p rev_p
            round_p rsqrt_p scan_p scatter_add_p scatter_max_p scatter_min_p scatter_mul_p scatter_p
            select_n_p shift_left_p shift_right_arithmetic_p shift_right_logical_p sign_p sin_p
            sinh_p slice_p sort_p split_p sqrt_p square_p sub_p tan_p tanh_p top_k_p transpose_p
            while_p xor_p zeta_p
        """,
        "ragged_products": "RaggedDotDimensionNumbers ragged_dot ragged_dot_general",
        "random_numbers": "RandomAlgorithm rng_bit_generator rng_uniform",
        "reduction": """
            argmax argmin reduce reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum
            reduce_xor
        """,
        "scaled_products": "scaled_dot",
        "select_windows": "select_and_gather_add select_and_scatter select_and_scatter_add",
        "selection": "clamp optimization_barrier select select_n stop_gradient tie_in",
        "shapes": """
            broadcast broadcast_in_dim broadcast_like broadcast_shapes broadcast_to_rank collapse
            expand_dims reshape squeeze tile transpose
        """,
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
        "transcendental": """
            acos acosh asin asinh atan atan2 atanh cos cosh exp exp2 expm1 log log1p logistic pow
            sin sinh tan tanh
        """,
        "windows": "reduce_window reduce_window_shape_tuple",
    },
    modules="linalg",
)
