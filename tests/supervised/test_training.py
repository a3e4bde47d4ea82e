import itertools
import re
import signal

import numpy as np
import pytest
from loops import TRUE, batches, eval_task, leaves, loop, train_task

import weft
from weft import layers as tl, optimizers
from weft.errors import ShapeError
from weft.layers.base import LayerError
from weft.supervised import callbacks, lr_schedules, training


def numpy_training(weights, rates, data=None):
    """Losses and weights of gradient descent in NumPy, in float64."""
    (w, b), losses = [np.asarray(x, "float64") for x in weights], []
    for rate, (x, y, _) in zip(rates, data or batches(), strict=False):
        error = x @ w + b - y
        losses.append(np.mean(error**2))
        w = w - rate * 2 * x.T @ error / len(x)
        b = b - rate * 2 * np.mean(error, axis=0)
    return losses, w, b


def history(run, mode, metric):
    return np.array(run.history.get(mode, metric), "float64")


def test_a_run_is_gradient_descent_and_reports_means_of_losses():
    schedule = lr_schedules.warmup_and_rsqrt_decay(5, 0.1)
    run = loop(
        tasks=train_task(lr_schedule=schedule),
        eval_tasks=eval_task(),
        eval_at=lambda s: s % 10 == 0,
    )
    begin = leaves(run)
    run.run(50)
    losses, w, b = numpy_training(begin, [schedule(s) for s in range(1, 51)])
    np.testing.assert_allclose(leaves(run)[0], w, atol=1e-5)
    np.testing.assert_allclose(leaves(run)[1], b, atol=1e-5)
    steps, means = history(run, "train", "metrics/L2Loss").T
    assert steps.tolist() == [10, 20, 30, 40, 50]
    np.testing.assert_allclose(means, np.mean(np.reshape(losses, (5, 10)), axis=1), rtol=1e-4)
    rates = history(run, "train", "training/learning_rate")[:, 1]
    np.testing.assert_allclose(rates, [schedule(s) for s in steps])
    assert run.step == 50


def test_evaluations_read_on_and_average_over_batches():
    model, task = tl.Serial(tl.Dense(1)), train_task(rate=0.0)
    run = loop(model, task, eval_tasks=eval_task(n_eval_batches=3), eval_at=lambda s: True)
    run.run(2)
    w, b = leaves(run)
    errors = [np.mean((x @ w + b - y) ** 2) for x, y, _ in itertools.islice(batches(9), 6)]
    expected = np.mean(np.reshape(errors, (2, 3)), axis=1)
    np.testing.assert_allclose(history(run, "eval", "metrics/L2Loss")[:, 1], expected, rtol=1e-5)


def test_the_lines_are_those_of_trax(capsys):
    run = loop(tasks=train_task(n_steps_per_checkpoint=2), eval_tasks=eval_task())
    run.run(3)
    lines = capsys.readouterr().out.splitlines()
    number = r" ?-?\d+\.\d{8}"
    expected = [
        "Will not write evaluation metrics, because output_dir is None.",
        "",
        "Step      1: Total number of trainable weights: 4",
        r"Step      1: Ran 1 train steps in \d+\.\d\d secs",
        rf"Step      1: train L2Loss \| {number}",
        rf"Step      1: eval  L2Loss \| {number}",
        "",
        r"Step      2: Ran 1 train steps in \d+\.\d\d secs",
        rf"Step      2: train L2Loss \| {number}",
        rf"Step      2: eval  L2Loss \| {number}",
    ]
    assert len(lines) == len(expected)
    assert [(a, b) for a, b in zip(expected, lines, strict=True) if not re.fullmatch(a, b)] == []


def test_names_of_metrics_end_in_one_column(capsys):
    metrics = eval_task(metrics=[tl.L2Loss(), tl.SmoothL1Loss()], metric_names=["a", "longest"])
    loop(eval_tasks=[metrics]).run(1)
    out = capsys.readouterr().out
    assert "Step      1: train  L2Loss | " in out
    assert "Step      1: eval        a | " in out
    assert "Step      1: eval  longest | " in out


def test_reports_come_at_step_1_and_every_n_steps_by_default():
    run = loop(tasks=train_task(n_steps_per_checkpoint=4), eval_tasks=eval_task())
    run.run(3)
    run.run(7)
    assert history(run, "train", "metrics/L2Loss")[:, 0].tolist() == [1, 4, 8]
    assert history(run, "eval", "metrics/L2Loss")[:, 0].tolist() == [1, 4, 8]


