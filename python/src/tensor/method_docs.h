// python/src/tensor/method_docs.h -- help of the methods of Tensor that are written by hand.
//
// Each opens with its signature, which Python takes off (`inspect.signature`); the examples are run
// by tests/python/package/test_help.py. The table in methods.cpp says what each method calls.
#pragma once

namespace ebb::python {

constexpr const char* kSizeDoc = R"(size($self, dim=None)
--

Return the shape, or the size of one dim.

Example:
    >>> x = ebb.ones(2, 3)
    >>> x.size(), x.size(-1)
    (ebb.Size([2, 3]), 3)
)";

constexpr const char* kStrideDoc = R"(stride($self, dim=None)
--

Return the strides in elements, or that of one dim.

Example:
    >>> x = ebb.ones(2, 3)
    >>> x.stride(), x.t().stride(), x.stride(0)
    ((3, 1), (1, 3), 3)
)";

constexpr const char* kDimDoc = R"(dim($self)
--

Return the number of dims.

Example:
    >>> ebb.ones(2, 3).dim()
    2
)";

constexpr const char* kNdimensionDoc = R"(ndimension($self)
--

Return the number of dims.

Example:
    >>> ebb.ones(2, 3).ndimension()
    2
)";

constexpr const char* kNumelDoc = R"(numel($self)
--

Return the number of elements.

Example:
    >>> ebb.ones(2, 3).numel()
    6
)";

constexpr const char* kNelementDoc = R"(nelement($self)
--

Return the number of elements.

Example:
    >>> ebb.ones(2, 3).nelement()
    6
)";

constexpr const char* kStorageOffsetDoc = R"(storage_offset($self)
--

Return the elements before the first in its storage.

Example:
    >>> ebb.arange(6)[2:].storage_offset()
    2
)";

constexpr const char* kDataPtrDoc = R"(data_ptr($self)
--

Return the address of the first element; 0 on meta.

Example:
    >>> x = ebb.arange(6, dtype=ebb.float32)
    >>> x[2:].data_ptr() - x.data_ptr()
    8
)";

constexpr const char* kElementSizeDoc = R"(element_size($self)
--

Return the bytes of one element.

Example:
    >>> ebb.ones(3, dtype=ebb.float64).element_size()
    8
)";

constexpr const char* kIsContiguousDoc = R"(is_contiguous($self, memory_format=None)
--

Return whether elements lie without gaps in row-major order, or that of a memory_format.

Example:
    >>> x = ebb.ones(2, 3)
    >>> x.is_contiguous(), x.t().is_contiguous()
    (True, False)
)";

constexpr const char* kIsInferenceDoc = R"(is_inference($self)
--

Return whether the memory was made in inference mode.

Example:
    >>> with ebb.inference_mode():
    ...     x = ebb.ones(2)
    >>> x.is_inference()
    True
)";

constexpr const char* kIsFloatingPointDoc = R"(is_floating_point($self)
--

Return whether the dtype is a real floating type.

Example:
    >>> ebb.ones(2).is_floating_point(), ebb.arange(2).is_floating_point()
    (True, False)
)";

constexpr const char* kIsComplexDoc = R"(is_complex($self)
--

Return whether the dtype is complex.

Example:
    >>> ebb.tensor([1j]).is_complex()
    True
)";

constexpr const char* kItemDoc = R"(item($self)
--

Return the only element as a Python number.

Example:
    >>> ebb.tensor([2.5]).item()
    2.5
)";

constexpr const char* kTolistDoc = R"(tolist($self)
--

Return nested lists of Python numbers.

Example:
    >>> ebb.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
)";

constexpr const char* kRequiresGradInPlaceDoc = R"(requires_grad_($self, requires_grad=True)
--

Mark a leaf and return it.

Example:
    >>> ebb.zeros(2).requires_grad_()
    tensor([0., 0.], requires_grad=True)
)";

constexpr const char* kRetainGradDoc = R"(retain_grad($self)
--

Keep the gradient of a tensor that is not a leaf.

Example:
    >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> y.retain_grad()
    >>> (3 * y).sum().backward()
    >>> y.grad
    tensor([3., 3.])
)";

constexpr const char* kDetachInPlaceDoc = R"(detach_($self)
--

Forget the tensor's history and return it.

Raises:
    AutogradError: If the tensor is a view; use detach().

Example:
    >>> x = ebb.ones(2, requires_grad=True)
    >>> (x * 2).detach_()
    tensor([2., 2.])
)";

constexpr const char* kBackwardDoc =
    R"(backward($self, gradient=None, retain_graph=None, create_graph=False, inputs=None)
--

Add this tensor's gradient to the `grad` of every leaf it depends on.

Example:
    >>> x = ebb.tensor([1.0, 3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 6.])
)";

