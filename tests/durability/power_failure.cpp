#include "power_failure.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <utility>

#include "../framework/base/temporary_folder.h"
#include "../trust/tell_count.h"
#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;
using Kind = DiskChange::Kind;
using Names = std::map<std::string, int>;
using Tree = std::map<std::string, std::optional<std::string>>;  // no content: a folder

constexpr int gone = -2;
constexpr std::size_t most_unsynced_names = 12;
constexpr std::size_t block_bytes = 512;

/// Names that change together.
struct NameChange {
  Names become;
  std::string story;
};

struct Content {
  std::string durable, current;
};

enum class Unsynced : std::uint8_t { lost, torn, zeros, garbage, kept };
constexpr std::array all_of_unsynced{Unsynced::lost, Unsynced::torn, Unsynced::zeros,
                                     Unsynced::garbage, Unsynced::kept};
constexpr std::array<const char*, 5> unsynced_names{"unsynced bytes lost", "part of them",
                                                    "zeros instead", "garbage instead", "kept"};

std::string folder_of(const std::string& name) { return fs::path(name).parent_path().string(); }

/// Bytes that are torn off, or garbage, are so behind that `part` of the new ones.
std::string after_failure(const Content& content, Unsynced how, double part = 0.5) {
  const std::string &old = content.durable, &now = content.current;
  if (how == Unsynced::lost) return old;
  if (how == Unsynced::kept) return now;
  auto is_new = [&](std::size_t i) { return i >= old.size() || old[i] != now[i]; };
  std::size_t first = 0;
  while (first < now.size() && !is_new(first)) ++first;
  auto there = static_cast<std::size_t>(part * static_cast<double>(now.size() - first));
  std::string out = now.substr(0, first + there);
  if (how == Unsynced::torn) return out;
  if (how == Unsynced::zeros) out.resize(first);
  while (out.size() < now.size()) out += how == Unsynced::zeros ? '\0' : '\x5a';
  return out;
}

/// Each block is as it was or as it should be, whichever was written first; what was never written
/// is zeros.
std::string some_blocks(const Content& content, std::mt19937_64& random) {
  const std::string& now = content.current;
  std::string out = content.durable;
  out.resize(now.size());
  for (std::size_t at = 0; at < now.size(); at += block_bytes)
    if (random() % 2 == 0) out.replace(at, block_bytes, now, at, block_bytes);
  return out;
}

void carry_out(const NameChange& change, Names& names) {
  for (const auto& [name, file] : change.become) {
    if (file == gone) {
      names.erase(name);
    } else {
      names[name] = file;
    }
  }
}

/// The disk as the log goes on.
class Disk {
 public:
  explicit Disk(const DiskLog& log) : current_(log.names), durable_(log.names) {
    for (const auto& [file, content] : log.contents) contents_[file] = {content, content};
  }

  void go_on(const DiskChange& change) {
    switch (change.kind) {
      case Kind::create:
        contents_[change.file] = {};
        return change_names("create " + change.path, {{change.path, change.file}});
      case Kind::write: {
        std::string& bytes = contents_.at(change.file).current;
        auto end = static_cast<std::size_t>(change.offset) + change.bytes.size();
        bytes.resize(std::max(bytes.size(), end));
        bytes.replace(static_cast<std::size_t>(change.offset), change.bytes.size(), change.bytes);
        return;
      }
      case Kind::resize:
        return contents_.at(change.file).current.resize(static_cast<std::size_t>(change.offset));
      case Kind::sync:
        contents_.at(change.file).durable = contents_.at(change.file).current;
        return;
      case Kind::sync_folder:
        return sync_names(change.path);
      case Kind::rename:
        return change_names("rename to " + change.to, renaming(change.path, change.to));
      case Kind::link:
        return change_names("link " + change.to, {{change.to, current_.at(change.path)}});
      case Kind::unlink:
      case Kind::remove_folder:
        return change_names("remove " + change.path, {{change.path, gone}});
      case Kind::make_folder:
        return change_names("make " + change.path, {{change.path, DiskLog::is_folder}});
      case Kind::mark:
        return;
    }
  }

