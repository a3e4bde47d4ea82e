"""Executables kept on disk: found again, never trusted when damaged, never in the way."""

import errno
import os
import stat
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from weft import runtime
from weft.compiler import disk_cache
from weft.config import config
from weft.runtime import callback

F32 = np.dtype("f4")
OUT = [((4,), F32)]


def text(factor):
    return f"""
func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.constant dense<{float(factor)}> : tensor<4xf32>
  %1 = stablehlo.multiply %a, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}}"""


@pytest.fixture
def device():
    return runtime.default_device()


@pytest.fixture
def folder(tmp_path):
    """A cache of its own for each test; it counts from zero."""
    path = tmp_path / "cache"
    disk_cache.configure(path)
    disk_cache._cache.hits = disk_cache._cache.misses = 0
    yield path
    disk_cache.configure()


def get(device, factor=2, **options):
    """Compiles or loads a program, and makes sure that it is the right one."""
    program = disk_cache.compile_or_load(text(factor), OUT, device, options)
    (out,) = program.execute([runtime.put(np.arange(4, dtype=F32), device)])
    np.testing.assert_array_equal(runtime.to_host(out, *OUT[0]), factor * np.arange(4))


def counts():
    info = disk_cache.info()
    return info["hits"], info["misses"], info["entries"]


def only_entry(folder):
    (entry,) = folder.glob("*.xla")
    return entry


def test_found_again(device, folder):
    get(device)
    assert counts() == (0, 1, 1)
    get(device)
    assert counts() == (1, 1, 1)
    assert disk_cache.info()["path"] == str(folder)
    assert disk_cache.info()["bytes"] == only_entry(folder).stat().st_size > 500


def test_different_programs_options_and_settings_are_different_entries(device, folder, monkeypatch):
    get(device, 2)
    get(device, 3)
    get(device, 3, xla_backend_optimization_level=1)
    assert counts() == (0, 3, 3)
    monkeypatch.setattr(disk_cache, "FORMAT", disk_cache.FORMAT + 1)
    disk_cache._cache.machines.clear()
    get(device, 2)
    assert counts() == (0, 4, 4)
    disk_cache._cache.machines.clear()
    monkeypatch.setattr(disk_cache, "_processor", lambda: "another CPU")
    get(device, 2)
    assert counts() == (0, 5, 5)
    disk_cache._cache.machines.clear()


def test_the_key_names_this_cpu_and_this_jaxlib(device):
    machine = disk_cache._machine(device).decode()
    assert repr(runtime.load().version) in machine
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            flags = next(line for line in file if line.startswith(("flags", "Features")))
        assert " ".join(flags.split()) in machine
    assert "MHz" not in machine


def test_files_are_private(device, folder):
    old = os.umask(0)
    try:
        get(device)
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: b"",
        lambda d: d[:10],
        lambda d: d[: len(d) // 2],
        lambda d: d[:-1],
        lambda d: d + b"x",
        lambda d: b"something else altogether" * 100,
        *[lambda d, at=at: flip(d, at) for at in (0, 9, 13, 25, 30, 70, 100, 200, 500, -2)],
    ],
)
def test_damaged_entries_are_compiled_again_and_replaced(device, folder, damage):
    get(device)
    entry = only_entry(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    get(device)
    assert counts() == (0, 2, 1)
    assert len(entry.read_bytes()) > 500
    get(device)
    assert counts() == (1, 2, 1)


def test_an_entry_under_another_name_is_not_used(device, folder):
    get(device, 2)
    two = only_entry(folder)
    get(device, 3)
    (three,) = set(folder.glob("*.xla")) - {two}
    two.write_bytes(three.read_bytes())
    get(device, 2)
    assert counts() == (0, 3, 2)


def test_a_blob_that_xla_refuses_is_compiled_again(device, folder):
    get(device)
    entry = only_entry(folder)
    entry.write_bytes(disk_cache._packed(b"not an executable" * 50, entry.stem))
    get(device)
    get(device)
    assert counts() == (1, 2, 1)


def test_a_packed_entry_cannot_grow_beyond_its_word(device, folder):
    """A body that unpacks to more than the header says is refused, not unpacked."""
    key = "00" * 32
    data = disk_cache._packed(bytes(10**6), key)
    magic, version, size, packed, owner, _ = disk_cache._HEADER.unpack_from(data)
    fields = (magic, version, size - 1, packed, owner)
    body = data[disk_cache._HEADER.size :]
    digest = disk_cache.sha256(disk_cache._HEADER.pack(*fields, b"") + body).digest()
    assert disk_cache._unpacked_entry(data, key) == bytes(10**6)
    assert disk_cache._unpacked_entry(disk_cache._HEADER.pack(*fields, digest) + body, key) is None


def test_links_are_not_followed(device, folder, tmp_path):
    get(device)
    entry = only_entry(folder)
    elsewhere = tmp_path / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)
    get(device)
    assert counts() == (0, 2, 1)
    assert not entry.is_symlink()


