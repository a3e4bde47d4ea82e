"""`Ref`, a mutable array: a cell whose value programs read and replace.

A ref belongs to the trace in which it was made, and holds an ordinary value of it. Under traces
that differentiate or map, a program reads and writes the ref itself. A trace that records a program
has a stand-in for each ref from outside (`Trace.stand_in`): its first value is an input of the
program, its last value a result, which the caller of the program assigns to the ref. So programs
contain no refs, and no rule of a primitive deals with them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..user_lines import noted
from .array import Tracer, as_value
from .aval import Aval
from .source import function_line, located
from .trace import Trace, current
from .value import Value


@dataclass(frozen=True, repr=False)
class AbstractRef:
    """The type of a ref.

    Attributes:
      inner_aval: the type of its value.
    Example:
      >>> import weft
      >>> weft.typeof(weft.new_ref(weft.numpy.zeros(3)))
      Ref{float32[3]}
    Source: JAX documentation, `jax.ref.AbstractRef`.
    """

    inner_aval: Aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.inner_aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.inner_aval.size

    @property
    def weak_type(self) -> bool:
        """False: the dtype of a ref is fixed."""
        return False

    def __repr__(self) -> str:
        return f"Ref{{{self.inner_aval}}}"


_DIFFERENTIATE = frozenset(
    ["grad", "value_and_grad", "vjp", "jvp", "linearize", "jacfwd", "jacrev", "jacobian", "hessian"]
)


class Ref:
    """A mutable array, made by `weft.new_ref`.

    Indexing reads and writes: `ref[...]` is the whole value, `ref[...] = x` replaces it, and
    `ref[1:3] += x` updates a part. Nothing else can be done with a ref: functions of arrays take
    its value. The shape and the dtype are fixed.

    Attributes:
      aval: the type of the value.
    Example:
      >>> import weft, weft.numpy as np
      >>> ref = weft.new_ref(np.zeros(3))
      >>> @weft.jit
      ... def count(i):
      ...     ref[i] += 1.0
      >>> count(1)
      >>> count(1)
      >>> ref
      Ref([0., 2., 0.], dtype=float32)
    Source: JAX documentation, "Ref: mutable arrays for data plumbing and memory control".
    """

    __slots__ = ("__weakref__", "_home", "_unusable", "_value", "aval")

    __array_priority__ = 1000  # NumPy's operators leave the work to ours, which do not exist
    __iter__ = None  # Python would index without end

    def __init__(self, value: Value, home: Trace) -> None:
        self._value: Any = value
        self._home = home
        self._unusable: str | None = None  # the reason, while the ref cannot be used
        self.aval: Aval = value.aval

    # --- type ---

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        """False: the dtype of a ref is fixed."""
        return False

    @property
    def sharding(self) -> Any:
        """The sharding of the value."""
        return self.read("sharding").sharding

    @property
    def committed(self) -> bool:
        """True if the value stays on its device."""
        return bool(self.read("committed").committed)

    def unsafe_buffer_pointer(self) -> int:
        """The address of the value's memory; it changes with each write."""
        return int(self.read("unsafe_buffer_pointer").unsafe_buffer_pointer())

    # --- reading and writing ---

    @located
    def __getitem__(self, index: Any) -> Any:
        return elements(self.read("ref[…]"), index)

    @located
    def __setitem__(self, index: Any, value: Any) -> None:
        self.write("ref[…] = x", index, value)

    def get(self, idx: Any = ()) -> Any:
        """The value at an index: `ref[idx]`."""
        return self[idx]

    def set(self, value: Any, idx: Any = ()) -> None:
        """Replaces the value at an index: `ref[idx] = value`."""
        self[idx] = value

    @located
    def swap(self, value: Any, idx: Any = ()) -> Any:
        """Replaces the value at an index; returns the old one."""
        old = elements(self.read("swap"), idx)
        self.write("swap", idx, value)
        return old

    @located
    def addupdate(self, x: Any, idx: Any = ()) -> None:
        """Adds to the value at an index; an element that is indexed twice gets both terms."""
        self.write("addupdate", idx, x, "add")

    @property
    def at(self) -> "RefViews":
        """`ref.at[index]` is a part of the ref, to be read and written as the ref itself."""
        return RefViews(self)

    def read(self, operation: str) -> Any:
        """The value under the current trace."""
        return self._cell(operation)._value

    def write(self, operation: str, index: Any, x: Any, method: str = "set") -> None:
        """Replaces elements under the current trace, by a method of `array.at[index]`."""
        cell = self._cell(operation)
        x = self._checked(operation, x)
        if is_whole(index) and method == "set" and x.aval.shape == self.shape:
            cell.assign(operation, x.astype(self.dtype))
        else:
            cell.assign(operation, getattr(cell._value.at[index], method)(x))

    def replace(self, operation: str, value: Any) -> None:
        """Replaces the value under the current trace by one of the same type."""
        self._cell(operation).assign(operation, value)

    def assign(self, operation: str, value: Any) -> None:
        """Replaces the value of this object, which may be a stand-in."""
        trace: Trace | None = self._home
        if isinstance(value, Tracer):
            while trace is not None and trace is not value._trace:
                trace = trace.outside
            if trace is None:
                raise noted(self._from_inside(operation, value._trace))
        self._value = value

    def _checked(self, operation: str, x: Any) -> Any:
        """The value to be written, if the ref can hold its dtype."""
        x = as_value(x)
        if x.dtype != self.dtype and (
            not x.weak_type or dtypes.promote(self.dtype, False, x.dtype, True)[0] != self.dtype
        ):
            raise TypeError(
                f"{operation}: a Ref of {self.aval} holds {self.dtype.name} only; got {x.aval}\n"
                "  fix: x.astype(ref.dtype)"
            )
        return x

    def _cell(self, operation: str) -> "Ref":
        """The ref that has the value under the current trace: itself, or a stand-in."""
        if self._unusable is not None:
            raise noted(ValueError(f"{operation}: the Ref of {self.aval} {self._unusable}"))
        trace: Any = current.trace
        home = self._home
        while trace is not home and not trace.computes:
            stand_in = trace.stand_in(self, operation)
            if stand_in is not None:
                return stand_in
            trace = trace.outside
        if trace is not home and not home.computes:
            raise noted(self._out_of_scope(operation))
        return self

    def freeze(self) -> Any:
        """The final value. The ref cannot be used any more."""
        if self._cell("freeze") is not self or not self._is_from_here():
            raise self._not_its_maker()
        self._unusable = "was frozen\n  fix: use the array that freeze returned"
        return self._value

    def _not_its_maker(self) -> Exception:
        """The error for freezing the ref outside the function that made it."""
        return TypeError(
            f"freeze: a Ref of {self.aval} can be frozen only by the function that made it\n"
            "  fix: freeze it after the call of the transformed function"
        )

    def lend(self, to: str) -> None:
        """Makes the ref unusable while a function has a stand-in of it as an argument."""
        self._unusable = f"is an argument of {to}, which uses it from outside too\n"
        self._unusable += "  fix: use the argument, or leave it out of the arguments"

    def take_back(self) -> None:
        """Ends `lend`."""
        self._unusable = None

    def ended(self) -> bool:
        """True if the ref cannot be used any more: it was frozen, or its trace has ended."""
        return self._unusable is not None or self._home.has_ended()

    def _is_from_here(self) -> bool:
        """True if the ref was made under the current trace."""
        return self._home is current.trace or (self._home.computes and current.trace.computes)

    def _out_of_scope(self, operation: str) -> Exception:
        """The error for a ref that is used outside of the trace in which it was made."""
        home = self._home
        return errors.UnexpectedTracerError(
            f"{operation}: a Ref of {self.aval}, made while {function_line(home.function)} was "
            f"traced by {home.transform}, is used outside of that trace\n"
            "  fix: return its value, ref[...], instead of keeping the ref in a variable outside; "
            "in a derivative rule, "
            "differentiate inside the outermost vmap or jit"
        )

    def _from_inside(self, operation: str, trace: Trace) -> Exception:
        """The error for a write of a value that exists only inside a transformation."""
        cure = "return the value instead"
        if trace.transform == "vmap":
            cure = "pass the ref as an argument with in_axes=0, or return the value instead"
        elif trace.transform in _DIFFERENTIATE:
            cure = "write lax.stop_gradient(x), or return the value as auxiliary data (has_aux)"
        return errors.UnexpectedTracerError(
            f"{operation}: a Ref of {self.aval} from outside of {function_line(trace.function)} "
            f"cannot hold a value that exists only inside {trace.transform} of that function\n"
            f"  fix: {cure}"
        )

    def __reduce__(self) -> Any:
        """A copy, deep or not, or through pickle, is another ref of the same value."""
        return here, (self.read("copy"),)

    # --- no array ---

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError(f"a Ref of {self.aval} is not an array\n  fix: read it first: ref[...]")

    def __bool__(self) -> bool:
        return bool(self.__array__())

    def __repr__(self) -> str:
        if self._unusable is not None or not self._is_from_here():
            return f"Ref<{self.aval}>"
        text = repr(self._value)
        return "Ref" + text.removeprefix("Array") if text.startswith("Array") else f"Ref({text})"


