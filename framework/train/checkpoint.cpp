#include "belfry/framework/train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/framework/base/folder_names.h"
#include "belfry/framework/base/json.h"
#include "belfry/framework/base/json_text.h"
#include "belfry/framework/base/log.h"
#include "belfry/framework/base/out_of_memory.h"
#include "belfry/version.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "checkpoint-", suffix = ".safetensors";
constexpr const char *format_key = "belfry.checkpoint", *step_key = "belfry.global_step",
                     *seed_key = "belfry.seed", *input_key = "belfry.input",
                     *hooks_key = "belfry.hooks", *config_key = "belfry.config",
                     *version_key = "belfry.version";
constexpr const char* format_version = "1";

template <class T>
std::optional<T> parse(std::string_view digits) {
  T value{};
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)
      || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  auto step =
      parse<std::int64_t>(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
  return step && *step >= 0 ? step : std::nullopt;
}

const std::string& field(const Metadata& metadata, const char* key) {
  auto found = metadata.find(key);
  require(found != metadata.end(), "no entry `", key, "` in its metadata: not a Belfry checkpoint");
  return found->second;
}

/// An entry that files of the first versions lack.
std::string later_field(const Metadata& metadata, const char* key) {
  auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

template <class T>
T number(const Metadata& metadata, const char* key) {
  auto value = parse<T>(field(metadata, key));
  require(value, "metadata entry `", key, "` is not a number: `", field(metadata, key), "`");
  return *value;
}

std::map<std::string, std::string> hook_states(const std::string& text) {
  JsonValue json = JsonValue::parse(text, concat("metadata entry `", hooks_key, "`"));
  std::map<std::string, std::string> out;
  for (const auto& [name, state] : json.members()) out[name] = state.words();
  return out;
}

std::string hooks_text(const std::map<std::string, std::string>& hooks) {
  std::string out;
  for (const auto& [name, state] : hooks) {
    require(is_utf8(name) && is_utf8(state), "checkpoint: name or state of hook `", name,
            "` is not UTF-8 text; write bytes as hexadecimal digits");
    out += concat(out.empty() ? "{" : ",", json_text(name), ":", json_text(state));
  }
  return out.empty() ? "{}" : out + "}";
}

WrittenAt written_at(const CheckpointFile& file) {
  auto time = fs::last_write_time(file.path).time_since_epoch();
  return {file.step, std::chrono::duration_cast<std::chrono::milliseconds>(time)};
}

// Whether one that is no longer among the newest moves to the folder `kept`.
bool stays(const CheckpointFile& older, const CheckpointFile& next, const std::string& kept,
           const KeepRules& rules) {
  if (!rules.ask_for_times()) return stays(rules, {older.step}, {next.step}, std::nullopt);
  std::optional<WrittenAt> last;
  for (const CheckpointFile& file : list_checkpoints(kept))
    if (file.step < older.step) last = written_at(file);
  return stays(rules, written_at(older), {next.step}, last);
}

void move(const CheckpointFile& file, const std::string& folder) {
  create_folders(folder);
  fs::rename(file.path, checkpoint_path(folder, file.step));
  sync_folder(folder);
}

// Newer ones than the one just written are damaged, or it would not have been written: they go
// first, and nothing good is given up for them.
void remove_oldest(const std::string& model_dir, std::int64_t newest_step, const KeepRules& rules) {
  const std::string kept = kept_folder(model_dir);
  auto files = list_checkpoints(model_dir);
  auto newer = std::ranges::find_if(files, [&](auto& file) { return file.step > newest_step; });
  std::rotate(files.begin(), newer, files.end());
  const auto old = std::ssize(files) - rules.newest, damaged = files.end() - newer;
  for (std::ptrdiff_t i = 0; i < old; ++i) {
    const CheckpointFile& file = files[i];
    std::string what = concat("remove ", file.path);
    try {
      if (i >= damaged && stays(file, files[i + 1], kept, rules)) {
        what = concat("move ", file.path, " to ", kept);
        move(file, kept);
      } else {
        fs::remove(file.path);
      }
    } catch (const std::exception& error) {  // the new checkpoint is written all the same
      log_warning("checkpoint: could not ", what, ": ", error.what());
    }
  }
}

}  // namespace

