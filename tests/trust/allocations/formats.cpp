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
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/framework/train/warm_start.h"
#include "scenario_kinds.h"

namespace belfry {
namespace {

using Folder = TemporaryFolder;

std::function<std::unique_ptr<Scenario>()> file(std::function<void(const Folder&)> write,
                                                Finds::Read read) {
  return [=] { return std::make_unique<Finds>(write, read); };
}

void nothing(const Folder&) {}

NamedArrays some_weights() {
  Features arrays = some_arrays();
  return {arrays.begin(), arrays.end()};
}

void add_arrays(Scenarios& all) {
  all["read_safetensors"] = file(
      [](const Folder& f) {
        save_safetensors(f / "a", some_weights(), {{"by", "hand"}});
      },
      [](const Folder& f) { return digest_of(load_safetensors(f / "a").tensors); });
  all["read_npy"] =
      file([](const Folder& f) { data::write_npy(f / "a", some_arrays().at("numbers")); },
           [](const Folder& f) {
             return digest({{"a", data::read_npy(f / "a")}});
           });
  all["read_npz"] = file([](const Folder& f) { data::write_npz(f / "a", some_arrays()); },
                         [](const Folder& f) { return digest(data::read_npz(f / "a")); });
  all["read_compressed_npz"] =
      file([](const Folder& f) { data::write_npz(f / "a", some_arrays(), {.compress = true}); },
           [](const Folder& f) { return digest(data::read_npz(f / "a")); });
  all["write_npz"] = file(nothing, [](const Folder& f) {
    data::write_npz(f / "a", some_arrays(), {.compress = true});
    return read_file(f / "a");
  });
  all["read_wav"] = file(
      [](const Folder& f) {
        data::write_wav(f / "a", some_arrays().at("numbers"), {.sample_rate = 8000});
      },
      [](const Folder& f) {
        return digest({{"a", data::read_wav(f / "a").samples}});
      });
}

void add_weights(Scenarios& all) {
  all["read_tensor_bundle"] =
      file([](const Folder& f) { write_tensor_bundle(f / "a", some_weights()); },
           [](const Folder& f) { return digest_of(load_weights(f / "a").tensors); });
  all["write_tensor_bundle"] = file(nothing, [](const Folder& f) {
    write_tensor_bundle(f / "a", some_weights());
    return read_file(f / "a.index") + read_file(f / "a.data-00000-of-00001");
  });
  all["write_safetensors"] = file(nothing, [](const Folder& f) {
    save_safetensors(f / "a", some_weights());
    return read_file(f / "a");
  });
  all["read_weights_in_parts"] = file(
      [](const Folder& f) {
        for (const auto& [name, array] : some_weights())
          save_safetensors(f / (name + ".safetensors"), {{name, array}});
        write_file_atomically(f / "model.safetensors.index.json", R"({"weight_map": {
            "numbers": "numbers.safetensors", "words": "words.safetensors"}})");
      },
      [](const Folder& f) { return digest_of(load_weights(f / "").tensors); });
}

