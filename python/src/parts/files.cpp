// python/src/parts/files.cpp -- tensors in files and data sets, for python/ebb.
//
// The Python package checks what users pass; these functions convert and call down, without the GIL
// while a file is read or written.
#include "python/src/parts/files.h"

#include <limits>
#include <map>
#include <memory>
#include <string>

#include "ebb/core/base/error.h"
#include "ebb/data/digits.h"
#include "ebb/io/atomic_file.h"
#include "ebb/io/read_file.h"
#include "ebb/io/safetensors.h"
#include "python/src/base/errors.h"
#include "python/src/base/tensor_object.h"
#include "python/src/base/text.h"
#include "python/src/calls/args.h"

namespace ebb::python {
namespace {

using Args = PyObject* const*;

std::string text_of(const char* op, const char* what, PyObject* object) {
  Py_ssize_t bytes = 0;
  const char* const text =
      PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &bytes) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    throw DTypeError(str(op, ": needs ", what, " as valid text, got ", type_name(object)));
  }
  return {text, static_cast<size_t>(bytes)};
}

std::map<std::string, std::string> metadata_of(PyObject* object) {
  std::map<std::string, std::string> metadata;
  if (object == Py_None) return metadata;
  if (!PyDict_Check(object)) {
    throw DTypeError(str("save: needs metadata as a dict, got ", type_name(object)));
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(object, &position, &key, &value) != 0) {
    metadata[text_of("save", "metadata names", key)] = text_of("save", "metadata", value);
  }
  return metadata;
}

// (path, names: tuple of str, tensors: tuple of Tensor, metadata: dict or None)
PyObject* save(PyObject*, Args args, Py_ssize_t count) {
  if (count != 4 || !PyTuple_Check(args[1]) || !PyTuple_Check(args[2]) ||
      PyTuple_GET_SIZE(args[1]) != PyTuple_GET_SIZE(args[2])) {
    throw DTypeError("save: needs a path, names, as many tensors, and metadata");
  }
  const std::string path = path_of("save", args[0]);
  const std::map<std::string, std::string> metadata = metadata_of(args[3]);
  io::NamedTensors tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); ++i) {
    PyObject* const tensor = PyTuple_GET_ITEM(args[2], i);
    std::string name = text_of("save", "names", PyTuple_GET_ITEM(args[1], i));
    if (!is_tensor(tensor)) {
      throw DTypeError("save: needs a Tensor for '" + name + "', got " + type_name(tensor));
    }
    tensors.emplace_back(std::move(name), tensor_of(tensor));
  }
  {
    const ReleaseGil released;
    io::save_safetensors(path, tensors, metadata);
  }
  return Py_NewRef(Py_None);
}

