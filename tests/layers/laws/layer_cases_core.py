"""Rows of core layers and combinators."""

from layer_cases import LayerCase, ids

from weft import layers as tl
from weft.fastmath import numpy as jnp

INTEGER = {"derivative": "integers", "remat": "integers", "bfloat16": "integers"}
NOT_SMOOTH = {"derivative": "piecewise constant", "remat": "piecewise constant"}
HALF = {"bfloat16": "float32 by definition"}


def add():
    """A cell that adds its input to what is carried."""
    return tl.Fn("add", lambda x, carry: (x * carry, jnp.tanh(x + carry)), n_out=2)


class Gated(tl.Layer):
    """A layer with state, and weights as a dict."""

    def init_weights_and_state(self, input_signature):
        self.weights = {"w": jnp.ones(input_signature.shape[-1]), "b": jnp.zeros(())}
        self.state = jnp.zeros(())

    def forward(self, x):
        self.state = self.state + 1.0
        return x * self.weights["w"] + self.weights["b"]


def shared():
    """One layer in two places."""
    dense = tl.Dense(3)
    return tl.Serial(dense, tl.Fn("Tanh", lambda x: jnp.tanh(x)), dense)


is_positive = tl.Fn("IsPositive", lambda x: jnp.sum(x) > 0)

