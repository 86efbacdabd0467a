#include "belfry/framework/base/file.h"
#include "belfry/framework/tensor/tensor_bundle.h"
#include "belfry/framework/train/warm_start.h"
#include "training_testing.h"

namespace belfry {
namespace {

using ::testing::HasSubstr;

const NamedArrays one{{"w", Array::scalar(1.0f)}}, two{{"w", Array::scalar(2.0f)}};

double loaded(const std::string& from) { return load_weights(from).tensors.at("w").item(); }

TEST(Weights, AFolderStandsForWhatIsInIt) {
  TemporaryFolder folder;
  EXPECT_THAT(error_of([&] { load_weights(folder.path()); }), HasSubstr("has no checkpoint"));
  std::filesystem::create_directory(folder / "variables");
  write_tensor_bundle(folder / "variables/variables", one);
  EXPECT_EQ(load_weights(folder.path()).path, folder / "variables/variables");
  write_tensor_bundle(folder / "model.ckpt-3", two);
  write_file_atomically(folder / "checkpoint",
                        "model_checkpoint_path: \"model.ckpt-3\"\n"
                        "all_model_checkpoint_paths: \"model.ckpt-2\"\n");
  EXPECT_EQ(loaded(folder.path()), 2);
  write_file_atomically(folder / "checkpoint",
                        "model_checkpoint_path: \"" + folder / "model.ckpt-3" + "\"\n");
  EXPECT_EQ(loaded(folder / ""), 2);  // with a slash behind it, and a whole path in it
  save_safetensors(folder / "model.safetensors", one);
  EXPECT_EQ(loaded(folder.path()), 1);
  save_checkpoint(folder.path(), {.variables = two, .step = 5, .input = {}, .hooks = {}},
                  {.newest = 0});
  write_file_atomically(checkpoint_path(folder.path(), 7), "damaged");
  CapturedLog log;
  EXPECT_EQ(loaded(folder.path()), 2);
  EXPECT_THAT(log.warnings,
              ::testing::ContainsRegex("cannot use a checkpoint, trying something older: [^\n]*"
                                       "checkpoint-7.safetensors"));
}

TEST(Weights, AFileThatCannotBeLookedAtIsNotPassedOver) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "variables");
  write_tensor_bundle(folder / "variables/variables", one);
  const std::string path = folder / "model.safetensors";
  std::filesystem::create_symlink(path, path);
  for (const std::string& from : {folder.path(), path})
    EXPECT_THAT(error_of([&] { load_weights(from); }), HasSubstr("cannot look at `" + path + "`"));
}

TEST(Weights, TensorFlowsAreNamedByPrefixOrIndex) {
  TemporaryFolder folder;
  write_tensor_bundle(folder / "model", one);
  EXPECT_EQ(loaded(folder / "model"), 1);
  EXPECT_EQ(loaded(folder / "model.index"), 1);
  EXPECT_THAT(error_of([&] { load_weights(folder / "mode"); }), HasSubstr("there is no file"));
}

TEST(Weights, SeveralFilesAreOne) {
  TemporaryFolder folder;
  save_safetensors(folder / "a.safetensors", one);
  save_safetensors(folder / "b.safetensors", {{"v", Array::scalar(3.0f)}});
  auto with_map = [&](const std::string& map) {
    write_file_atomically(folder / "model.safetensors.index.json",
                          R"({"metadata": {}, "weight_map": )" + map + "}");
    return load_weights(folder.path());
  };
  Weights both = with_map(R"({"w": "a.safetensors", "v": "b.safetensors"})");
  EXPECT_EQ(both.tensors.size(), 2u);
  EXPECT_EQ(both.tensors.at("v").item(), 3);
  auto error = [&](const std::string& map) { return error_of([&] { with_map(map); }); };
  EXPECT_THAT(error(R"({"w": "../a.safetensors"})"),
              HasSubstr("`weight_map.w` must be the name of a file beside this one, got \"../a"));
  EXPECT_THAT(error(R"({"w": "b.safetensors"})"), HasSubstr("does not say that `v` is in"));
  EXPECT_THAT(error(R"({"w": "a.safetensors", "x": "a.safetensors"})"),
              HasSubstr("`x` is not in `a.safetensors`"));
  EXPECT_THAT(error("[]"), HasSubstr("`weight_map` must be an object, got []"));
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_THAT(error(R"({"w": )" + deep + "}"), HasSubstr("nested more than 64 deep"));
}

}  // namespace
}  // namespace belfry
