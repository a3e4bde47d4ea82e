import numpy as np
import pytest
from loops import batches, eval_task, train_task

from weft import layers as tl, optimizers
from weft.supervised import lr_schedules, training
from weft.supervised.tasks import Batches, EndOfData

BATCH = next(batches())


def numbers(n):
    """Batches that are told apart by their number."""
    return [(np.full((2, 1), i), np.zeros((2, 1)), np.ones((2, 1))) for i in range(n)]


def drawn(task, n):
    return [int(task.next_batch()[0][0, 0]) for _ in range(n)]


@pytest.mark.parametrize("make", [train_task, eval_task])
def test_the_sample_batch_is_the_first_one_that_is_drawn(make):
    task = make(iter(numbers(5)))
    assert task.sample_batch[0][0, 0] == 0
    assert drawn(task, 3) == [0, 1, 2]


@pytest.mark.parametrize("make", [train_task, eval_task])
def test_a_given_sample_batch_leaves_the_data_alone(make):
    task = make(iter(numbers(5)), sample_batch=BATCH)
    assert task.sample_batch is BATCH
    assert drawn(task, 2) == [0, 1]


class Loader:
    """Begins anew each time, as loaders of PyTorch do."""

    def __iter__(self):
        return iter(numbers(3))


@pytest.mark.parametrize("data", [numbers(3), Loader(), tuple(numbers(3))], ids=["a", "b", "c"])
def test_data_that_can_begin_again_have_epochs(data):
    task = train_task(data)
    assert drawn(task, 8) == [0, 1, 2, 0, 1, 2, 0, 1]
    assert (task.batches.count, task.batches.epoch) == (8, 2)


def test_data_that_cannot_end():
    task = train_task(iter(numbers(2)))
    assert drawn(task, 2) == [0, 1]
    with pytest.raises(EndOfData, match="TrainTask: the data ended after 2 batches"):
        task.next_batch()


class Positioned:
    """An iterator with a position, under the names of one library."""

    def __init__(self, get, put):
        self.at = 0
        setattr(self, get, lambda: {"at": self.at})
        setattr(self, put, lambda state: setattr(self, "at", state["at"]))

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        return numbers(self.at)[-1]