// Numbers in big-endian order, as IDX files have them.
std::string idx_of(std::initializer_list<int> sizes, const std::string& bytes) {
  std::string out{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (int size : sizes) out += {'\0', '\0', '\0', static_cast<char>(size)};
  return out + bytes;
}

// An Example of tf.train, and a SequenceExample with a step for each number.
tf::Example example(float x) {
  return {{{"x", std::vector<float>{x, x}}, {"w", std::vector<std::string>{"word"}}}};
}
tf::SequenceExample sequence_example() {
  tf::SequenceExample out{{{"label", std::vector<std::int64_t>{5}}}, {}};
  for (float x : {1.0f, 2.0f, 3.0f}) {
    out.feature_lists["x"].emplace_back(std::vector<float>{x, -x});
    out.feature_lists["n"].emplace_back(std::vector<std::int64_t>(static_cast<std::size_t>(x)));
  }
  return out;
}

void write_examples(const std::string& path, data::Compression compression) {
  data::TfRecordWriter writer(path, compression);
  for (float x : {1.0f, 2.0f}) writer.write(example(x).serialize());
  writer.close();
}

void add_examples(Scenarios& all) {
  all["write_example"] = file(nothing, [](const Folder&) {
    tf::FeatureMap copy = example(3).features;
    return std::to_string(tf::Example{copy}.serialize().size());
  });
  for (data::Compression how : {data::Compression::none, data::Compression::gzip}) {
    all[concat("write_tfrecord_", how)] = file(nothing, [=](const Folder& f) {
      write_examples(f / "a", how);
      return read_file(f / "a");
    });
    all[concat("read_tfrecord_", how)] =
        file([=](const Folder& f) { write_examples(f / "a", how); },
             [](const Folder& f) {
               return all_of(data::tfrecord({f / "a"})
                             | data::parse_examples({{"x", tf::FixedLen{{2}, DType::f32}},
                                                     {"w", tf::VarLen{DType::u8}},
                                                     {"v", tf::StringList{}}}));
             });
  }
  all["read_sequence_examples"] = file(
      [](const Folder& f) {
        data::TfRecordWriter writer(f / "a");
        writer.write(sequence_example().serialize());
        writer.close();
      },
      [](const Folder& f) {
        return all_of(data::tfrecord({f / "a"})
                      | data::parse_sequence_examples(
                          {.context = {{"label", tf::FixedLen{.dtype = DType::i64}}},
                           .feature_lists = {{"x", {.shape = {2}}}},
                           .var_len_lists = {{"n", {.dtype = DType::i64}}}}));
      });
}

void add_lines(Scenarios& all) {
  const std::vector<data::CsvColumn> columns{{.name = "x", .type = data::CsvType::f32},
                                             {.name = "w", .vocabulary = {"a", "b"}},
                                             {.name = "t"}};
  const std::string table = "x,w,t\n1.5,a,\"some text, quoted\"\n2,b,more\n";
  all["read_csv"] = file(nothing, [=](const Folder&) {
    data::CsvReader reader(columns);
    std::string_view rest = table;
    std::string out;
    for (Features record; reader.next(rest, true, record);) out += digest(record);
    return out;
  });
  all["read_csv_files"] =
      file([=](const Folder& f) { write_file_atomically(f / "a", table); },
           [=](const Folder& f) { return all_of(data::csv({f / "a"}, columns)); });
  all["read_lines"] = file(
      [](const Folder& f) { write_file_atomically(f / "a", "one\ntwo, a longer one\n\nthree"); },
      [](const Folder& f) { return all_of(data::text_lines({f / "a"})); });
  all["read_lines_zlib"] = file(
      [](const Folder& f) {
        data::ByteWriter writer(f / "a", data::Compression::zlib);
        writer.write(std::as_bytes(std::span(std::string_view("one\ntwo, a longer one\n\nthree"))));
        writer.close();
      },
      [](const Folder& f) {
        return all_of(data::text_lines({f / "a"}, {.compression = data::Compression::zlib}));
      });
  all["read_fixed_length_records"] =
      file([](const Folder& f) { write_file_atomically(f / "a", "head123456"); },
           [](const Folder& f) {
             return all_of(data::fixed_length_records({f / "a"}, 3, {.header_bytes = 4}));
           });
}

void add_digits(Scenarios& all) {
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
  all["read_cifar100"] = file(
      [](const Folder& f) {
        for (const char* name : {"train.bin", "test.bin"})
          write_file_atomically(f / name, std::string(3074, '\x03'));
      },
      [](const Folder& f) { return all_of(data::cifar100(f / "", data::Split::test)); });
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

void write_png(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  auto png = data::encode_png(some_image());
  write_file_atomically(path, {reinterpret_cast<const char*>(png.data()), png.size()});
}

void add_folders(Scenarios& all) {
  auto write_pngs = [](const Folder& f) {
    for (const char* name : {"cat/a.png", "dog/a.png"}) write_png(f / name);
  };
  for (int workers : {1, 4}) {
    all[concat("read_image_folder_", workers, "_workers")] = file(write_pngs, [=](const Folder& f) {
      return all_of(data::image_folder(f / "", {.workers = workers}));
    });
    all[concat("photographs_", workers, "_workers")] = file(write_pngs, [=](const Folder& f) {
      return all_of(data::image_folder(f / "", {.decode = false, .workers = workers})
                    | data::photograph_batches(2, {.size = 4, .workers = workers}));
    });
  }
  all["read_image_table"] = file(
      [](const Folder& f) {
        write_png(f / "a.png");
        write_file_atomically(f / "metadata.csv", "label,file_name\ncat,a.png\n");
      },
      [](const Folder& f) {
        return all_of(data::image_table(f / "", {{.name = "label", .vocabulary = {"cat", "dog"}}},
                                        {.workers = 1}));
      });
  all["read_image_masks"] = file(
      [](const Folder& f) {
        for (const char* name : {"image/a.png", "mask/a.png"}) write_png(f / name);
      },
      [](const Folder& f) {
        return all_of(data::image_masks(f / "image", f / "mask", {.workers = 1}));
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
  // Not compressed: libtiff 4.5 reads through null where its own codecs find no memory.
  all["read_tiff"] = file(write_volume, [](const Folder& f) {
    std::string bytes = read_file(f / "a.tif");
    return digest({{"a", data::decode_image(std::as_bytes(std::span(bytes)))}});
  });
}

}  // namespace

void add_formats(Scenarios& all) {
  add_arrays(all);
  add_weights(all);
  add_examples(all);
  add_lines(all);
  add_digits(all);
  add_text(all);
  add_images(all);
  add_folders(all);
}

}  // namespace belfry
