# The library, its headers, the program; found again by pkg-config (nvdp) and by CMake (find_package(nvdp)).
include(CMakePackageConfigHelpers)
set(nvdp_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nvdp)

set_target_properties(nvdp PROPERTIES EXPORT_NAME nvdp)
install(TARGETS nvdp EXPORT nvdpTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS nvdp_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT nvdpTargets NAMESPACE nvdp:: DESTINATION ${nvdp_cmake_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/nvdpConfig.cmake.in ${PROJECT_BINARY_DIR}/nvdpConfig.cmake
  INSTALL_DESTINATION ${nvdp_cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nvdpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nvdpConfig.cmake ${PROJECT_BINARY_DIR}/nvdpConfigVersion.cmake
  DESTINATION ${nvdp_cmake_dir})

configure_file(${CMAKE_CURRENT_LIST_DIR}/nvdp.pc.in ${PROJECT_BINARY_DIR}/nvdp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nvdp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/compact DESTINATION ${CMAKE_INSTALL_DATADIR}/nvdp/models)
