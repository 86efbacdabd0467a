// The gradient of Winograd's convolution with respect to the kernel: the transpose of all that the
// convolution does. Where there are many blocks of tiles, each thread adds up its own, and the sums
// are added in the end; else all threads work on one block at a time, and each sum is one thread's.

#include <algorithm>

#include "belfry/framework/backend/cpu/conv_kernels.h"
#include "belfry/framework/backend/cpu/parallel.h"
#include "belfry/framework/backend/cpu/simd_convert.h"
#include "belfry/framework/backend/cpu/winograd/winograd_geometry.h"

namespace belfry::cpu {
namespace {

template <class T>
class WinogradConvGradKernel final : public Kernel {
 public:
  WinogradConvGradKernel(const ConvGeometry& g, const WinogradGeometry& w, int threads)
      : loops_(simd().winograd),
        transforms_(loops_.of<T>(w.row_taps, w.column_taps)),
        points_(transforms_.points),
        g_(g),
        w_(w),
        // Each block reads and writes all sums, which more tiles make up for.
        block_(tiles_of_block(w.tiles(),
                              std::clamp<std::int64_t>(w.in * w.out / (w.in + w.out), 96, 256), 1)),
        v_(points_, block_ * w.in),
        m_(points_, block_ * w.out),
        sums_(points_, w.in * w.out),
        threads_(threads),
        teams_(blocks() >= 4 * threads ? threads : 1) {}

  Bytes workspace() const override {
    return Bytes(teams_ * floats_of_team() * std::int64_t{sizeof(float)});
  }
  std::string_view implementation() const override { return "winograd"; }

  void run(const KernelArguments& a, Stream&) override {
    auto* workspace = a.scratch<float>();
    parallel_for(teams_, 1, teams_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t team = first; team < last; ++team)
        add_blocks(a, blocks() * team / teams_, blocks() * (team + 1) / teams_,
                   {workspace + team * floats_of_team(), threads_ / teams_});
    });
    merge(workspace);
    transform_sums(workspace, a.output<T>(0));
  }

 private:
  /// Threads that work on the same blocks, and their memory: sums, then transformed images.
  struct Team {
    float* workspace;
    int threads;
  };

  const WinogradTiles& tiles() const { return w_.grids.front(); }
  std::int64_t blocks() const { return (tiles().count() + block_ - 1) / block_; }
  std::int64_t floats_of_team() const { return sums_floats() + inputs_floats() + m_.floats(); }
  std::int64_t sums_floats() const { return w_.depth.window * w_.phases() * sums_.floats(); }
  std::int64_t inputs_floats() const { return w_.depth.window * w_.phases() * v_.floats(); }
  float* input_of(std::int64_t plane, std::int64_t phase, float* workspace) const {
    return workspace + sums_floats()
           + (plane % w_.depth.window * w_.phases() + phase) * v_.floats();
  }
  float* output_in(float* workspace) const { return workspace + sums_floats() + inputs_floats(); }

  void add_blocks(const KernelArguments& a, std::int64_t first, std::int64_t last,
                  const Team& team) const {
    if (!first_plane_writes_all()) fill_zero(team);
    for (std::int64_t block = first; block < last; ++block)
      add_block(a, block * block_, std::min((block + 1) * block_, tiles().count()), block == first,
                team);
  }

  /// Whether products of the first plane are there for all sums; then they are written, not added.
  bool first_plane_writes_all() const { return w_.depth.window == 1 && w_.depth.before == 0; }

  void fill_zero(const Team& team) const {
    parallel_for(sums_floats(), 1 << 16, team.threads, [&](std::int64_t begin, std::int64_t end) {
      std::fill(team.workspace + begin, team.workspace + end, 0.0f);
    });
  }

  void add_block(const KernelArguments& a, std::int64_t begin, std::int64_t end, bool first,
                 const Team& team) const {
    std::int64_t transformed = 0;
    for (std::int64_t z = 0; z < w_.depth.out; ++z) {
      for (; transformed < w_.end_plane(z); ++transformed)
        if (transformed >= w_.first_plane(z)) transform_input(a, begin, end, transformed, team);
      transform_output_gradient(a, begin, end, z, team);
      add_products(z, end - begin, first && z == 0 && first_plane_writes_all(), team);
    }
  }

