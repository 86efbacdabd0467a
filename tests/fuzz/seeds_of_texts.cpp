// Texts: CSV, tokenizers, graphs.

#include "../data/text/small_tokenizer.h"
#include "graph_nodes.h"
#include "seeds.h"

namespace belfry {

using namespace data;

namespace {

void write_csv(const std::string& folder) {
  Seeds csv(folder, "fuzz_csv");
  // In front stand the options, the size of pieces and a type.
  for (char options : {'\0', '\1', '\7', '\x19', '\x21'})
    csv.write(concat("options", int{options}),
              std::string{options, '\x10', '\0'}
                  + "a,b\n# comment\n1.5,x\n\"2\",\"y \"\"z\"\"\n\"\n\"\r\n1e-400;nan,\n");
  csv.write("two_columns", std::string{'\x21', '\x10', '\0'} + "a,b\n1,2\n3,4\n");
  csv.write("faults", std::string{'\x10', '\4', '\0'}
                          + "1,x\n\n\r\n1,a\"b\n\"1\"2,x\n,x\n1\r2,x\n1,\"no record is this long\n"
                            "1,2,3\n1,\"x");
  csv.write("fault_of_several", std::string{'\x21', '\x10', '\0'} + "a,b\n1,y\n,\n");
  csv.write("no_such_column", std::string{'\x21', '\x10', '\0'} + "a,e\n1,2\n");
  for (char type = 1; type < 6; ++type)
    csv.write(concat("type", int{type}), std::string{'\0', '\x10', type}
                                             + "1,x\n-2.5e+3,x\n 1e-99,\ntrue,y\nFALSE,\n7e999,\n");
}

void write_tokenizers(const std::string& folder) {
  Seeds seeds(folder, "fuzz_tokenizer");
  const std::string text = "hello world  <end> it's 2 l\u00e9\n\n  ll", last(1, '\0');
  auto write = [&](const std::string& name, const std::string& from, const std::string& to) {
    seeds.write(name, changed(from, to) + last + text);
  };
  seeds.write("text", text);
  write("plain", "", "");
  write("nfc", R"("normalizer": null)", R"("normalizer": {"type": "NFC"})");
  write("stripping", R"("lstrip": false,
                   "rstrip": false)",
        R"("lstrip": true, "rstrip": true)");
  write("ignoring", R"("ignore_merges": false)", R"("ignore_merges": true)");
  write("unknown", R"("unk_token": null)", R"("unk_token": "d")");
  const std::string split = R"json({"type": "Split", "pattern": {"Regex":
 "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
 "behavior": "Isolated", "invert": false})json",
                    bytes =
                        R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})";
  const auto write_sequence = [&](const std::string& name, const std::string& parts) {
    write(name, R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true})",
          R"({"type": "Sequence", "pretokenizers": [)" + parts + "]}");
  };
  write_sequence("split", split + ", " + bytes);
  write_sequence("one", split);
  write_sequence("turned_round", bytes + ", " + split);
  write_sequence("twice", split + ", " + split);
  write_sequence("prefix", split + R"(, {"type": "ByteLevel", "use_regex": false})");
  write_sequence("words", split + R"(, {"type": "ByteLevel", "add_prefix_space": false})");
  write_sequence("removed", changed("Isolated", "Removed", split) + ", " + bytes);
  write_sequence("other_pattern", changed("{1,3}", "{1,4}", split) + ", " + bytes);
  write("white_space", R"("type": "ByteLevel", "add_prefix_space": false)",
        R"("type": "Whitespace")");
  write("kc", R"("normalizer": null)", R"("normalizer": {"type": "NFKC"})");
  write("chance", R"("dropout": null)", R"("dropout": 0.5)");
  write("suffix", R"("end_of_word_suffix": null)", R"("end_of_word_suffix": "</w>")");
  write("truncation", R"("truncation": null)", R"("truncation": {})");
  write("negative", R"("id": 18)", R"("id": -1)");
  write("fallback", R"("byte_fallback": false)", R"("byte_fallback": true)");
  write("version", R"("version": "1.0")", R"("version": "2.0")");
  write("unigram", R"("type": "BPE")", R"("type": "Unigram")");
  write("empty", R"("content": "<end>")", R"("content": "")");
  write("known", R"("content": "<end>")", R"("content": "ll")");
  write("known_as", R"({"id": 18, "content": "<end>")", R"({"id": 8, "content": "ll")");
  write("whole_words", R"("single_word": false)", R"("single_word": true)");
  write("beginning", R"("added_tokens": [)",
        R"("added_tokens": [{"id": 19, "content": "<en"}, {"id": 20, "content": "<e"}, )");
  write("roberta", R"("post_processor": null)",
        R"("post_processor": {"type": "RobertaProcessing"})");
  write("several", R"("post_processor": null)", R"("post_processor": {"type": "Sequence",
 "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing", "single": [
 {"Sequence": {"id": "A"}}], "special_tokens": {}}, {"type": "TemplateProcessing", "single": [],
 "special_tokens": {}}]})");
  write("within_words", R"("content": "<end>", "single_word": false)",
        R"("content": "wor", "single_word": true)");
  write("other_decoder", R"("decoder": {"type": "ByteLevel"})", R"("decoder": {"type": "Fuse"})");
  write("merge_of_others", R"("merges": [)", R"("merges": ["x y", )");
  const std::string around =
      R"("post_processor": {"type": "TemplateProcessing", "single": [
 {"SpecialToken": {"id": "<end>"}}, {"Sequence": {"id": "A"}}],
 "special_tokens": {"<end>": {"ids": [18]}}})";
  write("template", R"("post_processor": null)", around);
  std::string many = "18";
  for (int i = 1; i < 1025; ++i) many += ",18";
  write("too_many_around", R"("post_processor": null)",
        changed(R"("ids": [18])", R"("ids": [)" + many + "]", around));
}

