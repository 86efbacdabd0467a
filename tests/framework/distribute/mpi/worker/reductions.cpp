#include <array>
#include <cstring>
#include <thread>

#include "belfry/framework/backend/backend.h"
#include "belfry/framework/distribute/worker_communicator.h"
#include "belfry/framework/tensor/philox.h"
#include "mpi_worker.h"

namespace belfry {
namespace {

// Sizes of the segments of each bucket: more buckets than one, odd sizes, fewer elements than
// workers, and one that is too large to be sent before the other side asks for it.
const std::vector<std::vector<std::int64_t>> buckets = {
    {1000, 0, 37}, {2}, {}, {300'001, 5}, {64, 64, 64}};

// The operands of a member: random values whose sums depend on the order.
template <class T>
struct Operands {
  Operands(int member, int pass) {
    for (std::size_t b = 0; b < buckets.size(); ++b)
      for (std::int64_t count : buckets[b]) {
        auto& values = segments.emplace_back(static_cast<std::size_t>(count));
        PhiloxStream random(philox_key(static_cast<std::uint64_t>(member),
                                       concat(b, " ", segments.size(), " ", pass)));
        for (T& v : values) {
          auto number = static_cast<std::int64_t>(random.below(2'000'001)) - 1'000'000;
          if constexpr (std::is_integral_v<T>)
            v = number;
          else
            v = static_cast<T>(static_cast<compute_type<T>>(number) / 977);
        }
      }
  }
  void copy_from(const Operands& o) {
    for (std::size_t s = 0; s < segments.size(); ++s)
      std::copy(o.segments[s].begin(), o.segments[s].end(), segments[s].begin());
  }
  // One collective for each bucket.
  std::vector<std::unique_ptr<Collective>> collectives(Communicator& group, int member,
                                                       ReduceOp op) {
    std::vector<std::unique_ptr<Collective>> out;
    std::size_t next = 0;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      Bucket bucket{.name = concat("bucket ", b), .segments = {}, .dtype = dtype_of<T>, .op = op};
      for (std::int64_t count : buckets[b])
        bucket.segments.push_back({segments[next++].data(), count});
      out.push_back(group.all_reduce(member, std::move(bucket)));
    }
    return out;
  }
  bool same_bits(const Operands& o) const {
    for (std::size_t s = 0; s < segments.size(); ++s)
      if (!segments[s].empty()
          && std::memcmp(segments[s].data(), o.segments[s].data(), segments[s].size() * sizeof(T)))
        return false;
    return true;
  }
  std::vector<std::vector<T>> segments;
};

void run(std::vector<std::unique_ptr<Collective>>& collectives) {
  auto stream = find_device("cpu")->make_stream();
  for (auto& c : collectives) c->start(*stream);
  for (auto& c : collectives) c->finish(*stream);
}

// The same reduction between threads of this process.
template <class T>
Operands<T> in_one_process(int members, int pass, ReduceOp op) {
  std::vector<std::shared_ptr<Device>> devices;
  std::vector<Device*> pointers;
  std::vector<Operands<T>> operands;
  for (int m = 0; m < members; ++m) {
    devices.push_back(find_device(concat("cpu:", m)));
    pointers.push_back(devices.back().get());
    operands.emplace_back(m, pass);
  }
  auto group = devices[0]->make_communicator(pointers, {});
  std::vector<std::thread> threads;
  for (int m = 0; m < members; ++m)
    threads.emplace_back([&, m] {
      auto collectives = operands[static_cast<std::size_t>(m)].collectives(*group, m, op);
      run(collectives);
    });
  for (std::thread& t : threads) t.join();
  return operands[0];
}

template <class T>
std::string compare(Workers& workers, ReduceOp op) {
  auto group = workers.communicator({.timeout_seconds = 60});
  Operands<T> operands(workers.rank(), 0);
  auto collectives = operands.collectives(*group, workers.rank(), op);
  std::string out = concat(dtype_of<T>, ":");
  for (int pass = 0; pass < 2; ++pass) {
    operands.copy_from(Operands<T>(workers.rank(), pass));
    run(collectives);
    bool same = operands.same_bits(in_one_process<T>(workers.count(), pass, op));
    out += same ? " same" : " different";
  }
  return out + "\n";
}

}  // namespace

std::string reduce(const Job&) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 60});
  std::string out = compare<float>(*workers, ReduceOp::sum);
  out += compare<double>(*workers, ReduceOp::sum);
  out += compare<std::int64_t>(*workers, ReduceOp::sum);
  out += compare<BFloat16>(*workers, ReduceOp::sum);
  out += compare<Float16>(*workers, ReduceOp::max);
  out += compare<std::int32_t>(*workers, ReduceOp::first);

  std::array<double, 2> values{1e16 * (workers->rank() - 1), 1};  // -1e16 + 0 + 1e16
  auto group = workers->communicator({.timeout_seconds = 60});
  auto sum = group->all_reduce(
      workers->rank(), {.name = "two", .segments = {{values.data(), 2}}, .dtype = DType::f64});
  auto stream = find_device("cpu")->make_stream();
  sum->start(*stream);
  sum->finish(*stream);
  return concat(out, values[0], " ", values[1]);
}

std::string towers(const Job&) {
  auto workers = find_workers(WorkerOptions{.timeout_seconds = 60});
  auto first = find_device("cpu:0"), second = find_device("cpu:1");
  std::array<Device*, 2> devices{first.get(), second.get()};
  auto join_towers = [&] { return first->make_communicator(devices, {.timeout_seconds = 120}); };
  auto group =
      make_worker_communicator({join_towers(), join_towers()}, *workers, {.timeout_seconds = 60});
  // Tower t of worker w has a one in the digit of its own, in 20 buckets that are all under way.
  std::array<std::array<double, 20>, 2> values;
  auto tower = [&](int t) {
    auto& mine = values[static_cast<std::size_t>(t)];
    std::vector<std::unique_ptr<Collective>> collectives;
    for (std::size_t b = 0; b < mine.size(); ++b) {
      mine[b] = static_cast<double>(b * 10'000)
                + std::array{1, 10, 100, 1000}[static_cast<std::size_t>(2 * workers->rank() + t)];
      collectives.push_back(
          group->all_reduce(t, {.name = "b", .segments = {{&mine[b], 1}}, .dtype = DType::f64}));
    }
    run(collectives);
  };
  std::thread other(tower, 1);
  tower(0);
  other.join();
  return concat(group->size(), ": ", join(values[0], " "),
                values[0] == values[1] ? " in both" : " not in both");
}

}  // namespace belfry
