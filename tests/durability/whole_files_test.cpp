// Every kind of file that Belfry writes whole or not at all, with every fault of the disk.

#include <gmock/gmock.h>

#include <filesystem>

#include "../framework/base/error_of.h"
#include "../framework/base/temporary_folder.h"
#include "belfry/data/cache/element_file.h"
#include "belfry/data/data.h"
#include "belfry/data/formats/byte_writer.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/train/checkpoint.h"
#include "power_failure.h"
#include "trials.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::string no_file = "no file";

/// A kind of file: how one with this content, "old" or "new", is written into a folder, and which
/// one the folder has, or what is wrong with it.
struct FileKind {
  std::string name;
  std::function<void(const std::string& folder, const std::string& content)> write;
  std::function<std::string(const std::string& folder)> content;
};
void PrintTo(const FileKind& kind, std::ostream* to) { *to << kind.name; }

std::string text_of(const std::string& path) {
  return std::filesystem::exists(path) ? read_file(path) : no_file;
}

std::string unpacked(const std::string& path) {
  if (!std::filesystem::exists(path)) return no_file;
  auto file = data::ByteReader(path, data::Compression::gzip);
  std::string out(3, '\0');
  file.read(std::as_writable_bytes(std::span(out)));
  return out;
}

Checkpoint checkpoint(const std::string& content) {
  Checkpoint out;
  out.variables = {{"w", Array::of({1.f, content == "old" ? 2.f : 3.f})}, {"v", Array::of({4.f})}};
  out.step = content == "old" ? 1 : 2;
  out.input = "input of " + content;
  out.hooks = {{"hook", content}};
  return out;
}

std::string latest_checkpoint(const std::string& folder) {
  auto found = load_latest_checkpoint(folder);
  if (!found) return no_file;
  Checkpoint wanted = checkpoint(found->hooks.at("hook"));
  bool same = found->step == wanted.step && found->input == wanted.input
              && found->variables.size() == wanted.variables.size();
  for (const auto& [name, value] : wanted.variables)
    same = same && std::ranges::equal(found->variables.at(name).raw_bytes(), value.raw_bytes());
  return same ? found->hooks.at("hook") : "another checkpoint";
}

void write_elements(const std::string& path, const std::string& content) {
  data::ElementWriter writer(path);
  for (char c : content) {
    data::Element element{.features = {{"c", Array::of({static_cast<float>(c)})}}};
    writer.write(element);
  }
  writer.close();
}

std::string elements(const std::string& path) {
  if (!std::filesystem::exists(path)) return no_file;
  data::ElementReader reader(path);
  data::Element element;
  std::string out;
  for (std::int64_t i = 0; i < reader.size(); ++i) {
    reader.read(i, element);
    out += static_cast<char>(element.features.at("c").item());
  }
  return out;
}

std::vector<FileKind> file_kinds() {
  return {
      {"file", [](auto& folder, auto& content) { write_file_atomically(folder + "/f", content); },
       [](auto& folder) { return text_of(folder + "/f"); }},
      {"file_in_new_folders",
       [](auto& folder, auto& content) {
         create_folders(folder + "/" + content + "/b");
         write_file_atomically(folder + "/" + content + "/b/f", content);
       },
       [](auto& folder) {
         std::string found = text_of(folder + "/new/b/f");
         return found == no_file ? text_of(folder + "/old/b/f") : found;
       }},
      {"gzip",
       [](auto& folder, auto& content) {
         data::ByteWriter file(folder + "/f", data::Compression::gzip);
         file.write(std::as_bytes(std::span(content)));
         file.flush();
         file.close();
       },
       [](auto& folder) { return unpacked(folder + "/f"); }},
      {"checkpoint",
       [](auto& folder, auto& content) {
         save_checkpoint(folder, checkpoint(content), {.newest = 1});
       },
       latest_checkpoint},
      {"elements", [](auto& folder, auto& content) { write_elements(folder + "/f", content); },
       [](auto& folder) { return elements(folder + "/f"); }},
  };
}

bool has_temporary(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().filename().string().find(".tmp.") != std::string::npos) return true;
  return false;
}

