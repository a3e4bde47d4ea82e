"""Files that only grow: whole records or none, also on a full disk."""

import os
import resource
import subprocess
import sys

import pytest

from weft.supervised.appended_file import AppendedFile


def test_records_are_in_the_file_at_once(tmp_path):
    path = tmp_path / "deep" / "er" / "file"
    file = AppendedFile(str(path))
    file.append(b"one")
    file.append(b"two")
    assert path.read_bytes() == b"onetwo"
    assert file.size == 6
    file.close()
    file = AppendedFile(str(path))
    file.append(b"three")
    assert path.read_bytes() == b"onetwothree"
    file.truncate(99)
    file.truncate(3)
    file.append(b"!")
    assert path.read_bytes() == b"one!"
    file.close()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b""),
        (b"a\nb\n", b"a\nb\n"),
        (b"a\nb", b"a\n"),
        (b"no end", b""),
        (b"a\n" + b"x" * 200_000, b"a\n"),
        (b"a" * 65536 + b"\n" + b"x" * 65535, b"a" * 65536 + b"\n"),
    ],
)
def test_a_line_without_an_end_is_taken_away(tmp_path, before, after):
    path = tmp_path / "lines"
    path.write_bytes(before)
    file = AppendedFile(str(path), of_lines=True)
    assert path.read_bytes() == after
    file.append(b"new\n")
    assert path.read_bytes() == after + b"new\n"
    file.close()
    path.write_bytes(before)
    AppendedFile(str(path)).close()
    assert path.read_bytes() == before  # records that are no lines


FULL = """
import resource, signal, sys
from weft.supervised.appended_file import AppendedFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = AppendedFile(sys.argv[1])
file.append(b"x" * 900)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    file.append(b"y" * 200)
except OSError as error:
    print(error)
file.append(b"z" * 100)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of the file's size")
def test_a_record_that_does_not_fit_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "file"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True
    )
    assert "can't be written: File too large; its earlier content is intact\n  fix:" in done.stdout
    assert path.read_bytes() == b"x" * 900 + b"z" * 100


def test_a_folder_that_cannot_be_made_is_an_error_with_a_fix(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"can't be written: .*\n  fix: free space") as error:
        AppendedFile(str(tmp_path / "file" / "inside"))
    assert any(note.startswith("  at test_appended_file.py") for note in error.value.__notes__)


def test_a_full_device_is_an_error():
    if not os.path.exists("/dev/full"):
        pytest.skip("no device that is full")
    with pytest.raises(OSError, match="No space left on device"):
        AppendedFile("/dev/full").append(b"x")
