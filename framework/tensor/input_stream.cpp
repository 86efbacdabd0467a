#include "belfry/framework/tensor/input_stream.h"

#include "belfry/framework/base/error.h"

namespace belfry {

void InputStream::restore(const std::string& state) {
  require(state.empty(),
          "input: this stream cannot continue from a saved position; it does not "
          "implement save() and restore()");
}

}  // namespace belfry
