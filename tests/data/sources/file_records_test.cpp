#include "belfry/data/sources/file_records.h"

#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;

// "files" that need no disk. A path spells its records, one letter each: `!` is one that fails, `x`
// the same with the rest of the file lost. A path that begins with `-` cannot be opened.
class Letters final : public RecordFile {
 public:
  Letters(const std::string& path, int& opened) : path_(path) {
    ++opened;
    require(!path.starts_with('-'), path, ": cannot be opened");
  }
  bool next(Features& out) override {
    if (at_ == path_.size()) return false;
    char letter = path_[at_++];
    lost_ = letter == 'x';
    require(letter != '!' && letter != 'x', path_, ": damaged at byte ", at_ - 1);
    put_bytes("record", bytes_in({&letter, 1}), out);
    return true;
  }
  bool skip() override {
    if (at_ == path_.size()) return false;
    lost_ = path_[at_++] == 'x';
    require(!lost_, "lost");
    return true;
  }
  bool lost() const override { return lost_; }
  RecordPosition position() const override { return {static_cast<std::int64_t>(at_), 0}; }
  void seek(RecordPosition position) override { at_ = static_cast<std::size_t>(position.offset); }

 private:
  std::string path_;
  std::size_t at_ = 0;
  bool lost_ = false;
};

struct Opened {
  int count = 0;
};

Dataset letters(std::vector<std::string> paths, std::shared_ptr<Opened> opened = {}) {
  if (!opened) opened = std::make_shared<Opened>();
  return file_records("letters", std::move(paths), [=](const std::string& path) {
    return std::make_unique<Letters>(path, opened->count);
  });
}

Words read(const Dataset& dataset) { return strings(dataset, "record"); }

// The position that a stream saves once it has yielded `count` elements.
std::string position_after(int count, const std::vector<std::string>& paths) {
  InputStreamPtr stream = open(letters(paths));
  Features element;
  for (int i = 0; i < count; ++i) stream->next(element);
  return stream->save();
}

TEST(FileRecords, ReadsOneFileAfterTheOther) {
  EXPECT_EQ(read(letters({"ab", "", "c", "", ""})), (Words{"a", "b", "c"}));
  EXPECT_EQ(read(letters({"", ""})), Words{});
  EXPECT_EQ(letters({"ab"}).cardinality(), unknown);
  EXPECT_FALSE(letters({"ab"}).info().random_access);
  EXPECT_EQ(error_of([] { letters({}); }), "letters: there are no files");
}

TEST(FileRecords, EndsForGood) {
  InputStreamPtr stream = open(letters({"a"}));
  Features element;
  EXPECT_TRUE(stream->next(element));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(stream->next(element));
}

TEST(FileRecords, AnErrorStandsInPlaceOfOneElement) {
  EXPECT_EQ(read(letters({"a!b", "-", "c"})),
            (Words{"a", "error: a!b: damaged at byte 1 (at element 1, epoch 0)", "b",
                   "error: -: cannot be opened (at element 3, epoch 0)", "c"}));
}

TEST(FileRecords, LeavesAFileWhoseRestIsLost) {
  EXPECT_EQ(read(letters({"axb", "c"})), (Words{"a",
                                                "error: axb: damaged at byte 1 (the rest of the "
                                                "file is left out) (at element 1, epoch 0)",
                                                "c"}));
}

TEST(FileRecords, NumbersElementsOverAllFiles) {
  Pass pass;
  pass.epoch = 4;
  pass.scheduler = std::make_shared<Scheduler>(1);
  IteratorPtr iterator = letters({"a!", "-", "", "b"}).iterate(pass);
  Element element;
  for (std::int64_t i = 0; i < 4; ++i) {
    bool failed = error_of([&] { iterator->next(element); }) != "no error";
    EXPECT_EQ(failed, i == 1 || i == 2);
    EXPECT_EQ(element.index, i);
    EXPECT_EQ(element.epoch, 4u);
  }
}

