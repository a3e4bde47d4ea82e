"""Options of JAX that weft accepts but that are not its switches, and command-line options."""

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from .lazy import Deferred

difflib = Deferred("difflib")  # errors need it, and importing weft does not

SETTLED: dict[str, Any] = {
    "array": True,
    "array_garbage_collection_guard": "allow",
    "check_static_indices": False,
    "cpu_collectives_implementation": "gloo",
    "disable_bwd_checks": False,
    "dynamic_shapes": False,
    "eager_pmap": True,
    "enable_mlir": True,
    "error_checking_behavior_divide": "ignore",
    "error_checking_behavior_nan": "ignore",
    "error_checking_behavior_oob": "ignore",
    "high_dynamic_range_gumbel": False,
    "host_callback_inline": False,
    "host_callback_outfeed": False,
    "jit_pjit_api_merge": True,
    "legacy_prng_key": "allow",
    "new_checkpoint": True,
    "no_execution": False,
    "no_tracing": False,
    "parallel_functions_output_gda": False,
    "pmap_shmap_merge": True,
    "raise_persistent_cache_errors": False,
    "random_seed_offset": 0,
    "sharding_in_types": False,
    "spmd_mode": "allow_jit",
    "use_direct_linearize": True,
    "use_shardy_partitioner": True,
}
"""Options of JAX that have a fixed value in weft."""

HINTS: frozenset[str] = frozenset(
    [
        "allow_f16_reductions",
        "bcoo_cusparse_lowering",
        "captured_constants_report_frames",
        "captured_constants_warn_bytes",
        "check_proxy_envs",
        "compilation_cache_check_contents",
        "compilation_cache_include_metadata_in_key",
        "compiler_detailed_logging_min_ops",
        "compiler_enable_remat_pass",
        "cpu_enable_async_dispatch",
        "cpu_enable_gloo_collectives",
        "cuda_visible_devices",
        "debug_log_modules",
        "disable_most_optimizations",
        "embedded_constants_max_bytes",
        "enable_pgle",
        "exec_time_optimization_effort",
        "hlo_source_file_canonicalization_regex",
        "include_debug_info_in_dumps",
        "include_full_tracebacks_in_locations",
        "logging_level",
        "memory_fitting_effort",
        "memory_fitting_level",
        "mutable_array_checks",
        "optimization_level",
        "persistent_cache_enable_xla_caches",
        "persistent_cache_min_compile_time_secs",
        "persistent_cache_min_entry_size_bytes",
        "pgle_aggregation_percentile",
        "pgle_profiling_runs",
        "pprint_use_color",
        "remove_size_one_mesh_axis_from_type",
        "rocm_visible_devices",
        "softmax_custom_jvp",
        "traceback_in_locations_limit",
        "tracer_error_num_traceback_frames",
        "use_magma",
    ]
)
"""Options of JAX's compiler, cache and logs: any value is accepted, and has no effect."""


def plain(name: str) -> str:
    """The name of an option without `jax_` or `weft_`."""
    return name.removeprefix("jax_").removeprefix("weft_")


def is_settled(name: str, value: object) -> bool:
    """True if an option of JAX has this value in weft, or accepts any value.

    Raises: ValueError: the option has another, fixed value.
    """
    option = plain(name)
    if option in SETTLED and value != SETTLED[option]:
        raise ValueError(
            f"config.update({name!r}): expected {SETTLED[option]!r}, as weft has it always; got "
            f"{value!r}"
        )
    return option in SETTLED or option in HINTS


def unknown(name: str, names: Collection[str]) -> AttributeError:
    """The error for an unknown switch, with a similar name if there is one."""
    near = difflib.get_close_matches(plain(name), names, 1)
    cure = f"did you mean {near[0]!r}? " if near else ""
    return AttributeError(
        f"config: there is no switch {name!r}\n  fix: {cure}config.describe() lists all", name=name
    )


def in_command_line(
    arguments: Sequence[str], is_flag: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    """The options (name, value) in arguments of the form `--jax_name=value`.

    A flag may stand alone, as `--jax_name` or `--nojax_name`; the value of another option may be
    the next argument. Arguments after `--` are not options.
    """
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            return
        if not argument.startswith("-"):
            continue
        name, has_value, value = argument.lstrip("-").partition("=")
        negated = name.startswith(("nojax_", "noweft_"))
        name = name[2:] if negated else name
        if not name.startswith(("jax_", "weft_")):
            continue
        if negated or (not has_value and is_flag(name)):
            yield name, "false" if negated else "true"
        else:
            yield name, value if has_value else next(remaining, "")


def tell_absl(names: Collection[str], is_flag: Callable[[str], bool]) -> None:
    """Declares these options to absl, if the program uses absl. Its flags may be read then."""
    flags: Any = sys.modules.get("absl.flags")
    if flags is None:
        return
    for name in names:
        if f"jax_{name}" not in flags.FLAGS:
            define = flags.DEFINE_bool if is_flag(name) else flags.DEFINE_string
            define(f"jax_{name}", None, "a switch of weft's")
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()
