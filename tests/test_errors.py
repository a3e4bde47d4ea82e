"""The exception tree: what catches what, and docstrings that teach."""

import inspect
import re
import textwrap

import numpy as onp
import pytest

import weft
import weft.lax
import weft.numpy
from weft import errors

ALL = [
    cls
    for _, cls in inspect.getmembers(errors, inspect.isclass)
    if issubclass(cls, errors.WeftError) and cls is not errors.WeftError
]


BASES = [
    ("ShapeError", (TypeError, ValueError)),
    ("IndexingError", (errors.ShapeError, TypeError, ValueError, IndexError)),
    ("AxisError", (errors.ShapeError, onp.exceptions.AxisError, ValueError, IndexError)),
    ("TypePromotionError", (errors.ShapeError, TypeError, ValueError)),
    ("DerivativeError", (TypeError, ValueError)),
    ("ConcretizationTypeError", (TypeError,)),
    ("TracerBoolConversionError", (errors.ConcretizationTypeError, TypeError)),
    ("UnboundAxisError", (NameError,)),
    ("TracerIntegerConversionError", (TypeError,)),
    ("TracerArrayConversionError", (TypeError,)),
    ("NonConcreteBooleanIndexError", (IndexError,)),
    ("UnexpectedTracerError", (TypeError,)),
    ("MissingRuleError", (NotImplementedError,)),
    ("CheckpointError", (ValueError,)),
    ("CheckpointMismatchError", (errors.CheckpointError, ValueError, IndexError)),
    ("DerivativeRuleError", (ValueError,)),
    ("KeyReuseError", (TypeError,)),
    ("InvalidJaxprError", (RuntimeError,)),
    ("DeletedArrayError", (RuntimeError,)),
    ("CompilationError", (RuntimeError,)),
    ("ExecutionError", (RuntimeError,)),
]


@pytest.mark.parametrize(("name", "bases"), BASES)
def test_tree(name, bases):
    cls = getattr(errors, name)
    for base in (*bases, errors.WeftError):
        with pytest.raises(base, match="text"):
            raise cls("text")
    unrelated = {TypeError, ValueError, IndexError, RuntimeError, NotImplementedError} - {
        parent for base in bases for parent in base.__mro__
    }
    unrelated -= {RuntimeError} if NotImplementedError in bases else set()  # one of its bases
    assert not issubclass(cls, tuple(unrelated))


def test_every_class_that_a_caller_can_catch_as_a_builtin_has_a_row():
    listed = {name for name, _ in BASES}
    for cls in ALL:
        builtin = {base for base in cls.__mro__ if base.__module__ == "builtins"}
        inherited = {base for parent in cls.__bases__ if parent in ALL for base in parent.__mro__}
        if builtin - {object, BaseException, Exception} - inherited:
            assert cls.__name__ in listed


def test_the_tree_at_the_top_of_the_file_names_every_class():
    tree = errors.__doc__.partition("WeftError  ")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"─ (\w+)", tree)) == sorted(cls.__name__ for cls in ALL)


@pytest.mark.parametrize("cls", ALL)
def test_docstrings_say_causes_and_cures(cls):
    text = inspect.getdoc(cls)
    assert text.index("Usual causes:") < text.index("Cures:")
    assert text.splitlines()[0].endswith(".")
    example = text.partition("Example::\n")[2]
    if example:
        compile(textwrap.dedent(example), cls.__name__, "exec")
        assert text.index("Cures:") < text.index("Example::")


WITH_EXAMPLE = [cls for cls in ALL if "Example::" in cls.__doc__]


@pytest.mark.parametrize("cls", WITH_EXAMPLE)
def test_examples_raise_and_the_fix_in_their_comment_helps(cls):
    text = textwrap.dedent(inspect.getdoc(cls).partition("Example::\n")[2])
    names = {"__name__": cls.__name__, "weft": weft, "np": weft.numpy, "lax": weft.lax}
    with pytest.raises(cls):
        exec(text, dict(names))
    wrong = [line for line in text.splitlines() if "# fix: " in line]
    for line in wrong:
        code, _, fix = line.partition("# fix: ")
        indent = code[: len(code) - len(code.lstrip())]
        if fix in RIGHT:
            exec(text.replace(line, indent + RIGHT[fix]), dict(names))
        else:
            exec(text.replace(line, indent + fix), dict(names))


# Fixes that are described, as code.
RIGHT = {
    "weft.jit(f, static_argnums=1)": "weft.jit(f.__wrapped__, static_argnums=1)(2.0, 3)",
    "np.asarray(table)[i]": "return np.asarray(table)[i]",
    "weft.numpy.sin(x)": "return weft.numpy.sin(x)",
    "np.sum(np.where(x > 0, x, 0))": "return np.sum(np.where(x > 0, x, 0))",
    "axis=0, or axis=-1": "np.sum(np.ones(3), axis=0)",
    "its own key": "y = weft.random.normal(weft.random.clone(key))",
    "return both values": "seen[:] = [np.ones(())]",
    'weft.vmap(f, axis_name="i")': "weft.vmap(f, axis_name='i')(np.arange(3.0))",
    "lax.stop_gradient(x) as its argument": "return lax.nextafter(lax.stop_gradient(x), 2.0) * x",
    "return np.where(x > 0, x, -x)": "if True:",
}


def test_see_points_to_the_docstring():
    line = errors.see(errors.UnexpectedTracerError)
    assert line == "  more: help(weft.errors.UnexpectedTracerError)"