@pytest.mark.parametrize("eval_tasks", [None, []])
def test_training_is_reported_without_evaluations(eval_tasks):
    run = loop(eval_tasks=eval_tasks)
    run.run(1)
    assert run.history.modes == ["train"]
    assert run.history.metrics_for_mode("train") == [
        "metrics/L2Loss",
        "training/gradients_l2",
        "training/learning_rate",
        "training/loss",
        "training/steps per second",
        "training/weights_l2",
    ]


def test_properties():
    model, task, evaluation = tl.Serial(tl.Dense(1)), train_task(), eval_task()
    run = training.Loop(model, [task], eval_tasks=(evaluation,))
    assert (run.step, run.is_chief, run.output_dir) == (0, True, None)
    assert run.n_devices == len(weft.local_devices())
    assert (run.model, run.tasks, run.eval_tasks) == (model, [task], [evaluation])
    assert run.history.modes == []
    keys = [np.asarray(run.new_rng()).tolist() for _ in range(3)]
    assert len(set(map(tuple, keys))) == 3


def test_a_seed_makes_runs_equal_and_others_differ():
    def trained(seed):
        run = loop(tl.Serial(tl.Dense(4), tl.Dropout(0.5), tl.Dense(1)), random_seed=seed)
        run.run(3)
        return [w.tolist() for w in leaves(run)]

    assert trained(1) == trained(1) != trained(2)
    assert trained(None) != trained(None)


def test_a_seed_seeds_numpy_and_python():
    import random

    drawn = []
    for _ in range(2):
        loop(random_seed=5)
        drawn.append((random.random(), np.random.rand()))
    assert drawn[0] == drawn[1]


def test_weights_that_are_there_are_kept():
    model = tl.Serial(tl.Dense(1))
    model.init(next(batches())[0])
    before = np.asarray(model.weights[0][0])
    assert (leaves(loop(model))[0] == before).all()


def test_the_user_may_replace_weights():
    run = loop(eval_tasks=eval_task(), eval_at=lambda s: True)
    run.run(2)
    run.update_weights_and_state(weights=((TRUE, np.zeros(1, "float32")),))
    run.run(1)
    assert history(run, "train", "metrics/L2Loss")[-1, 1] == pytest.approx(0, abs=1e-9)


def test_tasks_take_turns_and_number_1_is_the_first():
    """The tasks pull to 1 and to 5; each reports its own loss."""
    ones = np.ones((8, 1), "float32")
    tasks = [
        train_task([(ones, n * ones, ones)], 0.0, loss_name=name)
        for n, name in ((1, "one"), (5, "five"))
    ]
    drawn = []
    for task in tasks:
        task.next_batch = lambda n=task.loss_name, f=task.next_batch: (drawn.append(n), f())[1]
    run = loop(tasks=tasks, eval_at=lambda s: s == 6)
    w, b = leaves(run)
    run.run(6)
    assert drawn == ["five", "one"] * 3
    for n, name in ((1, "one"), (5, "five")):
        loss = (w[0, 0] + b[0] - n) ** 2
        assert history(run, "train", f"metrics/{name}")[0, 1] == pytest.approx(loss, rel=1e-5)


def test_which_task_decides():
    tasks = [train_task(), train_task()]
    run = loop(tasks=tasks, which_task=lambda step: int(step > 3))
    run.run(5)
    assert [task.batches.count for task in tasks] == [3, 2]


def test_tasks_train_the_same_weights_with_optimizers_of_their_own():
    tasks = [train_task(optimizer=optimizers.Momentum(0.01)) for _ in range(2)]
    run = loop(tasks=tasks)
    before = leaves(run)[0]
    run.run(1)
    after_one = leaves(run)[0]
    assert (after_one != before).any()
    slots = [np.asarray(trainer.slots[0]) for trainer in run._trainer_per_task]
    assert (slots[0] == 0).all()
    assert (slots[1] != 0).any()
    run.run(1)
    assert (leaves(run)[0] != after_one).any()


def test_the_model_is_evaluated_in_mode_eval():
    model = tl.Serial(tl.Dense(64), tl.Dropout(0.9), tl.Dense(1))
    run = loop(model, train_task(rate=0.0), eval_tasks=eval_task(), eval_at=lambda s: True)
    run.run(1)
    (w1, b1), _, (w2, b2) = model.weights
    x, y, _ = next(batches(9))
    expected = np.mean(((x @ w1 + b1) @ w2 + b2 - y) ** 2)
    assert history(run, "eval", "metrics/L2Loss")[0, 1] == pytest.approx(float(expected), rel=1e-4)


