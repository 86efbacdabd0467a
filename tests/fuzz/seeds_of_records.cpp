// Records, elements and sound.

#include "../data/formats/image_bytes.h"
#include "belfry/data/cache/element_file.h"
#include "belfry/data/formats/example.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/data/formats/wav.h"
#include "seeds.h"

namespace belfry {

using namespace data;

namespace {

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
  for (const char* other : {"s", "t"}) {  // of another kind
    Example wrong = example;
    wrong.features[other] = std::vector<float>{1};
    examples.write(concat("other_kind_of_", other), text_of(wrong.serialize()));
  }
  examples.write("sequence", text_of(sequence.serialize()));
  for (Compression compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    TfRecordWriter file(records.path(to_string(compression)), compression);
    for (const char* text : {"", "a", "a longer record"}) file.write(as_bytes(text));
    file.write(example.serialize());
    file.close();
  }
  // With one byte changed in each, and cut off within one.
  const std::string plain = read_file(records.path(to_string(Compression::none)));
  for (std::size_t at : {0, 8, 28, 29}) {
    std::string damaged = plain;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    records.write(concat("damaged", at), damaged);
  }
  for (std::size_t bytes : {5, 26, 30}) records.write(concat("cut", bytes), plain.substr(0, bytes));
  records.write("cut_gzip", read_file(records.path(to_string(Compression::gzip))).substr(0, 40));
}

// Messages that are damaged, or have fields that nothing asks for.
void write_messages(const std::string& folder) {
  Seeds seeds(folder, "fuzz_example");
  auto repeated = [](const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  const std::string begin_group(1, '\x13'), end_group(1, '\x14'), end_of_other(1, '\x1c');
  seeds.write("unknown_fields", std::string("\x10\1\x19", 3) + "8 bytes." + "\x25" + "four"
                                    + begin_group + "\x28\1\x33\x34" + end_group);
  seeds.write("long_varint", "\x10" + std::string(10, '\xff'));
  seeds.write("cut_varint", "\x10\xff");
  seeds.write("no_field", std::string(2, '\0'));
  seeds.write("no_such_type", "\x16");
  seeds.write("more_than_is_left", "\x0a\5x");
  seeds.write("end_of_no_group", end_group);
  seeds.write("end_of_another_group", begin_group + end_of_other);
  seeds.write("deep_groups", repeated(begin_group, 101));
  seeds.write("part_of_a_float", "\x0a\x0c\x0a\x0a\x0a\1f\x12\5\x12\3\x0a\1x");
}

void write_elements(const std::string& folder) {
  Seeds seeds(folder, "fuzz_element_file");
  Element element{.features = {{"x", Array::of<float>({1, 2, 3, 4}, {2, 2})},
                               {"label", Array::scalar<std::int64_t>(3)},
                               {"whole", Array::scalar(true)}},
                  .index = 0,
                  .epoch = 1};
  ElementWriter file(seeds.path("two"));
  file.write(element);
  ++element.index;
  file.write(element);
  file.close();
  std::vector<std::byte> bytes;
  encode_element(element, bytes);
  const std::string one = text_of(bytes), two = read_file(seeds.path("two"));
  seeds.write("one", one);
  seeds.write("no_boolean", one.substr(0, one.size() - 1) + '\2');
  seeds.write("twice", one + one.substr(16));
  seeds.write("cut", one.substr(0, one.size() - 1));
  auto damaged = [&](std::size_t at) {
    std::string out = two;
    out[at] = static_cast<char>(out[at] ^ 1);
    return out;
  };
  // In the length and the content of the first record, in the table of records, in the tail.
  for (std::size_t at : {std::size_t{0}, std::size_t{20}, two.size() - 40, two.size() - 10})
    seeds.write(concat("damaged", at), damaged(at));
}

void write_sound(const std::string& folder) {
  Seeds seeds(folder, "fuzz_wav");
  const Array samples = Array::of<float>({0, 0.5f, -1, 0.25f}, {2, 2});
  for (WavEncoding encoding : {WavEncoding::pcm16, WavEncoding::float32})
    write_wav(seeds.path(concat("encoding", static_cast<int>(encoding))), samples,
              {.sample_rate = 8000, .encoding = encoding});
  struct Format {
    int code, bits;
  };
  for (const Format& f : {Format{1, 8}, {1, 24}, {1, 32}, {3, 64}})
    for (bool extensible : {false, true}) {
      const int code = extensible ? 0xfffe : f.code;
      std::string format = number(code, 2) + number(1, 2) + number(8000, 4)
                           + number(1000 * f.bits, 4) + number(f.bits / 8, 2) + number(f.bits, 2);
      if (extensible)
        format += number(22, 2) + number(f.bits, 2) + number(4, 4) + number(f.code, 2)
                  + std::string("\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71", 14);
      seeds.write(concat("format", code, "-", f.code, "-", f.bits),
                  "RIFF" + number(0, 4) + "WAVEfmt " + number(format.size(), 4) + format + "data"
                      + number(24, 4) + "0123456789abcdef01234567");
    }
}

// In front stand the form and what is chosen of its options.
void write_plain(const std::string& folder) {
  Seeds seeds(folder, "fuzz_plain_records");
  constexpr char cifar = 0, lines = 1, fixed_length = 2, tokens = 3;
  auto write = [&](const std::string& name, char form, char choice, const std::string& content) {
    seeds.write(name, std::string{form, choice} + content);
  };
  const std::string image(3072, 'p');
  write("cifar10", cifar, 0, "\1" + image + "\11" + image);
  write("cifar100", cifar, 0, "\1\2" + image + "\23c" + image);
  write("no_such_label", cifar, 0, "\12" + image);
  write("no_such_labels", cifar, 0, "\23d" + image);
  write("nothing", cifar, 0, "");
  // Behind its first lines the compressed file is damaged.
  ByteWriter zipped(seeds.path("zipped"), Compression::gzip);
  for (int i = 0; i < 20000; ++i)
    zipped.write(as_bytes(concat(i * 7919 % 10007, i % 200 ? "" : "\n")));
  zipped.close();
  std::string content = read_file(seeds.path("zipped"));
  for (std::size_t i = content.size() / 2; i < content.size(); ++i) content[i] = '\0';
  write("zipped", lines, 0, content);
  write("damaged", lines, 0, content.substr(0, 10) + "\xff\xff");
  write("lines", lines, 0, "one\ntwo\r\n\nlast");
  write("ended_line", lines, 0, "one\n");
  write("no_lines", lines, 0, "");
  write("records", fixed_length, 3, "onlyfour");
  write("around_records", fixed_length, '\x63', "hdonlyfourf");
  write("rest", fixed_length, 3, "onlyfou");
  write("within_header", fixed_length, '\x33', "hd");
  for (int stored : {0, 1, 2})
    write(concat("tokens", stored), static_cast<char>(tokens + 4 * stored), 2,
          std::string(64, '\1'));
  write("many_files", static_cast<char>(tokens + 128), 1, std::string(12, '\1'));
  write("overlapping", tokens, '\x2b', "h" + std::string(20, '\2'));
  write("no_such_token", tokens + 8, 0, std::string(16, '\xff'));
  write("part_of_a_token", tokens, 0, "12345");
  write("too_few_tokens", tokens, 7, "1234");
  write("within_header_of_tokens", tokens, '\x7f', "12");
}

}  // namespace

void write_record_seeds(const std::string& folder) {
  write_records(folder);
  write_messages(folder);
  write_elements(folder);
  write_sound(folder);
  write_plain(folder);
}

}  // namespace belfry
