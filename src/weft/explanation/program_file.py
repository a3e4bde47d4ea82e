"""Programs as JSON and back: written_program writes a jaxpr, read_program reads it.

The JSON has the equations with the names of their primitives, and the user's lines. Arrays are in a
separate list. All programs, including programs inside others, are entries of one table, each before
the programs that contain it. A Python function or a user's object in a parameter is written as its
name; reading puts a `Missing` in its place, or a `MissingPrimitive` for a primitive that a user's
module defines. Reading runs no code, and checks everything.
"""

import enum
import hashlib
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import higher_order, primitives
from ..checkpoints.stored_dtypes import DTYPES, from_stored, stored_type, to_stored
from ..core.array import Array
from ..core.aval import Aval, aval
from ..core.caching import ExactParams
from ..core.host_policy import HostPolicy
from ..core.jaxpr import Atom, Equation, Jaxpr, Labels, Var
from ..core.placement import Placement
from ..core.primitive import RULES, Primitive, registry
from ..core.source import function_line
from ..core.source_location import Part, SourceLocation
from ..core.trace import Params
from ..dtypes import float0
from ..errors import WeftError
from ..experimental.checkify import primitive as checks
from ..export import call_exported
from ..extended_dtypes import is_extended
from ..higher_order.linear_solve import Side
from ..primitives.arithmetic import RoundingMethod
from ..primitives.callbacks import HostFunction, one_by_one
from ..primitives.convolution import ConvDimensionNumbers
from ..primitives.dot_algorithms import DotAlgorithm, DotAlgorithmPreset
from ..primitives.fft import FftType
from ..primitives.gather_dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from ..primitives.products import Precision
from ..primitives.windows import Geometry
from ..runtime.client import Device
from ..sharding import Mesh, Sharding
from ..transforms.devices import device_put
from ..user_lines import Span

Json = Any

RECORDS: dict[str, Any] = {
    c.__name__: c
    for c in (
        ConvDimensionNumbers,
        DotAlgorithm,
        GatherDimensionNumbers,
        Geometry,
        ScatterDimensionNumbers,
        Side,
    )
}
"""The named tuples that occur in parameters."""

ENUMS: dict[str, type[enum.Enum]] = {
    c.__name__: c
    for c in (DotAlgorithmPreset, FftType, GatherScatterMode, Precision, RoundingMethod)
}

ELSEWHERE = (checks, call_exported, device_put)
"""Modules that define primitives outside of the folders of primitives; they are loaded above."""


class Malformed(Exception):
    """The JSON is not a program; the message gives the reason."""


class Missing(NamedTuple):
    """A parameter that a file names but does not contain.

    Attributes:
      kind: the name of its class; `text`: its name, or its printed form.
    """

    kind: str
    text: str

    def __repr__(self) -> str:
        return self.text


class ForeignPlace(NamedTuple):
    """A device, a mesh or a sharding of another process, which has no meaning here."""

    text: str

    def __repr__(self) -> str:
        return self.text


class MissingFunction(Exception):
    """A program calls a Python function that its file does not contain."""


class FailedFunction(Exception):
    """A program reaches the call of a Python function that raised the saved error."""


class FailedCall(NamedTuple):
    """The call of a Python function that raised an error in a program.

    Attributes:
      function: the function's name and line; `arguments`: the digest of its arguments.
    """

    function: str
    arguments: str


class MissingPrimitive(Primitive):
    """An operation of a user's module that is not loaded in this process."""

    def __init__(self, name: str, module: str, multiple: bool) -> None:
        # not in the registry: the module may be loaded later
        self.name, self.module, self.multiple = name, module, multiple
        self.__doc__, self.host, self.evaluate_in, self.templates = "", HostPolicy("never"), {}, {}


def dtype_name(dtype: Any) -> str:
    """The name of a dtype in files."""
    return "float0" if dtype == float0 else str(dtype.name)


def written_aval(a: Aval) -> Json:
    """An aval as JSON values."""
    return [list(a.shape), dtype_name(a.dtype), a.weak_type]


def hex_of(x: Array) -> str:
    """The bytes of an array's elements, as hexadecimal digits."""
    if x.aval.dtype == float0:  # there are none
        return ""
    return to_stored(np.asarray(x.host()), dtype_name(x.aval.dtype)).tobytes().hex()


_OWN = ("", "weft", "numpy", "scipy", "operator", "functools")
"""The packages of the rules of weft's own primitives."""


