"""The error for a name that a namespace does not have."""

import importlib
import re
import subprocess
import sys

import pytest

import weft
import weft.experimental
import weft.lax
import weft.random
from weft import jax_names
from weft.lazy import absent

NAMES = [
    (owner, name)
    for owner, names in jax_names.NOT_YET.items()
    for name in [*names.split(), "infeed_p"]
    if not (name == "infeed_p" and owner != "weft.lax")
]


def there(path):
    found = weft
    for part in path.split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None


@pytest.mark.parametrize(("owner", "name"), NAMES)
def test_names_of_jax_say_that_they_are_not_there(owner, name):
    message = str(absent(owner, name))
    first, second, *_ = message.split("\n")
    assert first == f"module {owner!r} has no attribute {name!r}"
    own = f"{owner}.{name}".replace("weft", "jax", 1)
    assert re.fullmatch(f"  {re.escape(own)} is (not in weft yet|left out of weft: .+)", second)


@pytest.mark.parametrize("full", [*jax_names.INSTEAD, *jax_names.LEFT_OUT])
def test_the_way_out_is_there(full):
    owner, _, name = full.rpartition(".")
    assert name in jax_names.NOT_YET[owner].split()
    texts = [jax_names.INSTEAD.get(full, ""), jax_names.LEFT_OUT.get(full, "")]
    for path in re.findall(r"weft(?:\.\w+)+", " ".join(texts)):
        assert there(path), path


def test_names_that_are_not_there_raise_where_they_are_asked_for():
    there = [f"{owner}.{name}" for owner, name in NAMES
             if hasattr(importlib.import_module(owner), name)]  # fmt: skip
    assert there == []
    with pytest.raises(AttributeError, match=r"no attribute 'pdot'\n  jax\.lax\.pdot is not in"):
        weft.lax.pdot  # noqa: B018


@pytest.mark.parametrize(
    ("owner", "name", "instead"),
    [
        ("weft", "sum", "weft.numpy.sum"),
        ("weft", "normal", "weft.random.normal"),
        ("weft.numpy", "jit", "weft.jit"),
        ("weft.numpy", "psum", "weft.lax.psum"),
        ("weft.lax", "where", "weft.numpy.where"),
        ("weft.random", "register_pytree_node", "weft.tree_util.register_pytree_node"),
        ("weft.experimental", "Mesh", "weft.sharding.Mesh"),
    ],
)
def test_a_name_of_another_namespace(owner, name, instead):
    assert str(absent(owner, name)).endswith(f"\n  fix: did you mean {instead}?")


@pytest.mark.parametrize("owner", jax_names.TRAX_NOT_YET)
def test_names_of_trax_say_that_they_are_not_there(owner):
    names = jax_names.TRAX_NOT_YET[owner].split()
    assert [name for name in names if hasattr(importlib.import_module(owner), name)] == []
    for name in names:
        own = f"{owner}.{name}".replace("weft", "trax", 1)
        assert str(absent(owner, name)).endswith(f"\n  {own} is not in weft yet")


@pytest.mark.parametrize("name", jax_names.OPTIMIZERS)
def test_an_optimizer_of_another_library_comes_from_optax(name):
    found = str(absent("weft.optimizers", name))
    assert found.endswith(f"\n  fix: optimizers.from_optax(optax.{name.lower()}(…))")
    assert not hasattr(importlib.import_module("weft.optimizers"), name)


@pytest.mark.parametrize("name", ["__wrapped__", "_src", "no_such_thing"])
def test_probes_get_a_plain_error(name):
    error = absent("weft.numpy", name)
    assert str(error) == f"module 'weft.numpy' has no attribute '{name}'"
    assert (error.name, error.obj) == (name, weft.numpy)
    assert not hasattr(weft.numpy, name)


PRINTED = [
    ("weft.numpy.summ", "'sum'"),
    ("weft.jitt", "'jit'"),
    ("weft.numpy.ones(3).summ()", "'sum'"),
    ("weft.jit(lambda x: x.summ())(1.0)", "'sum'"),
]


def test_python_says_what_is_near_when_it_prints_the_error():
    for program, near in PRINTED:
        text = f"import weft\n{program}"
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        assert done.stderr.strip().endswith(f"Did you mean: {near}?"), done.stderr
