"""Small models, tasks and loops that several test files run."""

import numpy as np

from weft import layers as tl, optimizers
from weft.supervised import training

TRUE = np.array([[1.0], [-2.0], [3.0]], "float32")


def batches(seed=0, n=8):
    """An endless stream of batches of a linear function with weights `TRUE`."""
    rng = np.random.RandomState(seed)
    while True:
        x = rng.randn(n, 3).astype("float32")
        yield x, x @ TRUE, np.ones((n, 1), "float32")


def train_task(data=None, rate=0.05, optimizer=None, **options):
    optimizer = optimizers.SGD(rate) if optimizer is None else optimizer
    return training.TrainTask(
        batches() if data is None else data, tl.L2Loss(), optimizer, **options
    )


def eval_task(data=None, **options):
    metrics = options.pop("metrics", None) or [tl.L2Loss()]
    return training.EvalTask(batches(seed=9) if data is None else data, metrics, **options)


def loop(model=None, tasks=None, **options):
    options = {"n_devices": 1, "random_seed": 0, **options}
    return training.Loop(
        tl.Serial(tl.Dense(1)) if model is None else model,
        train_task() if tasks is None else tasks,
        **options,
    )


def leaves(loop):
    """The weights of a loop's model as NumPy arrays."""
    return [np.asarray(w) for w in tl.flatten_weights_and_state(loop.model.weights, ())[0]]
