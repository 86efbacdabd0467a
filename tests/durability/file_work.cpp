#include "file_work.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "../data/pipeline.h"
#include "../framework/export/export_testing.h"
#include "../hooks/tensorboard/events.h"
#include "belfry/data/data.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/hooks/hooks.h"
#include "belfry/hooks/tensorboard/event_file.h"
#include "belfry/hooks/tensorboard/summary_values.h"

namespace belfry {

std::string not_among(const std::string& found, const std::vector<std::string>& right) {
  return std::ranges::find(right, found) != right.end() ? "" : "it is `" + found + "`";
}

FileWork reading(std::function<std::string()> read) {
  auto found = std::make_shared<std::string>();
  std::string right = read();
  return {[=] {
            found->clear();
            *found = read();
          },
          [=](bool done) { return done ? not_among(*found, {right}) : ""; }};
}

namespace {

using data::range;
using Begin = std::function<FileWork(const std::string&)>;

FileWork atomic_file(const std::string& folder) {
  std::string path = folder + "/f";
  write_file_atomically(path, "old");
  auto right = [](bool done) {
    return done ? std::vector<std::string>{"new"} : std::vector<std::string>{"old", "new"};
  };
  return {[=] { write_file_atomically(path, "new"); },
          [=](bool done) { return not_among(read_file(path), right(done)); }};
}

FileWork new_folders(const std::string& folder) {
  std::string dir = folder + "/a/b";
  return {[=] {
            probe_writable(dir);
            write_file_atomically(dir + "/f", "new");
          },
          [=](bool done) {
            bool there = std::filesystem::exists(dir + "/f");
            return there || done ? not_among(read_file(dir + "/f"), {"new"}) : "";
          }};
}

FileWork read_files(const std::string& folder) {
  std::string path = folder + "/f";
  write_file_atomically(path, "0123456789");
  return reading([=] {
    RandomAccessFile file(path);
    std::string part(7, ' ');
    file.read(2, std::as_writable_bytes(std::span(part)));
    return read_file(path) + part;
  });
}

FileWork kept_checkpoints(const std::string& folder) {
  KeepRules keep{.newest = 1, .every = std::chrono::seconds(1)};
  save_checkpoint(folder, {.variables = {{"w", Array::scalar(1.f)}}, .step = 1}, keep);
  auto fault = [=](bool done) -> std::string {
    auto newest = load_latest_checkpoint(folder);
    if (!newest || newest->variables.at("w").item() != static_cast<double>(newest->step))
      return "the newest is not whole";
    auto all = list_checkpoints(folder);
    std::ranges::copy(list_checkpoints(kept_folder(folder)), std::back_inserter(all));
    for (const CheckpointFile& file : all) load_checkpoint(file.path);
    if (done && newest->step != 2) return "the new one is missing";
    return std::ranges::count(all, 1, &CheckpointFile::step) == 1 ? "" : "the old one is missing";
  };
  return {[=] {
            save_checkpoint(folder, {.variables = {{"w", Array::scalar(2.f)}}, .step = 2}, keep);
          },
          fault};
}

FileWork events(const std::string& folder) {
  auto path = std::make_shared<std::string>();
  std::vector<std::string> right{"version", "1 loss=0.5", "2 loss=1.5", "3 session 2"};
  auto run = [=] {
    using namespace hooks;
    EventFile file(folder + "/run", {.flush = std::chrono::hours(1)});
    *path = file.path();
    file.add(1, {scalar_summary("loss", 0.5)});
    file.flush();
    file.add(2, {scalar_summary("loss", 1.5)});
    file.add_session(3, SessionStatus::stop);
  };
  return {run, [=](bool done) -> std::string {
            if (!done && !std::filesystem::exists(*path)) return "";
            auto words = hooks::words_of(*path);
            if (done) return words == right ? "" : "events are missing: " + join(words, ", ");
            std::erase_if(words,
                          [&](auto& w) { return std::ranges::find(right, w) != right.end(); });
            return words.empty() ? "" : "foreign events: " + join(words, ", ");
          }};
}

constexpr std::int64_t elements = 5;

/// A file of elements that is made on the way of reading them; the second reading is from it.
Begin elements_by(data::Transform (*keep)(const std::string&)) {
  return [=](const std::string& folder) {
    std::string path = folder + "/f";
    auto found = std::make_shared<data::Values>();
    auto run = [=] {
      found->clear();
      Dataset dataset = range(elements) | keep(path);
      for (int pass = 0; pass < 2; ++pass) *found = data::values(dataset);
    };
    return FileWork{run, [=](bool done) -> std::string {
                      auto right = data::counting(0, elements);
                      if (done && *found != right) return "other elements were read";
                      if (!done && !std::filesystem::exists(path)) return "";
                      return data::values(data::from_snapshot(path)) == right
                                 ? ""
                                 : "the file has other elements";
                    }};
  };
}

FileWork read_elements(const std::string& folder) {
  std::string path = folder + "/f";
  range(elements) | data::snapshot(path);
  return reading([=] {
    return text(data::values(range(elements) | data::cache(path)).size())
           + join(data::values(data::from_snapshot(path)), ",");
  });
}

/// Lines of four files at once.
FileWork four_workers(const std::string& folder) {
  std::vector<std::string> paths;
  for (int i = 0; i < 6; ++i) {
    paths.push_back(concat(folder, "/lines", i));
    write_file_atomically(paths.back(), concat(i, "a\n", i, "b\n", i, "c\n"));
  }
  return reading([=] {
    Dataset lines = data::files(paths)
                    | data::interleave(data::read_text_lines, {.cycle_length = 4, .workers = 4});
    std::string all;
    for (const Features& line : lines) all += data::text_of(line.at("line"));
    return all;
  });
}

FileWork quarantine(const std::string& folder) {
  std::string path = folder + "/bad.tsv";
  const std::string old = "3\t12\tearlier\n";
  write_file_atomically(path, old);
  auto before = std::make_shared<std::string>(old);
  auto run = [=] {
    *before = read_file(path);
    data::OnErrorOptions options{.action = data::OnError::skip, .quarantine = path};
    (void)data::values(range(6) | data::failing_at({1, 4}) | data::on_error(options));
  };
  return {run, [=](bool done) -> std::string {
            const std::string lines =
                "0\t1\tbad value 1 (at element 1, epoch 0)\n"
                "0\t4\tbad value 4 (at element 4, epoch 0)\n";
            std::string first = lines.substr(0, lines.find('\n') + 1);
            std::string now = read_file(path);
            for (std::int64_t index : data::read_quarantine(path))
              if (index != 1 && index != 4 && index != 12) return "another index";
            if (done) return not_among(now, {*before + lines});
            return not_among(now, {*before, *before + first, *before + lines});
          }};
}

FileWork read_lists(const std::string& folder) {
  std::string path = folder + "/bad.tsv";
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += concat("0\t", i, "\tmessage\n");
  write_file_atomically(path, lines);
  return reading([=] { return join(data::read_quarantine(path), ","); });
}

std::string predicted(const std::string& exported) {
  Features batch{{"x", vector_of({1, 2}, {1, 2})}};
  return text(Predictor::load(exported)(batch).at("y").item());
}

FileWork exports(const std::string& folder) {
  ExportOptions options = line_options(folder);
  std::string dir = folder + "/export";
  export_model(dir, options);
  auto written = std::make_shared<std::string>();
  auto run = [=] {
    written->clear();
    *written = export_model(dir, options);
  };
  return {run, [=](bool done) -> std::string {
            auto all = list_exports(dir);
            for (const std::string& path : all)
              if (predicted(path) != "20") return path + " predicts something else";
            if (all.empty()) return "the old one is gone";
            for (const auto& entry : std::filesystem::directory_iterator(dir))
              if (done && entry.path().filename().string().starts_with('.'))
                return "a temporary folder is left";
            return !done || all.back() == *written ? "" : "the new one is missing";
          }};
}

FileWork load_export(const std::string& folder) {
  std::string dir = folder + "/export";
  export_model(dir, line_options(folder));
  return reading([=] { return predicted(newest_export(dir)); });
}

}  // namespace

std::vector<FileScenario> file_scenarios() {
  return {{"atomic_file", atomic_file},
          {"new_folders", new_folders},
          {"read_files", read_files},
          {"kept_checkpoints", kept_checkpoints},
          {"events", events},
          {"cache", elements_by(data::cache)},
          {"snapshot", elements_by(data::snapshot)},
          {"read_elements", read_elements},
          {"four_workers", four_workers},
          {"quarantine", quarantine},
          {"read_quarantine", read_lists},
          {"export", exports},
          {"load_export", load_export}};
}

}  // namespace belfry
