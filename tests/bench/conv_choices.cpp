#include "conv_choices.h"

#include <cmath>
#include <cstdio>
#include <set>
#include <string>

#include "belfry/framework/base/text.h"
#include "belfry/framework/graph/leaves.h"
#include "belfry/framework/ops/convolution/conv_geometry.h"
#include "belfry/framework/ops/math.h"
#include "isolated.h"

namespace belfry::bench {
namespace {

std::string text_of(const ConvGeometry& g) {
  std::string window = concat(g.rows.window, "x", g.columns.window);
  if (g.volume) window = concat(g.depth.window, "x", window);
  std::string out = concat(g.input(), " -> ", g.out_channels, ", ", window);
  if (g.rows.stride > 1 || g.columns.stride > 1)
    out += concat(", stride ", std::max(g.rows.stride, g.columns.stride));
  if (g.groups > 1) out += concat(", ", g.groups, " groups");
  return out;
}

double gflops(const Node& node, Kernel& kernel, double flops, Device& device, Stream& stream) {
  Isolated alone(node, kernel, device);
  return flops / (alone.seconds(stream) + alone.packing_seconds(stream)) / 1e9;
}

/// The matrix product that a convolution of one tap is, and its gradients likewise.
Tensor product(Graph& graph, const Node& node, const ConvGeometry& g) {
  DType dtype = node.output().dtype;
  auto matrix = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    return input(graph, name, {Shape{rows, columns}, dtype});
  };
  Tensor x = matrix("x", g.in_positions(), g.in_channels),
         y = matrix("y", g.out_positions(), g.out_channels),
         kernel = matrix("kernel", g.in_channels, g.out_channels);
  if (node.op().name.ends_with("grad_input")) return matmul(y, kernel, {.transpose_b = true});
  if (node.op().name.ends_with("grad_kernel")) return matmul(x, y, {.transpose_a = true});
  return matmul(x, kernel);
}

}  // namespace

void print_conv_choices(const Plan& plan, Device& device) {
  auto stream = device.make_stream();
  stream->activate(plan.threads);
  std::printf("| op | images, channels, window | chosen | GFLOP/s | direct | product |\n");
  std::printf("|---|---|---|---|---|---|\n");
  std::set<std::string> seen;
  for (const Instruction& i : plan.instructions) {
    if (i.role != Instruction::Role::compute || !i.node->op().name.starts_with("conv")) continue;
    const Node& node = *i.node;
    ConvGeometry g = conv_geometry(node);
    std::string op(node.op().name), shape = text_of(g);
    if (!seen.insert(op + shape).second) continue;
    double flops = g.flops();
    auto direct = device.find_kernel(node, {.threads = plan.threads, .exact_convolutions = true});
    std::string by_product;
    if (g.is_product()) {
      Graph graph;
      Tensor t = product(graph, node, g);
      auto kernel = device.find_kernel(t.node(), {.threads = plan.threads});
      by_product = text(std::lround(gflops(t.node(), *kernel, flops, device, *stream)));
    }
    std::printf("| %s | %s | %s | %.0f | %.0f | %s |\n", op.c_str(), shape.c_str(),
                std::string(i.kernel->implementation()).c_str(),
                gflops(node, *i.kernel, flops, device, *stream),
                gflops(node, *direct, flops, device, *stream), by_product.c_str());
  }
}

}  // namespace belfry::bench