// Options, values and types in rare forms, most of them refused.
void write_refused_graphs(const Seeds& seeds) {
  auto write = [&](const std::string& name, const std::string& op, const std::string& type,
                   const std::string& options) {
    seeds.write(name, graph_with(R"({"op":")" + op + R"(","inputs":[[0,0]],"types":[")" + type
                                 + R"("],"options":{)" + options + "}}"));
  };
  const std::string pad = R"("before":[1,0],"after":[0,0],"value":0)";
  write("pad_rows", "pad", "f32[n+1, 4]", pad);
  write("fewer_rows", "pad", "f32[2*n-1, 4]", pad);
  int number = 0;
  for (const char* type : {"f32[n, 4", "f32[2n, 4]", "f32[n+n, 4]", "f32[n, ]", "f32[x]"})
    write(concat("type", number++), "relu", type, "");
  write("option_missing", "cast", "i32[n, 4]", "");
  write("axis_of_rows", "softmax", "f32[n, 4]", R"("axis":"n-1")");
  write("axis_of_list", "softmax", "f32[n, 4]", R"("axis":[1])");
  write("axes_of_number", "sum", "f32[n]", R"("axes":1,"keep_dims":false)");
  write("fractions", "slice", "f32[n, 2]", R"("begin":[0.5,0],"size":["n",2],"strides":[1,2])");
  for (const char* value : {R"(["nan","-inf"])", R"(["many",0])", "[0]"})
    seeds.write(concat("value", number++),
                graph_with(concat(R"({"op":"constant","types":["f32[2]"],"value":)", value, "}")));
}

void write_graphs(const std::string& folder) {
  Seeds seeds(folder, "fuzz_saved_graph");
  int number = 0;
  for (const char* nodes : graph_nodes) seeds.write(concat("node", number++), graph_with(nodes));
  // Inputs from tf.train.Examples in other forms, beside a node that takes any of them.
  const std::string stored = R"("stored":"bytes")",
                    graph = graph_with(R"({"op":"constant","types":["f32[2]"],"value":[0.5,1.0]})");
  auto write = [&](const std::string& name, const std::string& type, const std::string& how) {
    std::string json = changed("f32[n, 4]", type, changed("f32[n, 4]", type, graph));
    seeds.write(name, changed(stored, how, json));
  };
  write("images", "f32[n, 2, 2, 3]", R"("stored":"image")");
  write("grey_images", "u8[n, 2, 2, 1]", R"("stored":"image")");
  write("integers", "i32[n, 4]", R"("stored":"integers")");
  write("elsewhere", "i32[n, 4]", R"("stored":"elsewhere")");
  write("floats_of_integers", "f32[n, 4]", R"("stored":"integers")");
  // Members that nothing reads are passed over: these forms are the usual ones.
  write("usual_integers", "i64[n, 4]", R"("other":0)");
  write("usual_bytes", "u8[n, 4]", R"("other":0)");
  seeds.write("preparation",
              changed(R"("results")", R"("preparation":{"name":"flip"},"results")", graph));
  seeds.write("steps", changed(R"("nodes")", R"("most_steps":4,"nodes")",
                               graph_with(R"({"op":"constant","types":["i64[t]"],"tensor":"t"})")));
  write_refused_graphs(seeds);
  std::string many = "0.5";
  for (int i = 1; i < 100; ++i) many += ",0.5";
  seeds.write("weight",
              graph_with(R"({"op":"constant","types":["f32[100]"],"value":[)" + many + "]}"));
}

}  // namespace

void write_text_seeds(const std::string& folder) {
  write_csv(folder);
  write_tokenizers(folder);
  write_graphs(folder);
}

}  // namespace belfry
