"""Bugs where only rare arguments go: in primitives, dtypes, sharding, the cache, namespaces."""

from planted.record import Mutant

EDGES = "tests/primitives/test_large_and_edges.py"
RARE = "tests/numpy/test_rare_branches.py"
BORDERS = "tests/random/test_borders.py"
SHARDING = "tests/test_sharding.py"
CACHE = "tests/compiler/test_disk_cache.py"

MUTANTS = (
    Mutant(
        "Q01", "long windows with gaps: their parts begin too early", "primitives/windows.py",
        "pieces.append(cut(x, axis, start * gap, n, 1))",
        "pieces.append(cut(x, axis, start, n, 1))",
        f"{EDGES} -k gaps",
    ),
    Mutant(
        "Q02", "sort by two keys: NaNs of the first are not alike", "primitives/sorting.py",
        'is_tie = logic("or", is_tie, logic("and", block.compare("NE", x, x, flag), y_nan))',
        "pass",
        f"{EDGES} -k second",
    ),
    Mutant(
        "Q03", "shift of four bits by four", "primitives/bitwise.py",
        "np.where(y >= bits, 0, x << y)",
        "np.where(y > bits, 0, x << y)",
        "tests/laws/test_values.py -k shift_left",
        equivalent="what is shifted by four or more has no bit left among the lowest four",
    ),
    Mutant(
        "Q05", "start indices of two dtypes", "primitives/dynamic_slicing.py",
        "if len({s.aval.dtype for s in widened_starts}) > 1:",
        "if False:",
        f"{EDGES} -k two_dtypes",
    ),
    Mutant(
        "Q06", "large unsigned indices wrap around", "primitives/indexing.py",
        "if dtypes.is_unsigned(dtype) and dtypes.bit_width(dtype) >= dtypes.bit_width(wide_dtype):",
        "if False:",
        f"{EDGES} -k unsigned",
    ),
    Mutant(
        "Q07", "equivalent shardings: copies in another order differ", "sharding.py",
        "np.sort(devices[owners], axis=-1).tolist()",
        "devices[owners].tolist()",
        SHARDING,
    ),
    Mutant(
        "Q08", "a spec names an axis of the mesh twice", "sharding.py",
        "        if len(set(names)) != len(names):\n            raise ValueError(\n"
        '                f"NamedSharding',
        "        if False:\n            raise ValueError(\n"
        '                f"NamedSharding',
        SHARDING,
    ),
    Mutant(
        "Q09", "dtypes of the other byte order", "dtypes.py",
        '_NUMPY_DTYPES.get(own.newbyteorder("="))',
        "_NUMPY_DTYPES.get(own)",
        "tests/test_dtypes.py",
    ),
    Mutant(
        "Q10", "a truncated dtype: the warning points into weft", "dtypes.py",
        "stacklevel=levels_to_user(),",
        "stacklevel=2,",
        f"{RARE} -k truncated",
    ),
    Mutant(
        "Q11", "disk cache: a file that is being written is removed", "compiler/disk_cache.py",
        "if file.name.endswith(_TEMPORARY) and status.st_mtime < an_hour_ago:",
        "if file.name.endswith(_TEMPORARY):",
        CACHE,
    ),
    Mutant(
        "Q12", "disk cache: any entries go first", "compiler/disk_cache.py",
        "entries = sorted(_uses_and_sizes(folder))",
        "entries = sorted(_uses_and_sizes(folder), reverse=True)",
        CACHE,
    ),
    Mutant(
        "Q13", "random keys: as text they are their words only", "numpy/printing.py",
        "    if is_extended(x.dtype):\n        return array_repr(array)\n",
        "    if is_extended(x.dtype):\n        return _words(array)\n",
        "tests/random/test_typed_keys.py -k printed",
    ),
    Mutant(
        "Q14", "permutation: sorted too few times", "random/permutation.py",
        "math.ceil(3 * math.log(max(1, x.size))",
        "math.ceil(2 * math.log(max(1, x.size))",
        f"{BORDERS} -k permutation",
    ),
    Mutant(
        "Q15", "a shape that parameters don't broadcast to", "random/arguments.py",
        "if np.broadcast_shapes(result_shape, *shapes) == result_shape:",
        "if np.broadcast_shapes(result_shape, *shapes) is not None:",
        f"{BORDERS} -k refused",
    ),
    Mutant(
        "Q16", "gumbel of the least uniform number", "random/continuous.py",
        "return -log(-log(_open_unit(key, shape, dtype)))",
        "return -log(-log(unit(key, shape=shape, dtype=dtype)))",
        f"{BORDERS} -k least",
    ),
    Mutant(
        "Q16b", "the mode high without fine digits", "random/uniform.py",
        "fine * literal(2.0 ** -int(dtypes.finfo(dtype).nmant), dtype)",
        "fine * literal(0.0, dtype)",
        "tests/random/test_distributions.py -k mode",
    ),
    Mutant(
        "Q17", "pad: odd symmetric reflection", "numpy/padding.py",
        'offset = 1 if mode == "reflect" else 0',
        "offset = 1",
        f"{RARE} -k pad",
    ),
    Mutant(
        "Q18", "pad: a wide odd reflection stops after one turn", "numpy/padding.py",
        "    while low > 0 or high > 0:",
        "    for _ in range(1):",
        f"{RARE} -k pad",
    ),
    Mutant(
        "Q19", "pad: a ramp of integers isn't rounded down", "numpy/padding.py",
        "ramp = ramp if is_exact else arithmetic.floor(ramp)",
        "ramp = ramp if is_exact else arithmetic.ceil(ramp)",
        f"{RARE} -k pad",
    ),
    Mutant(
        "Q20", "unique: complex NaNs are apart", "numpy/sets.py",
        "    if dtypes.is_complex(rows.dtype):  # NaN",
        "    if False:  # NaN",
        f"{RARE} -k unique",
    ),
    Mutant(
        "Q21", "unique under jit: the last of equal elements is found", "numpy/sets.py",
        "        creation.full(counts.aval, max(n - 1, 0))\n        .at[slot]\n        .min(",
        "        creation.full(counts.aval, 0)\n        .at[slot]\n        .max(",
        f"{RARE} -k unique",
    ),
    Mutant(
        "Q22", "apply_along_axis: results of several axes", "numpy/functional.py",
        "mapped = vmap(mapped, in_axes=-1, out_axes=-1)",
        "mapped = vmap(mapped, in_axes=-1, out_axes=0)",
        f"{RARE} -k apply_along",
    ),
    Mutant(
        "Q23", "nanmax of NaNs with an initial value", "numpy/nan_reductions.py",
        "if nans is None or initial is not None:",
        "if nans is None:",
        f"{RARE} -k initial",
    ),
    Mutant(
        "Q24", "polymul: a polynomial of zeros, trimmed", "numpy/polynomials.py",
        "    y = y if y.size else zeros(1, y.dtype)\n",
        "",
        f"{RARE} -k polymul",
    ),
    Mutant(
        "Q25", "cumsum: the sum of weak numbers is weak", "numpy/cumulative.py",
        "x = cast(x, out_dtype)",
        "x = cast(x, out_dtype, x.aval.weak_type)",
        "tests/numpy/test_reductions.py -k weak",
    ),
    Mutant(
        "Q26", "meshes of other shapes are equal", "sharding.py",
        "self._key = names, array.shape, self.device_tuple",
        "self._key = names, self.device_tuple",
        SHARDING,
    ),
    Mutant(
        "Q27", "locations: quotes in names", "stablehlo/attributes.py",
        """c.isprintable() and c not in '"\\\\'""",
        "c.isprintable()",
        "tests/transforms/test_naming.py",
    ),
    Mutant(
        "Q28", "keystr: the separator is left out", "tree_paths.py",
        "return separator.join(map(_bare if simple else str, keys))",
        'return "".join(map(_bare if simple else str, keys))',
        "tests/test_tree_util.py",
    ),
    Mutant(
        "Q29", "population count of negative four-bit numbers", "primitives/bitwise.py",
        "low = (x.astype(np.int8) & np.int8((1 << bits) - 1)).view(np.uint8)",
        "low = x.astype(np.int8).view(np.uint8)",
        f"{EDGES} -k bits",
    ),
    Mutant(
        "Q30", "a laplace sample of minus infinity", "random/continuous.py",
        "low = literal(-1.0 + float(dtypes.finfo(dtype).epsneg), dtype)",
        "low = literal(-1.0, dtype)",
        f"{BORDERS} -k least",
    ),
)  # fmt: skip
