"""AppendedFile: a file to which records are appended, each as a whole or not at all."""

import contextlib
import os

from ..user_lines import noted

__all__ = ["AppendedFile"]

BLOCK = 65536
"""The number of bytes to read at once, from the end, when searching for the last line."""


class AppendedFile:
    """A file to which records are appended, each in one system call.

    Appended records survive the process, even after `kill -9`. If the machine crashes, the last
    seconds may be lost, because `append` does not wait for the disk.

    Args:
      path: the file; it and its folder are made if they do not exist.
      of_lines: whether records are lines. If True, an incomplete last line, which a crash may have
        left, is removed.

    Raises: OSError: the file cannot be written to.

    Example:
      >>> file = AppendedFile("notes.txt", of_lines=True)
      >>> file.append(b"one\\n")
      >>> file.append(b"two\\n")
      >>> file.truncate(4)
      >>> file.close()
      >>> import pathlib
      >>> pathlib.Path("notes.txt").read_text()
      'one\\n'
    """

    def __init__(self, path: str, of_lines: bool = False) -> None:
        self.path = path
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._fd = os.open(path, flags, 0o666)
        except OSError as error:
            raise _explained(error, path) from None
        if of_lines:
            self.truncate(self._end_of_lines())

    @property
    def size(self) -> int:
        """The number of bytes in the file."""
        return os.fstat(self._fd).st_size

    def append(self, record: bytes) -> None:
        """Appends a record.

        Args:
          record: the bytes.
        Raises: OSError: the disk is full. The file does not change.
        """
        before = self.size
        try:
            _write_all(self._fd, record)
        except OSError as error:
            with contextlib.suppress(OSError):  # report the first error
                os.ftruncate(self._fd, before)
            raise _explained(error, self.path) from None

    def truncate(self, size: int) -> None:
        """Truncates the file to `size` bytes."""
        if size < self.size:
            os.ftruncate(self._fd, size)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._fd)

    def _end_of_lines(self) -> int:
        """The length in bytes up to the end of the last complete line."""
        end = self.size
        while end:
            start = max(0, end - BLOCK)
            os.lseek(self._fd, start, os.SEEK_SET)
            newline = os.read(self._fd, end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
        return 0


def _write_all(fd: int, record: bytes) -> None:
    """Writes all bytes of a record; the system may accept only a part at a time."""
    rest = memoryview(record)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _explained(error: OSError, path: str) -> OSError:
    """The error for a file that cannot be written: the same class, with a fix."""
    message = (
        f"RunLog: {path} can't be written: {error.strerror}; its earlier content is intact\n"
        "  fix: free space on the disk, or choose another folder; RunLog(None) writes no files"
    )
    return noted(type(error)(message))
