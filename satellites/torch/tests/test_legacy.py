# satellites/torch/tests/test_legacy.py -- types, storages and printing as older programs use them.
import doctest
import importlib
import math

import pytest

import ebb

DOCUMENTED = ("_tensor.legacy", "_tensor.printing", "accelerator", "backends", "compiler", "cuda",
              "distributed", "func", "hub", "jit", "testing", "version")  # fmt: skip


@pytest.mark.usefixtures("cpu_only")
@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    module = importlib.import_module(f"ebb.{name}")
    failed, tried = doctest.testmod(module, extraglobs={"ebb": ebb}, optionflags=doctest.ELLIPSIS)
    assert tried > 0 and failed == 0


@pytest.mark.parametrize(
    ("name", "dtype"), [("FloatTensor", "float32"), ("LongTensor", "int64"), ("BoolTensor", "bool")]
)
def test_a_type_makes_tests_and_converts(name, dtype):
    kind = getattr(ebb, name)
    assert kind(2, 3).shape == (2, 3) and kind(2, 3).dtype is getattr(ebb, dtype)
    assert kind([1, 0]).tolist() == [1, 0] and kind().shape == (0,)
    assert (
        kind(ebb.Size([4])).shape == (4,) and kind(ebb.ones(2, dtype=ebb.int8)).dtype.name == dtype
    )
    assert isinstance(kind(1), kind) and not isinstance(ebb.ones(1, dtype=ebb.int8), kind)
    for spelled in (kind, f"torch.{name}"):
        assert ebb.ones(2, dtype=ebb.int8).type(spelled).dtype.name == dtype


def test_a_type_refuses_what_is_neither_sizes_nor_numbers():
    with pytest.raises(TypeError, match="FloatTensor: needs sizes or one sequence of numbers"):
        ebb.FloatTensor([1.0], 2)
    with pytest.raises(TypeError, match="set_default_tensor_type: needs a type such as"):
        ebb.set_default_tensor_type(ebb.float32)


def test_a_tensor_makes_others_of_its_type():
    x = ebb.ones(2, dtype=ebb.float64)
    assert x.new(2, 3).shape == (2, 3) and x.new().shape == (0,) and x.new(2).dtype is ebb.float64
    assert x.new([1, 2]).tolist() == [1.0, 2.0] and x.new(ebb.Size([3])).shape == (3,)
    other = ebb.tensor([1, 2])
    assert x.new(other).tolist() == [1.0, 2.0] and x.new(other).dtype is ebb.float64
    assert ebb.nn.Parameter(x).new(1).requires_grad is False
    with pytest.raises(TypeError, match="new: needs sizes or one sequence of numbers"):
        x.new([1.0], 2)


def test_elements_go_through_functions_of_python():
    x = ebb.arange(4.0).reshape(2, 2)
    assert x.t().apply_(lambda one: one + 1) is not None and x.tolist() == [[1, 2], [3, 4]]
    assert x.map_(ebb.ones(2, 2), lambda a, b: a - b).tolist() == [[0, 1], [2, 3]]
    assert x.map2_(x, x, lambda a, b, c: a + b + c).tolist() == [[0, 3], [6, 9]]
    assert ebb.empty(0).apply_(abs).shape == (0,) and ebb.tensor(2).apply_(lambda n: n * 3) == 6
    with pytest.raises(TypeError, match="apply_: needs a function, got int"):
        x.apply_(3)
    with pytest.raises(RuntimeError, match="map_: needs tensors without gradient"):
        x.map_(ebb.ones(2, 2, requires_grad=True), max)
    with pytest.raises(ValueError, match=r"map_: needs tensors of one shape, got \[\[2, 2\], \["):
        x.map_(ebb.ones(1), max)


def test_storages_tell_size_and_address():
    x = ebb.arange(12.0).reshape(3, 4)[1:, ::2]
    whole = x.storage()
    assert whole.tolist() == list(range(12)) and whole[5] == 5.0
    assert whole.size() == 12 and whole.nbytes() == x.untyped_storage().nbytes() == 48
    assert whole.data_ptr() == x.data_ptr() - 16
    assert ebb.empty(0).storage().size() == 0 and ebb.is_storage(whole)
    assert whole.element_size() == 4 and x.untyped_storage().element_size() == 1
    assert not whole.is_cuda and not whole.is_pinned() and whole.cpu() is whole


