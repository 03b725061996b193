# Both libraries, the headers, the program; found again by pkg-config (nvdp) and by CMake (find_package(nvdp)), wherever
# the installed folder is moved to.
include(CMakePackageConfigHelpers)
set(nvdp_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nvdp)

install(TARGETS nvdp_shared EXPORT nvdpTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS nvdp_static EXPORT nvdpStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS nvdp RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/compact DESTINATION ${CMAKE_INSTALL_DATADIR}/nvdp/models)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/presets DESTINATION ${CMAKE_INSTALL_DATADIR}/nvdp)

install(EXPORT nvdpTargets NAMESPACE nvdp:: DESTINATION ${nvdp_cmake_dir})
install(EXPORT nvdpStaticTargets NAMESPACE nvdp:: DESTINATION ${nvdp_cmake_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/nvdpConfig.cmake.in ${PROJECT_BINARY_DIR}/nvdpConfig.cmake
  INSTALL_DESTINATION ${nvdp_cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nvdpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nvdpConfig.cmake ${PROJECT_BINARY_DIR}/nvdpConfigVersion.cmake
  DESTINATION ${nvdp_cmake_dir})

file(RELATIVE_PATH NVDP_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/nvdp.pc.in ${PROJECT_BINARY_DIR}/nvdp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nvdp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