# --- writing ---


class WrittenProgram(NamedTuple):
    """A program as JSON, with the arrays that it refers to by number."""

    content: dict[str, Json]
    arrays: list[Array]


def written_program(jaxpr: Jaxpr) -> WrittenProgram:
    """A program as JSON values.

    Example:
      >>> program = written_program(make_jaxpr(lambda x: np.sum(x, axis=0))(np.ones((2, 3))))
      >>> program.content["programs"][0]["equations"]
      [{'op': 'reduce_sum', 'in': [0], 'out': [0], 'params': {'axes': [0]}}]
    """
    writer = _Writer()
    writer.program(jaxpr)
    content = {"avals": writer.avals, "sources": writer.sources, "programs": writer.programs}
    return WrittenProgram(content, writer.arrays)


class _Writer:
    def __init__(self) -> None:
        self.programs: list[Json] = []
        self.avals: list[Json] = []
        self.sources: list[Json] = []
        self.arrays: list[Array] = []
        self.numbers: dict[Any, int] = {}  # of programs, arrays, avals and sources
        self.layers: dict[int, int] = {}

    def number(self, key: Any, table: list[Any], make: Callable[[], Any]) -> int:
        """The number of an entry in a table; a new entry is added."""
        if key not in self.numbers:
            entry = make()  # may add entries of its own
            self.numbers[key] = len(table)
            table.append(entry)
        return self.numbers[key]

    def aval(self, a: Aval) -> int:
        return self.number(a, self.avals, lambda: written_aval(a))

    def source(self, source: SourceLocation) -> int:
        parts = [
            [p.name, p.file, p.line, self.layers.setdefault(p.identity, len(self.layers))]
            for p in source.parts
        ]
        span = None if source.span is None else list(source.span)
        entry = [source.line, source.operation, source.backward, parts, span]
        return self.number(source, self.sources, lambda: entry)

    def array(self, x: Array) -> int:
        return self.number(id(x), self.arrays, lambda: x)

    def program(self, jaxpr: Jaxpr) -> int:
        return self.number(id(jaxpr), self.programs, lambda: self.new_program(jaxpr))

    def new_program(self, jaxpr: Jaxpr) -> Json:
        variables: dict[Any, int] = {}
        for v in (*jaxpr.constvars, *jaxpr.invars):
            variables[v] = len(variables)
        equations = []
        for e in jaxpr.equations:
            inputs = [self.atom(v, variables) for v in e.inputs]
            for v in e.outvars:
                variables[v] = len(variables)
            equations.append(self.equation(e, inputs))
        return {
            "name": jaxpr.name,
            "constants": [[self.array(c), self.aval(c.aval)] for c in jaxpr.consts],
            "inputs": [self.aval(v.aval) for v in jaxpr.invars],
            "equations": equations,
            "results": [self.atom(v, variables) for v in jaxpr.outvars],
            "labels": [list(jaxpr.labels.inputs), list(jaxpr.labels.results)],
        }

    def equation(self, e: Equation, inputs: list[Json]) -> Json:
        written: dict[str, Json] = {"op": e.primitive.name, "in": inputs}
        written["out"] = [self.aval(v.aval) for v in e.outvars]
        if module := module_of_user(e.primitive):
            written["module"], written["multiple"] = module, e.primitive.multiple
        if e.params:
            written["params"] = {name: self.value(x) for name, x in e.params}
        if e.source is not None:
            written["at"] = self.source(e.source)
        return written

    def atom(self, v: Atom, variables: dict[Any, int]) -> Json:
        return variables[v] if isinstance(v, Var) else {"literal": self.literal(v)}

    def literal(self, x: Array) -> Json:
        return [self.aval(x.aval), hex_of(x)]

    def value(self, x: Any) -> Json:
        """A parameter: a JSON value, or an object whose only key is the kind of parameter."""
        if x is None or type(x) in (bool, int, str):
            return x
        if type(x) is tuple:
            return [self.value(item) for item in x]
        if type(x) is float:
            return {"float": x.hex()}
        if type(x) is complex:
            return {"complex": [x.real.hex(), x.imag.hex()]}
        if type(x) is Jaxpr:
            return {"program": self.program(x)}
        if type(x) is Aval:
            return {"aval": self.aval(x)}
        if isinstance(x, np.dtype) or is_extended(x):
            return {"dtype": dtype_name(x)}
        if isinstance(x, np.generic) and x.dtype.name in DTYPES:
            return {
                "scalar": [x.dtype.name, to_stored(np.asarray(x), x.dtype.name).tobytes().hex()]
            }
        if ENUMS.get(type(x).__name__) is type(x):
            return {"enum": [type(x).__name__, x.name]}
        if RECORDS.get(type(x).__name__) is type(x):
            return {"record": [type(x).__name__, [self.value(item) for item in x]]}
        if isinstance(x, HostFunction):
            outs = [self.aval(a) for a in x.outs]
            return {"function": [x.__name__, line_of_function(x), outs]}
        if isinstance(x, Device | Sharding | Mesh | Placement):
            return {"place": str(x)}
        return {"missing": [type(x).__name__, str(getattr(x, "__name__", x))]}


