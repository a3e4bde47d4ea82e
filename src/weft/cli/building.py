"""Builds the parts of a run from its configuration: loop_of makes the training loop, model_of the
model, stream_of the data, eval_task_of the evaluation task; restored loads a checkpoint into a
model.
"""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import data
from ..checkpoints import read_metadata, restore
from ..errors import CheckpointError
from ..layers.base import Layer
from ..optimizers.base import Optimizer
from ..supervised.run_log import RunLog
from ..supervised.tasks import EvalTask, TrainTask
from ..supervised.training import Loop
from ..tree_util import tree_flatten, tree_leaves
from ..user_lines import noted
from . import parameters
from .config import Config
from .places import near
from .registries import METRICS, MODELS, OPTIMIZERS, SCHEDULES, SOURCES, STAGES
from .toml_text import Path

__all__ = ["eval_task_of", "loop_of", "model_of", "restored", "stream_of"]


def model_of(config: Config) -> Layer:
    """The model of a run, without weights.

    Args:
      config: the configuration.
    Raises: ConfigError: the model rejects the value of a parameter.
    """
    model: Layer = _object_of(config, ("model",), MODELS)
    return model


def stream_of(config: Config, path: Path = ("data",)) -> Any:
    """The batches of a run: an iterator with a position.

    Args:
      config: the configuration.
      path: the path of the data table: ("data",), or ("eval", "data"), which uses the stages of the
        former if it has none.
    Raises: ConfigError: a source or stage rejects the value of a parameter, or a file is missing.
    """
    table, stages_at, stages = _data_of(config, path)
    others = {"seed": config.run["seed"]}
    source = parameters.named_object(
        config.places, (*path, "source"), table["source"], SOURCES, "Windows", others
    )
    if isinstance(source, data.Inputs):
        is_eval = path[0] == "eval"
        source = functools.partial(source.eval_stream if is_eval else source.train_stream, 1)
    stage_objects = [
        parameters.named_object(config.places, (*stages_at, i), stage, STAGES, "Batch", others)
        for i, stage in enumerate(stages)
    ]
    return data.Serial(source, *stage_objects)()


def eval_task_of(config: Config) -> EvalTask | None:
    """The data and metrics of evaluations; None if the configuration has no table `eval`.

    Args:
      config: the configuration.
    Raises: ConfigError: as for `stream_of`, or the data have no batches.
    """
    table = config.tables.get("eval")
    if table is None:
        return None
    metrics = [
        parameters.named_object(config.places, ("eval", "metrics", i), metric, METRICS, "L2Loss")
        for i, metric in enumerate(table["metrics"])
    ]
    stream = stream_of(config, ("eval", "data"))
    return _drawn(
        config,
        ("eval", "data"),
        lambda: EvalTask(stream, metrics, n_eval_batches=table.get("batches", 1)),
    )


def loop_of(
    config: Config,
    *,
    log: RunLog | None = None,
    callbacks: Sequence[Callable[[Loop], Any]] = (),
) -> Loop:
    """The training loop of a run, which resumes if its folder has a checkpoint.

    Args:
      config: the configuration.
      log: a log; the default prints, and writes to the run's folder.
      callbacks: as for `training.Loop`.
    Returns: the loop; `loop.run(config.run["steps"] - loop.step)` trains.
    Raises: ConfigError: the configuration does not define a part, or the parts do not match.
    Example:
      >>> import pathlib
      >>> from weft.cli import config
      >>> _ = pathlib.Path("digits.toml").write_text('''
      ... run = { steps = 1, report_every = 5 }
      ... model = { name = "MLP", layer_widths = [8, 10] }
      ... loss = { name = "CategoryCrossEntropy" }
      ... optimizer = { name = "SGD" }
      ... data = { source = "Digits", stages = [{ name = "Batch", batch_size = 64 }] }
      ... ''')
      >>> loop = loop_of(config.read("digits.toml"))
      >>> loop.step, loop.output_dir.replace("\\\\", "/")
      (0, 'runs/digits')
    """
    run = config.run
    loss = _object_of(config, ("loss",), METRICS)
    optimizer: Optimizer = _object_of(config, ("optimizer",), OPTIMIZERS)
    schedule = _object_of(config, ("schedule",), SCHEDULES) if "schedule" in config.tables else None
    model = model_of(config)
    eval_task = eval_task_of(config)
    _check_best(config, eval_task)
    stream = stream_of(config)
    task = _drawn(
        config, ("data",), lambda: TrainTask(stream, loss, optimizer, lr_schedule=schedule)
    )
    steps = run["steps"]

    def at(every: int) -> Callable[[int], bool]:
        return lambda step: step in (1, steps) or step % every == 0

    keep_every = run.get("keep_every")
    precision = None if run["precision"] == "float32" else run["precision"]
    return _looped(
        config,
        lambda: Loop(
            model,
            task,
            eval_tasks=eval_task,
            output_dir=run["output_dir"],
            checkpoint_at=at(run["save_every"]),
            eval_at=at(run["report_every"]),
            permanent_checkpoint_at=keep_every and (lambda step: step % keep_every == 0),
            checkpoint_low_metric=run.get("lowest"),
            checkpoint_high_metric=run.get("highest"),
            n_devices=run.get("devices"),
            random_seed=run["seed"],
            accumulation_steps=run["accumulation_steps"],
            precision=precision,
            callbacks=callbacks,
            log=log,
        ),
    )


