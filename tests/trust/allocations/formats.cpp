#include <filesystem>

#include "../../data/formats/bmp_bytes.h"
#include "../../data/formats/tiff_bytes.h"
#include "../../data/formats/webp_bytes.h"
#include "belfry/data/data.h"
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/csv.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/data/formats/token_file.h"
#include "belfry/data/formats/wav.h"
#include "belfry/data/text/tokenizer.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/example.h"
#include "belfry/framework/tensor/safetensors.h"
#include "scenario_kinds.h"

namespace belfry {
namespace {

using Folder = TemporaryFolder;

std::function<std::unique_ptr<Scenario>()> file(std::function<void(const Folder&)> write,
                                                Finds::Read read) {
  return [=] { return std::make_unique<Finds>(write, read); };
}

void nothing(const Folder&) {}

void add_arrays(Scenarios& all) {
  all["read_safetensors"] = file(
      [](const Folder& f) {
        Features arrays = some_arrays();
        save_safetensors(f / "a", NamedArrays(arrays.begin(), arrays.end()), {{"by", "hand"}});
      },
      [](const Folder& f) {
        Features out;
        for (const auto& [name, array] : load_safetensors(f / "a").tensors) out.set(name, array);
        return digest(out);
      });
  all["read_npy"] =
      file([](const Folder& f) { data::write_npy(f / "a", some_arrays().at("numbers")); },
           [](const Folder& f) {
             return digest({{"a", data::read_npy(f / "a")}});
           });
  all["read_npz"] = file([](const Folder& f) { data::write_npz(f / "a", some_arrays()); },
                         [](const Folder& f) { return digest(data::read_npz(f / "a")); });
  all["read_wav"] = file(
      [](const Folder& f) {
        data::write_wav(f / "a", some_arrays().at("numbers"), {.sample_rate = 8000});
      },
      [](const Folder& f) {
        return digest({{"a", data::read_wav(f / "a").samples}});
      });
}

// Numbers in big-endian order, as IDX files have them.
std::string idx_of(std::initializer_list<int> sizes, const std::string& bytes) {
  std::string out{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (int size : sizes) out += {'\0', '\0', '\0', static_cast<char>(size)};
  return out + bytes;
}

void add_records(Scenarios& all) {
  all["read_csv"] = file(nothing, [](const Folder&) {
    data::CsvReader reader({{.name = "x", .type = data::CsvType::f32},
                            {.name = "w", .vocabulary = {"a", "b"}},
                            {.name = "t"}});
    std::string_view rest = "x,w,t\n1.5,a,\"some text, quoted\"\n2,b,more\n";
    std::string out;
    for (Features record; reader.next(rest, true, record);) out += digest(record);
    return out;
  });
  auto example = [](float x) {
    return tf::Example{{{"x", std::vector<float>{x, x}}, {"w", std::vector<std::string>{"word"}}}};
  };
  all["write_example"] = file(nothing, [=](const Folder&) {
    tf::FeatureMap copy = example(3).features;
    return std::to_string(tf::Example{copy}.serialize().size());
  });
  all["read_tfrecord"] = file(
      [=](const Folder& f) {
        data::TfRecordWriter writer(f / "a");
        for (float x : {1.0f, 2.0f}) writer.write(example(x).serialize());
        writer.close();
      },
      [](const Folder& f) {
        return all_of(data::tfrecord({f / "a"})
                      | data::parse_examples(
                          {{"x", tf::FixedLen{{2}, DType::f32}}, {"w", tf::VarLen{DType::u8}}}));
      });
  all["read_lines"] = file(
      [](const Folder& f) { write_file_atomically(f / "a", "one\ntwo, a longer one\n\nthree"); },
      [](const Folder& f) { return all_of(data::text_lines({f / "a"})); });
  all["read_fixed_length_records"] =
      file([](const Folder& f) { write_file_atomically(f / "a", "head123456"); },
           [](const Folder& f) {
             return all_of(data::fixed_length_records({f / "a"}, 3, {.header_bytes = 4}));
           });
  all["read_idx"] = file(
      [](const Folder& f) {
        write_file_atomically(f / "images", idx_of({2, 2, 2}, "abcdefgh"));
        write_file_atomically(f / "labels", idx_of({2}, "\x01\x02"));
      },
      [](const Folder& f) { return all_of(data::idx(f / "images", f / "labels")); });
  all["read_cifar10"] = file(
      [](const Folder& f) {
        for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                 "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"})
          write_file_atomically(f / name, std::string(3073, '\x03'));
      },
      [](const Folder& f) { return all_of(data::cifar10(f / "", data::Split::train)); });
}

void add_text(Scenarios& all) {
  all["read_token_file"] = file(
      [](const Folder& f) {
        data::TokenWriter writer(f / "a");
        writer.write(std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2, 6, 5});
        writer.close();
      },
      [](const Folder& f) { return all_of(data::token_files({f / "a"}, {.length = 4})); });
  const std::string text = "the quick brown fox and the quick red fox jump over the lazy dog";
  all["train_tokenizer"] = file(
      nothing, [=](const Folder&) { return data::train_tokenizer(text, {.size = 270}).json(); });
  all["read_tokenizer"] =
      file([=](const Folder& f) { data::train_tokenizer(text, {.size = 270}).save(f / "a"); },
           [](const Folder& f) {
             data::Tokenizer tokenizer = data::Tokenizer::load(f / "a");
             auto tokens = tokenizer.encode("the lazy fox, caf\xc3\xa9");
             return concat(tokens.size(), " ", tokenizer.decode(tokens));
           });
}

void add_images(Scenarios& all) {
  auto decode = [](std::vector<std::byte> bytes) {
    return [bytes = std::move(bytes)](const Folder&) {
      return digest({{"image", data::decode_image(bytes)}});
    };
  };
  auto bytes_of = [](const std::string& text) {
    auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  all["read_png"] = file(nothing, decode(data::encode_png(some_image())));
  all["read_jpeg"] = file(nothing, decode(data::encode_jpeg(some_image())));
  all["read_bmp"] =
      file(nothing, decode(bytes_of(data::bmp({.w = 2, .pixels = "abcdef" + std::string(2, 0)}))));
  all["read_webp"] = file(nothing, decode(bytes_of(data::lossless_webp())));
  auto write_volume = [](const Folder& f) {
    data::write_tiff(f / "a.tif", {{.h = 2, .w = 2}}, {{1, 2, 3, 4}});
  };
  all["read_volume"] = file(write_volume, [](const Folder& f) {
    return digest({{"a", data::read_volume(f / "a.tif")}});
  });
  all["read_image_folder"] = file(
      [](const Folder& f) {
        for (const char* name : {"cat", "dog"}) {
          std::filesystem::create_directory(f / name);
          auto png = data::encode_png(some_image());
          write_file_atomically(f / (std::string(name) + "/a.png"),
                                {reinterpret_cast<const char*>(png.data()), png.size()});
        }
      },
      [](const Folder& f) { return all_of(data::image_folder(f / "", {.workers = 1})); });
}

}  // namespace

void add_formats(Scenarios& all) {
  add_arrays(all);
  add_records(all);
  add_text(all);
  add_images(all);
}

}  // namespace belfry
