"""`Ref`, a mutable array, outside of transformations."""

import copy
import pickle

import numpy as onp
import pytest

import weft
import weft.numpy as np


def ref_and_array():
    """A ref of float32[3, 4], and the same as NumPy's array, which is mutable."""
    values = onp.arange(12, dtype=onp.float32).reshape(3, 4)
    return weft.new_ref(values), values


INDICES = (
    ...,
    0,
    (1, 2),
    slice(0, 2),
    (slice(None), 1),
    (0, slice(None, 3)),
    (onp.array([0, 2]), onp.array([1, 1])),
    (..., -1),
)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reads_and_writes_as_numpy_does(index):
    ref, array = ref_and_array()
    onp.testing.assert_array_equal(ref[index], array[index])
    ref[index] = 7.0
    array[index] = 7.0
    onp.testing.assert_array_equal(ref[...], array)
    ref[index] += array[index] * 0.5
    array[index] += array[index] * 0.5
    onp.testing.assert_array_equal(ref[...], array)
    onp.testing.assert_array_equal(ref.at[index][...], array[index])
    ref.at[index][...] = 2.0
    array[index] = 2.0
    onp.testing.assert_array_equal(ref[...], array)


def test_the_first_value_is_kept_by_its_array():
    x = np.zeros(3)
    ref = weft.new_ref(x)
    ref[0] = 1.0
    before = ref[...]
    ref[...] = 5.0
    assert (x.tolist(), before.tolist(), ref[...].tolist()) == ([0] * 3, [1, 0, 0], [5] * 3)


def test_functions_of_the_ref_module():
    ref = weft.new_ref(np.arange(3))
    assert int(weft.ref.swap(ref, 0, 10)) == 0
    weft.ref.addupdate(ref, np.array([1, 1]), 5)
    weft.ref.set(ref, 2, -1)
    assert weft.ref.get(ref).tolist() == [10, 11, -1]
    assert int(weft.ref.get(ref, 1)) == 11
    assert isinstance(ref, weft.Ref)
    assert weft.ref.Ref is weft.Ref


def test_views_of_views():
    ref, array = ref_and_array()
    view = ref.at[1:]
    assert view.at[0].swap(9.0, 2) == 6
    view.addupdate(1.0, 1)
    view.at[1].addupdate(0.5)
    view.set(3.0, (0, 0))
    array[1, 2], array[1, 0] = 9, 3
    array[2] += 1.5
    onp.testing.assert_array_equal(ref[...], array)


def test_has_the_type_of_its_value():
    ref, array = ref_and_array()
    assert (ref.shape, ref.dtype, ref.ndim, ref.size) == (array.shape, array.dtype, 2, 12)
    assert weft.new_ref(1.0)[...].weak_type is False
    assert weft.tree.leaves({"a": [ref]}) == [ref]
    assert repr(weft.new_ref(np.zeros(2))) == "Ref([0., 0.], dtype=float32)"


def test_the_type_of_a_ref_is_not_that_of_its_value():
    ref, _ = ref_and_array()
    kind = weft.typeof(ref)
    assert isinstance(kind, weft.ref.AbstractRef)
    assert (kind.shape, kind.dtype, kind.inner_aval) == ((3, 4), ref.dtype, ref.aval)
    assert kind == weft.typeof(weft.new_ref(ref[...]))
    assert repr(kind) == "Ref{float32[3,4]}"


@pytest.mark.parametrize(
    "made", [copy.copy, copy.deepcopy, lambda ref: pickle.loads(pickle.dumps(ref))]
)
def test_a_copy_is_another_ref(made):
    ref = weft.new_ref(np.zeros(2))
    other = made(ref)
    other[0] = 1.0
    assert (ref[...].tolist(), other[...].tolist()) == ([0, 0], [1, 0])


def test_numbers_take_the_dtype_of_the_ref():
    ref = weft.new_ref(np.zeros(2, np.float32))
    ref[0] = 3
    ref[...] += 1
    assert ref.dtype == onp.float32
    assert ref[...].tolist() == [4, 1]


def test_freeze_gives_the_last_value_and_ends_the_ref():
    ref = weft.new_ref(np.zeros(2))
    ref[1] = 4.0
    assert weft.freeze(ref).tolist() == [0, 4]
    for use in (lambda: ref[...], lambda: ref.set(1.0), lambda: weft.freeze(ref)):
        with pytest.raises(ValueError, match=r"was frozen\n  fix"):
            use()


REFUSED = {
    "no arithmetic": (lambda ref: ref + 1, "unsupported operand"),
    "no array": (lambda ref: np.sin(ref), r"is not an array\n  fix: read it first"),
    "no loop": (lambda ref: list(ref), "not iterable"),
    "no truth": (lambda ref: bool(ref), "is not an array"),
    "another dtype": (lambda ref: ref.set(np.arange(2)), r"holds float32 only; got int32\[2\]"),
    "another shape": (lambda ref: ref.set(np.zeros(3)), "broadcast"),
    "a ref of a ref": (lambda ref: weft.new_ref(ref), "new_ref: init_val"),
    "a memory space": (lambda ref: weft.new_ref(0, memory_space="host"), "must be None"),
}


@pytest.mark.parametrize("use", REFUSED)
def test_is_refused(use):
    function, message = REFUSED[use]
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=message):
        function(weft.new_ref(np.zeros(2)))
