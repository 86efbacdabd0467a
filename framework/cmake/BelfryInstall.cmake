# `cmake --install`: headers under include/belfry, the library, the CMake package Belfry with the
# target belfry::belfry, and belfry.pc for pkg-config. No path of this machine goes into them, so the
# tree may be moved. Headers name nothing of other packages, so consumers need none of them to compile.
include(CMakePackageConfigHelpers)

install(TARGETS belfry EXPORT belfry
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The headers are looked for when they are installed: an #include that was added since then counts.
install(CODE "
  include(\"${PROJECT_SOURCE_DIR}/framework/cmake/BelfryHeaders.cmake\")
  belfry_install_headers(\"${PROJECT_SOURCE_DIR}\"
    \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/belfry\")")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

# Files named in lower case are found by find_package(Belfry) and find_package(belfry) alike.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/belfry)
install(EXPORT belfry NAMESPACE belfry:: FILE belfry-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(framework/cmake/belfry-config.cmake.in
  ${PROJECT_BINARY_DIR}/belfry-config.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_BINDIR NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/belfry-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/belfry-config.cmake
        ${PROJECT_BINARY_DIR}/belfry-config-version.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH belfry_up_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(framework/cmake/belfry.pc.in ${PROJECT_BINARY_DIR}/belfry.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/belfry.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
