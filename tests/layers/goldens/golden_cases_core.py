"""Numerical cases of base, combinators and core, with the values in `*.npz` beside this file.

A case takes an `Env`, which makes inputs and weights of the case's name and collects results.
"""

# ruff: noqa: B023 (functions are called before the loop goes on)

import numpy as np
from golden import case


@case("core")
def _Dense(E):
    x = E.arr("x", (2, 3, 4))
    E.run("bias", lambda: E.tl.Dense(5), x)
    E.run("nobias", lambda: E.tl.Dense(5, use_bias=False), x)
    E.run("bf16", lambda: E.tl.Dense(5, use_bfloat16=True), x, grads=False)


@case("core")
def _Embedding(E):
    # recorded for [[0, 1, 4], [5, 99, -1]], which Trax clips, and un-jitted weft refuses
    x = np.array([[0, 1, 4], [4, 4, 0]], np.int32)
    E.run("f", lambda: E.tl.Embedding(5, 3), x)
    E.run("bf16", lambda: E.tl.Embedding(5, 3, use_bfloat16=True), x, grads=False)


@case("core")
def _Dropout_eval(E):
    x = E.arr("x", (3, 4))
    E.run("eval", lambda: E.tl.Dropout(rate=0.3, mode="eval"), x)
    E.run("train_rate0", lambda: E.tl.Dropout(rate=0.0, mode="train"), x)


@case("core")
def _Weights(E):
    layer = E.tl.Weights(lambda shape, rng: E.jnp.ones(shape), shape=(2, 3))
    layer.init((), rng=E.key())
    layer.weights = E.fill(layer.weights)
    E.put("w", layer.weights)
    E.put("out", lambda: layer(()))
    x = E.arr("x", (2, 3))
    E.run(
        "in_serial",
        lambda: E.tl.Serial(
            E.tl.Weights(lambda shape, rng: E.jnp.ones(shape), shape=(2, 3)), E.tl.Add()
        ),
        x,
    )


@case("core")
def _LocallyConnected1d(E):
    x = E.arr("x", (2, 7, 3))
    for k in (1, 3, 5):
        for pad in ("VALID", "SAME", "WRAP"):
            E.run(
                f"k{k}_{pad}", lambda: E.tl.LocallyConnected1d(4, k, padding=pad), x, grads=(k == 3)
            )
    E.run("nobias", lambda: E.tl.LocallyConnected1d(4, 3, use_bias=False), x, grads=False)


@case("core")
def _Shapes_and_reductions(E):
    tl = E.tl
    x = E.arr("x", (2, 3, 4, 5))
    for n in (0, 1, 2, 3):
        E.run(f"flatten{n}", lambda: tl.Flatten(n_axes_to_keep=n), x, grads=False)
    for ax in (-1, 1):
        E.run(f"logsoftmax{ax}", lambda: tl.LogSoftmax(axis=ax), x)
        E.run(f"softmax{ax}", lambda: tl.Softmax(axis=ax), x)
        E.run(f"logsumexp{ax}", lambda: tl.LogSumExp(axis=ax), x)
        E.run(f"argmax{ax}", lambda: tl.ArgMax(axis=ax), x, grads=False)
        for kd in (False, True):
            for nm in ("Mean", "Min", "Max", "Sum"):
                E.run(
                    f"{nm}{ax}{kd}",
                    lambda: getattr(tl, nm)(axis=ax, keepdims=kd),
                    x,
                    grads=(ax == -1 and not kd),
                )
    E.run("sum_all", lambda: tl.Sum(), x)
    E.run("threshold", lambda: tl.ThresholdToBinary(threshold=0.25), x, grads=False)
    E.run("negate", lambda: tl.Negate(), x)
    E.run("stopgrad", lambda: tl.StopGradient(), x)
    E.run("tofloat", lambda: tl.ToFloat(), E.ints("i", (2, 3), -4, 5), grads=False)


