"""Wrong uses of the base, of combinators and of core layers: errors name the layer and the line."""

import functools
import re

import numpy as onp
import pytest
from row_names import row_name

import weft.layers as tl
from weft import fastmath, shapes
from weft.fastmath import numpy as jnp

KEY = fastmath.random.get_prng(0)
X, V, IDS = jnp.ones((2, 3)), jnp.ones(3), jnp.zeros((2, 4), jnp.int32)
TRUE = jnp.asarray(True)
SIG = shapes.ShapeDtype((2, 3))


def run(layer, *inputs):
    """Initializes a layer and calls it."""
    x = inputs if len(inputs) != 1 else inputs[0]
    layer.init(shapes.signature(x))
    return layer(x)


def set_weights(layer, weights, x=X):
    """Initializes a layer, and gives it weights."""
    layer.init(shapes.signature(x))
    layer.weights = weights


def f2():
    return tl.Fn("F2", lambda x, y: (x + y, x - y), n_out=2)


class Plain(tl.Layer):
    """A class without forward."""


class Silent(tl.Layer):
    """A class that says that it has a backward, and hasn't."""

    has_backward = True

    def forward(self, x):
        return x


class Liar(tl.Layer):
    """Promises two outputs and gives one."""

    def __init__(self):
        super().__init__(n_out=2)

    def forward(self, x):
        return (x,)


class Odd(tl.Layer):
    """Needs an even number of features."""

    def init_weights_and_state(self, input_signature):
        if input_signature.shape[-1] % 2:
            raise ValueError("the number of features is odd")

    def forward(self, x):
        return x