def module_of_user(primitive: Primitive) -> str:
    """The module outside weft that defines a primitive; empty for weft's own primitives.

    Native functions count as the user's: a file must not choose a native function to call.
    """
    if primitive.name == "ffi_call":
        return "native code"
    rules = [getattr(primitive, f"{kind}_rule") for kind in RULES]
    names = [getattr(rule, "__module__", None) or "" for rule in rules]
    return next((n for n in names if n.partition(".")[0] not in _OWN), "")


def line_of_function(function: HostFunction) -> str:
    """The name and line of the user's function that a callback calls; just a name if the function
    is unknown."""
    while type(function.key) is tuple and isinstance(function.key[0], tuple):
        named = function.key[0][1]
        if not isinstance(named, HostFunction):
            return function_line(named) if callable(named) else function.__name__
        function = named
    return function.__name__


# --- reading ---


def read_program(content: Any, arrays: Sequence[Array], failed: FailedCall | None = None) -> Jaxpr:
    """The program that `written_program` wrote.

    Args:
      content: JSON values.
      arrays: the arrays that it refers to.
      failed: the call that raised an error; running the program raises an error there again.
    Raises: Malformed: the content is not a program, or names a primitive that this version of weft
      does not have.
    Example:
      >>> program = make_jaxpr(lambda x: 2 * x)(1.0)
      >>> content, arrays = written_program(program)
      >>> str(read_program(content, arrays)) == str(program)
      True
    """
    load_primitives()
    return _Reader(content, arrays, failed).programs[-1]


def load_primitives() -> None:
    """Loads all modules that define primitives, so that the registry is complete."""
    for package in (primitives, higher_order):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def checked(kind: Any, value: Any, what: str) -> Any:
    """The value, if it is of this class; otherwise raises Malformed."""
    if type(value) is not kind:
        raise Malformed(f"{what} must be a {kind.__name__}; it is {value!r:.60}")
    return value


def lists(value: Any, what: str, *kinds: Any) -> list[Any]:
    """A JSON list with one value of each of these classes; `None` accepts any value."""
    items = checked(list, value, what)
    if len(items) != len(kinds):
        raise Malformed(f"{what} must have {len(kinds)} items; it has {len(items)}")
    return [x if k is None else checked(k, x, what) for x, k in zip(items, kinds, strict=True)]


def entry(table: Sequence[Any], number: Any, what: str) -> Any:
    """The entry of a table with this number."""
    if not 0 <= checked(int, number, f"the number of {what}") < len(table):
        raise Malformed(f"there is no {what} {number}")
    return table[number]


RULE_ERRORS = (WeftError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError)
"""The errors of type rules for invalid parameters."""


