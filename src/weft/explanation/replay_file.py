"""The file of a failed call: write_call, note_outcome, read_call.

The file has the safetensors format, which other programs read too. Its arrays are the program's
constants and the arguments, under the arguments' names. The metadata in its header include two JSON
texts, `program` (`program_file.py`) and `call`. The last array is the SHA-256 of everything before
it. Reading runs no code, and checks everything.
"""

import functools
import hashlib
import json
import os
import platform
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from ..checkpoints.stored_dtypes import StoredType, from_stored, stored_type, to_stored
from ..compiler.placing import gather
from ..config import config
from ..core.array import Array
from ..core.aval import Aval
from ..core.jaxpr import Jaxpr
from ..dtypes import float0
from ..runtime import client, versions
from ..runtime.buffer import aligned_empty
from ..user_lines import Place
from .program_file import (
    FailedCall,
    Malformed,
    checked,
    lists,
    read_aval,
    read_program,
    written_aval,
)

FORMAT, VERSION = "weft replay", "1"
SUFFIX = ".safetensors"

AROUND = 2
"""The number of source lines saved before and after the line of an equation."""

MAX_HEADER = 1 << 30
"""The length of the longest header that is read, in bytes."""

SWITCHES = (
    "enable_x64",
    "default_matmul_precision",
    "threefry_partitionable",
    "default_prng_impl",
    "debug_nans",
    "debug_infs",
)
"""The switches that change the elements of results, or that make a call fail."""

_PACKAGE = __name__.partition(".")[0]
_DIGEST = "sha256"
_DIGEST_BYTES = hashlib.sha256().digest_size
_DIGEST_TYPE = ("U8", [_DIGEST_BYTES], _DIGEST_BYTES)
_LENGTH_BYTES = 8
_CHUNK = 1 << 20

Header = dict[str, tuple[str, list[int], int]]
"""For each array, by its name: the code of its dtype, its shape, and its number of bytes."""


@dataclass(frozen=True)
class SavedCall:
    """A call of a program, read from its file.

    Attributes:
      path: the path of the file.
      program, arguments: the program and its arguments.
      function: the name of the function; `place`: the user's line that called it.
      time, process: the time of the call, and the id of the process.
      versions: the versions of the libraries, and the machine.
      switches: the values of `SWITCHES`.
      lines: the text of the user's lines around equations, by file and number.
      outcome: the kind of the failure ("error", "NaN", "infinity" or "check"), and its text; `None`
        if the process ended during the call.
    """

    path: str
    program: Jaxpr
    arguments: list[Array]
    function: str
    place: Place
    time: str
    process: int
    versions: dict[str, str]
    switches: dict[str, Any]
    lines: dict[str, dict[int, str]]
    outcome: tuple[str, str] | None


@functools.cache
def installed() -> dict[str, str]:
    """The versions of weft, its libraries and Python, and the machine."""
    device = client.default_device()
    return {
        **versions.installed(),
        "processor": processor(),
        "device": f"{device.platform} {device.device_kind}",
    }