def here(value: Value) -> Ref:
    """A ref of the current trace."""
    return Ref(value, current.trace)


class StandIn(Ref):
    """A ref inside a transformed function, for one from outside."""

    __slots__ = ()

    def freeze(self) -> Any:
        raise self._not_its_maker()

    def end(self) -> Any:
        """The last value. The stand-in no longer holds it, because its trace ends."""
        value, self._value = self._value, None
        return value


def elements(value: Any, index: Any) -> Any:
    """The elements at an index, as an array."""
    return value if is_whole(index) else value[index]


def is_whole(index: Any) -> bool:
    """True for the indices of all elements: `...` and `()`."""
    return index is ... or (index.__class__ is tuple and not index)


class RefViews:
    """The property `ref.at`: `ref.at[index]` is a `RefView`."""

    __slots__ = ("ref",)

    def __init__(self, ref: "Ref | RefView") -> None:
        self.ref = ref

    def __getitem__(self, index: Any) -> "RefView":
        return RefView(self.ref, index)


class RefView:
    """A part of a ref, which is read and written as a ref is: `view[...]`, `view[0] = x`."""

    __slots__ = ("index", "ref")

    __iter__ = None

    def __init__(self, ref: "Ref | RefView", index: Any) -> None:
        self.ref, self.index = ref, index

    def __getitem__(self, index: Any) -> Any:
        return elements(self.ref[self.index], index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if is_whole(index):
            self.ref[self.index] = value
        else:
            self.ref[self.index] = self.ref[self.index].at[index].set(value)

    def get(self, idx: Any = ()) -> Any:
        """The value at an index of the part."""
        return self[idx]

    def set(self, value: Any, idx: Any = ()) -> None:
        """Replaces the value at an index of the part."""
        self[idx] = value

    def swap(self, value: Any, idx: Any = ()) -> Any:
        """Replaces the value at an index of the part; returns the old one."""
        old, self[idx] = self[idx], value
        return old

    def addupdate(self, x: Any, idx: Any = ()) -> None:
        """Adds to the value at an index of the part."""
        if is_whole(idx):
            self.ref.addupdate(x, self.index)
        else:
            self[...] = self[...].at[idx].add(x)

    @property
    def at(self) -> RefViews:
        """Parts of this part; see `RefView`."""
        return RefViews(self)

    def __repr__(self) -> str:
        return f"{self.ref!r}.at[{self.index!r}]"