class _Reader:
    def __init__(self, content: Any, arrays: Sequence[Array], failed: FailedCall | None) -> None:
        tables = checked(dict, content, "the program")
        self.arrays, self.failed = arrays, failed
        self.avals = [read_aval(x) for x in self.table(tables, "avals")]
        self.sources = [self.new_source(x) for x in self.table(tables, "sources")]
        self.programs: list[Jaxpr] = []
        for x in self.table(tables, "programs"):
            self.programs.append(self.new_program(checked(dict, x, "a program")))
        if not self.programs:
            raise Malformed("there is no program")

    def table(self, object_: dict[str, Any], name: str) -> list[Any]:
        """The list under a name in a JSON object."""
        items: list[Any] = checked(list, object_.get(name), name)
        return items

    def new_source(self, written: Any) -> SourceLocation:
        line, operation, backward, parts, span = lists(
            written, "a source", str, str, bool, list, None
        )
        named = [Part(*lists(p, "a part", str, str, int, int)) for p in parts]
        if span is not None:
            span = Span(*lists(span, "a span", int, int, int, int))
        return SourceLocation(line, operation, backward, tuple(named), span)

    def new_program(self, written: dict[str, Any]) -> Jaxpr:
        constants = [lists(c, "a constant", int, int) for c in self.table(written, "constants")]
        consts = [entry(self.arrays, number, "array") for number, _ in constants]
        constvars = [Var(self.aval(a)) for _, a in constants]
        for v, c in zip(constvars, consts, strict=True):
            if v.aval is not c.aval:
                raise Malformed(f"a constant of type {c.aval} has a variable of type {v.aval}")
        invars = [Var(self.aval(a)) for a in self.table(written, "inputs")]
        variables = [*constvars, *invars]
        equations = [
            self.equation(checked(dict, e, "an equation"), variables)
            for e in self.table(written, "equations")
        ]
        outvars = [self.atom(v, variables) for v in self.table(written, "results")]
        names = lists(written.get("labels"), "the labels", list, list)
        inputs, results = (tuple(checked(str, x, "a label") for x in part) for part in names)
        name = checked(str, written.get("name"), "the name of a program")
        labels = Labels(inputs, results)
        return Jaxpr(constvars, consts, invars, equations, outvars, name, labels)

    def equation(self, written: dict[str, Any], variables: list[Var]) -> Equation:
        primitive = self.primitive(written)
        inputs = [self.atom(v, variables) for v in self.table(written, "in")]
        outvars = [Var(self.aval(a)) for a in self.table(written, "out")]
        named = checked(dict, written.get("params", {}), "the parameters")
        items = tuple((name, self.value(x)) for name, x in named.items())
        params: Params = ExactParams(items) if primitive.of_user else items
        source = entry(self.sources, written["at"], "source") if "at" in written else None
        if not isinstance(primitive, MissingPrimitive):
            check_types(primitive, inputs, params, outvars)
        variables += outvars
        return Equation(primitive, inputs, params, outvars, source)

    def primitive(self, written: dict[str, Any]) -> Primitive:
        name = checked(str, written.get("op"), "the name of an operation")
        primitive = registry.get(name)
        if "module" not in written:
            if primitive is None:
                raise Malformed(f"this weft has no operation {name!r:.60}")
            return primitive
        if primitive is not None and module_of_user(primitive):
            return primitive
        module = checked(str, written["module"], "a module")
        return MissingPrimitive(name, module, checked(bool, written.get("multiple"), "multiple"))

    def aval(self, number: Any) -> Aval:
        a: Aval = entry(self.avals, number, "aval")
        return a

    def atom(self, written: Any, variables: Sequence[Var]) -> Atom:
        if type(written) is dict:
            return self.literal(written.get("literal"))
        v: Var = entry(variables, written, "variable")
        return v

    def literal(self, written: Any) -> Array:
        number, digits = lists(written, "a literal", int, str)
        a = self.aval(number)
        if a.shape:
            raise Malformed(f"a literal is {a}")
        return Array(elements_of(dtype_name(a.dtype), digits), a)

    def value(self, written: Any) -> Any:
        """A parameter."""
        if written is None or type(written) in (bool, int, str):
            return written
        if type(written) is list:
            return tuple(self.value(x) for x in written)
        items = [*checked(dict, written, "a parameter").items()]
        if len(items) != 1 or items[0][0] not in _KINDS:
            raise Malformed(f"a parameter is {written!r:.60}")
        kind, content = items[0]
        return _KINDS[kind](self, content)

    def number(self, text: Any) -> float:
        try:
            return float.fromhex(checked(str, text, "a number"))
        except (ValueError, OverflowError):
            raise Malformed(f"a number is {text!r:.60}") from None

    def complex(self, written: Any) -> complex:
        return complex(*map(self.number, lists(written, "a complex number", str, str)))

    def program(self, number: Any) -> Jaxpr:
        jaxpr: Jaxpr = entry(self.programs, number, "program")
        return jaxpr

    def dtype(self, name: Any) -> Any:
        return dtype_of(checked(str, name, "a dtype"))

    def scalar(self, written: Any) -> Any:
        name, digits = lists(written, "a scalar", str, str)
        return elements_of(dtype_name(self.dtype(name)), digits)[()]

    def enumerated(self, written: Any) -> enum.Enum:
        kind, name = lists(written, "a choice", str, str)
        if kind not in ENUMS or name not in ENUMS[kind].__members__:
            raise Malformed(f"there is no {kind:.60}.{name:.60}")
        return ENUMS[kind][name]

    def record(self, written: Any) -> Any:
        kind, fields = lists(written, "a record", str, list)
        if kind not in RECORDS or len(fields) != len(RECORDS[kind]._fields):
            raise Malformed(f"there is no {kind:.60} of {len(fields)} fields")
        return RECORDS[kind](*[self.value(x) for x in fields])

    def function(self, written: Any) -> HostFunction:
        name, line, outs = lists(written, "a function", str, str, list)
        return missing_function(name, line, [self.aval(a) for a in outs], self.failed)

    def missing(self, written: Any) -> Missing:
        return Missing(*lists(written, "a missing parameter", str, str))

    def place(self, text: Any) -> ForeignPlace:
        return ForeignPlace(checked(str, text, "a place"))


