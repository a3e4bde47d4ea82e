"""Evaluates the table with one library and pickles the results: `python peer.py LIBRARY < table`.

Runs in the peer's interpreter, where weft need not be; `LIBRARY` is 'jax' or 'weft'.
"""

import importlib
import pickle
import sys
import warnings

import numpy as onp
import programs
import samples


def result(value):
    """A result as plain data: (dtype, shape, weak, elements) for each array."""
    if isinstance(value, (tuple, list)):
        return [result(v) for v in value]
    if isinstance(value, dict):
        return [result(value[k]) for k in sorted(value)]
    if not hasattr(value, "dtype"):
        return repr(value)
    array = onp.asarray(value)
    name = array.dtype.name
    if array.dtype.isbuiltin != 1:  # a dtype of ml_dtypes, which the other side may not know
        array = array.astype("float32")
    weak = bool(getattr(value, "weak_type", False))
    return (name, array.shape, weak, array.dtype.name, array.tobytes())


def evaluated(library, table):
    """The results of (function, arguments) in source text; 'error' where one is raised."""
    parts = {part: importlib.import_module(f"{library}.{part}") for part in ("lax", "random")}
    names = {
        "api": importlib.import_module(library),
        "np": importlib.import_module(f"{library}.numpy"),
        "onp": onp,
        "samples": samples,
        "programs": programs,
        **parts,
    }

    def data(x):
        """Keys as the arrays that they are made of."""
        return (
            x if isinstance(getattr(x, "dtype", None), onp.dtype) else parts["random"].key_data(x)
        )

    names["data"] = data
    found = []
    for function, arguments in table:
        try:
            f = eval(function, names)
            found.append(result(f(*[eval(a, names) for a in arguments])))
        except Exception:
            found.append("error")
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(evaluated(sys.argv[1], table)))
