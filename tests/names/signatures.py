"""The parameters that JAX, NumPy and SciPy document, and whether weft's functions take them, with
the same defaults.

`signatures.json` has the signatures of public functions, classes and methods of JAX 0.10.2, and
those of NumPy 2.4 and SciPy 1.17 under the same names, by library and namespace. `record` writes
it where these libraries are installed; nothing here imports them otherwise:

    python tests/names/signatures.py

A signature is text: `x, y=1, /, axis=None, *, out=...`, where `...` is a default that is not a
plain value. The differences from weft stand in three tables of `docs/differences.md`, with the
reason.
"""

import ast
import enum
import fnmatch
import functools
import importlib
import inspect
import json
import pathlib
import re
import types
from typing import Any, NamedTuple

import compare
import numpy

FILE = pathlib.Path(__file__).parent / "signatures.json"
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "differences.md"
MISSING, MISPLACED = "Missing parameters", "Parameters in another place"
CHANGED = "Parameters with another default"
ARRAY = "weft.numpy.ndarray"
FURTHER = (
    "config core api_util experimental.checkify experimental.jet experimental.ode "
    "experimental.sparse experimental.multihost_utils experimental.mesh_utils "
    "experimental.pjit experimental.shard_map interpreters.ad extend.random"
)
OPTIONS = ("out", "where", "casting", "order", "dtype", "subok", "signature")
"""Of a call of a ufunc; signatures don't show them, so they are tried."""


class Parameter(NamedTuple):
    """A parameter: `kind` is '/', 'p' (by position or name), 'k' (by name), '*' or '**'; `default`
    is a plain value, or `...` for any other."""

    name: str
    kind: str
    optional: bool
    default: Any = ...


# --- texts ---

NUMBERS = {"inf": numpy.inf, "nan": numpy.nan}
_KINDS = dict(zip(inspect._ParameterKind, ("/", "p", "*", "k", "**"), strict=True))


def parameters(signature):
    """The parameters of a signature of `inspect`."""
    return [
        Parameter(
            p.name,
            _KINDS[p.kind],
            p.default is not p.empty or p.kind.name.startswith("VAR"),
            plain(p.default),
        )
        for p in signature.parameters.values()
    ]


def plain(value):
    """A default as text can say it: a dtype, a function or a member of an enumeration is its name;
    a list, a set or a small array is a tuple. `...` stands for other values."""
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [plain(v) for v in value]
        if isinstance(value, (set, frozenset)):
            parts.sort(key=repr)
        return ... if ... in parts else tuple(parts)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (numpy.ndarray, numpy.generic)) and value.size < 9:
        return plain(value.tolist())
    if value is None or type(value) in (bool, int, float, complex, str):
        return value
    if value is inspect.Parameter.empty:
        return ...
    try:
        return numpy.dtype(getattr(value, "dtype", value)).name
    except TypeError:
        inner = "<locals>" in getattr(value, "__qualname__", "")  # its name says nothing
        return ... if inner else getattr(value, "__name__", ...)


def written(found):
    """Parameters as text."""
    parts = []
    kinds = [p.kind for p in found]
    for i, p in enumerate(found):
        if p.kind == "k" and not {"k", "*"} & set(kinds[:i]):
            parts.append("*")
        stars = p.kind if p.kind in ("*", "**") else ""
        default = "..." if p.default is ... else repr(p.default)
        parts.append(stars + p.name + (f"={default}" if p.optional and not stars else ""))
        if p.kind == "/" and "/" not in kinds[i + 1 :]:
            parts.append("/")
    return ", ".join(parts)


def read(text):
    """The parameters of a text."""
    return parameters(inspect.signature(eval(f"lambda {text}: 0", NUMBERS)))


# --- what is recorded ---


def signature_of(owner, name):
    """The signature of an attribute as text; `None` if it can't be known, or isn't a call."""
    found = functools.reduce(getattr, name.split("."), owner)
    holder = functools.reduce(getattr, name.split(".")[:-1], owner)
    if not callable(found) or isinstance(found, (types.ModuleType, enum.EnumType)):
        return None  # how members of an enumeration are found differs among versions of Python
    bound = found.__init__ if isinstance(found, type) else found
    try:
        if isinstance(native := getattr(bound, "__nb_signature__", None), tuple):
            return of_native(native[0][0])
        listed = parameters(inspect.signature(found))
    except (ValueError, TypeError):
        return None
    if hasattr(found, "nin") and listed and listed[0].kind == "*":  # a ufunc that says `*args`
        operands = ("x",) if found.nin == 1 else [f"x{i + 1}" for i in range(found.nin)]
        return written([*(Parameter(n, "/", False) for n in operands), *listed[1:]])
    return written(without_self(listed) if isinstance(holder, type) else listed)


