# tools/release.py -- makes a release: `make release VERSION=0.3.0`; docs/versions.md is the policy.
#
# It refuses a checkout that is not clean, a commit that `.ci/run` has not passed (it writes
# build/green), and names that should be gone by then. Then it folds "Unreleased" of CHANGELOG.md
# below the argued points and the upgrade notes, writes the version where it stands, commits and
# tags. Start reading at main().
"""Usage: python -m tools.release VERSION [--dry-run] [--unproven WHY] [--date YYYY-MM-DD]."""

from __future__ import annotations

import argparse
import ast
import datetime
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_POINTS = 12
VERSION_FILE = "python/ebb/__init__.py"
# Where the version is shown, beside the file that has it: what stands before and behind it.
SHOWN = {"README.md": ("held out; ebb ", "\n"), "CITATION.cff": ("version: ", "\n")}
SOURCES = ("python/ebb", "satellites")  # what may deprecate names
_VERSION = re.compile(r'(?m)^__version__ = "([^"]+)"')
_MAKERS = ("deprecated", "Deprecation")
_POINTS, _UPGRADING = "### Points", "### Upgrading"


class ReleaseError(Exception):
    """Why no release can be made."""


@dataclass(frozen=True)
class Deprecated:
    """One ``Deprecation(...)`` or ``@deprecated(...)`` of the package, as its source has it."""

    place: str
    name: str
    instead: str
    since: str
    removed: str | None


@dataclass(frozen=True)
class Section:
    """What CHANGELOG.md says of one version."""

    points: list[str]
    upgrading: list[str]
    lines: list[str]


