"""UserCode holds the syntax tree of a user's file, resolves variables, and rewrites statements.

`e = np.exp(x)` makes `e` another name for `np.exp(x)` in the statements below, as long as nothing
binds `e` or `x` again. Rewritings match the tree, and keep the text of unchanged parts.
"""

import ast
import linecache
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from ..user_lines import Span
from .source_lines import without_comment

MAX_TEXT = 400
"""The number of characters of the longest rewritten line that is shown."""


class Reduction(NamedTuple):
    """A call such as `np.sum(x, axis=0)` or `x.sum(0)`."""

    name: str
    operand: ast.expr
    options: str  # ", axis=0"


class UserCode:
    """A user's file.

    Args:
      path: the path of the file, or its key in `linecache`.
      names: the global names of the module.
    """

    def __init__(self, path: str, names: dict[str, Any]) -> None:
        self.names = names
        self.target: ast.stmt | None = None  # the statement that is rewritten
        self.lines = linecache.getlines(path)
        self.owner: dict[ast.AST, ast.stmt] = {}  # the innermost statement of an expression
        self.above: dict[ast.stmt, tuple[ast.AST, list[ast.stmt]]] = {}  # its parent; its block
        try:
            self.tree = ast.parse("".join(self.lines))
        except (SyntaxError, ValueError):
            self.tree = ast.Module([], [])
        self._note(self.tree, self.tree)

    def _note(self, node: ast.AST, parent: ast.AST) -> None:
        """Records the blocks of a statement, or of a part of it, and the owners of expressions."""
        for _, value in ast.iter_fields(node):
            for part in value if isinstance(value, list) else ():
                if isinstance(part, ast.stmt):
                    self.above[part] = parent, value
                    self.owner.update((inner, part) for inner in expressions(part))
                    self._note(part, part)
                elif isinstance(part, ast.excepthandler | ast.match_case):
                    self._note(part, parent)

    # --- statements ---

    def statement(self, number: int) -> ast.stmt | None:
        """The innermost statement that contains a line."""
        around = [s for s in self.above if s.lineno <= number <= last_line(s)]
        return min(around, key=lambda s: (last_line(s) - s.lineno, -s.col_offset), default=None)

    def uses(self, statement: ast.stmt) -> list[ast.stmt]:
        """The later statements that use the variable that a statement assigns, directly or through
        other variables."""
        results: list[ast.stmt] = []
        waiting = [statement]
        while waiting:
            source = waiting.pop(0)
            name = assigned(source)
            _, block = self.above[source]
            below = block[block.index(source) + 1 :] if name else []
            for node in [n for s in below for n in ast.walk(s) if isinstance(n, ast.Name)]:
                owner = self.owner.get(node)
                if node.id != name or owner is None or owner in results:
                    continue
                if self.binder(name, owner) is source:
                    results.append(owner)
                    waiting.append(owner)
        return results

    def sources(self, statement: ast.stmt) -> list[ast.stmt]:
        """A statement, and the earlier statements that assign the variables that it uses, directly
        or through other variables."""
        results = [statement]
        for here in results:
            for node in expressions(here):
                binder = self.binder(node.id, here) if isinstance(node, ast.Name) else None
                if binder is not None and assigned(binder) and binder not in results:
                    results.append(binder)
        return results

    def text(self, statement: ast.stmt) -> str:
        """The text of a statement on one line, without comments; for a block, only its head."""
        return self._joined(statement)[0]

    def _joined(self, statement: ast.stmt) -> tuple[str, dict[int, int]]:
        """The text of a statement on one line, and the start of each of its lines in that text.

        `starts[lineno] + column` is a position in the text.
        """
        text, starts = "", {}
        for number in range(statement.lineno, last_line(statement) + 1):
            line = without_comment(self.lines[number - 1].rstrip("\n"))
            indent = len(line) - len(line.lstrip())
            is_joint = not text or text[-1] in "([{" or line.strip()[:1] in (*")]}",)
            between = "" if is_joint else " "
            starts[number] = len(text) + len(between) - indent
            text += between + line.strip()
        return text, starts

    def place(self, node: ast.expr, starts: dict[int, int]) -> tuple[int, int]:
        """The positions of an expression in the text of its statement."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = (self.lines[n - 1].encode() for n in (node.lineno, node.end_lineno))
        begin = len(first[: node.col_offset].decode())
        end = len(last[: node.end_col_offset].decode())
        return starts[node.lineno] + begin, starts[node.end_lineno] + end

    def expression(self, statement: ast.stmt, span: Span | None) -> ast.expr | None:
        """The expression of a statement at a place; `None` if there is none."""
        nodes = (n for n in expressions(statement) if span is not None and span_of(n) == span)
        return next(nodes, None)

    def rewritten(
        self,
        statement: ast.stmt,
        rewriting: Callable[[ast.expr], str],
        first: ast.expr | None = None,
        inside: ast.expr | None = None,
    ) -> str:
        """The text of a statement, with new text for all expressions that match; empty if none.

        Args:
          rewriting: returns the new text for an expression; empty if it does not match.
          first: an expression that must match; others are rewritten if they do not overlap it.
          inside: an expression that one of the matches must contain, directly or through variables.
        """
        text, starts = self._joined(statement)
        self.target = statement
        changes: list[tuple[int, int, str]] = []
        has_inside = inside is None
        outer_first = expressions(statement)
        for node in outer_first if first is None else (first, *outer_first):
            begin, end = self.place(node, starts)
            if any(b < end and begin < e for b, e, _ in changes):
                continue
            new = rewriting(node)
            if new and new != text[begin:end]:
                changes.append((begin, end, new))
                has_inside = has_inside or self.contains(node, inside)
            elif node is first:
                return ""
        for begin, end, new in sorted(changes, reverse=True):
            text = text[:begin] + new + text[end:]
        return text if changes and has_inside and len(text) <= MAX_TEXT else ""

    def with_parts(self, node: ast.expr, changes: list[tuple[ast.expr, str]]) -> str:
        """The text of an expression, with new text for some of its parts."""
        text, starts = self._joined(self.owner[node])
        begin, end = self.place(node, starts)
        places = sorted(((*self.place(part, starts), new) for part, new in changes), reverse=True)
        for first, last, new in places:
            text = text[:first] + new + text[last:]
            end += len(new) - (last - first)
        return text[begin:end]

    # --- names ---

    def binder(self, name: str, statement: ast.stmt) -> ast.stmt | None:
        """The statement that binds a name used in `statement`; `None` for a parameter, or a name
        from outside of the function."""
        at: ast.AST = statement
        while isinstance(at, ast.stmt) and at in self.above:
            parent, block = self.above[at]
            for before in reversed(block[: block.index(at)]):
                if name in bound(before):
                    return before
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                return None
            is_loop = isinstance(parent, ast.For | ast.While | ast.With)
            if is_loop and name in bound(parent):
                return parent  # type: ignore[return-value]
            at = parent
        return None

    def see(self, node: ast.expr) -> ast.expr:
        """The expression that a name stands for; other expressions unchanged."""
        for _ in range(8):
            if not isinstance(node, ast.Name) or node not in self.owner:
                break
            here = self.owner[node]
            binder = None if node.id in own_names(here) else self.binder(node.id, here)
            if binder is None or assigned(binder) != node.id:
                break
            value: ast.expr = binder.value  # type: ignore[attr-defined]
            if not self.is_same(value, here) or not self.is_same(value, self.target or here):
                break
            node = value
        return node

    def is_same(self, node: ast.expr, there: ast.stmt) -> bool:
        """True if an expression has the same value in another statement of its function."""
        here = self.owner.get(node, there)
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - own_names(node)
        return here is there or all(self.binder(n, here) is self.binder(n, there) for n in names)

    def alias(self, module: str) -> str:
        """The name of a namespace of weft in the file: `nn`, `weft.nn`, `jax.nn`."""
        modules = {
            name: value.__name__
            for name, value in self.names.items()
            if isinstance(value, ModuleType) and not name.startswith("_")
        }
        full_names = f"weft.{module}", f"jax.{module}"
        aliases = [name for name, full in modules.items() if full in full_names]
        used = [n.id for n in ast.walk(self.target or self.tree) if isinstance(n, ast.Name)]
        for name in (*used, *aliases):
            if name in aliases:
                return name
        root = next((n for n, full in modules.items() if full in ("weft", "jax")), "weft")
        return f"{root}.{module}"

    # --- expressions ---

    def source(self, node: ast.expr) -> str:
        """The text of an expression."""
        statement = self.owner.get(node)
        if statement is None:
            return ast.unparse(node)
        text, starts = self._joined(statement)
        begin, end = self.place(node, starts)
        return text[begin:end]

    def atom(self, node: ast.expr) -> str:
        """The text of an expression, in parentheses if it needs them as an operand."""
        text = self.source(node)
        simple = ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.Constant
        return text if isinstance(node, simple) else f"({text})"

    def compared(self, node: ast.expr) -> str:
        """The text of an expression as an operand of `==`; arithmetic has no parentheses there."""
        is_arithmetic = isinstance(node, ast.BinOp | ast.UnaryOp)
        return self.source(node) if is_arithmetic else self.atom(node)

    def call(self, node: ast.expr, *functions: str) -> list[ast.expr] | None:
        """The arguments of a call of a function with one of these names; `None` for other
        expressions."""
        node = self.see(node)
        if isinstance(node, ast.Call) and node.args and function_name(node) in functions:
            return node.args
        return None

    def reduction(self, node: ast.expr, *functions: str) -> Reduction | None:
        """The parts of a call such as `np.sum(x, axis=0)` or `x.sum(0)`; `None` for other
        expressions."""
        node = self.see(node)
        if not isinstance(node, ast.Call) or function_name(node) not in functions:
            return None
        args = list(node.args)
        if isinstance(node.func, ast.Attribute) and not self.is_module(node.func.value):
            args.insert(0, node.func.value)
        others = [k for k in node.keywords if k.arg not in ("axis", "keepdims")]
        if not 1 <= len(args) <= 2 or others:
            return None
        options = [f"axis={self.source(a)}" for a in args[1:]]
        options += [f"{k.arg}={self.source(k.value)}" for k in node.keywords]
        return Reduction(function_name(node), args[0], "".join(f", {o}" for o in options))

    def is_module(self, node: ast.expr) -> bool:
        """True for the name of a module: `np` in `np.sum`."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and isinstance(self.names.get(node.id), ModuleType)

    def operands(self, node: ast.expr, kind: type[ast.operator]) -> tuple[Any, Any] | None:
        """The operands of a binary operator of this kind, such as `a + b`; `None` for other
        expressions."""
        node = self.see(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, kind):
            return node.left, node.right
        return None

    def number(self, node: ast.expr) -> float | None:
        """The value of a literal number, such as `-1.0`; `None` for other expressions."""
        match node:
            case ast.Constant(value=int() | float() as value):
                return value
            case ast.UnaryOp(ast.USub(), ast.Constant(value=int() | float() as value)):
                return -value
        return None

    def negated(self, node: ast.expr) -> str:
        """The text of the negated expression."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.source(node.operand)
        return f"-{self.atom(node)}"

    def contains(self, outer: ast.expr, inner: ast.expr | None, depth: int = 4) -> bool:
        """True if an expression contains another one, directly or through variables."""
        outer = self.see(outer)
        if any(node is inner for node in ast.walk(outer)):
            return True
        names = [n for n in ast.walk(outer) if isinstance(n, ast.Name) and self.see(n) is not n]
        return depth > 0 and any(self.contains(n, inner, depth - 1) for n in names)

    def equal(self, a: ast.expr, b: ast.expr) -> bool:
        """True if two expressions are the same, where one may be a name for the other."""
        return ast.dump(a) == ast.dump(b) or ast.dump(self.see(a)) == ast.dump(self.see(b))


def expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement, but not of statements inside it; outer ones first.

    F-strings are left out, because Python does not record the positions of their parts.
    """
    skipped = ast.stmt | ast.excepthandler | ast.match_case | ast.JoinedStr
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.expr):
            yield node
        waiting += [n for n in ast.iter_child_nodes(node) if not isinstance(n, skipped)]


