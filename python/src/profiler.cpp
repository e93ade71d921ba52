// python/src/profiler.cpp -- ebb/core/profile.h for ebb/profiler.
#include "python/src/profiler.h"

#include <map>
#include <string>

#include "ebb/core/profile.h"
#include "python/src/errors.h"

namespace ebb::python {
namespace {

PyObject* start(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    start_profile();
    Py_RETURN_NONE;
  });
}

/// Turns names and locations into objects, each once.
class Texts {
 public:
  PyObject* name(const char* text) {
    Ref& kept = names_[text];
    if (kept.get() == nullptr) kept = Ref(checked(PyUnicode_FromString(text)));
    return kept.get();
  }
  /// (file, line, function), or None.
  PyObject* place(LocationId id) {
    Ref& kept = places_[id];
    if (kept.get() != nullptr) return kept.get();
    const SourceLocation place = describe_location(id);
    if (place.file.empty()) {
      kept = Ref(Py_NewRef(Py_None));
    } else {
      kept = Ref(
          checked(Py_BuildValue("(sis)", place.file.c_str(), place.line, place.function.c_str())));
    }
    return kept.get();
  }

 private:
  std::map<const char*, Ref> names_;
  std::map<LocationId, Ref> places_;
};

/// Returns (duration in ns, lost ranges, ranges): each a tuple (name, kind, is_backward, start and
/// end in ns from the start, sequence number, bytes, place, thread).
PyObject* stop(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    const ProfileReport report = stop_profile();
    const auto ns = [&](uint64_t tick) {
      return static_cast<double>(static_cast<int64_t>(tick - report.start)) * report.ns_per_tick;
    };
    static const char* const kinds[] = {"user", "op", "inner"};
    Texts texts;
    Ref ranges(checked(PyList_New(0)));
    for (const ThreadProfile& thread : report.threads) {
      for (const ProfileRange& range : thread.ranges) {
        const Ref entry(checked(Py_BuildValue(
            "(OOOddKLOK)", texts.name(range.name),
            texts.name(kinds[static_cast<size_t>(range.kind)]),
            range.is_backward ? Py_True : Py_False, ns(range.start), ns(range.end),
            static_cast<unsigned long long>(range.sequence), static_cast<long long>(range.bytes),
            texts.place(range.location), static_cast<unsigned long long>(thread.thread))));
        check_status(PyList_Append(ranges.get(), entry.get()));
      }
    }
    return checked(Py_BuildValue("(dKO)", ns(report.end),
                                 static_cast<unsigned long long>(report.lost), ranges.get()));
  });
}

PyObject* open_range(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    if (is_profiling()) {
      const char* const text = PyUnicode_AsUTF8(name);
      if (text == nullptr) return nullptr;
      open_user_range(intern_range_name(text));
    }
    Py_RETURN_NONE;
  });
}

PyObject* close_range(PyObject*, PyObject*) {
  close_user_range();
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"_start_profile", start, METH_NOARGS, nullptr},
    {"_stop_profile", stop, METH_NOARGS, nullptr},
    {"_open_range", open_range, METH_O, nullptr},
    {"_close_range", close_range, METH_NOARGS, nullptr},
    {},
};

}  // namespace

void add_profiler(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