_KINDS: dict[str, Callable[[_Reader, Any], Any]] = {
    "float": _Reader.number,
    "complex": _Reader.complex,
    "program": _Reader.program,
    "aval": _Reader.aval,
    "dtype": _Reader.dtype,
    "scalar": _Reader.scalar,
    "enum": _Reader.enumerated,
    "record": _Reader.record,
    "function": _Reader.function,
    "place": _Reader.place,
    "missing": _Reader.missing,
}
"""The readers of parameters that are JSON objects, by the key of the object."""


def dtype_of(name: str) -> Any:
    """The dtype with this name."""
    if name != "float0" and name not in DTYPES:
        raise Malformed(f"there is no dtype {name!r:.60}")
    return float0 if name == "float0" else DTYPES[name]


def read_aval(written: Any) -> Aval:
    """The aval that `written_aval` wrote."""
    shape, name, weak = lists(written, "an aval", list, str, bool)
    if not all(type(n) is int and 0 <= n < 1 << 58 for n in shape) or len(shape) > 64:
        raise Malformed(f"an aval has the shape {shape!r:.60}")
    return aval(tuple(shape), dtype_of(name), weak)


def elements_of(name: str, digits: str) -> Any:
    """The single element that `hex_of` wrote, as an array without axes."""
    if name == "float0" and not digits:
        return np.zeros((), float0)
    try:
        raw = np.frombuffer(bytes.fromhex(digits), np.uint8)
        if name == "float0" or raw.size != stored_type(name, ()).nbytes:
            raise ValueError
        return from_stored(raw.copy(), name, ())
    except ValueError:
        raise Malformed(f"{digits!r:.60} is no {name}") from None


def missing_function(
    name: str, line: str, outs: Sequence[Aval], failed: FailedCall | None
) -> HostFunction:
    """A stand-in for a Python function, with its types. It raises an error if it has results, or if
    this call failed before; otherwise it returns."""

    def function(args: list[Any], device: object) -> Sequence[Any]:
        if failed is not None and failed == (line, digest_of(args)):
            raise FailedFunction(line)
        if outs:
            raise MissingFunction(line)
        return ()

    return HostFunction(function, outs, name, one_by_one, ("missing", name, line, tuple(outs)))


def digest_of(args: Sequence[Array]) -> str:
    """The digest of the arguments of a Python function."""
    digest = hashlib.sha256()
    for x in args:
        host = np.ascontiguousarray(x.host())
        digest.update(f"{host.dtype}{host.shape}".encode() + host.tobytes())
    return digest.hexdigest()


def failed_call(error: BaseException) -> FailedCall | None:
    """The call of a Python function in a program that raised an error; `None` if the error was
    raised elsewhere."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is HostFunction.__call__.__code__:
            called = trace.tb_frame.f_locals
            return FailedCall(line_of_function(called["self"]), digest_of(called["args"]))
        trace = trace.tb_next
    return None


def check_types(
    primitive: Primitive, inputs: Sequence[Any], params: Params, outvars: Sequence[Var]
) -> None:
    """Raises Malformed if the type rule of a primitive contradicts an equation."""
    try:
        out = primitive.out(inputs, params)
    except RULE_ERRORS as error:
        raise Malformed(
            f"{primitive} rejects its inputs or its parameters: {error!s:.200}"
        ) from None
    outs = out if primitive.multiple else (out,)
    types = [(a.shape, a.dtype) for a in outs]
    if types != [(v.aval.shape, v.aval.dtype) for v in outvars]:
        raise Malformed(f"the results of {primitive} contradict its type rule")