def number(version: str) -> tuple[int, ...]:
    """Return "0.2.0" as (0, 2, 0)."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ReleaseError(f"release: needs a version of three numbers, got {version!r}")
    return tuple(int(part) for part in version.split("."))


def deprecations(root: Path) -> list[Deprecated]:
    """Return what the package and its satellites below ``root`` deprecate."""
    return [
        found
        for folder in SOURCES
        for path in sorted((root / folder).rglob("*.py"))
        if "eprecat" in (text := path.read_text())
        for found in _made_in(text, str(path.relative_to(root)))
    ]


def _made_in(text: str, name: str) -> Iterator[Deprecated]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in _MAKERS:
            continue
        given = {one.arg: one.value for one in node.keywords}
        if not isinstance(given.get("since"), ast.Constant):
            continue  # not of a name: the decorator's own call
        texts = [node.args[0], given["instead"], given["since"]]
        removed = given.get("removed", ast.Constant(None))
        yield Deprecated(f"{name}:{node.lineno}", *map(_text, texts), ast.literal_eval(removed))


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) else ast.unparse(node)


def overdue(found: list[Deprecated], version: str) -> list[Deprecated]:
    """Return those that ``version`` should no longer have."""
    return [one for one in found if one.removed and number(one.removed) <= number(version)]


def read_unreleased(changelog: str) -> tuple[str, Section, str]:
    """Return what stands before the section "Unreleased", the section, and what follows."""
    match = re.search(r"^## Unreleased\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if match is None:
        raise ReleaseError('release: needs a section "## Unreleased" in CHANGELOG.md, found none')
    plain, *parts = re.split(r"^(?=### )", match[1], flags=re.M)
    named = {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}
    unknown = set(named) - {_POINTS, _UPGRADING}
    if unknown:
        raise ReleaseError(f"release: needs {_POINTS} and {_UPGRADING} only, got {unknown.pop()}")
    section = Section(
        _items(named.get(_POINTS, "")), _items(named.get(_UPGRADING, "")), _items(plain)
    )
    return changelog[: match.start()], section, changelog[match.end() :]


def _items(text: str) -> list[str]:
    return [item.strip() for item in re.split(r"^(?=- )", text, flags=re.M) if item.strip()]


def released(section: Section, version: str, date: str, found: list[Deprecated]) -> str:
    """Return the section of a version: its points, how to upgrade, and the rest folded."""
    if not 1 <= len(section.points) <= MAX_POINTS:
        raise ReleaseError(
            f'release: needs 1 to {MAX_POINTS} points below "{_POINTS}" in CHANGELOG.md, each with '
            f"its reason, got {len(section.points)}"
        )
    notes = [*section.upgrading, *_upgrade_notes(found, version)]
    points, upgrading = "\n".join(section.points), "\n".join(notes or ["Nothing to change."])
    text = f"## {version} ({date})\n\n{points}\n\n### Upgrading\n\n{upgrading}\n\n"
    if section.lines:
        lines = "\n".join(section.lines)
        summary = f"<summary>All {len(section.lines)} changes, newest first</summary>"
        text += f"<details>\n{summary}\n\n{lines}\n\n</details>\n\n"
    return text


def _upgrade_notes(found: list[Deprecated], version: str) -> list[str]:
    return [
        f"- `{one.name}` is deprecated: use `{one.instead}`. It goes in {one.removed}."
        for one in found
        if one.removed and one.since == version
    ]


def check_state(root: Path, unproven: str | None) -> None:
    """Refuse a checkout that is not what `.ci/run` tried."""
    changed = _git(root, "status", "--porcelain")
    if changed:
        raise ReleaseError(f"release: needs a clean checkout, got changes:\n{changed}")
    green = root / "build" / "green"
    tried = green.read_text().strip() if green.exists() else "none"
    head = _git(root, "rev-parse", "HEAD")
    if tried != head and not unproven:
        raise ReleaseError(
            f"release: needs a commit that .ci/run passed, got {head[:12]} (passed: {tried[:12]})\n"
            "hint: run .ci/run, or say why not with --unproven, which the tag then tells"
        )


def plan(root: Path, version: str, date: str) -> dict[str, str]:
    """Return the files that the release changes, and their new text."""
    source = (root / VERSION_FILE).read_text()
    before = _VERSION.search(source)
    if before is None or number(before[1]) >= number(version):
        present = before[1] if before else "none"
        raise ReleaseError(f"release: needs a version above {present}, got {version}")
    found = deprecations(root)
    late = "\n".join(f"{one.place}: {one.name}" for one in overdue(found, version))
    if late:
        raise ReleaseError(f"release: needs what {version} removes to be gone, got\n{late}")
    head, section, rest = read_unreleased((root / "CHANGELOG.md").read_text())
    new = {VERSION_FILE: _VERSION.sub(f'__version__ = "{version}"', source)}
    new["CHANGELOG.md"] = (
        f"{head}## Unreleased\n\n{released(section, version, date, found)}{rest}".rstrip() + "\n"
    )
    for name, (prefix, end) in SHOWN.items():
        text = (root / name).read_text()
        new[name] = text.replace(f"{prefix}{before[1]}{end}", f"{prefix}{version}{end}")
    new["CITATION.cff"] = re.sub(
        r"^date-released: .*$", f"date-released: {date}", new["CITATION.cff"], flags=re.M
    )
    return new


def make(root: Path, version: str, new: dict[str, str], unproven: str | None) -> None:
    """Write the files, commit and tag."""
    for name, text in new.items():
        (root / name).write_text(text)
    _git(root, "add", *new)
    _git(root, "commit", "-q", "-m", f"Release {version}")
    proof = f"Not tried by .ci/run: {unproven}" if unproven else "Tried by .ci/run."
    _git(root, "tag", "-a", f"v{version}", "-m", f"ebb {version}\n\n{proof}")


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if done.returncode != 0:
        raise ReleaseError(f"release: git {arguments[0]} failed\n{done.stderr.strip()}")
    return done.stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.release", description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true", help="show, and change nothing")
    parser.add_argument("--unproven", metavar="WHY", help="why .ci/run did not pass this commit")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    options = parser.parse_args()
    try:
        check_state(options.root, options.unproven)
        new = plan(options.root, options.version, options.date)
        if options.dry_run:
            section = new["CHANGELOG.md"].partition("## Unreleased\n\n")[2].partition("\n## ")[0]
            print(section.strip(), f"\nwould write: {', '.join(sorted(new))}", sep="\n")
            return 0
        make(options.root, options.version, new, options.unproven)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"tagged v{options.version}; push it with git push --follow-tags")
    return 0


if __name__ == "__main__":
    sys.exit(main())
