# tests/python/io/reference_torch_files.py -- files that PyTorch writes, and reads.
"""Prints files of PyTorch: ``python -m tests.python.io.reference_torch_files write``.

reference_torch_files.json is that output, of PyTorch 2.15.0: an archive and a stream, in base64.
``... read FILE`` checks that PyTorch finds in a file of ``ebb.save(contents(ebb), FILE)`` what is
in it.
"""

import base64
import io
import json
import sys
from collections import OrderedDict, defaultdict


def contents(module, stream=False):
    """Return an object that has one of everything; streams know fewer dtypes."""
    whole = module.arange(12, dtype=module.float32).reshape(3, 4)
    dtypes = ["float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool",
              "complex64", "complex128"]  # fmt: skip
    dtypes += [] if stream else ["uint16", "uint32", "uint64"]
    values = module.tensor([0.0, 1.0, 1.0], dtype=module.float32)
    return {
        "dtypes": OrderedDict((name, values.to(getattr(module, name))) for name in dtypes),
        "whole": whole,
        "turned": whole.t(),
        "part": whole[1:, 1:3],
        "wide": module.ones(3).expand(2, 3),
        "empty": module.zeros(0, 3),
        "single": module.tensor(7),
        "trained": module.ones(2, requires_grad=True),
        "parameter": module.nn.Parameter(whole),
        "frozen": module.nn.Parameter(module.ones(1), requires_grad=False),
        "plain": [None, True, -3, 300, 70000, 10**30, 1.5, float("inf"), "ä", b"\x00\xff", 1 + 2j],
        "nested": ({"a": [(1, 2, 3, 4), ()]}, {2, 3}, bytearray(b"xy"), slice(1, None)),
        "counts": defaultdict(int, {"n": 1}),
        "size": module.Size([2, 3]),
        "dtype": module.float16,
        "device": module.device("cpu"),
    }


def same(found, expected):
    """Return whether two objects are alike, tensors in values, dtype, strides and kind."""
    if type(found).__name__ != type(expected).__name__:
        return False
    if hasattr(found, "stride"):
        return (
            str(found.dtype).partition(".")[2] == str(expected.dtype).partition(".")[2]
            and tuple(found.shape) == tuple(expected.shape)
            and (found.numel() == 0 or found.stride() == expected.stride())
            and found.requires_grad == expected.requires_grad
            and found.tolist() == expected.tolist()
        )
    if isinstance(found, dict):
        return list(found) == list(expected) and all(same(found[k], expected[k]) for k in found)
    if isinstance(found, list | tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if type(found).__name__ == "dtype":
        return str(found).partition(".")[2] == str(expected).partition(".")[2]
    return found == expected or str(found) == str(expected)


def main():
    """Write with PyTorch what ebb has to read, or read what ebb wrote."""
    import torch

    if sys.argv[1] == "read":
        found = torch.load(sys.argv[2], weights_only=False)
        print(same(found, contents(torch)))
        return
    files = {}
    for kind in ("archive", "stream"):
        file = io.BytesIO()
        made = contents(torch, kind == "stream")
        torch.save(made, file, _use_new_zipfile_serialization=kind == "archive")
        files[kind] = base64.b64encode(file.getvalue()).decode()
    print(json.dumps(files, indent=1))


if __name__ == "__main__":
    main()
