# tests/tools/test_device_ops.py -- the page of ops on devices says what the registry lacks.
from codegen.dtypes import mask
from codegen.emit.common import kernels_of
from codegen.generate import load_family, table_path
from tools.check import device_ops

FAMILY = load_family(table_path("pool"))
COMPLETE = {kernel.name: mask(kernel.dtypes) for kernel in kernels_of([FAMILY])}
OP = next(op for op in FAMILY.ops if len(op.kernels) > 1)
KERNEL = OP.kernels[0].name


def test_a_device_with_all_kernels_lacks_none():
    assert all(device_ops.lacking(op, COMPLETE) == [] for op in FAMILY.ops)
    sections = device_ops.page([FAMILY], COMPLETE).split("\n## ")
    assert f"`{OP.full_name}`" not in sections[1] and f"`{OP.full_name}`" in sections[2]


def test_a_kernel_that_a_device_does_not_have_is_listed():
    for gone in (0, -1):
        registry = {**COMPLETE, KERNEL: gone}
        assert device_ops.lacking(OP, registry) == [f"`{KERNEL}`"]
        sections = device_ops.page([FAMILY], registry).split("\n## ")
        assert f"| pool | `{OP.full_name}` | `{KERNEL}` |" in sections[1]
        assert f"`{OP.full_name}`" not in sections[2]


def test_dtypes_that_a_kernel_does_not_have_are_listed():
    registry = {**COMPLETE, KERNEL: COMPLETE[KERNEL] & ~mask(("float64",))}
    assert device_ops.lacking(OP, registry) == [f"`{KERNEL}` (float64)"]
