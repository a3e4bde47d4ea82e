"""Namespaces load their modules when a name is asked for, and not before."""

import os
import subprocess
import sys

import pytest

import weft
import weft.numpy as np
from weft import fastmath, lax
from weft.experimental import optimizers
from weft.higher_order.while_loop import while_loop
from weft.lazy import Deferred, exports
from weft.scipy import stats


def test_every_exported_name_is_there():
    for package in (weft, weft.lax, weft.numpy, weft.random):
        for name in package.__all__:
            assert getattr(package, name) is not None or name == "newaxis"
        assert set(package.__all__) <= set(dir(package))


NAMESPACES = (weft, weft.core, fastmath, weft.lax, weft.layers, weft.numpy, optimizers, stats)


@pytest.mark.parametrize("package", NAMESPACES, ids=lambda package: package.__name__)
def test_completion_shows_the_exported_names_and_no_others(package):
    for name in package.__all__:
        getattr(package, name)
    shown = [name for name in dir(package) if not (name.startswith("__") and name.endswith("__"))]
    assert shown == sorted(n for n in package.__all__ if not n.startswith("__"))


@pytest.mark.parametrize("package", NAMESPACES, ids=lambda package: package.__name__)
def test_a_star_import_has_the_exported_names(package):
    assert type(package.__all__) is list
    found: dict[str, object] = {}
    exec(f"from {package.__name__} import *", found)
    assert found.keys() - {"__builtins__"} == set(package.__all__)
    assert all(found[name] is getattr(package, name) for name in package.__all__)


def test_a_module_with_the_name_of_its_function_does_not_hide_it():
    program = (
        "import importlib, sys, weft, weft.layers as tl\n"
        "importlib.import_module('weft.layers.assert_shape')\n"
        "importlib.import_module('weft.config')\n"
        "assert isinstance(tl.assert_shape, type(lambda: 0)), tl.assert_shape\n"
        "assert weft.config.enable_x64 is False\n"
        "from weft import random\n"
        "assert 'weft.random.gamma' not in sys.modules\n"
        "import weft.random.gamma\n"
        "random.dirichlet(random.key(0), weft.numpy.ones(2))\n"
        "assert not isinstance(random.gamma, type(sys)), random.gamma\n"
        "assert not isinstance(random.beta, type(sys)), random.beta\n"
        "import weft.numpy.reductions\n"  # which imports primitives' module of that name
        "assert weft.numpy.reductions is sys.modules['weft.numpy.reductions']\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_unknown_name_is_an_attribute_error_that_names_the_module():
    with pytest.raises(AttributeError, match=r"'weft\.numpy' has no attribute 'no_such_thing'"):
        _ = np.no_such_thing


def test_a_found_name_becomes_an_attribute():
    _, getattr_, _ = exports("weft.numpy", {"products": "dot"})
    assert getattr_("dot") is np.dot
    assert vars(np)["dot"] is np.dot


def test_a_name_may_be_another_one_in_its_module():
    assert lax.while_p is while_loop
    assert vars(lax)["while_p"] is while_loop
    assert not hasattr(lax, "abs_")


def test_a_deferred_module_is_the_module():
    assert Deferred("math").pi == __import__("math").pi


@pytest.mark.parametrize(
    "first",
    [
        "weft.lax.sin(1.0)",
        "weft.make_jaxpr(lambda x: x)(1.0)",
        "weft.device_put(1.0)",
        "weft.grad(lambda x: x)(1.0)",
        "weft.Array",
        "threading.Thread(target=weft.lax.sin, args=(1.0,)).start()",
    ],
)
def test_whatever_comes_first_loads_what_it_needs(first):
    program = (
        "import threading, weft\n"
        "from weft.core.trace import current\n"
        "base = current.base\n"
        f"{first}\n"
        "assert weft.jit(weft.lax.sin)(0.0) == weft.lax.sin(0.0) == 0\n"
        "assert current.trace is current.base is base\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_importing_weft_loads_little():
    program = (
        "import sys, weft, weft.numpy\n"
        "loaded = [m for m in sys.modules if m.startswith('weft.')]\n"
        "assert len(loaded) < 20, loaded\n"
        "assert 'weft.interpreters' not in sys.modules\n"
        "x = weft.numpy.ones(2) + 1\n"
        "assert x.tolist() == [2.0, 2.0]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_small_eager_work_does_not_load_jaxlib():
    """It takes 60 ms and more to load; on a machine without an accelerator nothing needs it."""
    program = (
        "import copy, pickle, sys, numpy, weft, weft.numpy as np\n"
        "loss = lambda w, x: np.mean(np.tanh(np.dot(x, w)) ** 2)\n"
        "w, x = np.array(numpy.ones((2, 2), 'f')), np.ones((3, 2))\n"
        "loss, gradient = weft.value_and_grad(loss)(w, x)\n"
        "w = w - 0.1 * gradient\n"
        "print(w, repr(w), f'{loss:.3f}', w[0], w.tolist(), w.is_fully_addressable)\n"
        "copy.deepcopy(pickle.loads(pickle.dumps(w)))\n"
        "weft.vmap(np.sin)(x), weft.make_jaxpr(np.cos)(x), weft.tree_util.tree_map(abs, [w])\n"
        "assert 'jaxlib' not in sys.modules\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "WEFT_CPU_DEVICES"}
    environment["WEFT_PLATFORM"] = "cpu"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