def test_things_that_are_no_files(device, folder):
    get(device)
    entry = only_entry(folder)
    entry.unlink()
    os.mkfifo(entry)
    get(device)
    get(device)
    assert counts() == (1, 2, 1)
    entry.unlink()
    entry.mkdir()
    get(device)
    get(device)
    assert counts()[:2] == (1, 4)
    assert not list(folder.glob("*.new"))


@pytest.mark.parametrize("mode", [0o750, 0o701, 0o777])
def test_a_folder_that_others_can_enter_is_refused_with_one_warning(device, folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match=rf"mode {mode:o}, not 700"):
        get(device)
    get(device)  # warnings are errors, so a second one would fail here
    assert list(folder.iterdir()) == []
    assert disk_cache.info()["entries"] == 0


def test_a_folder_that_is_a_link_is_refused(device, folder, tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "real")
    with pytest.warns(RuntimeWarning, match="is a link"):
        get(device)
    assert list((tmp_path / "real").iterdir()) == []


def test_a_folder_of_another_user_is_refused(device, folder, monkeypatch):
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        get(device)
    assert list(folder.iterdir()) == []


def test_an_entry_of_another_user_is_not_used(device, folder, monkeypatch):
    get(device)
    plain = os.fstat

    def of_another(descriptor):
        status = plain(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return status
        return os.stat_result([*status[:4], status.st_uid + 1, *status[5:]])

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", of_another)
        get(device)
    assert counts() == (0, 2, 1)
    get(device)
    assert counts() == (1, 2, 1)


def test_a_place_where_no_folder_can_be_made(device, tmp_path):
    (tmp_path / "file").write_text("")
    disk_cache.configure(tmp_path / "file" / "cache")
    try:
        get(device)
        assert disk_cache.info()["entries"] == 0
    finally:
        disk_cache.configure()


def test_a_folder_removed_meanwhile_is_made_again(device, folder):
    get(device)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    get(device)
    get(device)
    assert counts() == (1, 2, 1)


def test_entries_on_a_file_system_that_is_only_read_are_used(device, folder, monkeypatch):
    get(device)

    def refused(*args, **kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "utime", refused)
    get(device)
    assert counts() == (1, 1, 1)


def test_writing_that_fails_is_not_fatal(device, folder, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    get(device)
    assert list(folder.iterdir()) == []


def test_the_least_recently_used_go_first(device, folder):
    disk_cache.configure(folder, 40_000)
    get(device, 1)
    first = only_entry(folder)
    for factor in range(2, 31):
        get(device, factor)
        time.sleep(0.002)
        get(device, 1)  # in use all the time
        assert sum(f.stat().st_size for f in folder.glob("*.xla")) <= 40_000
    assert first.exists()
    hits, misses, entries = counts()
    assert (hits, misses) == (29, 30)
    assert 5 < entries < 25
    get(device, 30)
    assert counts()[0] == 30
    get(device, 2)
    assert counts()[1] == 31


def test_an_entry_above_the_limit_is_not_written(device, folder):
    disk_cache.configure(folder, 100)
    get(device)
    assert counts() == (0, 1, 0)


def test_clear(device, folder):
    get(device)
    (folder / "abandoned.new").write_text("")
    (folder / "of the user").write_text("")
    disk_cache.clear()
    assert [file.name for file in folder.iterdir()] == ["of the user"]
    get(device)
    assert counts() == (0, 2, 1)


def test_what_a_crash_left_is_removed_by_the_next_sweep(device, folder):
    get(device)
    for name, age in (("old.new", 7200), ("young.new", 60)):
        (folder / name).write_text("")
        os.utime(folder / name, (time.time() - age,) * 2)
    disk_cache.info()
    assert {file.name for file in folder.glob("*.new")} == {"young.new"}


def test_callbacks_are_no_part_of_what_is_kept(device, folder):
    text = (
        "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        f"  %0 = stablehlo.custom_call @{callback.CALLBACKS['cpu']}(%a) {{api_version = 4 : i32,\n"
        "    backend_config = {index = 0 : ui64}} : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}"
    )
    for n in range(3):  # each time another function; the program is compiled once
        functions = [runtime.Callback(lambda x, n=n: (x * n,), OUT)]
        program = disk_cache.compile_or_load(text, OUT, device, callbacks=functions)
        (out,) = program.execute([runtime.put(np.ones(4, F32), device)])
        np.testing.assert_array_equal(runtime.to_host(out, *OUT[0]), n)
    assert counts() == (2, 1, 1)


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("WEFT_CACHE_DIR", raising=False)
    disk_cache.configure()
    with config.temporarily(cache_dir=None):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert disk_cache.info()["path"] == str(tmp_path / "xdg" / "weft")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        assert disk_cache.info()["path"] == str(tmp_path / "home" / ".cache" / "weft")
    with config.temporarily(cache_dir=""):
        assert disk_cache.info()["path"] is None
    with config.temporarily(cache_dir=str(tmp_path)):
        assert disk_cache.info()["path"] == str(tmp_path)
        with config.temporarily(enable_compilation_cache=False):
            assert disk_cache.info()["path"] is None
        disk_cache.configure("")
        assert disk_cache.info()["path"] is None
        disk_cache.configure()
    assert not (tmp_path / "xdg").exists()


PROCESS = """
    import sys
    import numpy as np
    from weft import runtime
    from weft.compiler import disk_cache
    f32 = np.dtype("f4")
    device = runtime.devices()[-1]
    for round in range(2):
        for factor in range(1, 13):
            text = f'''func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
              %0 = stablehlo.constant dense<{factor}.0> : tensor<4xf32>
              %1 = stablehlo.multiply %a, %0 : tensor<4xf32>
              return %1 : tensor<4xf32> }}'''
            program = disk_cache.compile_or_load(text, [((4,), f32)], device)
            (out,) = program.execute([runtime.put(np.arange(4, dtype=f32), device)])
            assert (runtime.to_host(out, (4,), f32) == factor * np.arange(4)).all()
    info = disk_cache.info()
    print(info["hits"], info["misses"], "jax" in sys.modules)
"""


def processes(count, folder, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "XLA_", "TF_"))}
    env |= {"PYTHONPATH": os.pathsep.join(sys.path), "WEFT_CACHE_DIR": str(folder)} | variables
    started = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(PROCESS)],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    outputs = [process.communicate(timeout=120) for process in started]
    for process, (out, err) in zip(started, outputs, strict=True):
        assert process.returncode == 0, out + err
        assert err == ""
    return [out.split() for out, _ in outputs]


def test_processes_share_the_cache(tmp_path):
    folder = tmp_path / "shared"
    for hits, misses, jax in processes(3, folder):
        assert int(hits) + int(misses) == 24
        assert int(hits) >= 12
        assert jax == "False"
    assert len(list(folder.glob("*.xla"))) == 12
    assert not list(folder.glob("*.new"))
    assert processes(1, folder) == [["24", "0", "False"]]


def test_an_entry_serves_every_device(tmp_path):
    folder = tmp_path / "shared"
    assert processes(1, folder) == [["12", "12", "False"]]
    assert processes(1, folder, WEFT_CPU_DEVICES="2") == [["24", "0", "False"]]


def test_processes_share_a_cache_that_is_too_small(tmp_path):
    folder = tmp_path / "shared"
    for hits, misses, _ in processes(3, folder, WEFT_CACHE_SIZE="16000"):
        assert int(hits) + int(misses) == 24
    assert sum(f.stat().st_size for f in folder.glob("*.xla")) <= 3 * 16000
