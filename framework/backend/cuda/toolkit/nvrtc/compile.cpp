#include "belfry/framework/backend/cuda/toolkit/nvrtc/compile.h"

#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include <string_view>

#include "belfry/framework/backend/cuda/toolkit/loaded_library.h"
#include "belfry/framework/backend/cuda/toolkit/nvrtc/device_headers.h"
#include "belfry/framework/base/error.h"

namespace belfry::cuda {
namespace {

const LoadedLibrary nvrtc(concat("libnvrtc.so.", CUDART_VERSION / 1000),
                          "install CUDA's NVRTC (pip: nvidia-cuda-nvrtc)");
#define BELFRY_NVRTC(function) BELFRY_LOADED(nvrtc, function)

void check(nvrtcResult result, const char* call) {
  if (result != NVRTC_SUCCESS) fail(call, ": ", BELFRY_NVRTC(nvrtcGetErrorString)(result));
}

struct Program {
  explicit Program(const std::string& source) {
    std::vector<const char*> names, texts;
    for (const DeviceHeader& header : device_headers()) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
    check(BELFRY_NVRTC(nvrtcCreateProgram)(&handle, source.c_str(), "fused_chain.cu", names.size(),
                                           texts.data(), names.data()),
          "nvrtcCreateProgram");
  }
  ~Program() { BELFRY_NVRTC(nvrtcDestroyProgram)(&handle); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string log() const {
    std::size_t size = 0;
    check(BELFRY_NVRTC(nvrtcGetProgramLogSize)(handle, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    check(BELFRY_NVRTC(nvrtcGetProgramLog)(handle, text.data()), "nvrtcGetProgramLog");
    return text.substr(0, text.find_first_of(std::string_view("\n\0", 2)));
  }

  nvrtcProgram handle = nullptr;
};

}  // namespace

std::vector<char> compile_kernel(const std::string& source, int architecture) {
  Program program(source);
  std::string target = concat("--gpu-architecture=sm_", architecture);
  std::string first = concat("--pre-include=", device_headers()[0].name);
  const char* options[] = {"--std=c++20", "--fmad=false", "--device-as-default-execution-space",
                           target.c_str(), first.c_str()};
  nvrtcResult result =
      BELFRY_NVRTC(nvrtcCompileProgram)(program.handle, std::size(options), options);
  if (result != NVRTC_SUCCESS)
    fail("nvrtcCompileProgram: ", BELFRY_NVRTC(nvrtcGetErrorString)(result), ": ", program.log());
  std::size_t size = 0;
  check(BELFRY_NVRTC(nvrtcGetCUBINSize)(program.handle, &size), "nvrtcGetCUBINSize");
  std::vector<char> code(size);
  check(BELFRY_NVRTC(nvrtcGetCUBIN)(program.handle, code.data()), "nvrtcGetCUBIN");
  return code;
}

}  // namespace belfry::cuda
