# tests/python/io/test_torch_attacks.py -- files that pretend to be PyTorch's, and mean harm.
import base64
import io
import json
import os
import pathlib
import pickle
import random
import struct
import subprocess
import zipfile

import pytest

import ebb

RECORDED = json.loads(pathlib.Path(__file__).with_name("reference_torch_files.json").read_text())
STORAGE = (
    b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
)


def archive(text, members=None, root="archive", compression=zipfile.ZIP_STORED):
    """Return a file with the given pickle, and a storage of four numbers."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        made.writestr(f"{root}/data.pkl", text)
        for name, content in (members or {"0": b"\0" * 16}).items():
            made.writestr(f"{root}/data/{name}", content)
    return io.BytesIO(file.getvalue())


def refused(file, text):
    with pytest.raises(ebb.errors.ValueError, match=text) as caught:
        ebb.load(file)
    assert str(caught.value).startswith("load: ")


class Runs:
    """An object whose pickle runs a command when it is read."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("function, args", [
    (os.system, ("touch harmed",)),
    (eval, ("open('harmed', 'w')",)),
    (exec, ("open('harmed', 'w')",)),
    (open, ("harmed", "w")),
    (getattr, (os, "system")),
    (__import__, ("os",)),
    (subprocess.Popen, (["touch", "harmed"],)),
    (pickle.loads, (b"cos\nsystem\n",)),
])  # fmt: skip
def test_nothing_that_a_file_names_is_run(function, args, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        text = pickle.dumps({"x": [Runs(function, *args)]}, protocol)
    except (pickle.PicklingError, TypeError):
        pytest.skip("this protocol cannot say so")
    refused(archive(text), r"it names \w+\.\w+, which may not be made|is none of plain values")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("text, problem", [
    (b"\x80\x02cos\nsystem\n.", r"it names os\.system"),
    (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", r"it names os\.system"),
    (b"\x80\x04\x8c\x05torch\x8c\x09os.system\x93.", r"names torch\.os\.system"),
    (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n.", "it keeps the name"),
    (b"\x80\x02}X\x01\x00\x00\x00actorch._utils\n_rebuild_tensor_v2\nsb.", "keeps the name"),
    (b"\x80\x02K\x01)R.", "it calls what is no name"),
    (b"\x80\x02cbuiltins\nlist\n(K\x01tR.", "it calls what is no name"),
    (b"\x80\x02cbuiltins\nset\n)\x81.", "makes an object of what is no class"),
    (b"\x80\x02ctorch\nSize\n(K\x01K\x02tR}b.", "takes|insides|positional|tensor of"),
    (b"\x80\x02]}X\x01\x00\x00\x00aK\x01sb.", "it changes the insides of a list"),
    (b"\x80\x02R.", "it takes from an empty stack"),
    (b"\x80\x02.", "it takes from an empty stack"),
    (b"\x80\x02u.", "it misses a mark"),
    (b"\x80\x02h\x05.", "a value that it has not made"),
    (b"\x80\x02K", "it ends too early"),
    (b"", "it ends too early"),
    (b"\x80\x02X\xff\xff\xff\xff", "it ends too early"),
    (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f", "it ends too early"),
    (b"\x80\x02K\x01K\x02a.", "it adds to what is no list"),
    (b"\x80\x02K\x01K\x02K\x03s.", "it adds pairs to what is no dict"),
    (b"\x80\x02}(K\x01u.", "it adds pairs to what is no dict"),
    (b"\x80\x02}]K\x01s.", "unhashable"),
    (b"\x80\x02\x82\x01.", "is none of plain values"),
    (b"\x80\x02K\x01Q.", "keeps elsewhere what is no storage"),
    (b"\x80\x02cbuiltins\nbytearray\n(J\xff\xff\xff\x7ftR.", "it makes a bytearray of"),
    (b"\x80\x02ccollections\ndefaultdict\n(ctorch\nSize\ntR.", "a defaultdict of another kind"),
    (b"\x80\x02c_codecs\nencode\n(X\x01\x00\x00\x00aX\x03\x00\x00\x00hextR.", "encodes"),
])  # fmt: skip
def test_what_is_no_pickle_of_plain_values_is_refused(text, problem):
    refused(archive(text), problem)


def tensor(offset, size, stride):
    """Return a pickle of a tensor over a storage of four numbers."""

    def counts(values):
        return b"(" + b"".join(b"J" + v.to_bytes(4, "little", signed=True) for v in values) + b"t"

    start = b"J" + offset.to_bytes(4, "little", signed=True)
    return (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n" + STORAGE + start + counts(size)
            + counts(stride) + b"\x89}tR.")  # fmt: skip


@pytest.mark.parametrize("offset, size, stride, problem", [
    (0, (5,), (1,), "reaches element 4 of 4"),
    (4, (1,), (1,), "reaches element 4 of 4"),
    (0, (2, 2), (3, 1), "reaches element 4 of 4"),
    (-1, (1,), (1,), "makes a tensor of"),
    (0, (-1,), (1,), "makes a tensor of"),
    (2, (2,), (-1,), "makes a tensor of"),
    (0, (2,), (1, 1), "of sizes"),
    (0, (2**31 - 1,) * 4, (0,) * 4, r"tensor of \d+ elements"),
    (0, (1,) * 65, (1,) * 65, "of sizes"),
])  # fmt: skip
def test_a_tensor_reaches_over_its_storage_only(offset, size, stride, problem):
    assert ebb.load(archive(tensor(1, (3,), (1,)))).tolist() == [0.0, 0.0, 0.0]
    refused(archive(tensor(offset, size, stride)), problem)


def test_archives_that_claim_more_than_they_have_are_refused():
    good = tensor(0, (4,), (1,))
    refused(archive(good, {"1": b""}), "it lacks the storage '0'")
    refused(archive(good, {"0": b"\0" * 15}), "a storage of 15 bytes has")
    refused(archive(good, {"0": b"\0" * 12}), "reaches element 3 of 3")
    refused(archive(good, compression=zipfile.ZIP_DEFLATED), "is packed")
    with pytest.warns(UserWarning, match="Duplicate name"):
        file = twice(good)
    refused(file, "twice")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("archive/other", b"")
    refused(io.BytesIO(file.getvalue()), "it has no pickle")


def twice(text):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for _ in range(2):
            made.writestr("archive/data.pkl", text)
    return io.BytesIO(file.getvalue())


def test_members_may_not_share_bytes():
    content = archive(tensor(0, (4,), (1,)), {str(i): bytes([i]) * 4096 for i in range(3)})
    raw = bytearray(content.getvalue())
    first = raw.index(b"PK\x01\x02")
    entries = [at for at in range(first, len(raw) - 4) if raw[at : at + 4] == b"PK\x01\x02"]
    for at in entries[2:]:  # all begin where the second does, and claim all that follows
        raw[at + 42 : at + 46] = raw[entries[1] + 42 : entries[1] + 46]
        for field in (20, 24):
            raw[at + field : at + field + 4] = (8192).to_bytes(4, "little")
    refused(io.BytesIO(bytes(raw)), "claim more bytes than it has")


def test_a_bool_is_zero_or_one():
    text = tensor(0, (4,), (1,)).replace(b"FloatStorage", b"BoolStorage")
    assert ebb.load(archive(text, {"0": b"\1\0\1\1"})).tolist() == [True, False, True, True]
    refused(archive(text, {"0": b"\1\0\2\1"}), "a bool is neither 0 nor 1")


def test_numbers_of_other_machines_are_refused():
    file = archive(b"\x80\x02K\x01.")
    with zipfile.ZipFile(file, "a") as made:
        made.writestr("archive/byteorder", "big")
    refused(io.BytesIO(file.getvalue()), "not little-endian")


def test_other_files_are_refused(tmp_path):
    refused(io.BytesIO(b""), "it begins as no file of PyTorch")
    refused(io.BytesIO(pickle.dumps([1])), "it begins as no file of PyTorch")
    refused(io.BytesIO(b"PK\x03\x04"), "not a zip file")
    (tmp_path / "x.pt").write_bytes(pickle.dumps(Runs(os.system, "true")))
    refused(tmp_path / "x.pt", "x.pt")


@pytest.mark.parametrize("kind", RECORDED)
def test_a_damaged_file_is_read_or_refused_and_nothing_else(kind):
    content = base64.b64decode(RECORDED[kind])
    draw = random.Random(7)
    outcomes = {"read": 0, "refused": 0}
    for number in range(1500):
        damaged = bytearray(content)
        if number % 3 == 0:
            del damaged[draw.randrange(len(damaged)) :]
        for _ in range(draw.randrange(1, 4)):
            if damaged:
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        try:
            ebb.load(io.BytesIO(bytes(damaged)))
            outcomes["read"] += 1
        except ebb.errors.Error as error:
            assert str(error).startswith("load: needs"), error
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 0, outcomes


NESTED = b"\x80\x02}" + b")" + b"\x85" * 300_000
DOUBLED = b")" + b"".join(b"\x94h" + bytes([i]) + b"\x86" for i in range(40))


@pytest.mark.parametrize("text", [
    NESTED + b"Ns.",
    b"\x80\x02}" + DOUBLED + b"Ns.",
    b"\x80\x02}(" + DOUBLED + b"Nu.",
    b"\x80\x02(" + DOUBLED + b"Nd.",
    b"\x80\x04\x8f(" + DOUBLED + b"\x90.",
    b"\x80\x04(" + DOUBLED + b"\x91.",
    b"\x80\x02cbuiltins\nset\n(](" + DOUBLED.replace(b"h", b"h") + b"etR.",
    b"\x80\x02ccollections\nOrderedDict\n](" + DOUBLED + b"N\x86e\x85R.",
])  # fmt: skip
def test_keys_whose_hash_has_no_end_are_refused(text):
    refused(archive(text), "it has a key of too many parts")


@pytest.mark.parametrize("text, problem", [
    (b"\x80\x02cbuiltins\nset\n(" + DOUBLED + b"K\x01tR.", "makes a set of a tuple, 1"),
    (b"\x80\x02ctorch\nSize\n(" + DOUBLED + b"tR.", "makes a tensor of a tuple"),
    (b"\x80\x02ctorch\ndevice\n(" + DOUBLED + b"tR.", "makes a device of a tuple and None"),
    (b"\x80\x02ctorch._utils\n_rebuild_sparse_tensor\n(" + DOUBLED + b")tR.", "of layout a tuple"),
])  # fmt: skip
def test_what_is_refused_is_told_without_being_written_out(text, problem):
    refused(archive(text), problem)


def test_keys_as_programs_have_them_are_read():
    plain = {(number, ("a", (1.5, None))): number for number in range(30_000)}
    plain[("deep", *[((), ())] * 50)] = {frozenset([1, (2, 3)]): {(1, 2), "x"}}
    assert ebb.load(archive(pickle.dumps(plain, 2))) == plain


def test_a_long_value_is_not_copied_for_each_name_that_it_is_given():
    text = b"X" + (1 << 20).to_bytes(4, "little") + b"a" * (1 << 20) + b"q\x00"
    copies = b"](" + b"c_codecs\nencode\nh\x00\x85R" * 100 + b"e."
    refused(archive(b"\x80\x02" + text + copies), "it makes more of its values than it holds")


def marked(mark, size, stride, dtype="ComplexFloat"):
    """A pickle of a tensor whose metadata has a mark."""
    text = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n"
    text += STORAGE.replace(b"FloatStorage", dtype.encode() + b"Storage") + b"K\x00"
    for counts in (size, stride):
        text += b"(" + b"".join(b"J" + n.to_bytes(4, "little") for n in counts) + b"t"
    return text + b"\x89}}X" + len(mark).to_bytes(4, "little") + mark.encode() + b"\x88stR."


@pytest.mark.parametrize("mark", ["neg", "conj"])
def test_marks_are_applied_to_what_is_stored(mark):
    numbers = struct.pack("<4f", 1, 2, 3, 4)
    small = ebb.load(archive(marked(mark, (2,), (1,)), {"0": numbers}))
    assert small.tolist() == ([-1 - 2j, -3 - 4j] if mark == "neg" else [1 - 2j, 3 - 4j])
    huge = ebb.load(archive(marked(mark, (2**29,), (0,)), {"0": numbers}))
    assert huge.shape == (2**29,) and huge.untyped_storage().nbytes() == 16
    assert huge[-1].item() == small[0].item()


def test_a_sparse_tensor_of_few_bytes_that_claim_to_be_many_is_refused():
    def part(kind, size, stride):
        return tensor(0, size, stride).replace(b"Float", kind)[2:-1]

    layout = b"ctorch.serialization\n_get_layout\nX\x10\x00\x00\x00torch.sparse_coo\x85R"
    for size, problem in ((3, None), (2**27, "parts that share elements")):
        values = part(b"Float", (size,), (0,)).replace(b"\x01\x00\x00\x000", b"\x01\x00\x00\x001")
        text = b"\x80\x02ctorch._utils\n_rebuild_sparse_tensor\n(" + layout
        text += b"(" + part(b"Long", (1, size), (0, 0)) + values + b"(K\x05tttR."
        file = archive(text, {"0": b"\0" * 8, "1": b"\0" * 4})
        if problem is None:
            assert ebb.load(file).shape == (5,)
        else:
            refused(file, problem)
