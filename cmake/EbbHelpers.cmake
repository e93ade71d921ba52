# cmake/EbbHelpers.cmake -- the functions that every folder's CMakeLists.txt is written with.
#
# ebb_library(core  SOURCES shape.cpp dtype.cpp  [GENERATED ${EBB_GENERATED_DIR}/ebb/core/x.cpp]
#             [DEPS ebb::...]  [PRIVATE_DEPS ebb::hwy]  [OPTIONS -O3])
#     One folder of ebb/ as target `ebb_core`, alias `ebb::core`. Its objects go into libebb.so and
#     into a static archive that tests link. DEPS: the folders whose headers it includes, and no
#     others (`make check` compares). PRIVATE_DEPS: third-party libraries, invisible to users.
#     GENERATED: sources that the code generator writes. OPTIONS: extra compiler flags.
# ebb_test(engine_test  [SOURCES ...]  DEPS ebb::autograd  LABELS fast cpu
#          [VARIANTS avx2:EBB_ISA=avx2 ...])
#     One GoogleTest program from engine_test.cpp; every TEST is one ctest entry. It links the
#     static archives of DEPS, so it may reach symbols that libebb.so hides. Labels: `fast` runs in
#     `make test`, `long` only in `make test-long`, `nosan` is left out under the sanitizers. Each
#     variant runs all tests once more, as `engine_test.avx2.*`, with that environment variable.
# ebb_test_suite(core_tests  SOURCES shape_test.cpp dtype_test.cpp  DEPS ebb::core  LABELS fast)
#     The same with explicit sources: one program a folder keeps link times low.
# ebb_bench(engine_bench  [SOURCES ...]  [DEPS ebb::ebb])
#     One Google Benchmark program in build/<preset>/bin, against libebb.so unless DEPS says else.
# ebb_example(ebb_demo_cpp  SOURCES main.cpp)
#     A program against libebb.so in build/<preset>/bin.
# ebb_python_module(_C  SOURCES ...  [GENERATED ...])
#     The extension module, in build/<preset>/python/ebb beside links to python/ebb/* and to what
#     satellites/*/ebb lay there, written or generated. The target ebb_python_package makes both.
# ebb_add_folders(a b ...)
#     add_subdirectory() for each folder that has a CMakeLists.txt.
#
# Whatever compiles waits for ebb_generate, the target of codegen/CMakeLists.txt.
#
# Headers are found from the repository root ("ebb/core/tensor/tensor.h"), generated ones from
# ${EBB_GENERATED_DIR} in the same way. Link `ebb::ebb` for the whole shared library.
include(GoogleTest)

# What a bare call may not forget: flags, a precompiled header, and no unknown argument.
function(ebb_setup_target target options header)
  target_link_libraries(${target} PRIVATE ebb_flags)
  target_compile_options(${target} PRIVATE ${options})
  ebb_wait_for_generator(${target})
  ebb_precompile(${target} ${header} "${options}")
endfunction()

# A batch, several files compiled as one, spares most of what they include; but a file of it can
# forget an include, and one that changes compiles all. Generated files do neither much: a row of
# the table changes one a room. Those that record are compiled alone, since tools/mutate/ puts
# others in their place. EBB_BATCH takes written ones too, but in rooms whose files have like names
# for themselves (a table of methods, the state of an optimizer).
set(EBB_OWN_NAMES ebb_core ebb_kernels ebb_optim _C)
function(ebb_batch target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  get_target_property(sources ${target} SOURCES)
  set(alone ${sources})
  if(EBB_BATCH)
    if(NOT target IN_LIST EBB_OWN_NAMES)
      return()
    endif()
    list(FILTER alone EXCLUDE REGEX "^${EBB_GENERATED_DIR}/")
  else()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 4)  # bindings: 4 s
    list(FILTER alone EXCLUDE REGEX "^${EBB_GENERATED_DIR}/(python|ebb/ops|ebb/autograd/jvp)/")
  endif()
  set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Own options do not match the flags of a shared precompiled header; many files repay one more.
function(ebb_precompile target header options)
  if(NOT TARGET ${header})
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(NOT options)
    target_precompile_headers(${target} REUSE_FROM ${header})
    ebb_wait_for_sum(${target} ${header})
  elseif(count GREATER 10)
    target_precompile_headers(${target} PRIVATE <cmake/pch.h>)
    ebb_wait_for_sum(${target} ${target})
  endif()
