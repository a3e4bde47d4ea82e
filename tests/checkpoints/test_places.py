"""Directories appear whole, whatever stops or disturbs their writer."""

import contextlib
import os
import subprocess
import sys
import threading
import time

import checkpoint_trees as trees
import pytest

from weft.checkpoints import Checkpoints, places, restore, save


class Killed(BaseException):
    """Stands for the end of the process: nothing is tidied up."""


def dead():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def left_by(pid, path, kind):
    """The hidden name that a process left."""
    return path.parent / f".{path.name}.{kind}-{places._host()}-{pid}-0123abcd"


def test_a_kill_between_the_two_renames_leaves_the_old_one(tmp_path):
    save(tmp_path / "c", {"x": 1})
    hidden = left_by(dead(), tmp_path / "c", "replaced")
    os.rename(tmp_path / "c", hidden)
    assert restore(tmp_path / "c") == {"x": 1}
    assert Checkpoints(tmp_path).names() == ["c"]
    with pytest.raises(FileExistsError):
        save(tmp_path / "c", {"x": 2})
    save(tmp_path / "c", {"x": 2}, overwrite=True)
    assert restore(tmp_path / "c") == {"x": 2}
    assert os.listdir(tmp_path) == ["c"]


def test_of_several_that_were_left_the_newest_whole_one_counts(tmp_path):
    for i in range(4):
        save(tmp_path / "c", {"x": i}, overwrite=True)
        hidden = tmp_path / f".c.replaced-{places._host()}-1-0000000{i}"
        os.rename(tmp_path / "c", hidden)
        os.utime(hidden / "tree.json", (i, i))
    os.remove(hidden / "tree.json")  # being removed
    assert restore(tmp_path / "c") == {"x": 2}


def test_what_killed_processes_left_is_swept_and_that_of_others_is_not(tmp_path):
    save(tmp_path / "c", {"x": 1})
    path, alive = tmp_path / "c", os.getpid()
    gone = [left_by(dead(), path, kind) for kind in ("partial", "replaced")]
    other_host = tmp_path / ".c.partial-00000000-1-0123abcd"
    stay = [*(left_by(alive, path, k) for k in ("partial", "replaced")), other_host]
    stay.append(left_by(dead(), tmp_path / "d", "partial"))
    for folder in (*gone, *stay):
        folder.mkdir()
        (folder / "arrays.safetensors").write_text("x")
    save(path, {"x": 2}, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, *(p.name for p in stay)])
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(3, {})
    assert not stay[-1].exists()


def test_a_left_one_whose_place_is_empty_is_not_swept(tmp_path):
    save(tmp_path / "c", {"x": 1})
    os.rename(tmp_path / "c", left_by(dead(), tmp_path / "c", "replaced"))
    places.sweep(str(tmp_path))
    assert restore(tmp_path / "c") == {"x": 1}


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("at", range(12))
def test_a_kill_at_any_step_leaves_the_old_or_the_new(at, there, tmp_path, monkeypatch):
    """A kill is an exception after which nothing else happens on the disk."""
    if there:
        save(tmp_path / "c", {"x": 1})
    state = {"count": 0}

    def watch(module, name):
        original = getattr(module, name)

        def watched(*args, **options):
            if state["count"] >= at:
                raise Killed
            state["count"] += 1
            return original(*args, **options)

        monkeypatch.setattr(module, name, watched)

    for name in ("mkdir", "rename", "fsync", "unlink", "rmdir", "chmod", "open"):
        watch(os, name)
    with contextlib.suppress(Killed):
        save(tmp_path / "c", {"x": 2}, overwrite=True)
    monkeypatch.undo()
    if there or (tmp_path / "c").exists():
        assert restore(tmp_path / "c") in ({"x": 1}, {"x": 2})
    save(tmp_path / "c", {"x": 3}, overwrite=True)
    assert restore(tmp_path / "c") == {"x": 3}


def test_all_is_on_the_disk_before_it_has_its_name_and_the_name_before_the_old_one_goes(
    tmp_path, monkeypatch
):
    save(tmp_path / "c", {"x": 1})
    events = []
    fsync, rename, unlink = os.fsync, os.rename, os.unlink

    def short(path):
        return os.path.relpath(path, tmp_path).partition("-")[0]

    def watched_fsync(handle):
        path = os.readlink(f"/proc/self/fd/{handle}")
        events.append(("fsync", os.path.basename(path) if "." in path[-20:] else short(path)))
        fsync(handle)

    def watched_rename(old, new):
        events.append((short(old), short(new)))
        rename(old, new)

    def watched_unlink(path, **options):
        events.append(("unlink", os.path.basename(path)))
        unlink(path, **options)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "rename", watched_rename)
    monkeypatch.setattr(os, "unlink", watched_unlink)
    save(tmp_path / "c", {"x": 2}, overwrite=True)
    monkeypatch.undo()
    moved = [(".c.partial", "c"), ("c", ".c.replaced"), (".c.partial", "c")]
    assert events[:7] == [
        ("fsync", "arrays.safetensors"),
        ("fsync", "tree.json"),
        ("fsync", ".c.partial"),
        *moved,
        ("fsync", "."),
    ]
    assert ("unlink", "tree.json") in events[7:]


def test_concurrent_savers_of_one_path(tmp_path):
    """Each of four threads replaces it, and in the end there is one of theirs."""
    path = tmp_path / "c"
    save(path, trees.small(0))
    failures = []

    def work(first):
        try:
            for step in range(first, first + 12):
                save(path, trees.small(step), overwrite=True)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    restored = restore(path)
    trees.same(restored, trees.small(restored["step"]))
    assert os.listdir(tmp_path) == ["c"]


def test_a_reader_beside_a_saver_finds_a_whole_one_whenever_it_looks(tmp_path):
    save(tmp_path / "c", trees.small(0))
    ended = threading.Event()

    def work():
        for step in range(1, 20):
            save(tmp_path / "c", trees.small(step), overwrite=True)
            time.sleep(0.002)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    steps = []
    try:
        while not ended.is_set():
            restored = restore(tmp_path / "c")
            trees.same(restored, trees.small(restored["step"]))
            steps.append(restored["step"])
    finally:
        thread.join()
    assert steps == sorted(steps)


def test_of_concurrent_savers_who_do_not_replace_one_wins(tmp_path):
    results = []

    def work(i):
        try:
            save(tmp_path / "c", {"x": i})
            results.append(i)
        except FileExistsError as error:
            results.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [r for r in results if isinstance(r, int)]
    assert restore(tmp_path / "c") == {"x": winner}
    assert os.listdir(tmp_path) == ["c"]


def test_a_link_to_a_checkpoint_is_removed_and_not_its_target(tmp_path):
    save(tmp_path / "archive", {"x": 1})
    (tmp_path / "c").symlink_to(tmp_path / "archive")
    assert restore(tmp_path / "c") == {"x": 1}
    places.remove(str(tmp_path / "c"))
    assert os.listdir(tmp_path) == ["archive"]
    assert restore(tmp_path / "archive") == {"x": 1}


def test_names_in_a_directory(tmp_path):
    assert places.names_in(str(tmp_path / "none")) == set()
    save(tmp_path / "c", {})
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / ".hidden").mkdir()
    assert places.names_in(str(tmp_path)) == {"c"}


def test_the_file_system_need_not_sync_directories(tmp_path, monkeypatch):
    original = os.fsync

    def fsync(handle):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(22, "Invalid argument")
        original(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    save(tmp_path / "c", {"x": 1})
    assert restore(tmp_path / "c") == {"x": 1}
