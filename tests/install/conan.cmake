# The recipe for Conan packages what is built, and its own test builds and runs programs with the
# package. The sources that it takes along for a build elsewhere are configured, which takes seconds,
# and not built.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE_DIR}/tests/install/consumer.cmake)
include(${SOURCE_DIR}/tests/python/environment.cmake)

python_environment(${WORK_DIR}/environment ${SOURCE_DIR}/tests/install/conan.txt)
set(conan ${environment}/bin/conan)
set(folder ${WORK_DIR}/work)
file(REMOVE_RECURSE ${folder})
set(ENV{CONAN_HOME} ${folder}/home)
set(ENV{CXX} ${COMPILER})
run(${conan} profile detect)

# The recipe looks for a build where the preset `release` has it.
file(MAKE_DIRECTORY ${folder}/tree/build)
file(CREATE_LINK ${BINARY_DIR} ${folder}/tree/build/release SYMBOLIC)
set(wanted)
foreach(component ${COMPONENTS})
  list(APPEND wanted -o belfry/*:with_${component}=True)
endforeach()
run(${conan} export-pkg ${SOURCE_DIR}/examples/packages/conan --no-remote -of ${folder}/tree ${wanted}
    -s build_type=${CONFIG} -c tools.cmake.cmaketoolchain:generator=${GENERATOR}
    -c tools.cmake.cmake_layout:test_folder=${folder}/test)

execute_process(COMMAND ${conan} cache path belfry/${VERSION} --folder=export_source
                OUTPUT_VARIABLE sources OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
run(${CMAKE_COMMAND} -S ${sources} -B ${folder}/sources -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
    -D BELFRY_CUDA=OFF -D BELFRY_BUILD_TESTS=OFF -D BELFRY_BUILD_EXAMPLES=OFF)
