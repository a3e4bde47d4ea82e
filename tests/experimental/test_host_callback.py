"""host_callback: call, id_tap, id_print, barrier_wait."""

import io

import numpy
import pytest

import weft
import weft.numpy as np
from weft import lax
from weft.experimental import host_callback as hcb

F32 = weft.ShapeDtypeStruct((), "float32")
BOTH = pytest.mark.parametrize("wrap", [lambda f: f, weft.jit])


class Taps:
    def __init__(self):
        self.seen = []

    def __call__(self, arg, transforms, **extra):
        leaves = [numpy.asarray(x).tolist() for x in weft.tree_util.tree_leaves(arg)]
        self.seen.append((leaves, transforms, *extra.items()))


@BOTH
def test_call(wrap):
    f = wrap(lambda x: hcb.call(lambda x: numpy.linalg.eigvalsh(x), x, result_shape=x[0]))
    numpy.testing.assert_allclose(f(np.array([[2.0, 1.0], [1.0, 2.0]])), [1, 3], rtol=1e-6)
    seen = []
    g = wrap(
        lambda x: hcb.call(
            lambda a: seen.append((a["x"].tolist(), float(a["y"]))), {"x": x, "y": 2}
        )
    )
    assert g(np.arange(2.0)) is None
    assert seen == [([0.0, 1.0], 2.0)]


@BOTH
def test_call_under_vmap_and_in_scan(wrap):
    seen = []

    def host(x):
        seen.append(float(x))
        return x * 2

    f = lambda x: hcb.call(host, x, result_shape=F32)  # noqa: E731
    assert wrap(weft.vmap(f))(np.arange(3.0)).tolist() == [0, 2, 4]
    assert wrap(lambda xs: lax.scan(lambda c, x: (f(c) + x, c), 1.0, xs)[0])(np.ones(2)) == 7
    assert seen == [0, 1, 2, 1, 3]


@BOTH
def test_call_with_device(wrap):
    def host(x, *, device):
        return numpy.int32(device.id + (device.platform == "cpu") * 10)

    shape = weft.ShapeDtypeStruct((), "int32")
    f = wrap(lambda x: hcb.call(host, x, result_shape=shape, call_with_device=True))
    assert f(1.0) == 10


@BOTH
def test_id_tap(wrap):
    taps = Taps()

    def f(x):
        y = hcb.id_tap(taps, {"x": x, "y": 2 * x})["y"]
        return hcb.id_tap(taps, y, result=y + 1, tap_with_device=True)

    assert wrap(f)(3.0) == 7
    device = ("device", weft.devices()[0])
    assert taps.seen == [([3.0, 6.0], ()), ([6.0], (), device)]


@BOTH
def test_id_tap_under_vmap_gets_the_batch(wrap):
    taps = Taps()
    f = lambda x, y: hcb.id_tap(taps, (x, y))[0]  # noqa: E731
    wrap(weft.vmap(f, (0, None)))(np.arange(2.0), 5.0)
    assert taps.seen == [([[0.0, 1.0], 5.0], (("batch", {"batch_dims": (0, None)}),))]
    taps.seen.clear()
    wrap(weft.vmap(weft.vmap(f, (0, None)), (None, 0)))(np.arange(2.0), np.array([5.0, 6.0]))
    transforms = (("batch", {"batch_dims": (0, None)}), ("batch", {"batch_dims": (None, 0)}))
    assert taps.seen == [([[0.0, 1.0], [5.0, 6.0]], transforms)]


@BOTH
@pytest.mark.parametrize(
    ("transformed", "times"),
    [
        (lambda f: weft.grad(f), 1),
        (lambda f: lambda x: weft.jvp(f, (x,), (1.0,)), 1),
        (lambda f: weft.grad(weft.checkpoint(f)), 1),
        (lambda f: lambda x: lax.scan(lambda c, _: (f(c) * 0 + c, None), x, None, length=3), 3),
        (lambda f: lambda x: lax.while_loop(lambda c: c < 9, lambda c: f(c) * 0 + c + 3, x), 2),
        (lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x), 1),
        (lambda f: weft.jit(weft.jit(f)), 1),
    ],
)
def test_id_tap_is_called_once_each_time(wrap, transformed, times):
    taps = Taps()
    f = lambda x: hcb.id_tap(taps, x, result=x * x)  # noqa: E731
    wrap(transformed(f))(3.0)
    assert [arg for arg, _ in taps.seen] == [
        [3.0 + (3 * k if times == 2 else 0)] for k in range(times)
    ]


