"""Einstein summation: einsum, einsum_path.

The subscripts are parsed into axes, a greedy search orders the pairwise products, and each product
is one dot_general.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core.array import Array
from ..core.source import located
from ..errors import ShapeError
from ..lax.products import dot_general
from ..primitives import arithmetic, structural
from ..primitives.products import narrower
from ..transforms.arguments import check_callable
from ..typing import DTypeLike
from .axes import SEQUENCES, as_int, host_array
from .creation import dtype_argument
from .matrices import _diagonal
from .plans import composite
from .products import contracted
from .promotion import cast, no_out, promote_values, value
from .reductions import any as some, sum

__all__ = ["einsum", "einsum_path"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in the order of the output
_FIRST_EXTRA_LETTER = 0x4E00  # the code point of the next letters
Terms = list[str]


def parsed(name: str, operands: tuple[Any, ...]) -> tuple[Terms, str, list[Any]]:
    """(the letters of each operand, the letters of the output, the operands), without ellipses."""
    if not operands:
        raise ShapeError(f"{name}: needs subscripts and operands; got nothing")
    if isinstance(operands[0], str):
        text, arrays = operands[0].replace(" ", ""), list(operands[1:])
    else:
        text, arrays = _as_letters(name, operands)
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(arrays):
        raise ShapeError(
            f"{name}: subscripts {text!r} are for {len(terms)} operands; got {len(arrays)}\n"
            "  fix: the letters of each operand, with commas between: 'ij,jk->ik'"
        )
    arrays = [a.__jax_array__() if hasattr(a, "__jax_array__") else a for a in arrays]
    ranks = [
        a.ndim if hasattr(a, "ndim") else host_array(name, a, f"operand {i}", "an array").ndim
        for i, a in enumerate(arrays)
    ]
    dots = 0
    for term, rank in zip(terms, ranks, strict=True):
        if "..." in term:
            dots = max(dots, rank - len(term.replace("...", "")))
    dot_letters = "".join(itertools.islice((c for c in _letters() if c not in text), dots))
    full_terms = []
    for i, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        if "..." in term:
            count = rank - len(term.replace("...", ""))
            if count < 0:
                raise ShapeError(
                    f"{name}: subscripts {term!r} have more letters than operand {i} has axes "
                    f"({rank})"
                )
            term = term.replace("...", dot_letters[dots - count :] if count else "")
        if term and not term.isalpha():
            raise ValueError(
                f"{name}: subscripts are letters, commas, '...' and '->'; got {text!r}"
            )
        if len(term) != rank:
            raise ShapeError(
                f"{name}: subscripts {term!r} name {len(term)} axes; operand {i} has {rank}\n"
                "  fix: a letter for each axis; '...' stands for axes in front"
            )
        full_terms.append(term)
    if arrow:
        output = right.replace("...", dot_letters)
    else:
        counts = {c: "".join(full_terms).count(c) for c in "".join(full_terms)}
        output = dot_letters + "".join(
            sorted(c for c, n in counts.items() if n == 1 and c not in dot_letters)
        )
    if len(set(output)) != len(output) or any(c not in "".join(full_terms) for c in output):
        letters = "".join(sorted(set("".join(full_terms))))
        raise ShapeError(
            f"{name}: the output {output!r} must name letters of the operands, once each\n"
            f"  fix: some of {letters!r}; letters that are not in the output are summed over"
        )
    return full_terms, output, arrays


def _as_letters(name: str, operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """Subscripts as letters from lists of labels after each operand."""
    pairs = list(operands)
    output = pairs.pop() if len(pairs) % 2 else None
    arrays, lists = pairs[0::2], pairs[1::2]
    for i, labels in enumerate([*lists, () if output is None else output]):
        if not isinstance(labels, SEQUENCES):
            raise TypeError(
                f"{name}: expected a list of numbers for the axes of operand {i}; got "
                f"{type(labels).__name__}\n  fix: {name}('ij,jk->ik', a, b), or "
                f"{name}(a, [0, 1], b, [1, 2], [0, 2])"
            )
    rows = [
        [n if n is Ellipsis else as_int(name, n, "a label") if _is_number(n) else n
         for n in labels]
        for labels in [*lists, () if output is None else output]
    ]  # fmt: skip
    try:
        distinct = sorted({n for axis_labels in rows for n in axis_labels if n is not Ellipsis})
    except TypeError:
        raise TypeError(
            f"{name}: labels must be hashable, and of one type that can be sorted, such as int or "
            f"str; got {rows}\n  fix: {name}(a, [0, 1], b, [1, 2], [0, 2])"
        ) from None
    letters = dict(zip(distinct, _letters(), strict=False))
    terms = [
        "".join(["..." if n is Ellipsis else letters[n] for n in axis_labels])
        for axis_labels in rows
    ]
    text = ",".join(terms[:-1])
    return (text if output is None else f"{text}->{terms[-1]}"), arrays


def _is_number(label: object) -> bool:
    """True for a label that is an int, or converts to one."""
    return hasattr(label, "__index__") or hasattr(label, "aval")


def _letters() -> Iterator[str]:
    """All letters, in the order of an implicit output."""
    yield from _LETTERS
    yield from map(chr, itertools.count(_FIRST_EXTRA_LETTER))


def sizes_of(name: str, terms: Terms, shapes: Sequence[Any]) -> dict[str, int]:
    """The length of each letter."""
    sizes: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        for c, n in zip(term, shape, strict=True):
            size = sizes.get(c, 1)
            if size != 1 and n not in (1, size):
                raise ShapeError(
                    f"{name}: axis {c!r} has length {size}, and length {n} in operand {i}: "
                    f"{', '.join(map(str, shapes))} for {','.join(terms)}\n"
                    "  fix: another letter for one of them, or an operand with its axes in "
                    "another order (.T)"
                )
            sizes[c] = n if size == 1 else size
    return sizes


def greedy(terms: Terms, output: str, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    """An order of pairwise products: each step takes the pair that saves the most memory."""
    path: list[tuple[int, ...]] = []
    terms = list(terms)

    def volume(letters: Any) -> int:
        return math.prod(sizes[c] for c in letters)

    while len(terms) > 2:
        best_step: Any = None
        for i in range(len(terms)):
            for j in range(i + 1, len(terms)):
                later_letters = set(output).union(
                    *(t for k, t in enumerate(terms) if k not in (i, j))
                )
                union = set(terms[i]) | set(terms[j])
                joint_letters = union & later_letters
                is_outer = not (set(terms[i]) & set(terms[j]))
                cost = (
                    is_outer,
                    volume(joint_letters) - volume(terms[i]) - volume(terms[j]),
                    volume(union),
                )
                if best_step is None or cost < best_step[0]:
                    best_step = (cost, i, j, joint_letters)
        _, i, j, joint_letters = best_step
        path.append((i, j))
        joint = "".join(dict.fromkeys(c for c in terms[i] + terms[j] if c in joint_letters))
        terms = [t for k, t in enumerate(terms) if k not in (i, j)] + [joint]
    path.append(tuple(range(len(terms))))
    return path


def _path(name: str, optimize: Any, terms: Terms, output: str, sizes: Any) -> list[tuple[int, ...]]:
    if isinstance(optimize, (list, tuple)) and not isinstance(optimize, str):
        return _checked(name, [step for step in optimize if step != "einsum_path"], len(terms))
    if optimize is False:
        path: list[tuple[int, ...]] = []
        count = len(terms)
        while count > 2:  # from the left; a product goes to the end of the list
            path.append((0, 1) if not path else (0, count - 1))
            count -= 1
        return [*path, tuple(range(count))]
    if optimize is True or optimize in (
        "auto",
        "greedy",
        "optimal",
        "auto-hq",
        "random-greedy",
        "dp",
    ):
        return greedy(terms, output, sizes)
    raise ValueError(
        f"{name}: optimize must be a bool, 'greedy', 'optimal', 'auto' or a path; got {optimize!r}"
    )


def _checked(name: str, path: Any, count: int) -> list[tuple[int, ...]]:
    """Checks a user's path: each step must name distinct remaining operands."""
    steps: list[tuple[int, ...]] = []
    for step in path:
        if not isinstance(step, (list, tuple)):
            raise TypeError(f"{name}: a path is a list of tuples of ints; got {path!r}")
        step = tuple([as_int(name, k, "an operand in a path") for k in step])
        if not step or len(set(step)) < len(step) or not all(0 <= k < count for k in step):
            raise ValueError(
                f"{name}: step {step} of the path must name distinct ones of the {count} "
                f"operands that are left; got {path!r}"
            )
        steps.append(step)
        count -= len(step) - 1
    if count > 1:
        raise ValueError(f"{name}: the path {path!r} leaves {count} operands")
    return steps


