# ebb/devices/kernels/embed.cmake -- writes the kernel sources into one C++ file, as literals.
#
#     cmake -DFOLDER=ebb/devices/kernels -DFILES=elements.k,reduce/scan.k -DOUT=sources.cpp
#           -P embed.cmake
#
# reduce/scan.k becomes ebb::devices::scan_k, declared in ebb/devices/launch/source.h.
string(REPLACE "," ";" files "${FILES}")
set(text "// ebb/devices/kernels/sources.cpp -- generated from ebb/devices/kernels: their texts.\n"
         "#include \"ebb/devices/launch/source.h\"\n\nnamespace ebb::devices {\n\n")
string(CONCAT text ${text})
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER ${name} name)
  file(READ ${FOLDER}/${file} content)
  string(APPEND text "const std::string_view ${name} = R\"ebb_text(${content})ebb_text\";\n")
endforeach()
string(APPEND text "\n}  // namespace ebb::devices\n")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT "${old}" STREQUAL "${text}")
  file(WRITE ${OUT} "${text}")
endif()
