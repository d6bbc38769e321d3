"""Find words and names that the project does not use, and say what to write instead.

``python tools/check_language.py [PATH ...]`` prints one line for each finding and exits with 1 if
there is any. The words are in ``tools/language.toml``. ``--report`` prints counts and exits with 0;
``--advice`` also prints what is only advice.
"""

from __future__ import annotations

import argparse
import fnmatch
import io
import itertools
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_name("language.toml")

_PROSE, _MESSAGE, _SUMMARY, _PAGE = "prose", "message", "summary", "page"

#: In these directories a string with a space is data of a test, not a message.
_DATA = ("tests/*", "benches/*", "fuzz/*", "examples/*")

_RUST_TOKEN = re.compile(
    r"""(?P<doc>//[/!][^\n]*)|(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<string>b?r(?P<hash>\#*)".*?"(?P=hash)|b?"(?:\\.|[^"\\])*")"""
    r"""|'(?:\\[^\n]{1,8}?|[^'\\\n])'|\bfn\s+(?P<function>\w+)""",
    re.DOTALL,
)
_STRING = re.compile(r"""^[A-Za-z]{0,2}("{3}|'{3}|"|')|("{3}|'{3}|"|')$""")
_BETWEEN = r"""[\s#/!*|"'`\\]+"""  # what may separate two words of a sentence


class Segment(NamedTuple):
    """A piece of text that a reader reads, with the line it begins in."""

    scope: str
    line: int
    text: str


class Rule(NamedTuple):
    """A pattern that is refused."""

    pattern: re.Pattern[str]
    why: str
    use: str
    scopes: frozenset[str]
    is_advice: bool
    name: str
    not_in: tuple[str, ...] = ()


class Finding(NamedTuple):
    """A refused word or name in a file."""

    path: str
    line: int
    found: str
    why: str
    use: str
    is_advice: bool
    name: str

    def __str__(self) -> str:
        return f'{self.path}:{self.line}: "{self.found}": {self.why}; write instead: {self.use}'


