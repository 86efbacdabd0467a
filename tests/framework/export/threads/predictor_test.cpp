#include "belfry/framework/export/predictor.h"

#include <atomic>
#include <thread>

#include "../export_testing.h"

namespace belfry {
namespace {

TEST(Predictor, ThreadsCallItAtOnceForBatchesOfManySizes) {
  TemporaryFolder dir;
  ExportOptions options = line_options(dir.path());
  options.onnx = false;
  Predictor predictor = Predictor::load(export_model(dir.path() + "/exports", options),
                                        {.threads = 1, .parallel = 2, .plans = 2});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t rows = 1; rows < 20; ++rows) {
        Array x({rows % 5 + 1, 2}, DType::f32);
        for (float& element : x.span<float>()) element = static_cast<float>(t);
        Features out = predictor({{"x", x}});
        for (float y : out.at("y").span<float>()) wrong += y != static_cast<float>(8 * t + 7);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace belfry
