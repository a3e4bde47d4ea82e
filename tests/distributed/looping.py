"""A training loop as one of several processes, each with its half of every batch; prints losses."""

import json
import sys

import numpy as np

import weft
from weft import layers as tl, optimizers
from weft.supervised import training

folder = sys.argv[1]
weft.distributed.initialize()
rank, count = weft.process_index(), weft.process_count()


def batches(seed=0):
    rng = np.random.RandomState(seed)
    while True:
        x = rng.randn(8, 3).astype("float32")
        batch = x, x.sum(axis=1, keepdims=True), np.ones((8, 1), "float32")
        yield tuple(part[rank * 8 // count : (rank + 1) * 8 // count] for part in batch)


def run():
    task = training.TrainTask(batches(), tl.L2Loss(), optimizers.Adam(0.05))
    evaluation = training.EvalTask(batches(1), [tl.L2Loss()])
    # a bias before BatchNorm has no gradient but rounding, of which Adam would make steps
    first = tl.Dense(4, use_bias=False)
    model = tl.Serial(first, tl.BatchNorm(axis=0), tl.Relu(), tl.Dense(1))
    return training.Loop(
        model,
        task,
        eval_tasks=evaluation,
        output_dir=folder,
        eval_at=lambda step: True,
        checkpoint_at=lambda step: step % 4 == 0,
        random_seed=0,
    )


loop = run()
loop.run(8 - loop.step)
losses = [loop.history.get(mode, "metrics/L2Loss") for mode in ("train", "eval")]
print("losses", json.dumps([loop.step, losses]), flush=True)
