#include "belfry/data/sources/files.h"

#include <glob.h>

#include <algorithm>
#include <cstring>

#include "belfry/data/formats/arrays/idx.h"
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/sources/file_records.h"
#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/tensor/philox.h"
#include "belfry/framework/tensor/safetensors.h"

namespace belfry::data {

std::string text_of(const Array& bytes) {
  auto characters = bytes.span<std::uint8_t>();
  return {characters.begin(), characters.end()};
}

Array array_of(std::string_view text) {
  Array out(Shape{std::ssize(text)}, DType::u8);
  std::copy(text.begin(), text.end(), out.span<std::uint8_t>().begin());
  return out;
}

std::vector<std::string> list_files(const std::string& pattern, ListFilesOptions options) {
  glob_t found{};
  int status = glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  require(status == 0 && !paths.empty(), "list_files: nothing matches ", pattern,
          status == GLOB_ABORTED ? ": a folder cannot be read" : "");
  std::sort(paths.begin(), paths.end());  // in bytes, whatever the locale
  if (options.shuffle_seed) {
    PhiloxStream random(philox_key(*options.shuffle_seed, "list_files"));
    for (std::size_t i = paths.size(); i > 1; --i) std::swap(paths[i - 1], paths[random.below(i)]);
  }
  return paths;
}

Dataset files(std::vector<std::string> paths) {
  require(!paths.empty(), "files: there are no files");
  auto shared = std::make_shared<const std::vector<std::string>>(std::move(paths));
  auto read = [shared](std::int64_t i, Features& out) {
    const std::string& path = (*shared)[i];
    put_bytes("path", std::as_bytes(std::span(path)), out);
  };
  return one_file_each(indexed(std::ssize(*shared), read, "files"), *shared);
}

namespace {

// Says of each element which file it is of.
struct OfFiles final : Iterator {
  OfFiles(IteratorPtr s, std::shared_ptr<const std::vector<std::string>> p)
      : source(std::move(s)), paths(std::move(p)) {}
  bool next(Element& out) override {
    if (!source->next(out)) return false;
    out.file = {paths, &(*paths)[out.index]};
    out.offset = Element::whole_file;
    return true;
  }
  std::int64_t skip(std::int64_t count) override { return source->skip(count); }
  void position(Position& at) override { source->position(at); }
  IteratorPtr source;
  std::shared_ptr<const std::vector<std::string>> paths;
};

}  // namespace

Dataset one_file_each(const Dataset& elements, std::vector<std::string> paths) {
  DatasetInfo info = elements.info();
  ensure(info.random_access && info.cardinality == std::ssize(paths), elements.name(), ": ",
         info.cardinality, " elements of ", paths.size(), " files");
  info.files = paths;
  auto shared = std::make_shared<const std::vector<std::string>>(std::move(paths));
  auto make = [=](Pass pass) {
    pass.profile = nullptr;  // which counts the dataset around it
    return std::make_unique<OfFiles>(elements.iterate(pass), shared);
  };
  return Dataset(elements.name(), make, std::move(info));
}

Dataset read_tfrecords(const Features& file) { return tfrecord({text_of(file.at("path"))}); }
Dataset read_text_lines(const Features& file) { return text_lines({text_of(file.at("path"))}); }

MakeDataset read_csv(std::vector<CsvColumn> columns, CsvFilesOptions options) {
  CsvReader(columns, options.csv);  // says now what is wrong with them
  return [=](const Features& file) { return csv({text_of(file.at("path"))}, columns, options); };
}

MakeDataset read_fixed_length_records(std::int64_t record_bytes, FixedLengthOptions options) {
  fixed_length_records({""}, record_bytes, options);  // the same
  return [=](const Features& file) {
    return fixed_length_records({text_of(file.at("path"))}, record_bytes, options);
  };
}

namespace {

Dataset rows_of(Features arrays, const char* source, const std::string& path) {
  return with_context("in " + path, [&] { return from_arrays(std::move(arrays), source); });
}

}  // namespace

Dataset npy(const std::string& path) { return rows_of({{"value", read_npy(path)}}, "npy", path); }
Dataset npz(const std::string& path, const std::vector<std::string>& names) {
  return rows_of(read_npz(path, names), "npz", path);
}

Dataset safetensors(const std::string& path) {
  Features arrays;
  for (auto& [name, array] : load_safetensors(path).tensors) arrays.set(name, array);
  return rows_of(std::move(arrays), "safetensors", path);
}

Dataset idx(const std::string& images, const std::string& labels) {
  Array image = read_idx(images), label = read_idx(labels);
  require(image.shape().rank() >= 1, images, ": a scalar has no rows");
  std::int64_t rows = image.shape()[0];
  require(label.shape() == Shape{rows}, labels, ": the labels are ", label.shape(), ", expected [",
          rows, "], one for each row of ", images);
  return rows_of({{"image", std::move(image)}, {"label", label.cast(DType::i64)}}, "idx", images);
}

}  // namespace belfry::data