def test_a_model_for_evaluation_may_be_given():
    twice = tl.Serial(tl.Dense(1), tl.Fn("Twice", lambda x: 2 * x))
    run = loop(
        tl.Serial(tl.Dense(1), tl.Fn("Once", lambda x: x)),
        train_task(rate=0.0),
        eval_model=twice,
        eval_tasks=eval_task(),
    )
    run.run(1)
    assert run.eval_model is twice
    (w, b), _ = run.model.weights
    x, y, _ = next(batches(9))
    expected = float(np.mean((2 * (x @ w + b) - y) ** 2))
    assert history(run, "eval", "metrics/L2Loss")[0, 1] == pytest.approx(expected, rel=1e-5)


class Recorder(callbacks.TrainingStepCallback):
    """Notes when it is called, with the step and the weights that the model has."""

    def __init__(self, run):
        super().__init__(run)
        self.run, self.calls = run, []

    def call_at(self, step):
        return step % 2 == 0

    def on_step_begin(self, step):
        self.calls.append(("begin", step, self.run.step, leaves(self.run)[0]))

    def on_step_end(self, step):
        self.calls.append(("end", step, self.run.step, leaves(self.run)[0]))


def test_callbacks_are_made_of_the_loop_and_see_its_weights():
    recorders = []
    run = loop(callbacks=[lambda loop: recorders.append(Recorder(loop)) or recorders[-1]])
    begin = leaves(run)
    run.run(4)
    calls = recorders[0].calls
    assert [c[:3] for c in calls] == [
        ("begin", 2, 2), ("end", 2, 2), ("begin", 4, 4), ("end", 4, 4),
    ]  # fmt: skip
    expected = [numpy_training(begin, [0.05] * n)[1] for n in (1, 2, 3, 4)]
    for call, w in zip(calls, expected, strict=True):
        np.testing.assert_allclose(call[3], w, atol=1e-5)


def test_a_callback_may_replace_weights():
    class Resets(Recorder):
        def on_step_begin(self, step):
            self.run.update_weights_and_state(weights=((TRUE, np.zeros(1, "float32")),))

        def on_step_end(self, step):
            pass

    run = loop(callbacks=[Resets], eval_at=lambda s: s == 2)
    run.run(2)
    np.testing.assert_allclose(leaves(run)[0], TRUE, atol=1e-5)


def test_a_schedule_and_new_learning_rates_do_not_retrace():
    traces = []
    model = tl.Serial(tl.Dense(1), tl.Fn("Count", lambda x: (traces.append(1), x)[1]))
    run = loop(model, train_task(lr_schedule=lr_schedules.warmup(9, 0.1)))
    traces.clear()
    run.run(20)
    assert len(traces) == 1


def test_data_that_end_end_the_run_with_the_newest_weights(capsys):
    run = loop(tasks=train_task(itertools.islice(batches(), 5)), eval_at=lambda s: False)
    begin = leaves(run)
    run.run(100)
    assert run.step == 5
    np.testing.assert_allclose(leaves(run)[0], numpy_training(begin, [0.05] * 5)[1], atol=1e-5)
    assert "the data ended after 5 batches; training ends" in capsys.readouterr().out


def test_a_list_of_batches_is_an_epoch_that_repeats():
    run = loop(tasks=train_task(list(itertools.islice(batches(), 3))))
    run.run(7)
    assert run.tasks[0].batches.epoch == 2


def test_evaluation_data_that_end_are_averaged_as_far_as_they_go(capsys):
    data = itertools.islice(batches(9), 2)
    run = loop(
        tasks=train_task(rate=0.0),
        eval_tasks=eval_task(data, n_eval_batches=3),
        eval_at=lambda s: True,
    )
    run.run(2)
    assert len(run.history.get("eval", "metrics/L2Loss")) == 1
    assert "ended after 2 of 3 batches" in capsys.readouterr().out


def test_batches_of_another_size_are_compiled_once_more():
    sizes = itertools.cycle([8, 4])
    data = (next(batches(i, n)) for i, n in enumerate(sizes))
    run = loop(tasks=train_task(data))
    run.run(6)
    assert run.step == 6


@pytest.mark.devices(4)
def test_several_devices_train_as_one():
    losses = []
    for n in (1, 4):
        run = loop(n_devices=n, eval_tasks=eval_task(), eval_at=lambda s: s % 5 == 0)
        run.run(20)
        losses.append([history(run, mode, "metrics/L2Loss")[:, 1] for mode in ("train", "eval")])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_16_bits_learn_too(precision):
    run = loop(precision=precision, tasks=train_task(optimizer=optimizers.Adam(0.05)))
    run.run(300)
    np.testing.assert_allclose(leaves(run)[0], TRUE, atol=0.05)
    assert {w.dtype.name for w in leaves(run)} == {"float32"}


