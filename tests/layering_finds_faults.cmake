# The layering test itself: small trees, each with one fault, must fail with the fault's name.
cmake_minimum_required(VERSION 3.22)

# check(NAME expected FILE text FILE text ...)
function(check name expected)
  file(REMOVE_RECURSE ${WORK_DIR}/${name})
  while(ARGN)
    list(POP_FRONT ARGN file text)
    file(WRITE ${WORK_DIR}/${name}/${file} "${text}\n")
  endwhile()
  execute_process(COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${WORK_DIR}/${name}
                  -P ${SOURCE_DIR}/tests/layering.cmake
                  RESULT_VARIABLE status ERROR_VARIABLE message OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " message "${message}")
  string(FIND "${message}" "${expected}" at)
  if(expected STREQUAL "no fault" AND NOT status EQUAL 0)
    message(SEND_ERROR "${name}: expected no fault, got: ${message}")
  elseif(NOT expected STREQUAL "no fault" AND (status EQUAL 0 OR at EQUAL -1))
    message(SEND_ERROR "${name}: expected `${expected}`, got status ${status}: ${message}")
  endif()
endfunction()

check(none "no fault"
      framework/graph/a.h "#include <vector>\n#include \"belfry/framework/tensor/b.h\""
      framework/tensor/b.h "" framework/backend/cpu/c.cpp "#include <dnnl.hpp>"
      framework/backend/cuda/toolkit/f.cu "#include <cuda_runtime_api.h>"
      framework/distribute/mpi/e.h "#include <mpi.h>"
      hooks/hooks.h "" examples/mnist/d.cpp "#include <belfry/hooks.h>")
check(upward
      "framework/tensor/b.cpp includes framework/graph/a.h: framework/tensor may not include framework/graph"
      framework/tensor/b.cpp "#include \"belfry/framework/graph/a.h\"" framework/graph/a.h "")
check(out_of_a_room
      "framework/train/a.h includes framework/train/step/b.h: framework/train may not include framework/train/step"
      framework/train/a.h "#include \"belfry/framework/train/step/b.h\"" framework/train/step/b.h "")
check(into_another_room
      "framework/train/state/a.h includes framework/train/model/b.h: framework/train/state may not include framework/train/model"
      framework/train/state/a.h "#include \"belfry/framework/train/model/b.h\"" framework/train/model/b.h "")
check(sideways "data/x.h includes framework/graph/a.h: data may not include framework/graph"
      data/x.h "#include \"belfry/framework/graph/a.h\"" framework/graph/a.h "")
check(umbrella "hooks/x.h includes framework/framework.h: hooks may not include framework"
      hooks/x.h "#include <belfry/framework.h>" framework/framework.h "")
check(formats "no fault" hooks/x.cpp "#include \"belfry/data/formats/y.h\"" data/formats/y.h "")
check(pipelines "hooks/x.cpp includes data/y.h: hooks may not include data"
      hooks/x.cpp "#include \"belfry/data/y.h\"" data/y.h "")
check(cycle "a cycle of includes, in or below these files: data/x.h data/y.h"
      data/x.h "#include \"belfry/data/y.h\"" data/y.h "#include \"belfry/data/x.h\"")
check(package "data/x.h includes <opencv2/core.hpp>: public headers include no packages"
      data/x.h "#include <opencv2/core.hpp>")
check(device "data/x.cpp includes <dnnl.hpp>: that is for framework/backend/cpu"
      data/x.cpp "#include <dnnl.hpp>")
check(cuda "framework/backend/cuda/x.cpp includes <cudnn.h>: that is for framework/backend/cuda/toolkit"
      framework/backend/cuda/x.cpp "#include <cudnn.h>")
check(mpi "framework/distribute/x.cpp includes <mpi.h>: that is for framework/distribute/mpi"
      framework/distribute/x.cpp "#include <mpi.h>")
check(mpi_inward "framework/train/x.cpp includes framework/distribute/mpi/y.h"
      framework/train/x.cpp "#include \"belfry/framework/distribute/mpi/y.h\""
      framework/distribute/mpi/y.h "")
check(short_name "data/x.cpp includes \"y.h\": write it as belfry/..."
      data/x.cpp "#include \"y.h\"" data/y.h "")
