#include "random_source.h"

#include <optional>
#include <vector>

#include "belfry/data/combine/combine.h"
#include "belfry/data/sources/files.h"
#include "belfry/data/sources/media.h"
#include "belfry/data/sources/sources.h"
#include "belfry/data/sources/tokens.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/crc32c.h"

namespace belfry::data {
namespace {

Features token_of_line(Features in) { return {{"token", in.at("line").cast(DType::i32)}}; }

Features row_of_record(Features in) {
  const Array& record = in.at("record");
  return {{"x", record.rows(0, 3).cast(DType::f32)}, {"id", Array::scalar(digest(in))}};
}

Features row_of_csv(Features in) {
  in.set("x", Array::of({static_cast<float>(in.at("x").item()), 2.0f, 3.0f}));
  return in;
}

Features record_of(const std::vector<std::byte>& bytes) {
  return {{"record", array_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()})}};
}

// One in seven lacks its "id".
void read_example(std::int64_t i, Features& out) {
  const auto x = static_cast<float>(i);
  tf::Example example{{{"x", std::vector<float>{x, 0.5f, -x}}}};
  if (i % 7 != 5) example.features["id"] = std::vector<std::int64_t>{i};
  out = record_of(example.serialize());
}

void read_sequence(std::int64_t i, Features& out) {
  tf::SequenceExample sequence;
  for (std::int64_t step = 0; step < i * 5 % 8; ++step)
    sequence.feature_lists["token"].emplace_back(std::vector<std::int64_t>{i + step});
  out = record_of(sequence.serialize());
}

RandomSource rows_source(const PipelineFiles& files, int workers, PhiloxStream& random) {
  const std::int64_t count = draw(random, 0, 40);
  switch (draw(random, 0, 7)) {
    case 0: {
      Array x({count, 3}, DType::f32), id({count}, DType::i64);
      for (std::int64_t i = 0; i < 3 * count; ++i) x.span<float>()[i] = 0.5f * i;
      for (std::int64_t i = 0; i < count; ++i) id.span<std::int64_t>()[i] = i % 23;
      return {from_arrays({{"x", x}, {"id", id}}), concat("from_arrays(", count, ")")};
    }
    case 1: {
      auto generate = [=, i = std::int64_t{0}]() mutable -> std::optional<Features> {
        if (i == count) return std::nullopt;
        const auto x = static_cast<float>(i);
        return Features{{"x", Array::of({x, -x, 1.0f})}, {"id", Array::scalar(i++)}};
      };
      return {generator(generate), concat("generator(", count, ")")};
    }
    case 2:
      return {npz(files.arrays), "npz"};
    case 3:
      return {tfrecord(files.records) | map(row_of_record, {.workers = workers}), "tfrecord",
              false};
    case 4:
      return {data::files(files.records)
                  | interleave(read_tfrecords, {.cycle_length = 2, .workers = workers})
                  | map(row_of_record),
              "files | interleave(tfrecord)", false};
    case 5:
      return {indexed(count, read_example)
                  | parse_examples(
                      {{"x", tf::FixedLen{{3}}}, {"id", tf::FixedLen{.dtype = DType::i64}}},
                      {.workers = workers}),
              concat("parse_examples(", count, ")")};
    case 6:
      return {fixed_length_records(files.tables, 5, {.header_bytes = 1}) | map(row_of_record),
              "fixed_length_records", false};
    default:
      return {csv(files.tables, {{.name = "x", .type = CsvType::f32}, {.name = "id"}})
                  | map(row_of_csv, {.workers = workers}),
              "csv", false};
  }
}

RandomSource texts_source(const PipelineFiles& files, int workers, PhiloxStream& random) {
  const std::int64_t count = draw(random, 0, 40);
  switch (draw(random, 0, 4)) {
    case 0: {
      auto read = [](std::int64_t i, Features& out) {
        Array token({i * 7 % 9}, DType::i32);
        for (std::int32_t& t : token.span<std::int32_t>()) t = static_cast<std::int32_t>(i++);
        out = {{"token", token}};
      };
      return {indexed(count, read), concat("indexed(", count, ")")};
    }
    case 1:
      return {text_lines(files.lines) | map(token_of_line, {.workers = workers}), "text_lines",
              false};
    case 2:
      return {token_files(files.tokens, {.length = 4, .stride = 3}), "token_files"};
    case 3:
      return {indexed(count, read_sequence)
                  | parse_sequence_examples(
                      {.feature_lists = {{"token", tf::FixedLenSequence{.dtype = DType::i64}}}},
                      {.workers = workers})
                  | map(only_texts),
              concat("parse_sequence_examples(", count, ")")};
    default:
      return {data::files(files.lines) | shuffle(10, {.seed = 3})
                  | interleave(read_text_lines, {.block_length = 2, .workers = workers})
                  | map(token_of_line),
              "files | interleave(text_lines)", false};
  }
}

RandomSource images_source(const PipelineFiles& files, int workers, PhiloxStream& random) {
  const std::int64_t count = draw(random, 0, 24);
  if (draw(random, 0, 1) == 0)
    return {image_folder(files.pictures, {.workers = workers}), "image_folder"};
  Array image({count, 9, 8, 3}, DType::u8), label({count}, DType::i64);
  for (std::size_t i = 0; i < image.raw_bytes().size(); ++i)
    image.raw_bytes()[i] = static_cast<std::byte>(i * 37 % 251);
  for (std::int64_t i = 0; i < count; ++i) label.span<std::int64_t>()[i] = i % 5;
  return {from_arrays({{"image", image}, {"label", label}}), concat("images(", count, ")")};
}

}  // namespace

std::int64_t draw(PhiloxStream& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

Features only_texts(Features in) { return {{"token", in.at("token").cast(DType::i32)}}; }

std::int64_t digest(const Features& features) {
  std::uint32_t crc = 0;
  for (const auto& item : features) crc = crc32c(item.second.raw_bytes(), crc);
  return crc;
}

RandomSource random_source(const PipelineFiles& files, ElementKind kind, int workers,
                           PhiloxStream& random) {
  switch (kind) {
    case ElementKind::rows:
      return rows_source(files, workers, random);
    case ElementKind::texts:
      return texts_source(files, workers, random);
    case ElementKind::images:
      return images_source(files, workers, random);
  }
  fail("no such kind");
}

}  // namespace belfry::data
