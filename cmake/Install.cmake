# Installs both libraries, the headers, and the program with its man pages and completions. pkg-config (nvdp) and CMake
# (find_package(nvdp)) find them also after the installed directory has moved.
include(CMakePackageConfigHelpers)
set(nvdp_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nvdp)

# Nothing of a component is installed while its file is missing: only some targets were built.
foreach(pair library:nvdp_shared dev:nvdp_static program:nvdp)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 target)
  install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
  message(FATAL_ERROR \"$<TARGET_FILE_NAME:${target}> is not built. Build everything first: cmake --build ${PROJECT_BINARY_DIR}. \"
    \"Or install the program and its library: cmake --install ${PROJECT_BINARY_DIR} --component program, and --component library\")
endif()" COMPONENT ${component})
endforeach()
install(TARGETS nvdp_shared EXPORT nvdpTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  NAMELINK_COMPONENT dev)
install(TARGETS nvdp_static EXPORT nvdpStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.h")
install(TARGETS nvdp RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/compact DESTINATION ${CMAKE_INSTALL_DATADIR}/nvdp/models COMPONENT program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/presets DESTINATION ${CMAKE_INSTALL_DATADIR}/nvdp COMPONENT program)
install(DIRECTORY ${NVDP_MANUAL}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL FILES_MATCHING PATTERN "*.1")
install(FILES ${NVDP_MANUAL}/nvdp.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME nvdp
  COMPONENT program OPTIONAL)
install(FILES ${NVDP_MANUAL}/_nvdp DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program OPTIONAL)

install(EXPORT nvdpTargets NAMESPACE nvdp:: DESTINATION ${nvdp_cmake_dir} COMPONENT dev)
install(EXPORT nvdpStaticTargets NAMESPACE nvdp:: DESTINATION ${nvdp_cmake_dir} COMPONENT dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/nvdpConfig.cmake.in ${PROJECT_BINARY_DIR}/nvdpConfig.cmake
  INSTALL_DESTINATION ${nvdp_cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nvdpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nvdpConfig.cmake ${PROJECT_BINARY_DIR}/nvdpConfigVersion.cmake
  DESTINATION ${nvdp_cmake_dir} COMPONENT dev)

file(RELATIVE_PATH NVDP_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/nvdp.pc.in ${PROJECT_BINARY_DIR}/nvdp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nvdp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
