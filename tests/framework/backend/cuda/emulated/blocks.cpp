#include "blocks.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <vector>

#include "belfry/framework/base/error.h"
#include "device_code.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace belfry::cuda::emulated {

ThreadIndices indices;

namespace {

constexpr std::size_t stack_bytes = 256 * 1024;
constexpr unsigned warp_size = 32;

enum class Waiting : std::uint8_t { no, for_warp, for_block, ended };

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(stack_bytes);
  Waiting waiting = Waiting::no;
  unsigned exchanges = 0;
  void* sanitizer_state = nullptr;
};

struct Warp {
  // Two sets of buffers: a lane may begin the next exchange before others have read this one's.
  std::array<std::array<std::array<std::byte, 16>, warp_size>, 2> buffers;
};

ucontext_t scheduler;
std::vector<std::unique_ptr<Fiber>> fibers;
std::vector<Warp> warps;
Fiber* running = nullptr;  // null: threads are run one after the other, without fibers
bool waited = false;       // whether any thread of this launch has
const std::function<void()>* body = nullptr;
std::exception_ptr thrown;  // by a thread: no exception may leave a fiber

#if defined(__SANITIZE_ADDRESS__)
const void* scheduler_stack = nullptr;
std::size_t scheduler_stack_bytes = 0;
#endif

void leave_for_scheduler(bool for_good) {
  Fiber& fiber = *running;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fiber.sanitizer_state, scheduler_stack,
                                 scheduler_stack_bytes);
#endif
  (void)for_good;
  swapcontext(&fiber.context, &scheduler);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber.sanitizer_state, nullptr, nullptr);
#endif
}

void run_fiber() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
#endif
  try {
    (*body)();
  } catch (...) {
    thrown = std::current_exception();
  }
  running->waiting = Waiting::ended;
  leave_for_scheduler(true);
}

void resume(Fiber& fiber) {
  running = &fiber;
#if defined(__SANITIZE_ADDRESS__)
  void* state = nullptr;
  __sanitizer_start_switch_fiber(&state, fiber.stack.get(), stack_bytes);
#endif
  swapcontext(&scheduler, &fiber.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(state, nullptr, nullptr);
#endif
  running = nullptr;
}

void start(Fiber& fiber) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = stack_bytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, run_fiber, 0);
  fiber.waiting = Waiting::no;
  fiber.exchanges = 0;
}

// Lets the threads begin .. end - 1 go on if all of them wait in this way. Error: some have ended.
void release(unsigned begin, unsigned end, Waiting kind) {
  unsigned waiting = 0, ended = 0;
  for (unsigned t = begin; t < end; ++t) {
    waiting += fibers[t]->waiting == kind;
    ended += fibers[t]->waiting == Waiting::ended;
  }
  ensure(waiting == 0 || ended == 0, "emulated kernel: ", waiting, " threads of block ",
         indices.block.x, " wait for ", ended, " that have ended");
  if (waiting == end - begin)
    for (unsigned t = begin; t < end; ++t) fibers[t]->waiting = Waiting::no;
}

void run_with_fibers(unsigned threads) {
  while (fibers.size() < threads) fibers.push_back(std::make_unique<Fiber>());
  warps.resize((threads + warp_size - 1) / warp_size);
  for (unsigned t = 0; t < threads; ++t) start(*fibers[t]);
  for (bool progress = true; progress;) {
    progress = false;
    for (unsigned t = 0; t < threads; ++t) {
      if (fibers[t]->waiting != Waiting::no) continue;
      indices.thread.x = t;
      resume(*fibers[t]);
      progress = true;
    }
    for (unsigned t = 0; t < threads; t += warp_size)
      release(t, std::min(t + warp_size, threads), Waiting::for_warp);
    release(0, threads, Waiting::for_block);
    for (unsigned t = 0; t < threads; ++t) progress |= fibers[t]->waiting == Waiting::no;
    if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
  }
  for (unsigned t = 0; t < threads; ++t)
    ensure(fibers[t]->waiting == Waiting::ended, "emulated kernel: thread ", t, " of block ",
           indices.block.x, " waits for others that do not come");
}

void wait(Waiting kind) {
  waited = true;
  ensure(running, "emulated kernel: threads of block ", indices.block.x,
         " wait for each other, but those of block 0 did not");
  unsigned thread = indices.thread.x;
  running->waiting = kind;
  leave_for_scheduler(false);
  indices.thread.x = thread;
}

}  // namespace

void wait_for_block() { wait(Waiting::for_block); }

void wait_for_warp() {
  if (running) ++running->exchanges;
  wait(Waiting::for_warp);
}

void* exchange_buffer(unsigned lane) {
  if (!running) wait(Waiting::for_warp);  // throws
  return warps[indices.thread.x / warp_size].buffers[running->exchanges % 2][lane].data();
}

void run_blocks(const LaunchShape& shape, const std::function<void()>& kernel) {
  body = &kernel;
  auto threads = static_cast<unsigned>(shape.threads);
  ensure(threads >= 1 && threads <= 1024, "emulated kernel: ", threads, " threads in a block");
  indices.block_size = {threads, 1, 1};
  indices.grid_size = {static_cast<unsigned>(shape.blocks), 1, 1};
  bool plain = false;  // a fiber costs more than most threads do
  waited = false;
  for (std::int64_t b = 0; b < shape.blocks; ++b) {
    indices.block = {static_cast<unsigned>(b), 0, 0};
    if (!plain) {
      run_with_fibers(threads);
      plain = !waited;
      continue;
    }
    for (unsigned t = 0; t < threads; ++t) {
      indices.thread.x = t;
      kernel();
    }
  }
}

}  // namespace belfry::cuda::emulated
