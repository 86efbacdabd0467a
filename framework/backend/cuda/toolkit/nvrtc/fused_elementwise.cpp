// Chains of elementwise ops, each compiled to a kernel of its own when a plan first has it. Where
// that fails the chain runs on kernels/fused_elementwise.cu.

#include "belfry/framework/ops/fused_elementwise.h"

#include <map>
#include <memory>
#include <mutex>

#include "belfry/framework/backend/cuda/fused_source.h"
#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/toolkit/check.h"
#include "belfry/framework/backend/cuda/toolkit/nvrtc/compile.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"

namespace belfry::cuda {
namespace {

int architecture_of(int device) {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
        "cudaDeviceGetAttribute");
  return 10 * major + minor;
}

/// Machine code where GPUs find it, on whichever of them it is launched.
struct LoadedKernel {
  explicit LoadedKernel(const std::vector<char>& code) {
    check(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cudaLibraryLoadData");
    cudaError_t found = cudaLibraryGetKernel(&function, library, "fused_chain");
    if (found != cudaSuccess) cudaLibraryUnload(library);
    check(found, "cudaLibraryGetKernel");
  }
  ~LoadedKernel() { cudaLibraryUnload(library); }
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  cudaLibrary_t library = nullptr;
  cudaKernel_t function = nullptr;
};

/// What has been compiled in this process: each text once for an architecture, whatever came of it.
/// Loaded code goes with the last kernel that uses it. From any thread.
class CompiledChains {
 public:
  /// Null where it cannot be had, which is said once.
  std::shared_ptr<LoadedKernel> find(const std::string& text, int device) {
    std::lock_guard lock(mutex_);
    try {
      int architecture = architecture_of(device);
      auto [known, is_new] = all_.try_emplace({architecture, text});
      Chain& chain = known->second;
      if (is_new) chain.code = compile_kernel(text, architecture);
      if (chain.code.empty()) return nullptr;
      std::shared_ptr<LoadedKernel> loaded = chain.loaded.lock();
      if (!loaded) chain.loaded = loaded = std::make_shared<LoadedKernel>(chain.code);
      return loaded;
    } catch (const Error& error) {
      if (!std::exchange(said_, true))
        log_warning("chains of elementwise ops run on a slower kernel: ", error.what());
      return nullptr;
    }
  }

 private:
  struct Chain {
    std::vector<char> code;  // empty: it could not be compiled
    std::weak_ptr<LoadedKernel> loaded;
  };
  std::mutex mutex_;
  std::map<std::pair<int, std::string>, Chain> all_;
  bool said_ = false;
};

std::unique_ptr<Kernel> make(const Node& node, const Gpu& gpu, const KernelOptions&) {
  static CompiledChains compiled;
  std::optional<FusedSource> source = fused_source(node);
  if (!source) return nullptr;
  std::shared_ptr<LoadedKernel> kernel = compiled.find(source->text, gpu.index);
  if (!kernel) return nullptr;
  source->text.clear();
  return make_kernel(
      [kernel, source = *source](const KernelArguments& a, Stream& stream) {
        FusedArguments arguments = source.at(a);
        void* address = &arguments;
        enqueue(stream,
                {.function = kernel->function, .shape = source.shape, .arguments = &address});
      },
      Bytes(0), "nvrtc");
}

const KernelRegistration registration(fused_elementwise_op, make, Preference::library);

}  // namespace
}  // namespace belfry::cuda
