// Fuzzes CsvReader. The first bytes choose options and the size of the pieces.

#include <cstdlib>

#include "belfry/data/formats/csv.h"

using namespace belfry;
using namespace belfry::data;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const unsigned choice = bytes[0];
  const std::size_t step = 1 + bytes[1] % 64;
  std::string_view content(reinterpret_cast<const char*>(bytes + 2), size - 2);
  CsvReader reader({{.name = "a", .type = CsvType::f64, .index = 0, .default_value = "0"},
                    {.name = "b", .index = 1},
                    {.name = "c", .index = 1, .vocabulary = {"x", "y"}, .unknown = -1}},
                   {.header = (choice & 1) != 0,
                    .delimiter = choice & 2 ? ';' : ',',
                    .skip_initial_space = (choice & 4) != 0,
                    .comment = choice & 8 ? '#' : '\0',
                    .max_record_bytes = choice & 16 ? 20 : 1 << 20});
  Features record;
  std::size_t end = 0;
  while (true) {
    auto begin = static_cast<std::size_t>(reader.position().offset);
    std::string_view rest = content.substr(begin, std::max(begin, end) - begin);
    const bool at_end = end >= content.size();
    try {
      bool got = reader.next(rest, at_end, record);
      if (!got && at_end) break;
      if (!got) end += step;
    } catch (const Error&) {
      // An error that takes nothing would come for ever.
      if (static_cast<std::size_t>(reader.position().offset) == begin && !content.empty()
          && !at_end)
        std::abort();
    }
  }
  if (static_cast<std::size_t>(reader.position().offset) != content.size()) std::abort();
  return 0;
}
