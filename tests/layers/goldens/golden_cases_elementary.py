"""Numerical cases of initializers, activations, convolution, pooling, normalization and metrics,
with the values in `*.npz` beside this file.

A case takes an `Env`, which makes inputs and weights of the case's name and collects results.
"""

# ruff: noqa: B023 (functions are called before the loop goes on)

import numpy as np
from golden import case

ACTIVATIONS = {
    **{name: (name, {}) for name in (
        "Relu", "Selu", "Gelu", "FastGelu", "Sigmoid", "Tanh", "HardSigmoid", "HardTanh",
        "Softplus", "Exp", "Log", "Swish", "Glu", "ThresholdedLinearUnit")},
    "ParametricRelu": ("ParametricRelu", {"a": 2.5}),
    "LeakyRelu": ("LeakyRelu", {"a": 0.2}),
    "LeakyRelu_default": ("LeakyRelu", {}),
    "Elu": ("Elu", {"a": 1.5}),
}  # fmt: skip


def _activation(key):
    name, options = ACTIVATIONS[key]

    @case("activation_fns", key)
    def _(E):
        lo = 0.1 if name == "Log" else -3.0
        kinks = np.array([[0.0, 1.0, -1.0, 2.0, -2.0, 0.5]], np.float32)
        x = np.concatenate([E.arr("x", (4, 6), lo, 3.0), kinks])
        if name == "Log":
            x = np.abs(x) + 0.1
        E.run("f", lambda: getattr(E.tl, name)(**options), x.astype(np.float32))


for key in ACTIVATIONS:
    _activation(key)


@case("initializers")
def _initializers(E):
    tl, key = E.tl, E.key(3)
    for name in (
        "GlorotNormal", "GlorotUniform", "LeCunNormal", "LeCunUniform", "KaimingNormal",
        "KaimingUniform", "RandomNormal", "RandomUniform", "Orthogonal",
    ):  # fmt: skip
        full = f"{name}Initializer"
        E.put(full, lambda: getattr(tl, full)()((4, 6), key))
    for mode in ("fan_in", "fan_out", "fan_avg"):
        for distribution in ("normal", "uniform"):
            scaled = tl.ScaledInitializer(-1, -2, 2.0, mode, distribution)
            E.put(f"Scaled_{mode}_{distribution}", lambda: scaled((3, 3, 4, 6), key))
    E.put("AtariConvInit", lambda: tl.AtariConvInit((3, 3, 2, 4), key))
    E.put("Orthogonal_wide", lambda: tl.OrthogonalInitializer(stddev=2.0)((3, 5), key))
    E.put("Orthogonal_3d", lambda: tl.OrthogonalInitializer()((2, 3, 5), key))


@case("convolution")
def _Conv(E):
    tl = E.tl
    x = E.arr("x", (2, 7, 6, 3))
    for padding in ("VALID", "SAME"):
        for strides in (None, (2, 2), (2, 1)):
            E.run(
                f"{padding}_{strides}".replace(" ", ""),
                lambda: tl.Conv(4, (3, 2), strides, padding),
                x,
                grads=strides != (2, 1),
            )
    E.run("nobias", lambda: tl.Conv(4, (3, 2), use_bias=False), x, grads=False)
    E.run("5d", lambda: tl.Conv(2, (3, 3)), E.arr("x5", (2, 2, 5, 5, 3)), grads=False)
    numbers = ("NCHW", "OIHW", "NCHW")
    E.run(
        "nchw",
        lambda: tl.Conv(4, (3, 2), dimension_numbers=numbers),
        E.arr("xc", (2, 3, 7, 6)),
        grads=False,
    )


@case("convolution")
def _CausalConv(E):
    x = E.arr("x", (2, 6, 3))
    E.run("w3", lambda: E.tl.CausalConv(4), x)
    E.run("w1", lambda: E.tl.CausalConv(4, kernel_width=1), x, grads=False)
    E.run("w5_nobias", lambda: E.tl.CausalConv(4, 5, use_bias=False), x, grads=False)


@case("convolution")
def _Conv1d(E):
    x = E.arr("x", (2, 8, 3))
    E.run("valid", lambda: E.tl.Conv1d(4, 3), x)
    E.run("same_s2", lambda: E.tl.Conv1d(4, 3, stride=2, padding="SAME"), x)


@case("pooling")
def _pools(E):
    x = E.arr("x", (2, 5, 6, 3))
    for name in ("MaxPool", "SumPool", "AvgPool"):
        make = getattr(E.tl, name)
        for padding in ("VALID", "SAME"):
            for strides in (None, (2, 2), (1, 3)):
                E.run(
                    f"{name}_{padding}_{strides}".replace(" ", ""),
                    lambda: make(strides=strides, padding=padding),
                    x,
                    grads=strides == (2, 2),
                )
        E.run(
            f"{name}_1d",
            lambda: make(pool_size=(3,), strides=(2,), padding="SAME"),
            E.arr("x1", (2, 7, 3)),
            grads=False,
        )
        E.run(
            f"{name}_3d",
            lambda: make(pool_size=(2, 1, 2)),
            E.arr("x3", (1, 3, 2, 4, 2)),
            grads=False,
        )


