"""What is declared, pinned and imported agree, so that a plain install works."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import trueup

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = {
    canonicalize_name(pin.name): pin
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
    for pin in [Requirement(line)]
}
DECLARED = [
    Requirement(text)
    for group in [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    for text in group
]


@pytest.mark.parametrize("requirement", DECLARED, ids=str)
def test_every_dependency_is_pinned_to_a_version_it_allows(requirement):
    (pin,) = PINS[canonicalize_name(requirement.name)].specifier
    assert pin.operator == "=="
    assert "+" not in pin.version, "a local version exists on one machine only"
    assert requirement.specifier.contains(pin.version)


def test_a_plain_install_can_import_every_module():
    """Imports at the top of a module need a plain dependency; extras are imported where used."""
    provided = packages_distributions()
    plain = {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    missing = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match node:
                case ast.Import(names=names):
                    tops = {alias.name.split(".")[0] for alias in names}
                case ast.ImportFrom(module=str(module), level=0):
                    tops = {module.split(".")[0]}
                case _:
                    continue
            for top in tops - sys.stdlib_module_names - {"trueup"}:
                if not plain & {canonicalize_name(name) for name in provided.get(top, [top])}:
                    missing.append(f"{path.relative_to(ROOT)}:{node.lineno} imports {top}")
    assert missing == []


def test_the_changelog_speaks_of_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = "Unreleased" if ".dev" in trueup.__version__ else trueup.__version__
    assert re.search(rf"^## \[{re.escape(heading)}\]", text, flags=re.MULTILINE)