@located
def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "auto"
) -> tuple[list[Any], Any]:
    """The order in which `einsum` contracts its operands.

    Args: as in `einsum`.
    Returns: (path, a description); `einsum` takes the path as `optimize`.
    Example:
      >>> a = np.ones((2, 3))
      >>> np.einsum_path("ij,jk,kl->il", a, np.ones((3, 4)), np.ones((4, 5)))[0]
      [(1, 2), (0, 1)]
    """
    terms, output, arrays = parsed("einsum_path", (subscripts, *operands))
    sizes = sizes_of(
        "einsum_path", terms, [np.shape(a) if not hasattr(a, "shape") else a.shape for a in arrays]
    )
    path = _path("einsum_path", optimize, terms, output, sizes)
    text = [f"  {','.join(terms)}->{output}"]
    remaining_terms = list(terms)
    for step in path:
        factors = [remaining_terms[k] for k in step]
        remaining_terms = [t for k, t in enumerate(remaining_terms) if k not in step]
        remaining_letters = set(output).union(*remaining_terms)
        joint = (
            output
            if not remaining_terms
            else "".join(dict.fromkeys(c for c in "".join(factors) if c in remaining_letters))
        )
        text.append(
            f"  {','.join(factors)}->{joint}: {math.prod(sizes[c] for c in set(''.join(factors)))} "
            "products"
        )
        remaining_terms.append(joint)
    return path, "\n".join(text)


