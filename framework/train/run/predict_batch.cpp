#include "belfry/framework/train/run/predict_batch.h"

#include <algorithm>

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
    std::int64_t rows = replicas.share(t).rows.count;
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

}  // namespace

Features predict_batch(Session& session, const Features& batch, const PredictOptions& options,
                       std::int64_t first_row) {
  auto turn = session.turns().take();
  StepDriver& driver = session.driver(Mode::predict, options.averaged);
  driver.next(batch, first_row);
  const NamedTensors& predictions = driver.model().spec().predictions;
  for (const std::string& key : options.keys)
    require(std::any_of(predictions.begin(), predictions.end(),
                        [&](auto& p) { return p.first == key; }),
            "predict: there is no prediction `", key, "`; the model has ", names_of(predictions));
  Features out;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const std::string& name = predictions[i].first;
    if (options.keys.empty() || contains(options.keys, name))
      out.set(name, joined(driver.replicas(), i, name));
  }
  return out;
}

}  // namespace belfry
