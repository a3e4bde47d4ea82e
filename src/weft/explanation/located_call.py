"""LocatedCall traces a function with the arguments of a call, and finds the user's lines and files.

`nan_trace` and `precision_trace` run it operation by operation.
"""

import inspect
import linecache
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from ..compiler.optimized import UNKNOWN, Line
from ..core.array import Array, as_value
from ..core.jaxpr import Jaxpr
from ..core.primitive import Primitive
from ..core.source import function_line, unwrapped, wrapping
from ..core.source_location import SourceLocation
from ..interpreters.debugging.nonfinite import float_of
from ..transforms.arguments import check_callable
from ..transforms.jit.stages import ShapeDtypeStruct
from ..transforms.tracing import located_program
from ..tree_util import keystr, tree_flatten_with_path
from ..user_lines import noted, user_line
from .nan_rewritings import Fault
from .user_code import UserCode


class LocatedCall:
    """A call of a function as a program.

    Args:
      name: the name of the debugging function, for messages.
      f: the user's function.
    Attributes:
      values: the arguments of the program: the arrays, and the float and complex numbers of the
        call. Other arguments, such as integers and strings, are constants.
      names: the names of the arguments: `x`, `params['w']`.
    """

    jaxpr: Jaxpr

    def __init__(self, name: str, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        check_callable(f, name)
        self.function, self.site = f, user_line()
        self.title = function_line(f).partition(" ")[0]
        leaves, tree = tree_flatten_with_path((args, kwargs))
        parameters = parameter_names(f)
        numbers, self.names, self.values = [], list[str](), list[Array]()
        for number, (path, leaf) in enumerate(leaves):
            if not is_number(leaf):
                continue
            value = leaf if isinstance(leaf, ShapeDtypeStruct) else as_value(leaf)
            if not isinstance(value, Array):
                raise noted(
                    TypeError(
                        f"{name}: the argument {argument_name(path, parameters)} must be an array "
                        f"with elements; got {value}\n"
                        f"  fix: call {name} outside of transformed functions, with arrays"
                    )
                )
            numbers.append(number)
            self.values.append(value)
            self.names.append(argument_name(path, parameters))

        @wrapping(f)
        def function(*values: Any) -> Any:
            all_leaves = [leaf for _, leaf in leaves]
            for number, value in zip(numbers, values, strict=True):
                all_leaves[number] = value
            args, kwargs = tree.unflatten(all_leaves)
            return f(*args, **kwargs)

        self.jaxpr = located_program(name, function, self.values, {})
        if len(self.jaxpr.invars) != len(self.values):
            raise noted(
                TypeError(
                    f"{name}: {function_line(f)} uses refs from outside\n"
                    "  fix: pass their values as arguments, and return the new ones"
                )
            )
        self._codes: dict[str, UserCode] = {}

    @property
    def definition(self) -> Line:
        """The line where the function is defined."""
        code = getattr(unwrapped(self.function), "__code__", None)
        if not isinstance(code, CodeType):
            return UNKNOWN
        return Line(os.path.basename(code.co_filename), code.co_firstlineno)

    def line(self, place: SourceLocation) -> Line:
        """The user's line of an operation; unknown for sums of derivatives, which have none."""
        is_sum = place.line == self.site and place.operation == "add"
        return UNKNOWN if is_sum or place.place is None else Line(*place.place)

    def code(self, line: Line) -> UserCode:
        """The code of the file with a line; without statements if the file is unknown."""
        if line.file not in self._codes:
            place = next(
                (f for f in self._files() if os.path.basename(f[0]) == line.file), ("", {})
            )
            self._codes[line.file] = UserCode(*place)
        return self._codes[line.file]

    def fault(
        self, primitive: Primitive, place: SourceLocation, inputs: Sequence[Any], output: Array
    ) -> Fault:
        """The record of an operation with its values and the user's statement."""
        line = self.line(place)
        code = self.code(line)
        statement = code.statement(line.number)
        is_call = place.operation.endswith("call")  # of a function with the user's derivative
        return Fault(
            line,
            primitive.name if is_call else place.operation,
            primitive.name,
            place.backward,
            [float_of(x) if isinstance(x, Array) else x for x in inputs],
            float_of(output),
            output.dtype.name,
            code,
            statement,
            None if statement is None else code.expression(statement, place.span),
        )

    def _files(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The files that may have the user's lines, each with the names of its module."""
        inner = unwrapped(self.function)
        names: dict[str, Any] = getattr(inner, "__globals__", {})
        functions = [inner, *map(unwrapped, names.values())]
        for function in functions:
            code = getattr(function, "__code__", None)
            if isinstance(function, FunctionType) and isinstance(code, CodeType):
                yield code.co_filename, function.__globals__
        for module in list(sys.modules.values()):
            if isinstance(file := getattr(module, "__file__", None), str):
                yield file, vars(module)
        for file in list(linecache.cache):  # cells of a notebook
            yield file, names


def is_number(leaf: Any) -> bool:
    """True for an argument that becomes an argument of the program, not a constant."""
    return isinstance(leaf, float | complex) or hasattr(leaf, "dtype")


def parameter_names(f: Callable[..., Any]) -> list[str]:
    """The names of a function's positional parameters; none if they are unknown."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def argument_name(path: Any, parameters: list[str]) -> str:
    """The name of a leaf of (args, kwargs): `params['w']`."""
    group, first, *rest = path
    if group.idx == 1:
        return f"{first.key}{keystr(tuple(rest))}"
    name = parameters[first.idx] if first.idx < len(parameters) else f"args[{first.idx}]"
    return f"{name}{keystr(tuple(rest))}"
