// Elementwise ops and fused chains of them. The output is cut into tiles; all instructions run over
// one tile, its intermediate values staying in cache, before the next. The tiles of 16-bit operands
// are made floats first, and the result is rounded once.

#include <algorithm>
#include <array>
#include <optional>

#include "belfry/framework/backend/cpu/cpu_kernels.h"
#include "belfry/framework/backend/cpu/simd_chunks.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/backend/cpu/simd_operand.h"
#include "belfry/framework/ops/elementwise/elementwise.h"
#include "belfry/framework/ops/elementwise/fused_elementwise.h"

namespace belfry::cpu {
namespace {

constexpr std::int64_t lanes = 16;             // elements that loops take at a time
constexpr std::int64_t scratch_floats = 8192;  // of all tile buffers of a thread: stays in L1
constexpr std::int64_t most_values = 64;       // of a program, inputs included

constexpr int none = -1;

/// Which buffers hold the values of a program that are neither inputs read in place nor the output.
class BufferPool {
 public:
  int acquire() {
    auto free = std::find(used_.begin(), used_.end(), false);
    if (free == used_.end()) free = used_.insert(free, false);
    *free = true;
    return free - used_.begin();
  }
  void give_back(int buffer) {
    if (buffer != none) used_[buffer] = false;
  }
  int count() const { return used_.size(); }

 private:
  std::vector<bool> used_;
};

/// Loads an input into a buffer, or computes a value.
struct Step {
  const ElementwiseLoop* loop = nullptr;  ///< null: load
  int value = none;                       ///< that it makes
  int buffer = none;                      ///< none: straight into the output
  std::array<int, 3> arguments = {none, none, none};
};

class ElementwiseKernel final : public Kernel {
 public:
  /// Null when the loops lack an op or an operand is neither floating with loops nor bool.
  static std::unique_ptr<Kernel> make(const Node& node,
                                      const std::vector<FusedInstruction>& program, int threads);

  std::string_view implementation() const override { return "simd"; }
  Bytes workspace() const override {
    return Bytes(pattern_floats_ * static_cast<std::int64_t>(sizeof(float)));
  }
  void run(const KernelArguments& arguments, Stream&) override;

 private:
  ElementwiseKernel(const Node& node, int threads);
  bool assign_buffers(const std::vector<FusedInstruction>& program);
  void load_input(int value, BufferPool& buffers, std::vector<int>& buffer_of);
  void run_tile(const KernelArguments& arguments, std::int64_t at, std::int64_t n,
                float* scratch) const;
  void store(const KernelArguments& arguments, std::int64_t at, std::int64_t n,
             const float* values) const;
  bool writes_output(std::size_t step) const { return step + 1 == steps_.size(); }

  const SimdLoops& loops_;
  int threads_;
  std::int64_t elements_;
  DType out_;  // other than f32: values are converted tile by tile
  std::vector<TileOperand> inputs_;
  std::vector<std::int64_t> pattern_at_;  // of each input in the workspace
  std::int64_t pattern_floats_ = 0;
  std::vector<Step> steps_;
  int buffers_ = 0;
  std::int64_t tile_ = 0;
};

std::unique_ptr<Kernel> ElementwiseKernel::make(const Node& node,
                                                const std::vector<FusedInstruction>& program,
                                                int threads) {
  auto known = [](DType dtype) { return has_loops(dtype) || dtype == DType::boolean; };
  if (!known(node.output().dtype)) return nullptr;
  bool casts = node.is(fused_elementwise_op) && node.as<FusedOptions>().casts;
  for (const Tensor& input : node.inputs())
    if (!known(input.dtype()) && !(casts && input.dtype() == DType::u8)) return nullptr;
  if (node.inputs().size() + std::ssize(program) > most_values) return nullptr;
  std::unique_ptr<ElementwiseKernel> kernel(new ElementwiseKernel(node, threads));
  if (!kernel->assign_buffers(program)) return nullptr;
  return kernel;
}

ElementwiseKernel::ElementwiseKernel(const Node& node, int threads)
    : loops_(simd()),
      threads_(threads),
      elements_(node.output().shape.elements()),
      out_(node.output().dtype) {
  for (const Tensor& input : node.inputs()) inputs_.emplace_back(input.type(), node.output().shape);
}

void ElementwiseKernel::load_input(int value, BufferPool& buffers, std::vector<int>& buffer_of) {
  std::size_t v = value;
  if (v >= inputs_.size() || buffer_of[v] != none) return;
  TileOperand::Access access = inputs_[v].access();
  if (access == TileOperand::Access::direct || access == TileOperand::Access::pattern) return;
  buffer_of[v] = buffers.acquire();
  steps_.push_back({.value = value, .buffer = buffer_of[v]});
}

bool ElementwiseKernel::assign_buffers(const std::vector<FusedInstruction>& program) {
  std::vector<int> buffer_of(inputs_.size() + program.size(), none);
  std::vector<std::size_t> last_use(buffer_of.size(), 0);
  for (std::size_t i = 0; i < program.size(); ++i)
    for (int argument : program[i].arguments)
      if (argument >= 0) last_use[argument] = i;

  BufferPool buffers;
  for (std::size_t i = 0; i < program.size(); ++i) {
    Step step{.loop = loops_.elementwise.find(program[i].op->name),
              .value = static_cast<int>(inputs_.size() + i),
              .arguments = program[i].arguments};
    if (!step.loop) return false;
    for (int argument : step.arguments) load_input(argument, buffers, buffer_of);
    for (int argument : step.arguments) {  // the result may overwrite an operand read here last
      if (argument < 0) continue;
      std::size_t a = argument;
      if (last_use[a] != i) continue;
      buffers.give_back(buffer_of[a]);
      last_use[a] = program.size();  // once
    }
    bool last = i + 1 == program.size();
    if (!last || out_ != DType::f32) step.buffer = buffers.acquire();
    buffer_of[inputs_.size() + i] = step.buffer;
    steps_.push_back(step);
  }
  buffers_ = buffers.count();
  tile_ = buffers_ <= 2 ? scratch_floats / 4 : scratch_floats / buffers_ / lanes * lanes;
  for (const TileOperand& input : inputs_) {
    pattern_at_.push_back(pattern_floats_);
    pattern_floats_ += (input.pattern_size(tile_) + lanes - 1) / lanes * lanes;
  }
  return true;
}

void ElementwiseKernel::run(const KernelArguments& arguments, Stream&) {
  auto* patterns = arguments.scratch<float>();
  if (elements_ == 0) return;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].access() == TileOperand::Access::pattern)
      inputs_[i].build_pattern(loops_, arguments.inputs[i], patterns + pattern_at_[i], tile_);
  std::int64_t grain = std::max<std::int64_t>(elements_worth_sharing / tile_, 1) * tile_;
  parallel_for(elements_, grain, threads_, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::array<float, scratch_floats> scratch;
    for (std::int64_t at = begin; at < end; at += tile_) {
      std::int64_t n = std::min(tile_, end - at), whole = n / lanes * lanes;
      if (whole > 0) run_tile(arguments, at, whole, scratch.data());
      if (n > whole) run_tile(arguments, at + whole, n - whole, scratch.data());
    }
  });
}

