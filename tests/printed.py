"""Compares a value with what a seed prints for it, number by number, to the digits shown."""

import re

import numpy as np

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def prints(value, text, ulp=4, cut=False):
    """Fails unless the elements of `value` are the numbers in `text`.

    A number may differ by half of its last digit (by all of it if the text was `cut`, not rounded),
    and by some units in the last place of float32, in which different versions of XLA differ.
    """
    shown = NUMBER.findall(text)
    array = np.asarray(value)
    found = array.astype(np.float64).reshape(-1)
    assert len(found) == len(shown), f"{len(found)} elements; the seed prints {len(shown)}"
    for x, number in zip(found, shown, strict=True):
        mantissa, _, exponent = number.lower().partition("e")
        digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
        allowed = (1.0 if cut else 0.5001) * 10.0**-digits + ulp * abs(x) * 2.0**-23
        assert abs(x - float(number)) <= allowed, f"{x!r} where the seed prints {number}"