@located
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    _dot_general: Callable[..., Array] = dot_general,
) -> Array:
    """Einstein summation: sums of products over axes that are named by letters.

    Args:
      subscripts: letters for the axes of each operand, separated by commas, and after '->' the
        letters of the result; letters that are not in the result are summed over. '...' stands for
        the other axes. Without '->' the result has the letters that occur once, in alphabetical
        order. Instead of text, each operand may be followed by a list of ints, or of strings.
      operands: arrays; they are promoted to one dtype. For booleans, products are "and" and sums
        "or".
      out: not supported.
      optimize: the order of products: by default, a greedy search; False means from the left; or a
        path.
      precision, preferred_element_type: as in `dot`.
      _dot_general: a function that multiplies two operands instead of `lax.dot_general`.
    Returns: array with the axes of the result.
    Raises: ValueError: letters and axes do not match.
    Example:
      >>> np.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((3, 4))).shape
      (2, 4)
    """
    no_out("einsum", out)
    if _dot_general is not dot_general:
        check_callable(_dot_general, "einsum: _dot_general")
    terms, output, arrays = parsed("einsum", (subscripts, *operands))
    values = promote_values(
        "einsum", *(value("einsum", a, f"operand {i}") for i, a in enumerate(arrays))
    )
    sizes = sizes_of("einsum", terms, [v.shape for v in values])
    path = tuple(_path("einsum", optimize, terms, output, sizes))
    dtype = dtype_argument("einsum", preferred_element_type)
    if dtype is not None and dtypes.is_bool(values[0].dtype):
        values = [cast(v, dtype) for v in values]
    if _dot_general is dot_general:
        return _contracted(
            *values, terms=tuple(terms), output=output, path=path, precision=precision, dtype=dtype
        )
    product = functools.partial(_products_by, _dot_general, precision, dtype)
    return _combined(*values, terms=terms, output=output, path=path, dtype=dtype, product=product)


@composite
def _contracted(
    *values: Any, terms: Any, output: str, path: Any, precision: Any, dtype: Any
) -> Any:
    sum_dtype = None if dtype is None or narrower(values[0].dtype, dtype) else dtype

    def product(x: Any, p: str, y: Any, q: str, letters: set[str]) -> Any:
        return _product(x, p, y, q, letters, precision, sum_dtype)

    return _combined(*values, terms=terms, output=output, path=path, dtype=dtype, product=product)


def _combined(*values: Any, terms: Any, output: str, path: Any, dtype: Any, product: Any) -> Any:
    """The products along a path, each of two operands, and their sums."""
    sizes = sizes_of("einsum", terms, [v.shape for v in values])
    pairs = list(zip(values, terms, strict=True))
    for step in path:
        operands: list[Any] = [pairs[k] for k in step]
        pairs = [p for k, p in enumerate(pairs) if k not in step]
        later_letters = set(output).union(*(t for _, t in pairs))
        while len(operands) > 1:
            needed_letters = later_letters.union(*(t for _, t in operands[2:]))
            (x, p), (y, q) = operands[:2]
            operands[:2] = [product(x, p, y, q, needed_letters)]
        x, p = operands[0]
        pairs.append(_reduced(x, p, later_letters))
    x, term = pairs[0]
    x, term = _reduced(x, term, set(output))
    if term != output:
        x = structural.transpose(x, permutation=tuple(term.index(c) for c in output))
    shape = tuple(sizes[c] for c in output)
    x = structural.widen(x, shape)
    return x if dtype is None else cast(x, dtype)


