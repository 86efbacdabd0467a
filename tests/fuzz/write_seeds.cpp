// Writes files to begin fuzzing from: write_seeds FOLDER puts a folder for each fuzz target into
// it. Without them, ten seconds do not suffice to find even the magic number of most formats.

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "../data/formats/bmp_bytes.h"
#include "../data/formats/image_bytes.h"
#include "../data/formats/jpeg_bytes.h"
#include "../data/formats/png_bytes.h"
#include "../data/formats/tiff_bytes.h"
#include "../data/formats/webp_bytes.h"
#include "../data/text/small_tokenizer.h"
#include "../framework/tensor/bad_safetensors.h"
#include "belfry/data/augment/augment.h"
#include "belfry/data/cache/element_file.h"
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/byte_writer.h"
#include "belfry/data/formats/example.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/data/formats/wav.h"
#include "belfry/framework/base/crc32c.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/safetensors.h"
#include "belfry/framework/tensor/sorted_table.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/framework/tensor/tensor_bundle_entry.h"
#include "graph_nodes.h"

using namespace belfry;
using namespace belfry::data;

namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The seeds of one target.
class Seeds {
 public:
  Seeds(const std::string& folder, const char* target) : folder_(folder + "/" + target) {
    std::filesystem::create_directories(folder_);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    write_file_atomically(path(name), content);
  }

 private:
  std::string folder_;
};

using NamedFiles = std::vector<std::pair<std::string, std::string>>;

NamedFiles tiff_files(const Seeds& seeds) {
  NamedFiles out;
  auto add = [&](const std::string& name, const TiffPicture& page, const char* mode = "wl") {
    std::vector<double> values(page.h * page.w * page.samples);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7 % 251);
    write_tiff(seeds.path(name), {page, page}, {values, values}, mode);
    out.emplace_back(name, read_file(seeds.path(name)));
  };
  TiffPicture grey{.h = 5, .w = 7}, colour{.h = 5, .w = 7, .samples = 3};
  colour.photometric = PHOTOMETRIC_RGB;
  add("grey.tif", grey, "wb");
  add("big.tif", grey, "w8");
  for (auto compression :
       {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_PACKBITS, COMPRESSION_JPEG}) {
    colour.compression = static_cast<std::uint16_t>(compression);
    add(concat("compression", compression, ".tif"), colour);
  }
  TiffPicture tiles{.h = 17, .w = 18, .samples = 2, .bits = 16, .separate = true, .tiled = true};
  tiles.alpha = EXTRASAMPLE_UNASSALPHA;
  add("tiles.tif", tiles);
  TiffPicture floats{.h = 4, .w = 3, .bits = 32, .format = SAMPLEFORMAT_IEEEFP};
  floats.compression = COMPRESSION_ADOBE_DEFLATE;
  floats.predictor = PREDICTOR_FLOATINGPOINT;
  add("floats.tif", floats);
  TiffPicture palette{.h = 4, .w = 3, .photometric = PHOTOMETRIC_PALETTE};
  palette.colours.assign(768, 0x1234);
  add("palette.tif", palette);
  return out;
}

NamedFiles jpeg_files() {
  const Array colour = jpeg_picture(20, 24, 3);
  return {{"baseline.jpg", jpeg(colour)},
          {"progressive.jpg", jpeg(colour, {.progressive = true})},
          {"arithmetic.jpg", jpeg(colour, {.arithmetic = true})},
          {"grey.jpg", jpeg(jpeg_picture(9, 9, 1))},
          {"cmyk.jpg", jpeg(jpeg_picture(9, 9, 4), {.stored = JCS_YCCK})}};
}

NamedFiles png_files() {
  const Array colour = jpeg_picture(20, 24, 3);
  PngFixture bits{.h = 2, .w = 9, .bits = 1, .rows = std::string("\0\xa5\x80\4\x5a\0", 6)};
  PngFixture palette = bits;
  palette.colour = 3;
  palette.chunks = {{"PLTE", "abcdef"}, {"tRNS", "g"}};
  PngFixture transparent{.w = 2, .colour = 2, .rows = std::string("\0abcdef", 7)};
  transparent.chunks = {{"gAMA", number(45455, 4, true)}, {"tRNS", std::string("\0a\0b\0c", 6)}};
  return {{"colour.png", text_of(encode_png(colour))},
          {"alpha.png", text_of(encode_png(jpeg_picture(5, 5, 4)))},
          {"deep.png", text_of(encode_png(colour.cast(DType::i32)))},
          {"bits.png", png(bits)},
          {"palette.png", png(palette)},
          {"transparent.png", png(transparent)},
          {"grey_alpha.png", png({.bits = 16, .colour = 4, .rows = std::string("\0abcd", 5)})},
          {"interlaced.png",
           png({.h = 9, .w = 11, .interlaced = true, .rows = interlaced_rows(9, 11)})}};
}