MAKERS = {
    "a list": lambda: numbers(4),
    "a generator": lambda: iter(numbers(40)),
    "grain": lambda: Positioned("get_state", "set_state"),
    "torch": lambda: Positioned("state_dict", "load_state_dict"),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
def test_a_position_is_saved_and_restored(maker, n):
    source = Batches("TrainTask", MAKERS[maker]())
    for _ in range(n):
        next(source)
    state = source.get_state()
    expected = [int(next(source)[0][0, 0]) for _ in range(5)]
    again = Batches("TrainTask", MAKERS[maker]())
    again.set_state(state)
    assert (again.count, again.epoch) == (n, state["epoch"])
    assert [int(next(again)[0][0, 0]) for _ in range(5)] == expected


def test_a_position_of_the_iterators_own_leaves_out_no_batches():
    data = Positioned("get_state", "set_state")
    source = Batches("TrainTask", data)
    source.set_state({"count": 10**9, "epoch": 0, "stream": {"at": 5}})
    assert source.count == 10**9
    assert next(source)[0][0, 0] == 5


def test_properties_of_a_train_task():
    loss, optimizer, data = tl.L2Loss(), optimizers.Adam(0.25), batches()
    task = training.TrainTask(data, loss, optimizer)
    assert task.labeled_data is data
    assert (task.loss_layer, task.optimizer, task.loss_name) == (loss, optimizer, "L2Loss")
    assert (task.n_steps_per_checkpoint, task.n_steps_per_permanent_checkpoint) == (100, None)
    assert task.export_prefix is None
    assert task.learning_rate(7) == 0.25
    task = training.TrainTask(
        batches(), loss, optimizers.SGD, lr_schedules.warmup(3, 1.0), 5, 50, "error", None, "a"
    )
    assert [task.learning_rate(step) for step in (1, 2, 9)] == [0.25, 0.5, 1.0]
    assert (task.n_steps_per_checkpoint, task.n_steps_per_permanent_checkpoint) == (5, 50)
    assert (task.loss_name, task.export_prefix) == ("error", "a")
    assert train_task(optimizer=optimizers.Adam).learning_rate(1) == pytest.approx(0.0001)


def test_properties_of_an_eval_task():
    metrics, data = [tl.L2Loss(), tl.Accuracy()], batches()
    task = training.EvalTask(data, metrics)
    assert (task.labeled_data, task.metrics) == (data, metrics)
    assert task.metric_names == ["L2Loss", "Accuracy"]
    assert (task.n_eval_batches, task.export_prefix) == (1, None)
    task = training.EvalTask(batches(), metrics, ["a", "b"], 7, BATCH, "c")
    assert (task.metric_names, task.n_eval_batches, task.export_prefix) == (["a", "b"], 7, "c")


class Tensor:
    """An array of another library, with a gradient, in a loader of lists."""

    shape, dtype = (2, 1), "float32 of theirs"

    def __init__(self, value):
        self.value = value

    def detach(self):
        return self

    def cpu(self):
        return np.full((2, 1), self.value, "float32")


@pytest.mark.parametrize("make", [train_task, eval_task])
def test_tensors_of_other_libraries_become_arrays(make):
    task = make([[Tensor(i), [[1], [2]], np.ones((2, 1), "bfloat16")] for i in range(2)])
    for i in range(2):
        batch = task.next_batch()
        assert isinstance(batch, tuple)
        assert [type(x) for x in batch] == [np.ndarray] * 3
        assert batch[0].tolist() == [[i], [i]]
        assert batch[1].tolist() == [[1], [2]]
    assert [x.dtype.name for x in task.sample_batch] == ["float32", "int64", "bfloat16"]


def test_a_metric_and_its_name_may_stand_alone():
    metric = tl.L2Loss()
    task = training.EvalTask(batches(), metric, "error")
    assert (task.metrics, task.metric_names) == ([metric], ["error"])


WRONG = {
    "an array": (
        lambda: train_task([np.ones(3)]), TypeError, r"got ndarray\n  fix: \(inputs, targets\)",
    ),
    "a dict": (
        lambda: eval_task([{"x": BATCH[0], "y": BATCH[1]}]), TypeError,
        r"EvalTask: a batch must be .*got dict\n  fix: .*Examples\(…, keys=\['x', 'y'\]\)",
    ),
    "texts": (
        lambda: train_task([(["a", "b"], [1, 2])]), TypeError,
        r"TrainTask: element 0 of a batch has values of <U1\n  fix: data.Tokenize",
    ),
    "objects": (
        lambda: train_task([([1, 2], [None, print])]), TypeError,
        "element 1 of a batch has values of object",
    ),
    "ragged": (
        lambda: train_task([([[1, 2], [3]], [1, 2])]), TypeError,
        r"element 0 of a batch is not an array: .*\n  fix: .*data.Batch\(…\) pads rows",
    ),
    "nested": (
        lambda: train_task([(BATCH[:2], BATCH[2])]), TypeError,
        r"element 0 of a batch is a tuple of arrays\n  fix: a flat tuple",
    ),
    "a maker of schedules": (
        lambda: train_task(lr_schedule=lr_schedules.warmup), TypeError,
        r"of the step alone; got warmup\(n_warmup_steps, max_value\)\n  fix: its result, warmup",
    ),
    "text": (lambda: train_task("abc"), TypeError, "labeled_data must be an iterator of batches"),
    "number": (lambda: eval_task(3), TypeError, "EvalTask: labeled_data .* got int"),
    "pipeline": (lambda: train_task(batches), TypeError, "fix: call a function that makes batches"),
    "empty": (lambda: train_task([]), ValueError, "TrainTask: labeled_data has no batches"),
    "loss": (
        lambda: training.TrainTask(batches(), tl.L2Loss, optimizers.SGD()),
        TypeError,
        "loss_layer",
    ),
    "optimizer": (lambda: train_task(optimizer=0.1), TypeError, r"such as Adam\(0.001\)"),
    "schedule": (lambda: train_task(lr_schedule=0.1), TypeError, "lr_schedule"),
    "steps": (lambda: train_task(n_steps_per_checkpoint=0), ValueError, "n_steps_per_checkpoint"),
    "permanent": (
        lambda: train_task(n_steps_per_permanent_checkpoint=-1),
        ValueError,
        "n_steps_per_permanent_checkpoint",
    ),
    "metric": (lambda: eval_task(metrics=[tl.L2Loss]), TypeError, "metrics must be a layer, or a"),
    "names": (
        lambda: eval_task(metric_names=["a", "b"]),
        ValueError,
        "1 metrics need as many metric_names; got 2",
    ),
    "batches": (lambda: eval_task(n_eval_batches=0), ValueError, "n_eval_batches"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options_are_refused(case):
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), -1.0])
def test_a_schedule_that_gives_no_rate_is_refused(rate):
    task = train_task(lr_schedule=lambda step: rate if step == 3 else 0.1)
    assert task.learning_rate(2) == 0.1
    with pytest.raises(ValueError, match="3"):
        task.learning_rate(3)
