// Fuzzes CsvReader. The first bytes choose options, the size of the pieces and a type.

#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "belfry/data/formats/csv.h"

using namespace belfry;
using namespace belfry::data;

namespace {

// A position leads to the same record.
void check_again(CsvReader& reader, CsvPosition before, std::string_view text, bool at_end,
                 const Features& record) {
  const CsvPosition after = reader.position();
  Features again;
  reader.seek(before);
  if (!reader.next(text, at_end, again) || reader.position() != after) std::abort();
  for (const auto& [name, array] : record)
    if (!identical(again.at(name), array)) std::abort();
}

}  // namespace

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
  bool at_record = false;  // where one may begin again
  while (true) {
    const CsvPosition before = reader.position();
    const auto begin = static_cast<std::size_t>(before.offset);
    const std::string_view text = content.substr(begin, end - begin);
    const bool at_end = end >= content.size();
    bool got = false, thrown = false;
    try {
      std::string_view rest = text;
      got = reader.next(rest, at_end, record);
      if (!got && at_end) break;
      if (!got) end += step;
    } catch (const Error&) {
      thrown = true;
      // An error that takes nothing would come for ever.
      if (reader.position() == before && !at_end) std::abort();
    }
    if (got && at_record) check_again(reader, before, text, at_end, record);
    at_record = got || thrown;
  }
  if (static_cast<std::size_t>(reader.position().offset) != content.size()) std::abort();
  return 0;
}