NamedFiles bmp_files() {
  const std::string colours(4 * 256, 'c'), row = "abcdefgh";
  const std::vector<unsigned> masks{0x3ff00000, 0xffc00, 0x3ff, 0xc0000000};
  NamedFiles out{
      {"old.bmp", bmp({.w = 2, .header = 12, .pixels = row})},
      {"masks.bmp",
       bmp({.h = -2, .bits = 32, .compression = 3, .header = 124, .masks = masks, .pixels = row})},
      {"565.bmp",
       bmp({.w = 4, .bits = 16, .compression = 3, .masks = {0xf800, 0x7e0, 0x1f}, .pixels = row})},
      {"rle8.bmp", bmp({.h = 3,
                        .w = 5,
                        .bits = 8,
                        .compression = 1,
                        .palette = colours,
                        .pixels = std::string("\2\7\0\3\1\2\3\0\0\0\0\2\1\1\3\1\0\1", 18)})},
      {"rle4.bmp", bmp({.h = 2,
                        .w = 5,
                        .bits = 4,
                        .compression = 2,
                        .palette = colours.substr(0, 64),
                        .pixels = std::string("\5\x12\0\0\0\5\x34\x56\x70\0\0\1", 12)})}};
  for (unsigned bits : {1, 4, 8, 16, 24, 32})
    out.emplace_back(concat("bits", bits, ".bmp"),
                     bmp({.h = 2,
                          .bits = bits,
                          .palette = bits > 8 ? "" : colours.substr(0, std::size_t{4} << bits),
                          .pixels = row}));
  return out;
}

NamedFiles webp_files() {
  return {{"lossy.webp", lossy_webp()},
          {"lossless.webp", lossless_webp()},
          {"lossy_alpha.webp", lossy_alpha_webp()},
          {"lossless_alpha.webp", lossless_alpha_webp()},
          {"exif.webp", exif_webp()},
          {"animated.webp", animated_webp()}};
}

void write_images(const std::string& folder) {
  Seeds volumes(folder, "fuzz_volume"), seeds(folder, "fuzz_image");
  NamedFiles files = tiff_files(volumes);
  for (const NamedFiles& more : {jpeg_files(), png_files(), bmp_files(), webp_files()})
    files.insert(files.end(), more.begin(), more.end());
  // In front of the file stand the choices that the target makes: right checksums and all channels;
  // a crop; a scale.
  for (const auto& [name, file] : files) {
    seeds.write(name, std::string("\x80\0\0\0\0\0", 6) + file);
    seeds.write(name + ".crop", std::string("\x25\1\2\4\5\1", 6) + file);
  }
}

void write_arrays(const std::string& folder) {
  Seeds npy(folder, "fuzz_npy"), idx(folder, "fuzz_idx"), tensors(folder, "fuzz_safetensors");
  const Features arrays{{"x", Array::of<float>({1, 2, 3, 4, 5, 6}, {2, 3})},
                        {"flag", Array::of<bool>({true, false})},
                        {"n", Array::of<std::int64_t>({-1, 1 << 20})}};
  for (const auto& [name, array] : arrays) write_npy(npy.path(name + ".npy"), array);
  std::string fortran = text_of(to_npy(arrays.at("x")));
  fortran.replace(fortran.find("False"), 5, "True ");
  npy.write("fortran.npy", fortran);
  write_npz(npy.path("stored.npz"), arrays);
  write_npz(npy.path("deflated.npz"), arrays, {.compress = true});
  save_safetensors(tensors.path("own"), {{"x", arrays.at("x")}, {"n", arrays.at("n")}},
                   {{"belfry.a", "b"}});
  std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  tensors.write("other", number(header.size(), 8) + header + "12345678");
  int count = 0;
  for (const BadFile& bad : bad_safetensors()) tensors.write(concat("bad", count++), bad.bytes);
  for (std::uint64_t type : {0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x0e})
    idx.write(concat("type", type), number(0, 2) + number(type, 1) + number(2, 1)
                                        + number(2, 4, true) + number(1, 4, true)
                                        + std::string(type < 0x0b    ? 2
                                                      : type == 0x0b ? 4
                                                      : type == 0x0e ? 16
                                                                     : 8,
                                                      '\1'));
  ByteWriter zipped(idx.path("gzip"), Compression::gzip);
  zipped.write(as_bytes(read_file(idx.path("type8"))));
  zipped.close();
}

