// Chains of elementwise ops, each compiled to a kernel of its own when a plan first has it. Where
// that fails the chain runs on kernels/elementwise/fused_elementwise.cu.

#include "belfry/framework/ops/elementwise/fused_elementwise.h"

#include <map>
#include <utility>

#include "belfry/framework/backend/cuda/fused_source.h"
#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/backend/cuda/toolkit/check.h"
#include "belfry/framework/backend/cuda/toolkit/nvrtc/compile.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/mutex.h"

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

/// The code that has been compiled in this process: each text once for an architecture, whatever
/// came of it. Loaded code stays, as the same texts come again. From any thread.
class CompiledChains {
 public:
  /// A kernel for whichever GPU of this architecture it is launched on; null where it cannot be
  /// had, which is said once.
  cudaKernel_t find(const std::string& text, int device) {
    MutexLock lock(mutex_);
    try {
      int architecture = architecture_of(device);
      auto [chain, is_new] = all_.try_emplace({architecture, text}, nullptr);
      if (is_new) chain->second = load(compile_kernel(text, architecture));
      return chain->second;
    } catch (const Error& error) {
      if (!std::exchange(said_, true))
        log_warning("chains of elementwise ops run on a slower kernel: ", error.what());
      return nullptr;
    }
  }

 private:
  static cudaKernel_t load(const std::vector<char>& code) {
    cudaLibrary_t library = nullptr;
    check(cudaLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cudaLibraryLoadData");
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, library, "fused_chain"), "cudaLibraryGetKernel");
    return kernel;
  }

  Mutex mutex_;
  // Null: could not be compiled.
  std::map<std::pair<int, std::string>, cudaKernel_t> all_ BELFRY_GUARDED_BY(mutex_);
  bool said_ BELFRY_GUARDED_BY(mutex_) = false;
};

std::unique_ptr<Kernel> make(const Node& node, const Gpu& gpu, const KernelOptions&) {
  static CompiledChains compiled;
  std::optional<FusedSource> source = fused_source(node);
  if (!source) return nullptr;
  cudaKernel_t kernel = compiled.find(source->text, gpu.index);
  if (!kernel) return nullptr;
  source->text.clear();
  return make_kernel(
      [kernel, source = *source](const KernelArguments& a, Stream& stream) {
        FusedArguments arguments = source.at(a);
        void* address = &arguments;
        enqueue(stream, {.function = kernel, .shape = source.shape, .arguments = &address});
      },
      Bytes(0), "nvrtc");
}

const KernelRegistration registration(fused_elementwise_op, make, Preference::library);

}  // namespace
}  // namespace belfry::cuda
