#pragma once
// Locks that the compiler checks. Clang's documentation describes the attributes on the page
// "Thread Safety Analysis"; other compilers see none of them.

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__) && !defined(__NVCC__)
#define BELFRY_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define BELFRY_THREAD_SAFETY(attribute)
#endif

/// In front of a class's name: threads hold its objects; or its objects hold a mutex as long as
/// they live.
#define BELFRY_CAPABILITY(name) BELFRY_THREAD_SAFETY(capability(name))
#define BELFRY_SCOPED_CAPABILITY BELFRY_THREAD_SAFETY(scoped_lockable)

/// Behind the name of a variable: whoever reads or writes it holds this mutex.
#define BELFRY_GUARDED_BY(mutex) BELFRY_THREAD_SAFETY(guarded_by(mutex))
/// Behind the name of a pointer: whoever uses what it points to holds this mutex.
#define BELFRY_PT_GUARDED_BY(mutex) BELFRY_THREAD_SAFETY(pt_guarded_by(mutex))

/// Behind a function or the parameters of a lambda: whoever calls it holds these mutexes, or holds
/// none of them.
#define BELFRY_REQUIRES(...) BELFRY_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define BELFRY_EXCLUDES(...) BELFRY_THREAD_SAFETY(locks_excluded(__VA_ARGS__))

/// Behind a function: it takes these mutexes, or gives them up, or takes them if it returns the
/// first argument. Where no mutex is named, the object itself is meant.
#define BELFRY_ACQUIRE(...) BELFRY_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define BELFRY_RELEASE(...) BELFRY_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define BELFRY_TRY_ACQUIRE(...) BELFRY_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))

/// Behind a function: the compiler checks nothing in it. A comment beside it says why it is right.
#define BELFRY_NO_THREAD_SAFETY_ANALYSIS BELFRY_THREAD_SAFETY(no_thread_safety_analysis)

namespace belfry {

/// A std::mutex that the annotations can name. The compiler checks no constructors and destructors.
class BELFRY_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() BELFRY_ACQUIRE() { mutex_.lock(); }
  void unlock() BELFRY_RELEASE() { mutex_.unlock(); }
  bool try_lock() BELFRY_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

/// Holds a mutex as long as it lives, except between unlock() and lock().
class BELFRY_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) BELFRY_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() BELFRY_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() BELFRY_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  void lock() BELFRY_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

/// Gives a mutex up as long as it lives, in a function that is called with the mutex held.
class BELFRY_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) BELFRY_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~MutexUnlock() BELFRY_RELEASE() { mutex_.lock(); }  // for Clang, this object is released here
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

/// A std::condition_variable. Waiting gives the mutex up and takes it again; it may end without a
/// notification. No function takes a predicate, since the compiler does not know that a lambda
/// holds the mutex. It can check the loop `while (!ready_) changed_.wait(mutex_);`.
class Condition {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  void wait(Mutex& mutex) BELFRY_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  /// Returns false when the time has come.
  bool wait_until(Mutex& mutex, std::chrono::steady_clock::time_point time) BELFRY_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    bool in_time = condition_.wait_until(lock, time) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }

 private:
  std::condition_variable condition_;
};

}  // namespace belfry
