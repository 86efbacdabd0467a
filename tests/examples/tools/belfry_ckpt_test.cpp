#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "../../framework/base/temporary_folder.h"
#include "belfry/data/formats/arrays/npz.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/framework/train/checkpoint.h"
#include "belfry/version.h"
#include "run_program.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

class BelfryCkpt : public ::testing::Test {
 protected:
  Ran run(const std::string& arguments) { return run_in(folder.path(), BELFRY_CKPT, arguments); }
  NamedArrays tensors(const std::string& name) { return load_safetensors(folder / name).tensors; }
  void save(const std::string& name, const NamedArrays& arrays) {
    save_safetensors(folder / name, arrays);
  }

  TemporaryFolder folder;
  const NamedArrays two{{"n", Array::scalar<std::int64_t>(3)},
                        {"w", Array::of<float>({1, 2, 4, 8}, {2, 2})}};
};

TEST_F(BelfryCkpt, SaysItsVersion) {
  Ran version = run("--version");
  EXPECT_EQ(version.status, 0) << version.err;
  EXPECT_EQ(version.out, concat(build_info(), "\n"));
}

TEST_F(BelfryCkpt, SaysThatItCannotPrint) {
  Ran ran = run_in(folder.path(), BELFRY_CKPT, "--version", "/dev/full");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.err, "error: cannot write to standard output\n");
}

TEST_F(BelfryCkpt, ListsCheckpoints) {
  save_checkpoint(folder.path(), {.variables = two, .step = 10, .input = {}, .hooks = {}},
                  {.newest = 0});
  write_file_atomically(checkpoint_path(folder.path(), 200), "damaged");
  Ran ls = run("ls .");
  EXPECT_EQ(ls.status, 0) << ls.err;
  EXPECT_THAT(ls.out, MatchesRegex("step  tensors  size   file\n"
                                   "10    2        [0-9]+ B  checkpoint-10.safetensors\n"
                                   "200   damaged  7 B    checkpoint-200.safetensors\n"));
  EXPECT_THAT(run("ls /nowhere").err, HasSubstr("error: ls: folder `/nowhere` has no checkpoints"));
}

TEST_F(BelfryCkpt, ShowsWhatAFileHolds) {
  save_checkpoint(folder.path(),
                  {.variables = two, .step = 10, .seed = 4, .input = {}, .hooks = {}},
                  {.newest = 0});
  Ran show = run("show checkpoint-10.safetensors --statistics");
  EXPECT_EQ(show.status, 0) << show.err;
  EXPECT_THAT(show.out, HasSubstr("belfry.global_step: 10\n"));
  EXPECT_THAT(show.out, HasSubstr("name  type       least  mean  largest\n"
                                  "n     i64[]      3      3     3\n"
                                  "w     f32[2, 2]  1      3.75  8\n"
                                  "2 tensors, 5 elements, 24 B\n"));
  EXPECT_EQ(run("show .").out, "./" + run("show checkpoint-10.safetensors").out);
}

TEST_F(BelfryCkpt, TablesMayBeJson) {
  save_checkpoint(folder.path(), {.variables = two, .step = 10, .input = {}, .hooks = {}},
                  {.newest = 0});
  std::string file = "./checkpoint-10.safetensors";
  write_file_atomically(checkpoint_path(folder.path(), 200), "damaged");
  EXPECT_THAT(run("ls . --json").out,
              MatchesRegex(R"(\[\{"step":10,"tensors":2,"bytes":[0-9]+,"file":")" + file
                           + R"("\},\{"step":200,"tensors":null,"bytes":7,"file":".*"\}\])"
                             "\n"));
  Ran show = run("show checkpoint-10.safetensors --json --statistics");
  EXPECT_THAT(show.out, StartsWith(R"({"path":"checkpoint-10.safetensors","metadata":{"belfry.)"));
  EXPECT_THAT(
      show.out,
      HasSubstr(R"("tensors":[{"name":"n","type":"i64","shape":[],"least":3.0,"mean":3.0,)"
                R"("largest":3.0},{"name":"w","type":"f32","shape":[2,2],"least":1.0,"mean":3.75,)"
                R"("largest":8.0}],"left_out":[]})"));
  save("b.safetensors", {{"n", two.at("n")}});
  Ran diff = run("diff checkpoint-10.safetensors b.safetensors --json");
  EXPECT_EQ(diff.status, 1);
  EXPECT_EQ(
      diff.out,
      R"({"tensors":2,"differences":[{"name":"w","what":"only in checkpoint-10.safetensors"}]})"
      "\n");
  Ran verify = run("verify . --json");
  EXPECT_EQ(verify.status, 1);
  EXPECT_THAT(verify.out, StartsWith(R"([{"path":")" + file
                                     + R"(","ok":true,"what":"2 tensors, 5 elements, 24 B"},{)"));
}

