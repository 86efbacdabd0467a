#include "belfry/models/acoustic.h"
#include "belfry/models/by_name/reader.h"
#include "belfry/models/transformer.h"

namespace belfry::models::by_name {

Makers sequences() {
  return {{"acoustic", maker<AcousticOptions>(acoustic)},
          {"transformer", maker<TransformerOptions>(transformer)}};
}

}  // namespace belfry::models::by_name
