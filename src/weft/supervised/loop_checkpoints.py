"""LoopCheckpoints saves the complete state of a training loop, and restores it.

Weights and the optimizers' state are matched in order and by shape. So each trainer can resume from
the other's checkpoint, and a model whose first layers are like the saved model's gets their
weights.
"""

import os
import re
from typing import Any

import numpy as onp

from ..checkpoints import Checkpoints, read_metadata, restore
from ..errors import CheckpointMismatchError
from ..optimizers.trainer import LossScale, Trainer
from ..transforms.devices.devices import process_count
from ..tree_util import tree_flatten, tree_leaves
from ..user_lines import noted
from .history import History

__all__ = ["LoopCheckpoints"]


class LoopCheckpoints:
    """The checkpoints of a `training.Loop`.

    Args:
      loop: the loop.
    """

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        self._files = None if loop.output_dir is None else Checkpoints(loop.output_dir)

    def save(self, name: str, report_is_due: bool) -> None:
        """Starts writing a checkpoint. The model must have its latest weights.

        Args:
          name: the name of the checkpoint in the loop's folder.
          report_is_due: whether the loop reports this step.
        """
        assert self._files is not None
        loop = self._loop
        tree = {
            "weights": loop.model.weights,
            "state": loop.model.state,
            "tasks": [_task_state(trainer) for trainer in loop._trainer_per_task],
            "keys": list(loop._keys),
            "history": _arrays(loop.history),
            "values": [
                {key: onp.asarray(column) for key, column in values.get_state().items()}
                for values in loop._values
            ],
        }
        metadata = {
            "format": "weft.supervised.Loop 1",
            "step": loop.step,
            "report_is_due": report_is_due,
            "data": [_position(task) for task in loop.tasks],
            "eval_data": [_position(task) for task in loop.eval_tasks],
            "inputs": _described(loop._batch_signature[: loop.model.n_in]),
        }
        self._files.save(loop.step, tree, metadata, name=_file_name(name))

    def wait(self) -> None:
        """Waits until the last checkpoint is on the disk."""
        if self._files is not None:
            self._files.wait()

    def load(self, directory: str, name: str) -> bool:
        """Restores the loop from a checkpoint.

        Args:
          directory: the folder of the checkpoint.
          name: its name.
        Returns: False if there is no such checkpoint.
        Raises: CheckpointError: it is damaged, or no loop saved it.
          CheckpointMismatchError: it belongs to another model or optimizer.
        """
        self.wait()
        if _file_name(name) not in Checkpoints(directory).names():
            return False
        path = os.path.join(directory, _file_name(name))
        loop, metadata = self._loop, read_metadata(path)
        if not str(metadata.get("format", "")).startswith("weft.supervised.Loop"):
            raise noted(
                CheckpointMismatchError(
                    f"Loop: {path} is not a checkpoint of a training loop\n"
                    "  fix: another output_dir; checkpoints.restore(…) reads other checkpoints"
                )
            )
        tree = restore(path)
        model = loop.model
        model.weights = self._matched("weights", path, tree["weights"], model.weights)
        leaves, treedef = tree_flatten(model.state)
        saved = tree_leaves(tree["state"])
        if [x.shape for x in leaves] == [x.shape for x in saved]:
            model.state = treedef.unflatten(saved)
        else:
            loop._log.message(f"{path} has the state of another model: only weights are restored")
        for trainer, state in zip(loop._trainer_per_task, tree["tasks"], strict=False):
            self._restore_task(path, trainer, state)
        loop._keys = tuple(tree["keys"])
        loop._step, loop._report_is_due = metadata["step"], metadata["report_is_due"]
        loop._history = _history(tree["history"])
        rows = zip(loop._values, tree["values"], loop._trainer_per_task, strict=False)
        for values, columns, trainer in rows:
            if isinstance(trainer, Trainer) == ("gradients_l2" in columns):
                values.set_state(columns)
        for tasks, key in ((loop.tasks, "data"), (loop.eval_tasks, "eval_data")):
            for task, position in zip(tasks, metadata[key], strict=False):
                task.batches.set_state(position)
        return True

    def _restore_task(self, path: str, trainer: Any, state: Any) -> None:
        """Sets the state of a trainer's optimizer and the weights of its loss."""
        trainer.slots = self._matched("the optimizer's state", path, state["slots"], trainer.slots)
        if isinstance(trainer, Trainer):
            end = trainer.model_with_loss.sublayers[1]
            end.weights = self._matched("the loss's weights", path, state["loss"], end.weights)
            if trainer.loss_scale is not None and state["loss_scale"]:
                trainer.loss_scale = LossScale(*state["loss_scale"])

    def _matched(self, what: str, path: str, saved: Any, current: Any) -> Any:
        """A tree like `current` with the saved arrays of the same shapes, in order."""
        unused, results = tree_leaves(saved), []
        n_saved = len(unused)
        leaves, treedef = tree_flatten(current)
        for leaf in leaves:
            fits = bool(unused) and onp.shape(unused[0]) == onp.shape(leaf)
            results.append(_as(unused.pop(0), leaf) if fits else leaf)
        if unused:
            raise noted(
                CheckpointMismatchError(
                    f"Loop: {path} has another model or optimizer: {len(unused)} arrays of "
                    f"{what} have no place, the first of shape {onp.shape(unused[0])}\n"
                    f"  the loop has {_shapes(leaves)}\n"
                    "  fix: the model that was saved, or another output_dir"
                )
            )
        if n_saved < len(leaves):
            self._loop._log.message(
                f"{path} has {n_saved} arrays of {what}, of {len(leaves)}: the others do not change"
            )
        return treedef.unflatten(results)


