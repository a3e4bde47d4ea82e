"""Wrong calls of public functions, one or more for each error that a docstring names.

`wrong_calls.json` has them by namespace and function: the source of a call, the error's class, and
the beginning of its message. `python tests/errors/wrong_calls.py` looks for further ones: it takes
the call in a docstring's example, and puts wrong values in its arguments' places. What it proposes
is to be read before it is kept.
"""

import ast
import contextlib
import importlib
import inspect
import io
import json
import pathlib
import re
import sys
import time
import warnings

FILE = pathlib.Path(__file__).with_name("wrong_calls.json")
NAMESPACES = """
    numpy numpy.linalg numpy.fft lax lax.linalg random nn nn.initializers scipy.special
    scipy.linalg scipy.signal scipy.fft scipy.stats scipy.ndimage scipy.integrate
    scipy.optimize scipy.cluster.vq scipy.sparse.linalg image ops tree_util layers
""".split()  # noqa: SIM905
IMPORTS = """
import numpy as onp, weft
import weft.image, weft.ops, weft.scipy.cluster.vq, weft.scipy.sparse.linalg, weft.tree_util
from weft import grad, image, jit, lax, layers as tl, nn, numpy as np, ops, random, scipy
from weft import tree_util, vmap
"""
WRONG = """
    'wrong' None 1.5 -1 99 object() np.ones(()) np.ones(3) np.ones((2,3)) np.ones((2,2,3))
    1j*np.ones(3) 1j*np.ones((2,2)) np.ones(3,int) np.ones((3,3),int) np.ones(2,bool) np.zeros(0)
    (0,0) (9,) [] {} -np.ones(3) np.inf 0 np.int8(1) int
""".split()  # noqa: SIM905
PATHS = {"numpy": "np", "numpy.linalg": "np.linalg", "numpy.fft": "np.fft", "layers": "tl"}
"""How calls name the namespaces that are not called by their own names."""
MOST = 5  # calls for one class of errors


def public_functions(namespace):
    """The functions of a namespace, by name, without those that change settings of the process."""
    module = importlib.import_module(f"weft.{namespace}")
    found = {name: getattr(module, name) for name in module.__all__ if name[:4] != "set_"}
    return {name: function for name, function in found.items() if callable(function)}


def errors_named(function):
    """The classes of errors in the section `Raises` of a docstring."""
    section = (inspect.getdoc(function) or "").partition("\nRaises:")[2]
    section = re.split(r"\n(?:[A-Z]\w*:|\n)", section)[0]
    return set(re.findall(r"\b([A-Z]\w+Error)\b", section))


def caught(source, names):
    """The error of a call, as (the names of its class and of those above, beginning of its
    message); `None` if there is none."""
    *setup, call = ast.parse(source).body
    scope = dict(names)
    try:
        exec(compile(ast.Module(setup, []), "<setup>", "exec"), scope)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(ast.Module([call], []), "<call>", "exec"), scope)
    except Exception as error:
        return [c.__name__ for c in type(error).__mro__], beginning(str(error))
    return None


def beginning(message):
    """The part of a message that says what is refused, without what came."""
    message = re.split(r"[;\n]|, got|: got| got ", message)[0]
    message = re.sub(r"\b(?:bool|bfloat16|(?:u?int|float|complex)\d+)\[[^\]]*\]", "array", message)
    return re.sub(r"-?\b\d+(\.\d*)?\b", "n", message)[:80]


def path_of(namespace, name):
    """How calls write the name of a function."""
    return f"{PATHS.get(namespace, namespace)}.{name}"


def imported():
    names = {}
    exec(IMPORTS, names)
    return names


def written(table):
    """The text of the file: a call on a line."""
    texts = [
        json.dumps([namespace, name, *row], ensure_ascii=False)
        for namespace, rows in table.items()
        for name, calls in sorted(rows.items())
        for row in calls
    ]
    return "[\n" + ",\n".join(texts) + "\n]\n"


