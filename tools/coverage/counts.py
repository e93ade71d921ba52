# tools/coverage/counts.py -- what was counted of one file, and files gathered by room.
"""A branch is one outcome of one condition; a room is the folder that a file lies in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

GENERATED = "build/coverage/generated/"


@dataclass(frozen=True, order=True)
class Branch:
    """One outcome of a condition: the text between two places, or a Python line's way on."""

    line: int
    text: str  # the condition as it is written, its white space made one space
    outcome: str  # "true", "false", or the line that a Python program goes on at
    column: int = 0


@dataclass
class FileCounts:
    """The lines and the branches of one file."""

    lines: int = 0
    lines_run: int = 0
    branches: dict[Branch, bool] = field(default_factory=dict)  # whether a test took it

    def add(self, branch: Branch, taken: bool) -> None:
        """Note a branch of one object or template instance: a test of any of them counts."""
        self.branches[branch] = self.branches.get(branch, False) or taken

    def missing(self) -> list[Branch]:
        """The branches that no test took, in the order of the file."""
        return sorted(branch for branch, taken in self.branches.items() if not taken)


@dataclass
class Sums:
    """The counts of a room, or of all."""

    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    taken: int = 0

    def add(self, other: Sums) -> None:
        """Count another's as well."""
        self.lines += other.lines
        self.lines_run += other.lines_run
        self.branches += other.branches
        self.taken += other.taken

    @staticmethod
    def of(counts: FileCounts) -> Sums:
        """The counts of one file."""
        taken = sum(counts.branches.values())
        return Sums(counts.lines, counts.lines_run, len(counts.branches), taken)


def room_of(name: str) -> str:
    """The room of a file; what the generator writes has rooms of its own."""
    if name.startswith(GENERATED):
        return f"generated {PurePosixPath(name.removeprefix(GENERATED)).parent}"
    return str(PurePosixPath(name).parent)


def by_room(files: dict[str, FileCounts]) -> dict[str, Sums]:
    """The sums of each room, in the order of their names."""
    rooms: dict[str, Sums] = {}
    for name, counts in sorted(files.items()):
        rooms.setdefault(room_of(name), Sums()).add(Sums.of(counts))
    return dict(sorted(rooms.items(), key=lambda item: (item[0].startswith("generated"), item[0])))


def total(files: dict[str, FileCounts]) -> Sums:
    sums = Sums()
    for counts in files.values():
        sums.add(Sums.of(counts))
    return sums
