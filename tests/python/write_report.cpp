// Writes report.html of a short training: of two steps, whose names, texts and images say what is
// hard to show. See read_report.py.
#include <cstdio>

#include "belfry/framework/framework.h"
#include "belfry/hooks/hooks.h"

namespace belfry {
namespace {

// Text that a page must not take for markup.
constexpr const char* hostile = "</script><script>alert('\"&')</script>";

// w falls from 8 by 1/4 of x = 1 a step, and so does the loss.
EstimatorSpec falling(Scope s, const Batch& batch, Mode) {
  Variable w = s.variable("w", {.initializer = constant_value(8)});
  Tensor x = mean(batch["x"]);
  return {.loss = w.value() * x,
          .train = sgd({.learning_rate = 0.25}),
          .values = {{hostile, w.value()}},
          .summaries = {histogram_summary("batch", batch["x"])}};
}

class Ones final : public InputStream {
 public:
  bool next(Features& batch) override {
    batch = {{"x", Array::of({1.f, 1.f})}};
    return true;
  }
};

void write_page(const std::string& dir) {
  RunConfig config;
  config.log_step_count = Steps(0);
  Estimator estimator({.model_fn = falling, .model_dir = dir, .run = config});
  auto page = hooks::report(
      {.title = hostile, .every = Steps(1), .plan = hostile, .facts = {{"<b>", "a & b"}}});
  TrainResult result =
      estimator.train([] { return std::make_unique<Ones>(); }, {.max_steps = 2, .hooks = {page}});
  EvalResult found;
  found.set("loss", Array::scalar(0.5));
  page->add_evaluation(2, found, "test");
  page->add_images(2, "drawn", Array::zeros({2, 3, 4, 1}, DType::u8));
  page->add_result(result);
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  belfry::write_page(argv[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