# (what is done, error, what its message has)
CONSTRUCTORS = [
    # base
    (lambda: tl.Layer(n_in=-1), ValueError, "Layer: n_in is a number of tensors.*got -1"),
    (lambda: tl.Layer(n_out=-2), ValueError, "Layer: n_out is a number of tensors.*got -2"),
    (lambda: tl.Layer(n_in=1.5), ValueError, "n_in is a number of tensors.*got 1.5"),
    (lambda: tl.Layer(n_in="2"), ValueError, "n_in is a number of tensors.*got '2'"),
    (lambda: tl.Layer(n_out=None), ValueError, "n_out is a number of tensors.*got None"),
    (lambda: tl.PureLayer(3), TypeError, "PureLayer: forward_fn must be a function"),
    (lambda: tl.PureLayer(abs, n_in=-1), ValueError, "PureLayer: n_in"),
    (lambda: tl.PureLayer("f", name="Mine"), TypeError, "Mine: forward_fn"),
    (lambda: tl.Fn("F", 3), TypeError, "F: f must be a function of tensors; got 3"),
    (lambda: tl.Fn("F", lambda x, y=1: x), ValueError, r"F: f has default arguments \(y\)"),
    (lambda: tl.Fn("F", lambda **k: k), ValueError, r"F: f has keyword arguments \(k\)"),
    (lambda: tl.Fn("F", lambda *a: a), ValueError, r"F: f has variable args \(a\)"),
    (lambda: tl.Fn("F", lambda x, *, y: x), ValueError, r"F: f has keyword-only arguments \(y\)"),
    (lambda: tl.Fn("F", functools.partial(lambda x, y, z: x, y=1)), ValueError, r"only.*\(z\)"),
    (lambda: tl.Fn("", lambda x=0: x), ValueError, "Fn: f has default arguments"),
    (lambda: tl.Fn("F", lambda x: x, n_out=-1), ValueError, "F: n_out"),
    (lambda: tl.Fn("F", lambda x: x, n_out=0.5), ValueError, "F: n_out"),
    # Serial, Parallel
    (lambda: tl.Serial(3), ValueError, r"Found nonlayer object \(3\) in layers"),
    (lambda: tl.Serial(tl.Dense), ValueError, r"fix: Dense\(…\), a layer that Dense makes"),
    (lambda: tl.Serial(tl.Relu), ValueError, r"fix: Relu\(\), a layer that Relu makes"),
    (lambda: tl.Serial(tl.Gelu, tl.Dense(2)), ValueError, r"fix: Gelu\(\), a layer"),
    (lambda: tl.Serial(tl.Chunk), ValueError, r"fix: Chunk\(…\), a layer that Chunk makes"),
    (lambda: tl.Serial(tl.Dense(2), jnp.tanh), ValueError, r"fix: tl.Fn\('tanh', …\)"),
    (lambda: tl.Serial(tl.Dense(2), None), ValueError, r"nonlayer object \(None\)"),
    (lambda: tl.Serial([tl.Dense(2), ["x"]]), ValueError, r"nonlayer object \('x'\)"),
    (lambda: tl.Serial({"a": tl.Dense(2)}), ValueError, "nonlayer object"),
    (lambda: tl.Parallel(), ValueError, "Parallel: expected at least two layers; got 0"),
    (lambda: tl.Parallel(tl.Dense(2)), ValueError, "at least two layers; got 1"),
    (lambda: tl.Parallel(tl.Dense(2), 3), ValueError, "nonlayer object"),
    (lambda: tl.Parallel(tl.Dense(2), tl.RandomUniform()), ValueError,
     "each layer must take an input; RandomUniform_in0.*the stack"),
    (lambda: tl.Parallel(tl.Select([], n_in=0), None, name="P"), ValueError, "P: each layer"),
    # small combinators
    (lambda: tl.Concatenate(n_items=0), ValueError, "Concatenate: n_items must be at least 1"),
    (lambda: tl.Concatenate(n_items=2.0), TypeError, "Concatenate: n_items must be an int"),
    (lambda: tl.Concatenate(axis="x"), TypeError, "Concatenate: axis"),
    (lambda: tl.Concatenate(axis=None), TypeError, "Concatenate: axis"),
    (lambda: tl.Split(n_items=0), ValueError, "Split: n_items"),
    (lambda: tl.Split(n_items=None), TypeError, "Split: n_items"),
    (lambda: tl.Split(axis=1.0), TypeError, "Split: axis"),
    (lambda: tl.Select([]), ValueError, "Select: no indices, so n_in is needed"),
    (lambda: tl.Select([-1]), ValueError, r"Select: indices\[0\] must be at least 0; got -1"),
    (lambda: tl.Select([0, 2], n_in=2), ValueError,
     r"index 2 is out of range for n_in=2.*\[x0 x1\]"),
    (lambda: tl.Select(0), TypeError, "Select: indices must be a tuple"),
    (lambda: tl.Select([0], n_in=-1), ValueError, "Select: n_in must be at least 0"),
    (lambda: tl.Select([0.0]), TypeError, r"Select: indices\[0\] must be an int"),
    (lambda: tl.Select(["a"]), TypeError, r"indices\[0\] must be an int; got 'a'"),
    (lambda: tl.Branch(), ValueError, "Branch: expected at least two layers; got 0"),
    (lambda: tl.Branch(tl.Dense(2), 5), ValueError, r"nonlayer object \(5\)"),
    (lambda: tl.Branch("x"), ValueError, "nonlayer object"),
    (lambda: tl.Branch(tl.Dense(2), tl.Weights(onp.ones, (2,))), ValueError, "takes none"),
    (lambda: tl.Residual("x"), ValueError, "nonlayer object"),
    (lambda: tl.Residual(tl.Dense(2), shortcut=2), ValueError, r"nonlayer object \(2\)"),
    (lambda: tl.Residual(tl.Drop()), ValueError,
     r"Residual: the layers must have an output.*\[x0\]\s+Drop_out0: 1 -> 0"),
    (lambda: tl.Residual(tl.Dense(2), shortcut=tl.Drop()), ValueError, "the shortcut must have"),
    (lambda: tl.SerialWithSideOutputs([tl.Dense(2)], n_side_outputs=2), ValueError,
     "2 side outputs of Dense_2 are requested, but it has 1.*the stack"),
    (lambda: tl.SerialWithSideOutputs([tl.Dup()], [1, 1]), ValueError, "expected 1 n_side_outputs"),
    (lambda: tl.SerialWithSideOutputs([tl.Dup()], -1), ValueError, "n_side_outputs"),
    (lambda: tl.SerialWithSideOutputs([tl.Dup()], [1.0]), TypeError, "n_side_outputs"),
    (lambda: tl.SerialWithSideOutputs([3]), ValueError, "nonlayer object"),
    (lambda: tl.Bidirectional(tl.Add()), ValueError, "Bidirectional: expected a layer 1 -> 1"),
    (lambda: tl.Bidirectional(tl.Dense), TypeError, "forward_layer must be a layer"),
    (lambda: tl.Bidirectional(tl.Dense(2), merge_layer=tl.Dense(2)), ValueError,
     "expected a layer 2 -> 1; got Dense_2"),
    (lambda: tl.Bidirectional(tl.Dense(2), axis="t"), TypeError, "Bidirectional: axis"),
    # control
    (lambda: tl.Scan(3), TypeError, "Scan: layer must be a layer; got 3"),
    (lambda: tl.Scan(f2(), n_carry=3), ValueError, "2 inputs and gives 2 outputs.*n_carry=3"),
    (lambda: tl.Scan(f2(), n_carry=2), ValueError, "at least one input isn't.*the stack"),
    (lambda: tl.Scan(tl.Dense(2)), ValueError, "n_carry=1 are carried"),
    (lambda: tl.Scan(f2(), n_carry=-1), ValueError, "Scan: n_carry must be at least 0"),
    (lambda: tl.Scan(f2(), axis=0.5), TypeError, "Scan: axis must be an int"),
    (lambda: tl.Scan(f2(), mode="training"), ValueError, "Scan: mode must be 'train' or 'eval'"),
    (lambda: tl.Cond(tl.Dup(), tl.Dense(2)), ValueError, "Cond: cond must have one output"),
    (lambda: tl.Cond(tl.Dense(1), tl.Add(), tl.Dense(2)), ValueError,
     r"\(n_in, n_out\) of cond, true and false: \(1, 1\), \(2, 1\), \(1, 1\).*the stack"),
    (lambda: tl.Cond(tl.Dense(1), tl.Dup()), ValueError, "true and false as many inputs"),
    (lambda: tl.Cond(tl.Drop(), tl.Dense(2)), ValueError, "cond must have one output"),
    (lambda: tl.Cond(tl.Dense(1), None), TypeError, "Cond: true must be a layer; got None"),
    (lambda: tl.Cond(lambda x: x, tl.Dense(2)), TypeError, "Cond: cond must be a layer"),
    (lambda: tl.Cond(tl.Dense(1), tl.Dense(2), "no"), ValueError, "nonlayer object"),
    (lambda: tl.Cache(None), TypeError, "Cache: layer must be a layer"),
    (lambda: tl.Chunk("x", 2), TypeError, "Chunk: layer must be a layer"),
    (lambda: tl.Chunk(tl.Dense(2), 2.5), TypeError, "Chunk: chunk_size must be an int"),
    (lambda: tl.BatchLeadingAxes(tl.Dup()), ValueError, "must have one output; Dup_out2 has 2"),
    (lambda: tl.BatchLeadingAxes(tl.Dense(2), 0), ValueError, "n_last_axes_to_keep"),
    (lambda: tl.BatchLeadingAxes(3), TypeError, "BatchLeadingAxes: layer must be a layer"),
    # core
    (lambda: tl.Dense(0), ValueError, "Dense: n_units must be at least 1; got 0"),
    (lambda: tl.Dense(-3), ValueError, "Dense: n_units must be at least 1; got -3"),
    (lambda: tl.Dense(2.5), TypeError, "Dense: n_units must be an int; got 2.5"),
    (lambda: tl.Dense(None), TypeError, "Dense: n_units must be an int; got None"),
    (lambda: tl.Dense(2, use_bias=1), TypeError, "Dense: use_bias must be True or False"),
    (lambda: tl.Dense(2, kernel_initializer=0.1), TypeError, "Dense: kernel_initializer must be"),
    (lambda: tl.Dense(2, bias_initializer="zeros"), TypeError, "Dense: bias_initializer must be"),
    (lambda: tl.Dense(2, use_bfloat16="yes"), TypeError, "Dense: use_bfloat16"),
    (lambda: tl.Embedding(0, 3), ValueError, "Embedding: vocab_size must be at least 1"),
    (lambda: tl.Embedding(5, -1), ValueError, "Embedding: d_feature must be at least 1"),
    (lambda: tl.Embedding("5", 3), TypeError, "Embedding: vocab_size must be an int"),
    (lambda: tl.Embedding(5, 3, kernel_initializer=X), TypeError, "Embedding: kernel_initializer"),
    (lambda: tl.Embedding(5, 3, use_bfloat16=None), TypeError, "Embedding: use_bfloat16"),
    (lambda: tl.Dropout(-0.1), ValueError, "Dropout: rate must be at least 0"),
    (lambda: tl.Dropout(1.5), ValueError, "Dropout: rate .* at most 1.0; got 1.5"),
    (lambda: tl.Dropout("half"), TypeError, "Dropout: rate must be a number"),
    (lambda: tl.Dropout(float("nan")), ValueError, "Dropout: rate"),
    (lambda: tl.Dropout(0.1, shared_axes=1), TypeError, "Dropout: shared_axes must be a tuple"),
    (lambda: tl.Dropout(0.1, shared_axes=[0.5]), TypeError, "shared_axes"),
    (lambda: tl.Dropout(0.1, "train"), TypeError,
     r"shared_axes .* got 'train'\n  fix: pass the mode by keyword: Dropout\(…, mode='train'\)"),
    (lambda: tl.Attention(8, "eval"), TypeError, r"fix: .* Attention\(…, mode='eval'\)"),
    (lambda: tl.Dropout(0.1, mode="test"), ValueError,
     "Dropout: mode must be 'train'.* got 'test'"),
    (lambda: tl.Weights(3), TypeError, "Weights: initializer must be a function"),
    (lambda: tl.Weights(onp.ones, shape=(-1,)), ValueError, r"Weights: shape\[0\] must be"),
    (lambda: tl.Weights(onp.ones, shape=3), TypeError, "Weights: shape must be a tuple"),
    (lambda: tl.RandomUniform(1.0, 0.0), ValueError, "RandomUniform: max_val must be at least 1.0"),
    (lambda: tl.RandomUniform("a"), TypeError, "RandomUniform: min_val"),
    (lambda: tl.RandomUniform(shape=(2, -1)), ValueError, r"RandomUniform: shape\[1\]"),
    (lambda: tl.RandomUniform(sync=0), TypeError, "RandomUniform: sync"),
    (lambda: tl.LocallyConnected1d(4, 2), AssertionError, "kernel_size must be odd; got 2"),
    (lambda: tl.LocallyConnected1d(0, 3), ValueError, "LocallyConnected1d: filters"),
    (lambda: tl.LocallyConnected1d(4, -1), ValueError, "LocallyConnected1d: kernel_size"),
    (lambda: tl.LocallyConnected1d(4, 3, padding="FULL"), ValueError, "padding must be 'VALID'"),
    (lambda: tl.LocallyConnected1d(4, 3, use_bias=None), TypeError, "use_bias"),
    (lambda: tl.LocallyConnected1d(4, 3, kernel_initializer=3), TypeError, "kernel_initializer"),
    (lambda: tl.SummaryScalar(""), TypeError, "SummaryScalar: name must be a text"),
    (lambda: tl.SummaryScalar(3), TypeError, "SummaryScalar: name must be a text"),
    (lambda: tl.SummaryScalar("m", aggregation_fun=3), TypeError, "aggregation_fun"),
    (lambda: tl.SummaryImage("i", 0), ValueError, "SummaryImage: n_in must be at least 1"),
    (lambda: tl.SummaryImage("i", 1, num_summaries=-1), ValueError, "num_summaries"),
    (lambda: tl.SummaryImage("i", 1, recover_fn=3), TypeError, "recover_fn"),
    (lambda: tl.SummaryImage(None, 1), TypeError, "SummaryImage: name"),
    (lambda: tl.PrintShape(0), ValueError, "PrintShape: n_in must be at least 1"),
    (lambda: tl.Flatten(-1), ValueError, "Flatten: n_axes_to_keep must be at least 0"),
    (lambda: tl.Flatten(1.0), TypeError, "Flatten: n_axes_to_keep must be an int"),
    (lambda: tl.LogSoftmax(axis="x"), TypeError, "LogSoftmax: axis"),
    (lambda: tl.Softmax(axis=1.5), TypeError, "Softmax: axis"),
    (lambda: tl.LogSumExp(axis="x"), TypeError, "LogSumExp: axis"),
    (lambda: tl.Mean(axis="x"), TypeError, "Mean: axis"),
    (lambda: tl.Mean(keepdims="x"), TypeError, "Mean: keepdims"),
    (lambda: tl.Min(axis=0.5), TypeError, "Min: axis"),
    (lambda: tl.Max(axis=(0, "x")), TypeError, r"Max: axis\[1\]"),
    (lambda: tl.Sum(keepdims=2), TypeError, "Sum: keepdims"),
    (lambda: tl.ArgMax(axis=None), TypeError, "ArgMax: axis must be an int"),
    (lambda: tl.ThresholdToBinary("x"), TypeError, "ThresholdToBinary: threshold"),
    (lambda: tl.one_hot(IDS, -1), ValueError, "one_hot: n_categories must be at least 0"),
    (lambda: tl.multigaussian_loss(X, X, 0), ValueError, "multigaussian_loss: ngauss"),
    (lambda: tl.multigaussian_loss(X, X), ValueError, r"expected preds \[batch, 7\]"),
    (lambda: tl.logsoftmax_sample(onp.zeros(3), -1.0), ValueError, "temperature"),
    # checks of shapes
    (lambda: tl.AssertShape("a b"), AssertionError, "a specification has letters, digits"),
    (lambda: tl.AssertShape("a->b"), AssertionError, "a specification has letters, digits"),
    (lambda: tl.AssertShape(3), AssertionError, "got 3"),
    (lambda: tl.assert_shape("ab"), ValueError, "expected 'inputs->outputs'"),
    (lambda: tl.AssertFunction("a->b->c", tl.Dup()), ValueError, "expected 'inputs->outputs'"),
    # attributes
    (lambda: setattr(tl.Dense(2), "units", 3), ValueError,
     r"Dense_2: only \('weights', 'state', 'rng'\).*got 'units'"),
    (lambda: setattr(tl.Serial(), "name", "x"), ValueError, "Serial: only .* got 'name'"),
    (lambda: set_weights(tl.Serial(tl.Dense(2)), ()), ValueError,
     r"Number of weight elements \(0\) does not equal the number of sublayers \(1\) in: Serial"),
    (lambda: set_weights(tl.Serial(tl.Dense(2)), (1, 2)), ValueError, r"elements \(2\)"),
    (lambda: set_weights(tl.Serial(tl.Dense(2)), X), ValueError, r"elements \(a single"),
    (lambda: setattr(tl.Parallel(None, None), "state", ((),)), ValueError,
     "Number of state elements"),
    (lambda: set_weights(tl.Serial(tl.Dense(2), tl.Dup()), ((X, V),)), ValueError,
     r"elements \(1\).*Dup_out2\n\]\.\n  fix: there are 2 leaves in both.*layer\.weights\)\[0\]"),
    (lambda: setattr(tl.Scan(f2()), "state", ((),)), ValueError, "Scan: the state has two items"),
    (lambda: setattr(tl.Cache(tl.Dup()), "state", 3), ValueError, "Cache: the state has two items"),
    # shapes, shards
    (lambda: shapes.ShapeDtype(3), TypeError, "shape must be tuple or list; got: 3"),
    (lambda: shapes.ShapeDtype((2, "x")), TypeError, "lengths are ints or None"),
    (lambda: shapes.signature(3.0), TypeError, "signature: expected arrays.*got float"),
    (lambda: shapes.signature([1, 2]), TypeError, "signature: expected arrays.*got int"),
    (lambda: tl.shard(jnp.ones(3), 2), ValueError, r"Cannot split x with shape \(3,\) into 2."),
    (lambda: tl.shard(jnp.ones(()), 2), ValueError, "Cannot split x"),
]  # fmt: skip