@case("normalization")
def _BatchNorm(E):
    tl = E.tl
    x = E.arr("x", (3, 4, 5, 2), -2, 3)
    E.run("train", lambda: tl.BatchNorm(), x)
    E.run("train3", lambda: tl.BatchNorm(momentum=0.9), x, n_steps=3, grads=False)
    E.run("axis0", lambda: tl.BatchNorm(axis=(0,), momentum=0.5, epsilon=1e-3), x[:, 0, 0])
    train = tl.BatchNorm(momentum=0.5)
    E.init(train, x, tag="ev.")
    weights = train.weights
    train(x)
    train(2 * x + 1)
    layer = tl.BatchNorm(mode="eval")
    layer.init(E.sig(x))
    layer.weights, layer.state = weights, train.state
    E.put("eval.out", lambda: layer(x))
    E.put("eval.state", layer.state)


@case("normalization")
def _LayerNorm(E):
    x = E.arr("x", (3, 4, 5), -2, 3)
    E.run("default", lambda: E.tl.LayerNorm(), x)
    E.run("eps", lambda: E.tl.LayerNorm(epsilon=0.1), x)
    E.run("nocenter", lambda: E.tl.LayerNorm(center=False), x)


@case("normalization")
def _FilterResponseNorm(E):
    tl = E.tl
    x = E.arr("x", (3, 4, 5, 2), -2, 3)
    E.run("default", lambda: tl.FilterResponseNorm(), x)
    E.run("learn", lambda: tl.FilterResponseNorm(learn_epsilon=True), x)
    E.run("frn_tlu", lambda: tl.Serial(tl.FilterResponseNorm(), tl.ThresholdedLinearUnit()), x)


@case("metrics")
def _metrics(E):
    tl = E.tl
    o = E.arr("o", (4, 5, 6), -3, 3)
    t = E.ints("t", (4, 5), 0, 6)
    t[0] = np.argmax(o[0], -1)
    t[1, :3] = np.argmax(o[1, :3], -1)
    E.const("targets", t)
    w = E.arr("w", (4, 5), 0, 1)
    mask = (w > 0.4).astype(np.float32)
    mask[1, 3:] = 0
    E.const("w01", mask)
    b, bt = E.arr("b", (7,), -3, 3), E.ints("bt", (7,), 0, 2)
    p, bw = E.arr("p", (7,), 0.05, 0.95), E.arr("bw", (7,), 0, 1)
    y, ty, wy = E.arr("y", (3, 4), -2, 2), E.arr("ty", (3, 4), -2, 2), E.arr("wy", (3, 4), 0, 1)
    o2, t2 = E.arr("o2", (12, 4), -3, 3), E.ints("t2", (12,), 0, 3)  # 3 is never a target
    for name, inputs in (
        ("CategoryAccuracy", (o, t)),
        ("WeightedCategoryAccuracy", (o, t, w)),
        ("MaskedSequenceAccuracy", (o, t, mask)),
        ("Accuracy", (o, t, w)),
        ("SequenceAccuracy", (o, t, mask)),
    ):
        E.run(name, lambda: getattr(tl, name)(), inputs, grads=False)
    for name, inputs in (
        ("CategoryCrossEntropy", (o, t)),
        ("WeightedCategoryCrossEntropy", (o, t, w)),
        ("BinaryCrossEntropy", (b, bt)),
        ("CrossEntropyLoss", (o, t, w)),
        ("CrossEntropyLossWithLogSoftmax", (o, t, w)),
        ("CrossEntropySum", (o, t, w)),
        ("BinaryCrossEntropyLoss", (p, bt, bw)),
        ("BinaryCrossEntropySum", (p, bt, bw)),
        ("L2Loss", (y, ty, wy)),
        ("SmoothL1Loss", (y, ty, wy)),
        ("WeightedSum", (y, wy)),
    ):
        E.run(name, lambda: getattr(tl, name)(), inputs)
    E.run("CategoryCrossEntropy_ls", lambda: tl.CategoryCrossEntropy(0.2), (o, t))
    E.run("WeightedCategoryCrossEntropy_ls", lambda: tl.WeightedCategoryCrossEntropy(0.1),
          (o, t, w))  # fmt: skip
    for beta in (1.0, 2.0):
        for first in (0, 1):
            for name in ("MacroAveragedFScore", "WeightedFScore"):
                E.run(f"{name}{beta}{first}", lambda: getattr(tl, name)(beta, first), (o2, t2),
                      grads=False)  # fmt: skip
