#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>

#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/byte_writer.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/tfrecord.h"
#include "random_pipeline.h"

namespace belfry::data {
namespace {

void write(const std::string& path, std::string_view content, Compression compression) {
  ByteWriter file(path, compression);
  file.write(std::as_bytes(std::span(content)));
  file.close();
}

}  // namespace

PipelineFiles::PipelineFiles() {
  std::string text;
  for (int i = 0; i < 12; ++i) text += std::string("abcdefghij").substr(i % 5, i * 3 % 7) + "\n";
  for (int i = 0; i < 3; ++i) {
    lines.push_back(folder_ / concat("lines", i));
    write(lines[i], i == 1 ? "" : text, i == 2 ? Compression::gzip : Compression::none);
    text += "more\nand more";
    records.push_back(folder_ / concat("records", i));
    TfRecordWriter file(records[i]);
    for (int k = 0; k < 5 * i + 3; ++k) {
      std::uint8_t record[4]{1, 2, static_cast<std::uint8_t>(k), static_cast<std::uint8_t>(i)};
      file.write(std::as_bytes(std::span(record).first(k == 4 ? 2 : 4)));  // one is too short
    }
    file.close();
  }
  for (int i = 0; i < 2; ++i) {
    tables.push_back(folder_ / concat("table", i));
    write(tables[i], i ? "x,id\n1,2\n3,bad\n5,6\n7.5,8\n" : "x,id\n9,1\n\"8\",2\n",
          Compression::none);
  }
  for (int i = 0; i < 2; ++i) {
    tokens.push_back(folder_ / concat("tokens", i));
    write(tokens[i], text.substr(0, i ? 42 : 26), Compression::none);
  }
  Array x({11, 3}, DType::f32), id({11}, DType::i64);
  for (std::int64_t i = 0; i < 33; ++i) x.span<float>()[i] = 1.0f / (i + 1);
  for (std::int64_t i = 0; i < 11; ++i) id.span<std::int64_t>()[i] = 100 - i;
  write_npz(arrays = folder_ / "arrays.npz", {{"x", x}, {"id", id}});
  pictures = folder_ / "pictures";
  for (int i = 0; i < 9; ++i) {
    std::string folder = concat(pictures, "/", i % 2);
    std::filesystem::create_directories(folder);
    Array image({9, 8, 3}, DType::u8);
    std::ranges::fill(image.span<std::uint8_t>(), static_cast<std::uint8_t>(20 * i));
    auto png = encode_png(image);
    std::string_view bytes(reinterpret_cast<const char*>(png.data()), png.size());
    write(concat(folder, "/", i, ".png"), i == 7 ? "no image" : bytes, Compression::none);
  }
}

}  // namespace belfry::data