  /// Calls found(tree, story) for each state that a failure now could leave.
  template <class Found>
  void fail(Found found) const {
    require(unsynced_.size() <= most_unsynced_names, "for_each_power_failure: ", unsynced_.size(),
            " changes of names are without a sync");
    for (std::size_t chosen = 0; chosen < std::size_t{1} << unsynced_.size(); ++chosen) {
      std::string story;
      Names names = names_after(chosen, story);
      for (Unsynced how : all_of_unsynced)
        found(tree(names, [&](const Content& content) { return after_failure(content, how); }),
              story + unsynced_names[static_cast<std::size_t>(how)]);
    }
  }

  /// The same for one state, drawn at random: each file has lost something else.
  template <class Found>
  void draw(std::mt19937_64& random, Found found) const {
    std::string story;
    Names names = names_after(random() >> (64 - most_unsynced_names), story);
    Tree drawn = tree(names, [&](const Content& content) {
      std::size_t how = random() % (all_of_unsynced.size() + 1);
      if (how == all_of_unsynced.size()) {
        if (content.durable != content.current) story += "some blocks; ";
        return some_blocks(content, random);
      }
      double part = static_cast<double>(random() % 1000) / 1000;
      if (content.durable != content.current)
        story += concat(unsynced_names[how], " (", part, "); ");
      return after_failure(content, all_of_unsynced[how], part);
    });
    found(drawn, "drawn: " + story);
  }

 private:
  /// `chosen`: a bit for each change that no sync has followed, 1 if it is kept.
  Names names_after(std::size_t chosen, std::string& story) const {
    Names out = durable_;
    for (std::size_t i = 0; i < unsynced_.size(); ++i) {
      bool kept = (chosen >> i & 1) != 0;
      if (kept) carry_out(unsynced_[i], out);
      if (!kept) story += "lost: " + unsynced_[i].story + "; ";
    }
    return out;
  }

  void change_names(std::string story, Names become) {
    unsynced_.push_back({std::move(become), std::move(story)});
    carry_out(unsynced_.back(), current_);
  }

  /// A folder takes with it what is in it.
  Names renaming(const std::string& from, const std::string& to) const {
    Names become;
    for (const auto& [name, file] : current_)
      if (name == from || name.starts_with(from + "/")) {
        become[name] = gone;
        become[to + name.substr(from.size())] = file;
      }
    return become;
  }

  void sync_names(const std::string& folder) {
    std::erase_if(unsynced_, [&](const NameChange& change) {
      bool here = std::any_of(change.become.begin(), change.become.end(),
                              [&](const auto& entry) { return folder_of(entry.first) == folder; });
      if (here) carry_out(change, durable_);
      return here;
    });
  }

  template <class Left>
  Tree tree(const Names& names, Left left_of) const {
    Tree out;  // by name, so folders come before what is in them
    for (const auto& [name, file] : names) {
      std::string above = folder_of(name);
      if (!above.empty() && !out.contains(above)) continue;
      out[name] =
          file == DiskLog::is_folder ? std::nullopt : std::optional(left_of(contents_.at(file)));
    }
    return out;
  }

  Names current_, durable_;
  std::vector<NameChange> unsynced_;
  std::map<int, Content> contents_;
};

void write_tree(const Tree& tree, const std::string& folder) {
  for (const auto& [name, content] : tree) {
    std::string path = folder + "/" + name;
    if (content) {
      std::ofstream(path, std::ios::binary) << *content;
    } else {
      fs::create_directory(path);
    }
  }
}

}  // namespace

void for_each_power_failure(const DiskLog& log,
                            const std::function<void(const PowerFailure&)>& check,
                            std::int64_t drawn, bool counts) {
  Disk disk(log);
  std::mt19937_64 random(
      static_cast<std::uint64_t>(from_environment("BELFRY_POWER_FAILURES_SEED", 1)));
  int marks = 0;
  std::int64_t states = 0;
  std::set<Tree> seen;
  auto found = [&](const Tree& tree, const std::string& story) {
    if (!seen.insert(tree).second) return;
    TemporaryFolder folder;
    write_tree(tree, folder.path());
    check({folder.path(), marks, story});
    ++states;
  };
  auto fail = [&] {
    disk.fail(found);
    for (std::int64_t i = 0; i < drawn; ++i) disk.draw(random, found);
  };
  fail();
  for (const DiskChange& change : log.changes) {
    disk.go_on(change);
    if (change.kind == Kind::mark) {
      ++marks;
      seen.clear();  // what was right before may not be any more
    }
    fail();
  }
  if (counts) tell_count(states, "states after a power failure");
}

}  // namespace belfry
