#pragma once
// A program that a test runs beside itself.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace belfry {

class ChildProcess {
 public:
  /// `words` begin with the program's path. What it prints is added to the file `log`.
  ChildProcess(std::vector<std::string> words, const std::string& log) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    int error = posix_spawn(&id_, words[0].c_str(), &files, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    ended_ = error != 0;
    if (ended_) ADD_FAILURE() << "cannot start " << words[0];
  }

  bool running() {
    if (!ended_) ended_ = waitpid(id_, &status_, WNOHANG) == id_;
    return !ended_;
  }
  /// Its status, as waitpid() gives it. A program that takes five minutes is ended.
  int wait() {
    auto until = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (running()) {
      if (std::chrono::steady_clock::now() > until)
        ::kill(id_, SIGTERM), until += std::chrono::hours(1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return status_;
  }
  pid_t id() const { return id_; }

 private:
  pid_t id_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace belfry