class WholeFiles : public ::testing::TestWithParam<FileKind> {
 protected:
  void write(const std::string& folder, const std::string& content) const {
    GetParam().write(folder, content);
  }
  std::string content(const std::string& folder) const {
    try {
      return GetParam().content(folder);
    } catch (const Error& error) {
      return error.what();
    }
  }
  InFolder write_old = [this](auto& folder) { write(folder, "old"); };
  InFolder write_new = [this](auto& folder) { write(folder, "new"); };
  InFolder nothing = [](auto&) {};
  // A checkpoint that is torn is passed over with a warning.
  LogSink log = set_log_sink([](LogLevel, std::string_view) {});
  void TearDown() override { set_log_sink(log); }
};

TEST_P(WholeFiles, AreThereAfterAPowerFailure) {
  int states = 0;
  for_each_power_failure(log_of(write_old, write_new), [&](const PowerFailure& failure) {
    ++states;
    SCOPED_TRACE(failure.story);
    if (failure.marks == 0) {
      EXPECT_THAT(content(failure.folder), AnyOf("old", "new"));
    } else {
      EXPECT_EQ(content(failure.folder), "new");
    }
  });
  EXPECT_GT(states, 5);
}

TEST_P(WholeFiles, AppearDurably) {
  for_each_power_failure(log_of(nothing, write_new), [&](const PowerFailure& failure) {
    SCOPED_TRACE(failure.story);
    if (failure.marks == 0) {
      EXPECT_THAT(content(failure.folder), AnyOf(no_file, "new"));
    } else {
      EXPECT_EQ(content(failure.folder), "new");
    }
  });
}

TEST_P(WholeFiles, AreThereAfterAKill) {
  int calls = kill_at_every_call(write_old, write_new, [&](auto& folder) {
    EXPECT_THAT(content(folder), AnyOf("old", "new"));
    write(folder, "new");  // what is left over is in nobody's way
    EXPECT_EQ(content(folder), "new");
  });
  EXPECT_GT(calls, 8);
}

TEST_P(WholeFiles, AreThereAfterAFailedCall) {
  for (int error : {ENOSPC, EIO, EACCES}) {
    std::string reason = std::generic_category().message(error);
    int errors = 0;
    fail_every_call(error, write_old, write_new, [&](const Failed& failed) {
      bool written =
          failed.message.empty() || failed.message.find("is written, but") != std::string::npos;
      EXPECT_EQ(content(failed.folder), written ? "new" : "old") << failed.message;
      EXPECT_FALSE(has_temporary(failed.folder));
      if (failed.message.empty()) return;
      ++errors;
      EXPECT_THAT(failed.message,
                  AllOf(HasSubstr("`" + failed.folder), HasSubstr(": " + reason + "; "),
                        AnyOf(HasSubstr("check the disk"), HasSubstr("free some space or choose"),
                              HasSubstr("change the permissions or choose"))));
      write(failed.folder, "new");
      EXPECT_EQ(content(failed.folder), "new");
    });
    EXPECT_GE(errors, 5);  // open, write, sync, rename, sync of the folder at least
  }
}

TEST_P(WholeFiles, DoNotNoticeSignalsAndShortWrites) {
  TemporaryFolder folder;
  write(folder.path(), "old");
  FaultyDisk disk(folder.path());
  disk.interrupt();
  disk.shorten_writes(1);
  write(folder.path(), "new");
  EXPECT_GT(disk.calls(), 10);
  EXPECT_EQ(content(folder.path()), "new");
}

TEST_P(WholeFiles, AreAsTheyWereWhenTheDiskBecomesFull) {
  for (std::size_t room = 0;; room += 1 + room / 8) {
    TemporaryFolder folder;
    write(folder.path(), "old");
    {
      FaultyDisk disk(folder.path());
      disk.leave_room(room);
      std::string message = error_of([&] { write(folder.path(), "new"); });
      if (!disk.has_failed()) break;
      EXPECT_THAT(message, HasSubstr("No space left on device; free some space"));
    }
    ASSERT_EQ(content(folder.path()), "old");
    ASSERT_FALSE(has_temporary(folder.path()));
    ASSERT_LT(room, 2000u);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, WholeFiles, ::testing::ValuesIn(file_kinds()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace belfry
