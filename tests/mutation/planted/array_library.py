"""Bugs in linear algebra, neural networks, images, SciPy's functions, and what came with them."""

from planted.record import Mutant

LAX = "tests/lax/linalg"
NUMPY = "tests/numpy/linalg"
SCIPY = "tests/scipy"
STATS = "tests/scipy/stats"
PORTABLE = "tests/primitives/portable/test_decompositions.py"
CHANGES = f"{LAX}/test_derivatives.py -k those_of_the_oracle"

MUTANTS = (
    # --- decompositions and solvers ---
    Mutant(
        "L01", "derivative of cholesky: all of the diagonal", "primitives/linalg/cholesky.py",
        "full(scalar, 0.5)",
        "full(scalar, 1.0)",
        CHANGES,
    ),
    Mutant(
        "L02", "the transpose of a solution solves the same", "primitives/linalg/lu_solve.py",
        "ct, transposed=not transposed)",
        "ct, transposed=transposed)",
        f"{NUMPY}/test_derivatives.py -k both_modes",
    ),
    Mutant(
        "L03", "three diagonals: the transpose has them where they were",
        "primitives/linalg/tridiagonal.py",
        "lower, upper = shift_rows(du, 1, 1), shift_rows(dl, -1, 1)",
        "lower, upper = shift_rows(dl, 1, 1), shift_rows(du, -1, 1)",
        f"{LAX}/test_derivatives.py",
    ),
    Mutant(
        "L04", "three diagonals without LAPACK: pivots stay zero",
        "primitives/linalg/tridiagonal.py",
        "out=[out], perturb_singular=perturb_singular)[0]",
        "out=[out], perturb_singular=False)[0]",
        f"{LAX}/test_decompositions.py -k test_singular_systems",
    ),
    Mutant(
        "L05", "triangular_solve: conjugated only with the transpose",
        "primitives/linalg/triangular_solve.py",
        "    if conjugate_a:\n        a = np.conjugate(a)",
        "    if conjugate_a and transpose_a:\n        a = np.conjugate(a)",
        f"{LAX}/test_solving.py -k test_triangular_solve",
    ),
    Mutant(
        "L06", "triangular_solve: a unit diagonal has a derivative",
        "primitives/linalg/triangular_solve.py",
        'f"strictly {part}" if params["unit_diagonal"] else part',
        "part",
        f"{LAX}/test_derivatives.py",
    ),
    Mutant(
        "L07", "derivative of qr: the imaginary diagonal twice", "primitives/linalg/qr.py",
        "full(x.aval.update(shape=(), weak_type=False), 0.5)",
        "full(x.aval.update(shape=(), weak_type=False), 1.0)",
        f"{LAX}/test_derivatives.py -k phases_are_kept",
    ),
    Mutant(
        "L08", "qr with pivoting on the host: no conjugate", "primitives/linalg/qr.py",
        "direction.conj() @ remainder[:, i + 1 :]",
        "direction @ remainder[:, i + 1 :]",
        f"{LAX}/test_decompositions.py -k on_the_host",
    ),
    Mutant(
        "L09", "derivative of svd: completing vectors turn the wrong way",
        "primitives/linalg/svd.py",
        "neg(product_of(leading_columns, adjoint(rotation)))",
        "product_of(leading_columns, adjoint(rotation))",
        f"{LAX}/test_derivatives.py",
    ),
    Mutant(
        "L10", "derivative of left eigenvectors: eigenvalues not conjugated",
        "primitives/linalg/eig.py",
        "eigenvectors_tangent(adjoint(dx), conjugate(w), out[1])",
        "eigenvectors_tangent(adjoint(dx), w, out[1])",
        CHANGES,
    ),
    Mutant(
        "L11", "permutations of pivots: an exchange loses a row",
        "primitives/linalg/lu.py",
        "replace_elements(permutations, targets, elements)",
        "replace_elements(permutations, targets, target_elements)",
        f"{LAX}/test_solving.py -k permutations",
    ),
    Mutant(
        "L12", "svd without LAPACK: a phase is lost", "primitives/portable/svd.py",
        "    rotation_row = [reshape(y, shape=(stack, 1, half)) for y in (c, s, "
        "conjugate(phase))]\n    x1, x2",
        "    rotation_row = [reshape(y, shape=(stack, 1, half)) for y in (c, s, phase)]\n    x1, "
        "x2",
        f"{PORTABLE} -k singular_values",
    ),
    Mutant(
        "L13", "eigh without LAPACK: as large as it was scaled to", "primitives/portable/eigh.py",
        "w = slice_along(w, 1, 0, n) * reshape(factor, shape=(factor.shape[0], 1))",
        "w = slice_along(w, 1, 0, n)",
        f"{PORTABLE} -k eigenvalues",
    ),
    Mutant(
        "L14", "schur without LAPACK: no other shift after ten steps",
        "primitives/portable/schur.py",
        "select(count % 10 == 9, as_dtype(abs_(c), h.dtype), nearer_root)",
        "nearer_root",
        f"{PORTABLE} -k schur",
    ),
    Mutant(
        "L15", "qr without LAPACK: reflections of one joint factor",
        "primitives/portable/qr.py",
        "matmul(adjoint(_joint_factor(v, tau)), matmul(adjoint(v), right))",
        "matmul(_joint_factor(v, tau), matmul(adjoint(v), right))",
        f"{PORTABLE} -k test_qr",
    ),
    Mutant(
        "L16", "cholesky_update reads below the diagonal", "lax/linalg/cholesky.py",
        '(part_of(r, "upper"), positions)',
        "(r, positions)",
        f"{LAX}/test_solving.py -k cholesky_update",
    ),
    Mutant(
        "L17", "symmetric_product: the diagonal twice", "lax/linalg/cholesky.py",
        'matrix_transpose(part_of(result, "strictly lower"))',
        'matrix_transpose(part_of(result, "lower"))',
        f"{LAX}/test_solving.py -k symmetric_product",
    ),
    Mutant(
        "L18", "16-bit matrices: all results narrow, pivots too", "lax/linalg/operands.py",
        "convert_element_type(x, dtype=dtype) if x.dtype == dtypes.float32 else x for x in results",
        "convert_element_type(x, dtype=dtype) for x in results",
        f"{LAX}/test_decompositions.py -k 16_bit",
    ),
    # --- numpy.linalg ---
    Mutant(
        "L19", "negative norms of infinite vectors", "numpy/linalg/norms.py",
        "literal(0.0 if power > 0 else np.inf, dtype)",
        "literal(0.0, dtype)",
        f"{NUMPY}/test_arguments.py -k infinite",
    ),
    Mutant(
        "L20", "cond: NaN counts as singular", "numpy/linalg/norms.py",
        "singular = has_no_nan & ne(ratio, ratio)",
        "singular = ne(ratio, ratio)",
        f"{NUMPY}/test_arguments.py -k nan_stays",
    ),
    Mutant(
        "L21", "derivative of pinv: as if it had full rank", "numpy/linalg/solvers.py",
        "return p, left_term + right_term - inverse_term",
        "return p, left_term - inverse_term",
        f"{NUMPY}/test_derivatives.py -k both_modes",
    ),
    Mutant(
        "L22", "rank of Hermitian matrices: positive eigenvalues", "numpy/linalg/norms.py",
        "arithmetic.abs_(lax_linalg.eigh(x)[1]) if hermitian",
        "lax_linalg.eigh(x)[1] if hermitian",
        f"{NUMPY}/test_agreement_with_numpy.py -k at_once",
    ),
    Mutant(
        "L23", "lstsq: residuals of square systems", "numpy/linalg/solvers.py",
        "numpy_resid and (m <= n or int(rank) < n)",
        "numpy_resid and int(rank) < n",
        f"{NUMPY}/test_arguments.py -k residuals",
    ),
    Mutant(
        "L24", "roots: one NaN too few", "numpy/polynomials.py",
        "from_numpy(np.arange(n)) < n - leading_zeros",
        "from_numpy(np.arange(n)) <= n - leading_zeros",
        "tests/numpy/test_polynomials.py -k roots",
    ),
    Mutant(
        "L25", "polyfit: rcond without the number of points", "numpy/polynomials.py",
        "rcond = m * float(",
        "rcond = float(",
        "tests/numpy/test_polynomials.py -k polyfit",
    ),
    Mutant(
        "L26", "poly of a real matrix stays complex", "numpy/polynomials.py",
        "result.real if x.ndim == 2 and is_real else result",
        "result.real if x.ndim == 2 and not roots.size else result",
        "tests/numpy/test_polynomials.py -k test_poly",
    ),
    # --- plans, tiers, ufuncs ---
    Mutant(
        "L27", "plans: options by name only", "numpy/plans.py",
        "key = key, *options, *map(exact, options.values())",
        "key = key, *options",
        f"{NUMPY}/test_agreement_with_numpy.py -k at_once",
    ),
    Mutant(
        "L28", "plans: NumPy's kernel instead, whatever the tier", "numpy/plans.py",
        "if evaluate is not None and numpy_may_compute():",
        "if evaluate is not None:",
        "tests/numpy/test_plans.py",
    ),
    Mutant(
        "L29", "NumPy may compute though XLA is asked for", "interpreters/eager_tiers.py",
        'return bool(tier == "host")',
        "return True",
        "tests/interpreters/test_tiers.py -k switch",
    ),
    Mutant(
        "L30", "ufunc.reduce with `where` begins with an element", "numpy/ufuncs.py",
        "if start is None and (where is not None or not count):",
        "if start is None and not count:",
        "tests/numpy/test_ufuncs.py",
    ),
    Mutant(
        "L31", "ufunc.accumulate: sums in a dtype of their own", "numpy/ufuncs.py",
        "(x, axis=axis, dtype=dtype)",
        "(x, axis=axis)",
        "tests/numpy/test_ufuncs.py",
    ),
    # --- nn, image ---
    Mutant(
        "L32", "squareplus overflows", "primitives/activations.py",
        "is_large = m.abs(x) > 2.0 ** (exponent - 6)",
        "is_large = m.abs(x) > math.inf",
        "tests/primitives/test_large_and_edges.py -k slopes",
    ),
    Mutant(
        "L33", "hard_tanh: no slope at its bounds", "nn/activations.py",
        "comparison.le(arithmetic.abs_(x), like(x, 1))",
        "comparison.lt(arithmetic.abs_(x), like(x, 1))",
        "tests/nn/test_activations.py -k pieces_meet",
    ),
    Mutant(
        "L34", "gelu: the cubic overflows far out", "primitives/activations.py",
        "clipped = clamp(like(x, -_CLIP_LIMIT), x, like(x, _CLIP_LIMIT))",
        "clipped = x",
        "tests/nn/test_activations.py -k 'far_out or narrow'",
    ),
    Mutant(
        "L35", "softmax: 0 / 0 where the mask leaves nothing", "nn/softmax.py",
        "empty_count = where_(counts == zero, like(x, 1), zero)",
        "empty_count = zero",
        "tests/nn/test_normalization.py -k masks",
    ),
    Mutant(
        "L36", "standardize with a given mean, fast: half of the change", "nn/normalization.py",
        "variance = variance + 2 * mean * average(centred)",
        "variance = variance + mean * average(centred)",
        "tests/nn/test_normalization.py -k what_is_known",
    ),
    Mutant(
        "L37", "logmeanexp: elements are counted in float16", "nn/softmax.py",
        "v = cast(v, wide_of(dtype), v.aval.weak_type)  # a count",
        "v = cast(v, dtype, v.aval.weak_type)  # a count",
        "tests/nn/test_normalization.py -k narrow",
    ),
    Mutant(
        "L38", "long causal attention: a block of one query is left out", "nn/attention_masks.py",
        "conditions.append(comparison.le(block.column, last_row))",
        "conditions.append(comparison.lt(block.column, last_row))",
        "tests/nn/test_attention.py -k test_values",
    ),
    Mutant(
        "L39", "attention: of the last block padding counts", "nn/attention_masks.py",
        "if masking.keys % block.columns:",
        "if not masking.extras and masking.keys % block.columns:",
        "tests/nn/test_attention.py -k test_values",
    ),
    Mutant(
        "L40", "delta_orthogonal: the other middle of an even window", "nn/initializers.py",
        "(n - 1) // 2 for n in shape[:-2]",
        "n // 2 for n in shape[:-2]",
        "tests/nn/test_initializers.py -k orthogonal_values",
    ),
    Mutant(
        "L41", "one_hot of int8: classes wrap around", "nn/one_hot.py",
        "if v.dtype.itemsize < 4:",
        "if v.dtype.itemsize < 1:",
        "tests/nn/test_one_hot.py",
    ),
    Mutant(
        "L42", "scaled_matmul: float64 computed in float32", "nn/scaled_products.py",
        "dtypes.float64 if dtype == dtypes.float64 else dtypes.float32",
        "dtypes.float32",
        "tests/nn/test_scaled_products.py -k float64",
    ),
    Mutant(
        "L43", "images: pixels far outside of the image", "image/resize.py",
        "inside = (centre >= -0.5) & (centre <= n - 0.5)",
        "inside = (centre >= -1.0) & (centre <= n)",
        "tests/image/test_resize.py -k axes",
    ),
    # --- windows, groups ---
    Mutant(
        "L44", "selection with its operands exchanged is taken for that without",
        "lax/select_windows.py",
        " and [*e.inputs] == [*jaxpr.invars]:",
        ":",
        "tests/lax/test_select_windows.py",
    ),
    Mutant(
        "L45", "ragged groups: batch axes in another order", "lax/ragged_products.py",
        "axis_order = sorted(range(len(outer_axes)), key=lambda i: outer_axes[i])",
        "axis_order = list(range(len(outer_axes)))",
        "tests/lax/test_ragged_products.py -k any_order",
    ),
    # --- random, keys ---
    Mutant(
        "L46", "binomial: Stirling's series with another first term", "random/binomial.py",
        "series = (1.0 / 12.0 - ",
        "series = (1.0 / 6.0 - ",
        "tests/random/test_samplers.py -k stirling",
    ),
    Mutant(
        "L47", "binomial: failures of a fraction of a trial", "random/binomial.py",
        "where(is_below_half, count, trials - count)",
        "where(is_below_half, count, n - count)",
        "tests/random/test_samplers.py -k counts",
    ),
    Mutant(
        "L48", "unsafe_rbg: fold_in takes the first of its keys", "random/generators.py",
        "start=(_KEY_STRIDE - 1, 0), limit=(_KEY_STRIDE, 4)",
        "start=(0, 0), limit=(1, 4)",
        "tests/random/test_generators.py -k folded",
    ),
    Mutant(
        "L49", "multivariate_normal by svd: squares of the deviations", "random/normal.py",
        "        vectors, squares, _ = linalg.svd(cov)",
        "        vectors, squares, _ = linalg.svd(cov)\n        squares = squares * squares",
        "tests/random/test_samplers.py -k covariance",
    ),
    Mutant(
        "L50", "philox in a program: no carry into the upper half", "primitives/bit_generators.py",
        "(key, block.convert(wrapped, _UINT64)), counters_aval)",
        "(key, block.full(0, counters_aval)), counters_aval)",
        "tests/random/test_generators.py -k xlas",
    ),
    Mutant(
        "L51", "uses of keys: only those of the last branch", "interpreters/debugging/key_uses.py",
        "after = [m.used or a for m, a in zip(marks, after, strict=True)]",
        "after = [m.used for m, a in zip(marks, after, strict=True)]",
        "tests/interpreters/test_key_uses.py -k second_use",
    ),
    # --- profiler ---
    Mutant(
        "L52", "steps of training are plain events", "profiler/events.py",
        "super().__init__(name, _r=1, **kwargs)",
        "super().__init__(name, **kwargs)",
        "tests/profiler/test_tracing.py -k events",
    ),
    Mutant(
        "L53", "annotate_function: values are dropped", "profiler/events.py",
        "with TraceAnnotation(shown, **decorator_kwargs):",
        "with TraceAnnotation(shown):",
        "tests/profiler/test_tracing.py -k events",
    ),
    # --- SciPy ---
    Mutant(
        "L54", "expm: max_squarings squarings, and no NaN", "scipy/linalg/expm.py",
        "is_invalid = (remaining > max_squarings) | ~np.isfinite(norm)",
        "is_invalid = ~np.isfinite(norm)",
        f"{SCIPY}/test_linalg.py -k has_no_result",
    ),
    Mutant(
        "L55", "cho_solve: the transpose for the adjoint", "scipy/linalg/cholesky.py",
        "(0, 2) if lower else (2, 0)",
        "(0, 1) if lower else (1, 0)",
        f"{SCIPY}/test_linalg.py -k 'test_values and not compiled'",
    ),
    Mutant(
        "L56", "sqrtm: matrices without a root", "scipy/linalg/matrix_functions.py",
        "is_invalid = is_zero & (_size(diagonal) > threshold)",
        "is_invalid = ~is_zero & (_size(diagonal) > threshold)",
        f"{SCIPY}/test_linalg.py -k has_no_result",
    ),
    Mutant(
        "L57", "gmres: rotations of complex systems", "scipy/sparse/gmres.py",
        ".at[i + 1].set(-np.conj(s) * a + c * b)",
        ".at[i + 1].set(-s * a + c * b)",
        f"{SCIPY}/sparse/test_linalg.py -k directions",
    ),
    Mutant(
        "L58", "cg: atol is ignored", "scipy/sparse/krylov.py",
        "return np.maximum(np.square(tol) * square(b), np.square(atol))",
        "return np.square(tol) * square(b)",
        f"{SCIPY}/sparse/test_linalg.py -k limits",
    ),
    Mutant(
        "L59", "cg: complex Hermitian systems are their own transposes", "scipy/sparse/linalg.py",
        "symmetric=symmetric and real\n",
        "symmetric=symmetric\n",
        f"{SCIPY}/sparse/test_linalg.py -k solutions",
    ),
    Mutant(
        "L60", "splines: no edge of constants before the filter", "scipy/ndimage/interpolation.py",
        'if kind in ("nearest", "constant"):',
        'if kind == "nearest":',
        f"{SCIPY}/test_interpolation.py -k far_outside",
    ),
    Mutant(
        "L61", "l-bfgs: maxgrad in place of maxfun", "scipy/optimize/minimize.py",
        'min(all_options["maxfun"], all_options.pop("maxgrad"))',
        'all_options.pop("maxgrad")',
        f"{SCIPY}/optimize/test_minimisation.py -k options",
    ),
    Mutant(
        "L62", "l-bfgs: tol is no tolerance of values", "scipy/optimize/minimize.py",
        'for k in ("gtol", "ftol") if k in defaults',
        'for k in ("gtol",) if k in defaults',
        f"{SCIPY}/optimize/test_minimisation.py -k options",
    ),
    Mutant(
        "L63", "grids: the last coordinate is outside", "scipy/interpolate/regular_grid.py",
        "(x > coordinates[-1])",
        "(x >= coordinates[-1])",
        f"{SCIPY}/test_interpolation.py -k grids",
    ),
    Mutant(
        "L64", "convolution of even kernels: the other middle", "scipy/signal/convolution.py",
        "[(m // 2, (m - 1) // 2) for m in kernel]",
        "[((m - 1) // 2, m // 2) for m in kernel]",
        f"{SCIPY}/test_signal.py -k number_of_axes",
    ),
    Mutant(
        "L65", "logsumexp: infinite elements of weight 0", "numpy/special.py",
        "mask = has_weight if mask is None else mask & has_weight",
        "mask = mask if mask is None else mask & has_weight",
        f"{SCIPY}/test_special.py -k logsumexp",
    ),
    Mutant(
        "L66", "spherical harmonics: the sign of negative orders",
        "scipy/special/spherical_harmonics.py",
        "(m < 0) & (magnitude % 2 == 1)",
        "(m > 0) & (magnitude % 2 == 1)",
        f"{SCIPY}/test_special.py -k harmonics",
    ),
    Mutant(
        "L67", "comb: no way to take nothing of nothing", "scipy/special/combinatorics.py",
        "total = selection.select_n(is_empty, total, zero)",
        "total = selection.select_n(is_empty, total, total)",
        f"{SCIPY}/test_special.py -k factorials",
    ),
    Mutant(
        "L68", "sem: NaNs counted though left out", "scipy/stats/summary_statistics.py",
        "count = np.sum(~np.isnan(x), -1)",
        "count = np.sum(np.ones_like(x), -1)",
        f"{STATS}/test_samples.py -k standard_errors",
    ),
    Mutant(
        "L69", "gaussian_kde: Silverman's factor without dimensions",
        "scipy/stats/kernel_density.py",
        "(self.neff * (self.d + 2) / 4.0)",
        "(self.neff * 3 / 4.0)",
        f"{STATS}/test_samples.py -k densit",
    ),
    Mutant(
        "L70", "singular normal vectors: points beside the support",
        "scipy/stats/multivariate_normal.py",
        "log = np.where(distance > smallest_value[..., 0] * 1e3, -math.inf, log)",
        "log = np.where(distance < 0, -math.inf, log)",
        f"{STATS}/test_vectors.py -k normal",
    ),
    Mutant(
        "L71", "quantiles: upper ones begin at the lower end", "scipy/stats/probabilities.py",
        "root = np.where(q == 0, ends[of_upper], np.where(q == 1, ends[1 - of_upper], root))",
        "root = np.where(q == 0, ends[0], np.where(q == 1, ends[1], root))",
        f"{STATS}/test_distributions.py -k quantiles_of_nothing",
    ),
    Mutant(
        "L72", "rotation vectors in degrees", "scipy/spatial/transform/rotation.py",
        "in_degrees(q.to_vector(self.quat), degrees)",
        "in_degrees(q.to_vector(self.quat), False)",
        f"{SCIPY}/test_transform.py -k 'forms or vectors'",
    ),
    Mutant(
        "L73", "real schur without LAPACK: a pair's diagonal isn't even",
        "primitives/portable/real_schur.py",
        "sine = (p / (length * cosine))",
        "sine = (-p / (length * cosine))",
        f"{PORTABLE} -k real_schur",
    ),
    Mutant(
        "L74", "block scales: the largest element is beyond the last binade",
        "nn/scaled_products.py",
        "- int(np.frexp(largest_number)[1])",
        "- int(np.frexp(largest_number)[1]) + 1",
        "tests/nn/test_scaled_products.py -k block",
    ),
)  # fmt: skip
