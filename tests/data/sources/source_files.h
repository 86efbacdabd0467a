#pragma once
// Files for tests of sources, and what is read from them.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../framework/base/temporary_folder.h"
#include "belfry/data/formats/byte_writer.h"
#include "belfry/data/selection/selection.h"
#include "belfry/data/sources/files.h"
#include "belfry/framework/base/crc32c.h"
#include "pipeline.h"

namespace belfry::data {

using Words = std::vector<std::string>;

inline std::span<const std::byte> bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// A folder for one test, and files in it.
class SourceFiles {
 public:
  std::string operator/(const std::string& name) const { return folder_ / name; }
  const std::string& path() const { return folder_.path(); }

  /// Returns the path. Folders in `name` are made.
  std::string write(const std::string& name, std::string_view content,
                    Compression compression = Compression::none) const {
    std::string path = folder_ / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    if (compression == Compression::none) {
      std::ofstream(path, std::ios::binary) << content;
      return path;
    }
    ByteWriter file(path, compression);
    file.write(bytes_in(content));
    file.close();
    return path;
  }
  std::string write(const std::string& name, std::span<const std::byte> content) const {
    return write(name, {reinterpret_cast<const char*>(content.data()), content.size()});
  }

 private:
  TemporaryFolder folder_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The text in `name` of the next element, "end", or "error: ...".
inline std::string next_string(InputStream& stream, Features& element, const char* name) {
  try {
    return stream.next(element) ? text_of(element.at(name)) : "end";
  } catch (const Error& error) {
    return std::string("error: ") + error.what();
  }
}

/// The texts in `name` of all elements.
inline Words strings(InputStream& stream, const char* name) {
  Words out;
  Features element;
  for (std::string word; (word = next_string(stream, element, name)) != "end";) {
    out.push_back(word);
    if (out.size() == 10'000) {
      ADD_FAILURE() << "a source that never ends";
      break;
    }
  }
  return out;
}
inline Words strings(const Dataset& dataset, const char* name) {
  return strings(*open(dataset), name);
}

/// {"value"}: the length and a checksum of the text in `name`, for words() of long ones.
inline Transform digest(const char* name) {
  return map([=](Features in) {
    std::uint32_t checksum = crc32c(in.at(name).raw_bytes());
    return Features{
        {"value", Array::of<std::int64_t>({in.at(name).elements(), std::int64_t{checksum}})}};
  });
}

/// The words that pipeline `index` of `count` reads.
inline Words words_of_shard(const Dataset& dataset, int count, int index, const char* name) {
  return strings(*dataset.open({.pipelines = count, .pipeline = index}), name);
}

/// Any number of elements can be skipped, at the beginning and, where elements are shared, in
/// between.
inline void expect_skips(const Dataset& dataset, const char* name) {
  const Words all = strings(dataset, name);
  for (std::size_t count = 0; count <= all.size() + 1; ++count) {
    auto left = static_cast<std::ptrdiff_t>(all.size() - std::min(count, all.size()));
    EXPECT_EQ(strings(dataset | skip(static_cast<std::int64_t>(count)), name),
              Words(all.end() - left, all.end()))
        << count << " skipped";
  }
  const int parts = 3;
  for (int part = 0; part < parts; ++part) {
    Words expected;
    for (std::size_t i = static_cast<std::size_t>(part); i < all.size(); i += parts)
      expected.push_back(all[i]);
    EXPECT_EQ(strings(dataset | shard(parts, part), name), expected) << "part " << part;
  }
}

/// The path of real data, or "" where there are none: `name` is a file or folder of BELFRY_DATA or
/// of shared/data beside the project.
inline std::string real_data(const std::string& name) {
  const char* given = std::getenv("BELFRY_DATA");
  std::string path =
      (given ? std::string(given) : BELFRY_SOURCE_DIR "/../shared/data") + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

}  // namespace belfry::data