@case("core")
def _functions(E):
    tl = E.tl
    i = np.array([[0, 2, -1], [3, 1, 7]], np.int32)
    E.put("one_hot", lambda: tl.one_hot(i, 4))
    E.put("one_hot_int", lambda: tl.one_hot(i, 4, dtype=np.int32))
    x = E.arr("x", (3, 4), -5, 5)
    E.put("log_softmax", lambda: tl.log_softmax(E.jnp.asarray(x)))
    E.put("log_softmax0", lambda: tl.log_softmax(E.jnp.asarray(x), axis=0))
    mu = E.arr("mu", (3, 4))
    a = E.arr("a", (3, 4, 4))
    sigma = np.einsum("bij,bkj->bik", a, a) + 4 * np.eye(4, dtype=np.float32)
    E.put(
        "log_gaussian_pdf",
        lambda: tl.log_gaussian_pdf(
            E.jnp.asarray(x), E.jnp.asarray(mu), E.jnp.asarray(sigma.astype(np.float32))
        ),
    )
    d = E.arr("d", (3, 4), 0.5, 2.0)
    E.put(
        "log_gaussian_diag_pdf",
        lambda: tl.log_gaussian_diag_pdf(E.jnp.asarray(x), E.jnp.asarray(mu), E.jnp.asarray(d)),
    )
    E.put("sample_t0", lambda: tl.logsoftmax_sample(x, temperature=0.0))


@case("core")
def _Summary(E):
    x = E.arr("x", (3, 4, 2))
    layer = E.tl.SummaryScalar("m")
    layer.init(E.sig(x))
    E.put("scalar_state0", layer.state)
    E.put("scalar_out", lambda: layer(x))
    E.put("scalar_state", layer.state)
    y = E.arr("y", (3, 4, 2))
    layer = E.tl.SummaryImage("im", n_in=2, num_summaries=2)
    layer.init(E.sig((x, y)))
    E.put("image_state0", layer.state)
    E.put("image_out", lambda: layer((x, y)))
    E.put("image_state", layer.state)


@case("core")
def _PrintShape(E):
    x, y = E.arr("x", (3, 4)), E.arr("y", (2,))
    E.run("two", lambda: E.tl.PrintShape(n_in=2, msg="hello"), (x, y), grads=False)


@case("combinators")
def _stack(E):
    tl = E.tl
    a, b, c = E.arr("a", (2, 3)), E.arr("b", (2, 3)), E.arr("c", (2, 3))
    E.run("serial_noop", lambda: tl.Serial(), a)
    E.run("serial", lambda: tl.Serial(tl.Dense(4), tl.Relu(), tl.Dense(2)), a)
    E.run("serial_rest", lambda: tl.Serial(tl.Add(), tl.Dense(4)), (a, b))
    E.run("serial_deep", lambda: tl.Serial([tl.Dup(), [tl.Swap(), tl.Add()]], None or []), a)
    E.run("parallel", lambda: tl.Parallel(tl.Dense(2), None, tl.Negate()), (a, b, c))
    E.run("parallel_multi", lambda: tl.Parallel(tl.Add(), [tl.Dense(2), tl.Relu()]), (a, b, c))
    E.run("concat", lambda: tl.Concatenate(n_items=3), (a, b, c))
    E.run("concat0", lambda: tl.Concatenate(n_items=2, axis=0), (a, b))
    E.run("split", lambda: tl.Split(n_items=3), a)
    E.run("split0", lambda: tl.Split(n_items=2, axis=0), a)
    E.run("branch", lambda: tl.Branch(tl.Dense(2), tl.Add(), None), (a, b))
    E.run("branch1", lambda: tl.Branch(tl.Dense(2)), a)
    E.run("residual", lambda: tl.Residual(tl.Dense(3), tl.Tanh()), a)
    E.run("residual_shortcut", lambda: tl.Residual(tl.Dense(4), shortcut=tl.Dense(4)), a)
    E.run("select", lambda: tl.Select([2, 0, 0]), (a, b, c), grads=False)
    E.run("select_n_in", lambda: tl.Select([0], n_in=3), (a, b, c), grads=False)
    E.run("drop", lambda: tl.Drop(), a, grads=False)
    E.run("drop_in_serial", lambda: tl.Serial(tl.Drop(), tl.Negate()), (a, b), grads=False)
    E.run("dup", lambda: tl.Dup(), a, grads=False)
    E.run("swap", lambda: tl.Swap(), (a, b), grads=False)
    E.run("add", lambda: tl.Add(), (a, b))
    E.run("subtract", lambda: tl.SubtractTop(), (a, b))
    E.run("multiply", lambda: tl.Multiply(), (a, b))
    E.run("gate", lambda: tl.Gate(), (a, b, c))
    E.run(
        "side",
        lambda: tl.SerialWithSideOutputs(
            [
                tl.Fn("S1", lambda x: (x + 1, 2 * x), n_out=2),
                tl.Fn("S2", lambda x: (x * x, -x), n_out=2),
            ]
        ),
        a,
    )
    E.run(
        "side_list",
        lambda: tl.SerialWithSideOutputs(
            [
                tl.Fn("T1", lambda x, y: (x + y, x - y, x), n_out=3),
                tl.Fn("T2", lambda x: (x * x, -x), n_out=2),
            ],
            n_side_outputs=[2, 1],
        ),
        (a, b),
    )


