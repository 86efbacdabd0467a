#include "belfry/framework/train/run/evaluation_run.h"

#include <algorithm>

#include "belfry/framework/base/error.h"
#include "belfry/framework/train/activity.h"
#include "belfry/framework/train/step/step_input.h"

namespace belfry {
namespace {

EvalResult of_step(std::int64_t step) {
  EvalResult out;
  out.set("global_step", Array::scalar(static_cast<double>(step)));
  return out;
}

}  // namespace

double EvalResult::at(std::string_view name) const { return array(name).item(); }

const Array& EvalResult::array(std::string_view name) const {
  auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [n, v] : values_) known.push_back(n);
  fail("evaluate: there is no result `", name, "`; there are ", join(known, ", "),
       stopped_ ? " of an evaluation that a stop cut short" : "");
}

EvaluationSums::EvaluationSums(const NamedMetrics& metrics) {
  for (const auto& [name, metric] : metrics)
    states_.emplace_back(static_cast<std::size_t>(metric.state.shape().elements()));
}

// A batch weighs as much as it has rows, and so does each tower's part of a mean.
void EvaluationSums::add(const Replicas& replicas) {
  bool sum = replicas.model().spec().loss_over_towers == TowerReduction::sum;
  for (int i = 0; i < replicas.size(); ++i) {
    std::int64_t rows = replicas.shard(i).rows.count, all = replicas.rows().all;
    if (rows == 0 && all > 0) continue;  // it has a row that belongs to another worker
    const TowerExecutable& executable = replicas.executable(i);
    // The loss of an empty batch may be NaN; it weighs nothing.
    if (rows > 0) loss_ += executable.output(0).at(0) * (sum ? all : rows);
    rows_ += rows;
    for (std::size_t m = 0; m < states_.size(); ++m) {
      auto state = executable.output(m + 1).span<double>();
      for (std::size_t s = 0; s < state.size(); ++s) states_[m][s] += state[s];
    }
  }
}

void EvaluationSums::merge(Workers& workers) {
  if (workers.count() == 1) return;
  std::vector<double> own{loss_, static_cast<double>(rows_)};
  for (const auto& state : states_) own.insert(own.end(), state.begin(), state.end());
  std::vector<double> all(own.size() * workers.count());
  workers.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  std::fill(own.begin(), own.end(), 0.0);
  for (std::size_t i = 0; i < all.size(); ++i) own[i % own.size()] += all[i];
  loss_ = own[0], rows_ = static_cast<std::int64_t>(own[1]);
  auto from = own.begin() + 2;
  for (auto& state : states_)
    for (double& value : state) value = *from++;
}

EvalResult EvaluationSums::result(const NamedMetrics& metrics, std::int64_t step) const {
  require(rows_ > 0, "evaluate: the input has no rows");
  EvalResult out = of_step(step);
  for (std::size_t m = 0; m < metrics.size(); ++m)
    out.set(metrics[m].first, metrics[m].second.value(states_[m]));
  out.set("loss", Array::scalar(loss_ / rows_));
  return out;
}

EvaluationRun::EvaluationRun(std::shared_ptr<Session> session, const InputFn& input_fn,
                             const EvalOptions& options, const std::stop_token& training_stop)
    : session_(std::move(session)),
      input_fn_(input_fn),
      options_(options),
      stop_(both_.either(options.stop, training_stop)),
      driver_(session_->driver(Mode::evaluate, options.averaged)) {
  InputContext context = session_->towers().input_context();
  context.stop = stop_;
  input_ = open_input(input_fn, "evaluate", context);
  require(options.steps || options.stop.stop_possible() || !input_->endless(),
          "evaluate: the data never end; set `steps`, or leave out repeat()");
}

void EvaluationRun::run() {
  Features batch;
  std::int64_t first_row = 0;
  auto goes_on = [&](std::int64_t done) {
    return !stopped() && (!options_.steps || done < *options_.steps);
  };
  ActivityScope activity({.what = "evaluating", .total = options_.steps});
  for (std::int64_t i = 0; goes_on(i) && input_->next(batch); ++i) {
    auto turn = session_->turns().acquire();
    driver_.run(batch, first_row);
    first_row += driver_.replicas().rows().all;
    if (!sums_) sums_.emplace(driver_.model().spec().metrics);
    sums_->add(driver_.replicas());
    activity.done(i + 1);
  }
  bool others_may_have_some = session_->towers().workers().count() > 1;
  if (!sums_ && others_may_have_some && !stopped()) {
    auto turn = session_->turns().acquire();
    if (prepare_without_rows()) sums_.emplace(driver_.model().spec().metrics);
  }
  require(sums_ || stopped(), "evaluate: the input has no batch");
}

// Prepares the models with any batch: the metrics that the other workers sum are the same for each.
bool EvaluationRun::prepare_without_rows() {
  Features batch;
  bool any = open_input(input_fn_, "evaluate", {.stop = stop_})->next(batch);
  if (stopped()) return false;
  require(any, "evaluate: the input has no batch");
  driver_.build_without_rows(batch);
  return true;
}

EvalResult EvaluationRun::result(bool stopped) {
  Workers& workers = session_->towers().workers();
  bool none = !sums_ || sums_->rows() == 0;
  if (stopped && (none || workers.count() > 1)) {
    EvalResult out = of_step(session_->state()->step);
    out.set_stopped();
    return out;
  }
  sums_->merge(workers);
  EvalResult out = sums_->result(driver_.model().spec().metrics, session_->state()->step);
  if (stopped) out.set_stopped();
  return out;
}

std::vector<std::string> EvaluationRun::try_out() {
  Features batch;
  bool any = input_->next(batch);
  if (stopped()) return {};
  auto turn = session_->turns().acquire();
  if (any) {
    driver_.build(batch);
    if (options_.averaged) {                 // there may be none yet
      const Model& model = driver_.model();  // all have the same variables
      session_->check_variables(*session_->planner().compile(model), model);
    } else {
      driver_.replicas().prepare();
    }
  } else {
    require(session_->towers().workers().count() > 1, "evaluate: the input has no batch");
    if (!prepare_without_rows()) return {};
  }
  std::vector<std::string> scalars{"global_step", "loss"};
  for (const auto& [name, metric] : driver_.model().spec().metrics) {
    std::vector<double> none(metric.state.shape().elements());
    if (metric.value(none).elements() == 1) scalars.push_back(name);
  }
  return scalars;
}

bool agree_on_evaluation(Workers& workers, const std::exception_ptr& own, bool stopped) {
  struct Message {
    std::int32_t failed, stopped;
    char reason[504];
  };
  Message mine{.failed = own != nullptr, .stopped = stopped, .reason = {}};
  std::vector<Message> all{mine};
  if (workers.count() > 1) {
    try {
      if (own) std::rethrow_exception(own);
    } catch (const std::exception& error) {
      std::string_view(error.what()).copy(mine.reason, sizeof mine.reason - 1);
    } catch (...) {
    }
    all = workers.all_gather(mine);
  }
  if (own) std::rethrow_exception(own);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    require(all[rank].failed == 0, "evaluate: worker ", rank, " has failed: ", all[rank].reason);
  return std::ranges::any_of(all, [](const Message& m) { return m.stopped != 0; });
}

}  // namespace belfry
