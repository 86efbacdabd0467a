#pragma once
// How kernels of a GPU are found: each kernel file registers a factory for its op. Internal to
// backend/cuda.

#include <memory>
#include <string_view>
#include <utility>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/backend/cuda/api.h"
#include "belfry/framework/backend/cuda/faults.h"
#include "belfry/framework/backend/cuda/launch.h"

namespace belfry::cuda {

/// The GPU for which a kernel is prepared.
struct Gpu {
  Api& api;
  int index = 0;
  Faults& faults;
};

/// Prepares the kernel of a node, or returns null when it has none for these types or options.
using KernelFactory = std::unique_ptr<Kernel> (*)(const Node& node, const Gpu& gpu,
                                                  const KernelOptions& options);

/// The provider whose kernel is taken where there are several.
enum class Preference : std::uint8_t {
  library,  ///< NVIDIA's, asked first
  own,      ///< of kernels/
};

/// A static object of this type in a kernel's file makes its factory known.
struct KernelRegistration {
  KernelRegistration(const OpDef& op, KernelFactory factory,
                     Preference preference = Preference::own);
};

std::unique_ptr<Kernel> find_kernel(const Node& node, const Gpu& gpu, const KernelOptions& options);

/// A kernel that is one call: run(arguments, stream).
template <class Run>
std::unique_ptr<Kernel> make_kernel(Run run, Bytes workspace = Bytes(0),
                                    std::string_view implementation = "cuda") {
  class Made final : public Kernel {
   public:
    Made(Run run, Bytes workspace, std::string_view implementation)
        : run_(std::move(run)), workspace_(workspace), implementation_(implementation) {}
    Bytes workspace() const override { return workspace_; }
    std::string_view implementation() const override { return implementation_; }
    void run(const KernelArguments& arguments, Stream& stream) override { run_(arguments, stream); }

   private:
    Run run_;
    Bytes workspace_;
    std::string_view implementation_;
  };
  return std::make_unique<Made>(std::move(run), workspace, implementation);
}

}  // namespace belfry::cuda
