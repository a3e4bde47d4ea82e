"""Bugs in interpreters, higher-order primitives, transformations, the compiler, and sharding."""

from planted.record import Mutant

SWITCHES = "tests/interpreters/test_switches_and_effects.py"
WIRING = "tests/compiler/test_outlined_wiring.py"
KEYS = "tests/transforms/jit/test_keys_and_donation.py"
REPEATED = "tests/transforms/devices/test_repeated_calls.py"
SHARDING = "tests/test_sharding.py"
SEGMENTS = "tests/compiler/test_segments.py"

MUTANTS = (
    # --- interpreters ---
    Mutant(
        "I01", "the derivative of an operation is kept without the mask",
        "interpreters/derivative.py",
        "signature = (params, mask, *avals)",
        "signature = (params, *avals)",
        f"{KEYS} -k differentiated",
    ),
    Mutant(
        "I02", "plans kept when switches change", "interpreters/plans.py",
        " or plan.state is not thread.switches:\n                plan = self.planned()",
        ":\n                plan = self.planned()",
        f"{SWITCHES} -k linear_map",
    ),
    Mutant(
        "I04", "linearize: a node is left out if any of its tangents is zero",
        "interpreters/linearize.py",
        "if False not in missing:",
        "if True in missing:",
        "tests/interpreters/test_linearize.py",
        equivalent="tangents come as arrays, zeros among them, and so do those of every node: "
        "none is None",
    ),
    Mutant(
        "I07", "transposition: effects without a cotangent are no error",
        "interpreters/transpose.py",
        "            if primitive.effects is not None and primitive.effects.acts:\n"
        "                raise no_tangents(e.params)\n"
        "            continue\n",
        "            continue\n",
        f"{SWITCHES} -k callback",
    ),
    Mutant(
        "I08", "vmap: the last of equal elements stands for all", "interpreters/batch.py",
        "one = slice_(x, start=(0,) * n, limit=(1, *shape), strides=(1,) * n)",
        "one = slice_(x, start=(x.aval.shape[0] - 1,) + (0,) * (n - 1), "
        "limit=(x.aval.shape[0], *shape), strides=(1,) * n)",
        "tests/higher_order/test_stacked.py tests/transforms/test_vmap.py",
        equivalent="the elements are the same wherever the result is used; a map over devices "
        "that says so falsely (check_vma=False) comes here under debug_nans only, which looks "
        "for NaNs and returns nothing of it",
    ),
    # --- higher-order primitives ---
    Mutant(
        "H06", "while: dependence through the condition", "higher_order/while_loop.py",
        "if not inexact and any(depends(params.cond_jaxpr, (*consts, *carry))):",
        "if False:",
        f"{SWITCHES} -k linear",
    ),
    Mutant(
        "H08", "a sum in groups is taken for the same on all devices", "programs/uniformity.py",
        'equal = collective.equal_results and params["groups"] is None',
        "equal = collective.equal_results",
        f"{REPEATED} -k groups",
    ),
    Mutant(
        "H09", "equal programs of different lines are one", "programs/hash_consing.py",
        "equations.append((e.primitive, e.params, e.source, *map(atom, e.inputs)))",
        "equations.append((e.primitive, e.params, *map(atom, e.inputs)))",
        f"{SWITCHES} -k nan",
    ),
    Mutant(
        "H11", "elements with effects: the last comes first", "higher_order/scan.py",
        "length=size, reverse=False, unroll=1",
        "length=size, reverse=True, unroll=1",
        "tests/higher_order/test_in_turn.py",
    ),
    Mutant(
        "H16", "a map as one program: another axis is brought to the front",
        "programs/shard_map_as_vmap.py",
        "at = len(index)",
        "at = 0",
        "tests/higher_order/test_stacked.py",
    ),
    # --- transformations ---
    Mutant(
        "T02", "an array passed twice is donated", "transforms/jit/donation.py",
        "    if len({*map(id, leaves)}) < len(leaves):\n",
        "    if len(leaves) < 0:\n",
        f"{REPEATED} -k twice",
    ),
    Mutant(
        "T03", "several devices: the caller's memory is used", "compiler/placing.py",
        "sharded_buffer(host if large or host is not x else x.copy(), to, alias=not large)",
        "sharded_buffer(host, to, alias=not large)",
        f"{REPEATED} -k written",
    ),
    Mutant(
        "T06", "static names inferred for positional-only parameters", "transforms/arguments.py",
        "0 <= n < len(positional) and positional[n] in by_keyword",
        "0 <= n < len(positional)",
        f"{KEYS} -k positional_only",
    ),
    # --- compiler and sharding ---
    Mutant(
        "C02", "disk cache: a file of another user is trusted", "compiler/disk_cache.py",
        "if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():",
        "if not stat.S_ISREG(status.st_mode):",
        "tests/compiler/test_disk_cache.py -k another_user",
    ),
    Mutant(
        "C03", "outlining: blocks wired differently are one", "compiler/outline.py",
        "return within.tobytes(), [",
        "return len(within), [",
        WIRING,
    ),
    Mutant(
        "C04", "outlining: results that only some blocks lend", "compiler/outline.py",
        "needed[kind] = needed[kind] | used if kind in needed else used",
        "needed[kind] = used",
        WIRING,
    ),
    Mutant(
        "C80", "segments: a result that the last segments read is dropped", "compiler/segments.py",
        "outs = [v for v in made if last_use.get(v, -1) > i]",
        "outs = [v for v in made if last_use.get(v, -1) == i + 1]",
        SEGMENTS,
    ),
    Mutant(
        "C81", "segments: the results of a block in another order", "compiler/segments.py",
        "results[output.index] = number.setdefault(v, len(number))",
        "results[-1 - output.index] = number.setdefault(v, len(number))",
        SEGMENTS,
    ),
    Mutant(
        "C82", "segments: an argument is overwritten by the first segment", "compiler/segments.py",
        "if i == len(parts) - 1:",
        "if True:",
        SEGMENTS,
    ),
    Mutant(
        "C83", "outlining: the equations between runs are not searched", "compiler/outline.py",
        "if longest and run.start - begin >= MIN_EQUATIONS:",
        "if False:",
        "tests/compiler/test_outline.py",
    ),
    Mutant(
        "C84", "outlining: a sum that leaves the block makes it a function", "compiler/outline.py",
        "is_reduction = e.primitive in REDUCTIONS and reads[out]",
        "is_reduction = e.primitive in REDUCTIONS",
        "tests/compiler/test_outline.py",
    ),
    Mutant(
        "C85", "outlining: runs of equations that have changed", "compiler/outline.py",
        "if not values:  # no numbers differ between the blocks",
        "if True:",
        "tests/compiler/test_constant_pool.py",
    ),
    Mutant(
        "C86", "avals: a signal handler waits for its own thread", "core/aval.py",
        "_lock = threading.RLock()",
        "_lock = threading.Lock()",
        "tests/structure/test_loops.py -k reentrant",
    ),
    Mutant(
        "C87", "eager products: contracted axes in the order of one operand only",
        "interpreters/matrix_products.py",
        "contracted = tuple(i for i, _ in pairs), tuple(j for _, j in pairs)",
        "contracted = tuple(i for i, _ in pairs), tuple(sorted(cy))",
        "tests/interpreters/test_matrix_products.py",
    ),
    Mutant(
        "C88", "eager products: each is compiled with its transpositions", "interpreters/plans.py",
        "None if fast else matrix_product(primitive, params, avals)",
        "None",
        "tests/interpreters/test_matrix_products.py",
    ),
    Mutant(
        "C08", "donated index where inputs are dropped", "compiler/lowered.py",
        "self.donated = [n for n, i in enumerate(self.live) if i in set(donated)]",
        "self.donated = [i for i in self.live if i in set(donated)]",
        f"{KEYS} -k unused",
    ),
    Mutant(
        "C10", "a result's spec: axes of the mesh in another order", "compiler/layout.py",
        "yield (name, *later)",
        "yield (*later, name)",
        "tests/core/test_placements.py",
        equivalent="the reverse of every sequence is tried too, and the one that divides as the "
        "result is divided is taken: no two of them divide alike",
    ),
    Mutant(
        "S03", "P('x') and P('x', None) are different shardings", "sharding.py",
        "    while parts and parts[-1] == ():\n        parts.pop()\n",
        "",
        SHARDING,
    ),
    Mutant(
        "S04", "a mesh with a device twice", "sharding.py",
        "if len(set(array.flat)) != array.size:",
        "if False:",
        SHARDING,
    ),
    Mutant(
        "S05", "every sharding is addressable", "sharding.py",
        "return all(d.process_index == d.client.process_index for d in self.devices)",
        "return True",
        SHARDING,
    ),
)  # fmt: skip
