# codegen/schema.py -- ops/schema.yaml: what a row of the op table may hold, and whether it does.
#
# The same file is the manual, so that what is checked is what is told. Names in a row, such as the
# keys of `grad`, are compared with its signature; what one key means for another is entry.py's.
# Start reading at check_keys().
"""The keys of a row. Usage: python -m codegen.schema [KEY..] prints the manual of them."""

from __future__ import annotations

import difflib
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from codegen.signature import SchemaError, Signature

SCHEMA = Path(__file__).resolve().parent.parent / "ops" / "schema.yaml"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
TYPES = {
    "text": (str, "text"),
    "flag": (bool, "true or false"),
    "texts": (list, "a list of texts"),
    "list": (list, "a list"),
    "map": (dict, "a map"),
    "calls": ((str, list), "calls `name(parameter, ..)`"),
}
NOUNS = {"parameters": "parameter", "tensors": "tensor parameter", "results": "result"}


class RowError(SchemaError):
    """A mistake in a row; `path` is its key, with those around it."""

    def __init__(self, path: str, text: str):
        super().__init__(text)
        self.path = path


@dataclass(frozen=True)
class Key:
    """One key: an entry of ops/schema.yaml."""

    key: str
    type: str
    meaning: str
    example: str
    values: tuple[str, ...] = ()  # what a text, or each key of a map, may be
    names: str = ""  # of the row's signature: what each of a list, or key of a map, must be
    default: Any = None
    rows: tuple[str, ...] = ()  # kinds of rows; empty: all
    needed: bool = False
    keys: dict[str, Key] = field(default_factory=dict)

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the types that a value may have."""
        return tuple(one.strip() for one in self.type.split("|"))

    @property
    def wanted(self) -> str:
        """What it holds, in words."""
        known = f"one of {', '.join(self.values)}" if self.is_choice else ""
        words = [known if one == "text" and known else TYPES[one][1] for one in self.types]
        return ", or ".join(words)

    @property
    def is_choice(self) -> bool:
        """Whether its text is one of a few."""
        return bool(self.values) and not {"map", "calls"} & set(self.types)

    def told(self) -> str:
        """Its part of the manual."""
        facts = [self.wanted, *([f"in rows of kind {', '.join(self.rows)}"] if self.rows else [])]
        lines = textwrap.wrap(self.meaning, 92)
        return "\n    ".join([f"{self.key}: {'; '.join(facts)}", *lines, f"e.g. {self.example}"])


def _parsed(entries: list[dict[str, Any]]) -> dict[str, Key]:
    """Keys by name."""
    found = {}
    for entry in entries:
        more = {name: tuple(entry[name]) for name in ("values", "rows") if name in entry}
        inner = _parsed(entry.get("keys", []))
        found[entry["key"]] = Key(**{**entry, **more, "keys": inner})
    return found


KEYS = _parsed(yaml.load(SCHEMA.read_text(encoding="utf-8"), Loader=LOADER))


def kind_of(values: dict[str, Any]) -> str:
    """The kind of a row."""
    if values.get("composite"):
        return "composite"
    if values.get("kind"):
        return str(values["kind"])
    return "impl" if values.get("impl") else "pointwise"


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error: the name that was meant, or all that there are."""
    known = list(known)
    found = difflib.get_close_matches(str(name), known, n=1)
    return f", the nearest is `{found[0]}`" if found else f"; known are {', '.join(known)}"


def check_keys(values: dict[str, Any]) -> None:
    """Refuse unknown keys and values of a wrong type, without looking at the signature."""
    _check(values, KEYS, "", kind_of(values))


def check_names(values: dict[str, Any], signature: Signature) -> None:
    """Refuse names that the signature does not have."""
    tensors = [p for p in signature.params if p.type.is_tensor or p.type.is_tensor_list]
    names = {
        "parameters": [param.name for param in signature.params],
        "tensors": [param.name for param in tensors],
        "results": [result.name for result in signature.results],
    }
    for path, key, value in _named(values, KEYS, ""):
        is_text = isinstance(value, str)
        if is_text and "map" in key.types:
            continue  # a class or formula for all
        for name in [value] if is_text else value:
            if name not in names[key.names]:
                known = nearest(name, names[key.names]) if names[key.names] else ""
                raise RowError(path, f"`{path}` names `{name}`, which is no "
                                     f"{NOUNS[key.names]}{known}")  # fmt: skip


