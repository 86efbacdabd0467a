// Failing calls that must be told of, because what follows from silence is a loss: work that begins
// anew, a good file that is taken for a damaged one, lines that run into each other.

#include <gmock/gmock.h>

#include <filesystem>

#include "../data/pipeline.h"
#include "../framework/export/export_testing.h"
#include "../framework/train/training_testing.h"
#include "../hooks/hooks_support.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/lock_file.h"
#include "belfry/hooks/evaluate/best.h"
#include "belfry/hooks/evaluate/validate.h"
#include "belfry/hooks/tensorboard/event_file.h"
#include "belfry/hooks/tensorboard/summary_values.h"
#include "faulty_disk.h"

namespace belfry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ToldFaults : public ::testing::Test {
 protected:
  /// The message of the Error of body() when call `number` of a kind fails.
  template <class Body>
  std::string failing(DiskCall kind, int number, int error, Body body) {
    FaultyDisk disk(folder.path());
    disk.count_reads();
    disk.fail(number, error, kind);
    std::string message = error_of(body);
    EXPECT_TRUE(disk.has_failed());
    return message;
  }
  std::string save(std::int64_t step, int keep = 2) const {
    auto w = Array::scalar(static_cast<float>(step));
    return save_checkpoint(folder.path(), {.variables = {{"w", w}}, .step = step},
                           {.newest = keep});
  }

  TemporaryFolder folder;
  CapturedLog log;
};

TEST_F(ToldFaults, AFolderThatCannotBeListedIsNoEmptyOne) {
  save(1);
  EXPECT_EQ(
      failing(DiskCall::open_folder, 1, EMFILE, [&] { load_latest_checkpoint(folder.path()); }),
      "cannot list the checkpoints in `" + folder.path()
          + "`: Too many open files; raise the limit on open files (ulimit -n)");
  EXPECT_EQ(
      failing(DiskCall::list, 1, EIO, [&] { load_latest_checkpoint(folder.path()); }),
      "cannot list the checkpoints in `" + folder.path() + "`: Input/output error; check the disk");
  EXPECT_FALSE(load_latest_checkpoint(folder / "none"));
}

TEST_F(ToldFaults, ATrainingDoesNotBeginAnewInIt) {
  Estimator({.model_fn = falling, .model_dir = folder.path(), .run = saving_every(1, 2)})
      .train(over_and_over({one_point()}), {.max_steps = 5});
  Estimator again({.model_fn = falling, .model_dir = folder.path(), .run = saving_every(1, 2)});
  auto train = [&] { again.train(over_and_over({one_point()}), {.max_steps = 6}); };
  EXPECT_THAT(failing(DiskCall::open_folder, 1, EMFILE, train),
              HasSubstr("cannot list the checkpoints"));
  EXPECT_THAT(saved_steps(folder.path()), ElementsAre(4, 5));
  train();
  EXPECT_THAT(saved_steps(folder.path()), ElementsAre(5, 6));
}

TEST_F(ToldFaults, OldCheckpointsThatCannotBeListedStay) {
  save(1);
  save(2);
  EXPECT_EQ(failing(DiskCall::list, 1, EIO, [&] { save(3); }), "no error");
  EXPECT_EQ(log.warnings, "checkpoint: older ones than " + folder.path()
                              + "/checkpoint-3.safetensors are not removed: cannot list the "
                                "checkpoints in `"
                              + folder.path() + "`: Input/output error; check the disk\n");
  EXPECT_THAT(saved_steps(folder.path()), ElementsAre(1, 2, 3));
  save(4);
  EXPECT_THAT(saved_steps(folder.path()), ElementsAre(3, 4));
}

TEST_F(ToldFaults, TooManyOpenFilesSayNothingAgainstACheckpoint) {
  save(1);
  save(2);
  std::string expected = "cannot read `" + folder.path()
                         + "/checkpoint-2.safetensors`: Too many open files; raise the limit on "
                           "open files (ulimit -n)";
  EXPECT_EQ(failing(DiskCall::open_old, 1, EMFILE, [&] { load_latest_checkpoint(folder.path()); }),
            expected);
  EXPECT_EQ(failing(DiskCall::open_old, 1, EMFILE, [&] { load_weights(folder.path()); }), expected);
  EXPECT_THAT(log.warnings, IsEmpty());
  // One that the disk does not give is as good as damaged.
  EXPECT_EQ(failing(DiskCall::read, 1, EIO,
                    [&] { EXPECT_EQ(load_latest_checkpoint(folder.path())->step, 1); }),
            "no error");
  EXPECT_THAT(log.warnings, HasSubstr("checkpoint-2.safetensors` at byte 0: Input/output error"));
}

