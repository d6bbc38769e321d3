"""Scopes and bindings: which scope of a file binds which names, and how often.

One walk over the syntax tree with an explicit stack, so that nesting needs no recursion. Python's
own rules apply: class bodies are not visible in inner scopes, ``global`` and ``nonlocal`` bind
elsewhere, a comprehension has a scope, and an assignment expression binds outside of it.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from ._source_files import SourceFile

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Loop = ast.For | ast.AsyncFor | ast.comprehension
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclasses.dataclass(eq=False, slots=True)
class Binding:
    """One way in which a name gets a value.

    Attributes:
        kind: ``value``, ``loop``, ``with`` (of the expression ``value``), ``param``, ``import``,
            ``def``, ``class``, ``bare`` (an annotation without a value) or ``other``.
        node: the node that binds.
        scope: the scope in which ``value`` is evaluated.
        value: the expression that is bound, or iterated over.
        annotation: the annotation.
        path: the way to the name in an unpacked target: indexes, and ``?`` for what a star takes.
    """

    kind: str
    node: ast.AST
    scope: Scope
    value: ast.expr | None = None
    annotation: ast.expr | None = None
    path: tuple[int | str, ...] = ()


class Scope:
    """A module, a class, a function, a lambda or a comprehension, and the names bound in it."""

    def __init__(self, kind: str, node: ast.AST, parent: Scope | None, file: SourceFile) -> None:
        self.kind, self.node, self.parent, self.file = kind, node, parent, file
        self.bindings: dict[str, list[Binding]] = {}
        self.elsewhere: dict[str, Scope] = {}  # by global and nonlocal
        self.attributes: dict[str, list[Binding]] = {}  # of a class: stored to self
        self.stars: list[ast.ImportFrom] = []
        self.returns: list[tuple[ast.expr, Scope]] = []

    @property
    def module(self) -> Scope:
        """The scope of the file."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def qualified(self) -> str:
        """The name ``Class.method``; empty for a module."""
        names: list[str] = []
        scope: Scope | None = self
        while scope is not None:
            name = getattr(scope.node, "name", None)
            if name is not None:
                names.append(name)
            scope = scope.parent
        return ".".join(reversed(names))

    def bind(self, name: str, binding: Binding) -> None:
        """Add a binding of a name."""
        home = self.elsewhere.get(name, self)
        home.bindings.setdefault(name, []).append(binding)

    def find(self, name: str) -> tuple[Scope, list[Binding]] | None:
        """Return the scope that binds a name read here, and the bindings; None if no scope does."""
        scope: Scope | None = self.elsewhere.get(name, self)
        first = True
        while scope is not None:
            if name in scope.bindings and (first or scope.kind != "class"):
                return scope, scope.bindings[name]
            first, scope = False, scope.parent
        return None

    def __repr__(self) -> str:
        return f"<Scope {self.kind} {self.qualified!r} of {self.file.name}>"


@dataclasses.dataclass(eq=False, slots=True)
class Site:
    """A node that may be relevant, and its context.

    Attributes:
        node: the node.
        scope: the scope it is in.
        loops: the loops around it, the outermost first.
        called: True if it is what a call calls.
    """

    node: ast.AST
    scope: Scope
    loops: tuple[tuple[Loop, Scope], ...]
    called: bool = False


@dataclasses.dataclass(eq=False)
class FileScopes:
    """A file's scopes and the nodes that may be relevant."""

    module: Scope
    sites: list[Site] = dataclasses.field(default_factory=list)
    scopes: dict[ast.AST, Scope] = dataclasses.field(default_factory=dict)
    #: ``anything.name = …``, except to a method's own ``self``.
    stored: list[tuple[ast.Attribute, Scope]] = dataclasses.field(default_factory=list)


def walk(file: SourceFile) -> FileScopes:
    """Return the scopes of a file, in time proportional to its size."""
    file_scopes = FileScopes(Scope("module", file.tree, None, file))
    file_scopes.scopes[file.tree] = file_scopes.module
    stack: list[Site] = [Site(each, file_scopes.module, ()) for each in reversed(file.tree.body)]
    while stack:
        site = stack.pop()
        children = list(_step(site, file_scopes))
        stack.extend(reversed(children))
    return file_scopes


def _step(site: Site, file_scopes: FileScopes) -> Iterator[Site]:
    """Record one node, and yield the nodes below it with their context."""
    node, scope, loops = site.node, site.scope, site.loops
    if isinstance(node, ast.Call | ast.Attribute | ast.Name):
        file_scopes.sites.append(site)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        yield from _function(node, site, file_scopes)
        return
    if isinstance(node, ast.ClassDef):
        scope.bind(node.name, Binding("class", node, scope))
        inner = file_scopes.scopes[node] = Scope("class", node, scope, scope.file)
        for each in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            yield Site(each, scope, loops)
        for statement in node.body:
            yield Site(statement, inner, loops)
        return
    if isinstance(node, _COMPREHENSIONS):
        inner = file_scopes.scopes[node] = Scope("comprehension", node, scope, scope.file)
        for part in node.generators:
            outside = scope_of_iterable(part, inner)
            yield Site(part.iter, outside, loops)
            _bind(part.target, "loop", part.iter, inner, file_scopes, (), evaluated=outside)
            loops = (*loops, (part, inner))
            for test in part.ifs:
                yield Site(test, inner, loops)
        results = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for result in results:
            yield Site(result, inner, loops)
        return
    if isinstance(node, ast.For | ast.AsyncFor):
        _bind(node.target, "loop", node.iter, scope, file_scopes, ())
        yield Site(node.iter, scope, loops)
        inside = (*loops, (node, scope))
        for statement in node.body:
            yield Site(statement, scope, inside)
        for statement in node.orelse:
            yield Site(statement, scope, loops)
        return
    _names(node, scope, file_scopes)
    if isinstance(node, ast.Call):
        yield Site(node.func, scope, loops, called=True)
        for argument in node.args:
            yield Site(argument, scope, loops)
        for keyword in node.keywords:
            yield Site(keyword.value, scope, loops)
        return
    for child in ast.iter_child_nodes(node):
        yield Site(child, scope, loops)


