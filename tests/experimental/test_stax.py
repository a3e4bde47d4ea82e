"""Stax: shapes with and without a batch, values against NumPy, compositions, wrong uses."""

import itertools
import math

import numpy as onp
import pytest
import scipy.special

import weft.numpy as np
from weft import grad, jit, random, vmap
from weft.errors import ShapeError
from weft.experimental import optimizers, stax
from weft.tree_util import tree_leaves, tree_map

KEY = random.PRNGKey(0)
RNG = onp.random.default_rng(0)
IMAGES = RNG.normal(size=(3, 7, 6, 2)).astype("float32")
ROWS = RNG.normal(size=(4, 5)).astype("float32")


def applied(layer, inputs, **kwargs):
    """Outputs of a layer, whose shape `init_fun` knew, also for a batch of any size."""
    init_fun, apply_fun = layer
    shape = tree_map(lambda x: x.shape, inputs)
    out_shape, params = init_fun(KEY, shape)
    outputs = apply_fun(params, inputs, **kwargs)
    assert out_shape == outputs.shape
    open_shape, same = init_fun(KEY, (-1, *shape[1:]))
    assert open_shape == (-1, *out_shape[1:])
    for x, y in zip(tree_leaves(params), tree_leaves(same), strict=True):
        onp.testing.assert_array_equal(x, y)
    return params, outputs


def close(x, y, **tolerances):
    onp.testing.assert_allclose(x, y, **{"rtol": 2e-5, "atol": 2e-5} | tolerances)


# --- layers of one array ---


def softmax(x):
    e = onp.exp(x)
    return e / e.sum(-1, keepdims=True)


