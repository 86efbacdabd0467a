// One worker of a job: faulty_worker DIR POLICY STEPS VICTIM FAULT STEP TIMEOUT_S. It goes on from
// the checkpoints in DIR, saves after every other step, and is at fault after step STEP if its rank
// is VICTIM, or from the start on if FAULT names a setting. What went wrong is in DIR.error_<rank>,
// DIR.pid_<rank> has its process id, DIR.broken_<rank> the number of connections that it broke.
// other_worker is the same with another optimizer.

#include <arpa/inet.h>
#include <linux/filter.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "../../../durability/faulty_disk.h"
#include "../../../framework/train/resuming_model.h"
#include "../faults.h"
#include "belfry/framework/distribute/workers.h"

namespace belfry {
namespace {

#ifdef BELFRY_OTHER_PROGRAM
constexpr bool other_program = true;
#else
constexpr bool other_program = false;
#endif

// 48 examples in batches of 12: their parts have as many rows for two, three and four workers.
Dataset even_digits(std::int64_t first) {
  auto read = [first](std::int64_t i, Features& out) {
    Array x(Shape{6}, DType::f32);
    PhiloxStream random(philox_key(3, static_cast<std::uint64_t>(first + i)));
    for (float& v : x.span<float>())
      v = static_cast<float>(random.normal()) + static_cast<float>(i % 4);
    out.set("x", x);
    out.set("label", Array::scalar(i % 4));
  };
  return data::indexed(48, read) | data::shuffle(20) | data::batch(12) | data::repeat()
         | data::prefetch();
}

// A connection to another worker, in which ports are all that tells who that is.
struct Connection {
  int descriptor = 0;
  std::uint16_t own_port = 0, peer_port = 0;

  bool leads_to(const Connection& o) const {
    return own_port == o.peer_port && peer_port == o.own_port;
  }
};
/// Their number is fixed, so that workers can tell each other theirs; the last ones are empty.
using Connections = std::array<Connection, 16>;

// Each connection to another worker has a port among MPI's.
Connections connections() {
  Connections out;
  std::size_t found = 0;
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    sockaddr_in own{}, peer{};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_size) != 0
        || getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0
        || own.sin_family != AF_INET)
      continue;
    Connection c{descriptor, ntohs(own.sin_port), ntohs(peer.sin_port)};
    if (is_port_of_jobs(c.own_port) || is_port_of_jobs(c.peer_port)) out.at(found++) = c;
  }
  return out;
}

bool disconnect(int descriptor) { return shutdown(descriptor, SHUT_RDWR) == 0; }

// Packets that arrive are dropped from now on, and neither side hears of it.
bool lose_packets(int descriptor) {
  sock_filter keep_nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{.len = 1, .filter = &keep_nothing};
  return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

/// The fault that a worker is told to have.
struct Fault final : Hook {
  Fault(std::string n, std::int64_t s, std::string d, int v)
      : name(std::move(n)), step(s), dir(std::move(d)), victim(v) {}

  void begin(HookContext&) override {
    if (name == "full_disk") disk.emplace(dir);
  }
  void after_step(const StepResult& result) override {
    std::this_thread::sleep_for(usual_pause);
    if (result.step < step) return;
    if (name == "ten_times_slower") std::this_thread::sleep_for(20 * usual_pause);
    if (result.step > step) return;
    if (name == "throw") throw std::runtime_error("the sensor is unplugged");
    if (name == "exit") std::exit(0);
    if (name == "full_disk") disk->leave_room(100);
    if (name == "cut_off") be_unheard();
    if (workers->rank() != victim) return;
    if (name == "kill" || name == "stop" || is_of_connections(name))
      soon.emplace([this] { act(); });
  }
  // However late the thread below is on a busy machine, the fault is one of the training.
  void end(HookContext&, Outcome) override {
    if (soon && soon->joinable()) soon->join();
  }
  // Beside the training, so that it meets any part of a step.
  void act() const {
    std::this_thread::sleep_for(std::chrono::microseconds(step * 977 % 5000));
    if (is_of_connections(name))
      break_connections(connections(), name == "disconnect" ? disconnect : lose_packets);
    else
      raise(name == "kill" ? SIGKILL : SIGSTOP);
  }
  // The others lose what the victim sends, all at once: it sends nothing until they do.
  void be_unheard() const {
    Connections own = connections();
    Connections victims = workers->all_gather(own)[static_cast<std::size_t>(victim)];
    if (workers->rank() == victim) {
      for (int rank = 0; rank < workers->count(); ++rank)
        while (rank != victim && !std::filesystem::exists(concat(dir, ".broken_", rank)))
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      for (Connection& c : own)
        if (std::ranges::none_of(victims, [&](const Connection& v) { return v.leads_to(c); }))
          c = {};
      break_connections(own, lose_packets);
    }
  }
  void break_connections(const Connections& those, bool (*break_one)(int)) const {
    std::ofstream(concat(dir, ".broken_", workers->rank())) << std::ranges::count_if(
        those, [&](const Connection& c) { return c.descriptor != 0 && break_one(c.descriptor); });
  }

  // It takes about half of a step's time: twenty more of it make the step ten times as long.
  static constexpr std::chrono::milliseconds usual_pause{2};
  std::string name;
  std::int64_t step;
  std::string dir;
  int victim;
  std::shared_ptr<Workers> workers = find_workers();
  std::optional<FaultyDisk> disk;
  std::optional<std::jthread> soon;
};

void train(char** words) {
  std::string dir = words[1], fault = words[5];
  auto workers = find_workers();
  std::ofstream(concat(dir, ".pid_", workers->rank())) << ::getpid();
  int victim = std::atoi(words[4]);
  if (workers->rank() != victim && fault != "cut_off") fault = "none";
  RunConfig config;
  config.batch =
      words[2] == to_string(BatchPolicy::global) ? BatchPolicy::global : BatchPolicy::per_worker;
  config.threads = 1;
  config.log_step_count = Steps(0);
  config.save_checkpoint = Steps(2);
  config.reduction_timeout = std::chrono::seconds(std::atoi(words[7]));
  if (fault == "other_seed") config.seed = 2;
  if (fault == "other_towers") config.devices = {"cpu:0", "cpu:1"};
  if (fault == "other_policy")
    config.batch =
        config.batch == BatchPolicy::global ? BatchPolicy::per_worker : BatchPolicy::global;
  if (fault == "other_precision") config.precision = Precision::bf16;
  if (fault == "other_bucket") config.bucket = Bytes(1);
  ModelFn model = [other = other_program || fault == "other_rate"](Scope s, const Batch& batch,
                                                                   Mode mode) {
    EstimatorSpec spec = resuming_model(s, batch, mode);
    if (other) spec.train = adam({.learning_rate = 0.02});
    return spec;
  };
  Estimator estimator({.model_fn = model, .model_dir = dir, .run = config});
  estimator.train(even_digits(fault == "other_data" ? 48 : 0),
                  {.max_steps = std::atoll(words[3]),
                   .hooks = {std::make_shared<Fault>(fault, std::atoll(words[6]), dir, victim)}});
  if (fault == "kill_at_end") raise(SIGKILL);
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  try {
    belfry::train(argv);
  } catch (const std::exception& error) {
    std::string rank = belfry::text(belfry::find_workers()->rank());
    std::ofstream(belfry::concat(argv[1], ".error_", rank)) << error.what();
    return 1;
  }
}
