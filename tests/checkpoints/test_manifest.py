"""tree.json: what it says of arrays, and the parts of which they are put together."""

import re

import pytest

from weft.checkpoints.manifest import array_of, file_of, part_name, plain_json
from weft.checkpoints.structure import Malformed

WHOLE = {"name": "w", "array": "float32", "shape": [4, 6], "of": "weft"}


def part(start, shape, file=0):
    return {"file": file, "start": start, "shape": shape, "sha256": "0" * 64}


def test_an_array_is_one_part_or_several():
    array = array_of(WHOLE | {"sha256": "1" * 64})
    assert [(p.file, p.name, p.start, p.shape) for p in array.parts] == [(0, "w", (0, 0), (4, 6))]
    columns = [part([0, i], [4, 2], i // 2) for i in (2, 0, 4)]
    array = array_of(WHOLE | {"parts": columns})
    assert [(p.file, p.name) for p in array.parts] == [
        (1, "w[0:4,2:4]"),
        (0, "w[0:4,0:2]"),
        (2, "w[0:4,4:6]"),
    ]
    assert array_of({"name": "step", "value": 3}) is None


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [part([0, 0], [4, 3])],
        [part([0, 0], [4, 3]), part([0, 0], [4, 3])],
        [part([0, 0], [4, 3]), part([0, 2], [4, 3])],
        [part([0, 0], [4, 3]), part([0, 6], [4, 3])],
        [part([0, 0], [4, 3]), part([0, 3], [4, 4])],
        [part([0, 0], [4, 3]), part([0, 3], [4, 3]), part([0, 0], [4, 3])],
        [part([0, 0], [4, 4]), part([0, 4], [4, 4])],
        [part([0, 0], [4, 0]), part([0, 0], [4, 6])],
        [part([1, 0], [4, 6])],
    ],
)
def test_parts_that_are_not_the_whole(parts):
    with pytest.raises(Malformed, match="the parts of the array 'w' are not the whole"):
        array_of(WHOLE | {"parts": parts})


@pytest.mark.parametrize(
    "wrong",
    [part([0], [4, 6]), part([0, 0], [24]), part([0, 0], [4, 6], -1), part([0, 0], [4, 6], True)],
)
def test_parts_that_are_nowhere(wrong):
    with pytest.raises(Malformed, match="a part of the array 'w' has no valid position"):
        array_of(WHOLE | {"parts": [wrong]})


def test_names_of_files_and_parts():
    assert [file_of(i) for i in (0, 7)] == ["arrays.safetensors", "arrays-00007.safetensors"]
    assert part_name("a/b", (0, 4), (2, 8)) == "a/b[0:2,4:12]"
    assert part_name("s", (), ()) == "s[]"


def test_numbers_that_python_could_not_read_again_are_refused():
    assert plain_json({"x": 1 << 8000}, "metadata") == {"x": 1 << 8000}
    with pytest.raises(ValueError, match=re.escape("got one of 8193 for metadata['x']")):
        plain_json({"x": 1 << 8192}, "metadata")