def processor() -> str:
    """The model of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            models = [line.partition(":")[2].strip() for line in file if "model name" in line]
    except OSError:  # another system than Linux
        models = []
    return models[0] if models else platform.processor() or platform.machine()


# --- writing ---


def type_in_file(a: Aval) -> StoredType:
    """The type of an array in the file."""
    if a.dtype == float0:
        return StoredType(np.dtype(np.uint8), "U8", (*a.shape, 0))
    return stored_type(a.dtype.name, a.shape)


def bytes_of(x: Array) -> Any:
    """The elements of an array as bytes for the file. The array keeps no copy of them."""
    if not x.size or x.aval.dtype == float0:
        return b""
    host = np.asarray(gather(x) if x._host is None else x._host)
    return to_stored(host, x.aval.dtype.name).reshape(-1).view(np.uint8).data


def write_call(
    path: str,
    program: str,
    constants: Sequence[Array],
    arguments: Mapping[str, Array],
    about: Mapping[str, Any],
) -> None:
    """Writes a file atomically; only its owner can read it.

    Args:
      program: the JSON of the program; `constants` are its arrays.
      arguments: the arguments, by the names of the arrays in the file.
      about: the other attributes of `SavedCall` as JSON values.
    Raises: OSError: the file cannot be written, for example because the disk is full.
    """
    named = {f"constant {i}": x for i, x in enumerate(constants)} | dict(arguments)
    types = {name: type_in_file(x.aval) for name, x in named.items()}
    header = {name: (t.code, list(t.shape), t.nbytes) for name, t in types.items()}
    avals = {name: written_aval(x.aval) for name, x in named.items()}
    call = {**about, "arrays": avals, "constants": len(constants)}
    _write(path, program, call, header, map(bytes_of, named.values()))


def note_outcome(path: str, kind: str, text: str, failed: FailedCall | None) -> None:
    """Writes a file again, with the outcome of its call.

    Args:
      failed: the call of a Python function that raised the error; `None` if there is none.
    """
    with open(path, "rb") as file:
        header, program, call = _header(file)
        arrays = sum(n for _, _, n in header.values())
        call |= {"outcome": [kind, text], "failed call": failed}
        _write(path, program, call, header, _chunks(file, arrays))


def _chunks(file: IO[bytes], length: int) -> Iterator[bytes]:
    """The next `length` bytes of a file, in chunks."""
    while length > 0:
        yield (data := file.read(min(length, _CHUNK)))
        length -= len(data) or length


def _write(path: str, program: str, call: Any, header: Header, data: Iterable[Any]) -> None:
    """Writes a file; `data` are the bytes of its arrays, in order."""
    metadata = {"format": FORMAT, "version": VERSION, "call": json.dumps(call), "program": program}
    entries: dict[str, Any] = {"__metadata__": metadata}
    start = 0
    for name, (code, shape, n) in [*header.items(), (_DIGEST, _DIGEST_TYPE)]:
        entries[name] = {"dtype": code, "shape": shape, "data_offsets": [start, start + n]}
        start += n
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % _LENGTH_BYTES)
    digest = hashlib.sha256()
    partial = f"{path}.part"
    handle = os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        with open(handle, "wb") as file:
            for part in (len(text).to_bytes(_LENGTH_BYTES, "little"), text, *data):
                digest.update(part)
                file.write(part)
            file.write(digest.digest())
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


# --- reading ---


def read_call(path: str | os.PathLike[str]) -> SavedCall:
    """The call in a file.

    Raises: ValueError: the file is damaged, of another kind, or of a newer version of weft.
      FileNotFoundError: there is no such file.
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path}\n  fix: weft replay FILE")
    try:
        return _call(path)
    except (Malformed, RecursionError) as error:
        raise ValueError(
            f"replay: {path} is damaged, or not a file of a failed call: {error}\n"
            "  fix: another copy of a file saved under the switch replay_dir"
        ) from None


def _call(path: str) -> SavedCall:
    call, text, arrays = _content(path)
    switches = checked(dict, call.get("switches"), "the switches")
    if [*switches] != [*SWITCHES]:
        raise Malformed(f"it has the switches {[*switches]!r:.200}")
    count = checked(int, call.get("constants"), "the number of constants")
    failed = call.get("failed call")
    if failed is not None:
        failed = FailedCall(*lists(failed, "the failed call", str, str))
    there = _texts(call.get("versions"), "the versions")
    try:
        with config.temporarily(**switches):
            program = read_program(_json(text), arrays[:count], failed)
    except ValueError as error:  # of a switch
        raise Malformed(str(error)) from None
    except Malformed as error:
        version, here = there.get(_PACKAGE), installed()[_PACKAGE]
        if version == here:
            raise
        raise Malformed(f"{error}; weft {version} wrote it, this is {here}") from None
    arguments = arrays[count:]
    types = [(a.shape, a.dtype) for a in program.in_avals]
    if [(x.aval.shape, x.aval.dtype) for x in arguments] != types:
        raise Malformed("its arguments are not those of its program")
    outcome = call.get("outcome")
    return SavedCall(
        path,
        program,
        arguments,
        checked(str, call.get("function"), "the function"),
        Place(*lists(call.get("place"), "the place", str, int, str)),
        checked(str, call.get("time"), "the time"),
        checked(int, call.get("process"), "the process"),
        there,
        switches,
        {
            file: {_number(n): text for n, text in _texts(lines, "lines").items()}
            for file, lines in checked(dict, call.get("lines"), "the lines").items()
        },
        None if outcome is None else tuple(lists(outcome, "the outcome", str, str)),  # type: ignore[arg-type]
    )