def restored(model: Layer, run: str, checkpoint: str = "model") -> int:
    """Sets the weights and state of a model to those of a run.

    Args:
      model: the model of the run's configuration; initialized or not.
      run: the folder of the run.
      checkpoint: the name of the checkpoint.
    Returns: the step of the checkpoint.
    Raises: FileNotFoundError: there is no such checkpoint. CheckpointError: it is damaged, or
      belongs to another model.
    """
    path = os.path.join(run, checkpoint)
    if not os.path.isdir(path):
        names = sorted(
            name
            for name in (os.listdir(run) if os.path.isdir(run) else ())
            if os.path.isfile(os.path.join(run, name, "tree.json"))
        )
        fix = near(checkpoint, names) if names else "weft train makes one"
        raise noted(FileNotFoundError(f"{run} has no checkpoint {checkpoint!r}\n  fix: {fix}"))
    step = read_metadata(path).get("step")
    tree = restore(path)
    if step is None or not isinstance(tree, Mapping) or not {"weights", "state"} <= set(tree):
        raise noted(
            CheckpointError(f"{path} is not a checkpoint of a training loop\n  fix: another name")
        )
    for part in ("weights", "state"):
        leaves, treedef = tree_flatten(getattr(model, part))
        saved = tree_leaves(tree[part])
        if leaves and [x.shape for x in leaves] != [x.shape for x in saved]:
            raise noted(
                CheckpointError(
                    f"{path} belongs to another model: its {part} have other shapes\n"
                    "  fix: the configuration that the run was trained with"
                )
            )
        setattr(model, part, treedef.unflatten(saved) if leaves else tree[part])
    return int(step)


def _object_of(config: Config, path: Path, registry: Any) -> Any:
    """The object that a table of the configuration names."""
    return parameters.named_object(config.places, path, config.tables[str(path[0])], registry, "")


def _data_of(config: Config, path: Path) -> tuple[Any, Path, Any]:
    """(a data table, the path of its stages, its stages). By default, the stages are those of the
    table `data`."""
    table: Any = config.tables
    for key in path:
        table = table[key]
    if "stages" in table:
        return table, (*path, "stages"), table["stages"]
    return table, ("data", "stages"), config.tables["data"].get("stages", [])


def _drawn(config: Config, path: Path, make: Callable[[], Any]) -> Any:
    """Makes a task, which draws the first batch. Errors point to the source or stage that they
    name."""
    try:
        return make()
    except parameters.FAILURES as error:
        at, values = _part(config, path, str(error).partition(":")[0])
        is_empty = "has no batches" in str(error)
        fix = "more data, or a smaller batch_size" if is_empty else "other values in this table"
        raise parameters.from_failure(config.places, at, values, error, fix) from None


def _part(config: Config, path: Path, name: str) -> tuple[Path, Mapping[str, Any]]:
    """The path and the parameters of the named source or stage; the path of the data if there is
    none."""
    table, stages_at, stages = _data_of(config, path)
    parts: list[tuple[Path, Any]] = [((*path, "source"), table["source"])]
    parts += [((*stages_at, i), stage) for i, stage in enumerate(stages)]
    for at, part in parts:
        if name == (part if isinstance(part, str) else part["name"]):
            return at, part if isinstance(part, Mapping) else {}
    return path, {}


def _looped(config: Config, make: Callable[[], Loop]) -> Loop:
    """Makes the loop. Errors point to the table that they mention."""
    try:
        loop = make()
    except parameters.ConfigError:
        raise
    except parameters.FAILURES as error:
        table = "run"
        for other in ("model", "loss", "optimizer"):
            named = config.tables[other]
            name = named if isinstance(named, str) else named["name"]
            if name in str(error):
                table = other
        values: Any = config.tables[table]
        keys = values if isinstance(values, Mapping) else {}
        raise parameters.from_failure(config.places, (table,), keys, error) from None
    n = loop.n_devices
    tasks: list[Any] = [*loop.tasks, *loop.eval_tasks]
    sizes = {len(x) for task in tasks for x in task.sample_batch if getattr(x, "ndim", 0)}
    sizes = {size for size in sizes if size % n}
    if sizes:
        raise config.places.error(
            ("run", "devices"),
            f"{n} devices do not divide a batch of {max(sizes)}",
            f"devices = 1, or a batch_size that is a multiple of {n}",
        )
    return loop


def _check_best(config: Config, task: EvalTask | None) -> None:
    """Raises an error unless the metrics for the best checkpoints are metrics of evaluations."""
    names = [] if task is None else task.metric_names
    for key in ("lowest", "highest"):
        metric = config.run.get(key)
        if metric is not None and metric not in names:
            fix = near(metric, names) if names else f'[eval] with metrics = ["{metric}"]'
            raise config.places.error(("run", key), f"evaluations have no metric {metric!r}", fix)
