# `cmake --install`: headers under include/belfry, the library, and the CMake package belfry with the
# target belfry::belfry. No path of this machine goes into it, so the tree may be moved. Headers name
# nothing of other packages, so consumers need none of them to compile.
include(CMakePackageConfigHelpers)

set(belfry_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/belfry)

install(TARGETS belfry EXPORT belfry
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(folder framework data hooks models)
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/belfry
          FILES_MATCHING PATTERN *.h
          PATTERN framework/backend/cpu EXCLUDE PATTERN framework/backend/cuda EXCLUDE
          PATTERN framework/distribute/mpi EXCLUDE PATTERN framework/cmake EXCLUDE
          PATTERN framework/programs EXCLUDE
          PATTERN models/by_name EXCLUDE)
  install(FILES ${folder}/${folder}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/belfry)
endforeach()

install(EXPORT belfry NAMESPACE belfry:: FILE belfryTargets.cmake DESTINATION ${belfry_package_dir})
file(WRITE ${PROJECT_BINARY_DIR}/belfryConfig.cmake
     "include(\${CMAKE_CURRENT_LIST_DIR}/belfryTargets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/belfryConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/belfryConfig.cmake
        ${PROJECT_BINARY_DIR}/belfryConfigVersion.cmake DESTINATION ${belfry_package_dir})
