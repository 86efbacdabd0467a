#include "belfry/models/by_name/maker.h"
#include "belfry/models/sequences/acoustic.h"
#include "belfry/models/sequences/gpt.h"
#include "belfry/models/sequences/rnn.h"
#include "belfry/models/sequences/transformer.h"

namespace belfry::models::by_name {

Makers sequences() {
  return {{"acoustic", maker<AcousticOptions>(acoustic)},
          {"gpt", maker<GptOptions>(gpt)},
          {"rnn", maker<RnnOptions>(rnn)},
          {"transformer", maker<TransformerOptions>(transformer)}};
}

}  // namespace belfry::models::by_name
