#pragma once
// The instructions of a plan in order, in terms of values that have no memory yet. Internal to
// compiler/.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "belfry/framework/compiler/memory_planner.h"
#include "belfry/framework/compiler/plan.h"

namespace belfry {

/// A value that lives in the arena, or at a leaf. Views share the value of what they view.
struct PlanValue {
  static constexpr int nobody = -1;

  Location leaf;  ///< kind none: the arena
  TensorType type;
  std::int64_t bytes = 0;
  const Node* maker = nullptr;
  MemoryUse use = MemoryUse::activation;
  int first = nobody;  ///< step that writes it
  int last = nobody;   ///< last step that reads it
  int block = nobody;
};

/// An instruction in terms of values.
struct PlanStep {
  Instruction instruction;
  std::vector<int> inputs, outputs;
  int workspace_block = PlanValue::nobody;
};

/// Kernels are found, and packs and unpackings put between them, in the constructor, which writes
/// to `plan` all but the instructions and what is said of memory.
class PlanSteps {
 public:
  PlanSteps(Plan& plan, Device& device, const CompileOptions& options);

  std::vector<PlanStep>& steps() { return steps_; }
  std::vector<PlanValue>& values() { return values_; }
  int value_of(const Tensor& t) const { return values_of_[t.node().id()][t.index()]; }
  std::vector<TransferEnd> transfer_ends() const;

 private:
  static constexpr int nobody = PlanValue::nobody;

  // A value that is made when somebody reads it: a cast, or what a kernel has left packed. What has
  // an `unpack`, a cast of a gradient too, is made with all others of its kind.
  struct Deferred {
    const Node* node = nullptr;
    int from = nobody;
    std::shared_ptr<Kernel> unpack = {}, unpack_to_f32 = {};  // null: a cast
  };
  // A kernel that makes another form of a value.
  struct Preparation {
    const Node* node = nullptr;
    int from = nobody, made = nobody;
    std::shared_ptr<Kernel> kernel;
  };
  struct Packed {
    int value = nobody;
    int last_use = 0;
  };

  void describe_work(const std::vector<const Node*>& order);
  void add_node(const Node& node);
  void add_leaf(const Node& node, std::vector<const Node*>& list, Location::Kind kind);
  void add_transfer(const Node& node, Instruction::Role role);
  void add_kernel(const Node& node);
  void add_step(const Node& node, std::vector<int> inputs, std::vector<int> outputs,
                std::shared_ptr<Kernel> kernel);
  std::shared_ptr<Kernel> kernel_for(const Node& node);
  int add_value(PlanValue value);
  int add_output(const Node& node, int i);

  bool memory_is_short() const { return options_.recompute.most_bytes > 0; }
  bool gathers() const { return options_.gather && !memory_is_short(); }
  bool goes_with_others(const std::shared_ptr<Kernel>& kernel) const;
  bool defer_cast(const Node& node);
  bool defer_part_of_unpacking(const Node& node, int from);
  bool defer_cast_of_weights(const Node& node, int from);
  bool defer_cast_of_gradient(const Node& node, int from);
  void make(int value);
  void make_what_is_read(const std::vector<const Node*>& effects);
  void unpack_all();

  int packed_value(const Node& node, int value, const PackedInput& packed);
  int add_preparation(const Node& reader, int value, MemoryUse use, std::shared_ptr<Kernel> kernel,
                      std::int64_t bytes);
  void prepare(Preparation one, std::vector<int>* steps);
  void keep_old_values(const std::vector<const Node*>& effects);

  void finish_collectives(int count);
  void finish_what_is_read(const Node& node);

  Plan& plan_;
  Device& device_;
  CompileOptions options_;
  std::vector<PlanStep> steps_;
  std::vector<PlanValue> values_;
  std::vector<std::vector<int>> values_of_;               // by node id, by output
  std::vector<std::vector<int>> uses_;                    // likewise: how many read it
  std::vector<bool> read_before_effects_;                 // by node id
  std::vector<bool> cast_to_f32_;                         // likewise: a cast to f32 reads it
  std::map<std::pair<int, std::string>, Packed> packed_;  // by value and layout
  std::map<int, Deferred> deferred_;                      // by value
  bool deferring_ = true;
  std::vector<int> packs_;             // steps that may pack more weights
  std::deque<const Node*> under_way_;  // reductions started and not finished
  std::map<int, int> old_values_;      // of variables that effects read after they are overwritten
};

}  // namespace belfry
