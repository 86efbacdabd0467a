#include "belfry/models/sequences/rnn.h"

#include "belfry/framework/base/option_checks.h"
#include "belfry/models/feature_checks.h"

namespace belfry::models {
namespace {

Tensor steps(const Scope& s, const Batch& batch, const RnnOptions& o) {
  Tensor x = batch[o.feature];
  bool tokens = !is_floating(x.dtype());
  require(x.rank() == (tokens ? 2 : 3), "rnn: the feature `", o.feature,
          "` must be floating [n, t, c] or whole numbers [n, t], got ", x.type());
  if (!tokens) return x;
  require(o.vocabulary >= 1, "rnn: the feature `", o.feature,
          "` holds tokens; the option vocabulary must say how many there are");
  return embedding(s / "embed", x, {.rows = o.vocabulary, .width = o.width});
}

}  // namespace

ModelFn rnn(RnnOptions o) {
  require_at_least(1, "rnn", "units", o.units);
  require_at_least(1, "rnn", "layers", o.layers);
  require_at_least(0, "rnn", "vocabulary", o.vocabulary);
  require_at_least(1, "rnn", "width", o.width);
  require_rate("rnn", "dropout", o.dropout);
  require_set("rnn", o.head);
  return [o = std::move(o)](Scope s, const Batch& batch, Mode mode) {
    bool training = mode == Mode::train;
    RecurrentLayerOptions options{.units = o.units,
                                  .layers = o.layers,
                                  .bidirectional = o.bidirectional,
                                  .dropout = o.dropout,
                                  .training = training};
    Tensor x = steps(s, batch, o);
    if (!o.lengths.empty())
      options.lengths =
          checked_lengths(s, batch, {.model = "rnn", .lengths = o.lengths, .of = o.feature});
    Tensor last = recurrent_layers(s / "rnn", x, o.cell, options).last;
    last = dropout(s / "head", last, {.rate = o.dropout, .training = training});
    return o.head(dense(s / "head", last, {.units = o.head.units}), batch, mode, o.optimizer);
  };
}

}  // namespace belfry::models
