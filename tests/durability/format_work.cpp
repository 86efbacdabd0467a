#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>

#include "../data/formats/tiff_bytes.h"
#include "belfry/data/data.h"
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/data/formats/token_file.h"
#include "belfry/data/formats/wav.h"
#include "belfry/data/text/tokenizer.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/safetensors.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/framework/train/warm_start.h"
#include "file_work.h"

namespace belfry {
namespace {

using Write = std::function<void(const std::string& folder)>;

std::string digest(const std::string& name, const Array& array) {
  return concat(name, " ", array.type(), " ", crc32c(array.raw_bytes()), "; ");
}

std::string all_of(const Dataset& dataset) {
  std::string out;
  auto stream = dataset.open();
  for (Features element; stream->next(element);)
    for (const auto& [name, array] : std::as_const(element)) out += digest(name, array);
  return out;
}

/// Reads a data set to its end. It is opened where that fails too, and stays open.
FileScenario data_of(const std::string& name, const Write& write,
                     const std::function<Dataset(const std::string& folder)>& open) {
  return {name, [=](const std::string& folder) {
            write(folder);
            auto dataset = std::make_shared<std::optional<Dataset>>();
            FileWork work = reading([=] {
              if (!*dataset) *dataset = open(folder);
              return all_of(**dataset);
            });
            dataset->reset();
            return work;
          }};
}

FileScenario weights_of(const std::string& name, const Write& write, const std::string& from) {
  return {name, [=](const std::string& folder) {
            write(folder);
            return reading([=] {
              std::string out;
              for (const auto& [tensor, array] : load_weights(folder + from).tensors)
                out += digest(tensor, array);
              return out;
            });
          }};
}

Array numbers(std::int64_t count) {
  Array out({count}, DType::f32);
  auto span = out.span<float>();
  std::iota(span.begin(), span.end(), 0.f);
  return out;
}

/// A file of this many things.
void write_records(const std::string& path, std::int64_t count, data::Compression compression) {
  data::TfRecordWriter writer(path, compression);
  for (std::int64_t i = 0; i < count; ++i) {
    std::string record = concat("record ", i);
    writer.write(std::as_bytes(std::span(record)));
    writer.flush();
  }
  writer.close();
}

void write_tokens(const std::string& path, std::int64_t count) {
  data::TokenWriter writer(path);
  for (std::int64_t i = 0; i < count; ++i) {
    writer.write(std::vector<std::int32_t>{3, 1, 4});
    writer.flush();
  }
  writer.close();
}

void write_tokenizer(const std::string& path, std::int64_t count) {
  data::train_tokenizer("the quick fox and the quick dog", {.size = 256 + count}).save(path);
}

/// A file in the format IDX, whose numbers are in big-endian order.
std::string idx_of(std::initializer_list<int> sizes, const std::string& bytes) {
  std::string out{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (int size : sizes) out += {'\0', '\0', '\0', static_cast<char>(size)};
  return out + bytes;
}

void write_idx(const std::string& f) {
  write_file_atomically(f + "/images", idx_of({2, 2, 2}, "abcdefgh"));
  write_file_atomically(f + "/labels", idx_of({2}, "\x01\x02"));
}

void write_mnist(const std::string& f) {
  write_file_atomically(f + "/train-images-idx3-ubyte",
                        idx_of({2, 28, 28}, std::string(2 * 28 * 28, 'a')));
  write_file_atomically(f + "/train-labels-idx1-ubyte", idx_of({2}, "\x01\x02"));
}

void write_cifar(const std::string& f) {
  for (int i = 1; i <= 5; ++i)
    write_file_atomically(concat(f, "/data_batch_", i, ".bin"), std::string(3073, '\x03'));
  write_file_atomically(f + "/train.bin", std::string(3074, '\x05'));
}

void write_images(const std::string& f) {
  Array image = numbers(3 * 4 * 3).cast(DType::u8).reshape({3, 4, 3});
  std::vector<std::byte> png = data::encode_png(image);
  std::string bytes(reinterpret_cast<const char*>(png.data()), png.size());
  for (const char* name : {"/cat", "/dog"}) {
    std::filesystem::create_directory(f + name);
    write_file_atomically(f + name + "/a.png", bytes);
  }
  write_file_atomically(f + "/metadata.csv", "file_name,x\ncat/a.png,1\ndog/a.png,2\n");
}

void write_volumes(const std::string& f) {
  data::write_tiff(f + "/a.tif", {{.h = 2, .w = 2}}, {{1, 2, 3, 4}});
  data::write_npy(f + "/b.npy", numbers(8).cast(DType::u8).reshape({2, 2, 2, 1}));
}

void write_shards(const std::string& f) {
  save_safetensors(f + "/a.safetensors", {{"w", numbers(3)}});
  save_safetensors(f + "/b.safetensors", {{"v", numbers(4)}});
  write_file_atomically(f + "/model.safetensors.index.json",
                        R"({"weight_map": {"w": "a.safetensors", "v": "b.safetensors"}})");
}

void write_bundle(const std::string& f) {
  write_tensor_bundle(f + "/model.ckpt-4", {{"w", numbers(3)}, {"v", numbers(4)}});
  write_file_atomically(f + "/checkpoint", "model_checkpoint_path: \"model.ckpt-4\"\n");
}

void write_lines(const std::string& f) { write_file_atomically(f + "/f", "one\ntwo\n\nthree"); }

std::vector<FileScenario> readers_of_records() {
  using data::Compression;
  auto records = [](Compression compression) {
    return [=](const std::string& f) { write_records(f + "/f", 3, compression); };
  };
  auto tfrecord = [](const std::string& f) { return data::tfrecord({f + "/f"}); };
  return {
      data_of("read_idx", write_idx,
              [](auto& f) { return data::idx(f + "/images", f + "/labels"); }),
      data_of("read_mnist", write_mnist,
              [](auto& f) { return data::mnist(f, data::Split::train); }),
      data_of("read_cifar10", write_cifar,
              [](auto& f) { return data::cifar10(f, data::Split::train); }),
      data_of("read_cifar100", write_cifar,
              [](auto& f) { return data::cifar100(f, data::Split::train); }),
      data_of(
          "read_csv", [](auto& f) { write_file_atomically(f + "/f", "x,t\n1.5,\"a, b\"\n2,c\n"); },
          [](auto& f) {
            return data::csv({f + "/f"},
                             {{.name = "x", .type = data::CsvType::f32}, {.name = "t"}});
          }),
      data_of("read_tfrecord", records(Compression::none), tfrecord),
      data_of("read_tfrecord_gzip", records(Compression::gzip), tfrecord),
      data_of("read_interleaved", records(Compression::none),
              [](auto& f) {
                return data::files(data::list_files(f + "/*"))
                       | data::interleave(data::read_tfrecords, {.cycle_length = 2});
              }),
      data_of("read_lines", write_lines, [](auto& f) { return data::text_lines({f + "/f"}); }),
      data_of("read_fixed_length_records", write_lines, [](auto& f) {
        return data::fixed_length_records({f + "/f"}, 5, {.header_bytes = 4});
      })};
}

std::vector<FileScenario> readers_of_arrays() {
  return {
      data_of(
          "read_npy", [](auto& f) { data::write_npy(f + "/f", numbers(5)); },
          [](auto& f) { return data::npy(f + "/f"); }),
      data_of(
          "read_npz",
          [](auto& f) {
            data::write_npz(f + "/f", {{"a", numbers(5)}});
          },
          [](auto& f) { return data::npz(f + "/f"); }),
      data_of(
          "read_safetensors",
          [](auto& f) {
            save_safetensors(f + "/f", {{"a", numbers(5)}});
          },
          [](auto& f) { return data::safetensors(f + "/f"); }),
      data_of(
          "read_wav", [](auto& f) { data::write_wav(f + "/f", numbers(5), {.sample_rate = 8000}); },
          [](auto& f) { return data::wav({f + "/f"}, {.workers = 1}); }),
      data_of("read_image_folder", write_images,
              [](auto& f) { return data::image_folder(f, {.workers = 1}); }),
      data_of("read_image_table", write_images,
              [](auto& f) {
                return data::image_table(f, {{.name = "x", .type = data::CsvType::f32}},
                                         {.workers = 1});
              }),
      data_of("read_image_masks", write_images,
              [](auto& f) { return data::image_masks(f + "/cat", f + "/dog", {.workers = 1}); }),
      data_of("read_volumes", write_volumes, [](auto& f) { return data::volumes(f); }),
      weights_of("read_shards", write_shards, "/model.safetensors.index.json"),
      weights_of("read_bundle", write_bundle, "/model.ckpt-4"),
      weights_of("find_bundle", write_bundle, ""),
      weights_of("find_shards", write_shards, "")};
}

/// Opened anew each time: the data set keeps files open.
FileWork read_tokens(const std::string& folder) {
  write_tokens(folder + "/f", 4);
  return reading([=] { return all_of(data::token_files({folder + "/f"}, {.length = 4})); });
}

FileWork read_tokenizer(const std::string& folder) {
  write_tokenizer(folder + "/f", 3);
  return reading([=] { return data::Tokenizer::load(folder + "/f").json(); });
}

/// The vocabularies of a warm start.
FileWork read_vocabularies(const std::string& folder) {
  write_file_atomically(folder + "/old", "a\nb\nc\n");
  write_file_atomically(folder + "/new", "c\na\nd\n");
  return reading([=] {
    WarmStart options{
        .vocabularies = {
            {.variable = "w", .tokens = folder + "/new", .old_tokens = folder + "/old"}}};
    VariableOptions w{.name = "w", .type = {{3}, DType::f32}, .initializer = constant_value(7)};
    WarmStartTable table = warm_start_table(
        options, {.path = "source", .tensors = {{"w", numbers(3)}}}, std::span(&w, 1), 1);
    return digest("w", table.values.at("w"));
  });
}

/// Replaces a file of one thing by a file of two. A format of several files may be refused when
/// they do not belong together.
FileScenario writing(const std::string& name,
                     const std::function<void(const std::string& path, std::int64_t count)>& write,
                     const std::function<std::int64_t(const std::string& path)>& read,
                     bool one_file = true) {
  return {name, [=](const std::string& folder) {
            std::string path = folder + "/f";
            write(path, 1);
            auto fault = [=](bool done) -> std::string {
              std::int64_t found = 0;
              try {
                found = read(path);
              } catch (const Error& error) {
                return done || one_file ? error.what() : "";
              }
              if (found == 2 || (found == 1 && !done)) return "";
              return concat("it holds ", found, " things");
            };
            return FileWork{[=] { write(path, 2); }, fault};
          }};
}

std::int64_t count_records(const std::string& path) {
  data::TfRecordReader reader(path);
  std::int64_t out = 0;
  while (reader.skip()) ++out;
  return out;
}

std::vector<FileScenario> writers() {
  using data::Compression;
  auto records = [](Compression compression) {
    return [=](auto& path, auto count) { write_records(path, count, compression); };
  };
  return {
      writing("write_tfrecord", records(Compression::none), count_records),
      writing("write_tfrecord_gzip", records(Compression::gzip), count_records),
      writing("write_token_file", write_tokens,
              [](auto& path) {
                return static_cast<std::int64_t>(read_file(path).size()) / 6;  // three tokens
              }),
      writing(
          "write_npy", [](auto& path, auto count) { data::write_npy(path, numbers(count)); },
          [](auto& path) { return data::read_npy(path).elements(); }),
      writing(
          "write_npz",
          [](auto& path, auto count) {
            data::write_npz(path, {{"a", numbers(count)}});
          },
          [](auto& path) { return data::read_npz(path).at("a").elements(); }),
      writing(
          "write_safetensors",
          [](auto& path, auto count) {
            save_safetensors(path, {{"a", numbers(count)}});
          },
          [](auto& path) { return load_safetensors(path).tensors.at("a").elements(); }),
      writing(
          "write_wav",
          [](auto& path, auto count) { data::write_wav(path, numbers(count), {.sample_rate = 1}); },
          [](auto& path) { return data::read_wav(path).samples.elements(); }),
      writing(
          "write_bundle",
          [](auto& path, auto count) {
            write_tensor_bundle(path, {{"a", numbers(count)}});
          },
          [](auto& path) { return read_tensor_bundle(path).tensors.at("a").elements(); }, false),
      writing("write_tokenizer", write_tokenizer,
              [](auto& path) { return data::Tokenizer::load(path).size() - 256; })};
}

}  // namespace

std::vector<FileScenario> format_scenarios() {
  std::vector<FileScenario> out = readers_of_records();
  std::ranges::move(readers_of_arrays(), std::back_inserter(out));
  out.push_back({"read_token_file", read_tokens});
  out.push_back({"read_vocabularies", read_vocabularies});
  out.push_back({"read_tokenizer", read_tokenizer});
  std::ranges::move(writers(), std::back_inserter(out));
  return out;
}

}  // namespace belfry