def span_of(node: ast.expr) -> Span:
    """The position of an expression, as Python records it for instructions."""
    end_line, end_column = node.end_lineno or 0, node.end_col_offset or 0
    return Span(node.lineno, end_line, node.col_offset, end_column)


def last_line(statement: ast.stmt) -> int:
    """The last line of a statement; for a block, the last line of its head."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if isinstance(body, list) and isinstance(body[0], ast.stmt):
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno or statement.lineno


def bound(node: ast.AST) -> set[str]:
    """The names that a statement binds, including statements inside it; for a function or class,
    only its own name."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).partition(".")[0]}
    names = (
        {node.id} if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) else set()
    )
    return names.union(*map(bound, ast.iter_child_nodes(node)))


def own_names(node: ast.AST) -> set[str]:
    """The parameters of lambdas and the variables of comprehensions, which are local to them."""
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Lambda):
            names |= {a.arg for a in inner.args.args}
        elif isinstance(inner, ast.comprehension):
            names |= bound(inner.target)
    return names


def assigned(statement: ast.stmt) -> str:
    """The variable of a statement `name = value`; empty for other statements."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        (target,) = statement.targets
        return target.id if isinstance(target, ast.Name) else ""
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return statement.target.id if isinstance(statement.target, ast.Name) else ""
    return ""


def function_name(node: ast.Call) -> str:
    """The last part of the name of the called function: `log` for `np.log(x)`."""
    match node.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