// (path, mmap: bool) -> (dict of tensors, dict of metadata)
PyObject* load(PyObject*, Args args, Py_ssize_t count) {
  if (count != 2) throw DTypeError("load: needs a path, and whether to map it");
  const std::string path = path_of("load", args[0]);
  const int is_mapped = PyObject_IsTrue(args[1]);
  check_status(is_mapped);
  io::SafetensorsFile file;
  {
    const ReleaseGil released;
    file = io::load_safetensors(path, is_mapped != 0 ? io::Access::map : io::Access::read);
  }
  const Ref tensors(PyDict_New());
  for (auto& [name, tensor] : file.tensors) {
    const Ref value(wrap(std::move(tensor)));
    const Ref key(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
    check_status(PyDict_SetItem(tensors.get(), key.get(), value.get()));
  }
  const Ref metadata(PyDict_New());
  for (const auto& [name, text] : file.metadata) {
    const Ref key(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
    const Ref value(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
    check_status(PyDict_SetItem(metadata.get(), key.get(), value.get()));
  }
  return checked(PyTuple_Pack(2, tensors.get(), metadata.get()));
}

constexpr char kAtomicFile[] = "ebb.AtomicFile";

io::AtomicFile& atomic_file_of(PyObject* capsule) {
  void* const file = PyCapsule_GetPointer(capsule, kAtomicFile);
  if (file == nullptr) throw ErrorSet();
  return *static_cast<io::AtomicFile*>(file);
}

// (op, path) -> a file that takes the place of `path` once it is committed, and vanishes otherwise
PyObject* atomic_open(PyObject*, Args args, Py_ssize_t count) {
  if (count != 2) throw DTypeError("save: needs the name of an op and a path");
  const std::string op = text_of("save", "the name of an op", args[0]);
  auto file = std::make_unique<io::AtomicFile>(op, path_of(op.c_str(), args[1]));
  PyObject* const capsule = PyCapsule_New(file.get(), kAtomicFile, [](PyObject* self) {
    delete static_cast<io::AtomicFile*>(PyCapsule_GetPointer(self, kAtomicFile));
  });
  if (capsule != nullptr) static_cast<void>(file.release());
  return checked(capsule);
}

// (file, bytes-like) -> number of bytes
PyObject* atomic_write(PyObject*, Args args, Py_ssize_t count) {
  if (count != 2) throw DTypeError("save: needs a file and bytes");
  io::AtomicFile& file = atomic_file_of(args[0]);
  Py_buffer buffer;
  check_status(PyObject_GetBuffer(args[1], &buffer, PyBUF_SIMPLE));
  const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> owner(&buffer, PyBuffer_Release);
  {
    const ReleaseGil released;
    file.write(buffer.buf, static_cast<size_t>(buffer.len));
  }
  return PyLong_FromSsize_t(buffer.len);
}

PyObject* atomic_commit(PyObject*, PyObject* capsule) {
  io::AtomicFile& file = atomic_file_of(capsule);
  {
    const ReleaseGil released;
    file.commit();
  }
  return Py_NewRef(Py_None);
}

// (name of the caller, descriptor, bytes) -> uint8 tensor over the memory, which the descriptor no
// longer matters to
PyObject* map_descriptor(PyObject*, Args args, Py_ssize_t count) {
  if (count != 3) throw DTypeError("map: needs a name, a descriptor and a number of bytes");
  const std::string op = text_of("map", "the name of an op", args[0]);
  const int64_t descriptor = to_int64(args[1]);
  const int64_t bytes = to_int64(args[2]);
  if (descriptor < 0 || descriptor > std::numeric_limits<int>::max() || bytes < 0) {
    throw ValueError(
        str(op, ": needs a descriptor and a number of bytes, got ", descriptor, " and ", bytes));
  }
  const auto file =
      io::MappedFile::make(op.c_str(), static_cast<int>(descriptor), static_cast<uint64_t>(bytes));
  return wrap(file->view(0, Shape{bytes}, DType::uint8));
}

// tensor -> bool: whether nothing else uses its memory, be it tensors, arrays or buffers
PyObject* owns_storage_alone(PyObject*, PyObject* object) {
  if (!is_tensor(object) || !tensor_of(object).defined()) {
    throw DTypeError(str("needs a Tensor, got ", type_name(object)));
  }
  return PyBool_FromLong(tensor_of(object).impl()->storage->is_unique() ? 1 : 0);
}

// path -> (train images, train labels, test images, test labels)
PyObject* load_digits(PyObject*, PyObject* path) {
  data::DigitsSplit split = data::load_digits(path_of("load_digits", path));
  const Ref train_images(wrap(std::move(split.train.images)));
  const Ref train_labels(wrap(std::move(split.train.labels)));
  const Ref test_images(wrap(std::move(split.test.images)));
  const Ref test_labels(wrap(std::move(split.test.labels)));
  return checked(PyTuple_Pack(4, train_images.get(), train_labels.get(), test_images.get(),
                              test_labels.get()));
}

PyMethodDef kFunctions[] = {
    {"_save", guarded_method<save>(), METH_FASTCALL, nullptr},
    {"_atomic_open", guarded_method<atomic_open>(), METH_FASTCALL, nullptr},
    {"_atomic_write", guarded_method<atomic_write>(), METH_FASTCALL, nullptr},
    {"_atomic_commit", guarded_method<atomic_commit>(), METH_O, nullptr},
    {"_load", guarded_method<load>(), METH_FASTCALL, nullptr},
    {"_map_descriptor", guarded_method<map_descriptor>(), METH_FASTCALL, nullptr},
    {"_owns_storage_alone", guarded_method<owns_storage_alone>(), METH_O, nullptr},
    {"_load_digits", guarded_method<load_digits>(), METH_O, nullptr},
    {},
};

}  // namespace

void add_files(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
