# tests/python/io/test_limits.py -- files that claim much, and names that are no files: refused
# at once, for next to no memory.
import ast
import base64
import gzip
import os
import struct
import tarfile
import threading
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import ebb
from ebb.io import reading
from ebb.vision import datasets, readers
from tests.python.fresh import printed

ROOT = Path(__file__).resolve().parents[3]
HUGE = 1 << 33  # bytes that no file here holds


def header(shape, version=1, pad=0):
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * pad + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 * version, "little") + text


def zeros(count, **options):
    """An array of zeros in a file, but for the file's beginning made as it is read."""
    return [header(f"({count},)", **options), *[bytes(1 << 20)] * (count >> 20)]


def packed(path, pieces, method):
    with (
        zipfile.ZipFile(path, "w", method) as archive,
        archive.open("a.npy", "w", force_zip64=True) as f,
    ):
        for piece in pieces:
            f.write(piece)


def claiming(path, sizes):
    """An archive of small members whose directory claims other sizes."""
    packed(path, [header("(3,)"), b"abc"], zipfile.ZIP_STORED)
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    struct.pack_into("<II", content, at + 20, *sizes)
    path.write_bytes(content)


def sharing(path):
    """An archive of many members over the same packed bytes."""
    packed(path, zeros(1 << 20), zipfile.ZIP_DEFLATED)
    content = path.read_bytes()
    start, end = content.rindex(b"PK\x01\x02"), content.rindex(b"PK\x05\x06")
    extra = content.find(b"PK\x06\x06")
    entry, tail = content[start : extra if extra > 0 else end], bytearray(content[end:])
    entries = b"".join(entry.replace(b"a.npy", f"{i:05}".encode()) for i in range(5000))
    struct.pack_into("<HHII", tail, 8, 5000, 5000, len(entries), start)
    path.write_bytes(content[:start] + entries + tail)


def with_long_header(path):
    """A header of 50 MB, which deflate packs a thousandfold."""
    text = header("(3,)", version=2)
    pieces = [text[:8], (50 << 20).to_bytes(4, "little"), text[12:], *[b" " * (1 << 20)] * 50]
    packed(path, pieces, zipfile.ZIP_DEFLATED)


