"""Names that libraries import from jax and weft hasn't: most of them are private there.

What the programs of these tests reach works. The rest is an `Unused`, which lets a library load.
"""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import weft
from weft.extend import Axis, batch
from weft.extend.core import get_opaque_trace_state
from weft.interpreters.jvp import JvpTracer
from weft.interpreters.linearize import LinearizeTracer


class Unused:
    """A name that is looked at while a library loads, and by no program of the tests.

    As a decorator it leaves a function as it is; whatever else is done with it gives another one.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Unused(f"{self.name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) else Unused(f"{self.name}()")

    def __setitem__(self, key: Any, value: Any) -> None:
        """Registers a rule with jax, which isn't there."""

    def __or__(self, other: Any) -> Any:
        return Any

    __ror__ = __or__


def unused(module: str, *names: str) -> dict[str, Any]:
    return {name: Unused(f"jax.{module}.{name}") for name in names}


class Primitive:
    """A primitive of jax's that a library makes when it loads, with rules that weft doesn't know.

    Applied, it is the function that computes it: right but for what `vmap` would make of it.
    """

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def def_impl(self, f: Callable[..., Any]) -> Callable[..., Any]:
        self.bind = f
        return f

    def def_abstract_eval(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return f

    def_custom_bind = def_effectful_abstract_eval = def_abstract_eval


class PartialVal(tuple[Any, Any]):
    """An unknown value, of which the aval is given, or a known one."""

    @classmethod
    def unknown(cls, aval: Any) -> "PartialVal":
        return cls((aval, None))

    @classmethod
    def known(cls, value: Any) -> "PartialVal":
        return cls((None, value))


def trace_to_jaxpr_nounits(
    function: Any, inputs: Sequence[PartialVal], instantiate: bool = False
) -> tuple[None, list[PartialVal], None]:
    """Which results of a function don't depend on its unknown inputs, and what they are.

    Mapped over the unknown inputs, the function computes what doesn't depend on them.
    """
    mapped = [aval is not None for aval, _ in inputs]
    given = [
        weft.numpy.zeros((1, *aval.shape), aval.dtype) if aval is not None else value
        for aval, value in inputs
    ]
    found = batch(function.call_wrapped, given, mapped, Axis(1), keep=True)
    outs = [
        PartialVal.unknown(weft.typeof(value[0])) if depends else PartialVal.known(value)
        for value, depends in found
    ]
    return None, outs, None


class TraceStack:
    """The stack of traces that jax had in 2024, of which libraries look at the top."""

    def __getitem__(self, index: int) -> SimpleNamespace:
        return SimpleNamespace(trace_type=None, level=get_opaque_trace_state())


def find_top_trace(values: Sequence[Any]) -> SimpleNamespace:
    """The innermost trace of values, and what tells when it is another."""
    traces = [value._trace for value in values if isinstance(value, weft.core.Tracer)]

    def depth(trace: Any) -> int:
        return 0 if trace.outside is None else 1 + depth(trace.outside)

    return SimpleNamespace(
        level=get_opaque_trace_state(), main=max(traces, key=depth) if traces else None
    )


def anything(module: str) -> dict[str, Any]:
    """A module that has every name."""
    return {"__getattr__": lambda name: Unused(f"{module}.{name}")}


def names(version: str) -> dict[str, dict[str, Any]]:
    """The names that stand in front of weft's, by module, for libraries that know a version."""
    numbers = {"__version__": version, "__version_info__": tuple(map(int, version.split(".")))}
    classes = {"Primitive": Primitive, "Trace": type("Trace", (), {})}
    core = {
        "AbstractValue": weft.core.ShapedArray,
        "thread_local_state": SimpleNamespace(
            trace_state=SimpleNamespace(trace_stack=SimpleNamespace(stack=TraceStack()))
        ),
        "cur_sublevel": lambda: 0,
        "find_top_trace": find_top_trace,
        "raise_to_shaped": lambda aval: aval,
        **unused("core", "Atom", "DropVar", "mapped_aval", "unmapped_aval"),
        **unused("core", "pp_eqn_rules"),
    }
    compiled = SimpleNamespace(PjitFunction=(), PmapFunction=())
    untraced = ("take_current_trace", "set_current_trace", "mapped_aval", "unmapped_aval")
    return {
        "jax": {**numbers, "monitoring": Unused("monitoring")},
        "jax.version": numbers,
        "jax.core": {**classes, **core},
        "jax.extend.core": {**classes, **unused("extend.core", "DropVar", "TraceTag", *untraced)},
        "jax.extend.linear_util": unused("extend.linear_util", "transformation"),
        "jax.extend.source_info_util": anything("extend.source_info_util"),
        "jax.api_util": {"debug_info": lambda *args, **kwargs: None},
        "jax.sharding": {
            "PmapSharding": type("PmapSharding", (), {}),
            **unused("sharding", "AbstractMesh"),
        },
        "jax.custom_derivatives": unused("custom_derivatives", "custom_jvp_call_p"),
        "jax.lax": {**unused("lax", "stop_gradient_p")},
        "jax.experimental.layout": anything("experimental.layout"),
        "jax.experimental.jax2tf": anything("experimental.jax2tf"),
        "jax.interpreters": {"xla": SimpleNamespace(xe=compiled)},
        "jax.interpreters.ad": {
            "JVPTracer": JvpTracer | LinearizeTracer,
            **anything("interpreters.ad"),
        },
        "jax.interpreters.batching": {"not_mapped": None, **anything("interpreters.batching")},
        "jax.interpreters.mlir": anything("interpreters.mlir"),
        "jax.interpreters.partial_eval": {
            "PartialVal": PartialVal,
            "trace_to_jaxpr_nounits": trace_to_jaxpr_nounits,
        },
        "jax.interpreters.pxla": anything("interpreters.pxla"),
        "jax._src": {},
        "jax._src.compiler": anything("_src.compiler"),
        "jax._src.core": anything("_src.core"),
        "jax._src.dispatch": {"wait_for_tokens": weft.effects_barrier},
        "jax._src.dtypes": {
            "TypePromotionError": TypeError,
            "ExtendedDType": type("ExtendedDType", (), {}),
            "extended": type("extended", (), {}),
            **anything("_src.dtypes"),
        },
        "jax._src.earray": anything("_src.earray"),
        "jax._src.interpreters": {},
        "jax._src.interpreters.pxla": anything("_src.interpreters.pxla"),
        "jax._src.pretty_printer": anything("_src.pretty_printer"),
        "jax._src.source_info_util": anything("_src.source_info_util"),
        "jax._src.traceback_util": {
            "include_frame": lambda frame: True,
            "register_exclusion": lambda path: None,
            "api_boundary": lambda f=None, **options: f,
        },
        "jaxlib.xla_extension": {"Device": weft.Device},
    }