TEST_F(ToldFaults, AListOfTheBestThatCannotBeSeenIsNotBegunAnew) {
  hooks::BestList(folder.path(), "loss", Better::lower)
      .add({"checkpoint-1.safetensors", 1, 0.5}, 1);
  std::string before = read_file(folder / "best.json");
  EXPECT_EQ(failing(DiskCall::status, 1, EIO,
                    [&] {
                      hooks::BestList(folder.path(), "loss", Better::lower)
                          .add({"checkpoint-2.safetensors", 2, 0.75}, 1);
                    }),
            "cannot look at `" + folder.path() + "/best.json`: Input/output error; check the disk");
  EXPECT_EQ(read_file(folder / "best.json"), before);
}

TEST_F(ToldFaults, ABestCheckpointThatCannotBeSeenIsNotRemoved) {
  std::string kept = hooks::keep_checkpoint(save(1), hooks::best_folder(folder.path()));
  save(2);
  hooks::FakeContext context;
  context.folder = folder.path();
  context.finished = 2;
  hooks::BestValue before("validate", "loss", Better::lower, {});
  before.offer(0.5, 1);
  before.offer(0.75, 2);
  auto begin = [&] { hooks::BestCheckpoints(context, "", before, Better::lower, 2, 0); };
  EXPECT_EQ(failing(DiskCall::status, 2, EIO, begin),  // behind that of the list
            "cannot look at `" + kept + "`: Input/output error; check the disk");
  begin();
  EXPECT_THAT(saved_steps(hooks::best_folder(folder.path())), ElementsAre(1, 2));
}

TEST_F(ToldFaults, WhoeverCannotCleanUpAmongTheBestTrainsOn) {
  std::string best = hooks::best_folder(folder.path());
  hooks::keep_checkpoint(save(1), best);
  hooks::keep_checkpoint(save(2), best);
  hooks::BestList(best, "loss", Better::lower).add({"checkpoint-2.safetensors", 2, 0.5}, 1);
  hooks::FakeContext context;
  context.folder = folder.path();
  hooks::BestValue before("validate", "loss", Better::lower, {});
  auto begin = [&] { hooks::BestCheckpoints(context, "", before, Better::lower, 1, 0); };
  EXPECT_EQ(failing(DiskCall::open_folder, 1, EIO, begin), "no error");
  EXPECT_EQ(log.warnings,
            "what is no longer among the best is not removed: cannot list the checkpoints in `"
                + best + "`: Input/output error; check the disk\n");
  EXPECT_THAT(saved_steps(best), ElementsAre(1, 2));
  begin();
  EXPECT_THAT(saved_steps(best), ElementsAre(2));
}

TEST_F(ToldFaults, AKeptCheckpointThatCannotBeSeenIsNotTakenForAMissingOne) {
  std::string better = hooks::keep_checkpoint(save(1), hooks::best_folder(folder.path()));
  std::string worse = hooks::keep_checkpoint(save(2), hooks::best_folder(folder.path()));
  hooks::BestList list(hooks::best_folder(folder.path()), "loss", Better::lower);
  list.add({"checkpoint-2.safetensors", 2, 0.75}, 2);
  list.add({"checkpoint-1.safetensors", 1, 0.5}, 2);
  auto best = [&] { return hooks::best_checkpoint(folder.path()); };
  EXPECT_EQ(failing(DiskCall::status, 3, EIO, best),  // behind two of the list
            "cannot look at `" + better + "`: Input/output error; check the disk");
  EXPECT_EQ(best(), better);
  std::filesystem::remove(better);
  EXPECT_EQ(best(), worse);
}