endfunction()

# What ccache takes for the content of GCC's precompiled header is the sum of its text beside it: of
# all that it includes and defines, the same in every clone and each time (CCACHE_PCH_EXTSUM).
function(ebb_wait_for_sum target header)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if(NOT TARGET ${header}_sum)
    get_target_property(folder ${header} BINARY_DIR)
    string(APPEND folder /CMakeFiles/${header}.dir)
    add_custom_command(
      OUTPUT ${folder}/cmake_pch.hxx.gch.sum
      COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -w -I ${PROJECT_SOURCE_DIR} -E -P -dD -MD -MF sum.d
              -MT ${folder}/cmake_pch.hxx.gch.sum ${folder}/cmake_pch.hxx -o sum.txt
      COMMAND ${CMAKE_COMMAND} -E sha256sum sum.txt > cmake_pch.hxx.gch.sum
      DEPENDS ${folder}/cmake_pch.hxx
      DEPFILE ${folder}/sum.d
      WORKING_DIRECTORY ${folder}
      COMMENT "Summing the text of ${header}'s precompiled header"
      VERBATIM)
    add_custom_target(${header}_sum DEPENDS ${folder}/cmake_pch.hxx.gch.sum)
  endif()
  add_dependencies(${target} ${header}_sum)
endfunction()

# Generated headers have to be there before anything that may include them is compiled.
function(ebb_wait_for_generator target)
  if(TARGET ebb_generate)
    add_dependencies(${target} ebb_generate)
  endif()
endfunction()

macro(ebb_parse_arguments single multi)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "${single}" "${multi}")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

function(ebb_add_folders)
  foreach(folder IN LISTS ARGN)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()

function(ebb_library name)
  ebb_parse_arguments("" "SOURCES;GENERATED;DEPS;PRIVATE_DEPS;OPTIONS")
  ebb_take_mutated(arg_SOURCES)
  add_library(ebb_${name} STATIC ${arg_SOURCES} ${arg_GENERATED})
  add_library(ebb::${name} ALIAS ebb_${name})
  ebb_setup_target(ebb_${name} "${arg_OPTIONS}" ebb_pch)
  ebb_batch(ebb_${name})
  target_link_libraries(ebb_${name} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS} Threads::Threads)
  set_property(GLOBAL APPEND PROPERTY EBB_PIECES ebb_${name})
  set_property(GLOBAL APPEND PROPERTY EBB_PIECE_DEPS ${arg_PRIVATE_DEPS})
endfunction()

# Links the objects of all pieces, compiled once, into the one library that programs see.
function(ebb_link_shared_library)
  get_property(pieces GLOBAL PROPERTY EBB_PIECES)
  get_property(deps GLOBAL PROPERTY EBB_PIECE_DEPS)
  if(NOT pieces)
    message(STATUS "ebb: no library piece yet, libebb.so is left out")
    return()
  endif()
  list(REMOVE_DUPLICATES deps)
  list(TRANSFORM pieces REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(ebb SHARED ${objects})
  add_library(ebb::ebb ALIAS ebb)
  target_link_libraries(ebb PRIVATE ebb_flags ${deps} Threads::Threads)
  # Installed headers are found below the prefix (cmake/EbbInstall.cmake).
  target_include_directories(ebb INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                           $<BUILD_INTERFACE:${EBB_GENERATED_DIR}>)
  target_compile_features(ebb INTERFACE cxx_std_20)
  set_target_properties(ebb PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION 0)
  if(NOT EBB_SANITIZER)
    target_link_options(ebb PRIVATE -Wl,--no-undefined)
  endif()
  ebb_discard_local_symbols(ebb)
endfunction()

# Names of internal functions are a seventh of the library; only profilers and debuggers read them.
function(ebb_discard_local_symbols target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT EBB_KEEP_LOCAL_SYMBOLS)
    target_link_options(${target} PRIVATE -Wl,--discard-all)
  endif()
endfunction()

# Enters the tests of one program in ctest's list, under a prefix and with an environment.
function(ebb_discover_tests target prefix labels environment)
  string(MAKE_C_IDENTIFIER "${prefix}_TESTS" tests)
  gtest_discover_tests(${target} TEST_PREFIX ${prefix}. TEST_LIST ${tests} DISCOVERY_MODE PRE_TEST
                       DISCOVERY_TIMEOUT 60)
  # gtest_discover_tests() keeps only the first of several labels, so ctest sets them afterwards.
  set(properties_file ${CMAKE_CURRENT_BINARY_DIR}/${prefix}_properties.cmake)
  file(WRITE ${properties_file}
       "if(${tests})\n  set_tests_properties(\${${tests}} PROPERTIES LABELS \"${labels}\" "
       "ENVIRONMENT \"${environment}\" TIMEOUT 600)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${properties_file})
endfunction()

function(ebb_test_suite name)
  ebb_parse_arguments("" "SOURCES;GENERATED;DEPS;PRIVATE_DEPS;LABELS;VARIANTS;OPTIONS")
  if(NOT EBB_BUILD_TESTS)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES} ${arg_GENERATED})
  ebb_setup_target(${name} "${arg_OPTIONS}" ebb_test_pch)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} ${arg_PRIVATE_DEPS} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE EBB_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  ebb_discover_tests(${name} ${name} "${arg_LABELS}" "")
  foreach(variant IN LISTS arg_VARIANTS)
    string(REGEX MATCH "^([a-z0-9_]+):(.*)$" matched ${variant})
    ebb_discover_tests(${name} ${name}.${CMAKE_MATCH_1} "${arg_LABELS}" "${CMAKE_MATCH_2}")
  endforeach()