BOMBS = {
    "bzip2": (
        lambda path: packed(path, zeros(1 << 27), zipfile.ZIP_BZIP2),
        "'a' is neither stored nor deflated",
    ),
    "lzma": (
        lambda path: packed(path, zeros(1 << 24), zipfile.ZIP_LZMA),
        "'a' is neither stored nor deflated",
    ),
    "claim": (lambda path: claiming(path, (70, HUGE // 4)), "claims 2147483648 bytes, which 70"),
    "claims": (lambda path: claiming(path, (HUGE // 4,) * 2), "members claim 2147483648 of its"),
    "header": (with_long_header, "its header claims 52428800 bytes of at most 10000"),
    "header of a claim": (
        lambda path: packed(path, [header(f"({HUGE},)"), *[bytes(1 << 20)] * 50], 8),
        f"its shape ({HUGE},) takes {HUGE} bytes, but",
    ),
    "shared": (sharing, "members claim"),
}


def refusal_of(read, *args, **options):
    """What reading says, and the most memory that Python and NumPy took meanwhile."""
    tracemalloc.start()
    with pytest.raises(ebb.errors.ValueError) as caught:
        read(*args, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return str(caught.value), peak


def load_within(path, limit):
    """Load in a process that may take ``limit`` bytes more; return what was printed."""
    code = """if True:
        import resource, sys, numpy, zipfile, ebb
        limit = int(sys.argv[2]) + int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            print(ebb.load(sys.argv[1]))
        except ebb.Error as error:
            print(type(error).__name__, error)
    """
    return printed(code, path, limit, cwd=ROOT)


@pytest.mark.parametrize("kind", BOMBS)
def test_an_archive_that_claims_more_than_it_can_hold_is_refused_before_it_is_unpacked(
    tmp_path, kind
):
    path = tmp_path / "x.npz"
    make, text = BOMBS[kind]
    make(path)
    said, peak = refusal_of(ebb.load, path)
    assert said.startswith("load: load_npz: needs an .npz file of numbers, got") and text in said, (
        said
    )
    assert peak < 8 << 20


def test_what_deflate_packs_a_thousandfold_is_read_up_to_a_limit(tmp_path):
    path = tmp_path / "x.npz"
    ebb.save_npz({"a": ebb.zeros(1 << 22), "b": ebb.zeros(3)}, path, compressed=True)
    assert os.path.getsize(path) < 20_000
    assert ebb.load_npz(path)["a"].shape == (1 << 22,)
    assert ebb.load_npz(path, max_bytes=17 << 20)["b"].tolist() == [0, 0, 0]
    text = r"load_npz: needs a file of at most 16,777,216 bytes when unpacked, got .* with 16,777,"
    with pytest.raises(ebb.errors.ValueError, match=text):
        ebb.load_npz(path, max_bytes=1 << 24)


@pytest.fixture
def small_limit(monkeypatch):
    """2 MB instead of 256, so that a test need not pack more."""
    monkeypatch.setattr(reading, "MOST_UNPACKED", 2 << 20)


@pytest.mark.usefixtures("small_limit")
def test_little_that_unpacks_to_much_is_refused_unless_it_is_meant(tmp_path):
    path = tmp_path / "x.npz"
    size = 3 << 20
    packed(path, zeros(size), zipfile.ZIP_DEFLATED)
    said, peak = refusal_of(ebb.load, path)
    assert "needs a file of at most 2,097,152 bytes when unpacked" in said and peak < 1 << 20
    meant = int(said.rpartition("pass max_bytes=")[2])
    assert ebb.load_npz(path, max_bytes=meant)["a"].numel() == size


def idx(sizes, content):
    return bytes([0, 0, 8, len(sizes)]) + b"".join(n.to_bytes(4, "big") for n in sizes) + content


@pytest.mark.parametrize("pack, end", [(bytes, ""), (gzip.compress, ".gz")])
@pytest.mark.parametrize("sizes", [(1 << 31,), (1 << 16, 1 << 15), (1 << 31, 0), (9,)])
def test_images_that_claim_more_than_they_have_are_refused_for_no_memory(
    tmp_path, pack, end, sizes
):
    path = tmp_path / f"images{end}"
    path.write_bytes(pack(idx(sizes, b"abc")))
    said, peak = refusal_of(readers.read_idx, str(path))
    assert "needs images as their makers pack" in said or "when unpacked, got" in said
    assert peak < 3 << 20  # of which gzip takes two


@pytest.mark.usefixtures("small_limit")
def test_packed_images_that_unpack_to_much_are_refused(tmp_path):
    path = tmp_path / "images.gz"
    with gzip.open(path, "wb") as file:
        file.write(idx((3 << 20,), bytes(3 << 20)))
    said, peak = refusal_of(readers.read_idx, str(path))
    assert "needs a file of at most 2,097,152 bytes when unpacked" in said and peak < 1 << 20


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_that_unpacks_to_much_is_not_unpacked(tmp_path, kind):
    path, target = tmp_path / f"x.{kind}", tmp_path / "to"
    (tmp_path / "zeros").write_bytes(b"")
    os.truncate(tmp_path / "zeros", 3 << 20)
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.write(tmp_path / "zeros", "zeros")
    else:
        with tarfile.open(path, "w:gz", compresslevel=1) as archive:
            archive.add(tmp_path / "zeros", "zeros")
    with pytest.raises(ebb.errors.ValueError, match=r"^extract_archive: needs a file of at most"):
        datasets.utils.extract_archive(str(path), str(target))
    assert not target.exists()


@pytest.mark.parametrize("limit", [-1, 2.5, "3", True, float("nan")])
def test_a_limit_that_is_no_number_of_bytes_is_refused(limit):
    for read in (ebb.load_npz, ebb.viz.read_html):
        text = r"(load_npz|read_html): max_bytes needs a number of bytes, got "
        with pytest.raises(ebb.errors.ValueError, match=text):
            read("no such file", max_bytes=limit)


def test_a_file_larger_than_memory_is_refused_by_default(tmp_path, monkeypatch):
    ebb.save_npz({"a": ebb.zeros(1 << 20)}, tmp_path / "x.npz")
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.get)
    with pytest.raises(ValueError, match="needs a file of at most 4,096,000 bytes"):
        ebb.load(tmp_path / "x.npz")


@pytest.mark.nosan  # the sanitizers take address space that the limit is set on
def test_memory_that_is_not_there_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "x.npz"
    packed(path, zeros(200 << 20), zipfile.ZIP_DEFLATED)
    said = load_within(path, 100 << 20)
    assert said.startswith("OutOfMemoryError load: load_npz: needs memory for 209,715,200 bytes"), (
        said
    )


@pytest.mark.nosan  # the sanitizers take address space that the limit is set on
def test_reading_takes_no_more_memory_than_the_array(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(100 << 20, np.uint8))
    assert load_within(tmp_path / "x.npy", 150 << 20).startswith("tensor(")


def test_names_of_members_lead_nowhere(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("../../up.npy", "/abs.npy", "a/b/../c.npy", "C:\\d.npy"):
            archive.writestr(name, header("(1,)") + b"x")
    before = sorted(tmp_path.parent.iterdir())
    assert [value.item() for value in ebb.load(path).values()] == [120] * 4
    assert sorted(tmp_path.parent.iterdir()) == before and os.listdir(tmp_path) == ["x.npz"]


def test_every_end_of_an_archive_cut_short_is_an_error(tmp_path):
    path = tmp_path / "x.npz"
    ebb.save_npz({"a": ebb.ones(5), "b": ebb.ones(2)}, path, compressed=True)
    content = path.read_bytes()
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(ebb.errors.ValueError, match=r"needs an \.npz file"):
            ebb.load(path)


# Pages.


def page_of(text, end=None):
    data = base64.b64encode(gzip.compress(text, mtime=0)[:end]).decode()
    return f'<script id="graph" data-encoding="gzip+base64">{data}</script>'


PAGES = {
    "bomb": (lambda: page_of(bytes(64 << 20)), "needs data of at most 4,194,304 bytes"),
    "cut": (lambda: page_of(b"{}", end=-8), "its data ends too early"),
    "damaged": (lambda: page_of(b"{}").replace("H4s", "AAA"), "its data is damaged"),
    "no base64": (lambda: page_of(b"{}").replace("H4s", "H4"), "needs a file of write_html"),
    "nested": (lambda: page_of(b"[" * (1 << 20)), "needs a file of write_html"),
    "other": (lambda: page_of(b'{"format": 3}'), "graph needs the format ebb.graph, got 3"),
    "tags": (lambda: '<script id="graph" ' * (1 << 17), "it holds no graph"),
    "no end": (lambda: page_of(b"{}").partition("<")[0] + '<script id="graph" ', "no graph"),
    "bytes": (lambda: "<html>\0", "it holds no graph"),
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_that_holds_too_much_or_no_graph_is_refused(tmp_path, kind):
    make, text = PAGES[kind]
    path = tmp_path / "x.html"
    path.write_text(make())
    said, peak = refusal_of(ebb.viz.read_html, path, max_bytes=1 << 22)
    assert text in said, said
    assert peak < 24 << 20


def test_a_page_larger_than_allowed_is_refused(tmp_path):
    loss = (ebb.ones(2, requires_grad=True) * 2).sum()
    path = ebb.viz.write_html(ebb.graph(loss), tmp_path / "x.html")
    assert ebb.viz.read_html(path)["format"] == "ebb.graph"
    with pytest.raises(ebb.errors.ValueError, match="read_html: needs a file of at most 1,000 byt"):
        ebb.viz.read_html(path, max_bytes=1000)


# Names that are no files.

READERS = {
    "load npz": ("x.npz", ebb.load, "load: load_npz"),
    "load npy": ("x.npy", ebb.load, "load: load_npy"),
    "load": ("x.safetensors", ebb.load, "load"),
    "load mapped": ("x.safetensors", lambda path: ebb.load(path, mmap=True), "load"),
    "load_metadata": ("x.st", ebb.io.load_metadata, "load_metadata: load"),
    "safe_open": ("x.st", ebb.io.safe_open, "safe_open: load"),
    "load_npz": ("x.npz", ebb.load_npz, "load_npz"),
    "load_npy": ("x.npy", ebb.io.npz.load_npy, "load_npy"),
    "load_digits": ("x.bin", ebb.data.digits.load, "load"),
    "read_html": ("x.html", ebb.viz.read_html, "read_html"),
    "load_device_plugin": ("x.so", ebb.load_device_plugin, "load_device_plugin"),
}


@pytest.fixture(params=["pipe", "folder", "device"])
def irregular(request, tmp_path):
    def make(name):
        path = tmp_path / name
        if request.param == "pipe":
            os.mkfifo(path)
        elif request.param == "folder":
            path.mkdir()
        else:
            path.symlink_to("/dev/zero")
        return path

    return make


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_regular_file_is_refused_without_waiting(irregular, reader):
    name, read, op = READERS[reader]
    path = irregular(name)
    caught = []

    def work():
        with pytest.raises(ebb.errors.IoError) as error:
            read(path)
        caught.append(str(error.value))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(120)
    assert caught == [f"{op}: needs a regular file, got '{path}'"]


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_path_is_an_error_that_names_the_reader(reader):
    _, read, _ = READERS[reader]
    for path, kind, text in (
        ("a\0b.npz", ebb.errors.ValueError, "needs a path without NUL"),
        (3, ebb.errors.DTypeError, "needs a path as str, bytes or os.PathLike, got int"),
        ("", ebb.errors.ValueError, "needs a path, got ''"),
        ("\ud800.npz", ebb.errors.ValueError, "needs a path that can be encoded"),
    ):
        with pytest.raises(kind) as caught:
            read(path)
        assert text in str(caught.value) and str(caught.value).split(":")[0].isidentifier()


LOSS = (ebb.ones(2, requires_grad=True) * 2).sum()
FLOW = ebb.utils.GradientFlow({"x": ebb.ones(1)})
with ebb.profiler.profile() as PROFILE:
    ebb.ones(2) + 1
WRITERS = {
    "write_html": lambda path: ebb.viz.write_html(ebb.graph(LOSS), path),
    "to_svg": ebb.graph(LOSS).to_svg,
    "write_svg": FLOW.write_svg,
    "export_chrome_trace": PROFILE.export_chrome_trace,
    "write_line_chart": lambda path: ebb.viz.write_line_chart(path, "t", "x", "y", {"a": [1.0]}),
    "save": lambda path: ebb.save({}, path),
    "save_npz": lambda path: ebb.save_npz({}, path),
}


@pytest.mark.parametrize("op", WRITERS)
def test_what_cannot_be_written_is_an_error_that_names_the_writer(tmp_path, op):
    for path, kind, text in (
        ("a\0b", ebb.errors.ValueError, "needs a path without NUL"),
        (3, ebb.errors.DTypeError, "needs a path as str, bytes or os.PathLike, got int"),
        (tmp_path / "missing" / "x", ebb.errors.IoError, "needs a writable file, got "),
        (tmp_path, ebb.errors.IoError, f"file, got '{tmp_path}'|path of a file, got '{tmp_path}'"),
    ):
        with pytest.raises(kind, match=rf"^{op}: .*({text})"):
            WRITERS[op](path)
    WRITERS[op](str(tmp_path / "x.npz"))
    assert (tmp_path / "x.npz").stat().st_size > 0


def test_nothing_in_the_package_opens_files_by_other_means():
    """The class: whoever reads a file of the user's goes through one of the two doors."""
    own = {"io/reading.py", "viz/html.py", "info.py", "data/transfer.py"}
    own.add("utils/tensorboard/sinks.py")  # a log, written to while the program runs
    own.add("torch_compat/metadata.py")  # answers from memory, by a method of that name
    own.add("multiprocessing.py")  # texts that a process leaves, in a folder of its own
    own.add("_tensor/exchange.py")  # from_file() makes a file as long as the tensor that it holds
    packages = [ROOT / "python" / "ebb", *ROOT.glob("satellites/*/ebb")]
    assert len(packages) == 3
    for package, file in ((one, file) for one in packages for file in one.rglob("*.py")):
        name = str(file.relative_to(package))
        called = called_in(file)
        assert name == "io/writing.py" or not called & {".write_text", ".write_bytes"}, name
        reading = {"open", ".read_text", ".read_bytes", "np.load", "mmap.mmap"}
        assert name in own or not called & reading, (name, called & reading)


def called_in(file):
    """Return what the code of a file calls, which its docstrings are not: `open`, `.read_text`."""
    functions = [
        node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)
    ]
    methods = {f".{one.attr}" for one in functions if isinstance(one, ast.Attribute)}
    return methods | {ast.unparse(one) for one in functions}


def test_bytes_of_a_wrong_checksum_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    ebb.save_npz({"a": ebb.ones(1000)}, path)
    content = bytearray(path.read_bytes())
    content[content.index(b"\x80\x3f") + 401] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="CRC"):
        ebb.load(path)
