#include "golden.h"

#include <algorithm>

#include "belfry/framework/runtime/executable.h"

namespace belfry::golden {
namespace {

std::vector<double> losses(CompileOptions options, const std::vector<Features>& data) {
  Graph graph;
  Batch batch(graph, signature_of(data[0]));
  EstimatorSpec spec = lenet(Scope(graph), batch, Mode::train);
  for (const Update& update : spec.train.list(spec.loss))
    apply_gradients(update, compute_gradients(update));
  VariableStore variables(find_device("cpu"));
  std::vector<Tensor> outputs{spec.loss};
  options.verify = true;
  auto plan = compile(outputs, graph.effects(), variables.device(), options);
  bool winograd = std::ranges::any_of(plan->instructions, [](const Instruction& i) {
    return i.kernel && i.kernel->implementation() == "winograd";
  });
  EXPECT_EQ(winograd, options.fast && !options.exact_convolutions);
  Executable run(plan, variables, 1);
  std::vector<double> out;
  for (std::int64_t step = 0; step < 10; ++step) {
    run.run(data[static_cast<std::size_t>(step) % data.size()], {.seed = 1, .step = step});
    out.push_back(run.output(0).item());
  }
  return out;
}

/// The first `steps` are those of Winograd's convolutions, too.
void expect_losses_on(const std::vector<Features>& data, const std::vector<double>& expected,
                      std::size_t steps) {
  expect_losses(losses({.fast = false}, data), expected, "reference kernels");
  expect_losses(losses({.exact_convolutions = true}, data), expected, "fast kernels");
  std::vector<double> winograd = losses({}, data);
  winograd.resize(steps);
  expect_losses(winograd, expected, "Winograd's convolutions");
}

TEST(Golden, TenStepsOfLeNet) { expect_losses_on(bars(), losses_on_bars, steps_without_ties); }

TEST(Golden, TenStepsOfMnist) {
  std::string why, folder = mnist_folder(why);
  if (folder.empty()) GTEST_SKIP() << why;
  expect_losses_on(mnist(folder), losses_on_mnist, losses_on_mnist.size());
}

TEST(Golden, TheEstimatorRunsTheVerySame) {
  EXPECT_EQ(losses_of(saving_nothing(), bars(), 10), losses({}, bars()));
}

}  // namespace
}  // namespace belfry::golden
