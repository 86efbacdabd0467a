#include "belfry/framework/backend/cuda/toolkit/cudnn/graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "belfry/framework/backend/cuda/quietly.h"
#include "belfry/framework/backend/cuda/stream.h"
#include "belfry/framework/backend/cuda/toolkit/of_device.h"
#include "belfry/framework/base/error.h"

namespace belfry::cuda {
namespace {

bool unsupported(cudnnStatus_t status) {
  return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
}

Descriptor engine_of(const Descriptor& configuration) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t target = engine.get();
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &target),
        "reading an engine");
  return engine;
}

std::int64_t number_of(const Descriptor& engine) {
  std::int64_t number = 0, count = 0;
  check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                 &count, &number),
        "reading an engine's number");
  return number;
}

std::vector<cudnnBackendNumericalNote_t> notes_of(const Descriptor& engine) {
  std::int64_t count = 0;
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                 CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count,
                                 notes.data()),
        "reading an engine's notes");
  notes.resize(count);
  return notes;
}

bool allowed(const Descriptor& configuration, const PlanLimits& limits) {
  Descriptor engine = engine_of(configuration);
  if (number_of(engine) == limits.refused_engine) return false;
  std::vector<cudnnBackendNumericalNote_t> notes = notes_of(engine);
  auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  };
  // Fast transforms round on the way; down-converting goes below TF32.
  for (auto note :
       {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
        CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, CUDNN_NUMERICAL_NOTE_FFT,
        CUDNN_NUMERICAL_NOTE_WINOGRAD})
    if (has(note)) return false;
  return limits.tensor_cores || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

// Ways to run a graph, cuDNN's favourite first.
std::vector<Descriptor> configurations(const CudnnHandle& library, const Descriptor& graph,
                                       cudnnBackendHeurMode_t mode) {
  Descriptor search(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  search.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (library.described) search.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *library.described);
  if (!search.try_finalize()) return {};
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(search.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
        "counting engine configurations");
  std::vector<Descriptor> all;
  std::vector<cudnnBackendDescriptor_t> targets;
  for (std::int64_t i = 0; i < count; ++i)
    targets.push_back(all.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  check(cudnnBackendGetAttribute(search.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, targets.data()),
        "reading engine configurations");
  all.erase(all.begin() + count, all.end());
  return all;
}

Descriptor graph_of(const CudnnHandle& library, const OperationGraph& operations)
    BELFRY_REQUIRES(library.mutex) {
  std::vector<cudnnBackendDescriptor_t> list;
  for (const Descriptor& operation : operations.operations()) list.push_back(operation.get());
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (library.handle) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, library.handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, list.size(), list.data());
  return graph;
}

Descriptor plan_of(const CudnnHandle& library, const Descriptor& configuration)
    BELFRY_REQUIRES(library.mutex) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  if (library.described) {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *library.described);
  } else {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, library.handle);
  }
  return plan;
}

std::int64_t workspace_of(const Descriptor& plan) {
  std::int64_t bytes = 0, count = 0;
  check(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &count, &bytes),
        "reading a plan's workspace");
  return bytes;
}

// The first way that works is taken, of those that need little memory if there is one. Timing
// several would make another choice in another run, whose sums would then have other bits.
std::shared_ptr<const FoundPlan> search(const CudnnHandle& library, OperationGraph operations,
                                        const PlanLimits& limits) BELFRY_REQUIRES(library.mutex) {
  Descriptor graph = graph_of(library, operations);
  if (!graph.try_finalize()) return nullptr;
  using Way = std::pair<Descriptor, Descriptor>;  // configuration, plan
  auto found = [&](Way way) {
    return std::make_shared<FoundPlan>(FoundPlan{std::move(operations), std::move(graph),
                                                 std::move(way.first), std::move(way.second)});
  };
  std::optional<Way> large;
  cudnnStatus_t failure = CUDNN_STATUS_SUCCESS;
  for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (Descriptor& configuration : configurations(library, graph, mode)) {
      if (!allowed(configuration, limits)) continue;
      Descriptor plan = plan_of(library, configuration);
      cudnnStatus_t status = cudnnBackendFinalize(plan.get());
      if (status != CUDNN_STATUS_SUCCESS) {
        // Whatever the reason is why this one cannot be had, another may.
        if (!unsupported(status)) failure = status;
        continue;
      }
      Way way(std::move(configuration), std::move(plan));
      if (workspace_of(way.second) <= limits.workspace) return found(std::move(way));
      if (!large) large = std::move(way);
    }
  if (large) return found(std::move(*large));
  check(failure, "finalizing a plan");
  return nullptr;
}

}  // namespace