def test_storages_write_to_the_memory_of_their_tensor():
    x = ebb.arange(4.0).reshape(2, 2).mT
    whole = x.storage()
    whole[1] = 9.0
    assert x.tolist() == [[0, 2], [9, 3]]
    whole.copy_(ebb.ones(4).storage())
    assert x.tolist() == [[1, 1], [1, 1]] and whole.clone().fill_(5.0).tolist() == [5.0] * 4
    assert x.untyped_storage().fill_(0).tolist() == [0] * 16 and not x.any()
    with pytest.raises(ValueError, match="copy_: needs a storage of 4 elements, got 3 elements"):
        whole.copy_(ebb.ones(3).storage())
    with pytest.raises(ValueError, match="copy_: needs a storage of 4 elements, got Tensor"):
        whole.copy_(ebb.ones(4))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("bfloat16", ebb.bfloat16), ("bool", ebb.bool), ("byte", ebb.uint8), ("char", ebb.int8),
        ("complex_double", ebb.complex128), ("complex_float", ebb.complex64),
        ("double", ebb.float64), ("float", ebb.float32), ("half", ebb.float16),
        ("int", ebb.int32), ("long", ebb.int64), ("short", ebb.int16),
    ],
)  # fmt: skip
def test_storages_of_other_dtypes_are_copies(name, dtype):
    x = ebb.tensor([1.5, 2.0])
    for whole in (x.storage(), x.untyped_storage()):
        made = getattr(whole, name)()
        values = ebb.tensor(whole.tolist()).to(dtype)
        assert type(made) is ebb.TypedStorage and made.dtype is dtype
        assert made.tolist() == values.tolist()
        made.fill_(0)
    assert x.tolist() == [1.5, 2.0]


def test_storages_show_their_elements_unless_there_are_many():
    x = ebb.tensor([1, 2], dtype=ebb.int8)
    assert repr(x.storage()) == " 1\n 2\n[TypedStorage(dtype=ebb.int8, device=cpu) of size 2]"
    assert repr(x.untyped_storage()) == " 1\n 2\n[UntypedStorage(device=cpu) of size 2]"
    many = ebb.zeros(1001).storage()
    assert repr(many) == "[TypedStorage(dtype=ebb.float32, device=cpu) of size 1001]"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"precision": 2}, "tensor([0.33, 2.00])"),
        ({"precision": 0}, "tensor([0, 2])"),
        ({"sci_mode": True}, "tensor([3.3333e-01, 2.0000e+00])"),
        ({"sci_mode": True, "precision": 1}, "tensor([3.3e-01, 2.0e+00])"),
        ({"profile": "short"}, "tensor([0.33, 2.00])"),
        ({"linewidth": 10}, "tensor([0.3333,\n        2.0000])"),
        ({"threshold": 1, "edgeitems": 1, "precision": 1}, "tensor([0.3, 2.0])"),
    ],
)
def test_printing_follows_its_options_and_returns(options, text):
    before = ebb.get_printoptions()
    with ebb.printoptions(**options):
        assert repr(ebb.tensor([1 / 3, 2.0])) == text
    assert ebb.get_printoptions() == before and repr(ebb.tensor([0.25])) == "tensor([0.2500])"


def test_a_summary_is_given_up_for_an_endless_threshold():
    with ebb.printoptions(threshold=math.inf):
        assert repr(ebb.arange(1500)).count(",") == 1499
        assert ebb.get_printoptions()["threshold"] == math.inf
    with ebb.printoptions(edgeitems=0, threshold=3):
        assert repr(ebb.arange(1500)) == "tensor([0,  ...])"


@pytest.mark.parametrize(
    "bad",
    [
        {"precision": -1},
        {"precision": 101},
        {"linewidth": 0},
        {"threshold": -1},
        {"edgeitems": -1},
        {"profile": "long"},
    ],
)
def test_a_refused_option_changes_nothing(bad):
    before = ebb.get_printoptions()
    with pytest.raises(ValueError, match="set_printoptions"):
        ebb.set_printoptions(**{"precision": 7, **bad})
    assert ebb.get_printoptions() == before


@pytest.mark.usefixtures("cpu_only")
def test_an_index_of_no_accelerator_is_refused():
    accelerator = ebb.accelerator
    for name in ("set_device_index", "set_device_idx"):
        with pytest.raises(RuntimeError, match=rf"{name}: needs a device .*\nhint: ask acc"):
            getattr(accelerator, name)(0)
    with pytest.raises(RuntimeError, match="device_index: needs a device beside the CPU, got 0"):
        accelerator.device_index(0).__enter__()
    with accelerator.device_index(None), accelerator.device_index(-1):
        assert accelerator.current_device_idx() == 0


KINDS = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16",
    "Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64",
    "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_class_of_storages_makes_and_knows_its_own(name):
    kind, dtype = getattr(ebb, f"{name}Storage"), getattr(ebb, KINDS[name])
    made = kind([1, 0])
    assert (
        made.tolist() == [1, 0] and made.dtype is dtype and len(kind(3)) == 3 and len(kind()) == 0
    )
    assert isinstance(made, kind) and isinstance(made, ebb.TypedStorage)
    assert not isinstance(ebb.ones(1, dtype=ebb.uint16).storage(), kind)
    assert made.type() == f"torch.{name}Storage" and made.pickle_storage_type() == f"{name}Storage"
    assert ebb.FloatStorage([1, 0]).type(kind).dtype is dtype
    assert ebb.ones(2, dtype=dtype).type() == f"torch.{name}Tensor"
    assert ebb.ones(2).type(f"torch.{name}Tensor").dtype is dtype


