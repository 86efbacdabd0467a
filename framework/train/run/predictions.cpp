#include "belfry/framework/train/predictions.h"

#include <algorithm>

#include "belfry/framework/base/linked_stop.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {
namespace {

std::string names_of(const NamedTensors& predictions) {
  std::vector<std::string> names;
  for (const auto& [name, value] : predictions) names.push_back(name);
  return join(names, ", ");
}

// Output i of all towers, in the order of the batch's rows.
Array joined(const Replicas& replicas, std::size_t i, const std::string& name) {
  const Array& first = replicas.executable(0).output(i);
  if (replicas.size() == 1) return first.clone();
  for (int t = 0; t < replicas.size(); ++t) {
    const Shape& shape = replicas.executable(t).output(i).shape();
    std::int64_t rows = replicas.shard(t).rows.count;
    require(shape.rank() > 0 && shape[0] == rows, "predict: the prediction `", name, "` is ",
            replicas.executable(t).output(i).type(), " for ", rows, rows == 1 ? " row" : " rows",
            " of a tower, but several towers need one row an example; leave it out with "
            "PredictOptions::keys, or predict on one device");
  }
  Array all(first.shape().with(0, replicas.rows().all), first.dtype());
  auto* to = static_cast<std::byte*>(all.raw());
  for (int t = 0; t < replicas.size(); ++t) {
    auto bytes = replicas.executable(t).output(i).raw_bytes();
    to = std::copy(bytes.begin(), bytes.end(), to);
  }
  return all;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The predictions that `options` names, as arrays of their own; waits for its turn. The batch is
// the one after `first_row` rows.
Features predict_batch(Session& session, const Features& batch, const PredictOptions& options,
                       std::int64_t first_row = 0) {
  auto turn = session.turns().acquire();
  StepDriver& driver = session.driver(Mode::predict, options.averaged);
  driver.build(batch);
  const NamedTensors& predictions = driver.model().spec().predictions;
  for (const std::string& key : options.keys)
    require(std::any_of(predictions.begin(), predictions.end(),
                        [&](auto& p) { return p.first == key; }),
            "predict: there is no prediction `", key, "`; the model has ", names_of(predictions));
  driver.run(batch, first_row);
  Features out;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const std::string& name = predictions[i].first;
    if (options.keys.empty() || contains(options.keys, name))
      out.set(name, joined(driver.replicas(), i, name));
  }
  return out;
}

}  // namespace

struct Predictions::Impl {
  std::unique_ptr<LinkedStop> stop;  // outlives the input
  std::shared_ptr<Session> session;
  InputStreamPtr input;
  PredictOptions options;
  Features batch = {};
  Features outputs = {};  // of the current batch
  std::int64_t rows = 0, next_row = 0;
  std::int64_t first_row = 0;  // of the next batch among all
  bool stopped = false;
};

Predictions::Predictions(std::shared_ptr<Session> session, InputStreamPtr input,
                         PredictOptions options, std::unique_ptr<LinkedStop> stop)
    : impl_(new Impl{.stop = std::move(stop),
                     .session = std::move(session),
                     .input = std::move(input),
                     .options = std::move(options)}) {}
Predictions::Predictions(Predictions&&) noexcept = default;
Predictions::~Predictions() = default;

bool Predictions::stopped() const { return impl_->stopped; }

bool Predictions::next_batch() {
  Impl& self = *impl_;
  bool more = !self.options.stop.stop_requested() && self.input->next(self.batch);
  self.stopped = !more && self.options.stop.stop_requested();
  if (!more) return false;
  self.outputs = predict_batch(*self.session, self.batch, self.options, self.first_row);
  self.rows = row_count(self.batch);
  self.first_row += self.rows;
  self.next_row = 0;
  if (!self.options.single_examples) return true;
  for (const auto& [name, value] : self.outputs)
    require(value.shape().rank() > 0 && value.shape()[0] == self.rows, "predict: the prediction `",
            name, "` is ", value.type(), " for ", self.rows, self.rows == 1 ? " row" : " rows",
            ", but single examples need one row an example; ask for whole batches with "
            ".single_examples = false, or leave it out with .keys");
  return true;
}

bool Predictions::next(Features& prediction) {
  Impl& self = *impl_;
  if (!self.options.single_examples) {
    if (!next_batch()) return false;
    prediction = self.outputs;
    return true;
  }
  while (self.next_row == self.rows)
    if (!next_batch()) return false;
  Features row;
  for (const auto& [name, value] : self.outputs) row.set(name, value.row(self.next_row));
  ++self.next_row;
  prediction = std::move(row);
  return true;
}

LivePredictor::LivePredictor(std::shared_ptr<Session> session, PredictOptions options)
    : session_(std::move(session)), options_(std::move(options)) {
  require(options_.checkpoint.empty(), "predictor: it predicts with the live variables, and not `",
          options_.checkpoint, "`; leave PredictOptions::checkpoint empty, or use predict()");
}

Features LivePredictor::operator()(const Features& batch) const {
  auto turn = session_->turns().acquire();
  require(!session_->broken(),
          "predictor: a training has failed within a step, and the variables may be those of no "
          "step; ask the estimator for another predictor(), which goes on from the newest "
          "checkpoint");
  return predict_batch(*session_, batch, options_);
}

}  // namespace belfry
