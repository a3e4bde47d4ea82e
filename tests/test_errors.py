"""The exception tree: what catches what, and docstrings that teach."""

import copy
import inspect
import pickle
import textwrap

import pytest

from weft import errors

ALL = [
    cls
    for _, cls in inspect.getmembers(errors, inspect.isclass)
    if issubclass(cls, errors.WeftError) and cls is not errors.WeftError
]


@pytest.mark.parametrize(
    ("name", "bases"),
    [
        ("ConcretizationTypeError", (TypeError,)),
        ("TracerBoolConversionError", (errors.ConcretizationTypeError, TypeError)),
        ("TracerIntegerConversionError", (TypeError,)),
        ("TracerArrayConversionError", (TypeError,)),
        ("NonConcreteBooleanIndexError", (IndexError,)),
        ("UnexpectedTracerError", (TypeError,)),
        ("MissingRuleError", (NotImplementedError,)),
        ("InvalidJaxprError", (RuntimeError,)),
        ("DeletedArrayError", (RuntimeError,)),
        ("CompilationError", (RuntimeError,)),
        ("ExecutionError", (RuntimeError,)),
    ],
)
def test_tree(name, bases):
    cls = getattr(errors, name)
    for base in (*bases, errors.WeftError):
        with pytest.raises(base, match="text"):
            raise cls("text")
    unrelated = {TypeError, IndexError, RuntimeError, NotImplementedError} - {
        parent for base in bases for parent in base.__mro__
    }
    unrelated -= {RuntimeError} if NotImplementedError in bases else set()  # one of its bases
    assert not issubclass(cls, tuple(unrelated))


def test_the_tree_at_the_top_of_the_file_names_every_class():
    assert len(ALL) == 11
    for cls in ALL:
        assert cls.__name__ in errors.__doc__


@pytest.mark.parametrize("cls", ALL)
def test_docstrings_say_causes_and_cures(cls):
    text = inspect.getdoc(cls)
    assert text.index("Usual causes:") < text.index("Cures:")
    assert text.splitlines()[0].endswith(".")
    example = text.partition("Example::\n")[2]
    if example:
        compile(textwrap.dedent(example), cls.__name__, "exec")
        assert text.index("Cures:") < text.index("Example::")


@pytest.mark.parametrize("cls", ALL)
def test_errors_can_be_pickled_and_copied(cls):
    for error in (pickle.loads(pickle.dumps(cls("text"))), copy.copy(cls("text"))):
        assert type(error) is cls
        assert str(error) == "text"


def test_see_points_to_the_docstring():
    line = errors.see(errors.UnexpectedTracerError)
    assert line == "  more: help(weft.errors.UnexpectedTracerError)"
