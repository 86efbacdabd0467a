// belfry-predict and belfry-ckpt with files that somebody has tampered with, and with odd
// arguments: they end as they say they do, with an Error, and never by a signal. Run n is the same
// every time, whichever were before it; BELFRY_FUZZED_RUNS asks for more of them than are quick,
// from BELFRY_RANDOM_SEED on.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include "../../framework/base/from_environment.h"
#include "../../framework/base/temporary_folder.h"
#include "../../trust/tell_count.h"
#include "belfry/data/augment/augment.h"
#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/data/formats/images/image.h"
#include "belfry/data/formats/tfrecord.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/export/export_model.h"
#include "belfry/framework/ops/ops.h"
#include "belfry/framework/tensor/example.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/framework/train/checkpoint.h"

namespace belfry {
namespace {

using namespace std::string_view_literals;
namespace fs = std::filesystem;
using Random = std::mt19937_64;
using Words = std::vector<std::string>;

std::size_t below(std::size_t limit, Random& random) { return random() % limit; }

template <class List>
const auto& one_of(const List& list, Random& random) {
  return list[below(std::size(list), random)];
}

// Numbers of a text, and of bytes, that a reader may have no answer to.
const Words odd_numbers{"0",  "-1", "65536", "4294967296", "9223372036854775807", "1e400", "-0.5",
                        "[]", "{}", "null",  "\"n\"",      "18446744073709551616"};
constexpr std::uint64_t odd_bytes[]{0, 1, 0x7f, 0xff, 0x7fff'ffff, 0xffff'ffff, ~0ull >> 1, ~0ull};

void change_number(std::string& text, Random& random) {
  std::size_t at = text.find_first_of("0123456789", below(text.size(), random));
  if (at == std::string::npos) return;
  std::size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
  text.replace(at, end - at, one_of(odd_numbers, random));
}

void change_once(std::string& file, Random& random) {
  if (file.empty()) file = "x";
  const std::size_t at = below(file.size(), random);
  const std::size_t length = 1 + below(std::min<std::size_t>(file.size() - at, 64), random);
  switch (below(10, random)) {
    case 0:
      file[at] = static_cast<char>(file[at] ^ (1 << below(8, random)));
      break;
    case 1:
      file[at] = static_cast<char>(random());
      break;
    case 2:
      file.resize(at);
      break;
    case 3:
      file.erase(at, length);
      break;
    case 4:
      for (std::size_t i = 1 + below(200, random); i > 0; --i)
        file.insert(at, file.substr(at, length));
      break;
    case 5:
      file.insert(at, std::string(20'000, one_of("[{(\"9,\0\n"sv, random)));
      break;
    case 6: {
      const std::uint64_t value = one_of(odd_bytes, random);
      const std::size_t bytes = std::min<std::size_t>(file.size() - at, 1 << below(4, random));
      file.replace(at, bytes, reinterpret_cast<const char*>(&value), bytes);
      break;
    }
    case 7:
      file.replace(at, length, file.substr(below(file.size(), random), length));
      break;
    default:
      change_number(file, random);
  }
}

std::string changed(std::string file, Random& random) {
  for (std::size_t i = 1 + below(3, random); i > 0; --i) change_once(file, random);
  return file;
}

void set_limit(int resource, rlim_t limit) {
  const rlimit both{limit, limit};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

// A program may take no more: a sanitizer's shadow is as large as all memory. Each core's thread
// has a stack.
void limit_resources([[maybe_unused]] rlim_t cores) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  set_limit(RLIMIT_AS, (rlim_t{3} << 30) + (cores << 25));
#endif
  set_limit(RLIMIT_CPU, 30);
  ::alarm(300);  // for one that waits
  set_limit(RLIMIT_FSIZE, rlim_t{1} << 28);
  set_limit(RLIMIT_CORE, 0);
}

class FuzzedPrograms : public ::testing::Test {
 protected:
  FuzzedPrograms() { fs::create_directory(folder / "model"); }

  void file(const std::string& name, const std::string& content) {
    write_file_atomically(folder / name, content);
  }

  // Between fork and exec nothing may be allocated: tests have threads.
  int wait_status(const char* program, Words words) {
    words.insert(words.begin(), program);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::string one_thread = "OMP_NUM_THREADS=1", few_arenas = "MALLOC_ARENA_MAX=2",
                home = "HOME=" + folder.path();
    std::vector<char*> variables{one_thread.data(), few_arenas.data(), home.data(), nullptr};
    const unsigned cores = std::thread::hardware_concurrency();
    const std::string out = folder / "out.txt", err = folder / "err.txt";
    const pid_t child = ::fork();
    if (child == 0) {
      limit_resources(cores);
      constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
      const bool ready = ::chdir(folder.path().c_str()) == 0
                         && ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO) >= 0
                         && ::dup2(::open(out.c_str(), flags, 0600), STDOUT_FILENO) >= 0
                         && ::dup2(::open(err.c_str(), flags, 0600), STDERR_FILENO) >= 0;
      if (ready) ::execve(program, arguments.data(), variables.data());
      ::_exit(127);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  // Ends with one of these, and an Error where it fails; of data, none about memory.
  void run(const char* program, const Words& arguments, const std::set<int>& statuses,
           bool may_lack_memory = false) {
    const int status = wait_status(program, arguments);
    const std::string said = read_file(folder / "err.txt");
    std::string line = program;
    for (const std::string& word : arguments) line += " " + word.substr(0, 100);
    SCOPED_TRACE(concat(line, "\n", said.substr(0, 1000)));
    auto says = [&](std::string_view what) { return said.find(what) != std::string::npos; };
    if (may_lack_memory && (says("allocation-size-too-big") || says("out-of-memory")))
      return;  // with AddressSanitizer there is no bad_alloc
    ASSERT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status);
    EXPECT_TRUE(statuses.contains(WEXITSTATUS(status))) << "status " << WEXITSTATUS(status);
    EXPECT_TRUE(WEXITSTATUS(status) != 2 || said.starts_with("error: ") || says("\nerror: "));
    EXPECT_FALSE(says("internal error"));
    EXPECT_FALSE(says("Sanitizer") || says("runtime error: "));
    EXPECT_FALSE(!may_lack_memory && (says("bad_alloc") || says("out of host memory")));
  }
  void predict(const Words& arguments, bool may_lack_memory = false) {
    run(BELFRY_PREDICT, arguments, {0, 2}, may_lack_memory);
  }
  void ckpt(const Words& arguments) { run(BELFRY_CKPT, arguments, {0, 1, 2}); }

  // Runs n = 0, 1, ..., each with numbers of its own and with the folder as it is now, until one
  // fails.
  template <class Body>
  void for_each_run(Body body) {
    TemporaryFolder whole;
    fs::copy(folder.path(), whole.path(), fs::copy_options::recursive);
    std::int64_t runs = from_environment("BELFRY_FUZZED_RUNS", 25);
    for (std::int64_t i = 0; i < runs && !HasFailure(); ++i) {
      std::int64_t run = from_environment("BELFRY_RANDOM_SEED", 0) + i;
      SCOPED_TRACE(concat("run ", run));
      Random random(static_cast<Random::result_type>(run));
      fs::remove_all(folder.path());
      fs::copy(whole.path(), folder.path(), fs::copy_options::recursive);
      body(random);
    }
    tell_count(runs, "runs of belfry-predict and belfry-ckpt");
  }

  void write_exports();
  void write_inputs();

  TemporaryFolder folder;
  std::string table, images;  // exports
};

EstimatorSpec of_table(Scope s, const Batch& batch, Mode) {
  Tensor w = s.variable("w", {.shape = {2, 3}});
  return {.predictions = {{"y", matmul(batch["x"], w)}, {"color", batch["color"] + 0}}};
}
EstimatorSpec of_images(Scope, const Batch& batch, Mode) {
  return {.predictions = {{"mean", mean(batch["image"], {.axes = {1, 2, 3}})}}};
}

void FuzzedPrograms::write_exports() {
  const data::Augmentation words = data::compose(
      {data::string_lookup({.feature = "color", .vocabulary = {"red", "green"}, .unknown = 9}),
       data::normalize({.mean = {1, 10}, .deviation = {2, 4}, .image = "x"})});
  table = export_model(
      folder / "table",
      {.model_fn = of_table,
       .signatures = {{"predict",
                       {.inputs = {{"color", {{}, DType::i64}}, {"x", {{2}, DType::f32}}},
                        .examples = {{"x", {.feature = "size", .default_value = 4}}},
                        .preparation = words.json()}}},
       .onnx = false},
      {.variables = {{"w", Array::of<float>({1, 2, 3, 4, 5, 6}, {2, 3})}}, .step = 12});
  const data::Augmentation pixels =
      data::compose({data::resize({.height = 4, .width = 4}),
                     data::normalize({.mean = {0.2}, .deviation = {2}})});
  images = export_model(
      folder / "images",
      {.model_fn = of_images,
       .signatures = {{"predict",
                       {.inputs = {{"image", {{4, 4, 1}, DType::f32}}},
                        .examples = {{"image", {.feature = "file", .stored = StoredAs::image}}},
                        .preparation = pixels.json()}}},
       .onnx = false},
      Checkpoint{});
}

void FuzzedPrograms::write_inputs() {
  Array pixels({5, 6}, DType::u8);
  for (std::uint8_t value = 0; std::uint8_t & pixel : pixels.span<std::uint8_t>())
    pixel = value += 8;
  std::vector<std::byte> png = data::encode_png(pixels), jpeg = data::encode_jpeg(pixels);
  write_file_atomically(folder / "a.png", png);
  write_file_atomically(folder / "a.jpg", jpeg);
  const std::string image = read_file(folder / "a.png");
  file("a.csv", "x_0,color,x_1\n3,\"blue, or so\",10\n1,green,5\n");
  data::write_npz(folder / "a.npz", {{"color", Array::of<std::int64_t>({3, 4})},
                                     {"x", Array::of<float>({1, 2, 3, 4}, {2, 2})}});
  data::write_npy(folder / "a.npy", Array::zeros({2, 4, 4, 1}));
  auto write = [&](const std::string& name, const tf::Example& example) {
    data::TfRecordWriter writer(folder / name);
    writer.write(example.serialize());
    writer.close();
  };
  write("a.tfrecord", {{{"color", Words{"red"}}, {"size", std::vector<float>{3, 10}}}});
  write("images.tfrecord", {{{"file", Words{image}}}});
}

// A file of an export is another one.
TEST_F(FuzzedPrograms, PredictFromTamperedExports) {
  write_exports();
  write_inputs();
  const std::vector<Words> of_tables{{"model", "a.csv"},
                                     {"model", "a.npz", "--output", "out.npz"},
                                     {"model", "a.tfrecord"},
                                     {"model"},
                                     {"model", "--json"}};
  const std::vector<Words> of_pictures{
      {"model", "a.png"}, {"model", "a.npy"}, {"model", "images.tfrecord", "--json"}, {"model"}};
  const std::vector<std::pair<std::string, std::vector<Words>>> cases{{table, of_tables},
                                                                      {images, of_pictures}};
  auto take = [&](const std::string& whole) {
    for (const char* name : {"model.safetensors", "graph.json"})
      file(concat("model/", name), read_file(concat(whole, "/", name)));
  };
  for (const auto& [whole, all] : cases) {
    take(whole);
    for (const Words& arguments : all) run(BELFRY_PREDICT, arguments, {0});
  }
  for_each_run([&](Random& random) {
    const auto& [whole, all] = one_of(cases, random);
    take(whole);
    const std::string tampered = below(5, random) == 0 ? "model.safetensors" : "graph.json";
    file("model/" + tampered, changed(read_file(concat(whole, "/", tampered)), random));
    predict(one_of(all, random), true);
  });
}

// A sum that agrees is no protection: records are framed anew.
TEST_F(FuzzedPrograms, PredictFromTamperedInputs) {
  write_exports();
  write_inputs();
  const std::vector<std::pair<std::string, std::string>> inputs{
      {"table", "a.csv"},  {"table", "a.npz"},  {"table", "a.tfrecord"},      {"images", "a.png"},
      {"images", "a.jpg"}, {"images", "a.npy"}, {"images", "images.tfrecord"}};
  for (const auto& [model, name] : inputs) run(BELFRY_PREDICT, {model, name}, {0});
  for_each_run([&](Random& random) {
    const auto& [model, name] = one_of(inputs, random);
    std::string content = read_file(folder / name);
    if (name.ends_with("tfrecord") && below(4, random) > 0) {
      constexpr std::size_t before = 12, after = 4;
      content = changed(content.substr(before, content.size() - before - after), random);
      data::TfRecordWriter writer(folder / ("bad." + name));
      writer.write(std::as_bytes(std::span(std::as_const(content))));
      writer.close();
    } else {
      file("bad." + name, changed(content, random));
    }
    predict({model, "bad." + name});
  });
}

// None is an absolute path: what is written stays in the folder.
const Words odd_words{"",           "-",
                      "--",         "=",
                      ",,",         "%s%n",
                      "\xff\xfe",   "a\nb",
                      "\x1b[31m",   std::string(100'000, 'A'),
                      "-1",         "0",
                      "1e9",        "99999999999999999999",
                      "nan",        "(((",
                      "[a-",        "(a*)*b",
                      "$1$2",       "none/none",
                      ".",          "table",
                      "images",     "a.csv",
                      "a.npz",      "a.png",
                      "a.tfrecord", "w.safetensors",
                      "out.npz",    "out.safetensors",
                      "out.csv",    "out.txt",
                      "--json",     "--help",
                      "--version"};

TEST_F(FuzzedPrograms, PredictWithOddArguments) {
  write_exports();
  write_inputs();
  const Words options{"--signature", "--only",   "--output", "--batch",
                      "--device",    "--resize", "--raw"};
  for_each_run([&](Random& random) {
    Words arguments{below(2, random) ? "table" : "images"};
    for (std::size_t i = below(6, random); i > 0; --i)
      arguments.push_back(below(2, random) ? one_of(odd_words, random) : one_of(options, random));
    predict(arguments);
  });
}

class FuzzedCheckpoints : public FuzzedPrograms {
 protected:
  FuzzedCheckpoints() {
    const NamedArrays two{{"n", Array::scalar<std::int64_t>(3)},
                          {"w", Array::of<float>({1, 2, 4, 8}, {2, 2})}};
    save_safetensors(folder / "w.safetensors", two);
    save_checkpoint(folder / "model",
                    {.variables = two, .step = 10, .input = {}, .hooks = {{"a", "b"}}}, {});
    data::write_npz(folder / "w.npz", {{"n", two.at("n")}, {"w", two.at("w")}});
    write_tensor_bundle(folder / "model.ckpt-1", two);
    file("checkpoint", "model_checkpoint_path: \"model.ckpt-1\"\n");
    file("model.safetensors.index.json",
         R"({"weight_map": {"n": "w.safetensors", "w": "w.safetensors"}})");
  }
};

TEST_F(FuzzedCheckpoints, CkptFromTamperedFiles) {
  const std::string checkpoint = "model/checkpoint-10.safetensors";
  // A file, and what to call it by.
  const std::vector<std::pair<std::string, std::string>> files{
      {"w.safetensors", "w.safetensors"},
      {checkpoint, "model"},
      {"w.npz", "w.npz"},
      {"model.ckpt-1.index", "model.ckpt-1"},
      {"model.ckpt-1.data-00000-of-00001", "model.ckpt-1.index"},
      {"checkpoint", "."},
      {"model.safetensors.index.json", "model.safetensors.index.json"}};
  const std::vector<Words> commands{
      {"show"},          {"show", "--json", "--statistics"}, {"verify"}, {"verify", "--json"},
      {"diff", "w.npz"}, {"average", "out.safetensors"},     {"ls"}};
  const Words targets{"out.npz", "out.safetensors", "out.ckpt-2"};
  for (const auto& [name, from] : files) run(BELFRY_CKPT, {"show", from}, {0});
  for_each_run([&](Random& random) {
    const auto& [name, from] = one_of(files, random);
    file(name, changed(read_file(folder / name), random));
    Words arguments = one_of(commands, random);
    arguments.push_back(from);
    switch (below(4, random)) {
      case 0:
        arguments = {"convert", from, one_of(targets, random)};
        break;
      case 1:
        arguments = {"rename", from, one_of(targets, random), "--rule", "(.*)", "a/$1"};
    }
    ckpt(arguments);
  });
}

TEST_F(FuzzedCheckpoints, CkptWithOddArguments) {
  const Words commands{"ls", "show", "diff", "rename", "average", "verify", "convert", "nothing"};
  const Words options{"--json", "--statistics", "--tolerance", "--name", "--rule"};
  for_each_run([&](Random& random) {
    Words arguments{one_of(commands, random)};
    for (std::size_t i = below(7, random); i > 0; --i)
      arguments.push_back(below(3, random) ? one_of(odd_words, random) : one_of(options, random));
    ckpt(arguments);
  });
}

}  // namespace
}  // namespace belfry
