// Files with random damage: each is read, or is an Error that names it.
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/data/formats/wav.h"
#include "belfry/data/sources/media.h"
#include "belfry/data/sources/tokens.h"
#include "source_files.h"

namespace belfry::data {
namespace {

// `whole` with some of its bits turned, bytes replaced, its end cut off, or a piece of it put, or
// moved, elsewhere. At least one byte differs.
std::string mutate(const std::string& whole, PhiloxStream& random) {
  auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random.below(bound)); };
  std::string out = whole;
  while (out == whole) {
    std::size_t from = below(out.size()), to = below(out.size());
    std::string piece = out.substr(from, 1 + below(24));
    switch (random.below(5)) {
      case 0:
        for (std::size_t i = below(4) + 1; i > 0; --i)
          out[below(out.size())] ^= static_cast<char>(1 << below(8));
        break;
      case 1:  // numbers that formats take for sizes
        out[from] = "\x00\x01\x7f\x80\xff"[below(5)];
        if (from + 1 < out.size()) out[from + 1] = out[from];
        break;
      case 2:
        out.resize(from);
        break;
      case 3:
        out.insert(to, piece);
        break;
      case 4:
        out.replace(to, piece.size(), piece);
        break;
    }
    if (out.empty()) out = whole;
  }
  return out;
}

// Reads a stream to its end. Returns how many of its elements were errors.
int read_all(const Dataset& dataset, const std::string& path) {
  InputStreamPtr stream = open(dataset);
  Features element;
  int errors = 0;
  for (int calls = 0;; ++calls) {
    if (calls == 1'000) {
      ADD_FAILURE() << "a source that never ends";
      return errors;
    }
    try {
      if (!stream->next(element)) return errors;
    } catch (const Error& error) {
      ++errors;
      EXPECT_THAT(error.what(), ::testing::HasSubstr(path));
    }
  }
}

using Open = std::function<Dataset(const std::string& path)>;

// Reads `times` mutations of a file with the content `whole`. What `source` throws is an error too.
void expect_errors_at_worst(const std::string& name, const std::string& whole, int times,
                            const Open& source) {
  SourceFiles files;
  std::string path = files.write(name, whole);
  ASSERT_EQ(read_all(source(path), path), 0);
  PhiloxStream random(philox_key(11, name));
  int damaged = 0;
  for (int i = 0; i < times; ++i) {
    SCOPED_TRACE(i);
    files.write(name, mutate(whole, random));
    try {
      damaged += read_all(source(path), path) > 0;
    } catch (const Error& error) {
      ++damaged;
      EXPECT_THAT(error.what(), ::testing::HasSubstr(path));
    }
  }
  EXPECT_GT(damaged, times / 20);  // or nothing has been tested
}

void expect_errors_at_worst(const std::string& name, std::span<const std::byte> whole, int times,
                            const Open& source) {
  expect_errors_at_worst(
      name, std::string(reinterpret_cast<const char*>(whole.data()), whole.size()), times, source);
}

Array noise(const Shape& shape) {
  Array out(shape, DType::u8);
  PhiloxStream random(philox_key(1, "noise"));
  for (auto& x : out.span<std::uint8_t>()) x = static_cast<std::uint8_t>(random.below(256));
  return out;
}

Dataset images_around(const std::string& path) {
  auto folder = std::filesystem::path(path).parent_path().parent_path();
  return image_folder(folder.string(), {.workers = 1});
}

TEST(MutatedFiles, Jpeg) {
  expect_errors_at_worst("d/class/a.jpg", encode_jpeg(noise({24, 33, 3})), 100, images_around);
}

TEST(MutatedFiles, Png) {
  expect_errors_at_worst("d/class/a.png", encode_png(noise({9, 11, 3})), 80, images_around);
}

TEST(MutatedFiles, TfRecord) {
  SourceFiles files;
  for (Compression compression : {Compression::none, Compression::gzip}) {
    TfRecordWriter writer(files / "a", compression);
    for (std::string_view record : {"first", "", "a record that is longer", "last"})
      writer.write(bytes_in(record));
    writer.close();
    expect_errors_at_worst("a.tfrecord", content_of(files / "a"), 60,
                           [](const auto& path) { return tfrecord({path}); });
  }
}

TEST(MutatedFiles, Tokens) {
  std::string whole = "HEAD";
  for (char token = 0; token < 12; ++token) whole += std::string{token, '\1', '\0', '\0'};
  for (StoredToken stored : {StoredToken::u32, StoredToken::u16})
    expect_errors_at_worst(concat("tokens.", stored), whole, 60, [=](const auto& path) {
      return token_files({path}, {.length = 3, .stride = 2, .stored = stored, .header_bytes = 4});
    });
}

TEST(MutatedFiles, Idx) {
  SourceFiles files;
  std::string images{0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 3},
      labels{0, 0, 8, 1, 0, 0, 0, 4};
  labels += std::string(4, '\1');
  std::string other = files.write("labels", labels);
  expect_errors_at_worst("images", images + std::string(24, '\7'), 60,
                         [&](const auto& path) { return idx(path, other); });
  other = files.write("images", images + std::string(24, '\7'));
  expect_errors_at_worst("labels", labels, 40, [&](const auto& path) { return idx(other, path); });
}

TEST(MutatedFiles, Csv) {
  std::string text =
      "id,weight,name,kind\n1,0.5,Ann,b\n2,1e3,\"B, "
      "\"\"C\"\"\",a\n\n3,-1,\"two\nlines\",a\n4,nan,,b\n";
  std::vector<CsvColumn> columns{{.name = "id", .type = CsvType::i64},
                                 {.name = "weight", .type = CsvType::f32},
                                 {.name = "name"},
                                 {.name = "kind", .vocabulary = {"a", "b"}}};
  for (bool header : {true, false}) {
    std::string content = header ? text : text.substr(text.find('\n') + 1);
    expect_errors_at_worst(concat("header_", header, ".csv"), content, 60, [&](const auto& path) {
      return csv({path}, columns, {.csv = {.header = header, .max_record_bytes = 64}});
    });
  }
}

TEST(MutatedFiles, Wav) {
  Array samples = Array::zeros({30, 2});
  for (WavEncoding encoding : {WavEncoding::pcm16, WavEncoding::float32})
    expect_errors_at_worst("a.wav",
                           encode_wav(samples, {.sample_rate = 8000, .encoding = encoding}), 50,
                           [](const auto& path) { return wav({path}, {.workers = 1}); });
}

TEST(MutatedFiles, Npy) {
  expect_errors_at_worst("a.npy", to_npy(noise({5, 2, 2})), 60,
                         [](const auto& path) { return npy(path); });
  expect_errors_at_worst("v/a.npy", to_npy(noise({2, 3, 2})), 40, [](const auto& path) {
    return volumes(std::filesystem::path(path).parent_path().string());
  });
}

}  // namespace
}  // namespace belfry::data