class Language:
    """The list of what is refused, read from a TOML file."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.exclude = [str(each) for each in table.get("exclude", ())]
        self.allow = table.get("allow", [])
        self.words = [_word(entry) for entry in table.get("word", ())]
        self.sentences = [_sentence(entry) for entry in table.get("sentence", ())]
        self.names = [
            (_name(entry), entry.get("within", ["*.rs"])) for entry in table.get("name", ())
        ]
        self.names += [(_quoted(entry), entry["within"]) for entry in table.get("quoted", ())]

    def covers(self, path: str) -> bool:
        """Return whether a file is checked."""
        return not any(fnmatch.fnmatch(path, pattern) for pattern in self.exclude)

    def findings(self, path: str, text: str) -> Iterator[Finding]:
        """Find all refused words and names in one file, including the allowed ones."""
        find = partial(_matches, path)
        lowered = text.lower()
        for rule in self.sentences:
            if all(word in lowered for word in rule.name.lower().split()):
                yield from find(rule, text, 1)
        for rule, within in self.names:
            if any(fnmatch.fnmatch(path, pattern) for pattern in within):
                yield from find(rule, text, 1)
        for segment in segments(path, text):
            for rule in self.words:
                if segment.scope in rule.scopes and path not in rule.not_in:
                    yield from find(rule, segment.text, segment.line)


def _word(entry: dict[str, Any]) -> Rule:
    scopes = frozenset(entry.get("scope", (_PROSE, _MESSAGE)))
    source = str(entry["pattern"])
    ignore = re.IGNORECASE if _PROSE in scopes else 0
    # A space matches a line break too, except inside a look-behind, whose width is fixed.
    lookbehinds = re.split(r"(\(\?<![^)]*\))", source)
    spaced = (
        each if each.startswith("(?<!") else each.replace(" ", r"\s+") for each in lookbehinds
    )
    return Rule(
        re.compile("".join(spaced), ignore),
        str(entry["why"]),
        str(entry["use"]),
        scopes,
        entry.get("level") == "advice",
        source,
        tuple(entry.get("not_in", ())),
    )


def _sentence(entry: dict[str, Any]) -> Rule:
    words = [re.escape(word) for word in str(entry["text"]).split()]
    heading = r"(?m:^)" if words[0] == r"\#" else r"(?<!\w)"
    joined = (
        heading
        + words[0]
        + "".join(
            (r"\s+" if before == r"\#" else _BETWEEN) + word
            for before, word in itertools.pairwise(words)
        )
    )
    pattern = re.compile(joined + r"(?!\w)", re.IGNORECASE)
    return Rule(pattern, "a former text", str(entry["use"]), frozenset(), False, str(entry["text"]))


def _name(entry: dict[str, Any]) -> Rule:
    plain = [re.escape(str(each)) for each in entry.get("word", ())]
    defined = [re.escape(str(each)) for each in entry.get("definition", ())]
    parts = [rf"\b(?:{'|'.join(plain)})\b"] if plain else []
    if defined:
        kinds = "struct|enum|union|type|trait|const|static|fn"
        parts.append(rf"\b(?:{kinds})\s+(?:{'|'.join(defined)})\b")
    pattern = re.compile("|".join(parts))
    name = "|".join(plain + defined)
    return Rule(pattern, "a former name", str(entry["use"]), frozenset(), False, name)


def _quoted(entry: dict[str, Any]) -> Rule:
    name = "|".join(re.escape(str(each)) for each in entry["text"])
    pattern = re.compile(rf"""(?P<quote>["'`])(?:{name})(?P=quote)""")
    return Rule(pattern, "a former name", str(entry["use"]), frozenset(), False, name)


def _matches(path: str, rule: Rule, text: str, line: int) -> Iterator[Finding]:
    for match in rule.pattern.finditer(text):
        at = line + text.count("\n", 0, match.start())
        found = " ".join(match[0].split())
        yield Finding(path, at, found, rule.why, rule.use, rule.is_advice, rule.name)


def segments(path: str, text: str) -> Iterator[Segment]:
    """Split a file into the texts that a reader reads."""
    is_data = any(fnmatch.fnmatch(path, pattern) for pattern in _DATA)
    suffix = Path(path).suffix
    first = text.partition("\n")[0]
    if suffix in (".py", ".pyi") or (first.startswith("#!") and "python" in first):
        yield from _python(text, is_data)
    elif suffix == ".rs":
        yield from _rust(text, is_data)
    elif suffix == ".md":
        yield Segment(_PROSE, 1, _markdown(text))
        yield Segment(_PAGE, 1, _markdown(text))
    elif suffix in (".toml", ".yml", ".yaml", ".cfg") or path == "Makefile" or first[:2] == "#!":
        comments = (line.partition("#")[2] for line in text.split("\n"))
        yield Segment(_PROSE, 1, "\n".join(comments))


def _markdown(text: str) -> str:
    """Blank out code, and the targets of links, and keep every line in its place."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", "_", match[0])

    text = re.sub(r"^( *)(```|~~~).*?^\1\2", blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]+(?:\n[^`\n]+)?`", blank, text)
    return re.sub(r"\]\([^)]*\)", blank, text)


class _Block:
    """Pieces of text on neighbouring lines, gathered into one segment."""

    def __init__(self, scope: str) -> None:
        self.scope, self.line, self.text = scope, 0, ""

    def next_line(self) -> int:
        """Return the number of the line after the last piece."""
        return self.line + self.text.count("\n") + 1

    def add(self, line: int, text: str) -> Iterator[Segment]:
        """Add a piece; yield the block before it if they are not on neighbouring lines."""
        if self.text and line > self.next_line():
            yield from self.flush()
        if not self.text:
            self.line, self.text = line, text
        else:
            gap = line - self.next_line() + 1
            self.text += ("\n" * gap or " ") + text

    def flush(self) -> Iterator[Segment]:
        """Yield the block, and start a new one."""
        if self.text.strip():
            yield Segment(self.scope, self.line, self.text)
        self.text = ""


def _python(text: str, is_data: bool) -> Iterator[Segment]:
    comment, message = _Block(_PROSE), _Block(_MESSAGE)
    at_start, after_def = True, False
    middle = getattr(tokenize, "FSTRING_MIDDLE", None)
    quiet = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            yield from comment.add(line, token.string.lstrip("#: "))
        elif token.type == tokenize.STRING and at_start:
            body = _STRING.sub("", token.string)
            yield Segment(_PROSE, line, body)
            yield Segment(_SUMMARY, line, _first_sentence(body))
        elif token.type in (tokenize.STRING, middle) and " " in token.string and not is_data:
            yield from message.add(line, re.sub(r"\{[^{}]*\}", "{}", _STRING.sub("", token.string)))
        elif after_def and token.string.startswith("test_"):
            yield Segment(_PROSE, line, token.string.replace("_", " "))
        after_def = token.string == "def"
        if token.type not in quiet:
            at_start = token.type == tokenize.NEWLINE
    yield from comment.flush()
    yield from message.flush()


def _first_sentence(text: str) -> str:
    paragraph = text.strip().partition("\n\n")[0]
    return re.split(r"(?<=[.?!])\s", " ".join(paragraph.split()))[0]


def _rust(text: str, is_data: bool) -> Iterator[Segment]:
    block: list[str] = []
    block_line, block_kind = 0, ""
    has_tests = "#[test]" in text
    for match in _RUST_TOKEN.finditer(text):
        line = 1 + text.count("\n", 0, match.start())
        kind = "doc" if match["doc"] else "comment" if match["comment"] else ""
        if kind:
            if block and (kind != block_kind or line != block_line + len(block)):
                yield from _rust_block(block_kind, block_line, block)
                block = []
            if not block:
                block_line, block_kind = line, kind
            block.append(match[0].lstrip("/!* "))
        elif match["string"] and not is_data and " " in match["string"]:
            yield Segment(_MESSAGE, line, match["string"])
        elif match["function"] and has_tests:
            yield Segment(_PROSE, line, match["function"].replace("_", " "))
    if block:
        yield from _rust_block(block_kind, block_line, block)


def _rust_block(kind: str, line: int, block: list[str]) -> Iterator[Segment]:
    text = _markdown("\n".join(block))
    yield Segment(_PROSE, line, text)
    if kind == "doc":
        yield Segment(_SUMMARY, line, _first_sentence(text))


def files(paths: Iterable[str]) -> list[str]:
    """List the files of the project below the paths, by their names from the root."""
    names = [str(Path(path).resolve().relative_to(ROOT)) for path in paths]
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", *names]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())


def check(language: Language, paths: Iterable[str]) -> tuple[list[Finding], list[str]]:
    """Check files.

    Args:
        language: What is refused, and what is allowed.
        paths: Files and directories of the project.

    Returns:
        The findings that are not allowed, and the entries of the list that allow nothing although
        their file was checked.
    """
    findings: list[Finding] = []
    used: set[int] = set()
    checked: set[str] = set()
    for name in files(paths):
        if not language.covers(name):
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        checked.add(name)
        lines = text.split("\n")
        for finding in language.findings(name, text):
            line = lines[finding.line - 1]
            allowed = {
                number
                for number, entry in enumerate(language.allow)
                if entry["path"] == name and str(entry["text"]) in line
            }
            used |= allowed
            if not allowed:
                findings.append(finding)
    unused = [
        f"{entry['path']}: {entry['text']}"
        for number, entry in enumerate(language.allow)
        if entry["path"] in checked and number not in used
    ]
    return findings, unused


def main() -> int:
    """Print the findings of the paths on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", default=[str(ROOT)], metavar="PATH")
    parser.add_argument("--report", action="store_true", help="print counts only and exit with 0")
    parser.add_argument("--advice", action="store_true", help="print what is only advice too")
    options = parser.parse_args()
    language = Language(tomllib.loads(LIST.read_text(encoding="utf-8")))
    findings, unused = check(language, options.paths)
    shown = [each for each in findings if options.advice or not each.is_advice]
    if options.report:
        for what in (
            Counter("/".join(Path(each.path).parts[:3][:-1]) or each.path for each in shown),
            Counter(each.name for each in shown),
        ):
            for key, count in what.most_common():
                print(f"{count:6}  {key}")
            print(f"{len(shown):6}  in all\n")
        return 0
    for each in sorted(shown):
        print(each)
    for entry in unused:
        print(f"tools/language.toml: this entry allows nothing: {entry}")
    failing = sum(not each.is_advice for each in shown) + len(unused)
    if failing:
        print(f"{failing} findings", file=sys.stderr)
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
