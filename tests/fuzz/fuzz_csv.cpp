// Fuzzes CsvReader. The first bytes choose options, the size of the pieces and a type.

#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "belfry/data/formats/csv.h"

using namespace belfry;
using namespace belfry::data;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::array types{CsvType::f64, CsvType::f32,     CsvType::i64,
                             CsvType::i32, CsvType::boolean, CsvType::text};
  if (size < 3) return 0;
  const unsigned choice = bytes[0];
  const std::size_t step = 1 + bytes[1] % 64;
  std::string_view content(reinterpret_cast<const char*>(bytes + 3), size - 3);
  const bool by_name = (choice & 0x21) == 0x21;
  std::vector<CsvColumn> columns{
      {.name = "a", .type = types[bytes[2] % types.size()], .index = 0, .default_value = "0"},
      {.name = "b", .index = by_name ? -1 : 1},
      {.name = "c", .index = 1, .vocabulary = {"x", "y"}, .unknown = -1}};
  if (by_name) columns.push_back({.name = "d", .type = CsvType::f32, .fields = {"a", "b"}});
  CsvReader reader(std::move(columns), {.header = (choice & 1) != 0,
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
      if (got) reader.seek(reader.position());
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
