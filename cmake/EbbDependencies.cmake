# cmake/EbbDependencies.cmake -- the third-party libraries, one imported target each.
#
# ebb::hwy, ebb::openblas, ebb::dnnl, ebb::json, ebb::zlib; GTest::gtest_main and
# benchmark::benchmark_main come from their own packages. tools/apt-packages.txt names the Debian
# packages, and `make build` installs them; a missing one says so here.
find_package(Threads REQUIRED)

# ebb_import(<name> HEADER <file> [LIBRARY <name>] [HINT <subfolder>] PACKAGE <debian package>)
function(ebb_import name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;LIBRARY;HINT;PACKAGE" "")
  string(TOUPPER ${name} upper)
  set(triplet lib/${CMAKE_CXX_LIBRARY_ARCHITECTURE})
  set(fix "ebb: needs ${name}, found none\n"
          "hint: run `make build`, or apt-get install ${arg_PACKAGE}")
  list(JOIN fix "" fix)
  # The hinted folder comes first: Debian's alternatives may point the plain name elsewhere.
  find_path(EBB_${upper}_INCLUDE ${arg_HEADER}
            HINTS /usr/include/${CMAKE_CXX_LIBRARY_ARCHITECTURE}/${arg_HINT})
  mark_as_advanced(EBB_${upper}_INCLUDE)
  if(NOT EBB_${upper}_INCLUDE)
    message(FATAL_ERROR "${fix}")
  endif()
  add_library(ebb_import_${name} INTERFACE)
  add_library(ebb::${name} ALIAS ebb_import_${name})
  target_include_directories(ebb_import_${name} SYSTEM INTERFACE ${EBB_${upper}_INCLUDE})
  if(arg_LIBRARY)
    find_library(EBB_${upper}_LIBRARY ${arg_LIBRARY} HINTS /usr/${triplet}/${arg_HINT})
    mark_as_advanced(EBB_${upper}_LIBRARY)
    if(NOT EBB_${upper}_LIBRARY)
      message(FATAL_ERROR "${fix}")
    endif()
    target_link_libraries(ebb_import_${name} INTERFACE ${EBB_${upper}_LIBRARY})
  endif()
endfunction()

ebb_import(hwy HEADER hwy/highway.h LIBRARY hwy PACKAGE libhwy-dev)
# The serial flavour: ebb splits the work itself, and two thread pools would fight.
ebb_import(openblas HEADER cblas.h LIBRARY openblas HINT openblas-serial
           PACKAGE libopenblas-serial-dev)
ebb_import(dnnl HEADER oneapi/dnnl/dnnl.h LIBRARY dnnl PACKAGE libdnnl-dev)
ebb_import(json HEADER nlohmann/json.hpp PACKAGE nlohmann-json3-dev)

if(EBB_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(EBB_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

# The interpreter runs the code generator, so it is needed even without the Python module.
set(ebb_venv_python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
if(NOT Python_EXECUTABLE AND EXISTS ${ebb_venv_python})
  set(Python_EXECUTABLE ${ebb_venv_python})
endif()
set(Python_FIND_VIRTUALENV FIRST)
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module)
if(EBB_BUILD_PYTHON)
  if(NOT Python_Development.Module_FOUND)
    message(FATAL_ERROR "ebb: needs the Python headers, found none\n"
                        "hint: apt-get install python3-dev, or -DEBB_BUILD_PYTHON=OFF")
  endif()
endif()
