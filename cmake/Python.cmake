# The Python package (python/): the public headers in the form that cffi reads, beside the shared library; its wheel;
# its tests.
set(nvdp_cdef ${PROJECT_BINARY_DIR}/nvdp.cdef)
foreach(header stdbool stddef stdint stdio)
  file(WRITE ${PROJECT_BINARY_DIR}/cdef/${header}.h "") # cffi knows these types
endforeach()
file(GLOB nvdp_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/nvdp.h ${PROJECT_SOURCE_DIR}/include/nvdp/*.h)
add_custom_command(OUTPUT ${nvdp_cdef}
  COMMAND ${CMAKE_C_COMPILER} -E -P -nostdinc "-D__attribute__(x)=" -I ${PROJECT_BINARY_DIR}/cdef -I ${PROJECT_SOURCE_DIR}/include
    -x c ${PROJECT_SOURCE_DIR}/include/nvdp.h -o ${nvdp_cdef}
  DEPENDS ${nvdp_headers} COMMENT "Declarations for Python" VERBATIM)
add_custom_target(nvdp_cdef ALL DEPENDS ${nvdp_cdef})

# The program finds the library beside its folder, under a name without a version.
if(SKBUILD)
  set_property(TARGET nvdp_shared PROPERTY SOVERSION)
  set_property(TARGET nvdp_shared PROPERTY VERSION)
  set_target_properties(nvdp PROPERTIES INSTALL_RPATH "$ORIGIN/..")
  install(TARGETS nvdp_shared nvdp LIBRARY DESTINATION nvdp COMPONENT python RUNTIME DESTINATION nvdp/bin COMPONENT python)
  install(FILES ${nvdp_cdef} DESTINATION nvdp COMPONENT python)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/python/program.py DESTINATION ${SKBUILD_SCRIPTS_DIR} RENAME nvdp COMPONENT python)
endif()

# A sanitized library would need a sanitized Python.
if(NVDP_BUILD_TESTS AND NOT NVDP_SANITIZE)
  add_test(NAME python COMMAND ${PROJECT_SOURCE_DIR}/python/tests/run.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(python PROPERTIES TIMEOUT 300 COST 40 LABELS python SKIP_RETURN_CODE 77 ENVIRONMENT "OMP_WAIT_POLICY=passive")
endif()