TEST_F(BelfryCkpt, NamesItsCommandsWhereOneIsUnknown) {
  EXPECT_EQ(run("frob x").err,
            "error: command line: there is no command `frob`; the commands are ls, show, diff, "
            "rename, average, verify, convert\n");
  EXPECT_THAT(run("ls . --frob").err, HasSubstr("; --help lists the options\n"));
}

TEST_F(BelfryCkpt, FindsDifferences) {
  save("a.safetensors", two);
  save("b.safetensors", {{"w", Array::of<float>({1, 2, 4.25f, 8}, {2, 2})},
                         {"n", Array::scalar<std::int32_t>(3)},
                         {"new", Array::scalar(1.0f)}});
  Ran diff = run("diff a.safetensors b.safetensors");
  EXPECT_EQ(diff.status, 1);
  EXPECT_EQ(diff.out,
            "n    i64[] and i32[]\nw    by 0.25 at most\nnew  only in b.safetensors\n"
            "3 of 3 tensors differ\n");
  EXPECT_THAT(run("diff a.safetensors b.safetensors --tolerance 0.25").out,
              HasSubstr("2 of 3 tensors differ"));
  EXPECT_EQ(run("diff a.safetensors a.safetensors").status, 0);
}

// 2^53 + 1 is no f64; 2^64 is the one nearest to twice the largest number.
TEST_F(BelfryCkpt, ComparesIntegersAsIntegers) {
  constexpr std::int64_t large = std::int64_t{1} << 53, top = ~(std::int64_t{1} << 63);
  save("a.safetensors", {{"n", Array::of<std::int64_t>({large, 5})}});
  save("b.safetensors", {{"n", Array::of<std::int64_t>({large + 1, 5})}});
  save("c.safetensors", {{"n", Array::of<std::int64_t>({large, -top})}});
  save("d.safetensors", {{"n", Array::of<std::int64_t>({large, top})}});
  Ran diff = run("diff a.safetensors b.safetensors --tolerance 0.5");
  EXPECT_EQ(diff.status, 1);
  EXPECT_THAT(diff.out, StartsWith("n  by 1 at most\n"));
  EXPECT_EQ(run("diff a.safetensors b.safetensors --tolerance 1").status, 0);
  EXPECT_THAT(run("diff c.safetensors d.safetensors").out,
              StartsWith("n  by 18446744073709551616 at most"));
}

TEST_F(BelfryCkpt, NotANumberIsEveryStatistic) {
  save("a.safetensors", {{"w", Array::of<float>({1, std::nanf(""), 2})}});
  EXPECT_THAT(run("show a.safetensors --statistics").out, HasSubstr("f32[3]  nan    nan   nan\n"));
}

