#include "belfry/models/by_name/reader.h"
#include "belfry/models/sequences/acoustic.h"
#include "belfry/models/sequences/transformer.h"

namespace belfry::models::by_name {

void fields(AcousticOptions& o, Reader& f) {
  f("labels", o.labels)("filters", o.filters)("strides", o.strides)("kernel", o.kernel)(
      "dropout", o.dropout)("batch_norm_momentum", o.batch_norm_momentum)(
      "sync_batch_norm", o.sync_batch_norm)("separator", o.separator)(
      "zero_infinity", o.zero_infinity)("audio", o.audio)("label", o.label)("optimizer",
                                                                            o.optimizer);
}
void fields(TransformerOptions& o, Reader& f) {
  f("classes", o.classes)("vocabulary", o.vocabulary)("depth", o.depth)("width", o.width)(
      "heads", o.heads)("hidden", o.hidden)("learned_positions", o.learned_positions)(
      "longest", o.longest)("pool_mean", o.pool_mean)("dropout", o.dropout)("feature", o.feature)(
      "lengths", o.lengths)("optimizer", o.optimizer);
}

Makers sequences() {
  return {{"acoustic", maker<AcousticOptions>(acoustic)},
          {"transformer", maker<TransformerOptions>(transformer)}};
}

}  // namespace belfry::models::by_name
