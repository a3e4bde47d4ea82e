"""The names of primitives: those that a program finds in its equations."""

import numpy as np
import pytest

import weft
from weft import lax
from weft.core.primitive import Primitive


@pytest.mark.parametrize("name", [name for name in lax.__all__ if name.endswith("_p")])
def test_a_name_is_that_of_its_primitive(name):
    primitive = getattr(lax, name)
    assert isinstance(primitive, Primitive)
    assert primitive.__doc__
    renamed = {"while_p": "while_loop", "reduce_scatter_p": "psum_scatter"}
    assert primitive.name == renamed.get(name, name.removesuffix("_p"))


def test_equations_have_them():
    jaxpr = weft.make_jaxpr(lambda x, y: lax.max(x + y, x * y))(1.0, 2.0)
    assert [e.primitive for e in jaxpr.equations] == [lax.add_p, lax.mul_p, lax.max_p]
    assert lax.add_p(1.0, 2.0) == 3.0


@pytest.mark.parametrize(
    ("x", "dtype"), [(1, "int32"), (1.0, "float32"), (True, "bool"), (np.ones(2, "int8"), "int8")]
)
def test_dtype(x, dtype):
    assert lax.dtype(x) == np.dtype(dtype)
    assert lax.dtype(np.dtype(dtype)) == np.dtype(dtype)
    assert lax.dtype(np.dtype(dtype).type) == np.dtype(dtype)
    assert weft.jit(lambda v: lax.convert_element_type(0, lax.dtype(v)))(x).dtype == dtype
