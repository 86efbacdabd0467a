#pragma once
// A compiled step: kernels in order, each operand at a place known beforehand.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/base/fields.h"
#include "belfry/framework/graph/rewrite.h"
#include "belfry/framework/graph/step_record.h"

namespace belfry {

/// Where a value lives while the step runs.
struct Location {
  enum class Kind : std::uint8_t {
    none,      ///< nowhere: a workspace that the kernel does not need
    arena,     ///< at byte `position` of the plan's arena
    variable,  ///< variable number `position` of the plan
    input,     ///< input number `position` of the plan
    constant,  ///< constant number `position` of the plan
  };
  Kind kind = Kind::none;
  std::int64_t position = 0;
  bool operator==(const Location&) const = default;
};

/// One kernel launch, half of a reduction over towers, or one end of a transfer between devices.
struct Instruction {
  using Role = InstructionRole;
  std::shared_ptr<Kernel> kernel;  ///< of a start: for one tower; none of finish, send, receive
  /// The node that it computes; for a pack the one whose output is packed or unpacked, the first of
  /// several
  const Node* node = nullptr;
  Role role = Role::compute;
  std::vector<Location> inputs;
  std::vector<Location> outputs;
  Location workspace;
  std::int64_t packed_bytes = 0;  ///< that a pack reads and writes
};

/// The use of a piece of the arena.
enum class MemoryUse : std::uint8_t {
  activation,
  received,    ///< a value of another device
  recomputed,  ///< an activation that was dropped and is computed again
  gradient,
  update,
  packed_weights,
  workspace
};
constexpr auto names_of(MemoryUse) {
  return name_list("activation", "from other devices", "recomputed", "gradient", "update",
                   "packed weights", "workspace");
}

/// A piece of the arena, live from instruction `first` to instruction `last`, both included. Pieces
/// whose lives overlap do not overlap in memory.
struct PlannedBlock {
  std::string name;  ///< scope path and op
  MemoryUse use = MemoryUse::activation;
  TensorType type = {};
  std::int64_t bytes = 0;
  int first = 0;
  int last = 0;
  std::int64_t offset = 0;
};

/// The work that a kind of device does in a second: it computes, moves memory, sends to a device of
/// its kind. Rough, and the same for all of a kind, so that plans do not depend on the machine.
/// Only ratios count. What GPUs send is a guess.
struct WorkRates {
  double flops, bytes, sent_bytes;
};
inline constexpr WorkRates rates_of_cpus{1.5e11, 2e10, 1e10};  ///< a core with AVX-512
inline constexpr WorkRates rates_of_gpus{3e14, 2.8e12, 2e11};  ///< ResNet-50 in bf16 on an H100

/// These choose what a plan computes again in its backward pass in place of keeping it: see
/// recompute() in passes.h.
struct RecomputeOptions {
  /// Values that one pass over memory gives again, as long as all such passes together take no more
  /// than about 3 % of the step: a batch's normalised elements, with residual and ReLU,
  /// conversions between types, and concats.
  bool cheap = true;
  /// All that is made in these scopes and below, but for what the forward pass reads outside; the
  /// empty one is the whole model.
  std::vector<std::string> scopes = {};
  /// Where that leaves more than this alive at a time on a device, as much more as it takes, whole
  /// segments of the model among it; 0: no limit. Weights are then packed again for kernels far
  /// behind. An estimate: workspaces, packed weights and gaps come on top.
  std::int64_t most_bytes = 0;
  /// The rates of the devices, by which time is estimated.
  WorkRates rates = rates_of_cpus;
};

/// A plan computes so much again, in estimates.
struct Recomputed {
  int nodes = 0;                 ///< ops that run once more
  std::int64_t saved_bytes = 0;  ///< at the peak
  double time_fraction = 0;      ///< of the step's time
};
/// "49 ops, for 193.5 MiB less and about 2.4 % more time"; empty where there are none.
std::string to_string(const Recomputed& recomputed);

/// The compiled step. Its kernels keep the addresses of their last run, so one executable uses it.
struct Plan {
  Program program;  ///< after all passes; instructions point into it
  std::vector<Instruction> instructions;
  int first_effect = 0;  ///< the first instruction that may write variables; outputs are complete
  std::vector<const Node*> variables;
  std::vector<const Node*> inputs;
  std::vector<const Node*> constants;
  std::vector<const Node*> receives;
  std::vector<Location> outputs;  ///< of program.outputs
  std::vector<PlannedBlock> blocks;
  std::int64_t arena_bytes = 0;
  double flops = 0;                    ///< of one step
  int threads = 1;                     ///< that its kernels were prepared for
  bool tf32 = true;                    ///< see KernelOptions
  std::optional<DeviceLimits> limits;  ///< of its device
  /// The device runs behind the host: inputs arrive in one buffer while the step before still reads
  /// another, and outputs leave through a buffer.
  bool staged = false;
  Recomputed recomputed;