// The data of the target are bytes of 1, so that the checksums of these arrays are right there.
Array array_of_ones(const TensorType& type) {
  Array out(type);
  std::ranges::fill(out.raw_bytes(), std::byte{1});
  return out;
}

// The index of a variable of two parts, cut along its second axis.
std::string partitioned_index() {
  using namespace tensor_bundle;
  const Array part = array_of_ones({{2, 3}, DType::f32});
  Entry whole{.type = number_of(DType::f32), .shape = {2, 6}, .slices = {}};
  std::map<std::string, std::string> entries{{"", header_message()}};
  for (std::int64_t i : {0, 1}) {
    whole.slices.push_back({.start = {0, 3 * i}, .length = {-1, 3}});
    entries[slice_key("v", whole.slices.back())] =
        to_message({.type = whole.type,
                    .shape = {2, 3},
                    .offset = i * part.bytes(),
                    .bytes = part.bytes(),
                    .checksum = masked(crc32c(part.raw_bytes())),
                    .slices = {}});
  }
  entries["v"] = to_message(whole);
  return sorted_table::write({entries.begin(), entries.end()});
}

// As the index of a checkpoint, and as its only block, which ends 5 bytes before the block that the
// footer names first.
void write_bundle_seeds(const Seeds& seeds, const std::string& name, const std::string& index) {
  std::size_t end = 0;
  for (std::size_t at = index.size() - 48, shift = 0;; ++at, shift += 7) {
    auto byte = static_cast<unsigned char>(index[at]);
    end |= std::size_t{byte & 0x7fu} << shift;
    if (byte < 0x80) break;
  }
  seeds.write(name + "file", "\2" + index);
  seeds.write(name + "block", std::string(1, '\0') + index.substr(0, end - 5));
}

void write_bundles(const std::string& folder) {
  Seeds seeds(folder, "fuzz_tensor_bundle");
  const std::string path = folder + "/bundle";
  write_tensor_bundle(path, {{"a/b", array_of_ones({{2, 2}, DType::f32})},
                             {"a/c", array_of_ones({{}, DType::i64})},
                             {"flag", array_of_ones({{2}, DType::boolean})}});
  write_bundle_seeds(seeds, "", read_file(path + ".index"));
  write_bundle_seeds(seeds, "partitioned-", partitioned_index());
}

void write_records(const std::string& folder) {
  Seeds records(folder, "fuzz_tfrecord"), examples(folder, "fuzz_example");
  const Example example{{{"a", std::vector<std::int64_t>{1, -2, 300}},
                         {"f", std::vector<float>{1, 2}},
                         {"s", std::vector<std::string>{"text"}},
                         {"t", std::vector<std::string>{"text", "", "more"}}}};
  const SequenceExample sequence{
      .context = {{"id", std::vector<std::int64_t>{7}}},
      .feature_lists = {{"x", {std::vector<float>{1, 2}, std::vector<float>{3, 4}}},
                        {"y", {std::vector<std::int64_t>{5}, std::vector<std::int64_t>{6}}},
                        {"z", {std::vector<std::int64_t>{}, std::vector<std::int64_t>{6, 7}}}}};
  examples.write("example", text_of(example.serialize()));
  examples.write("sequence", text_of(sequence.serialize()));
  for (Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    TfRecordWriter file(records.path(to_string(compression)), compression);
    for (const char* text : {"", "a", "a longer record"}) file.write(as_bytes(text));
    file.write(example.serialize());
    file.close();
  }
}

void write_elements(const std::string& folder) {
  Seeds seeds(folder, "fuzz_element_file");
  Element element{.features = {{"x", Array::of<float>({1, 2, 3, 4}, {2, 2})},
                               {"label", Array::scalar<std::int64_t>(3)}},
                  .index = 0,
                  .epoch = 1};
  ElementWriter file(seeds.path("two"));
  file.write(element);
  ++element.index;
  file.write(element);
  file.close();
  std::vector<std::byte> bytes;
  encode_element(element, bytes);
  seeds.write("one", text_of(bytes));
}