def test_classes_of_storages_read_buffers_and_files(tmp_path):
    content = bytearray(b"\x01\x00\x02\x00\x03\x00")
    made = ebb.ShortStorage.from_buffer(content, "native", offset=2)
    content[2] = 9
    assert made.tolist() == [2, 3]
    with pytest.raises(ValueError, match=r"from_buffer: needs byte_order 'native' or"):
        ebb.ShortStorage.from_buffer(content, "middle")
    (tmp_path / "x").write_bytes(b"\x01\x02")
    assert ebb.ByteStorage.from_file(str(tmp_path / "x"), size=2).tolist() == [1, 2]


def test_tensors_show_the_memory_of_storages():
    made = ebb.FloatStorage([1, 2])
    shown = ebb.ones(1).new(made), ebb.FloatTensor(made), ebb.tensor([]).set_(made)
    made[0] = 5
    assert all(one.tolist() == [5.0, 2.0] for one in shown)
    assert ebb.ones(1, dtype=ebb.int64).new(made).tolist() == [5, 2]
    untyped = ebb.UntypedStorage([0, 0, 128, 63])
    assert ebb.TypedStorage(wrap_storage=untyped, dtype=ebb.float32).tolist() == [1.0]
    assert untyped.type() == "torch.storage.UntypedStorage" and untyped.get_device() == -1
    assert made.to(device="cpu") is made and made.type("torch.IntStorage").tolist() == [5, 2]


def test_a_batch_goes_into_memory_that_processes_share():
    samples = [ebb.ones(2), ebb.zeros(2)]
    storage = samples[0]._typed_storage()._new_shared(4, device=samples[0].device)
    batch = ebb.stack(samples, 0, out=samples[0].new(storage).resize_(2, 2))
    assert batch.is_shared() and storage.share_memory_().tolist() == [1, 1, 0, 0]
    with pytest.raises(ValueError, match=r"share_memory_: .*\n.*share_memory_\(\) of the tensor"):
        samples[0].storage().share_memory_()


def test_storages_are_made_of_numbers_and_typed_by_classes():
    with pytest.raises(TypeError, match=r"TypedStorage: needs a number of elements, .* got str"):
        ebb.FloatStorage("a")
    with pytest.raises(TypeError, match=r"type: needs a class such as ebb.FloatStorage, got 'x'"):
        ebb.FloatStorage([1]).type("x")


def test_storages_keep_their_size_and_have_no_layout():
    made = ebb.FloatStorage([1, 2])
    assert not made.is_sparse and made.filename is None and not made.resizable()
    assert made.resize_(2) is made and len(made.new()) == 0 and made.new().dtype is ebb.float32
    with pytest.raises(NotImplementedError, match="resize_: a storage keeps its size 2, got 3"):
        made.resize_(3)
    content = bytearray(b"abc")
    untyped = ebb.UntypedStorage.from_buffer(content)
    content[0] = 0
    assert untyped.tolist() == [97, 98, 99] and untyped[1:].tolist() == [98, 99]
    with pytest.raises(NotImplementedError, match="a TypedStorage has no slices, got slice"):
        made[0:1]


@pytest.mark.skipif(ebb.cuda.is_available(), reason="of a machine without CUDA")
def test_storages_refuse_a_device_that_is_not_there():
    with pytest.raises(ValueError, match="needs a device that is there, got cuda:0"):
        ebb.FloatStorage([1]).cuda()


def test_modules_refuse_devices_that_no_plug_in_brings():
    for name in ("xpu", "ipu", "mtia"):
        with pytest.raises(ValueError, match=f"{name}: .*got '{name}'"):
            getattr(ebb.nn.Linear(1, 1), name)()
        with pytest.raises(ValueError, match=f"{name}: .*got '{name}:1'"):
            getattr(ebb.ones(1), name)(1)
    with pytest.raises(ValueError, match="got 'xpu:1'"):
        ebb.nn.Linear(1, 1).xpu(1)


def test_a_tensor_is_of_no_kind_that_ebb_has_not():
    x = ebb.nn.Parameter(ebb.ones(1))
    for kind in ("nested", "quantized", "mkldnn", "xla", "mtia", "ipu", "maia", "vulkan"):
        assert getattr(x, f"is_{kind}") is False and getattr(x.to("meta"), f"is_{kind}") is False
