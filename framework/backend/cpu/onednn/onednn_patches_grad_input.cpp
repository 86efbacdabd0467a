// The gradient of the input in bf16, where windows move by more than one pixel. Pixels whose
// distance is the stride, a phase, are read by the same taps: for them the gradient is a
// convolution of dy by these taps that moves by one, here the product of patches of dy and the
// taps.

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "belfry/framework/backend/cpu/conv_kernels.h"
#include "belfry/framework/backend/cpu/onednn/conv_patches.h"
#include "belfry/framework/backend/cpu/onednn/onednn_primitive.h"

namespace belfry::cpu {
namespace {

/// Pixels first, first + stride, ... of one axis, and the taps first_tap, first_tap + stride, ...
/// that read them.
struct AxisPhase {
  std::int64_t first, first_tap;
  WindowAxis reads;  ///< of a convolution that moves over dy and makes these pixels
};

AxisPhase axis_phase(const WindowAxis& axis, std::int64_t first) {
  std::int64_t tap = (first + axis.before) % axis.stride;
  std::int64_t taps = axis.window > tap ? (axis.window - tap - 1) / axis.stride + 1 : 0;
  std::int64_t pixels = axis.in > first ? (axis.in - first - 1) / axis.stride + 1 : 0;
  // This output reads pixel `first` by the first of the taps; a convolution counts them the other
  // way round.
  std::int64_t output = (first + axis.before - tap) / axis.stride;
  return {first, tap, {.in = axis.out, .out = pixels, .window = taps, .before = taps - 1 - output}};
}

struct Phase {
  AxisPhase rows, columns;
  std::int64_t taps() const { return rows.reads.window * columns.reads.window; }
  /// The convolution of dy that makes the pixels of this phase.
  ConvGeometry geometry(const ConvGeometry& g) const {
    return {.batch = g.batch,
            .depth = g.depth,
            .rows = rows.reads,
            .columns = columns.reads,
            .in_channels = g.out_channels,
            .out_channels = g.in_channels};
  }
};

/// The phases that have pixels, row by row.
std::vector<Phase> phases_of(const ConvGeometry& g) {
  std::vector<Phase> out;
  for (std::int64_t y = 0; y < std::min(g.rows.stride, g.rows.in); ++y)
    for (std::int64_t x = 0; x < std::min(g.columns.stride, g.columns.in); ++x)
      out.push_back({axis_phase(g.rows, y), axis_phase(g.columns, x)});
  return out;
}

/// A kernel [rows, columns, in, out] as a matrix [in, taps x out] for each phase.
class PhasesKernel final : public Kernel {
 public:
  PhasesKernel(const ConvGeometry& g, std::vector<Phase> phases, int threads)
      : g_(g), phases_(std::move(phases)), threads_(threads) {}

  std::string_view implementation() const override { return "onednn"; }

  void run(const KernelArguments& a, Stream&) override {
    const auto* from = a.input<BFloat16>(0);
    auto* to = a.output<BFloat16>(0);
    for (const Phase& phase : phases_) {
      parallel_for(g_.in_channels, 16, threads_, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c)
          copy_row(phase, from + c * g_.out_channels, to + c * phase.taps() * g_.out_channels);
      });
      to += g_.in_channels * phase.taps() * g_.out_channels;
    }
  }

 private:
  void copy_row(const Phase& phase, const BFloat16* from, BFloat16* to) const {
    const AxisPhase &r = phase.rows, &c = phase.columns;
    for (std::int64_t y = r.reads.window; y-- > 0;)
      for (std::int64_t x = c.reads.window; x-- > 0; to += g_.out_channels) {
        Position tap{0, 0, r.first_tap + y * g_.rows.stride, c.first_tap + x * g_.columns.stride};
        std::copy_n(from + g_.tap_offset(tap), g_.out_channels, to);
      }
  }

  ConvGeometry g_;
  std::vector<Phase> phases_;
  int threads_;
};

/// The product of a phase at a time, spread over its pixels.
class PatchesGradInput final : public Kernel {
 public:
  PatchesGradInput(std::string_view op, const ConvGeometry& g, int threads)
      : g_(g), threads_(threads) {
    std::int64_t kernel = 0;
    std::vector<Phase> phases = phases_of(g);
    for (const Phase& phase : phases) {
      if (phase.taps() == 0) {
        unread_.push_back(phase);
        continue;
      }
      parts_.emplace_back(op, phase, g, kernel, threads);
      kernel += phase.taps() * g.in_channels * g.out_channels;
    }
    packed_ = {.input = 1,
               .layout = layout(),
               .size = Bytes(kernel * std::int64_t{sizeof(BFloat16)}),
               .pack = std::make_shared<PhasesKernel>(g, std::move(phases), threads)};
  }

  std::string_view implementation() const override { return "onednn"; }
  std::vector<PackedInput> packed_inputs() const override { return {packed_}; }
  /// Patches, then their products, then scratch memory.
  Bytes workspace() const override {
    Bytes scratch{0};
    for (const Part& part : parts_) scratch = std::max(scratch, part.scratch());
    return Bytes(scratch_at() + scratch.count);
  }

