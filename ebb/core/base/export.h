// ebb/core/base/export.h -- marks what libebb.so shows to programs that link against it.
//
// Everything else is compiled with hidden visibility, so that calls inside the library are direct.
#pragma once

#define EBB_API __attribute__((visibility("default")))