def _reduced(x: Any, term: str, letters: set[str]) -> tuple[Any, str]:
    """Takes the diagonals of repeated letters, and sums over letters that are not needed."""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            i = term.index(c)
            j = term.index(c, i + 1)
            order = (*(k for k in range(x.ndim) if k not in (i, j)), i, j)
            x = structural.transpose(x, permutation=order) if order != tuple(range(x.ndim)) else x
            n, m = x.shape[-2:]
            if n != m:
                x = structural.widen(x, (*x.shape[:-2], max(n, m), max(n, m)))
            x = _diagonal(x, offset=0)
            term = "".join(term[k] for k in order[:-2]) + c
    axes = tuple(i for i, c in enumerate(term) if c not in letters)
    if axes:
        x = some(x, axes) if dtypes.is_bool(x.dtype) else sum(x, axes, promote_integers=False)
        term = "".join(c for c in term if c in letters)
    return x, term


def _product(
    x: Any,
    term_x: str,
    y: Any,
    term_y: str,
    letters: set[str],
    precision: Any,
    dtype: Any,
) -> tuple[Any, str]:
    """The product of two operands, summed over the letters that only these two share."""
    x, term_x, y, term_y, term, dims = _matched(x, term_x, y, term_y, letters)
    if dims is None:
        return _multiplied(x, term_x, y, term_y, term), term
    return contracted("einsum", x, y, dims, precision, dtype), term


def _products_by(
    multiply: Any,
    precision: Any,
    dtype: Any,
    x: Any,
    term_x: str,
    y: Any,
    term_y: str,
    letters: set[str],
) -> tuple[Any, str]:
    """Like `_product`, with a user's function instead of dot_general."""
    x, term_x, y, term_y, term, dims = _matched(x, term_x, y, term_y, letters)
    if dims is None:
        return _multiplied(x, term_x, y, term_y, term), term
    return multiply(x, y, dims, precision=precision, preferred_element_type=dtype), term


def _matched(
    x: Any, term_x: str, y: Any, term_y: str, letters: set[str]
) -> tuple[Any, str, Any, str, str, Any]:
    """Two operands with matching common axes, with their letters, the letters of their product, and
    the dimension numbers of a dot_general; `None` if the product is elementwise."""
    if x.dtype != y.dtype:  # one operand is already a product in the preferred dtype
        common = dtypes.promote_types(x.dtype, y.dtype)
        x, y = cast(x, common), cast(y, common)
    x, term_x = _reduced(x, term_x, letters | set(term_y))
    y, term_y = _reduced(y, term_y, letters | set(term_x))
    for c in term_x:  # a length of one broadcasts against a longer one, so the axes are not a pair
        if c in term_y and x.shape[term_x.index(c)] != y.shape[term_y.index(c)]:
            if x.shape[term_x.index(c)] == 1:
                x, term_x = _squeezed(x, term_x, c)
            else:
                y, term_y = _squeezed(y, term_y, c)
    x, term_x = _reduced(x, term_x, letters | set(term_y))
    y, term_y = _reduced(y, term_y, letters | set(term_x))
    shared_letters = [c for c in term_x if c in term_y]
    summed_letters = [c for c in shared_letters if c not in letters]
    batch_letters = [c for c in shared_letters if c in letters]
    free_x = [c for c in term_x if c not in shared_letters]
    free_y = [c for c in term_y if c not in shared_letters]
    term = "".join((*batch_letters, *free_x, *free_y))
    if not summed_letters and (not free_x or not free_y):  # elementwise, not a matrix product
        return x, term_x, y, term_y, term, None
    dims = (
        (
            tuple(term_x.index(c) for c in summed_letters),
            tuple(term_y.index(c) for c in summed_letters),
        ),
        (
            tuple(term_x.index(c) for c in batch_letters),
            tuple(term_y.index(c) for c in batch_letters),
        ),
    )
    return x, term_x, y, term_y, term, dims


def _squeezed(x: Any, term: str, c: str) -> tuple[Any, str]:
    i = term.index(c)
    return structural.reshape(x, shape=(*x.shape[:i], *x.shape[i + 1 :])), term[:i] + term[i + 1 :]


def _multiplied(x: Any, term_x: str, y: Any, term_y: str, term: str) -> Any:
    def aligned(v: Any, term_v: str) -> Any:
        order = tuple(term_v.index(c) for c in term if c in term_v)
        v = structural.transpose(v, permutation=order) if order != tuple(range(v.ndim)) else v
        lengths = iter(v.shape)
        shape = tuple(next(lengths) if c in term_v else 1 for c in term)
        return structural.reshape(v, shape=shape) if shape != v.shape else v

    return arithmetic.mul(aligned(x, term_x), aligned(y, term_y))
