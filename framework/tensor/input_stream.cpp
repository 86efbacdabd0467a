#include <algorithm>
#include <cstdio>

#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/features.h"

namespace belfry {

void InputStream::restore(const std::string& state) {
  require(state.empty(),
          "input: this stream cannot continue from a saved position; it does not "
          "implement save() and restore()");
}

std::string to_string(const std::vector<InputStage>& stages) {
  std::size_t width = 5;
  for (const InputStage& s : stages)
    width = std::max(width, s.name.size() + 2 * static_cast<std::size_t>(s.depth));
  std::string out =
      "stage" + std::string(width - 5, ' ')
      + "   elements      bytes     busy  upstream  downstream  queue  buffer  workers\n";
  for (const InputStage& s : stages) {
    std::string name = std::string(2 * static_cast<std::size_t>(s.depth), ' ') + s.name;
    name.resize(width, ' ');
    char line[160];
    std::snprintf(line, sizeof line, "  %9lld  %9s  %6.3f s  %6.3f s    %6.3f s  %5.1f  %6d  %7d\n",
                  static_cast<long long>(s.elements), bytes_text(s.bytes).c_str(), s.busy,
                  s.upstream, s.downstream, s.queue, s.buffer, s.workers);
    out += name + line;
  }
  return out;
}

std::string explain(const InputStream& stream) {
  auto stages = stream.stages();
  return stages.empty() ? "this stream does not measure itself\n" : to_string(stages);
}

}  // namespace belfry
