#include "belfry/framework/train/step/worker_sync.h"

#include <algorithm>
#include <tuple>

#include "belfry/framework/train/hook.h"
#include "belfry/framework/train/state/variable_misfits.h"

namespace belfry {
namespace {

constexpr std::string_view heading = "positions of workers ";

struct Message {
  WorkerSync::Wishes own;
  double clock;
  std::uint64_t digest;
};

WorkerSync::Agreed sum_of(const std::vector<Message>& all) {
  WorkerSync::Agreed out;
  for (std::size_t rank = all.size(); rank-- > 0;) {
    const WorkerSync::Wishes& own = all[rank].own;
    if (own.stop) out.stopping = rank;
    out.save = out.save || own.save;
    out.pause = out.pause || own.pause;
    out.interrupted = out.interrupted || own.interrupted;
  }
  out.pause = out.pause && out.stopping < 0;
  return out;
}

// A line for each node, and one for each array among their options, of which those show the
// beginning.
std::string text_with_arrays(const Graph& graph) {
  std::string out = to_text(graph);
  for (const auto& node : graph)
    for (const NamedAttribute& option : node->options().attributes())
      if (const Array* array = std::get_if<Array>(&option.value); array && array->defined())
        out += concat(option.name, " of %", node->id(), " with the digest ",
                      digest(array->raw_bytes()), "\n");
  return out;
}

std::string_view line_at(std::string_view text, std::string_view::iterator place) {
  if (place == text.end()) return "none";
  std::size_t at = place - text.begin(), before = text.substr(0, at).rfind('\n');
  std::size_t begin = before == text.npos ? 0 : before + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

std::string_view characters_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void WorkerSync::check_start(std::int64_t step, std::uint64_t seed, const Strategy& strategy) {
  if (alone()) return;
  struct Start {
    std::int64_t step;
    std::uint64_t seed;
    std::int32_t towers, devices_per_tower;
    BatchPolicy batch;
    auto devices() const { return std::tuple(towers, devices_per_tower, batch); }
  };
  std::vector<Start> all = workers_.all_gather(
      Start{step, seed, strategy.size(), strategy.devices_per_tower(), strategy.batch});
  auto text_of = [&](std::size_t rank) {
    return concat("worker ", rank, " has towers x devices = ", all[rank].towers, " x ",
                  all[rank].devices_per_tower, " and batches ", all[rank].batch);
  };
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    require(all[rank].devices() == all[0].devices(), "train: ", text_of(0), ", ", text_of(rank),
            "; give all the same RunConfig");
    require(all[rank].step == all[0].step, "train: worker 0 begins at step ", all[0].step,
            " and worker ", rank, " at step ", all[rank].step,
            "; model_dir must be one folder that all workers share");
    require(all[rank].seed == all[0].seed, "train: worker 0 has seed ", all[0].seed, " and worker ",
            rank, " has seed ", all[rank].seed, "; give all the same");
  }
}

void WorkerSync::check_variables(const std::vector<VariableOptions>& own) {
  if (alone()) return;
  std::string list;
  for (const VariableOptions& v : own) list += concat(describe_variable(v), "\n");
  auto text = std::as_bytes(std::span(list));
  std::vector<std::byte> chiefs(text.begin(), text.end());
  workers_.broadcast(chiefs);
  auto [mine, theirs] = std::ranges::mismatch(text, chiefs);
  // The first line that differs, as a number; -1: none.
  std::int32_t line = -1;
  if (mine != text.end() || theirs != chiefs.end())
    line = std::count(text.begin(), mine, std::byte{'\n'});
  std::vector<std::int32_t> lines = workers_.all_gather(line);
  auto odd = std::ranges::find_if(lines, [](std::int32_t l) { return l >= 0; });
  if (odd == lines.end()) return;
  std::size_t at = *odd;
  std::string here = at < own.size() ? describe_variable(own[at]) : "none";
  fail("train: variable ", at, " of worker ", odd - lines.begin(),
       "'s model is not that of worker 0's; here, on worker ", workers_.rank(), ", it is ", here,
       "; a model_fn must make the same variables in every worker");
}

void WorkerSync::check_graph(const Signature& batch, const Graph& own) {
  if (alone()) return;
  struct Digests {
    std::uint64_t batch, graph;
  };
  std::string shapes, text = text_with_arrays(own);
  for (const auto& [name, type] : batch) shapes += concat(name, ": ", type, "\n");
  auto digest_of = [](const std::string& s) { return digest(std::as_bytes(std::span(s))); };
  std::vector<Digests> all = workers_.all_gather(Digests{digest_of(shapes), digest_of(text)});
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    std::size_t like = std::ranges::find(all, all[rank].batch, &Digests::batch) - all.begin();
    if (all[like].graph != all[rank].graph) report_other_graph(like, rank, text);
  }
}

// Only now do the texts travel: to the chief, whose message is everybody's.
void WorkerSync::report_other_graph(std::size_t one, std::size_t other, std::string_view own) {
  auto texts = workers_.gather(std::as_bytes(std::span(own)));
  std::vector<std::byte> message;
  if (is_chief()) {
    std::string_view a = characters_of(texts[one]), b = characters_of(texts[other]);
    auto [at_a, at_b] = std::ranges::mismatch(a, b);
    std::string text = concat("train: worker ", other, " has built another graph than worker ", one,
                              " from batches of the same shapes; the first node that differs is ",
                              line_at(b, at_b), " there and ", line_at(a, at_a), " on worker ", one,
                              "; all workers must run the same program with the same options");
    auto bytes = std::as_bytes(std::span(text));
    message.assign(bytes.begin(), bytes.end());
  }
  workers_.broadcast(message);
  fail(characters_of(message));
}

WorkerSync::Agreed WorkerSync::agree(Wishes own) {
  double now = monotonic_seconds();
  if (alone()) return {own.stop ? 0 : -1, own.save, own.pause && !own.stop, own.interrupted};
  std::vector<Message> all = workers_.all_gather(Message{own, now, 0});
  clock_ = all[0].clock;
  return sum_of(all);
}

WorkerSync::Agreed WorkerSync::agree_on_batch(Wishes own, std::uint64_t digest, bool same_for_all) {
  if (alone()) return {.stopping = own.stop ? 0 : -1, .interrupted = own.interrupted};
  std::vector<Message> all = workers_.all_gather(Message{own, 0, digest});
  Agreed out = sum_of(all);
  if (out.stopping >= 0) return out;
  for (std::size_t rank = 1; same_for_all && rank < all.size(); ++rank)
    require(
        all[rank].digest == all[0].digest, "train: worker ", rank,
        all[rank].digest == 0 || all[0].digest == 0 ? " has come to the end of other data"
                                                    : " has read another batch",
        " than worker 0, and BatchPolicy::global takes one batch for all; let input_fn read the "
        "same data in the same order everywhere, with the same seeds, to the last bit, or set "
        "RunConfig::batch to "
        "BatchPolicy::per_worker");
  return out;
}

bool WorkerSync::any_of_all(bool own) {
  if (alone()) return own;
  std::vector<std::int32_t> all = workers_.all_gather(std::int32_t{own});
  return std::any_of(all.begin(), all.end(), [](std::int32_t value) { return value != 0; });
}

int WorkerSync::first_of_all(int own) {
  if (alone()) return own;
  std::vector<std::int32_t> all = workers_.all_gather(std::int32_t{own});
  auto first = std::ranges::find_if(all, [](std::int32_t value) { return value != 0; });
  return first == all.end() ? 0 : *first;
}

double WorkerSync::clock() const { return alone() ? monotonic_seconds() : clock_; }

bool WorkerSync::chief_decides(bool own) {
  return alone() ? own : workers_.all_gather(std::int32_t{own})[0] != 0;
}

StepRows WorkerSync::exchange_rows(const StepRows& own, UpdateSet chosen) {
  if (alone()) return own;
  struct Message {
    std::int64_t rows, most, least, even;
    std::uint64_t layout;
    UpdateSet chosen;
  };
  std::vector<Message> all = workers_.all_gather(
      Message{own.all, own.most_of_tower, own.least_of_tower, own.even, own.layout, chosen});
  StepRows out{.even = true, .layout = own.layout};
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    require(all[rank].chosen == all[0].chosen,
            "train: worker 0 runs other updates in this step than worker ", rank,
            "; what before_step() chooses must be the same on all workers");
    if (static_cast<int>(rank) < workers_.rank()) out.before += all[rank].rows;
    out.all += all[rank].rows;
    bool even = out.even && all[rank].even != 0;
    out.add_tower(all[rank].most);
    out.add_tower(all[rank].least);
    out.even = out.even && even;
    if (all[rank].layout != own.layout) out.layout = 0;
  }
  return out;
}

