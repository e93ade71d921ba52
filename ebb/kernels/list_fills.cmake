# ebb/kernels/list_fills.cmake -- writes fills.h: what fills the tables with kernels of the CPU.
#
#     cmake "-DSOURCES=a.cpp;b.cpp" -DOUT=fills.h -P list_fills.cmake
#
# A source `name.cpp` that has `void fill_name()` is listed: as vectorised where that stands before
# HWY_AFTER_NAMESPACE, and so is compiled once per target. The header is written only where the list
# has changed.
set(vectorised "")
set(plain "")
foreach(source IN LISTS SOURCES)
  get_filename_component(name ${source} NAME_WE)
  file(READ ${source} code)
  string(FIND "${code}" "\nvoid fill_${name}() {" place)
  if(place EQUAL -1)
    continue()
  endif()
  string(FIND "${code}" "\nHWY_AFTER_NAMESPACE" end REVERSE)
  if(place GREATER end)
    string(APPEND plain " X(${name})")
  else()
    string(APPEND vectorised " X(${name})")
  endif()
endforeach()

set(text "// ebb/kernels/cpu/simd/fills.h -- generated from kernels: what fills the tables.
#pragma once

#define EBB_VECTORISED_FILLS(X)${vectorised}
#define EBB_PLAIN_FILLS(X)${plain}
")
set(before "")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUT} "${text}")
endif()
