"""Checks and promotions of arguments, as `jax._src.numpy.util` has them."""

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft.compat import numpy_arguments as arguments
from weft.compat.names import names_of


def test_every_function_is_a_name_of_the_module():
    names = names_of("0.10.2")["jax._src.numpy.util"]
    for name in vars(arguments):
        if name.startswith(("check_", "ensure_", "promote_")) and name != "promote_values":
            assert name == "promote_types" or names[name] is getattr(arguments, name)


@pytest.mark.parametrize(
    ("function", "args", "dtype"),
    [
        (arguments.promote_dtypes, (np.int32(1), 2.5), "float32"),
        (arguments.promote_dtypes, (True, False), "bool"),
        (arguments.promote_dtypes_inexact, (1, onp.int8(3)), "float32"),
        (arguments.promote_dtypes_inexact, (np.bfloat16(1), 3), "bfloat16"),
        (arguments.promote_dtypes_numeric, (True, False), "int32"),
        (arguments.promote_dtypes_complex, (1, np.float32(2)), "complex64"),
        (arguments.promote_dtypes_complex, (np.ones(2, "bfloat16"),), "complex64"),
    ],
)
def test_arguments_get_one_dtype(function, args, dtype):
    xs = function(*args)
    assert [x.dtype.name for x in xs] == [dtype] * len(args)
    assert [onp.asarray(x).tolist() for x in xs] == [onp.asarray(x).tolist() for x in args]


def test_complex_arguments_of_64_bits():
    with weft.enable_x64():
        (x,) = arguments.promote_dtypes_complex(np.ones(2))
    assert x.dtype == onp.complex128


def test_arguments_get_one_rank_and_scalars_keep_theirs():
    xs = arguments.promote_args_inexact("f", 1, np.ones(3, "int32"), np.ones((2, 3)))
    assert [x.shape for x in xs] == [(), (1, 3), (2, 3)]
    assert {x.dtype.name for x in xs} == {"float32"}
    assert arguments.promote_args("f", 1)[0].shape == ()
    assert arguments.promote_dtypes() == []
    assert [x.dtype.name for x in arguments.promote_args_numeric("f", True, 2)] == ["int32"] * 2
    assert arguments.promote_args_complex("f", 1)[0].dtype == onp.complex64


def test_what_is_no_array_is_refused():
    arguments.check_arraylike_or_none("f", None, 1)
    with pytest.raises(TypeError, match=r"f: .*str"):
        arguments.check_arraylike("f", 1, "a")
    with pytest.raises(TypeError, match=r"f: .*None"):
        arguments.check_arraylike("f", None)
    assert arguments.ensure_arraylike("f", 1).shape == ()
    x, y = arguments.ensure_arraylike("f", 1, onp.ones(2))
    assert isinstance(x, np.ndarray)
    assert isinstance(y, np.ndarray)
    assert len(arguments.ensure_arraylike_tuple("f", [1, 2])) == 2
