# A build directory inside the source directory is fine; the source directory itself is not.
file(REAL_PATH ${CMAKE_SOURCE_DIR} nvdp_source)
file(REAL_PATH ${CMAKE_BINARY_DIR} nvdp_binary)
if(nvdp_source STREQUAL nvdp_binary)
  message(FATAL_ERROR "Build in a separate directory: cmake -S . -B build/release. "
    "Remove CMakeCache.txt and CMakeFiles/ here first.")
endif()
