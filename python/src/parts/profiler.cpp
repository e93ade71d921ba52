// python/src/parts/profiler.cpp -- ebb/core/runtime/profile.h for ebb/profiler.
#include "python/src/parts/profiler.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/src/base/errors.h"
#include "python/src/base/location.h"
#include "python/src/base/text.h"

namespace ebb::python {
namespace {

constexpr const char* kCapsule = "ebb profile";

void destroy(PyObject* capsule) {
  delete static_cast<ProfileReport*>(PyCapsule_GetPointer(capsule, kCapsule));
}

/// _start_profile(notes_memory, notes_operands, notes_phases)
PyObject* start(PyObject*, PyObject* args) {
  int memory = 0, operands = 0, phases = 0;
  if (PyArg_ParseTuple(args, "ppp", &memory, &operands, &phases) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    start_profile({.notes_memory = memory != 0,
                   .notes_operands = operands != 0,
                   .notes_phases = phases != 0});
    Py_RETURN_NONE;
  });
}

/// _stop_profile(): a report, for the functions below.
PyObject* stop(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    auto report = std::make_unique<ProfileReport>(stop_profile());
    PyObject* const capsule = checked(PyCapsule_New(report.get(), kCapsule, destroy));
    report.release();
    return capsule;
  });
}

double ns_of(const ProfileReport& report, uint64_t tick) {
  return static_cast<double>(static_cast<int64_t>(tick - report.start)) * report.ns_per_tick;
}

/// Turns names and locations into objects, each once.
class Texts {
 public:
  PyObject* name(const char* text) {
    Ref& kept = names_[text];
    if (kept.get() == nullptr) kept = Ref(checked(PyUnicode_FromString(text)));
    return kept.get();
  }
  PyObject* name_or_none(const char* text) { return text == nullptr ? Py_None : name(text); }
  /// The path of a module, or None.
  PyObject* module(ScopeId scope) {
    Ref& kept = modules_[scope];
    if (kept.get() != nullptr) return kept.get();
    const std::optional<std::string> path = module_path(scope);
    kept =
        Ref(path.has_value() ? checked(PyUnicode_FromString(path->c_str())) : Py_NewRef(Py_None));
    return kept.get();
  }
  /// (file, line, function), or None.
  PyObject* place(LocationId id) {
    Ref& kept = places_[id];
    if (kept.get() == nullptr) kept = Ref(place_object(describe_location(id)));
    return kept.get();
  }
  /// A tuple of those, innermost first: one, unless stacks were recorded.
  PyObject* stack(LocationId id) {
    Ref& kept = stacks_[id];
    if (kept.get() != nullptr) return kept.get();
    const std::vector<SourceLocation> places = describe_stack(id);
    Ref all(checked(PyTuple_New(static_cast<Py_ssize_t>(places.size()))));
    for (size_t depth = 0; depth < places.size(); ++depth) {
      PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(depth), place_object(places[depth]));
    }
    kept = std::move(all);
    return kept.get();
  }

 private:
  static PyObject* place_object(const SourceLocation& place) {
    if (place.file.empty()) return Py_NewRef(Py_None);
    return location_object(place);
  }

  std::map<const char*, Ref> names_;
  std::map<LocationId, Ref> stacks_;
  std::map<LocationId, Ref> places_;
  std::map<ScopeId, Ref> modules_;
};

/// _profile_span(report): the duration in ns, and how many ranges were lost.
PyObject* span(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    const ProfileReport& report = report_of(capsule);
    return checked(Py_BuildValue("(dK)", ns_of(report, report.end),
                                 static_cast<unsigned long long>(report.lost)));
  });
}