def recorded():
    """The wrong calls by namespace and function: (source, the error's class, its beginning)."""
    table = {namespace: {} for namespace in NAMESPACES}
    for namespace, name, *row in json.loads(FILE.read_text()) if FILE.exists() else ():
        table[namespace].setdefault(name, []).append(row)
    return table


# --- looking for calls ---


def example_of(function, name, path):
    """(statements before, call) of the first call of a function in its docstring."""
    lines = re.findall(r"^ *(?:>>>|\.\.\.) (.*)", inspect.getdoc(function), re.MULTILINE)
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:  # an ellipsis in what is printed
        return None
    for i, statement in enumerate(tree.body):
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name:
                node.func = ast.parse(path, mode="eval").body
                return [ast.unparse(s) for s in tree.body[:i]], node
    return None


def calls_with_a_text(name, function, path):
    """(parameter, source) of calls of an example with a text for one parameter."""
    example = inspect.isfunction(function) and example_of(function, name, path)
    if not example:
        return
    setup, call = example
    parameters = list(inspect.signature(function).parameters.values())
    named = [p.name for p in parameters if p.kind.name[:3] != "KEY"]
    own = [ast.unparse(a) for a in call.args]
    by_name = {k.arg: ast.unparse(k.value) for k in call.keywords if k.arg}
    calls = [
        (named[min(i, len(named) - 1)], [*own[:i], "'text'", *own[i + 1 :]], by_name)
        for i in range(len(own))
    ]
    calls += [
        (p.name, own, {**by_name, p.name: "'text'"})
        for p in parameters[len(own) :]
        if p.kind.name in ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY")
    ]
    for parameter, args, keywords in calls:
        texts = [*args, *(f"{name}={text}" for name, text in keywords.items())]
        yield parameter, "; ".join([*setup, f"{path}({', '.join(texts)})"])


def variants(call, function):
    """Calls with one wrong argument."""
    own = [ast.unparse(a) for a in call.args]
    by_name = {k.arg: ast.unparse(k.value) for k in call.keywords if k.arg}
    path = ast.unparse(call.func)
    taken = list(inspect.signature(function).parameters.values())
    rest = [
        p.name
        for p in taken[len(own) :]
        if p.kind.name in ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY")
    ]
    for wrong in WRONG:
        for i in range(len(own)):
            args = [*own[:i], wrong, *own[i + 1 :]]
            yield f"{path}({', '.join([*args, *(f'{k}={v}' for k, v in by_name.items())])})"
        for name in dict.fromkeys([*by_name, *rest]):
            given = {**by_name, name: wrong}
            yield f"{path}({', '.join([*own, *(f'{k}={v}' for k, v in given.items())])})"


def proposed(name, function, path, names):
    """Wrong calls of a function: at most `MOST` for each class that its docstring names."""
    example = example_of(function, name, path)
    if example is None:
        return []
    setup, call = example
    rows, seen, named = [], {}, errors_named(function)
    until = time.process_time() + 0.3
    for source in variants(call, function):
        if time.process_time() > until:
            break
        needed = [
            s
            for s in setup
            if set(re.findall(r"\w+", s.partition("=")[0])) & set(re.findall(r"\w+", source))
        ]
        text = "; ".join([*needed, source])
        try:
            error = caught(text, names)
        except SyntaxError:
            continue
        if error is None:
            continue
        classes, message = error
        kind = next((c for c in classes if c in named), classes[0])
        if ":" not in message or name not in message.partition(":")[0]:
            continue  # it is of Python, or of a function that is called
        told = seen.setdefault(kind, [])
        if message not in told and len(told) < MOST:
            told.append(message)
            rows.append([text, kind, message])
    return rows


if __name__ == "__main__":
    from weft.config import eager_tier

    warnings.simplefilter("ignore")
    table = recorded()
    names = imported()
    with eager_tier("host"):
        for namespace in sys.argv[1:] or NAMESPACES:
            rows = table[namespace]
            for name, function in public_functions(namespace).items():
                known = [message for _, _, message in rows.get(name, ())]
                found = proposed(name, function, path_of(namespace, name), names)
                rows[name] = rows.get(name, []) + [row for row in found if row[2] not in known]
            FILE.write_text(written(table))
