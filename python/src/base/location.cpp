// python/src/base/location.cpp -- finds the innermost Python frame outside ebb, in a few
// nanoseconds.
//
// The public way makes the interpreter build a frame object once per Python call (20 ns). CPython
// 3.11 is therefore read directly: a mirror of the first fields of its internal frame gives code
// object and instruction. At start the mirror's answer is compared with the public API's; if they
// differ, or in another version, the public API is used. A cache maps the address of an instruction
// to an id. Code that dies is taken out of it, so that an address stands for the code that lives
// there; ids stand for a line of a function by their names, and so need no code.
#include "python/src/base/location.h"

#include <frameobject.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python/src/base/text.h"

namespace ebb::python {
namespace {

#if PY_VERSION_HEX < 0x030B0000
/// CPython 3.10 counts instructions, of two bytes, and knows no qualified names.
int PyFrame_GetLasti(PyFrameObject* frame) { return frame->f_lasti * 2; }
PyObject* name_of(const PyCodeObject* code) { return code->co_name; }
size_t memory_of(PyCodeObject* code) {
  return sizeof(PyCodeObject) + static_cast<size_t>(PyBytes_GET_SIZE(code->co_code));
}
#else
PyObject* name_of(const PyCodeObject* code) { return code->co_qualname; }
/// How many bytes from a code object on stand for instructions of it.
size_t memory_of(PyCodeObject* code) {
  return sizeof(PyCodeObject) + static_cast<size_t>(Py_SIZE(code)) * sizeof(_Py_CODEUNIT);
}
#endif

/// A pointer that a code object keeps for others, and what its destructor does with it.
#if PY_VERSION_HEX < 0x030C0000
Py_ssize_t request_code_slot(freefunc release) { return _PyEval_RequestCodeExtraIndex(release); }
int set_in_code(PyCodeObject* code, Py_ssize_t slot, void* value) {
  return _PyCode_SetExtra(reinterpret_cast<PyObject*>(code), slot, value);
}
#else
Py_ssize_t request_code_slot(freefunc release) {
  return PyUnstable_Eval_RequestCodeExtraIndex(release);
}
int set_in_code(PyCodeObject* code, Py_ssize_t slot, void* value) {
  return PyUnstable_Code_SetExtra(reinterpret_cast<PyObject*>(code), slot, value);
}
#endif

/// The start of CPython 3.11's _PyInterpreterFrame.
struct FrameMirror {
  PyFunctionObject* function;
  PyObject* globals;
  PyObject* builtins;
  PyObject* locals;
  PyCodeObject* code;
  PyFrameObject* frame_object;
  FrameMirror* previous;
  const void* last_instruction;
};

struct CachedPlace {
  uintptr_t instruction = 0;  // an address inside its code object
  LocationId id = 0;          // 0: inside ebb
};
constexpr size_t kCacheSize = 4096;
std::array<CachedPlace, kCacheSize> cache;

/// What is known of a code object that lives. All of this is used with the GIL held.
struct KnownCode {
  bool is_inside = false;                            // part of ebb
  uint32_t function = 0;                             // its number in functions(), once asked for
  std::unordered_map<uintptr_t, LocationId> places;  // by the offset of an instruction
};

/// Never destroyed: code dies until the interpreter's end.
std::unordered_map<PyCodeObject*, KnownCode>& known_codes() {
  static auto* const codes = new std::unordered_map<PyCodeObject*, KnownCode>();
  return *codes;
}

/// The functions that ids name, each once: file and name.
struct Functions {
  std::vector<std::pair<std::string, std::string>> names;
  std::map<std::pair<std::string, std::string>, uint32_t> numbers;
};
Functions& functions() {
  static auto* const all = new Functions();
  return *all;
}

std::string package_prefix;
bool direct = false;

// What no thread state is: not null either, which Python returns where nobody holds the GIL.
constexpr char no_state = 0;
// The thread state that this thread was last seen to hold the GIL with.
thread_local const void* own_state = &no_state;

// Out of line: rarely asked, as a thread mostly meets the state that it met before.
[[gnu::noinline]] PyThreadState* own_state_if_locked(PyThreadState* state) {
  if (state == nullptr || PyGILState_Check() == 0) return nullptr;
  own_state = state;
  return state;
}

/// This thread's state if it holds the GIL, else null.
PyThreadState* state_if_locked() {
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState* const state = PyThreadState_GetUnchecked();
#else
  PyThreadState* const state = _PyThreadState_UncheckedGet();
#endif
  if (state == own_state) [[likely]] {
    if (state == nullptr) __builtin_unreachable();  // own_state never is; saves the caller a test
    return state;
  }
  return own_state_if_locked(state);
}

CachedPlace& cached_place(uintptr_t instruction) {
  return cache[(instruction / 2) % kCacheSize];  // instructions are two bytes apart
}

/// What a code object's destructor calls: its memory may soon be that of another.
void forget(void* code) noexcept {
  if (known_codes().erase(static_cast<PyCodeObject*>(code)) == 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(code);
  const uintptr_t end = begin + memory_of(static_cast<PyCodeObject*>(code));
  if ((end - begin) / 2 >= kCacheSize) return cache.fill({});
  for (uintptr_t address = begin; address < end; address += 2) {
    CachedPlace& place = cached_place(address);
    if (place.instruction == address) place = {};
  }
}

/// What is noted of a code object from now on until it dies. Throws bad_alloc.
KnownCode& known_code(PyCodeObject* code) {
  const auto found = known_codes().find(code);
  if (found != known_codes().end()) return found->second;
  static const Py_ssize_t slot = request_code_slot(forget);
  if (set_in_code(code, slot, code) < 0) {  // no slot is left: this code may never die
    PyErr_Clear();
    Py_INCREF(reinterpret_cast<PyObject*>(code));
  }
  Py_ssize_t length = 0;
  const char* const file = PyUnicode_AsUTF8AndSize(code->co_filename, &length);
  if (file == nullptr) PyErr_Clear();
  KnownCode& known = known_codes()[code];
  known.is_inside = file != nullptr && !package_prefix.empty() &&
                    std::strncmp(file, package_prefix.c_str(), package_prefix.size()) == 0;
  return known;
}

/// The number of a code object's file and name.
uint32_t function_of(const PyCodeObject* code) {
  std::pair names{label_of(code->co_filename, ""), label_of(name_of(code), "")};
  Functions& all = functions();
  const auto found = all.numbers.find(names);
  if (found != all.numbers.end()) return found->second;
  all.names.push_back(names);
  const auto number = static_cast<uint32_t>(all.names.size());
  all.numbers.emplace(std::move(names), number);
  return number;
}

/// The id of an instruction, `offset` bytes from the code's first.
LocationId intern_place(PyCodeObject* code, KnownCode& known, int offset) {
  LocationId& id = known.places[static_cast<uintptr_t>(offset)];
  if (id != 0) return id;
  if (known.function == 0) known.function = function_of(code);
  const int line = PyCode_Addr2Line(code, offset);
  return id = intern_location(known.function, static_cast<uintptr_t>(std::max(line, 0)), true);
}

/// Fills a cache entry.
void look_up(CachedPlace& place, PyCodeObject* code, uintptr_t instruction, int offset) noexcept {
  PyObject *type, *value, *traceback;  // an error may be pending: leave it as it is
  PyErr_Fetch(&type, &value, &traceback);
  try {
    KnownCode& known = known_code(code);
    place.id = known.is_inside ? 0 : intern_place(code, known, offset);
    place.instruction = instruction;
  } catch (const std::bad_alloc&) {
    place = {};  // no memory to note a line: the op itself goes on
  }
  PyErr_Restore(type, value, traceback);
}

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
constexpr bool kHasMirror = true;

const FrameMirror* current_frame(PyThreadState* state) {
  return reinterpret_cast<const FrameMirror*>(state->cframe->current_frame);
}

int byte_offset(const FrameMirror* frame) {
  const char* const first = frame->code->co_code_adaptive;
  return static_cast<int>(static_cast<const char*>(frame->last_instruction) - first);
}

uintptr_t instruction_of(const FrameMirror* frame) {
  return reinterpret_cast<uintptr_t>(frame->last_instruction);
}

LocationId place_of(const FrameMirror* frame) {
  CachedPlace& place = cached_place(instruction_of(frame));
  if (place.instruction != instruction_of(frame)) [[unlikely]] {
    look_up(place, frame->code, instruction_of(frame), byte_offset(frame));
  }
  return place.id;
}

// Out of line, so that read_frames() needs no stack of its own: every recorded op calls it.
[[gnu::noinline]] LocationId look_up_frames(const FrameMirror* frame) {
  for (; frame != nullptr; frame = frame->previous) {
    if (const LocationId id = place_of(frame); id != 0) return id;
  }
  return 0;
}

LocationId read_frames(PyThreadState* state) {
  const FrameMirror* frame = current_frame(state);
  if (frame == nullptr) return 0;
  do {
    const CachedPlace& place = cached_place(instruction_of(frame));
    if (place.instruction != instruction_of(frame)) [[unlikely]]
      return look_up_frames(frame);
    if (place.id != 0) return place.id;
    frame = frame->previous;
  } while (frame != nullptr);
  return 0;
}

void append_frames(PyThreadState* state, std::vector<LocationId>& places) {
  for (const FrameMirror* frame = current_frame(state); frame != nullptr; frame = frame->previous) {
    if (const LocationId id = place_of(frame); id != 0) places.push_back(id);
  }
}
#else
constexpr bool kHasMirror = false;

const FrameMirror* current_frame(PyThreadState*) { return nullptr; }
int byte_offset(const FrameMirror*) { return 0; }
LocationId read_frames(PyThreadState*) { return 0; }
void append_frames(PyThreadState*, std::vector<LocationId>&) {}
#endif

/// Calls `visit` with the id of each frame outside ebb, innermost first, until it returns false.
template <typename Visit>
void ask_public_api(PyThreadState* state, const Visit& visit) {
  PyFrameObject* frame = PyThreadState_GetFrame(state);
  bool goes_on = true;
  while (frame != nullptr && goes_on) {
    PyCodeObject* const code = PyFrame_GetCode(frame);
    const int offset = PyFrame_GetLasti(frame);
    const uintptr_t instruction =
        reinterpret_cast<uintptr_t>(code) + static_cast<uintptr_t>(offset);
    CachedPlace& place = cached_place(instruction);
    if (place.instruction != instruction) {
      look_up(place, code, instruction, offset);
    }
    if (place.id != 0) goes_on = visit(place.id);
    Py_DECREF(code);
    PyFrameObject* const outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  Py_XDECREF(frame);
}

LocationId current_place_directly() noexcept {
  PyThreadState* const state = state_if_locked();
  return state == nullptr ? 0 : read_frames(state);
}

LocationId current_place_by_public_api() noexcept {
  PyThreadState* const state = state_if_locked();
  if (state == nullptr) return 0;
  LocationId innermost = 0;
  ask_public_api(state, [&](LocationId id) {
    innermost = id;
    return false;
  });
  return innermost;
}

void append_places(std::vector<LocationId>& places) {
  PyThreadState* const state = state_if_locked();
  if (state == nullptr) return;
  if (direct) return append_frames(state, places);
  ask_public_api(state, [&](LocationId id) {
    places.push_back(id);
    return true;
  });
}

SourceLocation describe_place(uintptr_t function, uintptr_t line) {
  if (!interpreter_is_alive()) return {};
  const AcquireGil gil;
  const auto& [file, name] = functions().names[function - 1];
  return {.file = file, .line = static_cast<int>(line), .function = name};
}

/// Whether the mirror sees the frame that the public API sees.
bool mirror_agrees(PyThreadState* state) {
  if (!kHasMirror) return false;
  const FrameMirror* const mirror = current_frame(state);
  PyFrameObject* const frame = PyThreadState_GetFrame(state);
  if (mirror == nullptr || frame == nullptr) {
    Py_XDECREF(frame);
    return false;
  }
  PyCodeObject* const code = PyFrame_GetCode(frame);
  bool agrees = mirror->code == code && byte_offset(mirror) == PyFrame_GetLasti(frame);
  PyFrameObject* const outer = PyFrame_GetBack(frame);
  if (agrees && outer != nullptr) {
    PyCodeObject* const outer_code = PyFrame_GetCode(outer);
    agrees = mirror->previous != nullptr && mirror->previous->code == outer_code;
    Py_DECREF(outer_code);
  }
  Py_XDECREF(outer);
  Py_DECREF(code);
  Py_DECREF(frame);
  return agrees;
}

}  // namespace

void forget_thread_state() noexcept { own_state = &no_state; }

PyObject* location_object(const SourceLocation& place) {
  return checked(
      Py_BuildValue("(NiN)", text_object(place.file), place.line, text_object(place.function)));
}

void install_location_provider(const char* package_dir) {
  package_prefix = std::string(package_dir) + "/";
  direct = mirror_agrees(PyThreadState_Get());
  set_location_provider({.current = direct ? current_place_directly : current_place_by_public_api,
                         .describe = describe_place,
                         .append_stack = append_places});
}

bool called_from_package() {
  PyFrameObject* const frame = PyEval_GetFrame();  // borrowed
  if (frame == nullptr) return false;
  PyCodeObject* const code = PyFrame_GetCode(frame);
  const bool inside = known_code(code).is_inside;
  Py_DECREF(code);
  return inside;
}

int stack_level_of_user() {
  int level = 1;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    PyCodeObject* const code = PyFrame_GetCode(frame);
    const bool inside = known_code(code).is_inside;
    Py_DECREF(code);
    PyFrameObject* const outer = inside ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    frame = outer;
    level += inside && outer != nullptr ? 1 : 0;
  }
  return level;
}

bool reads_frames_directly() { return direct; }

}  // namespace ebb::python
