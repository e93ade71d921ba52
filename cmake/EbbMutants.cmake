# cmake/EbbMutants.cmake -- compiles broken copies of sources in place of their own.
#
# EBB_MUTATED names a folder that python -m tools.mutate fills: a file there has the path that it
# has in the repository. Its headers are found first.
set(EBB_MUTATED "" CACHE PATH "A folder of broken copies of sources (tools/mutate), or empty")

if(EBB_MUTATED)
  target_include_directories(ebb_flags BEFORE INTERFACE ${EBB_MUTATED})
endif()

# Replaces the sources of a list (of the current folder) that have a broken copy.
function(ebb_take_mutated sources)
  if(NOT EBB_MUTATED)
    return()
  endif()
  set(taken)
  foreach(source IN LISTS ${sources})
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    if(EXISTS ${EBB_MUTATED}/${path})
      list(APPEND taken ${EBB_MUTATED}/${path})
    else()
      list(APPEND taken ${source})
    endif()
  endforeach()
  set(${sources} ${taken} PARENT_SCOPE)
endfunction()
