# cmake/EbbWasm.cmake -- code that the page of ebb.viz runs: compiled by Clang for WebAssembly.
#
# ebb_wasm(layout  SOURCES align.cpp ...  HEADERS align.h ...)
#     Compiles the sources once more, without any library, into viz/page/<name>.wasm of the Python
#     package. It needs Clang with lld (clang-14, lld-14). Without them it takes the file that the
#     source package carries; where there is none either, ebb is built without, and write_html()
#     says what is missing. What the page may call has [[clang::export_name]].
find_program(EBB_WASM_COMPILER NAMES clang++-14 clang++-15 clang++-16 clang++)
find_program(EBB_WASM_LINKER NAMES wasm-ld-14 wasm-ld-15 wasm-ld-16 wasm-ld)
mark_as_advanced(EBB_WASM_COMPILER EBB_WASM_LINKER)

set(ebb_wasm_flags
    --target=wasm32 -std=c++20 -Oz -mbulk-memory -ffreestanding -ffp-contract=off -fno-exceptions
    -fno-rtti -fno-threadsafe-statics -fno-c++-static-destructors -fvisibility=hidden -nostdlib
    -Wall -Wextra -flto -Wl,-mllvm,-inline-threshold=0  # a tenth smaller than -Oz alone
    -Wl,--no-entry -Wl,--strip-all -I${PROJECT_SOURCE_DIR})

function(ebb_wasm name)
  ebb_parse_arguments("" "SOURCES;HEADERS")
  set(made ${EBB_PACKAGE_DIR}/viz/page/${name}.wasm)
  # Where pyproject.toml lets a source package carry it.
  set(carried ${PROJECT_SOURCE_DIR}/build/release/python/ebb/viz/page/${name}.wasm)
  if(EBB_WASM_COMPILER AND EBB_WASM_LINKER)
    list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(TRANSFORM arg_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    add_custom_command(
      OUTPUT ${made}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${EBB_PACKAGE_DIR}/viz/page
      COMMAND ${EBB_WASM_COMPILER} ${ebb_wasm_flags} ${arg_SOURCES} -o ${made}
      DEPENDS ${arg_SOURCES} ${arg_HEADERS}
      COMMENT "Compiling ${name} for the page"
      VERBATIM)
  elseif(EXISTS ${carried} AND NOT carried STREQUAL made)
    add_custom_command(OUTPUT ${made} COMMAND ${CMAKE_COMMAND} -E copy ${carried} ${made}
                       DEPENDS ${carried} VERBATIM)
  else()
    message(STATUS "ebb: no Clang with lld (clang-14, lld-14), write_html() is left out")
    return()
  endif()
  add_custom_target(ebb_wasm_${name} ALL DEPENDS ${made})
  set_property(GLOBAL APPEND PROPERTY EBB_WASM_TARGETS ebb_wasm_${name})
  set_property(GLOBAL APPEND PROPERTY EBB_WASM_FILES ${made})
endfunction()
