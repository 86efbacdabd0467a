// Any bytes are an Example or an Error; what was read and written stays the same from then on.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "belfry/data/formats/example.h"
#include "belfry/framework/base/error.h"

using namespace belfry;

namespace {

template <class Parse>
void swallow_errors(Parse parse) {
  try {
    parse();
  } catch (const Error&) {
  }
}

template <class Message>
void check_round_trip(std::span<const std::byte> bytes) {
  std::optional<Message> read;
  swallow_errors([&] { read = Message::parse(bytes); });
  if (!read) return;
  auto written = read->serialize();
  if (Message::parse(written).serialize() != written) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const data::ExampleSpec spec{
      {"a", data::FixedLen{.shape = {3}, .dtype = DType::i64}},
      {"f", data::FixedLen{.shape = {2}, .default_value = Array::scalar(1.0f)}},
      {"s", data::VarLen{DType::u8}},
      {"t", data::StringList{}}};
  static const data::SequenceExampleSpec sequence_spec{
      .context = {{"id", data::VarLen{DType::i64}}},
      .feature_lists = {{"x", {.shape = {2}}}, {"y", {.dtype = DType::i64, .allow_missing = true}}},
      .var_len_lists = {{"z", {.dtype = DType::i64}}}};
  auto bytes = std::as_bytes(std::span(data, size));
  check_round_trip<data::Example>(bytes);
  check_round_trip<data::SequenceExample>(bytes);
  swallow_errors([&] { data::parse_example(bytes, spec); });
  swallow_errors([&] { data::parse_sequence_example(bytes, sequence_spec); });
  return 0;
}