  std::int64_t variable_bytes(bool slots) const;  ///< of slots, or of all others
  std::int64_t input_bytes() const;               ///< with the buffers of a staged plan
  /// A step takes so much of the memory that plans share: the arena and behind it, where the plan
  /// is not staged, input after input, each at a multiple of 64 bytes.
  std::int64_t scratch_bytes() const;
  std::int64_t constant_bytes() const;
  std::int64_t bytes() const;  ///< all of the above
  /// Bytes of the arena's blocks at the moment of its highest use, by MemoryUse.
  std::vector<std::pair<MemoryUse, std::int64_t>> peak_by_use() const;
};

/// The bytes that a tensor takes in a staged plan's buffers, where each begins at a multiple of 256
/// bytes.
inline std::int64_t staged_bytes(const TensorType& type) {
  return (type.bytes() + 255) / 256 * 256;
}
/// Behind the inputs of a staged plan, for KernelArguments::fault.
inline constexpr std::int64_t staged_fault_bytes = 256;

/// A tower's step: a plan for each of its devices. They run side by side.
struct TowerPlan {
  struct Output {
    int device = 0;
    int index = 0;  ///< among the outputs of the device's plan
  };
  std::vector<std::shared_ptr<const Plan>> plans;
  std::vector<Output> outputs;  ///< those that were asked for, in their order
};

struct CompileOptions {
  bool fast = true;     ///< false: no rewriting but dead code removal, and reference kernels only
  bool verify = false;  ///< check the graph after each pass (always so in debug builds)
  int threads = 0;      ///< host threads that kernels may use at most; 0: one per core
  bool tf32 = true;     ///< see KernelOptions
  bool exact_convolutions = false;  ///< see KernelOptions
  /// All weights are cast and packed by as few launches as there may be, and so are gradients
  /// unpacked and cast, where the device has such kernels: that takes memory for all of them at a
  /// time. false, or where recompute.most_bytes is set: each where it is needed.
  bool gather = true;
  RecomputeOptions recompute = {};
};

/// Compiles what the roots need for one device, whatever devices they are on. Error: an op has no
/// kernel on the device (op, scope path and device are named).
std::shared_ptr<const Plan> compile(std::span<const Tensor> outputs, std::span<Node* const> effects,
                                    Device& device, CompileOptions options = {});

/// Compiles what the roots need for a tower, each node for its device. Error: as above;
/// a node is on a device that is not there (its scope path, the number of devices and what to do
/// are named).
std::shared_ptr<const TowerPlan> compile_tower(std::span<const Tensor> outputs,
                                               std::span<Node* const> effects,
                                               std::span<Device* const> devices,
                                               CompileOptions options = {});

/// The plan for people: kernels with their shapes and implementations, the memory that they move
/// (MB), their GFLOP and, where the device's limits are known, the microseconds that they take at
/// least; what is left to reference kernels; then memory by category and the ten largest tensors
/// by scope path.
std::string explain(const Plan& plan);
/// Device after device, where there are several.
std::string explain(const TowerPlan& plan);

/// The bytes that live in the arena over the step: a column for so many instructions, at that of
/// them where the most live, stacked by MemoryUse, a letter for each. Below are the moment of the
/// peak and the five largest tensors there. Empty for a plan that needs no arena.
std::string memory_picture(const Plan& plan);

}  // namespace belfry