# (what is done, what the message of the LayerError has)
CALLS = [
    # never initialized, or for another signature
    (lambda: tl.Dense(2)(X), r"Dense_2: expected weights \(w, b\); got none.*fix: .*layer.init"),
    (lambda: tl.Dense(2, use_bias=False)(X), "Dense_2: expected weights w; got none"),
    (lambda: tl.LayerNorm()(X), r"fix: the layer has no weights yet: layer.init\(shapes.signature"),
    (lambda: tl.Serial(tl.GRU(3))(jnp.ones((2, 4, 3))), "fix: the layer has no weights yet"),
    (lambda: tl.PositionalEncoding()(X), "fix: the layer has no weights yet"),
    (lambda: tl.Embedding(5, 3)(IDS), "Embedding_5_3: expected weights w; got none"),
    (lambda: tl.Weights(onp.ones, (2,))(()), "expected weights an array; got none"),
    (lambda: tl.LocallyConnected1d(2, 3)(jnp.ones((2, 5, 3))), "the layer has no weights yet"),
    (lambda: tl.Serial(tl.Dense(2))(X), "Dense_2: expected weights.*in layer Serial"),
    (lambda: tl.Dense(2)(X, weights=(X,)), r"Dense_2: expected weights \(w, b\)"),
    (lambda: tl.Dense(2)(X, weights=X), r"Weights should be a \(w, b\) tuple or list"),
    (lambda: tl.Dense(2)(X, weights=(X, V)), r"expected inputs \[\.\.\., 2\].*got \(2, 3\)"),
    (lambda: tl.Serial(tl.Dense(2))(X, weights=()), "Number of weight elements"),
    (lambda: tl.Serial(tl.Dense(2))(X, state=((),), weights=()), "Number of weight elements"),
    # lists and keys that are none
    (lambda: tl.Relu()([[1.0] * 50] * 50),
     r"fix: the layer takes arrays, and got list.* for [^\n]{500} … \(\d+ characters\)"),
    (lambda: tl.Dropout(0.5)(X, rng=3), r"bernoulli: expected a key(?!.*no weights yet)"),
    # arity
    (lambda: run(tl.Serial(tl.Dup(), tl.Concatenate(3)), X),
     r"expected a tuple or list of 2 tensors.*\[a0 a1\]\s+Concatenate_in3 takes 3 items"),
    (lambda: tl.Serial(tl.Add())((X,)), r"number of inputs \(1\) is less than n_in \(2\)"),
    (lambda: tl.Serial(tl.Add(), tl.Add())((X, X)),
     r"\[a0\]\s+Add_in2 takes 2 items, and there are 1"),
    (lambda: tl.Serial(tl.Add()).init((SIG,)), r"number of inputs \(1\) is less than n_in"),
    (lambda: tl.Parallel(None, None)((X,)), r"Parallel: number of inputs \(1\) is less than n_in"),
    (lambda: tl.Parallel(None, tl.Add())(X), "Serial takes 1, Add takes 2"),
    (lambda: tl.Parallel(None, tl.Add()).init((SIG, SIG)), r"number of inputs \(2\)"),
    (lambda: tl.Add()(X), "Add: expected a tuple or list of 2 tensors; got a single"),
    (lambda: tl.Add()((X, X, X)), "Add: expected 2 inputs; got 3"),
    (lambda: tl.Gate()((X, X)), "Gate: expected 3 inputs; got 2"),
    (lambda: tl.Concatenate(3)((X, X)), "Concatenate: expected 3 inputs; got 2"),
    (lambda: tl.Concatenate(2)(X), "Concatenate: expected 2 inputs; got 1"),
    (lambda: tl.Scan(f2())((X,)), "Scan: expected 2 inputs; got 1"),
    (lambda: tl.Scan(f2()).init((SIG,)), "Scan: expected 2 inputs; got 1"),
    (lambda: tl.Cond(tl.Dense(1), tl.Dense(3))((X, X, X)),
     r"number of inputs \(3\) is not n_in \(2\)"),
    (lambda: tl.Cond(tl.Dense(1), tl.Dense(3)).init(SIG), r"number of inputs \(1\) is not n_in"),
    (lambda: run(tl.Serial(Liar(), tl.Add()), X), "Liar gave 1 outputs, and its n_out is 2"),
    (lambda: tl.Fn("None", lambda x: None)(X), 'Argument "container" is None.*None returned None'),
    (lambda: tl.Swap()((X,)), "Swap: expected 2 inputs; got 1"),
    # shapes
    (lambda: run(tl.Serial(tl.Dense(2), tl.Dense(3)), jnp.ones(())), "Dense_2"),
    (lambda: run(tl.Dense(2), jnp.ones(())), "Dense_2"),
    (lambda: run(tl.Residual(tl.Dense(2)), X), "Add"),
    (lambda: run(tl.Split(2), X), r"Split: shape \(2, 3\) can't be cut in 2 equal parts, axis -1"),
    (lambda: run(tl.Split(2, axis=2), X), "Split: shape .* axis 2"),
    (lambda: run(tl.Flatten(2), X), r"Flatten_keep2: expected more than 2 axes; got shape"),
    (lambda: run(tl.Scan(f2(), axis=2), X, V), r"Scan: axis 2 is out of range for an input of"),
    (lambda: run(tl.Scan(tl.Fn("G", lambda x, y, c: (x, c), n_out=2)), X, jnp.ones((3, 3)), V),
     "Scan: inputs differ in their length along axis 0"),
    (lambda: run(tl.Chunk(tl.Dense(2), 4, pass_unchunkable=False), jnp.ones((6, 3))),
     "the batch of 6 can't be cut in chunks of 4.*fix: pass_unchunkable=True"),
    (lambda: run(tl.BatchLeadingAxes(tl.Dense(2), 3), X), "keeps 3 axes; an input has shape"),
    (lambda: run(tl.LocallyConnected1d(2, 3), V), r"expected inputs \[\.\.\., L, D\]"),
    (lambda: run(tl.LocallyConnected1d(2, 5), jnp.ones((2, 3, 3))),
     "a window of 5 in a sequence of 3"),
    (lambda: run(tl.Concatenate(), X, jnp.ones((3, 3))), "Concatenate"),
    (lambda: run(tl.Concatenate(axis=4), X, X), "Concatenate_axis4"),
    (lambda: run(tl.Dropout(0.5, shared_axes=[2]), X), r"no axis 2 \(shared_axes\)"),
    (lambda: run(tl.AssertShape("ab,bc"), X, X), r"Expected ab,bc, got \[\(2, 3\), \(2, 3\)\]"),
    (lambda: run(tl.AssertShape("2"), V), "Expected 2, got"),
    (lambda: run(tl.AssertShape("a.b"), V), "an ellipsis is"),
    (lambda: run(tl.AssertShape("a,b"), V), "Expected a,b, got"),
    (lambda: run(tl.AssertFunction("ab->ba", tl.Dense(3)), X), "function output"),
    (lambda: run(tl.Mean(axis=3), X), "Mean"),
    (lambda: run(tl.LogSoftmax(axis=5), X), "LogSoftmax"),
    # dtypes
    (lambda: run(tl.Embedding(5, 3), X), "expected ids, which are integers; got float32"),
    (lambda: run(tl.Embedding(5, 3), IDS + 11), "the id 1[0-9] is outside the vocabulary of 5"),
    (lambda: run(tl.Embedding(5, 3), IDS - 9), "the id -9 is outside the vocabulary of 5"),
    (lambda: run(tl.Cond(tl.Fn("C", lambda x: x), tl.Dense(3)), X, X), "Cond"),
    # the class itself
    (lambda: Plain()(X), r"Plain: its class must define forward\(self, inputs\)"),
    (lambda: fastmath.grad(lambda x: Silent()(x).sum())(X), "Silent: its class has_backward"),
    (lambda: run(Odd(), X), "the number of features is odd"),
    (lambda: run(tl.Serial(tl.Dense(3), Odd()), X), "is odd.*in layer Odd.*in layer Serial"),
    (lambda: tl.Dense(3).output_signature(SIG), "expected weights.*in layer Dense_3 "),
    # neither arrays nor signatures
    (lambda: tl.Dense(2)("x"), "fix: the layer takes arrays, and got str: np.asarray.*for str"),
    (lambda: tl.Relu()(3), "layer takes arrays, and got int: np.asarray"),
    (lambda: tl.Dense(2)([[1.0, 2.0]]), "layer takes arrays, and got list: np.asarray"),
    (lambda: tl.Add()((X, "a")), "layer takes arrays, and got str: np.asarray"),
    (lambda: tl.Serial(tl.Dense(2))(None), "layer takes arrays, and got NoneType"),
    (lambda: tl.Dense(2).init("x"), "the layer takes signatures, and got str: shapes.*for str"),
    (lambda: tl.Dense(2).init((2, 4)), r"takes signatures, and got int: shapes.ShapeDtype\(\(2, 3"),
    (lambda: tl.Dense(2).init(None), "takes signatures, and got NoneType"),
]  # fmt: skip


@pytest.mark.parametrize("case", CONSTRUCTORS, ids=row_name)
def test_wrong_options(case):
    f, kind, message = case
    with pytest.raises(kind) as info:
        f()
    text = "\n".join([str(info.value), *getattr(info.value, "__notes__", ())])
    assert re.search(message, text, re.DOTALL), text
    assert not isinstance(info.value, KeyError | NotImplementedError)
    assert "test_core.py" in text, text


@pytest.mark.parametrize("case", CALLS, ids=row_name)
def test_wrong_calls(case):
    f, message = case
    with pytest.raises(tl.LayerError) as info:
        f()
    text = str(info.value)
    assert re.search(message, text, re.DOTALL), text
    assert "test_core.py:" in text, text


def test_there_are_enough():
    assert len(CONSTRUCTORS) + len(CALLS) >= 200
