# tests/codegen/test_schema.py -- the manual of the op table is what rows are checked by.
import subprocess
import sys

import pytest
import yaml

from codegen.generate import common_files
from codegen.schema import KEYS, check_keys, json_schema, nearest
from codegen.signature import SchemaError
from tests.codegen.little_table import family_of

ROW = """\
- op: half(Tensor input) -> Tensor out
  doc: Half of it.
  impl: true
  grad: none
  test:
    numpy: input / 2
"""


def every_key():
    return [*KEYS.values(), *KEYS["test"].keys.values()]


def test_each_key_has_a_meaning_and_an_example_of_itself():
    for key in every_key():
        assert key.meaning, key.key
        assert list(yaml.safe_load(key.example)) == [key.key], key.example


def test_the_example_of_each_key_is_accepted():
    needed = {name: "x" for name, key in KEYS.items() if key.needed and name != "test"}
    for key in KEYS.values():
        kind = key.rows[0] if key.rows else "pointwise"
        of_kind = {"pointwise": {}, "impl": {"impl": True}, "composite": {"composite": True}}
        of_kind = of_kind.get(kind, {"kind": kind})
        check_keys({**needed, "test": {"none": "x"}, **of_kind, **yaml.safe_load(key.example)})
    for key in KEYS["test"].keys.values():
        check_keys({**needed, "test": yaml.safe_load(key.example)})


def test_a_default_is_one_of_the_values():
    for key in every_key():
        if key.is_choice and isinstance(key.default, str):
            assert key.default in ("", *key.values), key.key


def test_a_mistake_inside_test_names_its_own_line(tmp_path):
    with pytest.raises(
        SchemaError, match=r"^ops/little.yaml:7: half: `test.sizes` needs true or fal"
    ):
        family_of(tmp_path, ROW + "    sizes: 3\n")


def test_a_result_that_is_none_is_refused(tmp_path):
    with pytest.raises(
        SchemaError, match=r"^ops/little.yaml:3: half: `not_differentiable` names `i"
    ):
        family_of(tmp_path, ROW.replace("  impl", "  not_differentiable: indices\n  impl"))


def test_a_name_unlike_all_is_told_what_there_is():
    assert nearest("view", ["viewed", "other"]) == ", the nearest is `viewed`"
    assert nearest("x", ["copy", "view"]) == "; known are copy, view"


def test_editors_are_told_the_same_keys():
    items = json_schema()["items"]
    assert set(items["properties"]) == set(KEYS)
    assert items["required"] == ["op", "doc", "test"]
    assert items["properties"]["cost"]["enum"] == list(KEYS["cost"].values)
    assert items["properties"]["inplace"]["enum"] == [True, False, "copy"]
    assert set(items["properties"]["test"]["properties"]) == set(KEYS["test"].keys)
    assert "ops.schema.json" in common_files()


def test_the_manual_of_a_key_is_printed():
    command = [sys.executable, "-m", "codegen.schema"]
    found = subprocess.run([*command, "reads"], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("reads: one of values, geometry\n")
    unknown = subprocess.run([*command, "raeds"], capture_output=True, text=True, check=False)
    assert (unknown.returncode, unknown.stderr) == (1, "no key `raeds`, the nearest is `reads`\n")
