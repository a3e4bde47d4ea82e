"""Runs the examples in docstrings of weft, module by module, decorated functions included."""

import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import sampling
from sessions import OPTIONS, CloseNumbers, run_session

import weft

# What examples may use without importing it, besides the names of their module.
NAMES = {
    "weft": "weft",
    "np": "weft.numpy",
    "lax": "weft.lax",
    "random": "weft.random",
    "tl": "weft.layers",
    "tree_util": "weft.tree_util",
}
# Each compiles a program with loops, for about a second. tests/scipy/stats compares the values that
# they state with SciPy's; `--whole` runs them too.
SLOW = re.compile(r"weft\.scipy\.stats\.\w+\.(sf|logcdf|logsf|isf)")
FUNCTIONS = ("grad", "jit", "jvp", "make_jaxpr", "value_and_grad", "vjp", "vmap")

MODULES = [
    info.name
    for info in pkgutil.walk_packages(weft.__path__, "weft.")
    if not info.name.endswith("__main__")
    and not info.name.startswith(("weft.fastmath.tf", "weft.fastmath.tensorflow"))  # they load it
]


def docstrings(module: ModuleType) -> Iterator[tuple[str, str]]:
    """(name, docstring) of a module and of the functions, classes and methods defined in it."""
    yield module.__name__, module.__doc__ or ""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(value):
            yield f"{module.__name__}.{name}", value.__doc__ or ""
            for method, member in vars(value).items():
                function = held(member)
                if getattr(function, "__module__", None) == module.__name__:
                    yield f"{module.__name__}.{name}.{method}", function.__doc__ or ""
        elif callable(value):
            yield f"{module.__name__}.{name}", value.__doc__ or ""


PACKAGES = {"import tensorflow": "tensorflow", "tensorstore": "tensorstore"}
"""Words of examples that need a package which may not be installed."""


def held(member: Any) -> Any:
    """The function in a property, static method or class method; other members as they are."""
    for place in ("fget", "func", "__func__"):
        member = getattr(member, place, member)
    return member


@pytest.mark.parametrize("name", ["weft", *MODULES])
def test_examples_in_docstrings_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    given = {name: importlib.import_module(path) for name, path in NAMES.items()}
    given |= {name: getattr(weft, name) for name in FUNCTIONS}
    missing = [
        words for words, package in PACKAGES.items() if importlib.util.find_spec(package) is None
    ]
    said, seen = [], set()
    for where, text in docstrings(module):
        left_out = SLOW.fullmatch(where) and not sampling.whole
        left_out = left_out or any(words in text for words in missing)
        if ">>> " in text and text not in seen and not left_out:
            seen.add(text)
            said.append(run_session(text, vars(module) | given, where))
    assert not "".join(said), "".join(said)


INVENTED = """
import functools, math

@functools.lru_cache
def decorated():
    '>>> 1'

class Thing:
    sine = math.sin

    @property
    def side(self):
        '>>> 2'
"""


def test_examples_of_decorated_functions_are_found():
    module = ModuleType("weft.invented")
    exec(INVENTED, vars(module))
    found = [text for _, text in docstrings(module) if text]
    assert found == [">>> 1", ">>> 2"]


def test_a_wrong_value_is_found_and_a_following_section_is_no_value():
    right = "Example:\n  >>> 1 + 1\n  2\nSource: arithmetic."
    assert run_session(right, {}, "there") == ""
    assert 'File "there", line 2' in run_session(right.replace("  2", "  3"), {}, "there")


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ("[ 1.8160859 -0.4]", "[ 1.8160866 -0.4]", True),
        ("[ 0.84147096]", "[0.841471  ]", True),
        ("1.25", "1.26", False),
        ("12.0", "12", False),
        ("(3, 2.0)", "(4, 2.0)", False),
    ],
)
def test_floats_are_compared_to_five_digits(want, got, same):
    assert CloseNumbers().check_output(want + "\n", got + "\n", OPTIONS) == same
