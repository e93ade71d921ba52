# cmake/EbbInstall.cmake -- what `cmake --install` puts where.
#
# Two components, which never mix (a plug-in of devices is a third, alone in its wheel:
# ebb/devices/CMakeLists.txt):
# - the default one: include/, lib/libebb.so, lib/cmake/ebb and lib/pkgconfig, for find_package(ebb)
#   or pkg-config from C++;
# - `python`, which only the wheel asks for (pyproject.toml): the extension module, its stub, the
#   digits, the C++ files of the default component below ebb/, and the shared libraries that ebb
#   needs (tools/wheel/bundle.py).
#
# Headers that no public header includes stay here, so a program that uses ebb needs nothing of
# Highway, OpenBLAS or oneDNN (tests/packaging/ builds one and looks). find_package() takes the
# build folder too, nothing installed.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(ebb_install_cpp)
  set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ebb)
  install(TARGETS ebb EXPORT ebb INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/ebb ${EBB_GENERATED_DIR}/ebb
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.h"
          PATTERN "ebb/kernels/cpu" EXCLUDE
          PATTERN "ebb/ops" EXCLUDE
          PATTERN "ebb/autograd/engine" EXCLUDE
          PATTERN "ebb/autograd/rules" EXCLUDE
          PATTERN "ebb/autograd/composites" EXCLUDE
          PATTERN "ebb/autograd/jvp" EXCLUDE
          PATTERN "ebb/autograd/operands" EXCLUDE
          PATTERN "ebb/autograd/history/gradients/gradient_math.h" EXCLUDE
          PATTERN "ebb/autograd/forward/jvp_support.h" EXCLUDE
          PATTERN "ebb/autograd/watch/slow_call.h" EXCLUDE
          PATTERN "ebb/autograd/history/op_support.h" EXCLUDE
          PATTERN "ebb/autograd/history/gradients/slot.h" EXCLUDE
          PATTERN "ebb/graph/layout" EXCLUDE
          PATTERN "ebb/io/atomic_file.h" EXCLUDE
          PATTERN "ebb/io/*_header.h" EXCLUDE
          PATTERN "ebb/io/read_file.h" EXCLUDE)
  set(engine ${PROJECT_SOURCE_DIR}/ebb/autograd/engine)
  install(FILES ${engine}/engine.h ${engine}/grad.h ${engine}/parallel_backward.h
                ${engine}/place.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ebb/autograd/engine)
  # What a plug-in needs to register kernels.
  install(FILES ${PROJECT_SOURCE_DIR}/ebb/ops/registry.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ebb/ops)
  install(EXPORT ebb FILE ebbTargets.cmake NAMESPACE ebb:: DESTINATION ${cmake_dir})
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/ebbConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/ebbConfig.cmake
    INSTALL_DESTINATION ${cmake_dir}
    NO_SET_AND_CHECK_MACRO)
  # Before 1.0, a minor version may break programs.
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ebbConfigVersion.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ebbConfig.cmake
                ${CMAKE_CURRENT_BINARY_DIR}/ebbConfigVersion.cmake
          DESTINATION ${cmake_dir})
  export(EXPORT ebb FILE ${CMAKE_CURRENT_BINARY_DIR}/ebbTargets.cmake NAMESPACE ebb::)
  set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH to_include /prefix/${pc_dir} /prefix/${CMAKE_INSTALL_INCLUDEDIR})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/ebb.pc.in ${CMAKE_CURRENT_BINARY_DIR}/ebb.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ebb.pc DESTINATION ${pc_dir})
endfunction()

function(ebb_install_python)
  set(options DESTINATION ebb COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES $<TARGET_FILE:_C> ${EBB_GENERATED_DIR}/python/_C.pyi ${options})
  install(DIRECTORY ${EBB_GENERATED_DIR}/python/ebb/ ${options} FILES_MATCHING PATTERN "*.py*")
  get_property(wasm GLOBAL PROPERTY EBB_WASM_FILES)
  install(FILES ${wasm} DESTINATION ebb/viz/page COMPONENT python EXCLUDE_FROM_ALL)
  set(ebb_digits data/digits/digits.safetensors)
  install(FILES ${ebb_digits} DESTINATION ebb/data COMPONENT python EXCLUDE_FROM_ALL)
  # The library and its headers lie below ebb/ exactly as below a prefix.
  install(
    CODE "
    set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/ebb\")
    execute_process(
      COMMAND \"${CMAKE_COMMAND}\" --install \"${PROJECT_BINARY_DIR}\" --prefix \"\${root}\"
              --component Unspecified
      OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    execute_process(
      COMMAND \"${Python_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/tools/wheel/bundle.py\"
              --package \"\${root}\" --library \"$<TARGET_FILE:ebb>\"
              --source \"${PROJECT_SOURCE_DIR}\"
      COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT python EXCLUDE_FROM_ALL)
endfunction()

# A library of the system is found again where the build found it: OpenBLAS comes in flavours.
set_target_properties(ebb PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON INSTALL_RPATH "$ORIGIN")
ebb_install_cpp()
if(TARGET _C)
  ebb_install_python()
endif()
