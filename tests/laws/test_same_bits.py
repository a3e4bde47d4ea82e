"""The law of same bits: an un-jitted call gives the same bits at its first call and later, in every
process, whatever was called before it; and the program that it is compiled to is the same one.

Two processes call public functions three times each, one in the reverse order of the other, so that
plans and programs come in another order. Of the many calls a run takes a sample; `--whole` all.
"""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import public_calls
import pytest
import sampling

from weft.core.primitive import Primitive

COMBINATIONS = {
    "small float32": 150,
    "small float64": 40,
    "large float32": 40,
    "large float64": 15,
}
"""How many calls a run makes of each size and dtype."""

ALWAYS = (
    "numpy.linalg.solve numpy.linalg.inv numpy.linalg.pinv numpy.linalg.det numpy.linalg.slogdet "
    "numpy.linalg.lstsq scipy.linalg.expm scipy.linalg.sqrtm numpy.polyfit numpy.convolve "
    "nn.softmax nn.log_softmax nn.logsumexp nn.standardize numpy.std numpy.var numpy.quantile "
    "numpy.linalg.norm numpy.linalg.svd numpy.divmod numpy.fft.fft2"
)
"""Functions that gave other bits at a later call, or none: each is called with large arrays."""

WITHOUT = {
    "numpy": {
        "tells of shapes and dtypes, and computes no arrays":
            "array_repr array_str broadcast_shapes can_cast einsum_path finfo get_printoptions "
            "iinfo iscomplexobj isdtype isrealobj isscalar issubdtype issubsctype iterable ndim "
            "printoptions promote_types result_type set_printoptions shape size",
        "reads or writes a file": "fromfile load save savez",
    },
    "lax": {
        "tells of shapes and dtypes, and computes no arrays":
            "DotDimensionNumbers broadcast_shapes conv_dimension_numbers conv_general_permutations "
            "conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple dtype "
            "padtype_to_pads reduce_window_shape_tuple",
        "gives other numbers at each call by its purpose": "rng_uniform",
        "moves arrays": "with_sharding_constraint",
        "refuses dtypes of 8 bits that NumPy does not have": "scaled_dot",
    },
    "nn": {
        "needs dtypes of 8 bits": "get_scaled_dot_general_config scaled_dot_general scaled_matmul",
    },
    "random": {"tells of a key": "key_dtype key_impl"},
}  # fmt: skip
"""Public functions without a call, with the reason."""


def calls():
    """The names of the calls of this run."""
    chosen = []
    for combination, count in COMBINATIONS.items():
        names = [
            f"{name} {i} {combination}"
            for name, rows in public_calls.FUNCTIONS.items()
            for i in range(len(rows))
        ]
        kept = {n for n in names if n.split()[0] in ALWAYS.split() and n.endswith("large float32")}
        kept.update(sampling.some(names, count, f"same bits, {combination}"))
        chosen += [n for n in names if n in kept]
    return chosen


def outcomes(names):
    """The digests of each call in two processes."""
    processes = [
        subprocess.Popen(
            [sys.executable, str(Path(public_calls.__file__)), *order],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **env},
        )
        for order, env in (([], {}), (["--backwards"], {"PYTHONHASHSEED": "1"}))
    ]  # fmt: skip
    for process in processes:
        process.stdin.write(json.dumps(names))
        process.stdin.close()
    found = []
    for process in processes:
        with process:
            found.append(process.stdout.read())
    assert [process.returncode for process in processes] == [0, 0]
    return [json.loads(text) for text in found]


@pytest.mark.timeout(1800)  # with --whole, some 10 minutes
def test_every_call_gives_the_same_bits():
    names = calls()
    first, second = outcomes(names)
    assert set(first) == set(second) == set(names)
    differing = {
        (name, what): digests
        for name in names
        for what in ("calls", "program")
        if len({*(digests := [*first[name][what], *second[name][what]])}) > 1
    }
    assert differing == {}


@pytest.mark.parametrize(
    "path", [p for p in public_calls.CALLS if not p.startswith("scipy.stats.")]
)
def test_every_public_function_has_a_call(path):
    module = importlib.import_module(f"weft.{path}")
    names = [n for n in getattr(module, "__all__", dir(module)) if not n.startswith("_")]
    called = {id(public_calls.public(name)) for name in public_calls.FUNCTIONS if name != "Array"}
    excused = {n for text in WITHOUT.get(path, {}).values() for n in text.split()}
    assert excused <= set(names)
    missing = [
        n
        for n in names
        if callable(f := getattr(module, n))
        and not isinstance(f, (type, Primitive))
        and id(f) not in called
        and n not in excused
    ]
    assert missing == []


def test_a_difference_is_seen():
    x = public_calls.Arguments(False, "float32").x
    digests = [public_calls.digest(v) for v in (x, x + 1e-7, -x * 0, x * 0, x.astype("int32"), [x])]
    assert len(set(digests)) == len(digests)
    assert public_calls.digest(x) == public_calls.digest(x + 0)