def test_id_tap_does_not_change_derivatives():
    f = lambda x: hcb.id_tap(lambda a, t: None, np.sin(x)) * x  # noqa: E731
    for g in (weft.grad(f), weft.jit(weft.grad(weft.jit(f)))):
        numpy.testing.assert_allclose(g(0.7), numpy.cos(0.7) * 0.7 + numpy.sin(0.7), rtol=1e-6)


@BOTH
def test_id_print(wrap, capsys):
    def f(x):
        hcb.id_print(x)
        hcb.id_print({"b": (x, [x * 2, x]), "a": 1}, what="tree", also=3)
        return hcb.id_print(x, result=x + 1, tap_with_device=True)

    assert wrap(f)(np.arange(2.0)).tolist() == [1, 2]
    assert capsys.readouterr().out == (
        "[0. 1.]\n"
        "also: 3 what: tree\n"
        "{ a=1\n"
        "  b=( [0. 1.]\n"
        "    [ [0. 2.]\n"
        "      [0. 1.] ] ) }\n"
        "device: cpu:0\n"
        "[0. 1.]\n"
    )


@BOTH
def test_id_print_under_vmap_and_to_a_stream(wrap):
    stream = io.StringIO()
    f = lambda x: hcb.id_print(x, output_stream=stream, threshold=3, what="x")  # noqa: E731
    wrap(weft.vmap(f))(np.arange(100.0))
    assert stream.getvalue() == (
        "transforms: [('batch', {'batch_dims': (0,)})] what: x\n[ 0.  1.  2. ... 97. 98. 99.]\n"
    )


def test_order_with_other_callbacks(capsys):
    @weft.jit
    def f(x):
        hcb.id_print(x, what="first")
        weft.debug.print("second {}", x)
        y = hcb.call(lambda x: print("third", x) or x, x, result_shape=F32)
        hcb.id_tap(lambda a, t: print("fourth", a), y)

    f(1.0)
    hcb.barrier_wait()
    assert capsys.readouterr().out == "what: first\n1.\nsecond 1.0\nthird 1.0\nfourth 1.0\n"


@BOTH
@pytest.mark.parametrize("tap", [hcb.id_tap, hcb.call])
def test_an_exception_comes_out_as_it_is(wrap, tap):
    def unlucky(*args):
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        wrap(lambda x: tap(unlucky, x))(1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hcb.call(1, 1.0), "call: expected a function; got int 1"),
        (lambda: hcb.id_tap(1, 1.0), "id_tap: expected a function"),
        (lambda: hcb.id_tap(print, "a"), "id_tap: argument .* must be an array or a number"),
        (lambda: hcb.id_print("a"), "id_tap: argument .* must be an array or a number"),
        (lambda: hcb.call(abs, 1.0), "call: abs .*the given structure, None; it returned"),
    ],
)
def test_errors(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.devices(8)
def test_taps_of_mapped_functions_are_told_their_device():
    seen = []

    def tap(x, transforms, *, device):
        seen.append((float(numpy.asarray(x).ravel()[0]), device))

    def f(x):
        hcb.id_tap(tap, x, tap_with_device=True)
        total = weft.lax.psum(x, "i")
        return hcb.id_tap(tap, total + x, tap_with_device=True)

    def around(x):  # what isn't mapped is told the first device
        y = weft.pmap(f, axis_name="i")(hcb.id_tap(tap, x - 50, tap_with_device=True))
        return weft.pmap(f, axis_name="i")(y)

    devices = weft.devices()
    weft.pmap(f, axis_name="i")(np.arange(8.0))
    hcb.barrier_wait()
    expected = [(i + total, d) for total in (0, 28) for i, d in enumerate(devices)]
    assert sorted(seen, key=lambda s: s[0]) == expected
    seen.clear()
    weft.jit(around)(np.arange(8.0))
    hcb.barrier_wait()
    assert seen[0] == (-50, devices[0])
    by_device = {d: [x for x, at in seen[1:] if at == d] for d in devices}
    for i, d in enumerate(devices):  # in the program's order on each device
        first = i - 50
        second = first + (28 - 400)
        third = second + sum(j - 50 + 28 - 400 for j in range(8))
        assert by_device[d] == [first, second, second, third]
