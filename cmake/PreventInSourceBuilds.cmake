# A build folder inside the sources is fine; the sources' own folder is not.
file(REAL_PATH ${CMAKE_SOURCE_DIR} nvdp_source)
file(REAL_PATH ${CMAKE_BINARY_DIR} nvdp_binary)
if(nvdp_source STREQUAL nvdp_binary)
  message(FATAL_ERROR "Build in a folder of its own: cmake -S . -B build/release.  "
    "Remove CMakeCache.txt and CMakeFiles/ here first.")
endif()