@case("combinators")
def _shared(E):
    tl = E.tl
    x = E.arr("x", (2, 3))
    d = tl.Dense(3)
    E.run("twice", lambda: tl.Serial(d, tl.Relu(), d), x, scale=1.0)
    d2 = tl.Dense(3)
    E.run("parallel", lambda: tl.Parallel(d2, d2), (x, -x))


@case("combinators")
def _Scan(E):
    tl = E.tl
    x = E.arr("x", (5, 2))
    c = E.arr("c", (2,))

    def add():
        return tl.Fn("add", lambda x, c: (x + c, x + c), n_out=2)

    E.run("axis0", lambda: tl.Scan(add()), (x, c))
    x1 = E.arr("x1", (3, 5, 2))
    c1 = E.arr("c1", (3, 2))
    E.run("axis1", lambda: tl.Scan(add(), axis=1), (x1, c1))
    E.run("remat", lambda: tl.Scan(add(), axis=1, remat=True), (x1, c1))

    def two():
        return tl.Fn("two", lambda x, y, c, d: (x * c, y + d, c + x, d * 2 - y), n_out=4)

    y1 = E.arr("y1", (3, 5, 2))
    d1 = E.arr("d1", (3, 2))
    E.run("two_carry", lambda: tl.Scan(two(), axis=1, n_carry=2), (x1, y1, c1, d1))
    E.run("no_carry", lambda: tl.Scan(tl.Dense(4), axis=1, n_carry=0), x1)
    E.run(
        "no_carry_weights",
        lambda: tl.Scan(tl.Serial(tl.Dense(3), tl.Tanh()), axis=0, n_carry=0),
        x1,
    )
    E.run(
        "batchnorm_inside",
        lambda: tl.Scan(tl.BatchNorm(axis=(0,), momentum=0.5), axis=0, n_carry=0),
        x1,
        grads=False,
    )


@case("combinators")
def _Scan_predict(E):
    tl = E.tl
    x1, c1 = E.arr("x1", (3, 6, 2)), E.arr("c1", (3, 2))
    layer = tl.Scan(tl.Fn("add", lambda x, c: (x + c, x + c), n_out=2), axis=1, mode="predict")
    E.steps("p", layer, x1, [3, 4, 6], rest=(c1,))


