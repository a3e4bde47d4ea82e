"""Bugs in derived programs, the states of switches, host programs, debugging, plans, arguments."""

from planted.record import Mutant

CONSING = "tests/programs/test_hash_consing.py"
SAVING = "tests/programs/test_partial_eval.py"
POLICIES = "tests/transforms/test_checkpoint_policies.py"
UNIFORM = "tests/programs/test_uniformity.py"
HOST = "tests/interpreters/test_plans.py"
NANS = "tests/transforms/test_debug_nans.py"
ARGUMENTS = "tests/transforms/test_arguments.py"
CALLS = "tests/transforms/jit/test_where_calls_run.py"
FFI = "tests/extend/test_ffi.py"
STATES = "tests/threads/test_switch_caches.py"
JAXPR = "tests/core/test_jaxpr.py"

MUTANTS = (
    # --- equal programs are one, derived results ---
    Mutant(
        "Q31", "hash consing: 0.0 and -0.0 are one number", "programs/hash_consing.py",
        "numbers[v] if isinstance(v, Var) else (v.aval, v.host().tobytes())",
        "numbers[v] if isinstance(v, Var) else (v.aval, v.host().item())",
        f"{CONSING} -k sign",
    ),
    Mutant(
        "Q32", "outside jit, numbers of one value are one input", "programs/hash_consing.py",
        "        key = v.aval, v.host().tobytes()\n",
        "        key = v.host().item()\n",
        f"{CONSING} -k sign",
    ),
    Mutant(
        "Q33", "hash consing: programs known longest go, in use or not", "programs/hash_consing.py",
        "                self.used.pop(first, None)\n",
        "",
        f"{CONSING} -k full_table",
    ),
    Mutant(
        "Q34", "a program lives as long as the earliest rule inside", "programs/hash_consing.py",
        "rules.number > latest.number",
        "rules.number < latest.number",
        f"{CONSING} -k two_rules",
    ),
    Mutant(
        "Q90", "what is derived of a choice is kept on its first branch", "core/primitive.py",
        "            return latest(first)\n",
        "            return first[0]\n",
        f"{CONSING} -k choices",
    ),
    Mutant(
        "Q91", "static arguments: 0.0 is -0.0", "core/caching.py",
        "return kind, repr(value)",
        "return kind, value",
        "tests/core/test_caching.py -k mean",
    ),
    Mutant(
        "Q92", "static arguments: items of tuples by value", "core/caching.py",
        "        return tuple([exact(x) for x in value])\n",
        "        return value\n",
        "tests/core/test_caching.py -k 'mean or types'",
    ),
    Mutant(
        "Q93", "no thread may import jax while jaxlib is refused it", "runtime/versions.py",
        "class _Refusal(threading.local):",
        "class _Refusal:",
        "tests/runtime/test_client.py -k another_thread",
    ),
    Mutant(
        "Q94", "spare CPU devices are seen", "runtime/client.py",
        "computing += local[:-SPARE] if",
        "computing += local[:] if",
        "tests/runtime/test_client.py -k asked_for",
    ),
    Mutant(
        "Q35", "derived results: the last of several threads wins", "core/caching.py",
        "return results.setdefault(args, result)",
        "return results.__setitem__(args, result) or result",
        "tests/core/test_caching.py -k threads",
    ),
    # --- partial evaluation ---
    Mutant(
        "Q36", "checkpoint: effects happen again", "programs/partial_eval.py",
        "save = acts or saves(e, policy)",
        "save = saves(e, policy)",
        f"{POLICIES} -k effect",
    ),
    Mutant(
        "Q37", "checkpoint: an inner one computes again what is saved", "programs/partial_eval.py",
        "return policy if value is None else Either(value, policy)",
        "return value",
        f"{SAVING} -k outer_policy",
    ),
    Mutant(
        "Q38", "checkpoint of scan: the last carry is that of every step", "higher_order/scan.py",
        "reusable = tuple(i >= nk for i in range(n_outs))",
        "reusable = (True,) * n_outs",
        f"{SAVING} -k last_carry",
    ),
    Mutant(
        "Q39", "scan: an effect on constants happens before the loop", "programs/loop_bodies.py",
        "if not has_effects(e) and all(type",
        "if all(type",
        f"{SAVING} -k every_step",
    ),
    # --- devices that go different ways ---
    Mutant(
        "Q40", "the host answers all devices alike", "programs/uniformity.py",
        "return [every | self.scope.entered if acts else every]",
        "return [every]",
        f"{UNIFORM} -k host",
    ),
    Mutant(
        "Q41", "the name of an inner map means the outer one's axis", "programs/uniformity.py",
        "names = {**dict(self.names), **new_names}",
        "names = {**new_names, **dict(self.names)}",
        f"{UNIFORM} -k hides",
    ),
    Mutant(
        "Q42", "axes that are not mapped over don't communicate", "programs/uniformity.py",
        "if self.scope.entered != self.everywhere and not calls:",
        "if False:",
        f"{UNIFORM} -k divided_along",
    ),
    Mutant(
        "Q43", "while: the number of steps makes no carry vary", "higher_order/while_loop.py",
        "wider = [c | o | going for",
        "wider = [c | o for",
        f"{UNIFORM} -k branches",
    ),
    Mutant(
        "Q44", "cond: the choice makes no result vary", "higher_order/cond.py",
        "return [ins[0].union(*each) for each",
        "return [frozenset().union(*each) for each",
        f"{UNIFORM} -k branches",
    ),
    Mutant(
        "Q45", "scan: carry that vary later do not vary", "higher_order/scan.py",
        "        if wider == carry:\n            return [*consts, *carry, *xs]",
        "        if True:\n            return [*consts, *carry, *xs]",
        f"{UNIFORM} -k branches",
    ),
    Mutant(
        "Q46", "a map in a map: outer axes are forgotten", "higher_order/shard_map.py",
        "varies = [i.union(*spec) for i, spec in zip(ins, in_specs, strict=True)]",
        "varies = [frozenset().union(*spec) for i, spec in zip(ins, in_specs, strict=True)]",
        f"{UNIFORM} -k outer",
    ),
    # --- rules ---
    Mutant(
        "Q47", "cond: weak if any branch is", "lax/conditionals.py",
        "weak_types = tuple(all(a.weak_type for a in column) for column in columns)",
        "weak_types = tuple(any(a.weak_type for a in column) for column in columns)",
        "tests/higher_order/test_cond.py -k weak",
    ),
    Mutant(
        "Q48", "custom_vjp: a rule is told of constants", "higher_order/custom_vjp.py",
        "rules.forward(args[consts:], mask[consts:])",
        "rules.forward(args[consts:], mask)",
        "tests/transforms/test_symbolic_zeros.py -k closes_over",
    ),
    # --- traces, switches ---
    Mutant(
        "Q49", "a switch turned while tracing is forgotten after it", "core/trace.py",
        "current.trace = current.bottom if outside.computes else outside",
        "current.trace = outside",
        f"{NANS} -k turned_on_within",
    ),
    Mutant(
        "Q50", "a switch for all threads leaves out those that compute", "core/trace.py",
        '                if "trace" in attributes and attributes["trace"].computes:\n'
        '                    attributes["trace"] = everybody\n',
        "",
        f"{NANS} -k every_thread",
    ),
    Mutant(
        "Q51", "states of switches in use go with the others", "switch_state.py",
        "self._states = {tuple(s): s for s in used}",
        "self._states = {}",
        f"{STATES} -k many_states",
    ),
    Mutant(
        "Q52", "look-ups don't ask for a thread's state", "switch_state.py",
        "self.now = self._thread_caches if any(s is not first for s in others) else first.caches",
        "self.now = first.caches",
        STATES,
    ),
    # --- programs that run ---
    Mutant(
        "Q53", "values live until a program ends", "core/jaxpr.py",
        "dead_after.append(tuple(dead))",
        "dead_after.append(())",
        f"{JAXPR} -k last_use",
    ),
    Mutant(
        "Q54", "plans take arrays of other devices", "interpreters/evaluate.py",
        "(a,) = args\n                if a.type is not a.aval:",
        "(a,) = args\n                if a.type is None:",
        "tests/numpy/test_host_kernels.py tests/transforms/jit/test_where_calls_run.py",
    ),
    Mutant(
        "Q55", "plans: all results are the first one", "interpreters/plans.py",
        "(place if place < count else ~new.index(place), v.aval)",
        "(place if place < count else ~0, v.aval)",
        "tests/numpy/test_plans.py tests/interpreters",
    ),
    Mutant(
        "Q88", "matching: a node in a leaf's place is taken for one", "tree_code.py",
        '"    if flatteners[cls] is not None: return None",',
        '"    if flatteners[cls] is None: pass",',
        "tests/test_tree_util.py -k match",
    ),
    Mutant(
        "Q89", "matching: the data of nodes are not compared", "tree_code.py",
        'refuse(f"not {names(kind.same_data)}({flat}[1], {names(treedef.data)})")',
        'names(kind.same_data)',
        "tests/test_tree_util.py -k near",
    ),
    # --- where it happened ---
    Mutant(
        "Q56", "a rule's own lines are in the forward pass", "core/source_location.py",
        "return SourceLocation(user_line(), operation, location.backward, _now.parts, user_span())",
        "return SourceLocation(user_line(), operation, parts=_now.parts, span=user_span())",
        f"{NANS} -k 'backward or custom'",
    ),
    Mutant(
        "Q57", "a rule of the user's has no lines", "core/source_location.py",
        "if user_frame() is frame:",
        "if True:",
        f"{NANS} -k custom",
    ),
    Mutant(
        "Q58", "the last of several operations made the NaN", "interpreters/debugging/nonfinite.py",
        "e, place = min(makers,",
        "e, place = max(makers,",
        f"{NANS} -k first_is",
    ),
    Mutant(
        "Q59", "the search for a NaN does effects again", "interpreters/debugging/nonfinite.py",
        "culprit_inside(primitive, args, quiet_params(params), ())",
        "culprit_inside(primitive, args, params, ())",
        f"{NANS} -k do_not_happen",
    ),
    Mutant(
        "Q60", "a NaN that came in: the number inside", "interpreters/debugging/nonfinite.py",
        "return Input(origins[culprit.number], culprit.array)",
        "return found",
        f"{NANS} -k counted_among",
    ),
    Mutant(
        "Q61", "leaks: what derivative rules close over", "interpreters/debugging/leaks.py",
        "leaked = [x for x in leaked if id(x) not in allowed]",
        "pass",
        "tests/errors/test_leaks.py -k closes_over",
    ),
    # --- plans of numpy functions ---
    Mutant(
        "Q62", "plans: found under a switch that was turned meanwhile", "core/caching.py",
        "if thread.switches is not state:",
        "if False:",
        f"{STATES} -k turned",
    ),
    Mutant(
        "Q63", "axis 1.0 is axis 1 the second time", "numpy/plans.py",
        "kind = exact(first_option) if first_option.__class__ is tuple else first_option.__class__",
        "kind = None",
        "tests/numpy/test_plans.py",
    ),
    Mutant(
        "Q64", "a shape of floats is one of integers the second time", "numpy/plans.py",
        "            plan = caches.now[table][a.aval, exact(argument)]\n",
        "            plan = caches.now[table][a.aval, tuple([*map(int, argument)])]\n",
        "tests/numpy/test_plans.py",
    ),
    Mutant(
        "Q65", "a number and an array of another device", "interpreters/evaluate.py",
        "if a.type is not a.aval or b.type is not b.aval:",
        "if a.type is None:",
        f"{CALLS} -k operations",
    ),
    Mutant(
        "Q66", "look-ups in one state while threads are in two", "switch_state.py",
        "self.now = self._thread_caches if any(s is not first for s in others) else first.caches",
        "self.now = first.caches",
        STATES,
    ),
    Mutant(
        "Q67", "index arrays: the largest unsigned numbers", "numpy/gather_indices.py",
        "array = np.minimum(array, np.uint64(n))",
        "pass",
        "tests/numpy/test_gather_indices.py",
    ),
    Mutant(
        "Q68", "index arrays: few bits, a long axis", "numpy/gather_indices.py",
        "if dtypes.iinfo(indices.dtype).max < n:",
        "if False:",
        "tests/numpy/test_gather_indices.py",
    ),
    # --- arguments of transformed functions ---
    Mutant(
        "Q69", "static arguments: 1 and 1.0 and True", "transforms/arguments.py",
        "tuple([(position, exact(x), x) for position, x in named])",
        "tuple([(position, x, x) for position, x in named])",
        "tests/core/test_caching.py -k other_types",
    ),
    Mutant(
        "Q70", "arguments by position: negative ones", "transforms/arguments.py",
        "chosen = {n % count for n in argnums if -count <= n < count} | set(argnames)",
        "chosen = {n for n in argnums if -count <= n < count} | set(argnames)",
        ARGUMENTS,
    ),
    Mutant(
        "Q71", "a key without the switches", "transforms/arguments.py",
        "return TraceKey(*trees, self.avals, self.statics, thread.key, tuple(self.refs))",
        "return TraceKey(*trees, self.avals, self.statics, None, tuple(self.refs))",
        f"{ARGUMENTS} -k its_switches",
    ),
    Mutant(
        "Q72", "pmap without compiling: negative positions", "transforms/devices/pmap_arguments.py",
        "static = {n % len(args) for n in self.static}",
        "static = set(self.static)",
        f"{ARGUMENTS} -k from_the_end",
    ),
    Mutant(
        "Q73", "shard_map: the check is no part of the key", "transforms/devices/shard_map.py",
        "MapOptions(self.mesh, specs, self.axis_names, self.check_vma)",
        "MapOptions(self.mesh, specs, self.axis_names, True)",
        f"{ARGUMENTS} -k specs_and",
    ),
    Mutant(
        "Q74", "shard_map: out_specs are no part of the key", "transforms/devices/shard_map.py",
        "specs = key_of((self.in_specs, self.out_specs), is_spec)",
        "specs = key_of(self.in_specs, is_spec)",
        f"{ARGUMENTS} -k specs_and",
    ),
    # --- foreign functions ---
    Mutant(
        "Q75", "ffi: the mapped axis of a layout is the minor one", "extend/ffi.py",
        "return 0, *[axis + 1 for axis in layout]",
        "return *[axis + 1 for axis in layout], 0",
        f"{FFI} -k vmap",
    ),
    Mutant(
        "Q76", "ffi: broadcast_all broadcasts nothing", "extend/ffi.py",
        'length = size if vmap_method == "broadcast_all" else 1',
        "length = 1",
        f"{FFI} -k looks_like",
    ),
    Mutant(
        "Q77", "ffi: legacy_vectorized expands arguments", "extend/ffi.py",
        'x if b or vmap_method == "legacy_vectorized" else',
        "x if b else",
        f"{FFI} -k looks_like",
    ),
    Mutant(
        "Q78", "ffi: aliases the other way round", "extend/ffi.py",
        "for argument, result in aliases",
        "for result, argument in aliases",
        f"{FFI} -k aliases",
    ),
    # --- where arrays are, and where programs run ---
    Mutant(
        "Q79", "devices in another order don't meet", "core/placement.py",
        "if set(self.devices) != set(other.devices):",
        "if self.devices != other.devices:",
        "tests/core/test_placements.py -k meet",
    ),
    Mutant(
        "Q80", "arguments that clash: the first is number 0", "core/placement.py",
        "        if result is ANYWHERE:\n            first = i\n",
        "",
        f"{CALLS} -k clash",
    ),
    Mutant(
        "Q81", "a default device was chosen: results may be anywhere", "compiler/compiled.py",
        "where = ANYWHERE if chosen is None else on_device(chosen, committed=False)",
        "where = ANYWHERE",
        f"{CALLS} -k default_device",
    ),
    Mutant(
        "Q82", "a device that was named: outputs stay where they are", "compiler/compiled.py",
        "outs = [x if x.aval.dtype == float0 else move(x, device) for x in outs]",
        "outs = [x for x in outs]",
        f"{CALLS} -k named",
    ),
    Mutant(
        "Q83", "hot calls: the donated argument where others are unused", "compiler/compiled.py",
        "self.donated = [program.live[n] for n in program.donated]",
        "self.donated = program.donated",
        f"{CALLS} -k others_stay",
    ),
    Mutant(
        "Q84", "hot calls: the program of other switches", "transforms/jit/dispatch.py",
        "if key is not thread.key or (donated",
        "if (donated",
        f"{CALLS} -k switches",
    ),
    Mutant(
        "Q85", "hot calls: a donated array is still on the host", "transforms/jit/dispatch.py",
        "leaves[i]._host = leaves[i]._buffer = None",
        "leaves[i]._buffer = None",
        f"{CALLS} -k others_stay",
    ),
    Mutant(
        "Q86", "the caller's memory is used on one device", "compiler/placing.py",
        "x if x.dtype == dtype else cast_on_host(x, dtype), device, alias=False)",
        "x if x.dtype == dtype else cast_on_host(x, dtype), device, alias=True)",
        f"{CALLS} -k written",
    ),
    Mutant(
        "Q87", "options of jit: donated arguments are no part of the key",
        "transforms/jit/function.py",
        "self.programs = programs_of(function, options)",
        "self.programs = programs_of(function, (options.device, options.keep_unused))",
        f"{CALLS} -k options",
    ),
)  # fmt: skip