TEST_F(BelfryCkpt, RenamesTensors) {
  save("a.safetensors", {{"layer.1.weight", Array::scalar(1.0f)}, {"n", Array::scalar(2.0f)}});
  Ran renamed =
      run("rename --name n count --rule 'layer\\.(\\d)\\.weight' 'layer$1/kernel' "
          "a.safetensors b.safetensors");
  EXPECT_EQ(renamed.status, 0) << renamed.err;
  EXPECT_EQ(tensors("b.safetensors").at("layer1/kernel").item(), 1);
  EXPECT_EQ(tensors("b.safetensors").at("count").item(), 2);
  EXPECT_THAT(run("rename a.safetensors c.safetensors --name x y").err,
              HasSubstr("has no tensor `x`"));
  EXPECT_THAT(run("rename a.safetensors c.safetensors --name n x --name n y").err,
              HasSubstr("rename: `n` is named twice"));
  Ran twice = run("rename a.safetensors c.safetensors --rule '.*' same");
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.err, HasSubstr("two tensors would be called `same`"));
  // The longest name that rules match, with what takes a regular expression deepest, and a longer.
  write_tensor_bundle(folder / "deep", {{std::string(256, 'a'), Array::scalar(3.0f)}});
  Ran deep = run("rename deep d.safetensors --rule '(a|b)*' same");
  EXPECT_EQ(deep.status, 0) << deep.err;
  EXPECT_EQ(tensors("d.safetensors").at("same").item(), 3);
  std::string name(257, 'a');
  write_tensor_bundle(folder / "deeper", {{name, Array::scalar(4.0f)}});
  EXPECT_THAT(run("rename deeper e.safetensors --rule '(a|b)*' same").err,
              HasSubstr("a name of 257 bytes; rules match names of at most 256"));
  EXPECT_EQ(run("rename deeper e.safetensors --name " + name + " short").status, 0);
  EXPECT_EQ(tensors("e.safetensors").at("short").item(), 4);
  data::write_npz(folder / "long.npz", {{std::string(60'000, 'a'), Array::scalar(3.0f)}});
  EXPECT_THAT(run("rename long.npz d.safetensors --rule '(a|b)*' same").err,
              HasSubstr("a name is 60000 bytes long; at most 4096"));
}

// As checkpoints hold them: slots are below their variables, and some names only look alike.
TEST_F(BelfryCkpt, RenamesSlotsWithTheirVariables) {
  NamedArrays model{{"a/w", Array::scalar(1.0f)},
                    {"a/w/adam/m", Array::scalar(2.0f)},
                    {"a/w/moving_average", Array::scalar(3.0f)},
                    {"a/w2", Array::scalar(4.0f)},
                    {"a/w2/adam/m", Array::scalar(5.0f)}};
  save("a.safetensors", model);
  auto names = [&](const std::string& arguments) {
    Ran ran = run("rename a.safetensors b.safetensors " + arguments);
    EXPECT_EQ(ran.status, 0) << ran.err;
    std::map<std::string, double> out;
    for (const auto& [name, array] : tensors("b.safetensors")) out[name] = array.item();
    return out;
  };
  using Names = std::map<std::string, double>;
  EXPECT_EQ(names("--name a/w b/k"), (Names{{"b/k", 1},
                                            {"b/k/adam/m", 2},
                                            {"b/k/moving_average", 3},
                                            {"a/w2", 4},
                                            {"a/w2/adam/m", 5}}));
  EXPECT_EQ(names("--rule 'a/(w2?)' '$1' --name a/w/moving_average average"),
            (Names{{"w", 1}, {"w/adam/m", 2}, {"average", 3}, {"w2", 4}, {"w2/adam/m", 5}}));
  EXPECT_EQ(names("--rule '(.*)/adam/(.)' '$1/adamw/$2' --name a/w b"),
            (Names{{"b", 1},
                   {"a/w/adamw/m", 2},
                   {"b/moving_average", 3},
                   {"a/w2", 4},
                   {"a/w2/adamw/m", 5}}));
  // A scope is no tensor.
  EXPECT_EQ(names("--rule 'a(/w2)?' 'b$1'"), (Names{{"a/w", 1},
                                                    {"a/w/adam/m", 2},
                                                    {"a/w/moving_average", 3},
                                                    {"b/w2", 4},
                                                    {"b/w2/adam/m", 5}}));
  EXPECT_THAT(run("rename --help").out, HasSubstr("(w/adam/m is below w)"));
}

TEST_F(BelfryCkpt, RefusesToRenameNothing) {
  save("a.safetensors", two);
  auto error = [&](const std::string& arguments) {
    Ran ran = run("rename a.safetensors b.safetensors " + arguments);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_FALSE(std::filesystem::exists(folder / "b.safetensors"));
    return ran.err;
  };
  EXPECT_EQ(error("--rule w v --rule 'weigh(.)' 'x$1'"),
            "error: rename: the rule `weigh(.)` renames no tensor of a.safetensors; a rule must "
            "match whole names, and the first that matches counts\n");
  EXPECT_THAT(error("--rule '.' 'x$&' --rule w v"), HasSubstr("the rule `w` renames no tensor"));
  EXPECT_EQ(error(""), "error: rename: there is no --name and no --rule\n");
}

TEST_F(BelfryCkpt, AveragesFilesOfTheSameTensors) {
  save_checkpoint(folder.path(), {.variables = two, .step = 10, .input = {}, .hooks = {}},
                  {.newest = 0});
  NamedArrays later{{"n", Array::scalar<std::int64_t>(9)},
                    {"w", Array::of<float>({3, 2, 0, -8}, {2, 2})}};
  save_checkpoint(folder.path(), {.variables = later, .step = 20, .input = {}, .hooks = {}},
                  {.newest = 0});
  Ran mean = run("average mean.safetensors checkpoint-10.safetensors checkpoint-20.safetensors");
  EXPECT_EQ(mean.status, 0) << mean.err;
  Checkpoint checkpoint = load_checkpoint(folder / "mean.safetensors");
  EXPECT_TRUE(identical(checkpoint.variables.at("w"), Array::of<float>({2, 2, 2, 0}, {2, 2})));
  EXPECT_EQ(checkpoint.variables.at("n").item(), 9);
  EXPECT_EQ(checkpoint.step, 20);
  save("less.safetensors", {{"w", two.at("w")}});
  for (const char* files :
       {"less.safetensors checkpoint-10.safetensors", "checkpoint-10.safetensors less.safetensors"})
    EXPECT_EQ(run("average x.safetensors " + std::string(files)).status, 2) << files;
}

TEST_F(BelfryCkpt, AveragesAllCheckpointsOfAFolder) {
  std::filesystem::create_directory(folder / "run");
  for (int step : {100, 20, 3})
    save_checkpoint(
        folder / "run",
        {.variables = {{"w", Array::scalar<float>(static_cast<float>(step))}}, .step = step},
        {.newest = 0});
  Ran mean = run("average mean.safetensors run");
  EXPECT_EQ(mean.status, 0) << mean.err;
  EXPECT_EQ(mean.out, "mean of 3 files\nwrote mean.safetensors: 1 tensors, 1 elements, 4 B\n");
  Checkpoint checkpoint = load_checkpoint(folder / "mean.safetensors");
  EXPECT_EQ(checkpoint.variables.at("w").item(), 41);
  EXPECT_EQ(checkpoint.step, 100);
  save("one.safetensors", {{"w", Array::scalar(77.0f)}});
  EXPECT_THAT(run("average both.safetensors run one.safetensors").out,
              StartsWith("mean of 4 files\n"));
  EXPECT_EQ(tensors("both.safetensors").at("w").item(), 50);
  write_file_atomically(checkpoint_path(folder / "run", 200), "damaged");
  EXPECT_THAT(run("average x.safetensors run").err, HasSubstr("checkpoint-200.safetensors"));
  std::filesystem::create_directory(folder / "tf");
  write_file_atomically(folder / "tf/checkpoint", "model_checkpoint_path: \"model.ckpt-2\"\n");
  write_tensor_bundle(folder / "tf/model.ckpt-2", two);
  EXPECT_THAT(run("average x.safetensors tf").err,
              HasSubstr("average: folder `tf` has checkpoints of TensorFlow's; name each"));
  EXPECT_FALSE(std::filesystem::exists(folder / "x.safetensors"));
}

TEST_F(BelfryCkpt, VerifiesWhatIsThere) {
  std::string path = save_checkpoint(
      folder.path(), {.variables = two, .step = 10, .input = {}, .hooks = {}}, {.newest = 0});
  EXPECT_EQ(run("verify .").status, 0);
  std::string bytes = read_file(path);
  bytes.back() ^= 1;
  write_file_atomically(path, bytes);
  Ran verify = run("verify .");
  EXPECT_EQ(verify.status, 1);
  EXPECT_THAT(verify.out, StartsWith("damaged  ./checkpoint-10.safetensors: the checksum"));
  EXPECT_EQ(verify.out.find("checkpoint-10", 30), std::string::npos) << verify.out;  // named once
  Ran missing = run("verify . nowhere");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("error: there is no file"));
  EXPECT_EQ(missing.out, "");
}

TEST_F(BelfryCkpt, ConvertsBetweenFormats) {
  NamedArrays all = two;
  all["half"] = Array::scalar(0.5f).cast(DType::bf16);
  save_checkpoint(folder.path(), {.variables = all, .step = 10, .input = {}, .hooks = {}},
                  {.newest = 0});
  Ran npz = run("convert . a.npz");
  EXPECT_THAT(npz.out, StartsWith("half: bf16 as f32\nwrote a.npz: 3 tensors"));
  Features arrays = data::read_npz(folder / "a.npz");
  EXPECT_TRUE(identical(arrays.at("w"), two.at("w")));
  EXPECT_EQ(arrays.at("half").item(), 0.5);
  EXPECT_EQ(run("convert . model.ckpt").status, 0);
  NamedArrays bundle = read_tensor_bundle(folder / "model.ckpt").tensors;
  EXPECT_TRUE(identical(bundle.at("half"), all.at("half")));
  EXPECT_EQ(bundle.at("global_step").item(), 10);
  EXPECT_EQ(run("convert a.npz b.safetensors").status, 0);
  EXPECT_TRUE(identical(tensors("b.safetensors").at("n"), two.at("n")));
}

TEST_F(BelfryCkpt, WritesTheFormatThatTheNameAsksFor) {
  save("a.safetensors", two);
  std::filesystem::create_directory(folder / "v1.5");
  for (const char* prefix : {"v1.5/plain", "m.ckpt-12"}) {
    EXPECT_EQ(run(concat("convert a.safetensors ", prefix)).status, 0) << prefix;
    EXPECT_TRUE(is_tensor_bundle(folder / prefix)) << prefix;
  }
  EXPECT_EQ(run("convert a.safetensors m.ckpt.index").status, 0);
  EXPECT_TRUE(is_tensor_bundle(folder / "m.ckpt"));
  for (const char* name :
       {"out.bin", "a.safetensors.index.json", "v1.5/", "m.ckptfoo", "m.ckpt-", "m.ckpt-foo"}) {
    Ran ran = run(concat("convert a.safetensors ", name));
    EXPECT_EQ(ran.status, 2) << name;
    EXPECT_EQ(ran.err, concat("error: `", name,
                              "` asks for no format that is known; it must end with .safetensors, "
                              ".npz, or, for a checkpoint of TensorFlow's, with .ckpt, .ckpt-STEP, "
                              ".index or no extension\n"));
    EXPECT_FALSE(is_tensor_bundle(folder / name)) << name;
  }
  EXPECT_THAT(run("rename --name n m a.safetensors out.bin").err,
              HasSubstr("`out.bin` asks for no format"));
  // Before anything is read.
  EXPECT_THAT(run("average out.bin /nowhere").err, HasSubstr("`out.bin` asks for no format"));
}

TEST_F(BelfryCkpt, SaysHowItIsUsed) {
  EXPECT_THAT(run("--help").out, HasSubstr("verify"));
  EXPECT_EQ(run("--help").status, 0);
  EXPECT_EQ(run("").status, 2);
  EXPECT_THAT(run("show").err, HasSubstr("--help lists the options"));
  EXPECT_THAT(run("show /nowhere").err, HasSubstr("error: there is no file"));
}

// The options that bash offers behind `words` are those of the help.
TEST_F(BelfryCkpt, CompletesInBash) {
  auto offered = [&](const std::string& program, const std::string& words) {
    Ran ran = run_in(
        folder.path(), "bash",
        concat("-c 'source ", BELFRY_COMPLETIONS, "/belfry-", program, "; COMP_WORDS=(belfry-",
               program, " ", words, "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _belfry_", program,
               "; echo ${COMPREPLY[@]}'"));
    EXPECT_EQ(ran.status, 0) << ran.err;
    std::istringstream list(ran.out);
    return std::set<std::string>(std::istream_iterator<std::string>(list), {});
  };
  auto in_help = [&](const Ran& help) {
    std::regex option("--[a-z]+");
    std::sregex_token_iterator begin(help.out.begin(), help.out.end(), option), end;
    return std::set<std::string>(begin, end);
  };
  const std::set<std::string> commands{"ls",      "show",   "diff",   "rename",
                                       "average", "verify", "convert"};
  EXPECT_EQ(offered("ckpt", "\"\""), commands);
  EXPECT_EQ(offered("ckpt", "ver"), std::set<std::string>{"verify"});
  EXPECT_EQ(offered("ckpt", "--"), in_help(run("--help")));
  for (const std::string& command : commands)
    EXPECT_EQ(offered("ckpt", command + " --"), in_help(run(command + " --help"))) << command;
  save("weights.safetensors", two);
  EXPECT_EQ(offered("ckpt", "show we"), std::set<std::string>{"weights.safetensors"});

  Ran help = run_in(folder.path(), BELFRY_PREDICT, "--help");
  EXPECT_EQ(offered("predict", "x --"), in_help(help));
}

}  // namespace
}  // namespace belfry