CASES = [
    LayerCase("Dense", lambda: tl.Dense(4), ((2, 3),)),
    LayerCase("Dense, no bias", lambda: tl.Dense(4, use_bias=False), ((2, 5, 3),)),
    LayerCase("Embedding", lambda: tl.Embedding(5, 3), (ids(2, 4),),
              {"bfloat16": "ids are integers"}),
    LayerCase("Dropout", lambda: tl.Dropout(0.5), ((4, 6),),
              {"backends": "random streams differ"}),
    LayerCase("Dropout, shared axes", lambda: tl.Dropout(0.5, shared_axes=[0]), ((4, 6),),
              {"backends": "random streams differ"}),
    LayerCase("Dropout, eval", lambda: tl.Dropout(0.5, mode="eval"), ((4, 6),)),
    LayerCase("Weights", lambda: tl.Serial(tl.Weights(lambda s, k: jnp.ones(s), (3,)), tl.Add()),
              ((2, 3),)),
    LayerCase("RandomUniform", lambda: tl.Serial(tl.RandomUniform(shape=(3,)), tl.Multiply()),
              ((2, 3),), {"backends": "random streams differ"} | HALF),
    *(
        LayerCase(f"LocallyConnected1d, {padding}",
                  lambda padding=padding: tl.LocallyConnected1d(2, 3, padding=padding),
                  ((2, 5, 3),))
        for padding in ("VALID", "SAME", "WRAP")
    ),
    LayerCase("SummaryScalar", lambda: tl.SummaryScalar("m"), ((2, 3),)),
    LayerCase("SummaryImage", lambda: tl.SummaryImage("i", n_in=2, num_summaries=1),
              ((2, 3, 4), (2, 3, 4)), {"signature": "the first call makes the images"}),
    LayerCase("PrintShape", lambda: tl.PrintShape(2, "x"), ((2, 3), (3,))),
    LayerCase("Flatten", lambda: tl.Flatten(), ((2, 3, 4),)),
    LayerCase("LogSoftmax", lambda: tl.LogSoftmax(), ((2, 3),)),
    LayerCase("LogSumExp", lambda: tl.LogSumExp(axis=0), ((2, 3),)),
    LayerCase("Softmax", lambda: tl.Softmax(), ((2, 3),)),
    LayerCase("ToFloat", lambda: tl.ToFloat(), (ids(2, 3),), INTEGER),
    LayerCase("Mean", lambda: tl.Mean(), ((2, 3),)),
    LayerCase("Min", lambda: tl.Min(axis=None), ((2, 3),)),
    LayerCase("Max", lambda: tl.Max(keepdims=True), ((2, 3),)),
    LayerCase("Sum", lambda: tl.Sum(), ((2, 3),)),
    LayerCase("ThresholdToBinary", lambda: tl.ThresholdToBinary(), ((2, 3),), NOT_SMOOTH),
    LayerCase("ArgMax", lambda: tl.ArgMax(), ((2, 3),), NOT_SMOOTH),
    LayerCase("Negate", lambda: tl.Negate(), ((2, 3),)),
    LayerCase("StopGradient", lambda: tl.StopGradient(), ((2, 3),),
              {"derivative": "zero by definition"}),
    LayerCase("Fn", lambda: tl.Fn("F", lambda x, y: (x * y, jnp.sin(x)), n_out=2), ((2, 3), (3,))),
    LayerCase("AssertShape", lambda: tl.AssertShape("ab,b"), ((2, 3), (3,))),
    LayerCase("dict of weights", Gated, ((2, 3),)),
    # combinators
    LayerCase("Serial", lambda: tl.Serial(tl.Dense(3), tl.Dup(), tl.Dense(2)), ((2, 3),)),
    LayerCase("Serial, empty", lambda: tl.Serial(), ((2, 3),)),
    LayerCase("Serial, shared", shared, ((2, 3),)),
    LayerCase("Parallel", lambda: tl.Parallel(tl.Dense(2), None), ((2, 3), (2,))),
    LayerCase("Branch", lambda: tl.Branch(tl.Dense(2), tl.Add(), None), ((2, 3), (2, 3))),
    LayerCase("Residual", lambda: tl.Residual(tl.Dense(3), shortcut=tl.Dense(3)), ((2, 3),)),
    LayerCase("Concatenate", lambda: tl.Concatenate(axis=0), ((2, 3), (1, 3))),
    LayerCase("Split", lambda: tl.Split(3), ((2, 3),)),
    LayerCase("Select", lambda: tl.Select([1, 0, 0]), ((2, 3), (3,))),
    LayerCase("Drop", lambda: tl.Serial(tl.Dup(), tl.Drop()), ((2, 3),)),
    LayerCase("Dup", lambda: tl.Dup(), ((2, 3),)),
    LayerCase("Swap", lambda: tl.Swap(), ((2, 3), (3,))),
    LayerCase("Add", lambda: tl.Add(), ((2, 3), (3,))),
    LayerCase("SubtractTop", lambda: tl.SubtractTop(), ((2, 3), (3,))),
    LayerCase("Multiply", lambda: tl.Multiply(), ((2, 3), (3,))),
    LayerCase("Gate", lambda: tl.Gate(), ((2, 3), (2, 3), (2, 3))),
    LayerCase("SerialWithSideOutputs",
              lambda: tl.SerialWithSideOutputs([tl.Dup(), tl.Serial(tl.Dense(2), tl.Dup())]),
              ((2, 3),)),
    LayerCase("Scan", lambda: tl.Scan(add(), axis=1), ((2, 4, 3), (2, 3))),
    LayerCase("Scan, remat", lambda: tl.Scan(add(), axis=-2, remat=True), ((2, 4, 3), (2, 3))),
    LayerCase("Scan, no carry", lambda: tl.Scan(tl.Dense(2), n_carry=0), ((4, 2, 3),)),
    LayerCase("Scan, dropout", lambda: tl.Scan(tl.Dropout(0.5), n_carry=0), ((4, 2, 3),),
              {"backends": "random streams differ"}),
    LayerCase("Scan, predict", lambda: tl.Scan(add(), axis=1, mode="predict"), ((2, 4, 3), (2, 3)),
              {"signature": "the first call makes the carry"}),
    LayerCase("Cond", lambda: tl.Cond(is_positive, tl.Dense(3)), ((3,), (2, 3)),
              {"vmap": "weights are mapped, and both branches run"}),
    LayerCase("Chunk", lambda: tl.Chunk(tl.Dense(2), 2), ((4, 3),)),
    LayerCase("Cache", lambda: tl.Cache(tl.Dense(2)), ((2, 3),),
              {"signature": "the first call makes what is kept"}),
    LayerCase("BatchLeadingAxes", lambda: tl.BatchLeadingAxes(tl.Dense(2)), ((2, 3, 4),)),
    LayerCase("Bidirectional", lambda: tl.Bidirectional(tl.Dense(2)), ((2, 4, 3),)),
]  # fmt: skip