def test_gradients_are_accumulated_over_parts_of_a_batch():
    whole, parts = loop(), loop(accumulation_steps=4)
    whole.run(5)
    parts.run(5)
    np.testing.assert_allclose(leaves(whole)[0], leaves(parts)[0], rtol=1e-5)


def reversible_model():
    half = [tl.ReversibleHalfResidual(tl.LayerNorm(), tl.Dense(4)) for _ in range(2)]
    return tl.Serial(
        tl.Dense(4), tl.Dup(), half[0], tl.ReversibleSwap(), half[1], tl.Add(), tl.Dense(1)
    )


def test_the_memory_efficient_trainer_trains_as_the_other_one():
    runs = []
    for efficient in (False, True):
        optimizer = optimizers.Adam if efficient else optimizers.Adam(0.01)
        run = loop(
            reversible_model(),
            train_task(optimizer=optimizer, lr_schedule=lr_schedules.constant(0.01)),
            use_memory_efficient_trainer=efficient,
            eval_tasks=eval_task(),
            eval_at=lambda s: s % 5 == 0,
        )
        run.run(10)
        runs.append(history(run, "eval", "metrics/L2Loss")[:, 1])
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-4)


def test_losses_and_metrics_may_leave_a_part_of_the_batch():
    error = tl.Fn("Error", lambda x, y: weft.numpy.mean((x - y) ** 2))
    task = training.TrainTask(batches(), error, optimizers.SGD(0.05))
    run = loop(tasks=task, eval_tasks=eval_task(metrics=[error, tl.L2Loss()]))
    begin = leaves(run)
    run.run(3)
    np.testing.assert_allclose(leaves(run)[0], numpy_training(begin, [0.05] * 3)[1], atol=1e-5)
    values = [run.history.get("eval", f"metrics/{name}")[0][1] for name in ("Error", "L2Loss")]
    assert values[0] == pytest.approx(values[1])


# What goes wrong.


def test_a_loss_that_is_nan_names_the_step_and_the_layer_and_keeps_the_weights():
    """The logarithm of what is negative for some inputs, but not in the first steps."""
    good, bad = np.full((8, 1), 2.0, "float32"), np.full((8, 1), -2.0, "float32")
    ones = np.ones((8, 1), "float32")
    data = [(good, ones, ones)] * 4 + [(bad, ones, ones)] + [(good, ones, ones)] * 20
    run = loop(tl.Serial(tl.Weights(lambda shape, key: np.full(shape, 1.0, "float32"), (1,)),
                         tl.Multiply(), tl.Log()), train_task(data, 0.01))  # fmt: skip
    with pytest.raises(FloatingPointError) as raised:
        run.run(20)
    text = str(raised.value)
    assert text.startswith("Loop: the loss of step 5 is nan")
    assert "Log" in text
    assert "forward pass" in text
    assert run.step == 4
    assert np.isfinite(leaves(run)[0]).all()
    run.run(3)  # the bad batch is behind it
    assert run.step == 7


def test_a_gradient_that_is_nan_is_found_too():
    zeros, ones = np.zeros((8, 1), "float32"), np.ones((8, 1), "float32")
    model = tl.Serial(tl.Dense(1, use_bias=False), tl.Fn("Root", lambda x: weft.numpy.sqrt(x)))
    message = r"gradients_l2 of step 1 is nan\n.*sqrt and its derivative"
    with pytest.raises(FloatingPointError, match=message):
        loop(model, train_task([(zeros, ones, ones)])).run(5)


def test_a_metric_that_is_no_scalar_is_refused():
    run = loop(eval_tasks=eval_task(metrics=[tl.Fn("Error", lambda x, y: x - y)]))
    with pytest.raises(ShapeError, match=r"Error gave an array of shape \(8, 1\)\n  fix"):
        run.run(1)


def test_a_loss_that_is_no_scalar_is_refused():
    task = training.TrainTask(batches(), tl.Fn("Error", lambda x, y: x - y), optimizers.SGD())
    with pytest.raises(ShapeError, match="the loss must be a scalar"):
        loop(tasks=task).run(1)


def test_batches_of_shapes_that_the_model_does_not_take_name_the_layer():
    wrong = (np.ones((8, 5), "float32"), np.ones((8, 1), "float32"), np.ones((8, 1), "float32"))
    data = itertools.chain(itertools.islice(batches(), 2), [wrong])
    run = loop(tasks=train_task(data))
    with pytest.raises(LayerError, match="Dense"):
        run.run(5)
    assert run.step == 2


