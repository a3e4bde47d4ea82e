"""Evaluation: the trace with which every thread begins. Also moves arrays between memories.

Fills the first of the two hooks: the base trace.
"""

import sys
from typing import Any

import numpy as np

from .. import errors
from ..compiler import placing
from ..compiler.compiled import constrained
from ..config import caches, thread
from ..core.array import Array, is_kept
from ..core.aval import aval_of
from ..core.caching import remember_under
from ..core.primitive import Primitive
from ..core.quiet import interrupting, quietly
from ..core.source import note_user_line
from ..core.trace import Trace, current, watch, watched
from ..extended_dtypes import is_extended, no_numbers
from ..runtime import buffer as buffers, capsules, client, device_memory, host_memory
from ..runtime.client import Device
from ..sharding import NamedSharding
from . import eager_tiers
from .plans import OperationPlan, refuse_tracers

HOST = (1, 0)  # DLPack's name of the CPU


class EvaluateTrace(Trace):
    """Carries every operation out at once, by NumPy or by XLA (see `eager_tiers`)."""

    __slots__ = ()
    computes = True

    def bind(self, primitive: Primitive, args: Any, params: Any, out: Any = None) -> Any:
        try:
            plan = caches.now[primitive.kernels][(params, *map(aval_of, args))]
        except KeyError:
            rule = primitive.host.execute_rule
            if rule is not None:  # what it runs is kept on its jaxpr, not here
                refuse_tracers(primitive.name, args)
                return rule(args, **dict(params))
            plan = self.plan(primitive, args, params)
        return self.run(plan, args)

    def plan(self, primitive: Primitive, args: Any, params: Any) -> OperationPlan:
        """The plan of an operation on values like these, kept for their signature."""
        avals = [a.aval for a in args]
        key = (params, *avals)
        state = thread.switches
        found = state.caches[primitive.kernels].get(key)
        if found is None:
            out = primitive.out(args, params)
            found = OperationPlan(primitive, params, avals, out)
            remember_under(state, primitive.kernels, key, found)
        return found

    def run(self, plan: Any, args: Any) -> Any:
        """The output of a plan: by its NumPy function, or else by XLA."""
        kernel = plan.kernel
        if kernel is None:
            return plan.execute(args)
        try:
            # One operand and two without a loop: a call of small arrays is all overhead
            # (benchmarks/eager.py). An operand whose type is not its aval is on a device that was
            # chosen, or is a tracer.
            if len(args) == 1:
                (a,) = args
                if a.type is not a.aval:
                    return plan.execute(args)
                result = (current.quiet or quietly())(
                    kernel, self.fetch(a) if a._host is None else a._host
                )
            elif len(args) == 2:
                a, b = args
                if a.type is not a.aval or b.type is not b.aval:
                    return plan.execute(args)
                result = (current.quiet or quietly())(
                    kernel,
                    self.fetch(a) if a._host is None else a._host,
                    self.fetch(b) if b._host is None else b._host,
                )
            else:
                hosts = []
                for a in args:
                    if a.type is not a.aval:
                        return plan.execute(args)
                    hosts.append(self.fetch(a) if a._host is None else a._host)
                result = (current.quiet or quietly())(kernel, *hosts)
        except RuntimeError as error:
            result = interrupting(error, kernel, *[a.host() for a in args])
        out = plan.out
        return plan.arrays(result, args) if out is None else Array(result, out)

    def bind_custom(self, primitive: Any, function: Any, rules: Any, args: Any) -> Any:
        """A function with a derivative rule of its own: nothing is differentiated here."""
        return function(*args)

    # --- where elements are ---

    def fetch(self, array: Array) -> Any:
        """The elements on the host; kept on the array."""
        try:
            host = array._host = placing.gather(array)
        except errors.WeftError as error:  # what failed may have begun at an earlier line
            note_user_line(error)
            raise
        return host

    def constrained(self, array: Array, sharding: NamedSharding) -> Array:
        """An array put where a sharding constraint says."""
        return constrained(array, sharding)

    def parts_of(self, array: Array) -> list[Array]:
        """The parts of an array that this process's devices have, in their order."""
        return placing.shard_arrays(array)

    def default_device(self, array: Array) -> Device:
        """The device of an array that may be anywhere."""
        if array._buffer is None:  # it is on the host yet, and will go where it is needed
            return client.chosen_device() or client.default_device()
        return client.default_device()

    def wait(self, array: Array) -> None:
        """Waits for an array; errors of its computation appear here."""
        if array._buffer is not None:
            try:
                buffers.block_until_ready(array._buffer)
            except errors.WeftError as error:
                note_user_line(error)
                raise
        elif array._host is None:
            self.fetch(array)

    def is_ready(self, array: Array) -> bool:
        """True if an array has been computed."""
        if array._host is None and array._buffer is None:
            self.fetch(array)  # says that it was deleted
        return array._host is not None or bool(buffers.is_ready(array._buffer))

    def duplicate(self, array: Array) -> Array:
        """The same array, which goes on if that one is deleted or donated."""
        return placing.duplicate(array)

    def delete(self, array: Array) -> None:
        """Gives an array's memory back."""
        if is_kept(array):
            return
        if array._buffer is not None:
            buffers.delete(array._buffer)
        array._buffer = array._host = None

    def is_deleted(self, array: Array) -> bool:
        """True if an array's memory is gone."""
        if array._host is not None:
            return False
        return array._buffer is None or bool(buffers.is_deleted(array._buffer))

    def on_device_size(self, array: Array) -> int:
        """The bytes that an array takes on its devices."""
        if array._buffer is None:
            return int(np.asarray(array.host()).nbytes)
        return buffers.on_device_size(array._buffer)

    def pointer(self, array: Array) -> int:
        """The address of an array's memory."""
        if array._host is not None:
            return int(np.asarray(array._host).ctypes.data)
        return int(buffers.unsafe_pointer(array._buffer))

    def to_dlpack(self, array: Array, options: dict[str, Any]) -> Any:
        """A DLPack capsule of an array, whose memory is shared where that is possible."""
        if is_extended(array.aval.dtype):
            raise no_numbers("dlpack", array.aval)
        place, stream = self.dlpack_device(array), options.pop("stream")
        if place != HOST and options["dl_device"] in (None, place):
            buffer = array._buffer
            if options["copy"]:
                buffer = buffers.copy_to(
                    buffer, buffers.device_of(buffer), array.shape, array.aval.dtype
                )
            return device_memory.shared(buffer, stream)
        host = np.asarray(array.host())
        copy, tells = options["copy"], (options["max_version"] or (0, 0)) >= (1, 0)
        # NumPy exports read-only memory to newer consumers only. A number, which many arrays may
        # share, is no saving.
        if copy is None and (not host.ndim or not (host.flags.writeable or tells)):
            copy = True
        if copy:
            host = host.copy()
        elif tells:  # arrays are immutable
            host = host.view()
            host.flags.writeable = False
        given = {k: v for k, v in options.items() if v is not None and k != "copy"}
        return capsules.exported(host, given)

    def dlpack_device(self, array: Array) -> tuple[int, int]:
        """DLPack's name of the device."""
        buffer = array._buffer
        if buffer is None or array.type.placement.group is not None:
            return HOST
        return device_memory.place_of(buffer) or HOST


base = current.base
base.__class__ = EvaluateTrace
eager_tiers.machine.find_accelerator = client.has_accelerator
host_memory.keep()
if watched() and "weft.interpreters.debugging.watch" not in sys.modules:  # it would load this one
    watch()  # the environment said so, and nothing was turned