void write_texts(const std::string& folder) {
  Seeds csv(folder, "fuzz_csv"), json(folder, "fuzz_augmentation_json");
  // In front stand the options and the size of pieces.
  for (char options : {'\0', '\1', '\7', '\x19'})
    csv.write(concat("options", int{options}),
              std::string{options, '\x10'}
                  + "a,b\n# comment\n1.5,x\n\"2\",\"y \"\"z\"\"\n\"\n\"\r\n1e-400;nan,\n");
  for (const std::string& name : augmentation_names()) {
    std::string text = "{\"name\":\"" + name + "\"}";
    try {
      text = to_string(augmentation_from_json(text));
    } catch (const Error&) {  // it has options without a default
    }
    json.write(name, text);
  }
}

void write_tokenizers(const std::string& folder) {
  Seeds seeds(folder, "fuzz_tokenizer");
  const std::string text = "hello world<end> it's 2 l\u00e9\n\n  ll", last(1, '\0');
  auto write = [&](const std::string& name, const std::string& from, const std::string& to) {
    seeds.write(name, changed(from, to) + last + text);
  };
  seeds.write("text", text);
  write("plain", "", "");
  write("nfc", R"("normalizer": null)", R"("normalizer": {"type": "NFC"})");
  write("stripping", R"("lstrip": false,
                   "rstrip": false)",
        R"("lstrip": true, "rstrip": true)");
  write("ignoring", R"("ignore_merges": false)", R"("ignore_merges": true)");
  write("unknown", R"("unk_token": null)", R"("unk_token": "d")");
  write("template", R"("post_processor": null)",
        R"("post_processor": {"type": "TemplateProcessing", "single": [
 {"SpecialToken": {"id": "<end>"}}, {"Sequence": {"id": "A"}}],
 "special_tokens": {"<end>": {"ids": [18]}}})");
}

void write_sound(const std::string& folder) {
  Seeds seeds(folder, "fuzz_wav");
  const Array samples = Array::of<float>({0, 0.5f, -1, 0.25f}, {2, 2});
  for (WavEncoding encoding : {WavEncoding::pcm16, WavEncoding::float32})
    write_wav(seeds.path(concat("encoding", static_cast<int>(encoding))), samples,
              {.sample_rate = 8000, .encoding = encoding});
}

void write_graphs(const std::string& folder) {
  Seeds seeds(folder, "fuzz_saved_graph");
  int number = 0;
  for (const char* nodes : graph_nodes) seeds.write(concat("node", number++), graph_with(nodes));
}

void write_configs(const std::string& folder) {
  Seeds seeds(folder, "fuzz_run_config");
  int number = 0;
  for (
      const char* config :
      {"{}",
       R"({"devices":["cpu:0","cpu:1+cpu:2"],"split":2,"batch":"per_tower","seed":18446744073709551615,
"precision":"bf16","memory_limit":0.5,"recompute":{"only":["a"]},"save_checkpoint_steps":5})",
       R"({"save_checkpoint":{"milliseconds":1500},"reduction":"hierarchical","variables":"central",
"keep_checkpoints":{"newest":3,"every":{"steps":7200},"multiples_of":12},"recompute":["a/b"]})",
       R"({"save_checkpoint":null,"keep_checkpoints":{"every":{"seconds":9}},"memory_limit":1e-3,
"recompute":"off","bucket":5,"reduction_timeout":10,"threads":4,"plans":7,"tf32":false})"})
    seeds.write(concat("config", number++), config);
}

// The target has the checkpoint. These are changes to it: how, where (in two bytes), with what.
void write_checkpoints(const std::string& folder) {
  Seeds seeds(folder, "fuzz_checkpoint");
  const std::string one_bit("\0\3\7\2", 4), one_byte("\1\2\0x", 4), shorter("\2\0\x20\0\1", 5),
      longer("\3\0\x20 ", 4), cut("\4\3\0", 3), moved("\5\3\0\0\x40\0\x10", 7),
      reworded("\6\0\0\0\4\0\5", 7), more("\7\0\x09\0\x1c", 5);
  int number = 0;
  for (const std::string& change :
       {one_bit, one_byte, shorter, longer, cut, moved, reworded, more, moved + reworded + one_bit})
    for (char choice : {'\0', '\1', '\2', '\3'})
      seeds.write(concat("changes", number++), std::string(1, choice) + change);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = arguments[1];
  try {
    for (const auto& write :
         {write_images, write_arrays, write_bundles, write_records, write_elements, write_texts,
          write_tokenizers, write_sound, write_graphs, write_configs, write_checkpoints})
      write(folder);
  } catch (const Error& error) {
    std::fprintf(stderr, "write_seeds: %s\n", error.what());
    return 1;
  }
  return 0;
}
