// Speed of input pipelines: photographs for training, and the cost of an element that is nothing.
//
//   pipeline_speed --case photos --photos DIR --threads 2 --seconds 10
//   pipeline_speed --case elements --seconds 5
//
// Prints one line of JSON. DIR holds JPEG files, in folders or not.

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <string>

#include "arguments.h"
#include "belfry/data/profile.h"
#include "belfry/data/sources/media.h"
#include "belfry/data/sources/sources.h"
#include "belfry/data/transforms/transforms.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"

namespace {

using namespace belfry;

constexpr std::int64_t photo_batch = 64, element_batch = 128;

// The files' bytes in memory, so that decoding is measured and no disk.
Dataset photographs(const std::string& folder) {
  auto files = std::make_shared<std::vector<Array>>();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::string extension = entry.path().extension().string();
    for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (extension != ".jpg" && extension != ".jpeg") continue;
    std::string content = read_file(entry.path().string());
    Array bytes(Shape{std::ssize(content)}, DType::u8);
    std::copy(content.begin(), content.end(), bytes.span<std::uint8_t>().begin());
    files->push_back(bytes);
  }
  require(!files->empty(), folder, " holds no .jpg files");
  auto read = [files](std::int64_t i, Features& out) {
    out = {{"image", (*files)[static_cast<std::size_t>(i)]}, {"label", Array::scalar(i)}};
  };
  std::int64_t count = std::ssize(*files);
  return data::indexed(count, read, "photographs") | data::shuffle(count) | data::repeat();
}

Dataset photo_batches(const std::string& folder, int threads) {
  return photographs(folder) | data::photograph_batches(photo_batch, {.workers = threads})
         | data::prefetch(2) | data::threads(threads);
}

Dataset elements() {
  auto plus_one = [](Features in) {
    ++in.at("value").span<std::int64_t>()[0];
    return in;
  };
  return data::range(std::int64_t{1} << 40) | data::map(plus_one) | data::batch(element_batch)
         | data::prefetch(2);
}

void measure(const std::string& what, const Dataset& dataset, std::int64_t rows, double seconds) {
  InputStreamPtr stream = dataset;
  Features batch;
  for (int i = 0; i < 3; ++i) stream->next(batch);  // memory and threads are there
  std::int64_t begin = data::nanoseconds_now(), count = 0;
  double elapsed = 0;
  while (elapsed < seconds) {
    stream->next(batch);
    count += rows;
    elapsed = static_cast<double>(data::nanoseconds_now() - begin) * 1e-9;
  }
  std::fputs(to_string(stream->stages()).c_str(), stderr);
  std::printf("{\"case\": \"%s\", \"per_second\": %.1f, \"nanoseconds\": %.1f}\n", what.c_str(),
              static_cast<double>(count) / elapsed, elapsed * 1e9 / static_cast<double>(count));
}

}  // namespace

int main(int argc, char** argv) {
  std::string what = "elements", photos = ".";
  int threads = 2;
  double seconds = 5;
  return bench::run_program([&] {
    bench::read_options(argc, argv,
                        {{"--case", &what},
                         {"--photos", &photos},
                         {"--threads", &threads},
                         {"--seconds", &seconds}});
    if (what == "photos")
      measure(what, photo_batches(photos, threads), photo_batch, seconds);
    else
      measure("elements", elements(), element_batch, seconds);
  });
}