std::string checkpoint_path(const std::string& model_dir, std::int64_t step) {
  return path_in(model_dir, concat(prefix, step, suffix));
}

std::string kept_folder(const std::string& model_dir) { return path_in(model_dir, "kept"); }

std::vector<CheckpointFile> list_checkpoints(const std::string& model_dir) {
  std::vector<CheckpointFile> out;
  std::error_code error;
  for (const std::string& name : names_in_folder(model_dir, error))
    if (auto step = step_of(name)) out.push_back({*step, path_in(model_dir, name)});
  require_listed(model_dir, error, "checkpoints");
  std::sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.step < b.step; });
  return out;
}

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  Metadata metadata{{format_key, format_version},
                    {step_key, text(checkpoint.step)},
                    {seed_key, text(checkpoint.seed)},
                    {input_key, checkpoint.input},
                    {hooks_key, hooks_text(checkpoint.hooks)},
                    {version_key, text(version())}};
  if (!checkpoint.config.empty()) metadata[config_key] = checkpoint.config;
  save_safetensors(path, checkpoint.variables, metadata);
}

std::string save_checkpoint(const std::string& model_dir, const Checkpoint& checkpoint,
                            const KeepRules& keep) {
  validate(keep, "save_checkpoint: keep");
  std::string path = checkpoint_path(model_dir, checkpoint.step);
  write_checkpoint(path, checkpoint);
  try {
    if (keep.newest > 0) remove_oldest(model_dir, checkpoint.step, keep);
  } catch (const Error& error) {  // of the list; the new checkpoint is written all the same
    log_warning("checkpoint: older ones than ", path, " are not removed: ", error.what());
  }
  return path;
}

Checkpoint load_checkpoint(const std::string& path) {
  Safetensors file = load_safetensors(path);
  return with_context("checkpoint " + path, [&] {
    require(field(file.metadata, format_key) == format_version, "checkpoint format ",
            field(file.metadata, format_key), " is not the one that this version reads, ",
            format_version, "; if a newer Belfry wrote it, update to read it");
    Checkpoint out;
    out.step = number<std::int64_t>(file.metadata, step_key);
    require(out.step >= 0, "metadata entry `", step_key, "` is negative: ", out.step);
    out.seed = number<std::uint64_t>(file.metadata, seed_key);
    out.input = field(file.metadata, input_key);
    out.hooks = hook_states(field(file.metadata, hooks_key));
    out.config = later_field(file.metadata, config_key);
    out.version = later_field(file.metadata, version_key);
    out.variables = std::move(file.tensors);
    return out;
  });
}

namespace {

// Links are not followed: one that leads nowhere is there.
bool is_gone(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() == fs::file_type::not_found;
}

}  // namespace

std::optional<Checkpoint> load_latest_checkpoint(const std::string& model_dir) {
  auto files = list_checkpoints(model_dir);
  std::string last_error;
  int listings = 1;
  for (auto file = files.rbegin(); file != files.rend();) {
    try {
      Checkpoint checkpoint = load_checkpoint(file->path);
      require(checkpoint.step == file->step, "metadata entry `", step_key, "` is ", checkpoint.step,
              ", but the file's name says ", file->step, " (checkpoint ", file->path, ")");
      return checkpoint;
    } catch (const OutOfMemory&) {
      throw;  // an older checkpoint would be taken for the newest
    } catch (const Error& error) {
      last_error = error.what();
      // A training that goes on has removed it, and has written newer ones.
      if (is_gone(file->path) && listings++ < 3) {
        files = list_checkpoints(model_dir);
        file = files.rbegin();
        continue;
      }
      log_warning("cannot use a checkpoint, trying an older one: ", last_error);
      ++file;
    }
  }
  require(files.empty(), "none of the ", files.size(), " checkpoints in ", model_dir,
          " can be read; the oldest: ", last_error,
          "; move them away to begin anew, or name another model_dir");
  return std::nullopt;
}

}  // namespace belfry