TEST_F(ToldFaults, ALockThatCannotBeSeenIsNotWaitedFor) {
  auto lock = [&] { LockFile(folder / "lock", "model_dir: it is in use", "wait"); };
  FaultyDisk disk(folder.path());
  disk.count_reads();
  disk.fail_if_possible(3, EIO, true);  // behind open and lock
  EXPECT_EQ(error_of(lock),
            "cannot look at `" + (folder / "lock") + "`: Input/output error; check the disk");
}

TEST_F(ToldFaults, AnExportThatIsNotDurableYetIsNamed) {
  ExportOptions options = line_options(folder.path());
  std::string dir = folder / "export";
  create_folders(dir);
  // Synced before: three files, each with its folder, and the folder once more.
  std::string message = failing(DiskCall::sync, 8, EIO, [&] { export_model(dir, options); });
  ASSERT_EQ(list_exports(dir).size(), 1u) << message;
  EXPECT_THAT(message, HasSubstr("export: `" + list_exports(dir)[0]
                                 + "` is written, but a power failure may undo it: cannot sync the "
                                   "folder `"
                                 + dir + "`: Input/output error"));
}

TEST_F(ToldFaults, EventsThatAreLostAtTheCloseAreMissed) {
  auto write = [&] { hooks::EventFile(folder.path()).add(1, {hooks::scalar_summary("loss", 1)}); };
  EXPECT_EQ(failing(DiskCall::close, 1, EDQUOT, write), "no error");
  EXPECT_THAT(log.warnings, HasSubstr(": Disk quota exceeded; what cannot be written will be"));
}

/// Lines of a list of bad elements, where the disk becomes full.
class FullList : public ToldFaults {
 protected:
  std::string read() const {
    data::OnErrorOptions options{.action = data::OnError::skip, .quarantine = path};
    return error_of([&] {
      (void)data::values(data::range(6) | data::failing_at({1, 4}) | data::on_error(options));
    });
  }
  const std::string path = folder / "bad.tsv";
  const std::string full = "on_error: cannot write the quarantine file " + path
                           + ": No space left on device; free some space or choose a folder on "
                             "another disk";
  const std::string lines =
      "0\t1\tbad value 1 (at element 1, epoch 0)\n0\t4\tbad value 4 (at element 4, epoch 0)\n";
};

TEST_F(FullList, GoesBackToItsLastWholeLine) {
  for (std::size_t room = 0; room < lines.size(); ++room) {
    write_file_atomically(path, "0\t7\tearlier\n");
    {
      FaultyDisk disk(folder.path());
      disk.leave_room(room);
      EXPECT_EQ(read(), full);
    }
    std::size_t whole = room < lines.size() / 2 ? 0 : lines.size() / 2;
    ASSERT_EQ(read_file(path), "0\t7\tearlier\n" + lines.substr(0, whole)) << room;
  }
}

TEST_F(FullList, ATornLineDoesNotRunIntoTheNext) {
  write_file_atomically(path, "0\t7\tearlier\n0\t2");
  EXPECT_EQ(read(), "no error");
  EXPECT_EQ(read_file(path), "0\t7\tearlier\n0\t2\n" + lines);
  EXPECT_THAT(error_of([&] { data::read_quarantine(path); }),
              AllOf(HasSubstr("bad.tsv: line 2 is no line"), EndsWith("got `0\t2`")));
}

TEST_F(ToldFaults, AnElementIsNotLeftOutForTooManyOpenFiles) {
  std::string path = folder / "image";
  write_file_atomically(path, "pixels");
  auto read = data::map([&](Features in) {
    read_file(path);
    return in;
  });
  data::OnErrorOptions options{.action = data::OnError::skip};
  auto all = [&] { (void)data::values(data::range(3) | read | data::on_error(options)); };
  EXPECT_THAT(failing(DiskCall::open_old, 2, EMFILE, all),
              HasSubstr("cannot read `" + path + "`: Too many open files"));
  EXPECT_EQ(failing(DiskCall::open_old, 2, EIO, all), "no error");
}

TEST_F(FullList, ThatCannotBeReadToItsEndIsNoShortOne) {
  write_file_atomically(path, lines);
  EXPECT_EQ(failing(DiskCall::read, 2, EIO, [&] { data::read_quarantine(path); }),
            "cannot read `" + path + "`: Input/output error; check the disk");
}

}  // namespace
}  // namespace belfry
