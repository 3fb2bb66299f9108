"""The documentation as a test: what a page shows runs, and where it points exists.

A page becomes a script with the same line numbers: its python blocks as they stand, and each
`trueup` command of its console blocks as a process. So a traceback names the line of the page.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [page for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))] if page.exists()]
LINKED = [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md"))]

NOT_RUN = re.compile(r"<!--\s*not run\b:?\s*(?P<reason>.*?)\s*-->")
NEEDS_GL = "<!-- needs gl -->"
FENCE = re.compile(r"\s*(?P<ticks>`{3,}|~{3,})\s*(?P<language>\w*)")
LINK = re.compile(r"\]\(\s*<?(?P<inline>[^)\s>]+)[^)]*\)|\b(?:src|href)=\"(?P<html>[^\"]+)\"")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block; `first` is the index of its first line inside the fence."""

    language: str
    first: int
    lines: list[str]
    marker: str


def blocks(text: str) -> Iterator[Block]:
    lines = text.splitlines()
    above, ticks, language, first = "", "", "", 0
    for index, line in enumerate(lines):
        fence = FENCE.match(line)
        if not ticks and fence:
            ticks, language, first = fence["ticks"], fence["language"], index + 1
        elif ticks and line.strip().startswith(ticks) and not line.strip().strip(ticks[0]):
            inside = dedent("\n".join(lines[first:index])).split("\n")
            yield Block(language=language, first=first, lines=inside, marker=above)
            above, ticks = "", ""
        elif not ticks and line.strip():
            above = line.strip()


def runs(block: Block) -> bool:
    return not NOT_RUN.fullmatch(block.marker)


def commands(block: Block) -> Iterator[tuple[int, str]]:
    """Index and text of each trueup command; where a block has prompts, the rest is output."""
    prompt = "$ " if any(line.startswith("$ ") for line in block.lines) else ""
    index = 0
    while index < len(block.lines):
        start, command = index, block.lines[index]
        while command.endswith("\\") and index + 1 < len(block.lines):
            index += 1
            command = command[:-1] + block.lines[index]
        if re.match(rf"{re.escape(prompt)}trueup(\s|$)", command):
            yield start, command.removeprefix(prompt)
        index += 1


def script(text: str) -> str:
    lines = [""] * len(text.splitlines())
    for block in filter(runs, blocks(text)):
        if block.language == "python":
            lines[block.first : block.first + len(block.lines)] = block.lines
        elif block.language in ("console", "bash", "shell", "sh"):
            for index, command in commands(block):
                call = f"__import__('subprocess').run({command!r}, shell=True, check=True)"
                lines[block.first + index] = call
    return "\n".join(lines) + "\n"


def run_page(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    # The script lies beside the working folder, so that its name hides no module.
    program = folder / "script" / f"{page.stem}_page.py"
    here = folder / "here"
    program.parent.mkdir()
    here.mkdir()
    program.write_text(script(page.read_text(encoding="utf-8")), encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        [sys.executable, str(program)],
        cwd=here,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )


def unreasoned_markers(text: str) -> list[str]:
    return [found[0] for found in NOT_RUN.finditer(text) if not found["reason"]]


def anchors(page: Path) -> set[str]:
    """The names that headings get on GitHub."""
    headings = re.findall(r"^#+\s+(.*?)\s*$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {word.replace(" ", "-") for word in words}


def broken_links(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(
        r"^\s*(`{3,}|~{3,}).*?^\s*\1|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE
    )
    broken = []
    for found in LINK.finditer(prose):
        link = found["inline"] or found["html"]
        if re.match(r"[a-z]+:|//", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target)
        ):
            broken.append(link)
    return broken


def title(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=title(page), marks=[pytest.mark.gl] if needs_gl else [])
        for page in PAGES
        for needs_gl in [NEEDS_GL in page.read_text(encoding="utf-8")]
    ],
)
def test_a_page_runs(page, tmp_path):
    done = run_page(page, tmp_path)
    assert done.returncode == 0, f"{title(page)} (same line numbers):\n{done.stdout[-4000:]}"


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_a_block_that_does_not_run_says_why(page):
    assert unreasoned_markers(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", LINKED, ids=title)
def test_links_resolve(page):
    assert broken_links(page) == []


# The checks themselves, on pages that are right and wrong.


@pytest.fixture
def page(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "page.md"
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return write


def test_blocks_of_a_page_share_names_and_a_folder(page, tmp_path):
    text = """
    ```python
    x = 40
    open("kept.txt", "w").write("2")
    ```
    1. Then, in a list:

       ```python
       assert x + int(open("kept.txt").read()) == 42
       ```
    """
    done = run_page(page(text), tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_failing_block_names_its_line(page, tmp_path):
    done = run_page(page("# Title\n\n```python\nx = 1\nassert x == 2\n```\n"), tmp_path)
    assert done.returncode != 0
    assert "line 5" in done.stdout


def test_a_failing_command_fails_the_page(page, tmp_path):
    done = run_page(page("```console\n$ trueup no-such-verb\n```\n"), tmp_path)
    assert done.returncode != 0


def test_a_marked_block_does_not_run(page, tmp_path):
    text = "<!-- not run: needs a robot -->\n\n```python\nraise SystemExit(3)\n```\n"
    assert run_page(page(text), tmp_path).returncode == 0


def test_a_marker_needs_a_reason():
    assert unreasoned_markers("<!-- not run: needs a robot -->") == []
    assert len(unreasoned_markers("<!-- not run -->\n<!-- not run: -->")) == 2


def test_commands_are_told_from_output():
    text = (
        "```console\n$ trueup one \\\n    --two\ntrueup 1.0\n$ ls\n```\n```bash\ntrueup three\n```"
    )
    found = [command for block in blocks(text) for _, command in commands(block)]
    assert found == ["trueup one     --two", "trueup three"]


def test_a_broken_link_is_found(page):
    text = """
    # A heading, with `code`

    [good](page.md), [self](#a-heading-with-code), [web](https://example.org), `[code](none.md)`,
    [lost](none.md), [no heading](page.md#nothing), <img src="none.png">
    """
    assert broken_links(page(text)) == ["none.md", "page.md#nothing", "none.png"]
