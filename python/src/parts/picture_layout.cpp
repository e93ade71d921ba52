// python/src/parts/picture_layout.cpp -- ebb/graph/layout on columns of Python, as arrays or bytes.
#include "python/src/parts/picture_layout.h"

#include <cstdint>

#include "ebb/core/base/error.h"
#include "ebb/graph/layout/columns.h"
#include "ebb/graph/layout/layout.h"
#include "ebb/graph/layout/loops.h"
#include "python/src/base/errors.h"

namespace ebb::python {
namespace {

/// A column of numbers for as long as it is read.
template <typename T>
class Column {
 public:
  explicit Column(PyObject* object) {
    if (PyObject_GetBuffer(object, &buffer_, PyBUF_CONTIG_RO) != 0) throw ErrorSet();
    if (buffer_.itemsize == sizeof(T)) return;
    PyBuffer_Release(&buffer_);
    throw InternalError(str("layout: needs a column of numbers of ", sizeof(T), " bytes"));
  }
  ~Column() { PyBuffer_Release(&buffer_); }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  layout::View<T> view() const {
    return {static_cast<const T*>(buffer_.buf), static_cast<int>(buffer_.len / buffer_.itemsize)};
  }

 private:
  Py_buffer buffer_;
};

constexpr const char* format_of(double) { return "d"; }
constexpr const char* format_of(int) { return "i"; }
constexpr const char* format_of(uint8_t) { return "B"; }

template <typename T>
PyObject* pack(const layout::Array<T>& values) {
  const auto bytes = static_cast<Py_ssize_t>(values.size() * sizeof(T));
  const Ref held(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(values.data()), bytes));
  const Ref view(PyMemoryView_FromObject(held.get()));
  return checked(PyObject_CallMethod(view.get(), "cast", "s", format_of(T())));
}

/// _lay_out(parent, is_frame, rank, width, height, from, to): the columns of layout::Input; returns
/// those of layout::each_column() by name.
PyObject* lay_out(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* given[7];
    if (PyArg_ParseTuple(args, "OOOOOOO", &given[0], &given[1], &given[2], &given[3], &given[4],
                         &given[5], &given[6]) == 0) {
      return nullptr;
    }
    const Column<int> parent(given[0]), from(given[5]), to(given[6]);
    const Column<uint8_t> is_frame(given[1]);
    const Column<double> rank(given[2]), width(given[3]), height(given[4]);
    layout::Layout found({parent.view(), is_frame.view(), rank.view(), width.view(), height.view(),
                          from.view(), to.view()});
    while (found.step()) continue;
    Ref columns(PyDict_New());
    layout::each_column(found.places(), [&](const char* name, const auto& values) {
      const Ref column(pack(values));
      check_status(PyDict_SetItemString(columns.get(), name, column.get()));
    });
    return columns.release();
  });
}

/// _find_loops(symbols, wire_start, wire_input, wire_maker, least_ops): three numbers for each
/// loop.
PyObject* find_loops(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* given[4];
    int least_ops = 0;
    if (PyArg_ParseTuple(args, "OOOOi", &given[0], &given[1], &given[2], &given[3], &least_ops) ==
        0) {
      return nullptr;
    }
    const Column<int> symbols(given[0]), start(given[1]), input(given[2]), maker(given[3]);
    return pack(
        layout::find_loops({symbols.view(), start.view(), input.view(), maker.view(), least_ops}));
  });
}

PyMethodDef kFunctions[] = {
    {"_lay_out", lay_out, METH_VARARGS, nullptr},
    {"_find_loops", find_loops, METH_VARARGS, nullptr},
    {},
};

}  // namespace

void add_picture_layout(PyObject* module) {
  check_status(PyModule_AddFunctions(module, kFunctions));
}

}  // namespace ebb::python
