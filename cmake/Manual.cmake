# Man pages and completions; the program writes them from its tables (nvdp manual).
set(NVDP_MANUAL ${PROJECT_BINARY_DIR}/manual)
if(NOT CMAKE_CROSSCOMPILING AND NOT NVDP_SANITIZE AND NOT NVDP_FUZZ)
  add_custom_command(TARGET nvdp POST_BUILD COMMAND nvdp manual --quiet ${NVDP_MANUAL} COMMENT "Man pages and completions" VERBATIM)
endif()
