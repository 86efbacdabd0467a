#pragma once
// cuDNN's graph interface: descriptors, operation graphs, and plans that run them. Internal to
// backend/cuda/toolkit.

#include <cudnn.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "belfry/framework/backend/cuda/kernels.h"
#include "belfry/framework/base/mutex.h"

namespace belfry::cuda {

/// Error when cuDNN refused `call`.
void check(cudnnStatus_t status, std::string_view call);

/// cuDNN's tag for the type of an attribute's value.
template <class T>
inline constexpr cudnnBackendAttributeType_t attribute_type = T::has_no_attribute_type;
template <>
inline constexpr auto attribute_type<std::int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr auto attribute_type<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr auto attribute_type<float> = CUDNN_TYPE_FLOAT;
template <>
inline constexpr auto attribute_type<double> = CUDNN_TYPE_DOUBLE;
template <>
inline constexpr auto attribute_type<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr auto attribute_type<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr auto attribute_type<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <>
inline constexpr auto attribute_type<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr auto attribute_type<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr auto attribute_type<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;

/// Owns one of cuDNN's descriptors: filled by set(), then finalized, then read.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, const T& value) {
    set(name, attribute_type<T>, 1, &value);
    return *this;
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    set(name, CUDNN_TYPE_INT64, values.size(), values.data());
    return *this;
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    cudnnBackendDescriptor_t other = value.get();
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
    return *this;
  }
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values);

  /// Error when cuDNN does not take it.
  Descriptor&& finalize() &&;
  /// False when cuDNN has no implementation of it.
  bool try_finalize();

  cudnnBackendDescriptor_t get() const { return descriptor_.get(); }

 private:
  struct Destroy {
    void operator()(void* descriptor) const { cudnnBackendDestroyDescriptor(descriptor); }
  };
  std::unique_ptr<void, Destroy> descriptor_;
};

/// An operand of a graph. Sizes and strides (elements) in the order n, c, then the spatial axes.
struct GraphTensor {
  std::int64_t id = 0;  ///< by which run() finds its address
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<std::int64_t> sizes, strides;
  bool intermediate = false;  ///< never in memory
};

/// Operations, and the descriptors that they name: cuDNN may look at those as long as it runs the
/// graph.
class OperationGraph {
 public:
  const Descriptor& add(const GraphTensor& tensor);
  const Descriptor& add(Descriptor description);
  void add_operation(Descriptor operation) { operations_.push_back(std::move(operation)); }
  const std::vector<Descriptor>& operations() const { return operations_; }

 private:
  std::deque<Descriptor> named_;  // references to its elements stay valid
  std::vector<Descriptor> operations_;
};

/// The computation of a plan as numbers: equal keys mean equal plans.
using PlanKey = std::vector<std::int64_t>;

/// A graph and how cuDNN runs it.
struct FoundPlan {
  OperationGraph operations;
  Descriptor graph, configuration, plan;
};

/// cuDNN on one GPU. The mutex guards the handle too, as the stream is part of it.
struct CudnnHandle {
  explicit CudnnHandle(const Gpu& gpu);
  /// For a GPU that need not be there, in cuDNN's words for its properties (JSON): plans are found
  /// for it and cannot run. Error when cuDNN wants to know other properties.
  explicit CudnnHandle(std::string_view properties);
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  Api* api = nullptr;
  int index = 0;
  Mutex mutex;
  cudnnHandle_t handle BELFRY_GUARDED_BY(mutex) = nullptr;
  std::optional<Descriptor> described;  ///< in place of the handle
  /// All that was looked for so far, as looking takes long and networks repeat their shapes; null
  /// where cuDNN has none.
  std::map<PlanKey, std::shared_ptr<const FoundPlan>> found BELFRY_GUARDED_BY(mutex);
};

struct Operand {
  std::int64_t id = 0;
  void* address = nullptr;
};

/// The limits on the choice of a plan.
struct PlanLimits {
  bool tensor_cores = true;                          ///< on f32 they mean TF32
  std::int64_t workspace = std::int64_t{256} << 20;  ///< bytes; more where no plan does with them
  std::int64_t refused_engine = -1;                  ///< by cuDNN's number; none
};

/// An operation graph with the engine that runs it.
class GraphPlan {
 public:
  /// The engine that cuDNN expects to be the fastest among those that are deterministic, round no
  /// more than sums once and keep to the limits; nothing when there is none. `operations` is called
  /// where no plan of this key, which stands for the limits too, is known yet. Error when cuDNN
  /// fails; then it is asked again the next time.
  static std::optional<GraphPlan> find(const std::shared_ptr<CudnnHandle>& library,
                                       const PlanKey& key,
                                       const std::function<OperationGraph()>& operations,
                                       const PlanLimits& limits);

  std::size_t workspace() const { return workspace_; }  ///< bytes
  std::int64_t engine() const;                          ///< by cuDNN's number
  /// Enqueues it. Used by one thread at a time.
  void run(std::span<const Operand> operands, void* workspace, Stream& stream);

 private:
  GraphPlan(std::shared_ptr<CudnnHandle> library, std::shared_ptr<const FoundPlan> found);
  void bind(std::span<const Operand> operands, void* workspace);

  std::shared_ptr<CudnnHandle> library_;
  std::shared_ptr<const FoundPlan> found_;
  std::size_t workspace_ = 0;
  std::optional<Descriptor> bound_;  // the addresses below, as cuDNN wants them
  std::vector<void*> addresses_;
};

}  // namespace belfry::cuda
