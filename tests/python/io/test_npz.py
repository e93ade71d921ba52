# tests/python/io/test_npz.py -- NumPy's files: what NumPy wrote is read, and nothing else.
import io
import os
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

import ebb
from tests.python.fresh import printed
from tests.python.tensor.test_numpy import DTYPES


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.npz"


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_reads_what_is_written_and_the_reverse(tmp_path, dtype):
    tensor = ebb.tensor([[0, 1, 1], [1, 0, 1]], dtype=getattr(ebb, dtype))
    ebb.save(tensor, tmp_path / "x.npy")
    array = np.load(tmp_path / "x.npy", allow_pickle=False)
    assert array.dtype == dtype and array.tolist() == tensor.tolist()
    np.save(tmp_path / "y.npy", array)
    loaded = ebb.load(tmp_path / "y.npy")
    assert loaded.dtype is tensor.dtype and ebb.equal(loaded, tensor)


@pytest.mark.parametrize("compressed", [False, True])
def test_names_shapes_and_order_are_kept(path, compressed):
    saved = {
        "b/c.d": ebb.ones(2, 3),
        "a": ebb.tensor(5),
        "empty": ebb.zeros(3, 0),
        "ü": ebb.ones(1),
    }
    ebb.save_npz(saved, path, compressed=compressed)
    loaded = ebb.load_npz(path)
    assert list(loaded) == list(saved)
    assert all(ebb.equal(loaded[name], saved[name]) for name in saved)
    with np.load(path, allow_pickle=False) as other:
        assert other["b/c.d"].shape == (2, 3) and other["a"] == 5
    loaded["a"] += 1  # the memory is the tensor's own


def test_the_suffix_decides(tmp_path):
    ebb.save({"a": ebb.ones(1)}, tmp_path / "x.NPZ")
    assert zipfile.is_zipfile(tmp_path / "x.NPZ")
    assert ebb.load(str(tmp_path / "x.NPZ"))["a"].tolist() == [1.0]
    with pytest.raises(ValueError, match=r"needs a safetensors file for metadata, got .npz"):
        ebb.save({}, tmp_path / "y.npz", metadata={})
    with pytest.raises(ValueError, match=r"needs a safetensors file for mmap=True, got .npy"):
        ebb.load(tmp_path / "x.npy", mmap=True)


def test_other_layouts_of_numpy_are_read(tmp_path):
    path = tmp_path / "x.npy"
    for array in (np.asfortranarray(np.arange(6).reshape(2, 3)), np.arange(3, dtype=">f4"),
                  np.array(1.5), np.zeros((0, 4)), np.arange(8)[::-2]):  # fmt: skip
        np.save(path, array)
        loaded = ebb.load(path)
        assert loaded.shape == array.shape and loaded.tolist() == array.tolist()
        assert loaded.is_contiguous()
    with open(path, "wb") as file:
        npy.write_array(file, np.arange(3), version=(2, 0))
    assert ebb.load(path).tolist() == [0, 1, 2]