def _task_state(trainer: Any) -> dict[str, Any]:
    """The state of a trainer, without the model."""
    if not isinstance(trainer, Trainer):
        return {"slots": trainer.slots, "loss": (), "loss_scale": None}
    scale = trainer.loss_scale
    return {
        "slots": trainer.slots,
        "loss": trainer.model_with_loss.sublayers[1].weights,
        "loss_scale": None if scale is None else list(scale),
    }


def _file_name(name: str) -> str:
    """The name of a checkpoint as the name of a folder; it may contain the name of a metric."""
    return re.sub(r"[^A-Za-z0-9_.+=-]", "-", name)


def _position(task: Any) -> dict[str, Any]:
    """The position in a task's data; with several processes, the position that all of them
    share."""
    position: dict[str, Any] = task.batches.get_state()
    if process_count() > 1:
        position.pop("stream", None)
    return position


def _described(signatures: Any) -> list[list[Any]]:
    """The shapes and dtypes of a model's inputs in JSON, for `Layer.init_from_file`."""
    return [[list(sig.shape), onp.dtype(sig.dtype).name] for sig in signatures]


def _arrays(history: History) -> dict[str, dict[str, Any]]:
    """A history as arrays [n, 2] of steps and values, by mode and metric."""
    return {
        mode: {
            metric: onp.array(history.get(mode, metric), "float64").reshape(-1, 2)
            for metric in history.metrics_for_mode(mode)
        }
        for mode in history.modes
    }


def _history(arrays: dict[str, dict[str, Any]]) -> History:
    """The history from such arrays."""
    history = History()
    for mode, metrics in arrays.items():
        for metric, rows in metrics.items():
            for step, value in rows.tolist():
                history.append(mode, metric, int(step), value)
    return history


def _as(saved: Any, current: Any) -> Any:
    """Converts a saved array to the dtype of the loop's array."""
    return (
        saved.astype(current.dtype)
        if hasattr(current, "dtype") and current.dtype != saved.dtype
        else saved
    )


def _shapes(leaves: Any) -> str:
    shown = ", ".join(str(tuple(leaf.shape)) for leaf in leaves[:6])
    return shown + (f", … ({len(leaves)})" if len(leaves) > 6 else "") if leaves else "none"
