# cmake/EbbFlags.cmake -- compiler, linker and ccache settings, all on one target: ebb_flags.
#
# Every target of the project links ebb_flags privately, so nothing leaks to programs that use ebb.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# -fPIC everywhere (below) instead of CMake's PIC for libraries and PIE for programs, so that all
# targets can share one precompiled header.
# -O2, not CMake's -O3: hot loops are written with intrinsics; the rest is smaller, not slower.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS")
# Clang counts in the source's own expressions; what assert() checks is no branch of the product.
set(CMAKE_CXX_FLAGS_COVERAGE "-O1 -DNDEBUG -fprofile-instr-generate -fcoverage-mapping")

add_library(ebb_flags INTERFACE)
target_compile_features(ebb_flags INTERFACE cxx_std_20)
target_include_directories(ebb_flags INTERFACE ${PROJECT_SOURCE_DIR} ${EBB_GENERATED_DIR})
target_compile_options(
  ebb_flags
  INTERFACE "$<$<BOOL:${EBB_WARNINGS}>:-Wall;-Wextra>"
            $<$<BOOL:${EBB_WARNINGS_AS_ERRORS}>:-Werror>
            -fvisibility=hidden
            -fvisibility-inlines-hidden
            -fno-plt
            -fno-semantic-interposition
            -fno-math-errno
            -fPIC
            # A thread-local is one load, for a little of the static TLS space.
            -ftls-model=initial-exec)

if(EBB_SANITIZER STREQUAL "asan")
  # No alignment recovery and no silent continuation: the first finding ends the program.
  set(ebb_sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(EBB_SANITIZER STREQUAL "tsan")
  set(ebb_sanitize -fsanitize=thread)
elseif(NOT EBB_SANITIZER STREQUAL "")
  message(FATAL_ERROR "EBB_SANITIZER: needs empty, asan or tsan, got ${EBB_SANITIZER}")
endif()
if(ebb_sanitize)
  # EBB_SANITIZE makes caches and free lists step aside, so that every block has its own red zones.
  target_compile_definitions(ebb_flags INTERFACE EBB_SANITIZE)
  target_compile_options(ebb_flags INTERFACE ${ebb_sanitize})
  target_link_options(ebb_flags INTERFACE ${ebb_sanitize})
endif()

if(EBB_CCACHE)
  find_program(EBB_CCACHE_PROGRAM ccache)
  mark_as_advanced(EBB_CCACHE_PROGRAM)
  if(EBB_CCACHE_PROGRAM)
    # The sloppiness lets ccache accept precompiled headers, and headers that configuring has just
    # written; it still hashes their content. The base folder lets one clone use what another
    # compiled, unless that is Clang's precompiled header: it names the clone's files, which have to
    # be there. GCC's differs each time it is made: ccache takes the sum of its text instead, which
    # ebb_wait_for_sum() puts beside it.
    set(ebb_sloppiness pch_defines,time_macros,include_file_mtime,include_file_ctime)
    if(NOT EBB_PCH OR CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      set(ebb_for_all_clones CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                             CCACHE_PCH_EXTSUM=1)
    endif()
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=${ebb_sloppiness} ${ebb_for_all_clones}
                                    ${EBB_CCACHE_PROGRAM})
  endif()
endif()

if(EBB_PCH)
  # One precompiled header, made by this target and reused by all. ccache needs the extra flag to
  # see through it: GCC must keep the #pragma, Clang must leave time stamps out.
  add_library(ebb_pch OBJECT ${CMAKE_CURRENT_LIST_DIR}/pch.cpp)
  target_link_libraries(ebb_pch PRIVATE ebb_flags)
  target_precompile_headers(ebb_pch PRIVATE <cmake/pch.h>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(ebb_flags INTERFACE -fpch-preprocess)
  else()
    # Nor does Clang compare the header: ccache may hold it from before a comment changed.
    target_compile_options(ebb_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp"
                                               "SHELL:-Xclang -fno-validate-pch")
  endif()
endif()
