"""Eager evaluation: the trace with which every thread begins. Also moves arrays between memories.

At import, this module sets the class of the base trace (`core/trace.py`), the first of the two
hooks.
"""

import sys
from typing import Any

import numpy as np

from .. import errors
from ..compiler import placing
from ..compiler.compiled import constrained
from ..config import caches, thread
from ..core.array import Array, is_shared
from ..core.aval import aval_of
from ..core.caching import remember_under
from ..core.kernels import kernel_runner, run_reentrant
from ..core.primitive import Primitive
from ..core.trace import Trace, current, watch, watched
from ..extended_dtypes import is_extended, no_numbers
from ..runtime import buffer as buffers, capsules, client, device_memory, host_memory
from ..runtime.client import Device
from ..sharding import NamedSharding
from ..user_lines import note_user_line
from . import eager_tiers
from .plans import OperationPlan, refuse_tracers

HOST = (1, 0)  # DLPack's name of the CPU


class EvaluateTrace(Trace):
    """Carries out every operation at once, by NumPy or by XLA (see `eager_tiers`)."""

    __slots__ = ()
    computes = True

    def bind(self, primitive: Primitive, args: Any, params: Any, out: Any = None) -> Any:
        try:
            plan = caches.now[primitive.kernels][(params, *map(aval_of, args))]
        except KeyError:
            rule = primitive.host.execute_rule
            if rule is not None:  # its jaxpr keeps its programs
                refuse_tracers(primitive.name, args)
                return rule(args, **dict(params))
            plan = self.plan(primitive, args, params)
        return self.run(plan, args)

    def plan(self, primitive: Primitive, args: Any, params: Any) -> OperationPlan:
        """The plan of an operation, cached for the signature of its arguments."""
        avals = [a.aval for a in args]
        key = (params, *avals)
        state = thread.switches
        plan = state.caches[primitive.kernels].get(key)
        if plan is None:
            out = primitive.out(args, params)
            plan = OperationPlan(primitive, params, avals, out)
            remember_under(state, primitive.kernels, key, plan)
        return plan

    def run(self, plan: Any, args: Any) -> Any:
        """Computes the output of a plan by its NumPy function or by XLA."""
        kernel = plan.kernel
        if kernel is None:
            return plan.execute(args)
        try:
            # One and two operands are unrolled, because calls on small arrays are all overhead
            # (benchmarks/eager.py). An operand whose type differs from its aval is a tracer, or is
            # on a device.
            if len(args) == 1:
                (a,) = args
                if a.type is not a.aval:
                    return plan.execute(args)
                result = (current.run_kernel or kernel_runner())(
                    kernel, self.fetch(a) if a._host is None else a._host
                )
            elif len(args) == 2:
                a, b = args
                if a.type is not a.aval or b.type is not b.aval:
                    return plan.execute(args)
                result = (current.run_kernel or kernel_runner())(
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
                result = (current.run_kernel or kernel_runner())(kernel, *hosts)
        except RuntimeError as error:
            result = run_reentrant(error, kernel, *[a.host() for a in args])
        out = plan.out
        return plan.arrays(result, args) if out is None else Array(result, out)

    def bind_custom(self, primitive: Any, function: Any, rules: Any, args: Any) -> Any:
        """Runs a function that has its own derivative rule, without differentiating it."""
        return function(*args)

    # --- elements on the host and on devices ---

    def fetch(self, array: Array) -> Any:
        """The elements on the host. The array keeps them."""
        try:
            host = array._host = placing.gather(array)
        except (
            errors.WeftError
        ) as error:  # the failed computation may have begun at an earlier line
            note_user_line(error)
            raise
        return host

    def constrained(self, array: Array, sharding: NamedSharding) -> Array:
        """Moves an array as a sharding constraint requires."""
        return constrained(array, sharding)

    def parts_of(self, array: Array) -> list[Array]:
        """The parts of an array on this process's devices, in their order."""
        return placing.shard_arrays(array)

    def default_device(self, array: Array) -> Device:
        """The device of an array that may be anywhere."""
        if array._buffer is None:  # still on the host; copied when needed
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
            self.fetch(array)  # raises an error if it was deleted
        return array._host is not None or bool(buffers.is_ready(array._buffer))

    def duplicate(self, array: Array) -> Array:
        """The same array as a new object. It remains usable after the first object is deleted or
        donated."""
        return placing.duplicate(array)

    def delete(self, array: Array) -> None:
        """Frees an array's memory."""
        if is_shared(array):
            return
        if array._buffer is not None:
            buffers.delete(array._buffer)
        array._buffer = array._host = None

    def is_deleted(self, array: Array) -> bool:
        """True if an array's memory was freed."""
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
        # NumPy exports read-only memory only to newer consumers. A scalar is copied, because many
        # arrays may share it.
        if copy is None and (not host.ndim or not (host.flags.writeable or tells)):
            copy = True
        if copy:
            host = host.copy()
        elif tells:  # arrays are immutable
            host = host.view()
            host.flags.writeable = False
        stated = {k: v for k, v in options.items() if v is not None and k != "copy"}
        return capsules.exported(host, stated)

    def dlpack_device(self, array: Array) -> tuple[int, int]:
        """DLPack's name of the device."""
        buffer = array._buffer
        if buffer is None or array.type.placement.group is not None:
            return HOST
        return device_memory.place_of(buffer) or HOST


base = current.base
base.__class__ = EvaluateTrace
eager_tiers.machine.find_accelerator = client.has_accelerator
host_memory.set_thresholds()
if watched() and "weft.interpreters.debugging.watch" not in sys.modules:  # it imports this module
    watch()  # a switch is on in the environment
