// In steady state a training step makes no heap allocation in framework code.

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string_view>

#include "belfry/framework/tensor/philox.h"
#include "training_testing.h"

// Sanitizers have an allocator of their own; with them, and without glibc, operator new alone is
// counted.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BELFRY_COUNT_MALLOC
#endif

namespace {

// Else threads might be made, which is allocated, when other programs keep the cores busy: see
// framework/backend/cpu/waiting.h.
[[maybe_unused]] const int waiting_is_chosen = setenv("OMP_WAIT_POLICY", "passive", 0);

std::atomic<bool> counting = false;
std::atomic<std::int64_t> by_onednn = 0, by_others = 0;

// oneDNN allocates a little in each dnnl_primitive_execute(), which nobody can keep it from: see
// framework/backend/cpu/README.md.
bool in_onednn(void* caller) {
  Dl_info info;
  return dladdr(caller, &info)
         && std::string_view(info.dli_fname).find("libdnnl") != std::string_view::npos;
}

void count(void* caller) {
  if (counting) ++(in_onednn(caller) ? by_onednn : by_others);
}

}  // namespace

#ifdef BELFRY_COUNT_MALLOC
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

// Every allocation of this program and its libraries, but for the old memalign(), goes through
// these, so that they can be counted.
void* malloc(std::size_t size) noexcept {
  count(__builtin_return_address(0));
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) noexcept {
  count(__builtin_return_address(0));
  return __libc_calloc(number, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  count(__builtin_return_address(0));
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  count(__builtin_return_address(0));
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
}
#endif

namespace {

void* counted(std::size_t size, std::size_t alignment, void* caller) {
  count(caller);
  std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  if (rounded == 0) rounded = alignment;
#ifdef BELFRY_COUNT_MALLOC
  void* memory = __libc_memalign(alignment, rounded);  // not counted twice
#else
  void* memory = std::aligned_alloc(alignment, rounded);
#endif
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__, __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return counted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__, __builtin_return_address(0));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace belfry {
namespace {

// Convolution, pooling, normalisation, dropout, matmul and a schedule, as in real models.
EstimatorSpec small_network(Scope s, const Batch& batch, Mode mode) {
  bool training = mode == Mode::train;
  Tensor x = conv2d(s / "conv", batch["image"], {.filters = 8, .kernel = 3});
  x = max_pool(relu(batch_norm(s / "norm", x, {.training = training})));
  x = dropout(s / "drop", flatten(x), {.rate = 0.2f, .training = training});
  Tensor logits = dense(s / "out", x, {.units = 10});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])),
          .train = adam({.learning_rate = cosine_decay({.initial = 1e-3, .decay_steps = 100})}),
          .metrics = {{"accuracy", sparse_categorical_accuracy(batch["label"], logits)}},
          .values = {{"largest_logit_of_the_batch", max(logits)}}};
}

Features images(std::int64_t rows) {
  Array image(Shape{rows, 12, 12, 3}, DType::f32), label(Shape{rows}, DType::i64);
  PhiloxStream random(philox_key(1, "images"));
  for (float& x : image.span<float>()) x = random.uniform();
  for (std::int64_t& y : label.span<std::int64_t>())
    y = static_cast<std::int64_t>(random.below(10));
  return {{"image", image}, {"label", label}};
}

// Other than oneDNN's.
std::int64_t allocations_of(const std::function<void()>& body) {
  by_onednn = by_others = 0;
  counting = true;
  body();
  counting = false;
  return by_others;
}

TEST(Allocation, TheCounterCounts) {
  std::unique_ptr<Features> kept;
  EXPECT_GE(allocations_of([&] { kept = std::make_unique<Features>(images(1)); }), 3);
#ifdef BELFRY_COUNT_MALLOC
  auto nothing = [] {};
  EXPECT_EQ(allocations_of(nothing), 0);
  char* text = nullptr;
  EXPECT_EQ(allocations_of([&] { text = strdup("of the C library"); }), 1);
  std::free(text);
#endif
}

TEST(Allocation, AStepMakesNone) {
  TemporaryFolder dir;
  RunConfig config;  // the defaults: checkpoints by time, a log line every 100 steps, signals
  Estimator estimator({.model_fn = small_network, .model_dir = dir.path(), .run = config});
  TrainControl control;
  for (std::vector<Features> data : {std::vector{images(8)}, std::vector{images(8), images(3)}}) {
    Training training = estimator.start(over_and_over(data), {.control = &control});
    auto steps = [&](int count) {
      for (int i = 0; i < count; ++i) training.step();
    };
    steps(6);  // compiles both plans
    EXPECT_EQ(allocations_of([&] { steps(40); }), 0) << data.size() << " plans";
  }
}

TEST(Allocation, TwoThreadsMakeNoneEither) {
  TemporaryFolder dir;
  RunConfig config;
  config.threads = 2;
  Estimator estimator({.model_fn = small_network, .model_dir = dir.path(), .run = config});
  Training training = estimator.start(over_and_over({images(256)}));
  auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) training.step();
  };
  steps(3);
  EXPECT_EQ(allocations_of([&] { steps(5); }), 0);
}

// oneDNN's are for its primitives: as many in each step, so it keeps none.
TEST(Allocation, OneDnnMakesAsManyInEachStep) {
  TemporaryFolder dir;
  Estimator estimator({.model_fn = small_network, .model_dir = dir.path()});
  Training training = estimator.start(over_and_over({images(8)}));
  for (int i = 0; i < 3; ++i) training.step();
  auto of_steps = [&](int count) {
    EXPECT_EQ(allocations_of([&] {
                for (int i = 0; i < count; ++i) training.step();
              }),
              0);
    return by_onednn.load();
  };
  std::int64_t of_one = of_steps(1);
  EXPECT_GT(of_one, 0);
  EXPECT_EQ(of_steps(10), 10 * of_one);
}

// Convolutions on one device, the rest on another.
EstimatorSpec two_devices(Scope s, const Batch& batch, Mode mode) {
  Tensor x = max_pool(relu(conv2d(s / "conv", batch["image"], {.filters = 8, .kernel = 3})));
  Scope head = (s / "head").on(1);
  Tensor logits =
      dense(head / "out", dropout(head / "drop", flatten(x), {.training = mode == Mode::train}),
            {.units = 10});
  return {.loss = mean(sparse_softmax_cross_entropy(logits, batch["label"])), .train = adam()};
}

TEST(Allocation, TwoDevicesMakeNoneEither) {
  TemporaryFolder dir;
  RunConfig config;
  config.devices = {"cpu:0+cpu:1"};
  Estimator estimator({.model_fn = two_devices, .model_dir = dir.path(), .run = config});
  Training training = estimator.start(over_and_over({images(8)}));
  auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) training.step();
  };
  steps(3);
  EXPECT_EQ(allocations_of([&] { steps(20); }), 0);
}

}  // namespace
}  // namespace belfry
