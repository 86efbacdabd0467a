#include "belfry/framework/train/signals.h"

#include <atomic>

namespace belfry {
namespace {

// A handler can reach nothing but statics; the guard makes sure that only one user has them.
std::atomic<bool> in_use = false;
std::atomic<int> received_signal = 0;
struct sigaction previous_int, previous_term;

void restore_handlers() {
  sigaction(SIGINT, &previous_int, nullptr);
  sigaction(SIGTERM, &previous_term, nullptr);
}

extern "C" void note_signal(int signal) {
  received_signal = signal;
  restore_handlers();
}

}  // namespace

SignalGuard::SignalGuard() {
  active_ = !in_use.exchange(true);
  if (!active_) return;
  received_signal = 0;
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previous_int);
  sigaction(SIGTERM, &action, &previous_term);
}

SignalGuard::~SignalGuard() {
  if (!active_) return;
  restore_handlers();
  in_use = false;
}

const char* SignalGuard::received() const {
  if (!active_) return nullptr;
  switch (received_signal) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    default:
      return nullptr;
  }
}

}  // namespace belfry
