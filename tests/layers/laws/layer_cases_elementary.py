"""Rows of activations, convolutions, pooling, normalization, metrics and acceleration."""

import numpy as onp
from layer_cases import LayerCase, ids

from weft import layers as tl

POSITIVE = onp.linspace(0.1, 3.0, 12, dtype=onp.float32).reshape(3, 4)
PROBABILITIES = onp.linspace(0.05, 0.95, 6, dtype=onp.float32)
SHARES = onp.linspace(0.1, 1.0, 6, dtype=onp.float32).reshape(2, 3)  # weights of a metric
IMAGES, ROWS = (2, 5, 6, 3), (2, 7, 3)
COUNTED = dict.fromkeys(("derivative", "remat"), "counts hits, so the gradient is zero")
FLOAT32 = {"bfloat16": "targets are converted to float32, and so is the result"}
ALONE = {
    "vmap": "the devices are divided once",
    "backends": "the number of devices differs",
    **dict.fromkeys(("remat", "bfloat16"), "as on one device"),
}

ACTIVATIONS = [name for name in tl.activation_fns.__all__ if name != "Log"]

CASES = [
    *(LayerCase(name, getattr(tl, name), ((3, 4),)) for name in ACTIVATIONS),
    LayerCase("Log", tl.Log, (POSITIVE,)),
    # convolutions
    LayerCase("Conv", lambda: tl.Conv(4, (3, 2), (2, 1), "SAME"), (IMAGES,)),
    LayerCase("Conv, no bias", lambda: tl.Conv(4, (3, 2), use_bias=False), (IMAGES,)),
    LayerCase("Conv1d", lambda: tl.Conv1d(4, 3, padding=[(1, 0)]), (ROWS,)),
    LayerCase("CausalConv", lambda: tl.CausalConv(4), (ROWS,)),
    LayerCase("CausalDepthwiseConv", tl.CausalDepthwiseConv, (ROWS,)),
    LayerCase("ConvTranspose",
              lambda: tl.ConvTranspose(2, (3, 2), (2, 3), rhs_dilation=(1, 2)), (IMAGES,)),
    # pooling
    LayerCase("MaxPool", tl.MaxPool, (IMAGES,)),
    LayerCase("SumPool", lambda: tl.SumPool((3,), (2,), "SAME"), (ROWS,)),
    LayerCase("AvgPool", lambda: tl.AvgPool(strides=(2, 2), padding="SAME"), (IMAGES,)),
    # normalization
    LayerCase("BatchNorm", tl.BatchNorm, (IMAGES,)),
    LayerCase("BatchNorm, eval", lambda: tl.BatchNorm(0, center=False, mode="eval"), ((4, 3),)),
    LayerCase("LayerNorm", tl.LayerNorm, (ROWS,)),
    LayerCase("LayerNorm, not centered", lambda: tl.LayerNorm(center=False), (ROWS,)),
    LayerCase("FilterResponseNorm", tl.FilterResponseNorm, (IMAGES,)),
    LayerCase("FilterResponseNorm, learnt epsilon",
              lambda: tl.FilterResponseNorm(learn_epsilon=True), (IMAGES,)),
    # metrics
    LayerCase("CategoryAccuracy", tl.CategoryAccuracy, ((2, 3, 5), ids(2, 3)), COUNTED | FLOAT32),
    LayerCase("WeightedCategoryAccuracy", tl.WeightedCategoryAccuracy,
              ((2, 3, 5), ids(2, 3), SHARES)),
    LayerCase("CategoryCrossEntropy", lambda: tl.CategoryCrossEntropy(0.1),
              ((2, 3, 5), ids(2, 3)), FLOAT32),
    LayerCase("WeightedCategoryCrossEntropy",
              lambda: tl.WeightedCategoryCrossEntropy(cutoff=0.5),
              ((2, 3, 5), ids(2, 3), SHARES), FLOAT32),
    LayerCase("BinaryCrossEntropy", tl.BinaryCrossEntropy, ((6,), ids(6, high=2))),
    LayerCase("MaskedSequenceAccuracy", tl.MaskedSequenceAccuracy,
              ((2, 3, 5), ids(2, 3), SHARES), COUNTED | FLOAT32),
    LayerCase("Accuracy", tl.Accuracy, ((2, 3, 5), ids(2, 3), SHARES), COUNTED | FLOAT32),
    LayerCase("SequenceAccuracy", tl.SequenceAccuracy, ((2, 3, 5), ids(2, 3), SHARES), FLOAT32),
    LayerCase("CrossEntropyLoss", tl.CrossEntropyLoss, ((2, 3, 5), ids(2, 3), SHARES), FLOAT32),
    LayerCase("CrossEntropyLossWithLogSoftmax", tl.CrossEntropyLossWithLogSoftmax,
              ((2, 3, 5), ids(2, 3), SHARES), FLOAT32),
    LayerCase("CrossEntropySum", tl.CrossEntropySum, ((2, 3, 5), ids(2, 3), SHARES), FLOAT32),
    LayerCase("BinaryCrossEntropyLoss", tl.BinaryCrossEntropyLoss,
              (PROBABILITIES, ids(6, high=2), PROBABILITIES)),
    LayerCase("BinaryCrossEntropySum", tl.BinaryCrossEntropySum,
              (PROBABILITIES, ids(6, high=2), PROBABILITIES)),
    LayerCase("L2Loss", tl.L2Loss, ((2, 3), (2, 3), SHARES)),
    LayerCase("SmoothL1Loss", tl.SmoothL1Loss, ((2, 3), (2, 3), SHARES)),
    LayerCase("MacroAveragedFScore", tl.MacroAveragedFScore, ((6, 4), ids(6, high=4)),
              COUNTED | FLOAT32),
    LayerCase("WeightedFScore", tl.WeightedFScore, ((6, 4), ids(6, high=4)), COUNTED | FLOAT32),
    LayerCase("WeightedSum", tl.WeightedSum, ((2, 3), SHARES)),
    # acceleration
    LayerCase("Accelerate, one device", lambda: tl.Accelerate(tl.Dense(4), 1), ((3, 2),)),
    LayerCase("Accelerate, two devices", lambda: tl.Accelerate(tl.LayerNorm(), 2), ((3, 4),),
              ALONE),
]  # fmt: skip
