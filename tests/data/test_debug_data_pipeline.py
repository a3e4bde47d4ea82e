"""`debug_pipeline` logs examples and changes none."""

import logging

import pytest

from weft import data


def numbers(n):
    yield from range(n)


@pytest.mark.parametrize(
    ("options", "logged"),
    [
        ({}, []),
        ({"debug": True}, [1, 2, 4, 8]),
        ({"debug": True, "method": "every"}, list(range(1, 11))),
    ],
)
def test_examples_are_logged(caplog, options, logged):
    with caplog.at_level(logging.INFO):
        assert list(data.debug_pipeline(numbers, log_prefix="x", **options)(10)) == list(range(10))
    assert [r.message for r in caplog.records] == [f"x: example {i}: {i - 1}" for i in logged]


def test_names_and_errors(caplog):
    assert data.debug_pipeline(numbers) is numbers
    logged = data.debug_data_pipeline.debug_pipeline(numbers, debug=True)
    assert logged.__name__ == "numbers"
    with caplog.at_level(logging.INFO):
        next(logged(3))
    assert caplog.records[0].message == "numbers: example 1: 0"
    with pytest.raises(ValueError, match="debug_pipeline: method must be 'pow' or 'every'"):
        data.debug_pipeline(numbers, method="x")
    with pytest.raises(TypeError, match="debug_pipeline: f must be a function"):
        data.debug_pipeline(5)