  void run(const KernelArguments& a, Stream&) override {
    for (Part& part : parts_) run_part(part, a);
    auto* dx = a.output<BFloat16>(0);
    for (const Phase& phase : unread_)
      for_pixels(phase, 0, phase.geometry(g_).out_positions(), [&](std::int64_t, std::int64_t at) {
        std::fill_n(dx + at, g_.in_channels, BFloat16());
      });
  }

 private:
  struct Part {
    Part(std::string_view op, const Phase& p, const ConvGeometry& g, std::int64_t kernel_at,
         int threads)
        : phase(p),
          patches(p.geometry(g), threads),
          kernel(kernel_at),
          block(product(op, patches.block(), g.in_channels)) {
      std::int64_t left = p.geometry(g).out_positions() % patches.block();
      if (left > 0) rest.emplace(product(op, left, g.in_channels));
    }
    Bytes scratch() const {
      return rest ? std::max(block.scratch(), rest->scratch()) : block.scratch();
    }
    /// patches [count, size] times the transpose of the kernel [in, size].
    Primitive product(std::string_view op, std::int64_t count, std::int64_t in) const {
      using dnnl::memory;
      constexpr auto bf16 = memory::data_type::bf16;
      std::int64_t size = patches.size();
      memory::desc a({count, size}, bf16, memory::dims{size, 1}),
          b({size, in}, bf16, memory::dims{1, size}), y({count, in}, bf16, memory::dims{in, 1});
      return matrix_product(op, a, b, y);
    }

    Phase phase;
    Patches<BFloat16> patches;
    std::int64_t kernel;  // where its matrix begins among those of all phases
    Primitive block;
    std::optional<Primitive> rest;
  };

  /// Which taps a phase has depends on the padding before, and an image may have fewer phases.
  std::string layout() const {
    return concat("phases of ", g_.kernel(), " by ", g_.rows.stride, "x", g_.columns.stride,
                  " from ", g_.rows.before, ", ", g_.columns.before, " in ",
                  std::min(g_.rows.stride, g_.rows.in), "x",
                  std::min(g_.columns.stride, g_.columns.in));
  }
  std::int64_t products_at() const {
    Bytes most{0};
    for (const Part& part : parts_) most = std::max(most, part.patches.workspace());
    return aligned(most).count;
  }
  std::int64_t scratch_at() const {
    std::int64_t most = 0;
    for (const Part& part : parts_) most = std::max(most, part.patches.block());
    Bytes products(most * g_.in_channels * std::int64_t{sizeof(BFloat16)});
    return products_at() + aligned(products).count;
  }

  void run_part(Part& part, const KernelArguments& a) {
    auto* workspace = a.scratch<std::byte>();
    auto* products = reinterpret_cast<BFloat16*>(workspace + products_at());
    auto* kernel = static_cast<BFloat16*>(a.inputs[1]) + part.kernel;
    auto* dx = a.output<BFloat16>(0);
    auto multiply = [&](const BFloat16* patches, std::int64_t first, std::int64_t count) {
      Primitive& product = count == part.patches.block() ? part.block : *part.rest;
      product.run(std::array<void*, 3>{const_cast<BFloat16*>(patches), kernel, products},
                  workspace + scratch_at());
      for_pixels(part.phase, first, count, [&](std::int64_t i, std::int64_t at) {
        std::copy_n(products + i * g_.in_channels, g_.in_channels, dx + at);
      });
    };
    part.patches.for_blocks(a.input<BFloat16>(0), workspace, multiply);
  }

  /// Calls body(i, offset of pixel first + i of the phase) for `count` of them.
  template <class Body>
  void for_pixels(const Phase& phase, std::int64_t first, std::int64_t count,
                  const Body& body) const {
    const AxisPhase &rows = phase.rows, &columns = phase.columns;
    parallel_for(count, 16, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t position = first + i, line = position / columns.reads.out;
        Position pixel{line / rows.reads.out, 0,
                       rows.first + line % rows.reads.out * g_.rows.stride,
                       columns.first + position % columns.reads.out * g_.columns.stride};
        body(i, g_.input_offset(pixel));
      }
    });
  }

  ConvGeometry g_;
  int threads_;
  std::deque<Part> parts_;     // the phases that taps read
  std::vector<Phase> unread_;  // the others
  PackedInput packed_;
};

}  // namespace

std::unique_ptr<Kernel> patches_grad_input(const Node& node, const ConvGeometry& g, int threads) {
  bool moves = g.rows.stride > 1 || g.columns.stride > 1;
  bool applies = node.output().dtype == DType::bf16 && multiplies_bf16() && g.groups == 1
                 && !g.volume && g.rows.dilation == 1 && g.columns.dilation == 1 && moves;
  // Each number of a patch is multiplied by so many: with fewer, copying it costs more than it
  // gains.
  if (!applies || g.in_channels < 256 || g.taps() == 1) return nullptr;
  return std::make_unique<PatchesGradInput>(node.op().name, g, threads);
}

}  // namespace belfry::cpu