constexpr const char* kRegisterHookDoc = R"(register_hook($self, hook)
--

Call `hook(grad)` whenever a run has completed this tensor's gradient.

A Tensor that it returns replaces the gradient. Returns a handle whose remove() takes the hook away.

Example:
    >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
    >>> handle = x.register_hook(lambda grad: 10 * grad)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([20., 40.])
    >>> handle.remove()
    True
)";

constexpr const char* kRegisterPostAccumulateGradHookDoc =
    R"(register_post_accumulate_grad_hook($self, hook)
--

Call `hook(tensor)` right after a gradient was added to this leaf's `grad`.

Example:
    >>> x = ebb.tensor([1.0, 2.0], requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
    >>> (x * x).sum().backward()
    tensor([2., 4.])
)";

constexpr const char* kToDoc = R"(to($self, *args, **kwargs)
--

Return the tensor in another dtype, on another device, or both; itself if that is so.

to(dtype), to(device=None, dtype=None) or to(other); all take non_blocking=False, copy=False,
memory_format=None.

Example:
    >>> ebb.arange(3).to(ebb.float64)
    tensor([0., 1., 2.], dtype=ebb.float64)
    >>> ebb.ones(2).to("cpu", dtype=ebb.int32)
    tensor([1, 1], dtype=ebb.int32)
)";

constexpr const char* kTypeAsDoc = R"(type_as($self, other)
--

Return it in other's dtype.

Example:
    >>> ebb.arange(3).type_as(ebb.ones(1))
    tensor([0., 1., 2.])
)";

constexpr const char* kFloatDoc = R"(float($self, *, memory_format=None)
--

Return it as float32.

Example:
    >>> ebb.arange(3).float()
    tensor([0., 1., 2.])
)";

constexpr const char* kDoubleDoc = R"(double($self, *, memory_format=None)
--

Return it as float64.

Example:
    >>> ebb.arange(2).double()
    tensor([0., 1.], dtype=ebb.float64)
)";

constexpr const char* kHalfDoc = R"(half($self, *, memory_format=None)
--

Return it as float16.

Example:
    >>> ebb.arange(2).half()
    tensor([0., 1.], dtype=ebb.float16)
)";

constexpr const char* kBfloat16Doc = R"(bfloat16($self, *, memory_format=None)
--

Return it as bfloat16.

Example:
    >>> ebb.arange(2).bfloat16()
    tensor([0., 1.], dtype=ebb.bfloat16)
)";

constexpr const char* kByteDoc = R"(byte($self, *, memory_format=None)
--

Return it as uint8.

Example:
    >>> ebb.tensor([1.9, 255.0]).byte()
    tensor([  1, 255], dtype=ebb.uint8)
)";

constexpr const char* kCharDoc = R"(char($self, *, memory_format=None)
--

Return it as int8.

Example:
    >>> ebb.tensor([1.9, -2.0]).char()
    tensor([ 1, -2], dtype=ebb.int8)
)";

constexpr const char* kShortDoc = R"(short($self, *, memory_format=None)
--

Return it as int16.

Example:
    >>> ebb.tensor([1.9, -2.0]).short()
    tensor([ 1, -2], dtype=ebb.int16)
)";

constexpr const char* kIntDoc = R"(int($self, *, memory_format=None)
--

Return it as int32.

Example:
    >>> ebb.tensor([1.9, -2.0]).int()
    tensor([ 1, -2], dtype=ebb.int32)
)";

constexpr const char* kLongDoc = R"(long($self, *, memory_format=None)
--

Return it as int64.

Example:
    >>> ebb.tensor([1.9, -2.0]).long()
    tensor([ 1, -2])
)";

constexpr const char* kBoolDoc = R"(bool($self, *, memory_format=None)
--

Return it as bool.

Example:
    >>> ebb.tensor([0.0, 0.5]).bool()
    tensor([False,  True])
)";

constexpr const char* kCpuDoc = R"(cpu($self, memory_format=None)
--

Return it in the CPU's memory; itself if it is there.

Example:
    >>> x = ebb.ones(2)
    >>> x.cpu() is x
    True
)";

constexpr const char* kNumpyDoc = R"(numpy($self, *, force=False)
--

Return a NumPy array over the same memory.

With force, one of the values alone: detached, and copied to the CPU if need be.

Raises:
    RuntimeError: If the tensor requires grad.

Example:
    >>> x = ebb.zeros(2)
    >>> x.numpy()[0] = 5
    >>> x
    tensor([5., 0.])
)";

constexpr const char* kAsSubclassDoc = R"(as_subclass($self, cls)
--

Return the same memory, with its history, as an object of cls.

Example:
    >>> class Weight(ebb.Tensor):
    ...     pass
    >>> type(ebb.ones(2).as_subclass(Weight)).__name__
    'Weight'
)";

}  // namespace ebb::python
