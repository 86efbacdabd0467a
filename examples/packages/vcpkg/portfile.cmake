# An overlay port that builds the tree around it. A registry has a port without its tree: there
# vcpkg_from_github(OUT_SOURCE_PATH SOURCE_PATH REPO ... REF "v${VERSION}" SHA512 ...) sets SOURCE_PATH.
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES
  cuda BELFRY_CUDA
  mpi BELFRY_MPI
  snappy BELFRY_SNAPPY)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${features}
  -DBELFRY_BUILD_TESTS=OFF -DBELFRY_BUILD_EXAMPLES=OFF -DBELFRY_BUILD_PROGRAMS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/belfry)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
     "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