/// One range as a tuple, in the order of the fields of Range in ebb/profiler/ranges.py. Without
/// memory noted, its fields are 0. `operands` may be null.
PyObject* entry_of(const ProfileReport& report, const ProfileRange& range,
                   const RangeMemory& memory, const char* operands, uint64_t thread, Texts& texts) {
  static const char* const kinds[] = {"user", "op", "inner", "phase"};
  return checked(Py_BuildValue(
      "(OOOddKLOOKLLLLOO)", texts.name(range.name),
      texts.name(kinds[static_cast<size_t>(range.kind)]), range.is_backward ? Py_True : Py_False,
      ns_of(report, range.start), ns_of(report, range.end),
      static_cast<unsigned long long>(range.sequence), static_cast<long long>(range.bytes),
      texts.place(range.location), texts.module(range.scope),
      static_cast<unsigned long long>(thread), static_cast<long long>(memory.allocations),
      static_cast<long long>(memory.allocated), static_cast<long long>(memory.peak),
      static_cast<long long>(memory.kept), texts.stack(range.location),
      texts.name(operands == nullptr ? "" : operands)));
}

/// _profile_ranges(report)
PyObject* ranges(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    const ProfileReport& report = report_of(capsule);
    Texts texts;
    Ref found(checked(PyList_New(0)));
    for (const ThreadProfile& thread : report.threads) {
      for (size_t index = 0; index < thread.ranges.size(); ++index) {
        const RangeMemory memory = thread.memory.empty() ? RangeMemory{} : thread.memory[index];
        const char* const operands = thread.operands.empty() ? nullptr : thread.operands[index];
        const Ref entry(
            entry_of(report, thread.ranges[index], memory, operands, thread.thread, texts));
        check_status(PyList_Append(found.get(), entry.get()));
      }
    }
    return found.release();
  });
}

PyObject* sites_of(const MemoryReport& memory) {
  Texts texts;
  Ref sites(checked(PyList_New(0)));
  for (const AllocationSite& site : memory.sites) {
    const Ref entry(checked(
        Py_BuildValue("(OOOLLLL)", texts.name_or_none(site.name), texts.place(site.location),
                      texts.module(site.scope), static_cast<long long>(site.allocations),
                      static_cast<long long>(site.allocated), static_cast<long long>(site.at_peak),
                      static_cast<long long>(site.at_end))));
    check_status(PyList_Append(sites.get(), entry.get()));
  }
  return sites.release();
}

/// _profile_memory(report): None, or the bytes at the start, the peak, what of it is older, pairs
/// of ns and bytes alive from then on, and sites: name, place, module, allocations, bytes, alive at
/// the peak and at the end.
PyObject* memory(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    const ProfileReport& report = report_of(capsule);
    const MemoryReport& noted = report.memory;
    if (!noted.is_noted) Py_RETURN_NONE;
    Ref samples(checked(PyList_New(0)));
    for (const MemorySample& sample : noted.samples) {
      const Ref pair(checked(
          Py_BuildValue("(dL)", ns_of(report, sample.tick), static_cast<long long>(sample.live))));
      check_status(PyList_Append(samples.get(), pair.get()));
    }
    return checked(Py_BuildValue(
        "(LLLNN)", static_cast<long long>(noted.start), static_cast<long long>(noted.peak),
        static_cast<long long>(noted.older_at_peak), samples.release(), sites_of(noted)));
  });
}

PyObject* open_range(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    if (is_profiling()) {
      open_user_range(intern_range_name(utf8_of(name)));
    }
    Py_RETURN_NONE;
  });
}

PyObject* close_range(PyObject*, PyObject*) {
  close_user_range();
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"_start_profile", start, METH_VARARGS, nullptr},
    {"_stop_profile", stop, METH_NOARGS, nullptr},
    {"_profile_span", span, METH_O, nullptr},
    {"_profile_ranges", ranges, METH_O, nullptr},
    {"_profile_memory", memory, METH_O, nullptr},
    {"_open_range", open_range, METH_O, nullptr},
    {"_close_range", close_range, METH_NOARGS, nullptr},
    {},
};

}  // namespace

const ProfileReport& report_of(PyObject* capsule) {
  void* const report = PyCapsule_GetPointer(capsule, kCapsule);
  if (report == nullptr) throw ErrorSet();
  return *static_cast<const ProfileReport*>(report);
}

void add_profiler(PyObject* module) { check_status(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace ebb::python