  void transform_input(const KernelArguments& a, std::int64_t begin, std::int64_t end,
                       std::int64_t plane, const Team& team) const {
    const auto* x = a.input<T>(0);
    std::int64_t rows = end - begin;
    parallel_for(w_.phases() * rows, 1, team.threads, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t at = first; at < last; ++at) {
        std::int64_t phase = at / rows, i = at % rows, tile = begin + i;
        transforms_.input(
            x + (tiles().image(tile) * w_.depth.in + plane) * tiles().pixels_read() * w_.in,
            tiles().read(tile, phase / w_.stride, phase % w_.stride), w_.in,
            {input_of(plane, phase, team.workspace) + i * winograd_channels, v_.stride(),
             rows * winograd_channels});
      }
    });
  }

  void transform_output_gradient(const KernelArguments& a, std::int64_t begin, std::int64_t end,
                                 std::int64_t z, const Team& team) const {
    const auto* dy = a.input<T>(1);
    std::int64_t rows = end - begin;
    parallel_for(rows, 1, team.threads, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        std::int64_t tile = begin + i;
        transforms_.output_gradient(
            dy + (tiles().image(tile) * w_.depth.out + z) * tiles().pixels_written() * w_.out,
            tiles().written(tile), w_.out,
            {output_in(team.workspace) + i * winograd_channels, m_.stride(),
             rows * winograd_channels});
      }
    });
  }

  void add_products(std::int64_t z, std::int64_t rows, bool write, const Team& team) const {
    std::int64_t first = w_.first_plane(z), planes = w_.end_plane(z) - first;
    if (planes <= 0) return;
    std::int64_t of_plane = w_.phases() * points_;
    parallel_for(planes * of_plane, 1, team.threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        std::int64_t plane = first + at / of_plane, phase = at % of_plane / points_,
                     i = at % points_;
        std::int64_t part = (plane - z + w_.depth.before) * w_.phases() + phase;
        loops_.add_products(input_of(plane, phase, team.workspace) + i * v_.stride(),
                            output_in(team.workspace) + i * m_.stride(), write, rows, w_.in, w_.out,
                            team.workspace + part * sums_.floats() + i * sums_.stride());
      }
    });
  }

  /// Adds the sums of all teams to those of the first.
  void merge(float* workspace) const {
    std::int64_t matrices = w_.depth.window * w_.phases() * points_;
    parallel_for(teams_ > 1 ? matrices : 0, 1, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t matrix = begin; matrix < end; ++matrix) {
        std::int64_t at = matrix / points_ * sums_.floats() + matrix % points_ * sums_.stride();
        for (std::int64_t team = 1; team < teams_; ++team) {
          const float* sums = workspace + team * floats_of_team() + at;
          for (std::int64_t i = 0; i < w_.in * w_.out; ++i) workspace[at + i] += sums[i];
        }
      }
    });
  }

  void transform_sums(float* sums, T* dg) const {
    std::int64_t c = w_.in, k = w_.out, taps = g_.rows.window * g_.columns.window;
    std::int64_t parts = w_.depth.window * w_.phases();
    parallel_for(parts * c, 1, threads_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        std::int64_t part = at / c, plane = part / w_.phases(), phase = part % w_.phases();
        transforms_.kernel_gradient({sums + part * sums_.floats(), sums_.stride(), 0},
                                    winograd_taps(g_, phase), c, k, at % c,
                                    dg + plane * taps * c * k);
      }
    });
  }

  const WinogradLoops& loops_;
  const WinogradTransforms<T>& transforms_;
  std::int64_t points_;
  ConvGeometry g_;
  WinogradGeometry w_;
  std::int64_t block_;
  WinogradMatrices v_, m_, sums_;
  int threads_, teams_;
};

}  // namespace

std::unique_ptr<Kernel> winograd_grad_kernel(const Node& node, const KernelOptions& options) {
  auto w = winograd_geometry(node, WinogradDirection::grad_kernel, options);
  if (!w) return nullptr;
  return kernel_for_type(node.output().dtype, [&](auto t) {
    return std::make_unique<WinogradConvGradKernel<decltype(t)>>(conv_geometry(node), *w,
                                                                 options.threads);
  });
}

}  // namespace belfry::cpu
