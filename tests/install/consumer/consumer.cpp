// Derives from the library's classes, and errors pass both ways.

#include <belfry/backend.h>
#include <belfry/data.h>
#include <belfry/framework.h>
#include <belfry/hooks.h>
#include <belfry/models.h>
#include <belfry/ops.h>

#include <cstdio>

using namespace belfry;

class Line : public Estimator {
 public:
  using Estimator::Estimator;

 private:
  EstimatorSpec model_fn(Scope s, const Batch& batch, Mode mode) override {
    require(mode != Mode::evaluate, "line: nobody evaluates it");
    Tensor y = dense(s / "line", batch["x"], {.units = 1});
    return {.loss = mean(mean_squared_error(y, batch["y"])), .train = sgd({.learning_rate = 0.1})};
  }
};

struct CountSteps final : Hook {
  void after_step(const StepResult&) override { ++steps; }
  int steps = 0;
};

template <class F>
std::string error_of(F call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

int main() {
  auto input = [] {
    return data::from_arrays({{"x", Array::of({0.f, 1.f, 2.f, 3.f}, {4, 1})},
                              {"y", Array::of({1.f, 3.f, 5.f, 7.f}, {4, 1})}})
           | data::repeat() | data::batch(4);
  };
  Line estimator({.run = {.save_checkpoint = std::nullopt}});
  std::shared_ptr<Hook> hook = std::make_shared<CountSteps>();
  estimator.train(input, {.steps = 300, .hooks = {hooks::progress(), hook}});
  double slope = estimator.variable_value("line/kernel").item();
  auto* count = dynamic_cast<CountSteps*>(hook.get());
  std::string theirs = error_of([&] { estimator.variable_value("nothing"); });
  std::string ours = error_of([&] { estimator.evaluate(input, {.steps = 1}); });
  std::printf("slope %.3f after %d steps\n%s\n%s\n", slope, count ? count->steps : -1,
              theirs.c_str(), ours.c_str());
  return slope > 1.9 && slope < 2.1 && count && count->steps == 300
                 && theirs.find("nothing") != std::string::npos
                 && ours.starts_with("line: nobody evaluates it")
             ? 0
             : 1;
}