/// n is a multiple of `lanes`, or less than that: then operands read in place are copied to buffers
/// that may be read to the end, so that the last elements take the same path as all others.
void ElementwiseKernel::run_tile(const KernelArguments& arguments, std::int64_t at, std::int64_t n,
                                 float* scratch) const {
  bool partial = n < lanes;
  std::int64_t padded = partial ? lanes : n;
  alignas(64) std::array<float, most_values * lanes> copies;
  std::array<const float*, most_values> values;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const TileOperand& input = inputs_[i];
    if (input.access() == TileOperand::Access::pattern) {
      values[i] =
          static_cast<const float*>(arguments.workspace) + pattern_at_[i] + at % input.period();
    } else if (input.access() == TileOperand::Access::direct && !partial) {
      values[i] = arguments.input<float>(i) + at;
    } else if (input.access() == TileOperand::Access::direct) {
      float* copy = copies.data() + static_cast<std::int64_t>(i) * lanes;
      std::fill_n(copy, lanes, 0.0f);
      input.load(loops_, arguments.inputs[i], at, n, copy);
      values[i] = copy;
    }
  }
  alignas(64) std::array<float, lanes> last;
  for (const Step& step : steps_) {
    std::size_t v = step.value;
    float* to = step.buffer != none ? scratch + step.buffer * tile_
                : partial           ? last.data()
                                    : arguments.output<float>(0) + at;
    values[v] = to;
    if (!step.loop) {
      if (partial) std::fill_n(to, lanes, 0.0f);
      inputs_[v].load(loops_, arguments.inputs[v], at, n, to);
      continue;
    }
    auto argument = [&](std::size_t k) {
      int value = step.arguments[k];
      return value < 0 ? nullptr : values[value];
    };
    step.loop->run(argument(0), argument(1), argument(2), to, padded);
  }
  store(arguments, at, n, values[steps_.back().value]);
}

void ElementwiseKernel::store(const KernelArguments& arguments, std::int64_t at, std::int64_t n,
                              const float* values) const {
  if (out_ != DType::f32 || n < lanes)
    store_floats(loops_, out_, values, n, arguments.outputs[0], at);
}

std::unique_ptr<Kernel> make_single(const Node& node, int threads) {
  FusedInstruction only{.op = &node.op()};
  for (std::size_t i = 0; i < node.inputs().size(); ++i) only.arguments[i] = i;
  return ElementwiseKernel::make(node, {only}, threads);
}

const KernelRegistration fused(fused_elementwise_op, [](const Node& node, int threads) {
  return ElementwiseKernel::make(node, node.as<FusedOptions>().program, threads);
});

const bool singles = [] {
  for_each_functor([](auto functor) { KernelRegistration(functor.op, make_single); });
  return true;
}();

}  // namespace
}  // namespace belfry::cpu