def _check(values: dict[str, Any], known: dict[str, Key], where: str, kind: str) -> None:
    for name, value in values.items():
        path = f"{where}{name}"
        if name not in known:
            inside = f" of `{where[:-1]}`" if where else ""
            raise RowError(path, f"unknown key `{name}`{inside}{nearest(name, known)}")
        key = known[name]
        if key.rows and not _fits(kind, key):
            rows = " and ".join(part for part in (", ".join(key.rows[:-1]), key.rows[-1]) if part)
            raise RowError(path, f"`{path}` is for {rows} rows, got it in one of {kind}")
        _check_value(path, key, value)
        if key.keys:
            _check(value, key.keys, f"{path}.", kind)
    for key in known.values():
        if key.needed and not values.get(key.key):
            raise RowError("", f"needs `{where}{key.key}`, such as `{key.example}`, got none")


def _fits(kind: str, key: Key) -> bool:
    """Whether a row may have a key: one whose body is generated what one by hand may, too."""
    has_body = kind not in ("pointwise", "composite") and key.key != "impl"
    return kind in key.rows or (has_body and "impl" in key.rows)


def _check_value(path: str, key: Key, value: Any) -> None:
    if not any(isinstance(value, TYPES[one][0]) for one in key.types):
        raise RowError(path, f"`{path}` needs {key.wanted}, got {value!r}")
    if isinstance(value, list) and "list" not in key.types and not all(map(_is_text, value)):
        raise RowError(path, f"`{path}` needs {key.wanted}, got {value!r}")
    given = list(value) if isinstance(value, dict) else [value] if isinstance(value, str) else []
    checked = key.is_choice or (key.values and isinstance(value, dict))
    for one in given if checked else []:
        if one not in key.values:
            text = key.wanted if key.is_choice else f"keys among {', '.join(key.values)}"
            close = difflib.get_close_matches(str(one), key.values, n=1)
            hint = f", the nearest is `{close[0]}`" if close else ""
            raise RowError(path, f"`{path}` needs {text}, got {one!r}{hint}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _named(values: dict[str, Any], known: dict[str, Key], where: str) -> Iterable[tuple]:
    """All that names parts of the signature, with its path and key."""
    for name, value in values.items():
        key = known[name]
        if key.names:
            yield f"{where}{name}", key, value
        if key.keys:
            yield from _named(value, key.keys, f"{where}{name}.")


def json_schema() -> dict[str, Any]:
    """What editors know of a file of the table: a JSON schema."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "rows of the op table",
        "type": "array",
        "items": _json_object(KEYS),
    }


def _json_object(keys: dict[str, Key]) -> dict[str, Any]:
    needed = [key.key for key in keys.values() if key.needed]
    return {
        "type": "object",
        "additionalProperties": False,
        **({"required": needed} if needed else {}),
        "properties": {key.key: _json_key(key) for key in keys.values()},
    }


def _json_key(key: Key) -> dict[str, Any]:
    names = {"text": "string", "flag": "boolean", "map": "object"}
    about = {"description": f"{key.meaning}\n\n{key.example}"}
    if key.keys:
        return {**_json_object(key.keys), **about}
    if key.is_choice:
        flags = [True, False] if "flag" in key.types else []
        return {"enum": [*flags, *key.values], **about}
    types = ("text", "list") if key.type == "calls" else key.types
    kinds = [names.get(one, "array") for one in types]
    return {"type": kinds if len(kinds) > 1 else kinds[0], **about}


def main(wanted: list[str]) -> int:
    """Print the manual of some keys, or of all."""
    found = {**{f"test.{name}": key for name, key in KEYS["test"].keys.items()}, **KEYS}
    for name in wanted or [*KEYS, *(name for name in found if name not in KEYS)]:
        if name not in found:
            print(f"no key `{name}`{nearest(name, found)}", file=sys.stderr)
            return 1
        print(found[name].told())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
