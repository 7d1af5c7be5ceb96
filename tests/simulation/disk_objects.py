"""A folder of this machine as the objects of a simulation, beside which Spark reads and writes.

What clients ask of their store goes through the simulation, with its faults; data files are Spark's
own, on the disk. Times are those of the simulation: a file of Spark's has the one of when it was
first seen.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path

from simulated_store import Blob, Course, Deleted, Objects

from lakebed.errors import ObjectNotFoundError
from lakebed.storage.locations import parse_location


class DiskFiles(MutableMapping[str, Blob]):
    def __init__(self, folder: Path, course: Course) -> None:
        self._folder = folder
        self._course = course
        self._times: dict[str, int] = {}

    def __getitem__(self, path: str) -> Blob:
        try:
            data = (self._folder / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise KeyError(path) from None
        return Blob(data, self._times.setdefault(path, int(self._course.turns.now_ms)))

    def __setitem__(self, path: str, blob: Blob) -> None:
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        # Readers see the old bytes or the new ones; Spark hides names that begin with a dot.
        made = file.with_name(f".{file.name}.new")
        made.write_bytes(blob.data)
        made.replace(file)
        self._times[path] = blob.modified_ms

    def __delitem__(self, path: str) -> None:
        (self._folder / path).unlink()
        self._times.pop(path, None)

    def __iter__(self) -> Iterator[str]:
        for file in sorted(self._folder.rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                yield file.relative_to(self._folder).as_posix()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, path: object) -> bool:
        return (self._folder / str(path)).is_file()

    def look(self) -> None:
        """Whatever is new was made by now."""
        for path in self:
            self._times.setdefault(path, int(self._course.turns.now_ms))


class DiskObjects(Objects):
    def __init__(self, course: Course, folder: Path) -> None:
        super().__init__(course, parse_location(folder).url)
        self.files = DiskFiles(folder, course)
        self.found = self.files

    def ever(self, path: str) -> bytes:
        written = self.written.get(path)
        return self.found[path].data if written is None else written[-1].data

    def get(self, path: str) -> bytes:
        try:
            return self.found[path].data
        except KeyError:
            raise ObjectNotFoundError(f"there is no object {path}") from None

    def delete(self, path: str, by: str) -> None:
        if path in self.found:
            # For the verdict, which reads versions of the past.
            self.written.setdefault(path, [self.found[path]])
            del self.found[path]
            self.deleted.append(Deleted(path, self.turns.now_ms, by))
