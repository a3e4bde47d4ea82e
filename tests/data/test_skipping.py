"""Examples that are left out, and their counters."""

import json

import pytest

from weft import data
from weft.errors import CheckpointError


@pytest.fixture(autouse=True)
def no_counters():
    before = dict(data.data_counters)
    data.data_counters.clear()
    yield
    data.data_counters.clear()
    data.data_counters.update(before)


def test_count_and_skip():
    pipeline = data.Serial(lambda: iter(range(10)), data.CountAndSkip("toy"))
    stream = pipeline()
    assert [next(stream), next(stream)] == [0, 1]
    assert data.data_counters["toy"] == 2
    assert next(pipeline()) == 2
    assert data.data_counters["toy"] == 3
    data.data_counters["toy"] = 0
    assert next(pipeline()) == 0
    assert list(data.count_and_skip(range(5), "toy")) == [1, 2, 3, 4]
    assert data.inputs.data_counters is data.data_counters


def test_counters_follow_the_position_of_a_stream():
    pipeline = data.Serial(lambda: iter(range(10)), data.CountAndSkip("toy"))
    data.data_counters["toy"] = 3
    stream = pipeline()
    assert [next(stream) for _ in range(2)] == [3, 4]
    state = stream.get_state()
    assert list(stream) == [5, 6, 7, 8, 9]
    assert next(iter(stream)) == 0, "the next epoch leaves nothing out"
    assert data.data_counters["toy"] == 11
    stream = pipeline()
    stream.set_state(state)
    assert data.data_counters["toy"] == 5
    assert next(stream) == 5


def test_counters_are_saved_as_json(tmp_path):
    data.data_counters.update(a=3, b=5)
    data.save_data_counters(tmp_path)
    data.save_data_counters(tmp_path, host_id=2)
    data.save_data_counters(None)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "data_counters0.json",
        "data_counters2.json",
    ]
    assert json.loads((tmp_path / "data_counters0.json").read_text()) == {"a": 3, "b": 5}
    data.data_counters.update(a=9, c=1)
    data.load_data_counters(tmp_path)
    assert data.data_counters == {"a": 3, "b": 5}
    data.load_data_counters(tmp_path, host_id=7)
    data.load_data_counters(None)
    assert data.data_counters == {"a": 3, "b": 5}


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": -1}', '{"a": "b"}', "\x80"])
def test_damaged_counters(tmp_path, text):
    (tmp_path / "data_counters0.json").write_text(text, encoding="latin-1")
    with pytest.raises(CheckpointError, match=r"data_counters0\.json is damaged"):
        data.load_data_counters(tmp_path)
    assert data.data_counters == {}


def test_uniformly_seek(caplog):
    for host in range(3):
        stage = data.UniformlySeek("x", host, 3, 32)
        assert list(stage(range(32))) == list(range(host * 10, 32))
    assert next(data.UniformlySeek("x")(range(9))) == 0
    assert caplog.text == ""
    assert next(data.UniformlySeek("x", 1, 2)(iter(range(2**18 + 1)))) == 2**18
    assert "the size of x is not known" in caplog.text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: data.CountAndSkip(3), "CountAndSkip: name must be a string"),
        (lambda: data.count_and_skip([], None), "count_and_skip: name must be a string"),
        (
            lambda: data.UniformlySeek("x", 2, 2),
            "UniformlySeek: host_id must be less than n_hosts=2",
        ),
        (lambda: data.UniformlySeek("x", 0, 0), "UniformlySeek: n_hosts must be at least 1"),
    ],
)
def test_errors(call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call()
