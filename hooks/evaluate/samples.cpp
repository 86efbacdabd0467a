#include "belfry/hooks/evaluate/samples.h"

#include <algorithm>

#include "belfry/framework/base/error.h"
#include "belfry/hooks/evaluate/live_model.h"
#include "belfry/hooks/record/values.h"

namespace belfry::hooks {
namespace {

void check_rows(const std::string& name, const Array& first, const Array& other) {
  require(first.shape().rank() > 0 && other.dtype() == first.dtype()
              && other.shape().rank() == first.shape().rank()
              && other.shape().with(0, first.shape()[0]) == first.shape(),
          "samples: the prediction `", name, "` is ", first.type(), " for the first batch and ",
          other.type(),
          " for another; batches are joined over rows, in which alone they may differ");
}

// The batches' arrays of one name, below each other.
Array joined(const std::vector<Features>& batches, const std::string& name) {
  const Array& first = batches[0].at(name);
  if (batches.size() == 1) return first;
  std::int64_t rows = 0;
  for (const Features& batch : batches) {
    check_rows(name, first, batch.at(name));
    rows += batch.at(name).shape()[0];
  }
  Array all(first.shape().with(0, rows), first.dtype());
  auto to = all.raw_bytes().begin();
  for (const Features& batch : batches) to = std::ranges::copy(batch.at(name).raw_bytes(), to).out;
  return all;
}

class Samples final : public Hook {
 public:
  Samples(Estimator& estimator, InputFn input_fn, SamplesOptions options)
      : estimator_(estimator), o_(std::move(options)) {
    input_fn_ = [input_fn = std::move(input_fn)](const InputContext& context) {
      InputStreamPtr input = input_fn(context);
      require(
          !input || !input->endless(),
          "samples: the data never end, and all their predictions are kept in memory; leave out "
          "repeat(), or take() as many examples as there are to look at");
      return input;
    };
  }

  void begin(HookContext& context) override {
    failure_.forget();
    require_training(estimator_, context, "samples");
    TrainingPause pause(context);
    if (context.is_chief()) with_context("in samples, tried out first", [&] { try_out(); });
  }

  bool needs_result_now(HookContext& context, std::int64_t step) override {
    return step % o_.every.count == 0 || step == context.last_step();
  }

  void after_step(const StepResult& result) override {
    HookContext& context = result.context;
    if (!needs_result_now(context, result.step) || !is_finite(result) || failure_.has_come())
      return;
    TrainingPause pause(context);
    failure_.on_chief(context, [&] {
      if (auto all = predictions()) o_.receive(result.step, *all);
    });
  }

  void end(HookContext&, Outcome) override { failure_.rethrow(); }

 private:
  // The first batch; with averages later, of which there are none before the first step.
  void try_out() const {
    if (o_.averaged) check_averages("samples", estimator_);
    Features batch;
    Predictions found = predict(false);
    require(found.next(batch) || found.stopped(), "samples: the input has no batch");
  }

  Predictions predict(bool averaged) const {
    return estimator_.predict(input_fn_,
                              {.keys = o_.keys, .single_examples = false, .averaged = averaged});
  }

  // Nothing: a stop cut them short.
  std::optional<Features> predictions() const {
    std::vector<Features> batches;
    Predictions found = predict(o_.averaged);
    for (const Features& batch : found) batches.push_back(batch);
    if (found.stopped()) return std::nullopt;
    require(!batches.empty(), "samples: the input has no batch");
    Features all;
    for (const auto& [name, array] : batches[0]) all.set(name, joined(batches, name));
    return all;
  }

  Estimator& estimator_;
  InputFn input_fn_;
  SamplesOptions o_;
  FailureAtEnd failure_{"samples"};
};

}  // namespace

std::shared_ptr<Hook> samples(Estimator& estimator, InputFn input_fn, SamplesOptions options) {
  require(options.every.count >= 1, "samples: every must be at least 1, got ", options.every.count);
  require(input_fn, "samples: there is no input_fn");
  require(options.receive, "samples: set SamplesOptions::receive, to which predictions are handed");
  return std::make_shared<Samples>(estimator, std::move(input_fn), std::move(options));
}

}  // namespace belfry::hooks
