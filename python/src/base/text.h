// python/src/base/text.h -- str objects and paths as C++ sees them, whole.
//
// A str may hold NUL, so a C string is no text: "cpu\0x" would be taken for "cpu". tools/check
// refuses PyUnicode_AsUTF8() for that reason.
#pragma once

#include <string>
#include <string_view>

#include "python/src/base/py.h"

namespace ebb::python {

/// The text of a str, which lives as long as the object. Throws ErrorSet.
std::string_view utf8_of(PyObject* text);
/// The text of a str for people, or `fallback` for anything else. Leaves no Python error behind.
std::string label_of(PyObject* text, std::string fallback);
/// A new str for people: what is no UTF-8 shows as U+FFFD. Throws ErrorSet.
PyObject* text_object(std::string_view text);
/// What Python prints of an object. Throws ErrorSet.
std::string repr_of(PyObject* object);
/// A path as the file system spells it, or an error that names `op`; what the user's __fspath__
/// raises stays as it is. python/ebb/io/reading.py does the same for readers written in Python.
std::string path_of(const char* op, PyObject* object);

}  // namespace ebb::python