TEST(FileRecords, SkipsWhatWouldHaveFailedToo) {
  expect_skips(letters({"a!b", "-", "c", "", "axb", "d"}), "record");
}

TEST(FileRecords, OpensNoFileBeforeItsTurn) {
  auto opened = std::make_shared<Opened>();
  InputStreamPtr stream = open(letters({"ab", "c", "d"}, opened));
  EXPECT_EQ(opened->count, 0);
  Features element;
  stream->next(element);
  stream->next(element);
  EXPECT_EQ(opened->count, 1);
  stream->next(element);
  EXPECT_EQ(opened->count, 2);
}

TEST(FileRecords, Resumes) {
  expect_resumes(letters({"a!b", "-", "c", "", "axb", "-", "d", ""}), 60, 25, "record");
  expect_resumes(letters({"ab", "c"}) | repeat(2), 60, 25, "record");
}

TEST(FileRecords, OpensOnlyTheFileInWhichItResumes) {
  auto opened = std::make_shared<Opened>();
  std::string state = position_after(3, {"ab", "cd", "e"});
  InputStreamPtr stream = open(letters({"ab", "cd", "e"}, opened));
  stream->restore(state);
  EXPECT_EQ(opened->count, 1);
  EXPECT_EQ(strings(*stream, "record"), (Words{"d", "e"}));
  EXPECT_EQ(opened->count, 2);
}

TEST(FileRecords, RefusesThePositionInOtherFiles) {
  auto error = [](const std::vector<std::string>& paths, const std::string& state) {
    return error_of([&] { open(letters(paths))->restore(state); });
  };
  EXPECT_THAT(error({"ab", "c"}, position_after(3, {"ab", "cd", "e"})),
              HasSubstr("files.count = 3, this pipeline has 2"));
  std::string state = position_after(2, {"ab", "c"});
  EXPECT_EQ(error({"ab", "c"}, state), "no error");
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"ab", "d"}, {"c", "ab"}, {"a", "bc"}, {"abc", ""}})
    EXPECT_THAT(error(other, state), HasSubstr("the saved position has files.names = "));
  // The CRC-32C of ab, zero, c, zero.
  EXPECT_THAT(state, HasSubstr("files.count=2 files.names=637870866 files.current=0 "));
  std::size_t at = state.find("files.current=0");
  EXPECT_THAT(error({"ab", "c"}, state.replace(at, 15, "files.current=3")),
              HasSubstr("files.current = 3, expected 0 to 2"));
}

TEST(FileRecords, PipelinesShareWholeFilesWhereThereAreEnough) {
  Dataset data = letters({"ab", "-", "c", "de", ""});
  EXPECT_EQ(words_of_shard(data, 2, 0, "record"), (Words{"a", "b", "c"}));
  EXPECT_EQ(words_of_shard(data, 2, 1, "record"),
            (Words{"error: -: cannot be opened (at element 0, epoch 0)", "d", "e"}));
  EXPECT_EQ(describe_shards(letters({"ab", "c", "d"}), 2),
            "letters, pipeline 0 of 2: files ab, d\nletters, pipeline 1 of 2: files c\n");
}

TEST(FileRecords, PipelinesShareElementsWhereThereAreFewFiles) {
  Dataset data = letters({"ab!c", "de"});
  EXPECT_EQ(words_of_shard(data, 3, 0, "record"), (Words{"a", "c"}));
  EXPECT_EQ(words_of_shard(data, 3, 1, "record"), (Words{"b", "d"}));
  EXPECT_EQ(words_of_shard(data, 3, 2, "record"),
            (Words{"error: ab!c: damaged at byte 2 (at element 2, epoch 0)", "e"}));
}

TEST(FileRecords, UsesTheMemoryItIsGiven) {
  InputStreamPtr stream = open(letters({"ab"}));
  Features element;
  stream->next(element);
  const void* memory = element.at("record").raw();
  stream->next(element);
  EXPECT_EQ(element.at("record").raw(), memory);
  EXPECT_EQ(text_of(element.at("record")), "b");
}

}  // namespace
}  // namespace belfry::data
