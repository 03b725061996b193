# experiments/examples/NAME.c -> example_NAME, with the public headers only. A test runs each without arguments.
file(GLOB nvdp_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/experiments/examples/*.c)
foreach(source ${nvdp_examples})
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE nvdp_shared nvdp_flags m)
  if(NVDP_BUILD_TESTS)
    add_test(NAME example_${name} COMMAND example_${name} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
    set_tests_properties(example_${name} PROPERTIES TIMEOUT 300 LABELS example ENVIRONMENT "OMP_WAIT_POLICY=passive")
  endif()
endforeach()

# The demo's generator of texts and scores.
file(GLOB nvdp_demo CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/experiments/demo/*.c)
if(nvdp_demo)
  add_executable(nvdp_demo ${nvdp_demo})
  set_target_properties(nvdp_demo PROPERTIES OUTPUT_NAME nvdp-demo)
  target_link_libraries(nvdp_demo PRIVATE nvdp_shared nvdp_flags PkgConfig::JANSSON m)
endif()

# Executes the notebooks on new files of the program. Sanitizers are excluded, because training would take too long.
if(NVDP_BUILD_TESTS AND NOT NVDP_SANITIZE)
  add_test(NAME notebooks COMMAND ${PROJECT_SOURCE_DIR}/notebooks/run.sh ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/notebooks)
  set_tests_properties(notebooks PROPERTIES TIMEOUT 600 LABELS notebooks SKIP_RETURN_CODE 77
    ENVIRONMENT "OMP_WAIT_POLICY=passive")
endif()
