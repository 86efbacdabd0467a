// Measures the most that this machine can do: f32 multiply-adds in registers, and memory read and
// written.
//
//   machine_limits --threads 2
//
// Prints one JSON object, each limit for one thread and for all. Compiled for the machine that
// builds it.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace {

#ifdef __AVX512F__
constexpr int width = 16;
#else
constexpr int width = 8;
#endif
using Vector = float __attribute__((vector_size(width * sizeof(float))));

// Returns 1e9 operations of one thread, two a multiply-add. Each sum is a chain of its own, and
// there are enough to hide a multiply-add's latency; AVX2 has 16 registers.
template <std::size_t... Chain>
double multiply_adds(long rounds, std::index_sequence<Chain...>) {
  Vector sums[sizeof...(Chain)] = {}, factor = {}, term = {};
  ((sums[Chain] += static_cast<float>(Chain)), ...);  // equal ones would be computed once
  factor += 0.999f;
  term += 1e-3f;
  for (long i = 0; i < rounds; ++i) ((sums[Chain] = sums[Chain] * factor + term), ...);
  Vector total = {};
  ((total += sums[Chain]), ...);
  volatile float used = total[0];
  static_cast<void>(used);
  return 2.0 * width * sizeof...(Chain) * static_cast<double>(rounds) / 1e9;
}

// a = b + 2 c, as STREAM's triad: 12 bytes an element, in GB.
double triad(std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = b[i] + 2 * c[i];
  return 12.0 * static_cast<double>(a.size()) / 1e9;
}

// The best of many tries, as the machine may be busy, by `threads` threads at once, in 1e9 a
// second.
double best_rate(int threads, int tries, const std::function<double(int thread)>& work) {
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    std::vector<std::thread> running;
    std::vector<double> done(static_cast<std::size_t>(threads));
    auto start = std::chrono::steady_clock::now();
    for (int t = 0; t < threads; ++t)
      running.emplace_back([&, t] { done[static_cast<std::size_t>(t)] = work(t); });
    for (std::thread& thread : running) thread.join();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    double all = 0;
    for (double one : done) all += one;
    best = std::max(best, all / seconds.count());
  }
  return best;
}

struct Arrays {
  std::vector<float> a, b, c;
};

double memory_rate(int threads) {
  // 64 MB each, beyond most caches; of many threads all together a GB.
  std::size_t elements =
      (std::size_t{16} << 20) * 6 / static_cast<std::size_t>(std::max(threads, 6));
  std::vector<Arrays> arrays(static_cast<std::size_t>(threads));
  for (Arrays& x : arrays)
    for (auto* array : {&x.a, &x.b, &x.c}) array->assign(elements, 1);
  return best_rate(threads, 20, [&](int t) {
    Arrays& x = arrays[static_cast<std::size_t>(t)];
    return triad(x.a, x.b, x.c);
  });
}

}  // namespace

int main(int argc, char** argv) {
  int threads = argc == 3 ? std::atoi(argv[2]) : 2;
  auto compute = [](int) { return multiply_adds(5'000'000, std::make_index_sequence<12>()); };
  std::printf(
      "{\"threads\": %d, \"gflops_one\": %.1f, \"gflops_all\": %.1f, \"gb_per_second_one\": %.1f, "
      "\"gb_per_second_all\": %.1f}\n",
      threads, best_rate(1, 40, compute), best_rate(threads, 40, compute), memory_rate(1),
      memory_rate(threads));
  return 0;
}
