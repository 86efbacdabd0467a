#include "belfry/framework/train/predictions.h"

#include "belfry/framework/train/run/predict_batch.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {

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

}  // namespace belfry