void WorkerSync::gather_positions(std::string& input) {
  if (alone()) return;
  auto all = workers_.gather(std::as_bytes(std::span(input)));
  if (!is_chief()) return;
  input = concat(heading, all.size(), "\n");
  for (const auto& bytes : all) {
    input += text(bytes.size()) + "\n";
    input.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
}

std::string WorkerSync::own_position(const std::string& input, bool shared) const {
  std::size_t saved_by = 1, at = 0;
  auto number = [&] {
    std::size_t end = input.find('\n', at);
    require(end != std::string::npos, "train: the input position of the checkpoint is damaged");
    std::size_t value = std::strtoull(input.c_str() + at, nullptr, 10);
    at = end + 1;
    return value;
  };
  bool of_several = input.starts_with(heading);
  if (of_several) at = heading.size(), saved_by = number();
  std::size_t count = workers_.count();
  if (!of_several && shared) return input;
  require(saved_by == count, "train: the checkpoint has the input positions of ", saved_by,
          saved_by == 1 ? " worker" : " workers", " but there are ", count,
          " now; train with as many, or with .resume_input = false to begin the data anew");
  if (!of_several) return input;
  for (int rank = 0;; ++rank) {
    std::size_t size = number();
    require(size <= input.size() - at, "train: the input position of the checkpoint is damaged");
    if (rank == workers_.rank()) return input.substr(at, size);
    at += size;
  }
}

}  // namespace belfry
