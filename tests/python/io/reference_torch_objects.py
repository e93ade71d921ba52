# tests/python/io/reference_torch_objects.py -- whole objects that PyTorch writes.
"""Prints files of PyTorch: ``python -m tests.python.io.reference_torch_objects``.

reference_torch_objects.json is that output, of PyTorch 2.15.0, in base64, with what the modules
compute. Names end in the way of writing: an archive, a stream of pickles of protocol 2 or 4, or
what Python's pickle writes.
"""

import base64
import functools
import io
import json
import pickle

WAYS = {
    "archive": {},
    "stream": {"_use_new_zipfile_serialization": False},
    "stream4": {"_use_new_zipfile_serialization": False, "pickle_protocol": 4},
}


def sparse(module):
    """Return sparse tensors, one of which stores a place twice."""
    twice = module.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], [1.0, 2.0, 3.0], (2, 2))
    return [twice, twice.coalesce(), twice.to_dense().to_sparse_csr()]


def plain(module):
    """Return what Python's own pickle writes: a tensor and a part of it, and others."""
    whole = module.arange(6.0).reshape(2, 3)
    half = module.tensor([1.5, 2.5], dtype=module.bfloat16)
    parameter = module.nn.Parameter(module.ones(2))
    return [whole, whole.t()[1:], half, parameter, module.eye(2).to_sparse(), whole.storage(),
            half.untyped_storage()]  # fmt: skip


def modules(module):
    """Return modules, and what they are called with."""
    nn = module.nn
    image = module.arange(32.0).reshape(1, 2, 4, 4) / 32
    row = module.arange(12.0).reshape(2, 3, 2) / 12 - 0.5
    mixed = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(16, 2), nn.GELU(),
    )  # fmt: skip
    mixed[1].register_buffer("scratch", module.ones(1), persistent=False)
    mixed[6].act = module.tanh
    layer = nn.TransformerEncoderLayer(2, 1, 4, 0.0, batch_first=True)
    return {
        "mixed": (mixed, image),
        "normed": (nn.utils.weight_norm(nn.Linear(2, 3)), row),
        "spectral": (nn.utils.spectral_norm(nn.Linear(2, 3)), row),
        "lstm": (nn.LSTM(2, 2, bidirectional=True), row),
        "layer": (layer, row),
        "upsample": (nn.Upsample(scale_factor=2, mode="bilinear"), image),
    }


def outcome(model, given):
    """Return numbers that a module computes."""
    result = model.eval()(given)
    return (result[0] if isinstance(result, tuple) else result).detach().flatten().tolist()


def trained(module):
    """Return a parameter with its optimizer and schedule, after a step."""
    weight = module.nn.Parameter(module.ones(3))
    optimizer = module.optim.AdamW([weight], lr=0.5)
    schedule = module.optim.lr_scheduler.StepLR(optimizer, 1)
    step(weight, optimizer, schedule)
    return [weight, optimizer, schedule]


def step(weight, optimizer, schedule):
    """Make a step and return the weight and the rate."""
    weight.grad = weight.detach() * 0 + 0.5
    optimizer.step()
    schedule.step()
    return [*weight.tolist(), optimizer.param_groups[0]["lr"]]


def main():
    """Write with PyTorch what ebb has to read."""
    import torch

    def written(made, **way):
        file = io.BytesIO()
        torch.save(made, file, **way)
        return base64.b64encode(file.getvalue()).decode()

    torch.manual_seed(0)
    kept = modules(torch)
    makers = {"sparse": functools.partial(sparse, torch), "trained": lambda: trained(torch)}
    makers |= {name: functools.partial(pair.__getitem__, 0) for name, pair in kept.items()}
    # Streams keep the source of modules: here are those of other objects alone.
    files = {
        f"{name}.{way}": written(make(), **options)
        for name, make in makers.items()
        for way, options in WAYS.items()
        if way == "archive" or name not in kept
    }
    for protocol in (2, 4):
        content = pickle.dumps(plain(torch), protocol)
        files[f"plain.pickle{protocol}"] = base64.b64encode(content).decode()
    files["outcomes"] = {name: outcome(*pair) for name, pair in kept.items()}
    files["outcomes"]["trained"] = step(*trained(torch))
    print(json.dumps(files, indent=1))


if __name__ == "__main__":
    main()