def _texts(value: Any, what: str) -> dict[str, str]:
    return {name: checked(str, text, what) for name, text in checked(dict, value, what).items()}


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Malformed(f"the number of a line is {text!r:.60}")
    return int(text)


def _content(path: str) -> tuple[dict[str, Any], str, list[Array]]:
    """The JSON of a call, the JSON of its program, and the arrays."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise Malformed("it is not a regular file")
    with open(path, "rb") as file:
        header, program, call = _header(file)
        written = checked(dict, call.get("arrays"), "the arrays")
        avals = {name: read_aval(a) for name, a in written.items()}
        types = {name: type_in_file(a) for name, a in avals.items()}
        if {name: (t.code, list(t.shape), t.nbytes) for name, t in types.items()} != header:
            raise Malformed("its arrays differ from their description")
        begin = file.tell()
        file.seek(0)
        digest = hashlib.sha256(file.read(begin))
        raw = {}
        for name, t in types.items():
            raw[name] = aligned_empty((t.nbytes,), np.uint8)
            file.readinto(raw[name].data)  # type: ignore[attr-defined]
            digest.update(raw[name].data)
        if file.read() != digest.digest():
            raise Malformed("its checksum differs: it was changed or cut off")
    try:
        return call, program, [_array(avals[name], x) for name, x in raw.items()]
    except ValueError as error:
        raise Malformed(f"an array has {error}") from None


def _array(a: Aval, raw: np.ndarray[Any, Any]) -> Array:
    if a.dtype == float0:
        return Array(np.zeros(a.shape, float0), a)
    return Array(from_stored(raw, a.dtype.name, a.shape), a)


def _header(file: IO[bytes]) -> tuple[Header, str, dict[str, Any]]:
    """The types of the arrays, the JSON of the program, and the JSON of the call."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    if not 0 < length <= min(size - _LENGTH_BYTES, MAX_HEADER):
        raise Malformed("it has no header")
    entries = _json(file.read(length))
    metadata = checked(dict, entries.pop("__metadata__", None), "the metadata")
    if metadata.get("format") != FORMAT:
        raise Malformed("it has another format")
    if metadata.get("version") != VERSION:
        raise ValueError(
            f"replay: {file.name} has version {metadata.get('version')!r:.20} of the format; this "
            f"weft reads version {VERSION}\n  fix: a newer weft"
        )
    header: Header = {}
    start = 0
    for name, written in entries.items():
        e = checked(dict, written, "an array")
        first, end = lists(e.get("data_offsets"), "the place of an array", int, int)
        if first != start or end < start:
            raise Malformed(f"the array {name!r:.60} does not follow the one before it")
        code = checked(str, e.get("dtype"), "the type of an array")
        header[name] = code, checked(list, e.get("shape"), "a shape"), end - start
        start = end
    if header.pop(_DIGEST, None) != _DIGEST_TYPE:
        raise Malformed("it has no checksum")
    if start != size - _LENGTH_BYTES - length:
        raise Malformed("its length does not match its arrays")
    program = checked(str, metadata.get("program"), "the program")
    return header, program, _json(checked(str, metadata.get("call"), "the call"))


def _json(text: str | bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError:  # or text that is not UTF-8
        raise Malformed("its JSON is broken") from None
    return checked(dict, content, "the JSON")  # type: ignore[no-any-return]
