// Parts of a checkpoint beside weights, and what weights are found by: positions of pipelines,
// states of hooks, indices of weights.

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/log.h"
#include "pipelines.h"
#include "seeds.h"

namespace belfry {
namespace {

/// Three positions of each pipeline: at its beginning, within, and at its end.
void write_positions(const std::string& folder) {
  Seeds seeds(folder, "fuzz_position");
  const LogSink before = set_log_sink([](LogLevel, std::string_view) {});  // of elements left out
  char number = 0;
  for (const Dataset& pipeline : pipelines()) {
    InputStreamPtr stream = pipeline;
    auto save = [&](const char* where) {
      seeds.write(concat(where, int{number}), std::string(1, number) + stream->save());
    };
    save("begin");
    Features element;
    bool more = true;
    for (int read = 0; more; ++read) {
      if (read == 3) save("within");
      try {
        more = stream->next(element);
      } catch (const Error&) {
      }
    }
    save("end");
    ++number;
  }
  set_log_sink(before);
}

void write_hook_states(const std::string& folder) {
  Seeds seeds(folder, "fuzz_hook_states");
  seeds.write("plateau", R"({"best":0.5,"waited":1,"cooling":0,"lower":false,"decided":true})");
  seeds.write("plateau_at_first",
              R"({"best":null,"waited":0,"cooling":2,"lower":true,"decided":false})");
  const std::string best = R"({"best":0.5,"step":4,"waited":1,"last_step":6,"last":0.75})";
  seeds.write("best", best);
  const std::string curve = "2 9 1 0.5 0 2 1 0 0.5 4 1 3 1 0.5 0.25 1 8 1 0 2 ";
  seeds.write("report", R"({"seconds":1.5,"runs":[0,4],"curves":[["value","loss","",")" + curve
                            + R"("],["histogram","w","median","1 4 0 4 0 1 0 0.5 "]]})");
  seeds.write("curve", curve);
  seeds.write("list", R"({"metric":"loss","better":"lower","kept":[{"file":"a","step":4,
"value":0.5},{"file":"b","step":6,"value":0.75}]})");
  seeds.write("list_of_another", R"({"metric":"loss","better":"higher","kept":[]})");
  seeds.write(
      "list_elsewhere",
      R"({"metric":"loss","better":"lower","kept":[{"file":"../a","step":4,"value":0.5}]})");
  seeds.write("damaged", best.substr(0, 20));
}

void write_weights(const std::string& folder) {
  Seeds seeds(folder, "fuzz_weights");
  auto index = [&](const std::string& name, const std::string& map) {
    seeds.write(name, R"({"metadata":{"total_size":20},"weight_map":{)" + map + "}}");
  };
  const std::string one = R"("a":"one.safetensors","b/c":"one.safetensors")";
  index("one", one);
  index("both", one + R"(,"d":"two.safetensors")");
  index("swapped", R"("a":"one.safetensors","b/c":"two.safetensors")");
  index("missing", one + R"(,"e":"one.safetensors")");
  index("elsewhere", R"("a":"../one.safetensors")");
  index("number", R"("a":1)");
  seeds.write("checkpoint", "model_checkpoint_path: \"model.ckpt-1\"\n");
  seeds.write("second_line", "all: 1\nmodel_checkpoint_path: \"model.ckpt-1\"\n");
  seeds.write("within_a_line", "all_model_checkpoint_path: \"model.ckpt-1\"\n");
  seeds.write("without_end", "model_checkpoint_path: \"model.ckpt-1");
  seeds.write("tokens", "z\na\nx\n");
  seeds.write("tokens_of_windows", "y\r\nx\r\nb");
  seeds.write("twice", "x\nz\nx\n");
  seeds.write("too_many", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
}

}  // namespace

void write_state_seeds(const std::string& folder) {
  write_positions(folder);
  write_hook_states(folder);
  write_weights(folder);
}

}  // namespace belfry
