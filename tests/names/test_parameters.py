"""Parameters that JAX documents do what they say, or are refused with the reason."""

import pytest

import weft
import weft.numpy as np
from weft import dtypes


def test_a_copy_that_may_not_alias_outlives_its_source():
    x = weft.jit(lambda x: x + 1)(np.arange(3))
    same, copy = weft.device_put(x), weft.device_put(x, may_alias=False)
    assert same is x
    x.delete()
    assert copy.tolist() == [1, 2, 3]


def test_donation_and_sharing_exclude_each_other():
    assert weft.device_put(np.ones(2), src=None, donate=True).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="device_put: donate=True"):
        weft.device_put(np.ones(2), donate=True, may_alias=True)


def test_operands_by_name():
    assert np.fmax(x1=1, x2=2).item() == 2
    assert np.gcd(12, x2=8, where=True).item() == 4
    assert np.trunc(x=-1.5).item() == -1.0
    assert np.float32(x=2).dtype == "float32"
    assert np.permute_dims(a=np.ones((2, 3))).shape == (3, 2)
    with pytest.raises(TypeError, match="'x3'"):
        np.gcd(4, 6, x3=1)
    with pytest.raises(NotImplementedError, match="out must be None"):
        np.gcd(4, 6, 1)


def test_dtypes_of_keys_can_be_refused():
    key = weft.random.key(0).dtype
    assert dtypes.canonicalize_dtype(key) == key
    with pytest.raises(ValueError, match="extended"):
        dtypes.canonicalize_dtype(key, False)


def test_result_type_and_its_weakness():
    assert np.result_type(np.int8(1), 2) == "int8"
    assert dtypes.result_type(1.0, return_weak_type_flag=True) == (np.dtype("float32"), True)


def test_what_cannot_be_chosen_is_refused():
    traced = weft.jit(lambda x: x).trace(1.0)
    here = weft.devices()[0].platform
    lowered = traced.lower(lowering_platforms=(here,))
    assert lowered.as_text(debug_info=True) == lowered.as_text()
    with pytest.raises(ValueError, match="lowering_platforms"):
        traced.lower(lowering_platforms=("tpu",))
    with pytest.raises(ValueError, match="device_assignment"):
        lowered.compile(device_assignment=(0,))
    with pytest.raises(ValueError, match="backend must be 'cli'"):
        weft.debug.breakpoint(backend="web")
