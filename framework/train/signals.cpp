#include "belfry/framework/train/signals.h"

#include <atomic>
#include <mutex>

namespace belfry {
namespace {

std::mutex mutex;
int guards = 0;  // that live; guarded by the mutex

// A handler can reach nothing but statics, and take no lock. What was in place before is written
// while no handler is.
std::atomic<bool> in_place = false;
std::atomic<int> signals = 0;  // noted so far
std::atomic<int> last_signal = 0;
struct sigaction previous_int, previous_term;

void restore_handlers() {
  sigaction(SIGINT, &previous_int, nullptr);
  sigaction(SIGTERM, &previous_term, nullptr);
  in_place = false;
}

extern "C" void note_signal(int signal) {
  last_signal = signal;
  ++signals;
  restore_handlers();
}

// One that came while they were put in place may have left a handler of ours.
void save_previous(int signal, struct sigaction& previous) {
  struct sigaction action;
  sigaction(signal, nullptr, &action);
  if (action.sa_handler != note_signal) previous = action;
}

void put_in_place() {
  sigset_t both, before;
  sigemptyset(&both);
  sigaddset(&both, SIGINT);
  sigaddset(&both, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &both, &before);
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  save_previous(SIGINT, previous_int);
  save_previous(SIGTERM, previous_term);
  in_place = true;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

SignalGuard::SignalGuard() {
  std::lock_guard lock(mutex);
  before_ = signals;
  ++guards;
  if (!in_place) put_in_place();
}

SignalGuard::~SignalGuard() {
  std::lock_guard lock(mutex);
  if (--guards == 0 && in_place) restore_handlers();
}

const char* SignalGuard::received() const {
  if (signals == before_) return nullptr;
  return last_signal == SIGINT ? "SIGINT" : "SIGTERM";
}

}  // namespace belfry
