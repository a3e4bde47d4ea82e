"""Why a primitive lacks a rule. A missing rule is a statement; here is the reason for each.

    HOLES[rule][reason] = names

`no jvp` says: differentiating it is an error. (A derivative that is zero is a rule that gives
None.) `no transpose` says: it is linear in no argument, so no jvp rule may apply it to a tangent.
A new primitive that lacks a rule is entered here, under a reason that is there or a new one.
"""

HOLES: dict[str, dict[str, str]] = {
    "evaluate": {
        "made by the compiler when it lowers a program: nothing else ever sees it": "block_call",
        "runs any program of scalars: XLA only": "reduce reduce_window",
        "is about devices: XLA, or a transfer": "sharding_constraint",
        "runs native code, which XLA calls": "ffi_call",
        "NumPy has no such function of LAPACK's: XLA calls it": (
            "eig geqp3 geqrf hessenberg householder_product ormqr schur tridiagonal "
            "tridiagonal_solve"
        ),
        "runs StableHLO, of which nothing else is known": "call_exported",
        "calls Python at once, not among kernels: see `HostCall`": "pure_callback io_callback",
        "raises where it is known that it fails: see `check_p`": "check",
        "is between the elements of an axis: vmap turns it into other operations": (
            "all_gather all_to_all axis_index pmax pmin ppermute psum psum_scatter psum_shared "
            "share"
        ),
    },
    "jvp": {
        "made by the compiler when it lowers a program: nothing else ever sees it": "block_call",
        "a custom rule says it, which holds at singular matrices too": (
            "factored_det factored_slogdet"
        ),
        "its operand is always boolean or an integer": "reduce_and reduce_or reduce_xor",
        "makes numbers from none": "iota",
        "runs native code, of which nothing is known": "ffi_call",
        "its derivative is another exported program: see `Exported.vjp`": "call_exported",
        "a step between neighbouring floats has no derivative": "nextafter",
        "LAPACK's inner form, of which reflectors are made as rounding will": (
            "geqp3 geqrf hessenberg householder_product ormqr tridiagonal"
        ),
        "which of many such forms comes out isn't known": "schur",
        "its result is an integer": "lu_pivots_to_permutation",
        "is a derivative already, and the second one has no known formula": "random_gamma_grad",
    },
    "transpose": {
        "made by the compiler when it lowers a program: nothing else ever sees it": "block_call",
        "its result is boolean": (
            "eq ne lt le gt ge eq_to lt_to le_to is_finite reduce_and reduce_or"
        ),
        "its result is an integer": (
            "argmax argmin clz lu_pivots_to_permutation population_count reduce_xor window_place"
        ),
        "works on bits": (
            "and or xor not shift_left shift_right_arithmetic shift_right_logical "
            "bitcast_convert_type threefry2x32 random_bits random_wrap random_unwrap "
            "rng_bit_generator random_use random_clone"
        ),
        "piecewise constant": "sign floor ceil round nextafter gammasgn",
        "not linear; its jvp multiplies the tangent by a known value": (
            "abs acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt cos cosh "
            "digamma erf erf_inv erfc exp exp2 expm1 igamma igamma_grad_a igammac integer_pow "
            "lgamma log log10 log1p log2 logaddexp logistic polygamma pow random_gamma_grad "
            "regularized_incomplete_beta rem rsqrt sin sinh softplus sqrt square tan tanh zeta "
            "bessel_i0 bessel_i1 beta betaln boxcox boxcox1p entr erfcx gamma inverse_mills kl_div "
            "log_ndtr logit ndtr ndtri rel_entr xlog1py xlogy cosine_integral dawsn exp1 expi expn "
            "fresnel_cosine fresnel_sine hyp1f1 hyp2f1 owens_t poch sine_integral spence log1mexp "
            "hyperbola squareplus trigamma gelu_by_tanh"
        ),
        "chooses; its jvp selects from the tangent": (
            "clamp max min cummax cummin reduce_max reduce_min reduce_window_max "
            "reduce_window_min relu scatter_max scatter_min sort top_k pmax pmin"
        ),
        "not linear; its jvp is made of scans and products": "cumprod cumlogsumexp reduce_prod",
        "differentiation stops here": "stop_gradient",
        "not linear; its jvp combines elements pairwise": "reduce reduce_window",
        "runs Python code, of which nothing is known": "pure_callback io_callback",
        "runs native code, of which nothing is known": "ffi_call",
        "its derivative is another exported program: see `Exported.vjp`": "call_exported",
        "not linear; its jvp solves for the tangent, or multiplies it": (
            "cholesky eig eigh factored_inverse geqp3 geqrf hessenberg householder_product lu "
            "ormqr qr schur svd tridiagonal"
        ),
        "its derivative is a custom rule, which never applies it to a tangent": (
            "factored_det factored_slogdet"
        ),
        "has no operand": "iota axis_index",
        "has no result": "check",
        "its rules replace it before anything is transposed: a linear program is left": (
            "custom_vjp_call"
        ),
    },
    "inner_runs": {
        "only its transpose is known, so it never runs": "custom_pullback",
    },
    "partial_eval": {
        "the number of steps isn't known: nothing of them can be stacked": "while_loop",
        "its derivative rule is that of the whole function: no part has one": (
            "custom_jvp_call custom_vjp_call linear_solve"
        ),
        "its batching rule is that of the whole function: no part has one": "custom_vmap_call",
        "is linear: it is nothing that is computed again": "custom_pullback",
    },
    "vary": {
        "its rules replace it before anything is compiled": "custom_pullback",
    },
    "keep_uniform": {
        "its rules replace it before anything is compiled": "custom_pullback",
    },
    "live_equation": {
        "its derivative or batching rule is about the whole function": (
            "custom_jvp_call custom_vjp_call custom_vmap_call"
        ),
        "solves for all its unknowns together": "linear_solve",
        "its rules replace it before anything is compiled": "custom_pullback",
    },
    "follow_keys": {
        "each device has keys of its own, which aren't followed": "shard_map",
        "only its transpose is known, so it never runs": "custom_pullback",
    },
    "batch": {
        "made by the compiler when it lowers a program: nothing else ever sees it": "block_call",
        "has no operand that could be batched": "iota axis_index",
        "runs StableHLO, of which nothing else is known": "call_exported",
    },
}


def reasons(rule: str) -> dict[str, str]:
    """The reason for each primitive that lacks this rule, by name."""
    return {name: reason for reason, names in HOLES.get(rule, {}).items() for name in names.split()}