@case("combinators")
def _Cond(E):
    tl, _jnp = E.tl, E.jnp
    x = E.arr("x", (2, 3))

    def cond():
        return tl.Fn("c", lambda c: c)

    for v in (True, False):
        t = np.array(v)
        E.run(
            f"both_{v}",
            lambda: tl.Cond(cond(), tl.Dense(3), tl.Serial(tl.Dense(3), tl.Relu())),
            (t, x),
            grads=False,
        )
        E.run(f"identity_{v}", lambda: tl.Cond(cond(), tl.Dense(3)), (t, x), grads=False)


@case("combinators")
def _Chunk(E):
    tl = E.tl
    x = E.arr("x", (6, 4))
    E.run("chunk2", lambda: tl.Chunk(tl.Dense(3), 2), x)
    E.run("chunk4_passes", lambda: tl.Chunk(tl.Dense(3), 4), x)
    E.run("chunk0", lambda: tl.Chunk(tl.Dense(3), 0), x)


@case("combinators")
def _Cache(E):
    tl = E.tl
    x, y = E.arr("x", (2, 3)), E.arr("y", (2, 3))
    layer = tl.Cache(tl.Dense(4))
    E.init(layer, x)
    E.put("first", lambda: layer(x))
    E.put("second", lambda: layer(y))  # still the first result
    E.put("state", layer.state)


@case("combinators")
def _BatchLeadingAxes(E):
    tl = E.tl
    x = E.arr("x", (2, 3, 4, 5))
    E.run("keep1", lambda: tl.BatchLeadingAxes(tl.Dense(2)), x)
    E.run("keep2", lambda: tl.BatchLeadingAxes(tl.Flatten(), n_last_axes_to_keep=2), x, grads=False)
    E.run(
        "two_inputs",
        lambda: tl.BatchLeadingAxes(tl.Concatenate(), n_last_axes_to_keep=1),
        (x, x + 1),
    )


@case("combinators")
def _stack_helpers(E):
    tl = E.tl
    a, b, c = (np.float32(v) for v in (1, 2, 3))
    E.put("in1", lambda: tl.inputs_from_stack((a, b, c), 1))
    E.put("in2", lambda: tl.inputs_from_stack((a, b, c), 2))
    E.put("in0", lambda: tl.inputs_from_stack((a, b, c), 0))
    E.put("out1", lambda: tl.outputs_onto_stack(a, (b, c), 2))
    E.put("out2", lambda: tl.outputs_onto_stack((a, b), (b, c), 1))
    E.put("out0", lambda: tl.outputs_onto_stack([], (b, c), 1))


@case("base")
def _custom_gradient(E):
    tl = E.tl

    class Ten(tl.Layer):
        def forward(self, x):
            return x * 3

        @property
        def has_backward(self):
            return True

        def backward(self, inputs, output, grad, weights, state, new_state, rng):
            return grad * 10, ()

    x = E.arr("x", (2, 3))
    E.run("ten", lambda: tl.Serial(Ten(), tl.Dense(2)), x)


@case("base")
def _flatten(E):
    tl = E.tl
    x = E.arr("x", (2, 3))
    layer = tl.Serial(tl.Dense(4), tl.BatchNorm(axis=(0,)), tl.Relu(), tl.Dense(2))
    E.init(layer, x)
    fw, fs = tl.flatten_weights_and_state(layer.weights, layer.state)
    E.put("flat_weights", lambda: list(fw))
    E.put("flat_state", lambda: list(fs))
    sig = layer.weights_and_state_signature(E.sig(x))
    w, s = tl.unflatten_weights_and_state(fw, fs, sig)
    E.put("w", w)
    E.put("s", s)
    E.put("output_signature", lambda: np.array(layer.output_signature(E.sig(x)).shape))


@case("extra")
def _Bidirectional(E):
    tl = E.tl
    x = E.arr("x", (2, 5, 4))
    E.run("gru", lambda: tl.Bidirectional(tl.GRU(n_units=4)), x, grads=False)
