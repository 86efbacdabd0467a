#include "belfry/framework/train/run/signals.h"

#include <semaphore.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/mutex.h"

namespace belfry {
namespace {

// A handler can reach nothing but statics, and take no lock. What was in place before a
// signal's handler is written while that is not ours.
std::atomic<bool> installed = false;
std::atomic<int> signals = 0;  // noted so far
std::atomic<int> last_signal = 0;
struct sigaction previous_int, previous_term;
sem_t noted;  // posted for each

extern "C" void note_signal(int signal);

// Puts back what was in place before a handler of ours. Where only one is ours, a signal came
// between the placing of the two.
void restore_handlers() {
  struct sigaction action;
  for (auto [signal, previous] :
       {std::pair(SIGINT, &previous_int), std::pair(SIGTERM, &previous_term)}) {
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == note_signal) sigaction(signal, previous, nullptr);
  }
  installed = false;
}

extern "C" void note_signal(int signal) {
  int error = errno;
  last_signal = signal;
  ++signals;
  restore_handlers();
  sem_post(&noted);
  errno = error;
}

// One that came while they were put in place may have left a handler of ours.
void save_previous(int signal, struct sigaction& previous) {
  struct sigaction action;
  sigaction(signal, nullptr, &action);
  if (action.sa_handler != note_signal) previous = action;
}

// Runs body() while this thread hears no signal but those of its own faults; so do threads that it
// starts.
template <class Body>
void deaf(Body body) {
  sigset_t all, before;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    body();
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void install() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  deaf([&] {
    save_previous(SIGINT, previous_int);
    save_previous(SIGTERM, previous_term);
    installed = true;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
  });
}

}  // namespace

// The guards that live, and the thread that tells them of signals: a handler may not.
class SignalWatch {
 public:
  static SignalWatch& of_process() {
    // Never destroyed: exit() may come while a training runs.
    static SignalWatch& watch = *new SignalWatch;
    return watch;
  }

  void add(SignalGuard& guard) {
    MutexLock changing(changes_);
    {
      MutexLock lock(mutex_);
      guards_.reserve(guards_.size() + 1);  // now: a thread that has begun must have its guard
    }
    if (!has_guards()) start();
    {
      MutexLock lock(mutex_);
      guard.before_ = signals;
      guards_.push_back(&guard);
    }
    if (!installed) install();
  }

  bool has_guards() BELFRY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return !guards_.empty();
  }

  void remove(SignalGuard& guard) {
    MutexLock changing(changes_);
    {
      MutexLock lock(mutex_);
      std::erase(guards_, &guard);
      if (!guards_.empty()) return;
    }
    restore_handlers();
    over_ = true;
    sem_post(&noted);
    thread_.join();
  }

 private:
  SignalWatch() { sem_init(&noted, 0, 0); }

  void start() BELFRY_REQUIRES(changes_) {
    over_ = false;
    try {
      std::thread thread;
      deaf([&] { thread = std::thread([this] { watch(); }); });
      thread_ = std::move(thread);
    } catch (const std::system_error& error) {
      fail("no thread could be started to wait for signals on: ", error.what());
    }
  }

  void watch() {
    while (!over_) {
      while (sem_wait(&noted) != 0) {
      }
      MutexLock lock(mutex_);
      for (SignalGuard* guard : guards_)
        if (const char* signal = guard->received()) {
          guard->stop_.request_stop();
          tell(*guard, signal);
        }
    }
  }

  static void tell(SignalGuard& guard, const char* signal) {
    auto heard = std::exchange(guard.heard_, {});
    try {
      if (heard) heard(signal);
    } catch (...) {  // the stop is requested all the same
    }
  }

  Mutex changes_;  // held while guards_ changes and the thread begins and ends
  Mutex mutex_;    // the thread takes it too
  std::vector<SignalGuard*> guards_ BELFRY_GUARDED_BY(mutex_);  // that live
  std::atomic<bool> over_ = false;
  std::thread thread_ BELFRY_GUARDED_BY(changes_);
};

SignalGuard::SignalGuard(std::function<void(const char*)> heard) : heard_(std::move(heard)) {
  SignalWatch::of_process().add(*this);
}
SignalGuard::~SignalGuard() { SignalWatch::of_process().remove(*this); }

int SignalGuard::signal() const { return signals == before_ ? 0 : last_signal.load(); }

bool SignalGuard::any() { return SignalWatch::of_process().has_guards(); }

const char* SignalGuard::received() const {
  int number = signal();
  return number == 0 ? nullptr : signal_name(number).data();
}

std::string_view signal_name(int signal) { return signal == SIGINT ? "SIGINT" : "SIGTERM"; }

}  // namespace belfry
