"""save: writes a tree of arrays and numbers to a directory, atomically."""

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from typing import Any

from ..runtime import distributed
from ..user_lines import noted
from . import places
from .manifest import TREE, file_of, plain_json, text_of
from .snapshots import Snapshot, snapshot
from .tensor_files import require_library, write_tensors

__all__ = ["save"]


def save(path: Any, tree: Any, *, metadata: Any = None, overwrite: bool = False) -> None:
    """Writes a tree to a directory, for `restore`. The directory contains the arrays in
    arrays.safetensors, named by their paths, and everything else in tree.json. It appears when all
    files are on the disk: a killed process leaves no directory, or the old checkpoint. The same
    tree gives the same bytes.

    Args:
      path: the directory; missing parents are made.
      tree: dicts, lists, tuples, None and registered nodes; with weft's arrays of any dtype and
        placement, random keys, NumPy arrays and scalars, and Python numbers, bools and strings.
      metadata: a dict of JSON values: strings, numbers, bools, None, lists and dicts.
      overwrite: whether to replace an existing checkpoint.
    Raises: FileExistsError: the checkpoint exists, and `overwrite` is False. TypeError: an object
      cannot be saved; the message has its path. OSError: the disk is full, or the directory cannot
      be written; an existing checkpoint does not change.
    Example:
      >>> from weft import checkpoints
      >>> tree = {"dense": {"kernel": np.eye(2), "bias": np.zeros(2)}, "step": 3}
      >>> checkpoints.save("model", tree, metadata={"loss": 0.25})
      >>> restored = checkpoints.restore("model")
      >>> restored["step"], restored["dense"]["bias"]
      (3, Array([0., 0.], dtype=float32))

    With several processes, all of them must call it: process 0 writes its arrays, and the others
    write the parts of arrays that only they have. All must have access to the directory.

    Source: the format of safetensors, https://github.com/huggingface/safetensors.
    """
    require_library("save")
    target = checked_path("save", path)
    content = checked_metadata(metadata)
    copy = snapshot(tree)
    if not overwrite:
        refuse_existing(target)
    try:
        write(copy, content, target, overwrite, shared_token())
    except OSError as error:
        raise noted(error) from None


def checked_path(operation: str, path: Any) -> str:
    """The absolute path of a checkpoint."""
    if not isinstance(path, str | os.PathLike) or not (text := os.fspath(path)):
        raise noted(TypeError(f"{operation}: path must be a string or a path; got {path!r:.60}"))
    return os.path.abspath(text)


def checked_metadata(metadata: Any) -> dict[str, Any]:
    """The metadata as JSON values."""
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        raise noted(TypeError(f"save: metadata must be a dict; got a {type(metadata).__name__}"))
    plain: dict[str, Any] = plain_json(metadata, "metadata")
    return plain


def refuse_existing(target: str) -> None:
    """Raises FileExistsError if the path exists."""
    if os.path.lexists(places.place_of(target)):
        raise noted(_exists(target))


def _exists(target: str) -> FileExistsError:
    error = FileExistsError(f"save: {target} exists\n  fix: overwrite=True, or another path")
    error.errno = errno.EEXIST
    return error


def shared_token() -> str:
    """A token for a save by all processes together; all of them must call this."""
    token = places.new_token()
    here = distributed.connection()
    return token if here is None else here.exchange(token)[0]


def write(
    copy: Snapshot, metadata: dict[str, Any], target: str, overwrite: bool, token: str
) -> None:
    """Writes a snapshot. In each process, it returns when the checkpoint is complete.

    Args:
      token: equal in all processes, different for each call.
    """
    here = distributed.connection()
    process = 0 if here is None else here.process_index
    partial = places.partial_directory(target, token)
    if process != 0:
        _write_own_parts(copy, partial, target, token, process)
        return
    outcome: list[Any] = ["error", "save: process 0 could not write the checkpoint"]
    try:
        with _explained(target):
            try:
                os.makedirs(partial, exist_ok=True)
                sums = _all_written(copy, partial, token)
                _write_tree(partial, text_of(copy.described(sums), metadata))
                places.place(partial, target, overwrite)
            except BaseException:
                places.remove(partial)
                raise
            places.sweep(*os.path.split(target))
        outcome = ["done", None]
    except OSError as error:
        outcome = ["error", str(error)]
        raise
    finally:
        if here is not None:
            here.put(f"weft/checkpoints/{token}/done", json.dumps(outcome))


def _all_written(copy: Snapshot, partial: str, token: str) -> dict[int, dict[str, str]]:
    """The checksums of all processes' arrays, after all of them have written. The directory is kept
    until all have answered, even if one cannot write.
    """
    sums = {}
    failure: OSError | None = None
    for owner in sorted(copy.owners):
        try:
            if owner == 0:
                sums[owner] = _write_arrays(copy, partial, 0)
            else:
                sums[owner] = _answer(f"{token}/{owner}")
        except OSError as error:
            failure = failure or error
    try:
        if failure is not None:
            raise failure
    finally:
        del failure  # the error refers to this frame
    return sums


def _write_arrays(copy: Snapshot, partial: str, process: int) -> dict[str, str]:
    """Writes the file of a process; returns the checksums of its arrays."""
    tensors, sums = copy.tensors(process)
    write_tensors(os.path.join(partial, file_of(process)), tensors)
    return sums


def _write_tree(partial: str, text: bytes) -> None:
    with open(os.path.join(partial, TREE), "xb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    places.sync_directory(partial)


# --- several processes ---


def _write_own_parts(copy: Snapshot, partial: str, target: str, token: str, process: int) -> None:
    """Writes the parts that only this process has, and waits for process 0."""
    here = distributed.connection()
    assert here is not None
    if process in copy.owners:
        answer: list[Any] = ["error", f"save: process {process} could not write its part"]
        try:
            with _explained(target):
                os.makedirs(partial, exist_ok=True)
                answer = ["sums", _write_arrays(copy, partial, process)]
                places.sync_directory(partial)
        except OSError as error:
            answer = ["error", f"{error} (in process {process})"]
            raise
        finally:
            here.put(f"weft/checkpoints/{token}/{process}", json.dumps(answer))
    _answer(f"{token}/done")


def _answer(key: str) -> Any:
    """The answer of another process. It waits as long as the process needs to write."""
    here = distributed.connection()
    assert here is not None
    while True:
        with contextlib.suppress(TimeoutError):
            kind, answer = json.loads(here.get(f"weft/checkpoints/{key}", 1))
            break
    if kind == "error":
        raise OSError(answer)
    return answer


# --- errors of the system ---

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextlib.contextmanager
def _explained(target: str) -> Iterator[None]:
    """Adds the path, the state of the checkpoint and a fix to errors of the system."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # the message already has these
            raise
        if error.errno == errno.EEXIST and error.filename == target:
            raise _exists(target) from None
        fix = "another directory"
        if error.errno in _FULL:
            fix = "free some space, or another directory"
        elif error.errno in _FORBIDDEN:
            fix = "a directory that you may write to"
        state = "the checkpoint that was there is as it was" if os.path.lexists(
            places.place_of(target)
        ) else "nothing was written"  # fmt: skip
        explained = type(error)(
            f"save: {target} could not be written: {error.strerror}; {state}\n  fix: {fix}"
        )
        explained.errno = error.errno
        raise explained from None
