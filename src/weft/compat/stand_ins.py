"""Stand-ins for names of JAX: `Standing` and `Transformed`, for `isinstance` checks, and `Refused`,
which raises an error when used."""

from typing import Any, NoReturn

from ..errors import WeftError
from ..user_lines import noted


class Standing(type):
    """A metaclass for which `isinstance` is True for instances of other classes.

    Keywords of a class statement:
      of: classes whose instances count.
      but: classes whose instances do not count nevertheless.

    Example:
      >>> class Number(metaclass=Standing, of=(int, float)):
      ...     pass
      >>> isinstance(1.5, Number)
      True
    """

    of: tuple[type, ...]
    but: tuple[type, ...]

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        contents: dict[str, Any],
        of: tuple[type, ...],
        but: tuple[type, ...] = (),
    ) -> Any:
        new_class = super().__new__(cls, name, bases, contents)
        new_class.of, new_class.but = of, but
        return new_class

    def __init__(
        cls, name: str, bases: Any, contents: Any, of: object = (), but: object = ()
    ) -> None:
        super().__init__(name, bases, contents)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, cls.of) and not isinstance(x, cls.but)


class Transformed(type):
    """A metaclass for which `isinstance` is True for functions that a transformation made. In weft
    these are Python functions with methods as attributes.

    Keywords of a class statement:
      methods: the names of all their methods.

    Example:
      >>> class Jitted(metaclass=Transformed, methods="trace lower eval_shape clear_cache memory"):
      ...     pass
      >>> isinstance(weft.jit(np.sin), Jitted), isinstance(np.sin, Jitted)
      (True, False)
    """

    methods: set[str]

    def __new__(cls, name: str, bases: tuple[type, ...], contents: Any, methods: str) -> Any:
        new_class = super().__new__(cls, name, bases, contents)
        new_class.methods = {*methods.split()}
        return new_class

    def __init__(cls, name: str, bases: Any, contents: Any, methods: object = "") -> None:
        super().__init__(name, bases, contents)

    def __instancecheck__(cls, x: object) -> bool:
        return {*getattr(x, "weft_made", ())} == cls.methods


class RefusedError(WeftError, NotImplementedError):
    """A program uses a name of JAX that weft does not provide."""


class Refused:
    """A name that can be imported and used in annotations, but not otherwise: other uses raise
    RefusedError.

    Args:
      name: the full name, such as "jax.experimental.jax2tf.convert".
      reason: why weft does not provide it.
    """

    def __init__(self, name: str, reason: str) -> None:
        self._name, self._reason = name, reason

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise noted(RefusedError(f"{self._name}: weft does not provide it: {self._reason}"))

    __call__ = __getitem__ = __setitem__ = __iter__ = __len__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Refused(f"{self._name}.{name}", self._reason)

    def __or__(self, other: Any) -> Any:  # for annotations
        return Any

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """Allows subclassing; making an instance raises an error."""
        name, reason = self._name, self._reason

        def refuse(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
            raise noted(RefusedError(f"{name}: weft does not provide it: {reason}"))

        return (type(name.rpartition(".")[2], (), {"__new__": refuse}),)

    def __repr__(self) -> str:
        return f"<{self._name}, which weft does not provide>"
