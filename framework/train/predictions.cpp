#include "belfry/framework/train/predictions.h"

#include <algorithm>

#include "belfry/framework/train/session.h"

namespace belfry {

struct Predictions::Impl {
  std::shared_ptr<Session> session;
  InputStreamPtr input;
  PredictOptions options;
  Features batch;
  Features outputs;  // of the current batch
  std::int64_t rows = 0, next_row = 0;
  std::int64_t first_row = 0;  // of the next batch among all
};

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
    require(shape.rank() > 0 && shape[0] == replicas.share(t).rows.count, "predict: `", name,
            "` is ", replicas.executable(t).output(i).type(), " for ", replicas.share(t).rows.count,
            " rows; over several towers a prediction has one row an example");
  }
  Array all(first.shape().with(0, replicas.rows().all), first.dtype());
  auto* to = static_cast<std::byte*>(all.raw());
  for (int t = 0; t < replicas.size(); ++t) {
    auto bytes = replicas.executable(t).output(i).raw_bytes();
    to = std::copy(bytes.begin(), bytes.end(), to);
  }
  return all;
}

}  // namespace

Predictions::Predictions(std::shared_ptr<Session> session, InputStreamPtr input,
                         PredictOptions options)
    : impl_(new Impl{std::move(session), std::move(input), std::move(options), {}, {}, 0, 0, 0}) {}
Predictions::Predictions(Predictions&&) noexcept = default;
Predictions::~Predictions() = default;

bool Predictions::next_batch() {
  Impl& self = *impl_;
  if (!self.input->next(self.batch)) return false;
  Replicas& replicas = self.session->replicas(Mode::predict, self.options.averaged);
  replicas.split(self.batch);
  replicas.prepare();
  const NamedTensors& predictions = replicas.model().spec().predictions;
  for (const std::string& key : self.options.keys)
    require(std::any_of(predictions.begin(), predictions.end(),
                        [&](auto& p) { return p.first == key; }),
            "predict: there is no prediction `", key, "`; the model has ", names_of(predictions));
  replicas.begin_at(self.first_row);
  replicas.run();
  self.first_row += replicas.rows().all;
  self.outputs.clear();
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const std::string& name = predictions[i].first;
    const auto& keys = self.options.keys;
    if (keys.empty() || std::find(keys.begin(), keys.end(), name) != keys.end())
      self.outputs.set(name, joined(replicas, i, name));
  }
  self.rows = row_count(self.batch);
  self.next_row = 0;
  if (!self.options.single_examples) return true;
  for (const auto& [name, value] : self.outputs)
    require(value.shape().rank() > 0 && value.shape()[0] == self.rows, "predict: `", name, "` is ",
            value.type(), " but the batch has ", self.rows,
            " rows; ask for whole batches with .single_examples = false");
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

}  // namespace belfry