def without_self(listed):
    """The parameters of a method, of its function's."""
    return listed[1:] if listed and listed[0].name == "self" else listed


def of_native(text):
    """The signature of a method of a class written in C++, of its Python declaration."""
    source = re.sub(r"\\\d+", "None", re.sub(r"^(def )?\(", "def f(", text)) + ": ..."
    node = ast.parse(source).body[0]
    node.returns, node.decorator_list = None, []
    for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
        arg.annotation = None
    scope = {}
    exec(ast.unparse(node), scope)
    return written(without_self(parameters(inspect.signature(scope[node.name]))))


def methods(found):
    """The names of the public methods that a class defines itself, or inherits of its library."""
    if not isinstance(found, type) or issubclass(found, BaseException):
        return []
    top = found.__module__.split(".")[0]
    if top in ("numpy", "ml_dtypes", "builtins"):
        return []
    own = [c for c in found.__mro__ if c.__module__.split(".")[0] in (top, "jaxlib")]
    names = {n for c in own for n in vars(c) if n[0] != "_"}
    return sorted(n for n in names if callable(getattr(found, n, None)))


def recorded(module, names):
    """Signatures of names of a module, and of the methods of classes among them."""
    table = {}
    for name in names:
        try:
            found = functools.reduce(getattr, name.split("."), module)
        except AttributeError:
            continue
        many = [] if "Tracer" in name else methods(found)
        for full in [name, *(f"{name}.{method}" for method in many)]:
            signature = signature_of(module, full)
            if signature is not None:
                table[full] = signature
    return table


def public_names(path, module):
    """The names of a namespace of weft's that are recorded."""
    listed = {n for table in compare.NAMES.values() for n in table.get(path, ())}
    if not listed:
        own = getattr(module, "__all__", None) or [
            n for n in dir(module)
            if n[0] != "_" and getattr(getattr(module, n), "__module__", "").startswith("jax")
        ]  # fmt: skip
        listed = set(own)
    return sorted(n.split(" ")[0] for n in listed)


def theirs(path, library):
    """The namespace of another library that stands for one of weft's; `None` if there is none."""
    path = path.replace("weft", library, 1)
    for old, new in (
        ("jax.experimental.stax", "jax.example_libraries.stax"),
        ("jax.experimental.optimizers", "jax.example_libraries.optimizers"),
        ("numpy.numpy", "numpy"), ("scipy.scipy", "scipy"),
    ):  # fmt: skip
        path = path.replace(old, new)
    try:
        return importlib.import_module(path)
    except ImportError:
        pass
    parent, _, last = path.rpartition(".")
    return getattr(theirs(parent, parent.split(".")[0]), last, None) if parent else None


def record():
    """Writes the signatures of the other libraries."""
    import jax.numpy

    paths = [p for table in compare.NAMES.values() for p in table if p[-1] not in ")]"]
    paths = [*dict.fromkeys([*paths, *(f"weft.{name}" for name in FURTHER.split())])]
    table = {"jax": {}, "numpy": {}, "scipy": {}}
    for path in paths:
        module = None if path == ARRAY else theirs(path, "jax")
        if module is None:
            continue
        names = public_names(path, module)
        table["jax"][path] = recorded(module, names)
        for other in ("numpy", "scipy"):
            if path.startswith(f"weft.{other}") and (module := theirs(path, other)) is not None:
                table[other][path] = recorded(module, names)
    array = jax.numpy.ones((2, 2))
    names = [n.split(" ")[0] for n in compare.NAMES["documented"][ARRAY]]
    table["jax"][ARRAY] = recorded(array, names)
    table["numpy"][ARRAY] = recorded(numpy.ones((2, 2)), names)
    at = f"{ARRAY}.at[...]"
    table["jax"][at] = recorded(array.at[0], compare.NAMES["documented"][at])
    table = {lib: {p: t for p, t in found.items() if t} for lib, found in table.items()}
    FILE.write_text(json.dumps(table, indent=0) + "\n")


# --- what weft has ---


