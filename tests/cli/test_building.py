"""The Python API under the command: a loop, a model and data of a configuration."""

import numpy as np
import pytest

from weft import layers as tl, models, optimizers
from weft.checkpoints import save
from weft.cli.building import eval_task_of, loop_of, model_of, restored, stream_of
from weft.cli.config import ConfigError, read
from weft.errors import CheckpointError
from weft.supervised import lr_schedules, training
from weft.supervised.run_log import RunLog
from weft.tree_util import tree_leaves


def test_a_loop_is_the_one_that_a_program_makes(files):
    loop = loop_of(read("classifier.toml"), log=RunLog(stdout=False))
    loop.run(3)
    x = np.array([[i % 5, i % 3] for i in range(30)], np.float32)
    y = np.array([i % 2 for i in range(30)], np.int32)
    batches = [(x[i : i + 5], y[i : i + 5]) for i in range(0, 30, 5)]
    task = training.TrainTask(batches, tl.CategoryCrossEntropy(), optimizers.SGD(0.1))
    own = training.Loop(
        models.MLP((4, 2)), task, random_seed=0, n_devices=1, log=RunLog(stdout=False)
    )
    own.run(3)
    for a, b in zip(tree_leaves(loop.model.weights), tree_leaves(own.model.weights), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


EVAL = """eval={ metrics = ["CategoryAccuracy", "CategoryCrossEntropy"], batches = 2, data = {
  source = { name = "CSV", files = "points.csv", columns = { "x, y" = "float32", kind = "int32" } }
} }""".replace("\n", "")


def test_the_tables_reach_the_loop(files):
    overrides = [
        "run.precision=bfloat16", "run.lowest=CategoryCrossEntropy", "run.keep_every=4",
        "run.report_every=2", "run.accumulation_steps=5", EVAL,
        "optimizer={ name = 'Adam', b1 = 0.5 }",
        "schedule={ name = 'warmup', n_warmup_steps = 3, max_value = 0.01 }",
    ]  # fmt: skip
    loop = loop_of(read("classifier.toml", overrides), log=RunLog(stdout=False))
    task, eval_task = loop.tasks[0], loop.eval_tasks[0]
    schedule = lr_schedules.warmup(3, 0.01)
    assert [task.learning_rate(n) for n in range(1, 6)] == [schedule(n) for n in range(1, 6)]
    assert isinstance(task.optimizer, optimizers.Adam)
    assert loop._description()["precision"] == "bfloat16"
    assert float(task.optimizer.opt_params["b1"]) == 0.5
    assert eval_task.metric_names == ["CategoryAccuracy", "CategoryCrossEntropy"]
    assert eval_task.n_eval_batches == 2
    assert eval_task.sample_batch[0].shape == (5, 2), "the stages are those of the table data"
    loop.run(4)
    names = {path.name for path in (files / "runs" / "classifier").iterdir() if path.is_dir()}
    assert {"model", "model_4", "lowest_CategoryCrossEntropy"} <= names
    assert [step for step, _ in loop.history.get("eval", "metrics/CategoryAccuracy")] == [
        1,
        2,
        3,
        4,
    ]


def test_data_have_the_seed_of_the_run_unless_they_have_their_own(files):
    def first(*overrides):
        return next(stream_of(read("lm.toml", overrides)))[0].tolist()

    assert first() == first("run.seed=0") == first("data.source.seed=0")
    assert first("run.seed=1") == first("data.source.seed=1") != first()


def test_streams_of_trax_inputs(files):
    source = '{ name = "sine_inputs", batch_size = 2, length = 6, seed = 0 }'
    config = read("lm.toml", [f"data.source={source}", "data.stages=[]"])
    assert next(stream_of(config))[0].shape == (2, 6)
    config = read("lm.toml", [f"eval.data.source={source}", "eval.data.stages=[]"])
    assert eval_task_of(config).sample_batch[0].shape == (2, 6)


def test_a_checkpoint_of_another_model_is_refused(files):
    run = "runs/classifier"
    loop = loop_of(read("classifier.toml"), log=RunLog(stdout=False))
    loop.run(1)
    model = model_of(read("classifier.toml", ["model.layer_widths=[5, 2]"]))
    model.init(np.ones((1, 2), np.float32))
    with pytest.raises(
        CheckpointError, match="belongs to another model: its weights have other shapes"
    ):
        restored(model, run)
    fresh = model_of(read("classifier.toml"))
    assert restored(fresh, run) == 1
    for a, b in zip(tree_leaves(fresh.weights), tree_leaves(loop.model.weights), strict=True):
        assert np.array_equal(a, b)
    save(f"{run}/foreign", {"w": np.ones(2)})
    with pytest.raises(CheckpointError, match="is not a checkpoint of a training loop"):
        restored(fresh, run, "foreign")
    with pytest.raises(FileNotFoundError, match=r"'best'\n  fix: one of foreign, model"):
        restored(fresh, run, "best")


def test_an_error_of_a_stage_is_at_the_stage(files):
    stages = """[
      { name = 'Batch', batch_size = 4 }, 'Dup', 'Dup', { name = 'AddLossWeights', id_to_mask = 0 },
    ]"""
    with pytest.raises(ConfigError) as caught:
        loop_of(read("lm.toml", [f"data.stages={stages}"]))
    assert "[data] stages[3]: AddLossWeights: example 0: expected a tuple" in str(caught.value)
