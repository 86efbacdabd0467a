#include "belfry/framework/backend/cuda/toolkit/nvrtc/compile.h"

#include <nvrtc.h>

#include <string_view>

#include "belfry/framework/backend/cuda/toolkit/nvrtc/device_headers.h"
#include "belfry/framework/base/error.h"

namespace belfry::cuda {
namespace {

void check(nvrtcResult result, const char* call) {
  if (result != NVRTC_SUCCESS) fail(call, ": ", nvrtcGetErrorString(result));
}

struct Program {
  explicit Program(const std::string& source) {
    std::vector<const char*> names, texts;
    for (const DeviceHeader& header : device_headers()) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
    check(nvrtcCreateProgram(&handle, source.c_str(), "fused_chain.cu", names.size(), texts.data(),
                             names.data()),
          "nvrtcCreateProgram");
  }
  ~Program() { nvrtcDestroyProgram(&handle); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string log() const {
    std::size_t size = 0;
    check(nvrtcGetProgramLogSize(handle, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    check(nvrtcGetProgramLog(handle, text.data()), "nvrtcGetProgramLog");
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
  nvrtcResult result = nvrtcCompileProgram(program.handle, std::size(options), options);
  if (result != NVRTC_SUCCESS)
    fail("nvrtcCompileProgram: ", nvrtcGetErrorString(result), ": ", program.log());
  std::size_t size = 0;
  check(nvrtcGetCUBINSize(program.handle, &size), "nvrtcGetCUBINSize");
  std::vector<char> code(size);
  check(nvrtcGetCUBIN(program.handle, code.data()), "nvrtcGetCUBIN");
  return code;
}

}  // namespace belfry::cuda
