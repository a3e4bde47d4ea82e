"""Checkpoints: the checkpoints of a run in one directory, written in the background."""

import functools
import os
import re
from types import TracebackType
from typing import Any

from ..errors import CheckpointError
from ..option_checks import whole_number
from ..runtime import distributed
from ..user_lines import noted
from . import places
from .background import Background
from .manifest import read_manifest
from .restoring import described_leaves, existing, loaded, read_metadata, restore
from .retention import Retention
from .saving import checked_metadata, checked_path, shared_token, write
from .snapshots import Snapshot, snapshot
from .tensor_files import require_library

__all__ = ["Checkpoints"]

_STEP = re.compile(r"step-(\d{1,18})")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=-]{0,99}")


class Checkpoints:
    """The checkpoints of a run: one for each saved step, and named ones.

    Args:
      directory: the directory; it is made for the first checkpoint.
      keep_last: the number of newest checkpoints to keep. Older ones are removed when a new one is
        on the disk. None keeps all.
      keep_every: also keeps checkpoints of steps that are multiples of this number.
      keep_best: also keeps this number of checkpoints with the best metrics.
      best_metric: the name of a number in the metadata, for `keep_best` and `best()`.
      best_is: "lowest" or "highest".
    Raises: ValueError: `keep_every` or `keep_best` without `keep_last`, or `keep_best` without
      `best_metric`.
    Example:
      >>> with Checkpoints("run", keep_last=2) as checkpoints:
      ...     for step in (100, 200, 300):
      ...         checkpoints.save(step, {"w": np.ones(2) * step})
      >>> checkpoints = Checkpoints("run")
      >>> checkpoints.steps(), checkpoints.restore()
      ([200, 300], {'w': Array([300., 300.], dtype=float32)})

    Every method first waits for a checkpoint that is being written, and raises its error. The
    object is a context manager, whose block waits for the last checkpoint at its end. The process
    does not exit before the last checkpoint is written. With several processes, all must make such
    an object and call the same methods.
    """

    def __init__(
        self,
        directory: Any,
        *,
        keep_last: int | None = None,
        keep_every: int | None = None,
        keep_best: int | None = None,
        best_metric: str | None = None,
        best_is: str = "lowest",
    ) -> None:
        self.directory = checked_path("Checkpoints", directory)
        self.retention = Retention(keep_last, keep_every, keep_best, best_metric, best_is)
        require_library("Checkpoints")
        self._token = shared_token()
        self._saves = 0
        self._closed = False
        self._metrics: dict[int, float | None] = {}
        self._background = Background(f"Checkpoints({self.directory!r})")

    def save(
        self,
        step: int,
        tree: Any,
        metadata: Any = None,
        *,
        name: str | None = None,
        background: bool = True,
    ) -> None:
        """Saves a tree in the background, while the program continues.

        Args:
          step: the number of the step, at least 0. An existing checkpoint of this step is replaced.
          tree: as for `save`. Afterwards weft's arrays may be donated to programs, and NumPy arrays
            may be changed.
          metadata: as for `save`; it gets an entry "step".
          name: a name instead of the step: `directory/name`, which is kept until another checkpoint
            with this name is saved.
          background: if False, `save` returns when the checkpoint is on the disk.
        Raises: OSError: the checkpoint before this one could not be written. TypeError: an object
          cannot be saved. ValueError: an invalid step, name or metric.
        """
        step = whole_number("Checkpoints.save", "step", step, 0)
        if self._closed:
            raise noted(ValueError("Checkpoints.save: it is closed\n  fix: another Checkpoints(…)"))
        target = os.path.join(self.directory, _step_name(step) if name is None else _named(name))
        content = checked_metadata(metadata)
        if content.setdefault("step", step) != step:
            raise noted(
                ValueError(
                    f"Checkpoints.save: step={step} and metadata['step']={content['step']!r:.60} "
                    "must agree\n  fix: leave it out of the metadata"
                )
            )
        metric = self.retention.metric_in(content)
        self._background.wait()  # so that only one snapshot is in memory
        copy = snapshot(tree)
        self._saves += 1
        token = places.new_token()
        if distributed.connection() is not None:
            token = f"{self._token}-{self._saves}"
        work = functools.partial(
            self._write, copy, content, target, token, step if name is None else None, metric
        )
        if not background:
            self._background.start(work)
            self._background.wait()
            return
        self._background.start(work)

    def _write(
        self,
        copy: Snapshot,
        metadata: dict[str, Any],
        target: str,
        token: str,
        step: int | None,
        metric: float | None,
    ) -> None:
        """Writes a checkpoint, then removes those that need not be kept."""
        write(copy, metadata, target, overwrite=True, token=token)
        if not is_first_process():
            return
        places.sweep(self.directory)
        if step is None:
            return
        self._metrics[step] = metric
        for old in self.retention.superfluous(self._steps(), step, self._metric_of):
            places.remove_all(self._path(old))
            self._metrics.pop(old, None)

    def wait(self) -> None:
        """Waits until the last checkpoint is on the disk.

        Raises: OSError: it could not be written.
        """
        self._background.wait()

    def close(self) -> None:
        """Waits until the last checkpoint is on the disk; nothing can be saved afterwards.

        Raises: OSError: it could not be written.
        """
        self._closed = True
        self._background.wait()

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closed = True
        try:
            self._background.wait()
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"  and then: {failure}")

    # --- existing checkpoints ---

    def steps(self) -> list[int]:
        """The steps of the checkpoints, in ascending order, without those that have a name."""
        self._background.wait()
        return self._steps()

    def names(self) -> list[str]:
        """The names of the checkpoints that have one, in alphabetical order."""
        self._background.wait()
        return sorted(n for n in places.names_in(self.directory) if not _STEP.fullmatch(n))

    def latest(self, *, whole: bool = False) -> int | None:
        """The last step that has a checkpoint; None if there is none.

        Args:
          whole: whether to check checkpoints, and to return the last one that is not damaged.
        """
        for step in reversed(self.steps()):
            if not whole or _is_whole(self._path(step)):
                return step
        return None

    def best(self) -> int | None:
        """The step whose checkpoint has the best metric; None if no checkpoint has one.

        Raises: ValueError: there is no `best_metric`.
        """
        if self.retention.best_metric is None:
            raise noted(
                ValueError(
                    "Checkpoints.best: expected the name of a metric\n"
                    "  fix: Checkpoints(…, best_metric='loss')"
                )
            )
        ranked = self.retention.best(self.steps(), self._metric_of)
        return ranked[0] if ranked else None

    def restore(
        self, which: int | str | None = None, like: Any = None, *, strict: bool = True
    ) -> Any:
        """Reads a checkpoint, as `restore` does.

        Args:
          which: a step or a name; None means the last step.
          like, strict: as for `restore`.
        Returns: the tree.
        Raises: FileNotFoundError: there is no such checkpoint. CheckpointError: it is damaged; the
          message names an older one that is not. ShapeError: it does not match `like`.
        """
        path = self._chosen("restore", which)
        try:
            return restore(path, like, strict=strict)
        except CheckpointError as error:
            older = self._older_whole(path)
            if older is None:
                raise
            text = f"{error}\n  the checkpoint of step {older} is whole: restore({older}, …)"
            raise noted(CheckpointError(text)) from None

    def metadata(self, which: int | str | None = None) -> dict[str, Any]:
        """The metadata of a checkpoint, with its "step".

        Args:
          which: a step or a name; None means the last step.
        Raises: as `restore`.
        """
        return read_metadata(self._chosen("metadata", which))

    def _steps(self) -> list[int]:
        matches = map(_STEP.fullmatch, places.names_in(self.directory))
        return sorted(int(m[1]) for m in matches if m)

    def _path(self, step: int) -> str:
        return os.path.join(self.directory, _step_name(step))

    def _chosen(self, operation: str, which: int | str | None) -> str:
        """The path of an existing checkpoint."""
        steps, names = self.steps(), self.names()
        if which is None and steps:
            which = steps[-1]
        if isinstance(which, str) and which in names:
            return os.path.join(self.directory, which)
        if which is not None and not isinstance(which, str):
            which = whole_number(f"Checkpoints.{operation}", "which", which, 0)
            if which in steps:
                return self._path(which)
        there = f"steps {_few(steps)}" + (f", names {_few(names)}" if names else "")
        description = "the newest" if which is None else repr(which)
        raise noted(
            FileNotFoundError(
                f"Checkpoints.{operation}: {self.directory} has no checkpoint "
                f"{description:.60}; it has {there if steps or names else 'none'}"
            )
        )

    def _older_whole(self, path: str) -> int | None:
        match = _STEP.fullmatch(os.path.basename(path))
        older = [s for s in self._steps() if match and s < int(match[1])]
        return next((s for s in reversed(older) if _is_whole(self._path(s))), None)

    def _metric_of(self, step: int) -> float | None:
        """The metric of a checkpoint, which is read once; None for a damaged checkpoint."""
        if step not in self._metrics:
            try:
                self._metrics[step] = self.retention.metric_in(read_metadata(self._path(step)))
            except (CheckpointError, TypeError, OSError):
                self._metrics[step] = None
        return self._metrics[step]


def is_first_process() -> bool:
    """True in process 0, and if there is only one process."""
    here = distributed.connection()
    return here is None or here.process_index == 0


def _step_name(step: int) -> str:
    return f"step-{step:08d}"


def _named(name: Any) -> str:
    """Checks that a name is a valid directory name on every system."""
    if isinstance(name, str) and _NAME.fullmatch(name) and not _STEP.fullmatch(name):
        return name
    raise noted(
        ValueError(
            "Checkpoints.save: name must be letters, digits and any of . _ + = -, must not begin "
            f"with a sign and not be that of a step; got {name!r:.60}"
        )
    )


def _few(items: list[Any]) -> str:
    shown = ", ".join(map(str, items[-5:]))
    return f"…, {shown}" if len(items) > 5 else shown or "none"


def _is_whole(path: str) -> bool:
    """True if a checkpoint can be read completely."""
    try:
        directory = existing("restore", path)
        leaves = described_leaves("restore", directory, read_manifest("restore", directory))
        loaded("restore", directory, leaves, range(len(leaves)))
    except (CheckpointError, OSError):
        return False
    return True
