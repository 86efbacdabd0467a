#pragma once
// Nodes as they stand in a graph.json, one or a few of each kind.

#include <string>

/// Each is for a graph whose nodes 0 and 1 are the input `x` f32[n, 4] and the variable `w`
/// f32[4, 2], and whose weights have a tensor `t` i64[4]. Types that are left out are those that
/// graph_mutator.h finds.
inline constexpr const char* graph_nodes[] = {
    R"({"op":"matmul","scope":"a/b","inputs":[[0,0],[1,0]],"types":["f32[n, 2]"],"options":
{"transpose_a":false,"transpose_b":false,"bias":false,"activation":"none"}})",
    R"({"op":"constant","types":["f32[n, 2]"],"value":[0.5]})",
    R"({"op":"constant","types":["f32[2]"],"value":["inf",-1e9]})",
    R"({"op":"constant","types":["i64[4]"],"tensor":"t"})",
    R"({"op":"relu","inputs":[[0,0]],"types":["f32[n, 4]"]})",
    R"({"op":"add","inputs":[[0,0],[0,0]],"types":["f32[n, 4]"]})",
    R"({"op":"cast","inputs":[[0,0]],"types":["i32[n, 4]"],"options":{"dtype":"i32"}})",
    R"({"op":"sum","inputs":[[0,0]],"types":["f32[n]"],"options":{"axes":[1],"keep_dims":false}})",
    R"({"op":"argmax","inputs":[[0,0]],"types":["i64[n]"],"options":{"axis":1}})",
    R"({"op":"softmax","inputs":[[0,0]],"types":["f32[n, 4]"],"options":{"axis":1}})",
    R"({"op":"slice","inputs":[[0,0]],"types":["f32[n, 2]"],"options":
{"begin":[0,0],"size":["n",2],"strides":[1,2]}})",
    R"({"op":"transpose","inputs":[[0,0]],"types":["f32[4, n]"],"options":{"permutation":[1,0]}})",
    R"({"op":"pad","inputs":[[0,0]],"types":["f32[n, 7]"],"options":
{"before":[0,1],"after":[0,2],"value":0.0}})",
    R"({"op":"reshape","inputs":[[0,0]],"types":["f32[2*n, 2, 1, 1]"],"options":
{"shape":["2*n",2,1,1]}})",
    R"({"op":"broadcast_to","inputs":[[0,0]],"types":["f32[3, n, 4]"],"options":{"shape":[3,"n",4]}})",
    R"({"op":"concat","inputs":[[0,0],[0,0]],"types":["f32[n, 8]"],"options":{"axis":1}})",
    R"({"op":"constant","types":["i64[3]"],"value":[0,3,1]},
{"op":"gather","inputs":[[1,0],[2,0]],"types":["f32[3, 2]"],"options":{"axis":0}})",
    R"({"op":"constant","types":["i32[3]"],"value":[0,3,1]},
{"op":"embedding_lookup","inputs":[[1,0],[2,0]],"types":["f32[3, 2]"],"options":{"axis":0}})",
    R"({"op":"constant","types":["i64[2]"],"value":[2,0]},
{"op":"one_hot","inputs":[[2,0]],"types":["f32[2, 3]"],"options":
{"depth":3,"on":1.0,"off":0.0,"dtype":"f32"}})",
    R"({"op":"constant","types":["f32[4]"],"value":[1.0,2.0,0.5,1.0]},
{"op":"layer_norm","inputs":[[0,0],[2,0],[2,0]],"types":[],"options":{"epsilon":0.001}})",
    R"({"op":"constant","types":["f32[4]"],"value":[1.0,2.0,0.5,1.0]},
{"op":"batch_norm_train","inputs":[[0,0],[2,0],[2,0]],"types":[],"options":
{"epsilon":0.001,"activation":"none","residual":false,"mask":false}})",
    R"({"op":"input","types":["i64[3]"],"options":{"name":"run/random_state","type":"i64[3]"}},
{"op":"random_normal","inputs":[[2,0]],"types":["f32[n, 2]"],"options":
{"type":"f32[n, 2]","stream":1,"a":0.0,"b":1.0}},
{"op":"dropout","inputs":[[0,0],[2,0]],"types":[],"options":{"rate":0.5,"stream":2}})",
    R"({"op":"reshape","inputs":[[0,0]],"types":["f32[n, 2, 2, 1]"],"options":{"shape":["n",2,2,1]}},
{"op":"max_pool","inputs":[[2,0]],"types":["f32[n, 1, 1, 1]"],"options":
{"window":[2,2],"stride":[2,2],"padding":"[1, 1, 1, 1]"}},
{"op":"avg_pool","inputs":[[2,0]],"types":["f32[n, 2, 2, 1]"],"options":
{"window":[2,2],"stride":[1,1],"padding":"same"}},
{"op":"conv2d","inputs":[[2,0],[2,0]],"types":["f32[n, 2, 2, 1]"],"options":{"stride":[1,1],
"dilation":[1,1],"groups":1,"padding":"same","bias":false,"activation":"none"}})",
    R"({"op":"reshape","inputs":[[1,0]],"types":["f32[2, 2, 1, 2]"],"options":{"shape":[2,2,1,2]}},
{"op":"reshape","inputs":[[0,0]],"types":["f32[n, 1, 2, 2]"],"options":{"shape":["n",1,2,2]}},
{"op":"conv2d_grad_input","inputs":[[3,0],[2,0]],"types":[],"options":{"stride":[1,1],
"dilation":[1,1],"groups":1,"padding":"same","input_size":[1,2]}},
{"op":"resize_bilinear","inputs":[[3,0]],"types":[],"options":{"size":[3,5],"align_corners":false}},
{"op":"resize_nearest","inputs":[[3,0]],"types":[],"options":{"size":[2,1],"align_corners":true}})",
    R"({"op":"reshape","inputs":[[1,0]],"types":["f32[2, 1, 2, 1, 2]"],"options":
{"shape":[2,1,2,1,2]}},
{"op":"reshape","inputs":[[0,0]],"types":["f32[n, 2, 1, 2, 1]"],"options":{"shape":["n",2,1,2,1]}},
{"op":"conv3d","inputs":[[3,0],[2,0]],"types":[],"options":{"stride":[1,1,1],
"dilation":[1,1,1],"groups":1,"padding":"same","bias":false,"activation":"none"}})",
    R"({"op":"reshape","inputs":[[0,0]],"types":["f32[n, 1, 4]"],"options":{"shape":["n",1,4]}},
{"op":"constant","types":["f32[1, 4]"],"value":[1.0,-1.0,0.5,0.25]},
{"op":"constant","types":["i32[n]"],"value":[1]},
{"op":"recurrent","inputs":[[2,0],[3,0],[4,0]],"types":[],"options":
{"cell":"lstm","reverse":true,"bias":false,"initial":false,"lengths":true}})",
    R"({"op":"reshape","inputs":[[0,0]],"types":["f32[n, 1, 2, 2]"],"options":{"shape":["n",1,2,2]}},
{"op":"constant","types":["i32[n]"],"value":[1]},
{"op":"dot_product_attention","inputs":[[2,0],[2,0],[2,0],[3,0]],"types":[],"options":
{"causal":true,"window":0,"scale":1.0,"mask":false,"lengths":true,"key_ranges":false,
"dropout":0.0,"stream":0}})",
    R"({"op":"constant","types":["i64[2, 3]"],"value":[1,1,0,2,0,2]},
{"op":"constant","types":["i64[2]"],"value":[3,2]},
{"op":"ctc_collapse","inputs":[[2,0],[3,0]],"types":[],"options":{"blank":0}})",
    R"({"op":"constant","types":["f64[]"],"value":[-9.5]},
{"op":"constant","types":["f64[]"],"value":[9.5]},
{"op":"check_range","inputs":[[0,0],[2,0],[3,0]],"types":["f32[n, 4]"],"options":
{"what":"x","remedy":"scale it"}})",
    R"({"op":"constant","types":["i64[2]"],"elements":["n","2*n"]})",
};

/// A graph of the two nodes above and these.
inline std::string graph_with(const std::string& nodes) {
  return R"({"format":"belfry graph","version":1,"step":3,"seed":7,"signatures":{"predict":{"nodes":[
{"op":"input","types":["f32[n, 4]"],"options":{"name":"x","type":"f32[n, 4]"}},
{"op":"variable","types":["f32[4, 2]"],"options":{"name":"w","type":"f32[4, 2]"}},
)" + nodes
         + R"(],"results":{"y":[2,0]},
"examples":{"x":{"feature":"f","stored":"bytes","unit":255.0,"default":1.0}}}}})";
}