def test_an_error_in_the_data_leaves_the_newest_weights():
    def data():
        yield from itertools.islice(batches(), 3)
        raise OSError("the disk is gone")

    run = loop(tasks=train_task(data()))
    begin = leaves(run)
    with pytest.raises(OSError, match="the disk is gone"):
        run.run(9)
    assert run.step == 3
    np.testing.assert_allclose(leaves(run)[0], numpy_training(begin, [0.05] * 3)[1], atol=1e-5)


def test_an_interrupt_leaves_the_newest_weights():
    def data():
        for i, batch in enumerate(batches()):
            if i == 4:
                signal.raise_signal(signal.SIGINT)
            yield batch

    run = loop(tasks=train_task(data()))
    with pytest.raises(KeyboardInterrupt):
        run.run(9)
    run.run(1)  # the generator has ended
    assert run.step == 4
    assert np.isfinite(leaves(run)[0]).all()


def of_categories(targets, *weights, inputs=1):
    """A loop over a batch with three categories, or of a model that passes the targets on."""
    x, targets = np.ones((4, 3), "float32"), np.array(targets)
    model = tl.Dense(3) if inputs == 1 else tl.Parallel(tl.Dense(3), None)
    loss = tl.WeightedCategoryCrossEntropy() if weights else tl.CategoryCrossEntropy()
    batch = x, targets, *weights
    return loop(model, training.TrainTask([batch], loss, optimizers.SGD()))


@pytest.mark.parametrize("inputs", [1, 2])
@pytest.mark.parametrize("targets", [[0, 1, 3, 0], [0, -1, 0, 0]])
def test_targets_that_are_no_category_are_warned_of(targets, inputs):
    wrong = next(t for t in targets if not 0 <= t < 3)
    with pytest.warns(UserWarning, match=f"have the category {wrong}, but the model's outputs h"):
        of_categories(targets, inputs=inputs)
    counts = np.array([0 <= t < 3 for t in targets], "float32")
    of_categories(targets, counts, inputs=inputs)  # they have the weight 0
    with pytest.warns(UserWarning, match="fix: a model with more categories; weights of 0"):
        of_categories(targets, 1 - counts, inputs=inputs)
    of_categories([0, 1, 2, 0], inputs=inputs)


def two(**options):
    return loop(tasks=[train_task(), train_task()], **options)


WRONG = {
    "model": (lambda: loop(tl.Dense), TypeError, "model must be a layer"),
    "no tasks": (lambda: loop(tasks=[]), ValueError, "one TrainTask or more"),
    "tasks": (lambda: loop(tasks=[eval_task()]), TypeError, "tasks must be TrainTask objects"),
    "eval tasks": (lambda: loop(eval_tasks=train_task()), TypeError, "eval_tasks"),
    "eval model": (
        lambda: loop(eval_model=eval_task()),
        TypeError,
        r"eval_model must be a layer, or None \(eval_tasks takes an EvalTask\)",
    ),
    "devices": (lambda: loop(n_devices=99), ValueError, "n_devices must be at most"),
    "seed": (lambda: loop(random_seed=-1), ValueError, "random_seed"),
    "steps": (lambda: loop().run(-1), ValueError, "n_steps"),
    "checkpoint_at": (lambda: loop(checkpoint_at=5), TypeError, "checkpoint_at"),
    "which_task": (lambda: two(which_task=lambda s: 2).run(), ValueError, "which_task .* got 2"),
    "best": (
        lambda: loop(checkpoint_low_metric="Loss", eval_tasks=eval_task()),
        ValueError,
        r"a metric of eval_tasks .*\['L2Loss'\]; got 'Loss'",
    ),
    "weights": (
        lambda: loop(tasks=train_task(b[:2] for b in batches())),
        ValueError,
        r"L2Loss takes 3 tensors; the model gives 1, and the batch has 1 .*\n.*AddLossWeights",
    ),
    "batch": (
        lambda: loop(tasks=train_task(b[0] for b in batches())),
        TypeError,
        "a batch must be a tuple of arrays.*got ndarray",
    ),
    "optimizer class": (
        lambda: loop(tasks=train_task(optimizer=optimizers.Adam)),
        TypeError,
        r"such as Adam\(0.001\)",
    ),
    "optimizer object": (
        lambda: loop(use_memory_efficient_trainer=True),
        TypeError,
        "a function that makes an optimizer",
    ),
    "two tasks": (
        lambda: two(use_memory_efficient_trainer=True),
        ValueError,
        "takes one task; got 2",
    ),
    "precision": (lambda: loop(precision="int8"), ValueError, "precision"),
    "accumulation": (lambda: loop(accumulation_steps=0), ValueError, "accumulation_steps"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options_are_refused(case):
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        call()
