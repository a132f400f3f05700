"""Spoils the filter in one place at a time, and names the places that no test misses.

mutmut changes what stands inside functions. Here is what it leaves out: checks as a whole (an `if`
that always or never holds, a `raise` or a call that is not there), the members of lists, sets and
tables, and what modules are made of when they are imported, patterns character by character.

    python scripts/mutants.py [module ...]

The names are those of modules, such as grammar; without one all are meant. Each mutant is a process
of its own, in which the spoiled module is imported in the good one's place.
"""

import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
METADATA = sorted((ROOT / "shared/metadata").glob("[a-z]*.py"))
CONDITIONS = ROOT / "shared/postgres/conditions.py"
TESTED_WITH = {
    "chat_prompt": "automatic",
    "coerce": "automatic",
    "conditions": "parse",
    "leaf": "parse",
    "operators": "parse",
    "problems": "parse",
}
IMPORTED_ONCE = ("hypothesis.strategies", "local.stack", "numpy", "sqlalchemy.dialects.postgresql")
SECONDS = 300
LONGEST_PATTERN = 400
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is imported here already

type Edit = Callable[[ast.AST], None]


def list_mutants(source: str) -> Iterator[tuple[int, str, str]]:
    """Yields the line, what is done there, and the whole module with it done."""
    tree = ast.parse(source)
    made_on_import = set(_walk_outside_functions(tree))
    skipped = {id(part) for node in ast.walk(tree) for part in _walk_skipped(node)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        edits = [*_spoil(node), *(_spoil_constant(node) if node in made_on_import else ())]
        for what, edit in edits:
            spoiled = copy.deepcopy(tree)
            edit(next(each for at, each in enumerate(ast.walk(spoiled)) if at == number))
            yield getattr(node, "lineno", 0), what, ast.unparse(spoiled)


def _walk_outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef):
            yield child
            yield from _walk_outside_functions(child)


def _walk_skipped(node: ast.AST) -> Iterator[ast.AST]:
    """Yields what says nothing about values: types, docstrings, decorators, imports."""
    match node:
        case ast.TypeAlias() | ast.Import() | ast.ImportFrom():
            yield from ast.walk(node)
        case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=annotation) if annotation:
            yield from ast.walk(annotation)
        case ast.Expr(value=ast.Constant()):
            yield from ast.walk(node)
        case ast.FunctionDef() | ast.ClassDef():
            for each in [
                *node.decorator_list,
                *([node.returns] if hasattr(node, "returns") else []),
            ]:
                yield from ast.walk(each) if each else ()


def _spoil(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    match node:
        case ast.If(test=test):
            for value in (False, True):
                yield f"if {ast.unparse(test)}: {value}", _set("test", ast.Constant(value))
        case ast.comprehension(ifs=[first, *_]):
            yield f"no if {ast.unparse(first)}", _set("ifs", [])
        case ast.match_case(guard=ast.expr() as guard):
            yield f"no if {ast.unparse(guard)}", _set("guard", None)
        case ast.Dict(keys=[_, _, *_]):
            for at, key in enumerate(node.keys):
                name = ast.unparse(key) if key else f"**{ast.unparse(node.values[at])}"
                yield f"no {name}", _drop_all(("keys", "values"), at)
        case ast.List(elts=[_, *_]) | ast.Tuple(elts=[_, *_]) | ast.Set(elts=[_, _, *_]):
            if isinstance(node, ast.Set) or isinstance(node.ctx, ast.Load):
                for at, element in enumerate(node.elts):
                    yield f"no {ast.unparse(element)}", _drop_all(("elts",), at)
    block = getattr(node, "body", ())
    for at, statement in enumerate(block if isinstance(block, list) else ()):
        is_call = isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant)
        if isinstance(statement, ast.Raise) or is_call:
            yield f"no {ast.unparse(statement)}", _pass(at)


def _spoil_constant(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    match node:
        case ast.Constant(value=bool() as value):
            yield f"not {value}", _set("value", not value)
        case ast.Constant(value=int() as value):
            for other in (value - 1, value + 1):
                yield f"{other}, not {value}", _set("value", other)
        case ast.Constant(value=str() as value):
            yield f"{value!r} + X", _set("value", value + "X")
            if set(value) & set("[\\$") and len(value) < LONGEST_PATTERN:
                for at in range(len(value)):
                    shorter = value[:at] + value[at + 1 :]
                    yield f"{value[:at]}»{value[at]}«{value[at + 1 :]}", _set("value", shorter)


def _set(field: str, value: object) -> Edit:
    return lambda node: setattr(node, field, value)


def _drop_all(fields: Sequence[str], at: int) -> Edit:
    def edit(node: ast.AST) -> None:
        for field in fields:
            del getattr(node, field)[at]

    return edit


def _pass(at: int) -> Edit:
    def edit(node: ast.AST) -> None:
        node.body[at] = ast.Pass()  # type: ignore[attr-defined]

    return edit


class _Spoiled(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from other text than its file's."""

    def __init__(self, name: str, source: str) -> None:
        self._name, self._source = name, source

    def find_spec(
        self, fullname: str, _path: object, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        is_it = fullname == self._name
        return importlib.machinery.ModuleSpec(fullname, self) if is_it else None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._source, vars(module))  # noqa: S102


def is_noticed(name: str, source: str, tests: Sequence[str]) -> bool:
    """Tells whether, with this source of a module, a test fails or the import does."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.meta_path.insert(0, _Spoiled(name, source))
        os._exit(_run(name, tests))
    return os.waitpid(child, 0)[1] != 0


def _run(name: str, tests: Sequence[str]) -> int:
    try:
        importlib.import_module(name)
    except Exception:  # noqa: BLE001  whatever a spoiled module does
        return 1
    return pytest.main([*OPTIONS, *tests])


def list_tests(path: Path) -> list[list[str]]:
    """Returns the tests of a module, and then those of the modules around it."""
    if path == CONDITIONS:
        return [["tests/integration/shared/postgres/test_conditions.py"]]
    around = "tests/unit/shared/metadata"
    own = f"{around}/test_{TESTED_WITH.get(path.stem, path.stem)}.py"
    return [[own], [around, f"--ignore={own}"]]


def main(wanted: Sequence[str]) -> None:
    """Tries the modules with these names, or all."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for name in IMPORTED_ONCE:
        importlib.import_module(name)
    for path in [*METADATA, CONDITIONS]:
        if wanted and path.stem not in wanted:
            continue
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        good, tests = path.read_text(encoding="utf-8"), list_tests(path)
        if any(is_noticed(name, good, each) for each in tests):
            sys.exit(f"the tests of {name} fail as it is")
        counts: Counter[bool] = Counter()
        for line, what, source in list_mutants(good):
            noticed = any(is_noticed(name, source, each) for each in tests)
            counts[noticed] += 1
            if not noticed:
                sys.stdout.write(f"{name}:{line}: {what}\n")
                sys.stdout.flush()
        sys.stdout.write(f"{name}: {counts.total()} mutants, {counts[False]} survive\n")


if __name__ == "__main__":
    main(sys.argv[1:])
