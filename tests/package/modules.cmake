# Checks that no module (a folder) includes a header of a module above it. The list has the order from the bottom up;
# modules on one line do not include each other.
set(order
  "base"
  "options hdf5"
  "tensor"
  "text"
  "encoder"
  "rdp"
  "account"
  "mechanism"
  "nvib"
  "vib"
  "dchi summary"
  "sanitize"
  "model"
  "job"
  "train pretrain"
  "share"
  "attack"
  "gate"
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
  ${SOURCE}/dchi/* ${SOURCE}/summary/*)
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

# Checks that rdp/ names only its own options, which are in its table and in the shared rows. Other options belong to
# training or to commands.
set(table)
foreach(file rdp/options.c rdp/options.h src/options/rows.h)
  file(READ ${SOURCE}/${file} text)
  string(APPEND table "${text}")
endforeach()
string(REGEX MATCHALL "{\"[a-z0-9-]+\", NVDP_OPTION" own "${table}")
list(LENGTH own own_count)
if(own_count LESS 10)
  message(SEND_ERROR "rdp/options.c: expected at least 10 options, found ${own_count}: has the table moved?")
endif()
list(TRANSFORM own REPLACE "{\"([a-z0-9-]+)\", NVDP_OPTION" "--\\1")
file(GLOB rdp_files RELATIVE ${SOURCE} ${SOURCE}/rdp/*)
foreach(file ${rdp_files})
  file(READ ${SOURCE}/${file} text)
  string(REGEX MATCHALL "[\" ](--[a-z][a-z-]+|{[a-z][a-z-]+})" options "${text}")
  foreach(option ${options})
    string(REGEX REPLACE "^[\" ](--|{)([a-z-]+)}?$" "--\\2" option "${option}")
    if(option MATCHES "^--(true|false)$") # an initializer
      continue()
    endif()
    list(FIND own "${option}" at)
    if(at EQUAL -1)
      message(SEND_ERROR "${file}: ${option} is not an option of rdp/options.c: use a remedy (rdp/report.h)")
    endif()
  endforeach()
  if(text MATCHES "[^a-z_]nvdp [a-z]+ ")
    message(SEND_ERROR "${file}: names a command: '${CMAKE_MATCH_0}': use a remedy (rdp/report.h)")
  endif()
endforeach()

# Checks that the library converts numbers only by src/base/number.c, which ignores the caller's locale. The program
# does not set LC_NUMERIC.
list(FILTER files EXCLUDE REGEX "^src/(cli|sweep|report|bench)/|^src/base/number\\.c$")
foreach(file ${files})
  file(STRINGS ${SOURCE}/${file} calls REGEX "(^|[^A-Za-z0-9_])(strto[df]|strtold|atof|v?s?n?printf|v?[fd]printf|v?asprintf)\\(")
  foreach(call ${calls})
    message(SEND_ERROR "${file}: ${call}: expected a function of src/base/number.c")
  endforeach()
endforeach()