void check(cudnnStatus_t status, std::string_view call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> detail{};
  cudnnGetLastErrorString(detail.data(), detail.size() - 1);
  fail("cuDNN: ", call, ": ", cudnnGetErrorString(status), ": ", detail.data());
}

CudnnHandle::CudnnHandle(const Gpu& gpu) : api(&gpu.api), index(gpu.index) {
  check(cudnnCreate(&handle), "cudnnCreate");
}

CudnnHandle::CudnnHandle(std::string_view properties) {
  Descriptor d(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  d.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, properties.size(),
        properties.data());
  described = std::move(d).finalize();
}

CudnnHandle::~CudnnHandle() {
  if (!handle) return;
  quietly([&] { api->use(index); });
  found.clear();  // plans name the handle
  cudnnDestroy(handle);
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  check(cudnnBackendCreateDescriptor(type, &made), "cudnnBackendCreateDescriptor");
  descriptor_.reset(made);
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     std::int64_t count, const void* values) {
  check(cudnnBackendSetAttribute(get(), name, type, count, values),
        concat("setting attribute ", static_cast<int>(name)));
}

Descriptor&& Descriptor::finalize() && {
  check(cudnnBackendFinalize(get()), "cudnnBackendFinalize");
  return std::move(*this);
}

bool Descriptor::try_finalize() {
  cudnnStatus_t status = cudnnBackendFinalize(get());
  if (unsupported(status)) return false;
  check(status, "cudnnBackendFinalize");
  return true;
}

const Descriptor& OperationGraph::add(Descriptor description) {
  return named_.emplace_back(std::move(description));
}

const Descriptor& OperationGraph::add(const GraphTensor& t) {
  Descriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, t.id)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, t.type)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{alignment_of_operands})
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, t.sizes)
      .set(CUDNN_ATTR_TENSOR_STRIDES, t.strides)
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, t.intermediate);
  return add(std::move(d).finalize());
}

std::optional<GraphPlan> GraphPlan::find(const std::shared_ptr<CudnnHandle>& library,
                                         const PlanKey& key,
                                         const std::function<OperationGraph()>& operations,
                                         const PlanLimits& limits) {
  MutexLock lock(library->mutex);
  auto known = library->found.find(key);
  if (known == library->found.end())
    known = library->found.emplace(key, search(*library, operations(), limits)).first;
  if (!known->second) return std::nullopt;
  return GraphPlan(library, known->second);
}

GraphPlan::GraphPlan(std::shared_ptr<CudnnHandle> library, std::shared_ptr<const FoundPlan> found)
    : library_(std::move(library)),
      found_(std::move(found)),
      workspace_(workspace_of(found_->plan)) {}

std::int64_t GraphPlan::engine() const { return number_of(engine_of(found_->configuration)); }

// Addresses stay the same until the arena moves.
void GraphPlan::bind(std::span<const Operand> operands, void* workspace) {
  std::vector<std::int64_t> ids;
  addresses_.clear();
  for (const Operand& operand : operands) {
    ids.push_back(operand.id);
    addresses_.push_back(operand.address);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses_.size(),
           addresses_.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  bound_ = std::move(pack).finalize();
  addresses_.push_back(workspace);
}

void GraphPlan::run(std::span<const Operand> operands, void* workspace, Stream& stream) {
  bool same = addresses_.size() == operands.size() + 1 && addresses_.back() == workspace;
  for (std::size_t i = 0; i < operands.size() && same; ++i)
    same = addresses_[i] == operands[i].address;
  if (!same) bind(operands, workspace);
  MutexLock lock(library_->mutex);
  check(cudnnSetStream(library_->handle, handle_of(stream)), "cudnnSetStream");
  check(cudnnBackendExecute(library_->handle, found_->plan.get(), bound_->get()),
        "cudnnBackendExecute");
}

}  // namespace belfry::cuda
