# satellites/torch/tests/test_pickles.py -- modules, optimizers and sparse tensors of PyTorch's
# files.
import base64
import io
import json
import pickle
from pathlib import Path

import pytest

import ebb
from tests.python.io import reference_torch_objects as reference

FILES = json.loads(Path(reference.__file__).with_suffix(".json").read_text())
OUTCOMES = FILES.pop("outcomes")
pytestmark = pytest.mark.usefixtures("torch")


def file_of(name):
    return io.BytesIO(base64.b64decode(FILES[name]))


def names_of(*kinds):
    return [name for name in FILES if name.split(".")[0] in kinds]


@pytest.mark.parametrize("name", names_of(*reference.modules(ebb)))
def test_a_whole_module_of_pytorch_computes_the_same(name):
    kind = name.split(".")[0]
    _, given = reference.modules(ebb)[kind]
    model = ebb.load(file_of(name), weights_only=False)
    assert reference.outcome(model, given) == pytest.approx(OUTCOMES[kind], rel=1e-5, abs=1e-6)
    again = io.BytesIO()
    ebb.save(model, again)
    again.seek(0)
    read = ebb.load(again, weights_only=False)
    assert reference.outcome(read, given) == pytest.approx(OUTCOMES[kind], rel=1e-5, abs=1e-6)


def test_parts_of_a_module_are_of_their_kind():
    model = ebb.load(file_of("mixed.archive"), weights_only=False)
    assert {name for name, _ in model.named_parameters()} == set(
        reference.modules(ebb)["mixed"][0].state_dict()
    ) - {f"1.{name}" for name in ("running_mean", "running_var", "num_batches_tracked")}
    assert "1.scratch" in dict(model.named_buffers()) and "1.scratch" not in model.state_dict()
    assert model[6].act is ebb.tanh and all(one.requires_grad for one in model.parameters())


def test_hooks_of_a_module_are_its_hooks():
    called = []
    empty = {name: {} for name in ("_parameters", "_buffers", "_modules", "_forward_hooks")}
    state = {
        **empty, "training": False, "tag": 3,
        "_forward_pre_hooks": {4: lambda module, args: called.append(args)},
        "_forward_pre_hooks_with_kwargs": {},
        "_forward_hooks": {7: lambda module, args, kwargs, out: called.append((kwargs, out))},
        "_forward_hooks_with_kwargs": {7: True},
        "_backward_hooks": {9: lambda module, grads, wanted: called.append(len(grads))},
    }  # fmt: skip
    made = ebb.nn.Identity.__new__(ebb.nn.Identity)
    made.__setstate__(state)
    x = ebb.ones(1, requires_grad=True)
    made(x).sum().backward()
    assert called[0] == (x,) and called[1][0] == {} and called[2] == 1
    assert made.tag == 3 and not made.training


@pytest.mark.parametrize("name", names_of("trained"))
def test_an_optimizer_and_its_schedule_go_on(name):
    weight, optimizer, schedule = ebb.load(file_of(name), weights_only=False)
    assert optimizer.param_groups[0]["params"][0] is weight and schedule.optimizer is optimizer
    found = reference.step(weight, optimizer, schedule)
    assert found == pytest.approx(OUTCOMES["trained"], rel=1e-6)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", names_of("sparse"))
def test_sparse_tensors_are_read(name, weights_only):
    found = ebb.load(file_of(name), weights_only=weights_only)
    for one, expected in zip(found, reference.sparse(ebb), strict=True):
        assert one.layout is expected.layout and ebb.equal(one.to_dense(), expected.to_dense())
    assert [one.is_coalesced() for one in found[:2]] == [False, True]


def test_sparse_tensors_are_written_under_pytorchs_names():
    file = io.BytesIO()
    ebb.save(reference.sparse(ebb), file)
    content = file.getvalue()
    assert b"ctorch._utils\n_rebuild_sparse_tensor" in content and b"ebb" not in content
    file.seek(0)
    found = ebb.load(file)
    for one, expected in zip(found, reference.sparse(ebb), strict=True):
        assert one.layout is expected.layout and ebb.equal(one.to_dense(), expected.to_dense())


class OldPickler(pickle.Pickler):
    """Keeps classes of modules elsewhere, as PyTorch's streams do."""

    was_told = False

    def persistent_id(self, obj):
        if obj is not Tagged or self.was_told:
            return None
        self.was_told = True
        return ("module", obj, "file.py", "class Tagged")


class Tagged:
    made = 0

    def __init__(self, tag):
        Tagged.made += 1
        self.tag = tag

    def __reduce__(self):
        return Tagged, (self.tag,)


def test_a_class_is_kept_with_its_source_and_its_end_is_found_without_making_it():
    file = io.BytesIO()
    for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, Tagged(3), []):
        OldPickler(file, 2).dump(part)
    file.seek(0)
    Tagged.made = 0
    assert ebb.load(file, weights_only=False).tag == 3 and Tagged.made == 1
    file.seek(0)
    with pytest.raises(ValueError, match="which may not be made"):
        ebb.load(file)


def test_mmap_reads_a_file_of_pytorch(tmp_path):
    for name in ("sparse.archive", "sparse.stream4"):
        path = tmp_path / name
        path.write_bytes(base64.b64decode(FILES[name]))
        found = ebb.load(path, mmap=True)
        assert found[0].to_dense().tolist() == [[0.0, 3.0], [3.0, 0.0]]


@pytest.mark.parametrize("kind", ["spectral", "normed"])
def test_a_computed_weight_of_pytorch_is_made_a_parameter_again(kind):
    _, given = reference.modules(ebb)[kind]
    model = ebb.load(file_of(f"{kind}.archive"), weights_only=False)
    remove = {"spectral": "remove_spectral_norm", "normed": "remove_weight_norm"}[kind]
    model.eval()
    getattr(ebb.nn.utils, remove)(model)
    assert set(dict(model.named_parameters())) == {"weight", "bias"}
    assert reference.outcome(model, given) == pytest.approx(OUTCOMES[kind], rel=1e-5, abs=1e-6)
    with ebb.no_grad():
        model.weight.zero_()
    assert len(set(reference.outcome(model, given))) == 3  # no hook computes it again


@pytest.mark.parametrize("name", names_of("plain"))
def test_what_pythons_pickle_wrote_of_pytorch_is_read(name):
    whole, part, half, parameter, sparse, typed, untyped = pickle.load(file_of(name))
    whole[0, 1] = 7  # of a memory of its own: such pickles hold it once for each tensor
    assert part.tolist() == [[1, 4], [2, 5]] and typed.tolist() == list(range(6))
    assert half.tolist() == [1.5, 2.5] and half.dtype is ebb.bfloat16
    assert isinstance(parameter, ebb.nn.Parameter) and parameter.tolist() == [1, 1]
    assert sparse.layout is ebb.sparse_coo and ebb.equal(sparse.to_dense(), ebb.eye(2))
    assert isinstance(typed, ebb.FloatStorage) and untyped.nbytes() == 4
