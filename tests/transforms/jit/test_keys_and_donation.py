"""What must be a part of a kept program's key, and which argument is given up."""

import copy
import gc
import pickle
import warnings
import weakref

import numpy as onp
import pytest

import weft
import weft.numpy as np
from weft import lax

KEY = weft.random.key(0)


def f32(*shape):
    """An array in a device's memory, which can be donated."""
    return np.dot(np.ones(shape), np.eye(shape[-1]))


def test_a_positional_only_parameter_leaves_its_name_to_keywords():
    f = weft.jit(lambda n, /, **rest: n * rest["n"], static_argnums=0)
    onp.testing.assert_array_equal(f(3, n=np.array([1.0, 2.0])), [3, 6])
    onp.testing.assert_array_equal(f(2, n=np.array([1.0, 2.0])), [2, 4])


def test_the_donated_argument_is_the_one_that_goes_where_others_are_unused():
    f = weft.jit(lambda unused, x, y: (x + 1, y.sum()), donate_argnums=1)
    for _ in range(3):
        unused, x, y = f32(4, 4), f32(4, 4), f32(4, 4) * 2
        out, total = f(unused, x, y)
        onp.testing.assert_array_equal(out, onp.full((4, 4), 2.0))
        assert float(total) == 32
        assert [a.is_deleted() for a in (unused, x, y)] == [False, True, False]
        onp.testing.assert_array_equal(y + f32(4, 4), onp.full((4, 4), 3.0))
        onp.testing.assert_array_equal(weft.jit(lambda y: y * 2)(y), onp.full((4, 4), 4.0))


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "tree": lambda x: copy.deepcopy({"w": [x]})["w"][0],
    "method": lambda x: x.copy(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.mark.parametrize("where", ["device", "host", "keys"])
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_outlives_the_array_that_is_donated(way, where):
    x = {"device": f32(4, 4), "host": np.ones((4, 4)), "keys": weft.random.split(KEY, 4)}[where]
    before = str(x)
    other = COPIES[way](x)
    weft.jit(lambda x: x[::-1], donate_argnums=0)(x)
    assert x.is_deleted()
    assert str(other) == before
    assert other.aval is x.aval


def test_a_copy_made_while_a_function_is_traced_is_an_array():
    x = f32(4, 4)
    weft.jit(lambda y: type(copy.deepcopy(x)) is type(x) or 1 / 0)(1.0)
    assert weft.grad(lambda y: (copy.copy(y) * copy.copy(x)).sum())(x).tolist() == x.tolist()


WAYS = {
    "call": lambda f: f,
    "jit": weft.jit,
    "cond": lambda f: lambda x, y: lax.cond(True, f, lambda x, y: x - y, x, y),
    "while": lambda f: lambda x, y: lax.fori_loop(0, 1, lambda i, c: (f(*c), c[1]), (x, y))[0],
    "scan": lambda f: lambda x, y: lax.scan(lambda c, _: (f(c, y), c), x, None, length=1)[0],
    "checkpoint": weft.checkpoint,
}


@pytest.mark.parametrize("mode", ["jvp", "grad", "linearize", "jit of jvp"])
@pytest.mark.parametrize("way", WAYS)
def test_one_function_is_differentiated_in_one_argument_and_then_the_other(way, mode):
    f = WAYS[way](lambda x, y: x * x * y)
    x, y = onp.float32(3), onp.float32(5)

    def slope(g, at):
        if mode == "grad":
            return weft.grad(g)(at)
        if mode == "linearize":
            return weft.linearize(g, at)[1](onp.float32(1))
        forward = lambda at: weft.jvp(g, (at,), (np.ones_like(at),))[1]  # noqa: E731
        return (weft.jit(forward) if mode == "jit of jvp" else forward)(at)

    for _ in range(2):
        assert float(slope(lambda x: f(x, y), x)) == 30
        assert float(slope(lambda y: f(x, y), y)) == 9
        assert float(slope(lambda z: f(z, z), x)) == 27


# --- donated memory that nothing can use ---


@pytest.mark.parametrize(
    ("f", "donated", "unusable"),
    [
        (lambda x, y: x.sum() + y.sum(), (0, 1), ["float32[2]", "int32[2]"]),
        (lambda x, y: (x + 1, y.sum()), (0, 1), ["int32[2]"]),
        (lambda x, y: (x + y, x * 2), 0, []),
        (lambda x, y: (x + 1, y + 1), (0, 1), []),
        (lambda x, y: x + 1, (0, 1), []),  # what isn't used isn't passed
    ],
)
def test_a_warning_names_donated_memory_that_no_result_can_use(f, donated, unusable):
    step = weft.jit(f, donate_argnums=donated)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            step(np.ones(2), np.arange(2))
    message = f"Some donated buffers were not usable: {', '.join(unusable)}\n"
    assert [str(w.message).startswith(message) for w in caught] == [True] * bool(unusable)
    assert all(w.filename == __file__ for w in caught)


def test_donated_keys_are_usable():
    step = weft.jit(lambda k, x: (weft.random.fold_in(k, 1), x + 1), donate_argnums=(0, 1))
    step(weft.random.key(0), np.ones(3))  # without a warning, which would be an error


# --- static arguments that can't be compared ---


class Incomparable:
    def __hash__(self):
        return 1

    def __eq__(self, other):
        raise ArithmeticError("no")


@pytest.mark.parametrize("options", [{"static_argnums": 0}, {"static_argnames": "mode"}])
def test_an_error_in_comparing_static_arguments_names_the_argument(options):
    f = weft.jit(lambda mode, x: x, **options)
    call = (
        (lambda: f(Incomparable(), 1.0))
        if "static_argnums" in options
        else (lambda: f(mode=Incomparable(), x=1.0))
    )
    call()
    with pytest.raises(ArithmeticError, match="no") as caught:
        call()
    assert any("static argument 'mode' of <lambda>" in note for note in caught.value.__notes__)


def test_an_error_of_the_function_gets_no_such_note():
    f = weft.jit(lambda mode, x: [][1], static_argnums=0)
    with pytest.raises(IndexError) as caught:
        f("a", 1.0)
    assert not any("static" in note for note in getattr(caught.value, "__notes__", ()))


# --- jit frees what it closes over ---


class Big:
    pass


FREEING = [
    weft.jit,
    weft.grad,
    weft.vmap,
    weft.checkpoint,
    lambda f: weft.jit(weft.grad(f)),
    lambda f: weft.vmap(weft.jit(f)),
    lambda f: weft.jit(weft.checkpoint(f)),
]


@pytest.mark.parametrize("transform", FREEING)
def test_what_a_function_closes_over_is_freed_with_it(transform):
    def called():
        big = Big()
        f = transform(lambda x: (big, (x * x).sum())[1])
        for x in (np.ones(2), np.ones(3)):
            f(x)
        return weakref.ref(big)

    gc.disable()
    try:
        assert called()() is None
    finally:
        gc.enable()


PASSED = {
    "alone": lambda x: x,
    "in a tuple": lambda x: (x, 1),
    "beside a result": lambda x: (x, np.ones(2) * 2),
    "twice": lambda x: [x, x],
}


@pytest.mark.parametrize("f", PASSED.values(), ids=PASSED)
@pytest.mark.parametrize(
    "free", [lambda x: x.delete(), weft.jit(lambda x: x + 1, donate_argnums=0)]
)
def test_a_deleted_argument_that_is_only_passed_through_is_refused(free, f):
    x = np.ones(3) + 1
    free(x)
    with pytest.raises(weft.errors.DeletedArrayError, match="deleted"):
        weft.jit(f)(x)
