// Any text is a position of a pipeline, or an Error. The first byte says of which one. A position
// that was restored is saved and restored again, and leads to the same elements.
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "pipelines.h"

using namespace belfry;

namespace {

/// The next elements as they are read, each as text, or the message of its Error.
std::vector<std::string> read_some(InputStream& stream) {
  constexpr std::size_t most = 5;
  std::vector<std::string> out;
  Features element;
  while (out.size() < most) {
    try {
      if (!stream.next(element)) break;
      std::string all;
      for (const auto& [name, array] : element) {
        const auto bytes = array.raw_bytes();
        all += concat(name, array.type(), " ");
        all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
      out.push_back(all);
    } catch (const Error& error) {
      out.emplace_back(error.what());
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Dataset> all = pipelines();
  static const LogSink before = set_log_sink([](LogLevel, std::string_view) {});
  if (size == 0) return 0;
  const Dataset& pipeline = all[data[0] % all.size()];
  InputStreamPtr stream = pipeline, again = pipeline;
  try {
    stream->restore(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  } catch (const Error&) {
    return 0;
  }
  const std::string saved = stream->save();
  again->restore(saved);
  if (again->save() != saved || read_some(*again) != read_some(*stream)) std::abort();
  return 0;
}
