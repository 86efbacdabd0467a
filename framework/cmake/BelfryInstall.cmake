# `cmake --install`: headers under include/belfry, the library, the CMake package Belfry with the
# target belfry::belfry, and belfry.pc for pkg-config. No path of this machine goes into them, so the
# tree may be moved. Headers name nothing of other packages, so consumers need none of them to compile.
include(CMakePackageConfigHelpers)
include(BelfryHeaders)

install(TARGETS belfry EXPORT belfry
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
belfry_header_closure(headers ${PROJECT_SOURCE_DIR} ${belfry_doors} ${belfry_inner_doors})
foreach(header ${headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/belfry/${folder})
endforeach()
foreach(header ${belfry_doors} framework/ops.h framework/backend.h)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/belfry)
endforeach()
install(FILES ${BELFRY_INCLUDE_DIR}/belfry/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/belfry)
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
