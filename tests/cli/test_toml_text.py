"""Lines of keys in texts of TOML, and tables written as TOML."""

import tomllib

import pytest
from hypothesis import given, settings, strategies as st

from weft.cli.toml_text import lines_of, written

TEXT = '''\
# a comment with [brackets] = "and quotes
top = 1
[run] # steps = 3
steps = 100
"quoted key" = 2
name.inner = "x # no comment"
text = """
[not a table]
key = 1
"""
literal = \'\'\'a ' b
c\'\'\'
list = [
  1, # one
  "two]",
  { a = 1, b = [2,
    3] },
]

[[stages]]
name = "Batch"
[[stages]]
name = "Log"
inner = { x = 1, y.z = "}" }
  [stages.deep]
  key = 1979-05-27T07:32:00Z
[a . "b.c"]
'd e' = -inf
'''


def test_every_key_has_its_line():
    tomllib.loads(TEXT)
    assert lines_of(TEXT) == {
        ("top",): 2,
        ("run",): 3,
        ("run", "steps"): 4,
        ("run", "quoted key"): 5,
        ("run", "name"): 6,
        ("run", "name", "inner"): 6,
        ("run", "text"): 7,
        ("run", "literal"): 11,
        ("run", "list"): 13,
        ("run", "list", 0): 14,
        ("run", "list", 1): 15,
        ("run", "list", 2): 16,
        ("run", "list", 2, "a"): 16,
        ("run", "list", 2, "b"): 16,
        ("run", "list", 2, "b", 0): 16,
        ("run", "list", 2, "b", 1): 17,
        ("stages",): 20,
        ("stages", 0): 20,
        ("stages", 0, "name"): 21,
        ("stages", 1): 22,
        ("stages", 1, "name"): 23,
        ("stages", 1, "inner"): 24,
        ("stages", 1, "inner", "x"): 24,
        ("stages", 1, "inner", "y"): 24,
        ("stages", 1, "inner", "y", "z"): 24,
        ("stages", 1, "deep"): 25,
        ("stages", 1, "deep", "key"): 26,
        ("a",): 27,
        ("a", "b.c"): 27,
        ("a", "b.c", "d e"): 28,
    }


def values():
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    plain = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | text
    return st.recursive(
        plain,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=8,
    ), text


VALUES, KEYS = values()


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_tables_come_back_as_they_were(tables):
    assert tomllib.loads(written(tables)) == tables


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_what_is_written_has_lines_for_all_keys(tables):
    def paths(value, path=()):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield (*path, key)
            if isinstance(item, dict | list):
                yield from paths(item, (*path, key))

    assert lines_of(written(tables)).keys() == {*paths(tables)}


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 1e30, 1e-7, 0.1, 5.0])
def test_floats_stay_floats(value):
    again = tomllib.loads(written({"x": value}))["x"]
    assert again == value
    assert type(again) is float