def scope_of_iterable(loop: Loop, scope: Scope) -> Scope:
    """Return the scope in which a loop of a scope evaluates what it iterates over.

    The first iterable of a comprehension is evaluated outside of it.
    """
    first = isinstance(scope.node, _COMPREHENSIONS) and scope.node.generators[0] is loop
    return scope.parent if first and scope.parent is not None else scope


def _function(node: FunctionNode, site: Site, file_scopes: FileScopes) -> Iterator[Site]:
    scope, loops = site.scope, site.loops
    inner = file_scopes.scopes[node] = Scope("function", node, scope, scope.file)
    given = node.args
    for argument in parameters(node):
        inner.bind(argument.arg, Binding("param", argument, inner, annotation=argument.annotation))
    outside: list[ast.expr] = [*given.defaults, *(each for each in given.kw_defaults if each)]
    if isinstance(node, ast.Lambda):
        inside: list[ast.AST] = [node.body]
        inner.returns.append((node.body, inner))
    else:
        scope.bind(node.name, Binding("def", node, scope))
        outside = [*node.decorator_list, *outside]
        inside = list(node.body)
    for each in outside:
        yield Site(each, scope, loops)
    for statement in inside:
        yield Site(statement, inner, loops)


def parameters(node: FunctionNode) -> list[ast.arg]:
    """Return all parameters, ``*args`` and ``**kwargs`` last."""
    given = node.args
    last = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *last]


def _names(node: ast.AST, scope: Scope, file_scopes: FileScopes) -> None:
    """Bind the names that a statement or an expression binds."""
    match node:
        case ast.Assign():
            for target in node.targets:
                _bind(target, "value", node.value, scope, file_scopes, ())
        case ast.AnnAssign():
            kind = "bare" if node.value is None else "value"
            _bind(node.target, kind, node.value, scope, file_scopes, (), node.annotation)
        case ast.AugAssign() | ast.Delete():
            for target in [node.target] if isinstance(node, ast.AugAssign) else node.targets:
                _bind(target, "other", None, scope, file_scopes, ())
        case ast.NamedExpr():
            home = scope
            while home.kind == "comprehension" and home.parent is not None:
                home = home.parent
            _bind(node.target, "value", node.value, home, file_scopes, (), evaluated=scope)
        case ast.With() | ast.AsyncWith():
            for item in node.items:
                if item.optional_vars is not None:
                    _bind(item.optional_vars, "with", item.context_expr, scope, file_scopes, ())
        case ast.Import():
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                scope.bind(name, Binding("import", alias, scope))
        case ast.ImportFrom():
            for alias in node.names:
                if alias.name == "*":
                    scope.stars.append(node)
                else:
                    binding = Binding("import", node, scope, path=(alias.name,))
                    scope.bind(alias.asname or alias.name, binding)
        case ast.Global():
            for name in node.names:
                scope.elsewhere[name] = scope.module
        case ast.Nonlocal():
            for name in node.names:
                outer = None if scope.parent is None else scope.parent.find(name)
                if outer is not None:
                    scope.elsewhere[name] = outer[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchStar(name=str(name)):
            scope.bind(name, Binding("other", node, scope))
        case ast.MatchAs(name=str(name)) | ast.MatchMapping(rest=str(name)):
            scope.bind(name, Binding("other", node, scope))
        case ast.Return() | ast.Yield() if node.value is not None:  # never in a comprehension
            scope.returns.append((node.value, scope))


def _bind(
    target: ast.expr,
    kind: str,
    value: ast.expr | None,
    scope: Scope,
    file_scopes: FileScopes,
    path: tuple[int | str, ...],
    annotation: ast.expr | None = None,
    evaluated: Scope | None = None,
) -> None:
    """Bind the names of a target, which may be unpacked; the value may be of another scope."""
    todo = [(target, path)]
    while todo:
        target, path = todo.pop()
        if isinstance(target, ast.Name):
            binding = Binding(kind, target, evaluated or scope, value, annotation, path)
            scope.bind(target.id, binding)
        elif isinstance(target, ast.Starred):
            todo.append((target.value, (*path[:-1], "?")))
        elif isinstance(target, ast.Tuple | ast.List):
            starred = False
            for place, each in enumerate(target.elts):
                starred = starred or isinstance(each, ast.Starred)
                step = place - len(target.elts) if starred else place
                todo.append((each, (*path, step)))
        elif isinstance(target, ast.Attribute):
            owner = _own_class(target, scope)
            binding = Binding(kind, target, scope, value, annotation, path)
            if owner is not None:
                owner.attributes.setdefault(target.attr, []).append(binding)
            else:
                file_scopes.stored.append((target, scope))


def _own_class(target: ast.Attribute, scope: Scope) -> Scope | None:
    """The class whose method stores to an attribute of its own ``self``."""
    if not isinstance(target.value, ast.Name):
        return None
    found = scope.find(target.value.id)
    return None if found is None else class_of_self(found[0], found[1])


def class_of_self(home: Scope, bindings: list[Binding]) -> Scope | None:
    """Return the class of which a name is the ``self``: the first parameter of a method."""
    node, above = home.node, home.parent
    if len(bindings) != 1 or above is None or above.kind != "class":
        return None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    given = [*node.args.posonlyargs, *node.args.args]
    names = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    if not given or bindings[0].node is not given[0] or "staticmethod" in names:
        return None
    return above