def test_gradients_and_views_are_saved_as_values(path):
    x = ebb.arange(6).reshape(2, 3).float().requires_grad_()
    ebb.save_npz({"t": x.transpose(0, 1), "y": x * 2}, path)
    assert ebb.load_npz(path)["t"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


@pytest.mark.parametrize(
    "tensors, text",
    [
        ([1], "save_npz: needs a dict of Tensors, got list"),
        ({"a": np.ones(1)}, "save_npz: needs a Tensor for 'a', got ndarray"),
        ({1: ebb.ones(1)}, "save_npz: needs names as text, got 1"),
        ({"": ebb.ones(1)}, "save_npz: needs names as text, got ''"),
        ({"a": ebb.ones(1, dtype=ebb.bfloat16)}, "needs a dtype that NumPy has, got bfloat16"),
    ],
)
def test_what_cannot_be_saved_is_a_type_error(path, tensors, text):
    with pytest.raises(TypeError) as caught:
        ebb.save(tensors, path)
    assert text in str(caught.value)
    assert os.listdir(path.parent) == []


def test_a_failed_save_leaves_the_old_file(path, monkeypatch):
    ebb.save_npz({"a": ebb.ones(1)}, path)

    def fail(file, array):
        file.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(ebb.io.npz, "_write_array", fail)
    with pytest.raises(KeyboardInterrupt):
        ebb.save_npz({"a": ebb.zeros(1)}, path)
    monkeypatch.undo()
    assert ebb.load_npz(path)["a"].item() == 1.0
    assert os.listdir(path.parent) == ["x.npz"]


def test_paths_that_cannot_be_used_are_os_errors(tmp_path):
    for name in ("x.npz", "x.npy"):
        with pytest.raises(OSError, match=r"needs a readable file, got .*: No such file"):
            ebb.load(tmp_path / name)
        with pytest.raises(OSError, match=r"needs a writable file, got .*: No such file"):
            ebb.save(ebb.ones(1) if name == "x.npy" else {}, tmp_path / "missing" / name)
        (tmp_path / "folder" / name).mkdir(parents=True)
        with pytest.raises(OSError, match="needs the path of a file"):
            ebb.save(ebb.ones(1) if name == "x.npy" else {}, tmp_path / "folder" / name)


def test_a_full_disk_is_an_os_error(path):
    limited = """
        import resource, signal, sys, ebb
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        for name in sys.argv[1:]:
            try:
                ebb.save({"a": ebb.ones(5000)}, name)
            except OSError as error:
                print(error)
    """
    lines = printed(limited, path, path.with_suffix(".st")).splitlines()
    assert len(lines) == 2 and all("writing failed: File too large" in line for line in lines)
    assert os.listdir(path.parent) == []


def test_the_mode_of_the_old_file_is_kept_and_links_are_followed(path):
    ebb.save_npz({}, path)
    os.chmod(path, 0o640)
    link = path.with_name("link.npz")
    link.symlink_to(path)
    ebb.save_npz({"a": ebb.ones(1)}, link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    assert ebb.load(path)["a"].item() == 1.0


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_saving_through_a_dangling_link_makes_the_file_it_names(tmp_path, suffix):
    link, real = tmp_path / f"link{suffix}", tmp_path / f"real{suffix}"
    link.symlink_to(real.name)
    ebb.save({"a": ebb.ones(1)}, link)
    assert link.is_symlink() and not real.is_symlink()
    assert ebb.load(real)["a"].item() == ebb.load(link)["a"].item() == 1.0


def test_atomic_files_refuse_what_they_are_not():
    for call in (
        lambda: ebb._C._atomic_open("op"),
        lambda: ebb._C._atomic_open(3, "x"),
        lambda: ebb._C._atomic_write(3, b""),
        lambda: ebb._C._atomic_commit(None),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()


def header_of(shape, descr="'<f4'", is_fortran="False"):
    text = f"{{'descr': {descr}, 'fortran_order': {is_fortran}, 'shape': {shape}, }}"
    body = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


class Evil:
    def __reduce__(self):
        return os.mkdir, ("/tmp/ebb_was_here",)


def pickled():
    file = io.BytesIO()
    np.save(file, np.array([Evil()], dtype=object), allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize(
    "content, text",
    [
        (b"", "magic"),
        (b"\x93NUMPY\x03\x00" + b"\0" * 40, "its version is (3, 0)"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "its header claims 65535 bytes of at most 10000"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "its header claims 4294967295 bytes"),
        (b"\x93NUMPY\x01\x00\x00\x01{", "EOF"),
        (header_of("(3,)"), "takes 12 bytes, but 0 follow"),
        (header_of("(3,)") + b"\0" * 13, "takes 12 bytes, but 13 follow"),
        (header_of(f"({2**62}, 8)"), "follow"),
        (header_of("(-1,)"), "its shape is (-1,)"),
        (header_of("(True,)"), ""),
        (header_of("3"), "shape"),
        (header_of("(0,)" * 1), None),
        (header_of("(" + "1," * 65 + ")") + b"\0" * 4, "65 dims"),
        (header_of("(1,)", "'|O'") + b"\0" * 8, "only numbers are read"),
        (header_of("(1,)", "'<U4'") + b"\0" * 16, "only numbers are read"),
        (header_of("(1,)", "'<M8[s]'") + b"\0" * 8, "only numbers are read"),
        (header_of("(1,)", "[('a', '<f4')]") + b"\0" * 4, "only numbers are read"),
        (header_of("(1,)", "'nonsense'"), "descr"),
        (header_of("__import__('os')"), ""),
        (header_of("(" * 5000), ""),
        (pickled(), "only numbers are read"),
    ],
)
def test_wrong_npy_files_are_value_errors(tmp_path, content, text):
    for file in (tmp_path / "x.npy", tmp_path / "x.npz"):
        if file.suffix == ".npy":
            file.write_bytes(content)
        else:
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("a.npy", content)
        if text is None:
            ebb.load(file)
            continue
        with pytest.raises(
            ebb.errors.ValueError, match=r"needs an .np[yz] file of numbers"
        ) as caught:
            ebb.load(file)
        assert text in str(caught.value)
    assert not os.path.exists("/tmp/ebb_was_here")


def test_damaged_archives_are_value_errors(path):
    rng = np.random.default_rng(0)
    ebb.save_npz({"a": ebb.randn(40), "b": ebb.ones(300)}, path, compressed=True)
    content = path.read_bytes()
    for number in range(300):
        damaged = bytearray(content)
        if number % 3 == 0:
            damaged = damaged[: rng.integers(len(damaged))]
        for _ in range(number % 3):
            damaged[rng.integers(len(damaged))] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            ebb.load_npz(path)
        except ValueError as error:
            assert isinstance(error, ebb.Error)


def test_a_name_that_occurs_twice_is_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        for _ in range(2):
            with pytest.warns() if archive.namelist() else open(os.devnull):
                archive.writestr("a.npy", header_of("(1,)") + b"\0" * 4)
    with pytest.raises(ValueError, match="it holds 'a' twice"):
        ebb.load_npz(path)
