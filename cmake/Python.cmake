# The Python package (python/): the public headers in the form that cffi reads, beside the shared library; the dataclasses of
# options and results; its wheel; its tests.
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

# The dataclasses are made from the tables of the library, which a Python with cffi and numpy reads, and lie in the source tree,
# where imports and editors find them; those of a wheel in its own build. NVDP_PYTHON names another Python than python3.
set(nvdp_python python3)
set(nvdp_dataclasses ${PROJECT_SOURCE_DIR}/python/nvdp)
if(DEFINED ENV{NVDP_PYTHON})
  set(nvdp_python $ENV{NVDP_PYTHON})
endif()
if(SKBUILD)
  find_package(Python REQUIRED COMPONENTS Interpreter)
  set(nvdp_python ${Python_EXECUTABLE})
  set(nvdp_dataclasses ${PROJECT_BINARY_DIR}/dataclasses)
endif()
execute_process(COMMAND ${nvdp_python} -c "import cffi, numpy" RESULT_VARIABLE nvdp_no_cffi OUTPUT_QUIET ERROR_QUIET)
if(SKBUILD OR (NOT NVDP_SANITIZE AND nvdp_no_cffi STREQUAL "0")) # a sanitized library would need a sanitized Python
  file(GLOB nvdp_python_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/nvdp/*.py)
  list(FILTER nvdp_python_sources EXCLUDE REGEX "/(results|training_options)\\.py$")
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/dataclasses.stamp
    COMMAND ${CMAKE_COMMAND} -E env NVDP_LIBRARY=$<TARGET_FILE:nvdp_shared> PYTHONDONTWRITEBYTECODE=1
      ${nvdp_python} ${PROJECT_SOURCE_DIR}/python/generate.py ${nvdp_dataclasses}
    COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/dataclasses.stamp
    DEPENDS nvdp_shared ${nvdp_cdef} ${PROJECT_SOURCE_DIR}/python/generate.py ${nvdp_python_sources}
    COMMENT "Dataclasses for Python" VERBATIM)
  add_custom_target(nvdp_dataclasses ALL DEPENDS ${PROJECT_BINARY_DIR}/dataclasses.stamp)
endif()

# The program finds the library beside its folder, under a name without a version.
if(SKBUILD)
  set_property(TARGET nvdp_shared PROPERTY SOVERSION)
  set_property(TARGET nvdp_shared PROPERTY VERSION)
  # without the path of the build folder, which would change the digest of the wheel
  set_target_properties(nvdp PROPERTIES INSTALL_RPATH "$ORIGIN/.." BUILD_RPATH_USE_ORIGIN ON)
  install(TARGETS nvdp_shared nvdp LIBRARY DESTINATION nvdp COMPONENT python RUNTIME DESTINATION nvdp/bin COMPONENT python)
  install(FILES ${nvdp_cdef} ${nvdp_dataclasses}/results.py ${nvdp_dataclasses}/training_options.py DESTINATION nvdp COMPONENT python)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/python/program.py DESTINATION ${SKBUILD_SCRIPTS_DIR} RENAME nvdp COMPONENT python)
endif()

# A sanitized library would need a sanitized Python.
if(NVDP_BUILD_TESTS AND NOT NVDP_SANITIZE)
  add_test(NAME python COMMAND ${PROJECT_SOURCE_DIR}/python/tests/run.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(python PROPERTIES TIMEOUT 300 COST 70 LABELS python SKIP_RETURN_CODE 77 ENVIRONMENT "OMP_WAIT_POLICY=passive")
endif()