ACTIVATIONS = {
    "Tanh": onp.tanh,
    "Relu": lambda x: onp.maximum(x, 0),
    "Exp": onp.exp,
    "LogSoftmax": lambda x: onp.log(softmax(x)),
    "Softmax": softmax,
    "Softplus": lambda x: onp.log1p(onp.exp(x)),
    "Sigmoid": scipy.special.expit,
    "Elu": lambda x: onp.where(x > 0, x, onp.expm1(x)),
    "LeakyRelu": lambda x: onp.where(x > 0, x, 0.01 * x),
    "Selu": lambda x: 1.0507009873554805 * onp.where(x > 0, x, 1.6732632423543772 * onp.expm1(x)),
    "Gelu": lambda x: 0.5 * x * (1 + onp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "Identity": lambda x: x,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    params, y = applied(getattr(stax, name), ROWS)
    assert params == ()
    close(y, ACTIVATIONS[name](ROWS.astype("float64")))


def test_elementwise_passes_keywords():
    _, y = applied(stax.elementwise(np.clip, min=-0.5, max=0.5), ROWS)
    close(y, onp.clip(ROWS, -0.5, 0.5))


def test_dense():
    (W, b), y = applied(stax.Dense(3), ROWS)
    assert (W.shape, b.shape) == ((5, 3), (3,))
    close(y, ROWS @ onp.asarray(W) + onp.asarray(b))
    (W, b), y = applied(stax.Dense(2, W_init=stax.randn(1.0), b_init=stax.glorot(0, 0)), IMAGES)
    close(y, IMAGES @ onp.asarray(W) + onp.asarray(b))
    assert abs(onp.asarray(W)).max() > 0.1


def test_first_parameters():
    """The scale of W is that of Glorot, b is small; each layer has values of its own."""
    _, (W, b) = stax.Dense(300)[0](KEY, (-1, 500))
    assert abs(float(np.std(W)) / math.sqrt(2 / 800) - 1) < 0.01
    assert 0.005 < float(np.std(b)) < 0.015
    _, (W, b) = stax.Conv(64, (5, 5))[0](KEY, (-1, 28, 28, 32))
    assert abs(float(np.std(W)) / math.sqrt(2 / (25 * 96)) - 1) < 0.02
    assert float(np.std(b)) < 1e-5
    _, ((V, _), (W, _)) = stax.serial(stax.Dense(5), stax.Dense(5))[0](KEY, (-1, 5))
    assert not np.allclose(V, W)


JAX = {
    "W": [[1.2067288, -0.51767957], [0.44003379, 0.39490446]],
    "b": [0.010304675, 0.014382878],
    "V": [[-0.52038741], [0.43904933]],
    "c": [-0.0016758951],
}


def test_the_streams_are_those_of_jax():
    """jax 0.10.2, jax_threefry_partitionable off: serial(Dense(2), Dense(1)) for PRNGKey(0)."""
    _, ((W, b), (V, c)) = stax.serial(stax.Dense(2), stax.Dense(1))[0](KEY, (-1, 2))
    close(W, JAX["W"], atol=1e-7)
    close(b, JAX["b"], atol=1e-7)
    close(V, JAX["V"], atol=1e-7)
    close(c, JAX["c"], atol=1e-7)


@pytest.mark.parametrize("axis", [(0, 1, 2), 0, (1, -1), -1])
@pytest.mark.parametrize(
    ("center", "scale"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_batch_norm(axis, center, scale):
    layer = stax.BatchNorm(axis, 1e-3, center, scale, stax.randn(1.0), stax.randn(1.0))
    out_shape, (beta, gamma) = layer[0](KEY, IMAGES.shape)
    y = layer[1]((beta, gamma), IMAGES)
    assert y.shape == out_shape
    mean, var = IMAGES.mean(axis, keepdims=True), IMAGES.var(axis, keepdims=True)
    expected = (IMAGES - mean) / onp.sqrt(var + 1e-3)
    kept = [n if a not in over(axis) else 1 for a, n in enumerate(IMAGES.shape)]
    if scale:
        expected = expected * onp.asarray(gamma).reshape(kept)
    if center:
        expected = expected + onp.asarray(beta).reshape(kept)
    lengths = tuple(n for a, n in enumerate(IMAGES.shape) if a not in over(axis))
    for parameter, there in ((beta, center), (gamma, scale)):
        assert parameter.shape == lengths if there else parameter == ()
    close(y, expected, atol=1e-4)


def over(axis):
    return [a % 4 for a in (axis if isinstance(axis, tuple) else (axis,))]


def test_flatten():
    _, y = applied(stax.Flatten, IMAGES)
    onp.testing.assert_array_equal(y, IMAGES.reshape(3, -1))
    assert stax.Flatten[0](KEY, (-1, -1, 3))[0] == (-1, -1)
    assert applied(stax.Flatten, onp.zeros((0, 3, 2)))[1].shape == (0, 6)
    assert applied(stax.Flatten, onp.zeros(3))[1].shape == (3, 1)


def test_dropout():
    x = onp.full((200, 50), 3.0, "float32")
    _, y = applied(stax.Dropout(0.8), x, rng=KEY)
    assert set(onp.unique(y).tolist()) == {0.0, 3.75}
    assert abs(float((y > 0).mean()) - 0.8) < 0.02
    again = stax.Dropout(0.8)[1]((), x, rng=random.PRNGKey(1))
    assert (again != y).any()
    onp.testing.assert_array_equal(applied(stax.Dropout(0.8, mode="test"), x)[1], x)
    onp.testing.assert_array_equal(applied(stax.Dropout(1), x, rng=KEY)[1], x)
    assert stax.Dropout(0.5)[1]((), np.ones(3, "bfloat16"), rng=KEY).dtype == "bfloat16"
    onp.testing.assert_array_equal(jit(stax.Dropout(0.8)[1])((), x, rng=KEY), y)


# --- windows ---


def padded(x, window, strides, padding, fill=0.0):
    """An array [N, H, W, C] with its padding, as TensorFlow's guide defines the names."""
    if padding == "VALID":
        pads = [(0, 0), (0, 0)]
    elif padding == "SAME":
        pads = []
        for n, k, s in zip(x.shape[1:3], window, strides, strict=True):
            total = max((-(-n // s) - 1) * s + k - n, 0)
            pads.append((total // 2, total - total // 2))
    else:
        pads = padding
    return onp.pad(x, [(0, 0), *pads, (0, 0)], constant_values=fill)


def places(x, window, strides):
    """Each place of a window: its output index, and the elements [N, h, w, C]."""
    (h, w), (a, b) = window, strides
    rows, columns = (x.shape[1] - h) // a + 1, (x.shape[2] - w) // b + 1
    for i, j in itertools.product(range(rows), range(columns)):
        yield i, j, x[:, i * a : i * a + h, j * b : j * b + w]


def collected(pieces):
    """[N, rows, columns, C] from (i, j, [N, C])."""
    found = {(i, j): piece for i, j, piece in pieces}
    rows, columns = (1 + max(k) for k in zip(*found, strict=True))
    return onp.stack([onp.stack([found[i, j] for j in range(columns)], 1) for i in range(rows)], 1)


WINDOWS = [
    ((2, 2), None, "VALID"),
    ((3, 2), (2, 1), "SAME"),
    ((2, 3), (3, 2), "VALID"),
    ((3, 3), (1, 2), ((1, 0), (2, 1))),
]


@pytest.mark.parametrize(("window", "strides", "padding"), WINDOWS)
def test_convolution(window, strides, padding):
    params, y = applied(stax.Conv(4, window, strides, padding), IMAGES)
    W, b = map(onp.asarray, params)
    assert (W.shape, b.shape) == ((*window, 2, 4), (4,))
    steps = strides or (1, 1)
    x = padded(IMAGES, window, steps, padding)
    close(y, collected(
        (i, j, onp.einsum("nhwc,hwco->no", piece, W)) for i, j, piece in places(x, window, steps)
    ) + b)  # fmt: skip


@pytest.mark.parametrize(("window", "strides", "padding"), WINDOWS)
def test_layouts_of_convolutions_agree(window, strides, padding):
    """Another order of spatial axes too: the options follow the kernel's."""
    (W, b), y = applied(stax.Conv(4, window, strides, padding), IMAGES)
    swap = [None if v is None else v if isinstance(v, str) else v[::-1] for v in (strides, padding)]
    init_fun, apply_fun = stax.GeneralConv(("NCHW", "OIWH", "CNWH"), 4, window[::-1], *swap)
    out_shape, (V, c) = init_fun(KEY, (-1, 2, 7, 6))
    assert (V.shape, c.shape) == ((4, 2, *window[::-1]), (4, 1, 1, 1))
    z = apply_fun((W.transpose(3, 2, 1, 0), np.zeros(())), IMAGES.transpose(0, 3, 1, 2))
    assert out_shape == (4, -1, *z.shape[2:])
    close(z.transpose(1, 3, 2, 0), y - b)


@pytest.mark.parametrize(("window", "strides", "padding"), WINDOWS)
def test_transposed_convolution(window, strides, padding):
    """Each input element adds the kernel, turned around, to the outputs that it reaches."""
    params, y = applied(stax.ConvTranspose(4, window, strides, padding), IMAGES)
    W, b = map(onp.asarray, params)
    steps, turned = strides or (1, 1), W[::-1, ::-1]
    whole = onp.zeros(
        (3, *((n - 1) * s + k for n, s, k in zip((7, 6), steps, window, strict=True)), 4)
    )
    for i, j in itertools.product(range(7), range(6)):
        a, c = i * steps[0], j * steps[1]
        whole[:, a : a + window[0], c : c + window[1]] += onp.einsum(
            "nc,hwco->nhwo", IMAGES[:, i, j], turned)  # fmt: skip
    for axis, (n, s, k) in enumerate(zip((7, 6), steps, window, strict=True), 1):
        if padding == "VALID":  # all that the kernel reaches, and zeros up to the next stride
            cut = (0, (n - 1) * s + k - (n * s + max(k - s, 0)))
        elif padding == "SAME":
            extra = (n - 1) * s + k - n * s
            before = 0 if s > k - 1 else k - 1 - math.ceil((k + s - 2) / 2)
            cut = (before, extra - before)
        else:
            cut = tuple(k - 1 - p for p in padding[axis - 1])
        pads = [(0, 0)] * 4
        pads[axis] = tuple(max(0, -m) for m in cut)
        whole = onp.pad(whole, pads)
        keep = [slice(None)] * 4
        keep[axis] = slice(max(0, cut[0]), whole.shape[axis] - max(0, cut[1]))
        whole = whole[tuple(keep)]
    close(y, whole + b)


def test_convolutions_of_one_and_three_axes():
    x = IMAGES[:, 0]
    (W, b), y = applied(stax.Conv1DTranspose(4, (3,), (2,), "SAME"), x)
    assert (W.shape, b.shape, y.shape) == ((3, 2, 4), (4,), (3, 12, 4))
    layer = stax.GeneralConvTranspose(("NHWC", "HWIO", "NHWC"), 4, (1, 3), (1, 2), "SAME")
    close(y, layer[1]((W[None], b), x[:, None])[:, 0])
    volume = IMAGES[:, :, :, None, :] * onp.float32([[1], [0], [0]])
    layer = stax.GeneralConv(("NXYZC", "XYZIO", "NXYZC"), 4, (2, 2, 1))
    (W, b), y = applied(layer, volume)
    close(y[:, :, :, 0], stax.Conv(4, (2, 2))[1]((W[:, :, 0], b), IMAGES))


POOLS = {
    "MaxPool": (lambda x, n: x.max((1, 2)), -onp.inf),
    "SumPool": (lambda x, n: x.sum((1, 2)), 0.0),
    "AvgPool": (lambda x, n: x.sum((1, 2)) / n, 0.0),
}


@pytest.mark.parametrize(("window", "strides", "padding"), WINDOWS)
@pytest.mark.parametrize("name", POOLS)
def test_pooling(name, window, strides, padding):
    reduce, fill = POOLS[name]
    _, y = applied(getattr(stax, name)(window, strides, padding), IMAGES)
    steps = strides or (1, 1)
    x = padded(IMAGES, window, steps, padding, fill)
    there = padded(onp.ones_like(IMAGES), window, steps, padding)  # padding isn't counted
    counts = {(i, j): piece.sum((1, 2)) for i, j, piece in places(there, window, steps)}
    close(y, collected((i, j, reduce(p, counts[i, j])) for i, j, p in places(x, window, steps)))
    first = getattr(stax, name)(window, strides, padding, spec="CHNW")
    close(first[1]((), IMAGES.transpose(3, 1, 0, 2)).transpose(2, 1, 3, 0), y)
    assert first[0](KEY, (2, 7, -1, 6))[0] == (2, y.shape[1], -1, y.shape[2])
    if not isinstance(padding, str):  # JAX's form: a pair for each axis
        whole = getattr(stax, name)(window, strides, ((0, 0), *padding, (0, 0)))
        onp.testing.assert_array_equal(whole[1]((), IMAGES), y)


def test_pooling_of_other_dtypes():
    x = np.full((1, 40, 40, 1), 100, "float16")
    mean = stax.AvgPool((40, 40))[1]((), x)
    assert (mean.dtype, mean.item()) == ("float16", 100)  # the sum is beyond float16
    assert stax.MaxPool((2, 2))[1]((), np.array([[[[-3], [-5]], [[-7], [-4]]]])).item() == -3
    assert stax.AvgPool((1, 2))[1]((), np.array([[[[1], [2]]]])).item() == 1.5


def test_lengths_that_are_not_settled():
    net = stax.serial(stax.Conv(4, (3, 3), (2, 2)), stax.MaxPool((2, 2)), stax.BatchNorm())
    assert net[0](KEY, (-1, -1, 9, 2))[0] == (-1, -1, 3, 4)
    assert stax.Conv(4, (9, 9))[0](KEY, (-1, 3, 28, 2))[0] == (-1, 0, 20, 4)


# --- layers of layers ---


def wide_net():
    return stax.serial(
        stax.Dense(6), stax.Tanh, stax.FanOut(3),
        stax.parallel(
            stax.Dense(2),
            stax.serial(stax.Dense(3), stax.Relu),
            stax.Identity,
        ),
        stax.FanInConcat(),
    )  # fmt: skip


def test_in_series_and_in_parallel():
    params, y = applied(wide_net(), ROWS)
    (W, b), _, _, ((V, c), ((U, d), _), ()), _ = params
    h = onp.tanh(ROWS @ onp.asarray(W) + onp.asarray(b))
    parts = [h @ onp.asarray(V) + onp.asarray(c), onp.maximum(h @ onp.asarray(U) + d, 0), h]
    close(y, onp.concatenate(parts, -1))
    assert isinstance(params, list)
    close(jit(wide_net()[1])(params, ROWS), y)
    close(vmap(wide_net()[1], (None, 0))(params, ROWS), y)


def test_nothing_in_series_and_in_parallel():
    assert stax.serial()[0](KEY, (-1, 3)) == ((-1, 3), [])
    onp.testing.assert_array_equal(stax.serial()[1]([], ROWS), ROWS)
    assert stax.parallel()[0](KEY, []) == ((), ())
    assert stax.parallel()[1]((), [], rng=KEY) == []


def test_sums():
    total = stax.serial(stax.FanOut(2), stax.parallel(stax.Dense(5), stax.Identity), stax.FanInSum)
    params, y = applied(total, ROWS)
    W, b = map(onp.asarray, params[1][0])
    close(y, ROWS @ W + b + ROWS)
    assert stax.FanInSum[0](KEY, [(-1, 3), (4, 3)])[0] == (4, 3)
    assert stax.FanInConcat(0)[0](KEY, [(-1, 3), (4, 3)])[0] == (-1, 3)
    onp.testing.assert_array_equal(
        stax.FanInConcat(0)[1]((), [ROWS, ROWS[:1]]), onp.concatenate([ROWS, ROWS[:1]])
    )


def test_layers_that_depend_on_the_shape():
    seen = []

    def residual(shape):
        seen.append(shape)
        return stax.serial(
            stax.FanOut(2), stax.parallel(stax.Dense(shape[-1]), stax.Identity), stax.FanInSum
        )

    applied(stax.shape_dependent(residual), ROWS)
    assert seen == [(4, 5), (4, 5), (-1, 5)]
    both = stax.shape_dependent(lambda shapes: stax.parallel(*[stax.Dense(s[-1]) for s in shapes]))
    shapes, params = both[0](KEY, [(-1, 3), (-1, 2)])
    assert shapes == ((-1, 3), (-1, 2))
    assert [x.shape for x in both[1](params, [np.ones((4, 3)), np.ones((4, 2))])] == [
        (4, 3),
        (4, 2),
    ]


def test_keys_and_keywords_reach_every_layer():
    seen = []

    def spy():
        def apply_fun(params, inputs, **kwargs):
            seen.append(kwargs)
            return inputs

        return lambda rng, shape: (shape, ()), apply_fun

    net = stax.serial(
        spy(), stax.shape_dependent(lambda _: spy()), stax.FanOut(2),
        stax.parallel(spy(), spy()))  # fmt: skip
    _, params = net[0](KEY, (4, 5))
    net[1](params, ROWS, rng=KEY, mode="x")
    assert [kwargs["mode"] for kwargs in seen] == ["x"] * 4
    assert len({tuple(onp.asarray(kwargs["rng"]).tolist()) for kwargs in seen}) == 4
    seen.clear()
    net[1](params, ROWS)
    assert [kwargs["rng"] for kwargs in seen] == [None] * 4


def test_typed_keys():
    net = stax.serial(stax.Dense(3), stax.Dropout(0.5))
    for key in (random.key(0), random.PRNGKey(0)):
        _, params = net[0](key, (-1, 5))
        y = net[1](params, ROWS, rng=key)
        assert y.shape == (4, 3)
    onp.testing.assert_array_equal(y, net[1](params, ROWS, rng=random.key(0)))


def test_gradients_are_those_of_finite_differences():
    net_init, net_apply = stax.serial(
        stax.Conv(3, (2, 2)), stax.BatchNorm(), stax.Softplus, stax.AvgPool((2, 2), padding="SAME"),
        stax.Flatten, stax.Dense(2), stax.LogSoftmax,
    )  # fmt: skip
    _, params = net_init(KEY, (-1, 4, 4, 2))
    x = IMAGES[:, :4, :4]

    def loss(params):
        return -np.mean(net_apply(params, x)[:, 0])

    found = jit(grad(loss))(params)
    direction = tree_map(lambda p: onp.float32(RNG.normal(size=p.shape)), params)
    h = 1e-2
    up, down = (loss(tree_map(lambda p, d: p + s * d, params, direction)) for s in (h, -h))  # noqa: B023
    slope = sum(float((g * d).sum()) for g, d in zip(
        tree_leaves(found), tree_leaves(direction), strict=True))  # fmt: skip
    assert abs(slope - float(up - down) / (2 * h)) < 2e-2 * max(1, abs(slope))


def test_a_net_is_trained():
    """Which quarter of an image is bright, in 20 steps."""
    rng = onp.random.default_rng(2)
    labels = rng.integers(4, size=64)
    images = rng.normal(size=(64, 8, 8, 1)).astype("float32")
    for image, label in zip(images, labels, strict=True):
        i, j = divmod(int(label), 2)
        image[4 * i : 4 * i + 4, 4 * j : 4 * j + 4] += 1.5
    net_init, net_apply = stax.serial(
        stax.Conv(8, (3, 3), padding="SAME"), stax.Relu, stax.MaxPool((2, 2), (2, 2)),
        stax.Flatten, stax.Dropout(0.9), stax.Dense(4), stax.LogSoftmax,
    )  # fmt: skip
    opt_init, opt_update, get_params = optimizers.adam(0.02)

    @jit
    def step(i, state, key):
        def loss(params):
            return -np.mean(net_apply(params, images, rng=key)[np.arange(64), labels])

        return opt_update(i, grad(loss)(get_params(state)), state)

    out_shape, params = net_init(KEY, (-1, 8, 8, 1))
    assert out_shape == (-1, 4)
    state = opt_init(params)
    for i in range(20):
        state = step(i, state, random.fold_in(KEY, i))
    found = net_apply(get_params(state), images, rng=KEY).argmax(-1)
    assert (onp.asarray(found) == labels).mean() > 0.95


# --- wrong uses ---


def init(layer, shape, key=KEY):
    return layer[0](key, shape)


LAYOUT = ("NHWC", "HWIO", "NHWC")
WRONG = {
    "out_dim": (lambda: stax.Dense(0), ValueError, "Dense: out_dim must be an int of at least 1"),
    "out_dim a float": (lambda: stax.Dense(3.0), ValueError, "out_dim.*got 3.0"),
    "no axes": (lambda: init(stax.Dense(3), ()), ShapeError, "at least 1 axes; got"),
    "no shape": (lambda: stax.Dense(3)[0]((1, 2), KEY), TypeError,
        r"must be a tuple of ints, -1 for a batch.*\n  fix: init_fun\(rng, input_shape"),
    "a length of -2": (lambda: init(stax.Flatten, (-2, 3)), ShapeError, r"got \(-2, 3\)"),
    "open features": (lambda: init(stax.Dense(3), (4, -1)), ShapeError,
        r"the length of axis 1 decides.*\(4, -1\)"),
    "open channels": (lambda: init(stax.Conv(3, (2, 2)), (1, 8, 8, -1)), ShapeError, "of axis 3"),
    "open norm": (lambda: init(stax.BatchNorm((1, 2)), (-1, 8, 8, 3)), ShapeError, "BatchNorm"),
    "several shapes": (lambda: init(stax.Dense(3), [(1, 2), (1, 2)]), TypeError, "Dense: input_sh"),
    "axis": (lambda: init(stax.BatchNorm(7), (1, 2)), ValueError, "BatchNorm"),
    "gamma": (lambda: stax.BatchNorm(0)[1]((np.ones(5), np.ones(4)), ROWS), ShapeError,
        r"gamma must have shape \(5,\)"),
    "another width": (lambda: stax.Dense(3)[1]((np.ones((4, 3)), np.ones(3)), ROWS), ShapeError,
        r"Dense: the last axis of inputs.*float32\[4,5\] and W of shape \(4, 3\)"),
    "other params": (lambda: stax.Dense(3)[1]([np.ones(3)], ROWS), ShapeError,
        "Dense: expected params of 2 parts.*got a list of 1"),
    "no params": (lambda: stax.Dense(3)[1](np.ones(3), ROWS), ShapeError, "params of 2 parts"),
    "net's params": (lambda: stax.serial(stax.Relu, stax.Relu)[1]([()], ROWS), ShapeError,
        "serial: expected params of 2 parts, as init_fun returned them; got a list of 1"),
    "several inputs": (lambda: stax.Dense(3)[1]((1, 2), [ROWS, ROWS]), TypeError,
        "Dense: inputs must be one array; got a list of 2\n  fix: .*FanInSum"),
    "text": (lambda: stax.Relu[1]((), "x"), TypeError, "relu.*inputs.*got a str"),
    "no function": (lambda: stax.elementwise(3), TypeError, "elementwise: fun must be a function"),
    "a scalar": (lambda: stax.Flatten[1]((), np.ones(())), ShapeError, "Flatten: .*at least one"),
    "layout": (lambda: stax.GeneralConv(("NHWC", "HWIO", "NHXC"), 3, (2, 2)), ValueError,
        "GeneralConv: dimension_numbers must be three strings"),
    "layout of one": (lambda: stax.GeneralConv("NHWC", 3, (2, 2)), ValueError, "three strings"),
    "channels": (lambda: stax.Conv(0, (2, 2)), ValueError, "GeneralConv: out_chan"),
    "filter": (lambda: stax.Conv(3, (2,)), ShapeError, r"filter_shape .* 2 positive ints.*\(2,\)"),
    "filter 0": (lambda: stax.Conv(3, (2, 0)), ShapeError, "filter_shape"),
    "strides": (lambda: stax.ConvTranspose(3, (2, 2), 2), ShapeError, "ConvTranspose: strid"),
    "padding": (lambda: stax.Conv(3, (2, 2), padding="some"), ValueError, "padding must be 'SAME'"),
    "pads": (lambda: stax.Conv(3, (2, 2), padding=((1, 1),)), ShapeError, "a pair of ints for"),
    "pads ints": (lambda: stax.Conv(3, (2, 2), padding=1), ShapeError, "a pair of ints for"),
    "lower": (lambda: stax.ConvTranspose(3, (2, 2), padding="SAME_LOWER"), ValueError,
        "GeneralConvTranspose: padding must be 'SAME', 'VALID'"),
    "axes": (lambda: init(stax.Conv(3, (2, 2)), (1, 8, 8)), ShapeError, r"4 axes; got \(1, 8, 8\)"),
    "pool's window": (lambda: stax.MaxPool(2), ShapeError, "MaxPool: window_shape"),
    "pool's strides": (lambda: stax.AvgPool((2, 2), (1,)), ShapeError, "AvgPool: strides"),
    "pool's padding": (lambda: stax.SumPool((2, 2), padding=1), ShapeError, "SumPool: padding"),
    "spec": (lambda: stax.MaxPool((2, 2), spec="NHC"), ShapeError, "spec must have a letter for"),
    "pool's axes": (lambda: stax.MaxPool((2, 2))[1]((), ROWS), ShapeError,
        r"MaxPool: inputs must have 4 axes; got float32\[4,5\]"),
    "pool's shape": (lambda: init(stax.MaxPool((2, 2)), (3, 4)), ShapeError, "4 axes"),
    "rate 0": (lambda: stax.Dropout(0), ValueError, "rate must be above 0 and at most 1.*got 0"),
    "rate 2": (lambda: stax.Dropout(1.5), ValueError, "Dropout: rate.*got 1.5"),
    "rate a vector": (lambda: stax.Dropout(np.ones(2)), ShapeError, "rate must be a number"),
    "mode": (lambda: stax.Dropout(0.5, "eval"), ValueError, "'train' or 'test'; got 'eval'"),
    "no key": (lambda: stax.Dropout(0.5)[1]((), ROWS), ValueError, r"a key\n  fix: .*rng=key"),
    "no key inside": (lambda: stax.serial(stax.Dropout(0.5))[1]([()], ROWS), ValueError, "a key"),
    "no layer": (lambda: stax.serial(stax.Relu, stax.Dense), TypeError,
        "serial: expected layers.*argument 1 is the function Dense\n  fix: serial"),
    "list of layers": (lambda: stax.parallel([stax.Relu, stax.Relu]), TypeError, "argument 0 is"),
    "too few": (lambda: init(stax.parallel(stax.Relu, stax.Relu), (1, 2, 3)), ShapeError,
        r"list of 2 for input_shape.*\n  fix: FanOut\(2\)"),
    "one input": (lambda: stax.parallel(stax.Relu, stax.Relu)[1]([(), ()], ROWS), ShapeError,
        "list of 2 for inputs, one for each layer; got a ndarray"),
    "shape_dependent": (lambda: stax.shape_dependent(stax.Relu), TypeError, "got a tuple"),
    "makes no layer": (lambda: init(stax.shape_dependent(lambda _: None), (1,)), TypeError, "None"),
    "FanOut": (lambda: stax.FanOut(0), ValueError, "FanOut: num must be an int of at least 1"),
    "sum of shapes": (lambda: init(stax.FanInSum, [(-1, 3), (-1, 1)]), ShapeError,
        r"one shape for all inputs; got \[\(-1, 3\), \(-1, 1\)\]"),
    "sum": (lambda: stax.FanInSum[1]((), [ROWS, ROWS[:1]]), ShapeError, "FanInSum: expected one"),
    "sum of one": (lambda: stax.FanInSum[1]((), ROWS), ShapeError, "got a ndarray"),
    "sum of none": (lambda: stax.FanInSum[1]((), []), ShapeError, "got none"),
    "concat": (lambda: init(stax.FanInConcat(), [(-1, 3), (2, 1, 3)]), ShapeError, "along axis 1"),
    "concat's arrays": (lambda: stax.FanInConcat()[1]((), [ROWS, ROWS[:1]]), ShapeError, "FanInC"),
    "concat's axis": (lambda: init(stax.FanInConcat(2), [(-1, 3)]), ValueError, "FanInConcat"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_uses(case):
    use, kind, message = WRONG[case]
    with pytest.raises(kind, match=f"(?s){message}") as caught:
        use()
    assert any("test_stax.py" in note for note in caught.value.__notes__)
