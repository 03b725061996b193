# No module includes a header of a module above it: the order of modules, from the bottom up.  Modules on one line do not include
# each other.  A module is a folder.
set(order
  "base"
  "options hdf5"
  "tensor"
  "text"
  "bert"
  "rdp"
  "account"
  "mechanism"
  "nvib"
  "vib"
  "dchi"
  "model"
  "job"
  "train pretrain"
  "sanitize"
  "share"
  "attack"
  "sweep report bench"
  "cli")
set(level 0)
foreach(line ${order})
  math(EXPR level "${level} + 1")
  separate_arguments(modules UNIX_COMMAND "${line}")
  foreach(module ${modules})
    set(level_of_${module} ${level})
  endforeach()
endforeach()

file(GLOB files RELATIVE ${SOURCE} ${SOURCE}/src/*/*.[ch] ${SOURCE}/src/*/*.inc ${SOURCE}/rdp/* ${SOURCE}/nvib/* ${SOURCE}/vib/*
  ${SOURCE}/dchi/*)
set(found 0)
foreach(file ${files})
  string(REGEX REPLACE "^src/" "" path ${file})
  string(REGEX REPLACE "/.*" "" module ${path})
  if(NOT DEFINED level_of_${module})
    message(SEND_ERROR "${file}: module ${module} has no place in the order (tests/package/modules.cmake)")
    continue()
  endif()
  file(STRINGS ${SOURCE}/${file} includes REGEX "^#include \"[a-z0-9_]+/")
  foreach(include ${includes})
    string(REGEX REPLACE "^#include \"([a-z0-9_]+)/.*" "\\1" other "${include}")
    if(NOT DEFINED level_of_${other} OR other STREQUAL module)
      continue()
    endif()
    math(EXPR found "${found} + 1")
    if(NOT level_of_${other} LESS level_of_${module})
      message(SEND_ERROR "${file}: ${include}: module ${other} is not below ${module}")
    endif()
  endforeach()
endforeach()
if(found LESS 300)
  message(SEND_ERROR "expected more than 300 includes between modules, found ${found}: is this test looking at the sources?")
endif()

# The library reads and prints numbers by src/base/number.c alone, which does not follow the caller's locale.  The program does
# not set LC_NUMERIC.
list(FILTER files EXCLUDE REGEX "^src/(cli|sweep|report|bench)/|^src/base/number\\.c$")
foreach(file ${files})
  file(STRINGS ${SOURCE}/${file} calls REGEX "(^|[^A-Za-z0-9_])(strto[df]|strtold|atof|v?s?n?printf|v?[fd]printf|v?asprintf)\\(")
  foreach(call ${calls})
    message(SEND_ERROR "${file}: ${call}: expected a function of src/base/number.c")
  endforeach()
endforeach()
