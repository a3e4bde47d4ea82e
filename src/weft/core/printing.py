"""Prints jaxprs in two notations: with the type of every variable, or without."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..typing import DType
    from .aval import Aval
    from .jaxpr import Atom, Jaxpr
    from .trace import Params

_SHORT_DTYPES = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}


def dtype_text(dtype: "DType") -> str:
    """`f32` for float32, `i8` for int8, `bool`, `key` …"""
    name = str(dtype.name)
    stem = name.rstrip("0123456789")
    return _SHORT_DTYPES[stem] + name[len(stem) :] if stem in _SHORT_DTYPES else name


def aval_text(aval: "Aval") -> str:
    """`f32[3,4]`; a weak type has a star."""
    return f"{dtype_text(aval.dtype)}[{','.join(map(str, aval.shape))}]{'*' * aval.weak_type}"


class _Names:
    """Names for variables, in the order of their first appearance: a … z, ba, bb, …"""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}

    def __getitem__(self, var: "Atom") -> str:
        number = self.names.get(id(var))
        if number is None:
            n, letters = len(self.names), ""
            while n or not letters:
                n, digit = divmod(n, 26)
                letters = chr(ord("a") + digit) + letters
            number = self.names[id(var)] = letters
        return number


def jaxpr_text(jaxpr: "Jaxpr", typed: bool = True) -> str:
    """The program as text.

    Example:
      `{ lambda ; a:f32[]. let b:f32[] = cos a; c:f32[] = sin b in (c,) }`
    """
    return "\n".join(_lines(jaxpr, typed))


def _lines(jaxpr: "Jaxpr", typed: bool) -> Iterator[str]:
    names = _Names()
    used = {id(v) for e in jaxpr.equations for v in e.inputs} | {id(v) for v in jaxpr.outvars}

    def binder(var: "Atom") -> str:
        name = names[var]
        return f"{name}:{aval_text(var.aval)}" if typed else name

    def atom(var: "Atom") -> str:
        if hasattr(var, "host"):  # a literal
            text = str(var.host())
            return f"{text}:{aval_text(var.aval)}" if typed else text
        return names[var]

    def out(var: "Atom") -> str:
        return (
            binder(var) if id(var) in used else "_" + (f":{aval_text(var.aval)}" if typed else "")
        )

    constvars = " ".join(binder(v) for v in jaxpr.constvars)
    invars = " ".join(binder(v) for v in jaxpr.invars)
    yield f"{{ lambda {constvars}; {invars}. let"
    for equation in jaxpr.equations:
        left = " ".join(out(v) for v in equation.outvars)
        start = f"    {left} = " if left else "    "
        start += str(equation.primitive.name)
        inputs = " ".join(atom(v) for v in equation.inputs)
        params = list(_params(equation.params, typed))
        if not params:
            yield f"{start} {inputs}".rstrip()
        elif any("\n" in p for p in params):
            yield f"{start}["
            for text in params:
                yield from (f"      {line}" for line in text.split("\n"))
            yield f"    ] {inputs}"
        else:
            yield f"{start}[{' '.join(params)}] {inputs}".rstrip()
    outs = ", ".join(atom(v) for v in jaxpr.outvars)
    yield f"  in ({outs}{',' * (len(jaxpr.outvars) == 1)}) }}"


def _params(params: "Params", typed: bool) -> Iterator[str]:
    for name, value in params:
        if hasattr(value, "equations"):
            if name == "jaxpr":
                yield f"name={value.name}"
            yield f"{name}={jaxpr_text(value, typed)}"
        elif isinstance(value, tuple) and value and all(hasattr(v, "equations") for v in value):
            yield f"{name}=(" + "\n".join(jaxpr_text(v, typed) for v in value) + ")"
        elif callable(value) and hasattr(value, "__name__"):
            yield f"{name}={value.__name__}"
        else:
            yield f"{name}={value}"