endfunction()

function(ebb_test name)
  ebb_parse_arguments("" "SOURCES;GENERATED;DEPS;PRIVATE_DEPS;LABELS;VARIANTS;OPTIONS")
  if(NOT arg_SOURCES)
    set(arg_SOURCES ${name}.cpp)
  endif()
  ebb_test_suite(${name} SOURCES ${arg_SOURCES} GENERATED ${arg_GENERATED} DEPS ${arg_DEPS}
                 PRIVATE_DEPS ${arg_PRIVATE_DEPS} LABELS ${arg_LABELS} VARIANTS ${arg_VARIANTS}
                 OPTIONS ${arg_OPTIONS})
endfunction()

function(ebb_bench name)
  ebb_parse_arguments("" "SOURCES;DEPS;PRIVATE_DEPS;OPTIONS")
  if(NOT EBB_BUILD_BENCHMARKS)
    return()
  endif()
  if(NOT arg_SOURCES)
    set(arg_SOURCES ${name}.cpp)
  endif()
  if(NOT arg_DEPS)
    set(arg_DEPS ebb::ebb)
  endif()
  add_executable(${name} ${arg_SOURCES})
  ebb_setup_target(${name} "${arg_OPTIONS}" ebb_pch)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} ${arg_PRIVATE_DEPS} benchmark::benchmark_main)
endfunction()

function(ebb_example name)
  ebb_parse_arguments("" "SOURCES;DEPS;PRIVATE_DEPS")
  if(NOT EBB_BUILD_EXAMPLES)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  ebb_setup_target(${name} "" ebb_pch)
  target_link_libraries(${name} PRIVATE ebb::ebb ${arg_DEPS} ${arg_PRIVATE_DEPS})
endfunction()

function(ebb_python_module name)
  ebb_parse_arguments("" "SOURCES;GENERATED;PRIVATE_DEPS;OPTIONS")
  if(NOT EBB_BUILD_PYTHON)
    return()
  endif()
  Python_add_library(${name} MODULE WITH_SOABI ${arg_SOURCES} ${arg_GENERATED})
  ebb_setup_target(${name} "${arg_OPTIONS}" ebb_pch)
  ebb_batch(${name})
  target_link_libraries(${name} PRIVATE ebb::ebb ${arg_PRIVATE_DEPS})
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${EBB_PACKAGE_DIR}
                                           BUILD_RPATH_USE_ORIGIN ON)
  add_custom_target(
    ebb_python_package ALL
    COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/link_package.py
            ${PROJECT_SOURCE_DIR}/python/ebb ${EBB_GENERATED_DIR}/python/ebb
            ${PROJECT_SOURCE_DIR}/satellites/torch/ebb ${PROJECT_SOURCE_DIR}/satellites/vision/ebb
            ${EBB_PACKAGE_DIR}
    COMMENT "Linking python/ebb and the satellites into the build folder"
    VERBATIM)
  get_property(wasm GLOBAL PROPERTY EBB_WASM_TARGETS)
  add_dependencies(ebb_python_package ${name} ${wasm})
endfunction()