def faults(wanted, found):
    """What calls would find otherwise: the names of parameters that are missing or misplaced.

    Args:
      wanted, found: lists of parameters.
    Returns: three lists of names: what can't be given by name, or must be given though it may be
      left out elsewhere; what can't be given at its position, or means another there; what is
      something else where it is left out.
    """
    by_name = {p.name: p for p in found if p.kind in "pk"}
    places = [p for p in found if p.kind in ("/", "p")]
    any_place, any_name = ({k} <= {p.kind for p in found} for k in ("*", "**"))
    missing, misplaced = [], []
    for p in wanted:
        if p.kind in ("p", "k") and p.name[0] != "_":
            own = by_name.get(p.name)
            if (own is None and not any_name) or (own and p.optional > own.optional):
                missing.append(p.name)
        elif p.kind == "*" and p.name != "args" and not any_place:
            missing.append(p.name)
    known = {p.name for p in wanted}
    for i, p in enumerate(p for p in wanted if p.kind in ("/", "p")):
        own = places[i] if i < len(places) else None
        if own is None:
            other = not any_place and p.name in by_name
        else:
            other = own.name != p.name and (p.name in by_name or own.name in known)
        if other:
            misplaced.append(p.name)
    taken = 99 if "*" in {p.kind for p in wanted} else sum(p.kind in ("/", "p") for p in wanted)
    missing += [
        p.name for i, p in enumerate(found)
        if not p.optional and p.name not in known and not (p.kind in ("/", "p") and i < taken)
    ]  # fmt: skip
    changed = [
        p.name
        for p in wanted
        if p.kind in "pk" and p.optional and p.default is not ... and p.name in by_name
        and not same(by_name[p.name], p)
    ]  # fmt: skip
    return missing, misplaced, changed


def same(own, other):
    """True if two parameters have one default: 1 and True are two."""
    return repr(own.default) == repr(other.default) or not own.optional


def found_of(function, owner, wanted):
    """The parameters of weft's function, with options of ufuncs if it takes them."""
    listed = parameters(inspect.signature(function))
    if isinstance(owner, type):
        listed = without_self(listed)
    names = {p.name for p in wanted}
    if "out" not in names or not {"where", "subok"} & names or wanted[0].kind != "/":
        return listed
    operands = [p for p in listed if not p.optional]
    taken = [
        Parameter(p.name, "p" if p.name == "out" else "k", True, p.default)
        for p in wanted
        if p.name in OPTIONS and takes(function, len(operands), p)
    ]
    named = [p for p in listed if p.optional and p.kind != "**" and p.name not in OPTIONS]
    return [*operands, *taken, *named]


def takes(function, count, option):
    """True if a function of arrays takes an option of ufuncs at NumPy's default."""
    import weft
    import weft.numpy as np

    operands = [np.ones((1, 1), int)] * count
    try:
        weft.eval_shape(functools.partial(function, **{option.name: option.default}), *operands)
    except TypeError:
        return False
    return True


@functools.cache
def differences():
    """What weft's functions lack, what they misplace, and which defaults they change: three sets of
    (function, parameter), and the number of functions."""
    missing, misplaced, changed, compared = set(), set(), set(), 0
    settled = set()  # defaults of JAX's; NumPy's and SciPy's count where it has none
    for table in json.loads(FILE.read_text()).values():
        for path, names in table.items():
            owner = compare.namespace(path)
            for name, text in names.items():
                head, _, method = name.rpartition(".")
                holder = owner if not head or owner is None else compare.attribute(owner, head)
                function = None if holder is None else compare.attribute(holder, method)
                if not callable(function):
                    continue
                wanted = read(text)
                try:
                    found = found_of(function, holder, wanted)
                except ValueError:  # of a class that takes anything, as exceptions do
                    continue
                compared += 1
                full = f"{path}.{name}".removeprefix("weft.")
                lacking, moved, other = faults(wanted, found)
                missing |= {(full, n) for n in lacking}
                misplaced |= {(full, n) for n in moved}
                changed |= {(full, n) for n in other} - settled
                settled |= {(full, p.name) for p in wanted if p.default is not ...}
    return missing, misplaced, changed, compared


def stated(title):
    """The rows of a table of the page: patterns of parameters, of functions, and the reason."""
    text = PAGE.read_text().partition(f"### {title}\n")[2].partition("\n#")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return [(re.findall("`([^`]+)`", a), re.findall("`([^`]+)`", b), c) for a, b, c in rows]


def covers(row, fault):
    """True if a row of a table speaks of a parameter of a function."""
    function, parameter = fault
    names, functions, _ = row
    return any(fnmatch.fnmatchcase(parameter, n) for n in names) and any(
        fnmatch.fnmatchcase(function, f) for f in functions
    )


if __name__ == "__main__":
    record()
