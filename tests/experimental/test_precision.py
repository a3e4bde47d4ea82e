"""enable_x64, disable_x64: blocks and decorated functions."""

import weft.numpy as np
from weft.experimental import disable_x64, enable_x64


def width():
    return np.arange(2.0).dtype.itemsize


def test_blocks_nest():
    found = [width()]
    with enable_x64():
        found.append(width())
        with disable_x64():
            found.append(width())
        with enable_x64(False):
            found.append(width())
        found.append(width())
    assert [*found, width()] == [4, 8, 4, 4, 8, 4]


def test_decorators():
    assert (enable_x64()(width)(), disable_x64()(width)()) == (8, 4)
