// run_torch.cpp - PyTorch, eager, through its C++ interface.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <map>
#include <sstream>
#include <string>
#include <torch/version.h>
#include <vector>

#include "flat.h"
#include "runner.h"

namespace
{

struct Step {
    const flat_node *node;
    std::vector<int> in;
    int out;
    std::vector<int64_t> list; // dimensions of Reshape, order of Transpose
};

flat_graph data;
std::vector<at::Tensor> values;
std::vector<Step> steps;
std::map<std::string, int> places;
at::Tensor result;
std::string message;

int place(const std::string &name)
{
    const auto [at, is_new] = places.emplace(name, (int)values.size());
    if (is_new)
        values.emplace_back();
    return at->second;
}

at::ScalarType type_of(const std::string &name)
{
    return name == "float64" ? at::kDouble
           : name == "int64" ? at::kLong
           : name == "uint8" ? at::kByte
           : name == "int8"  ? at::kChar
           : name == "int32" ? at::kInt
                             : at::kFloat;
}

std::vector<int64_t> list_of(const flat_node &n)
{
    std::vector<int64_t> list;
    if (strcmp(n.op, "Reshape") == 0)
        list.assign(n.dims, n.dims + n.rank);
    if (const char *at = strstr(n.attributes, "perm=")) {
        std::stringstream text(at + 5);
        for (std::string part; std::getline(text, part, ',');)
            list.push_back(std::stol(part));
    }
    return list;
}

// Weights in the order that torch's own layers keep them in.
void arrange(const flat_node &n)
{
    if (strcmp(n.op, "Linear") == 0) {
        at::Tensor &w = values[place(n.inputs[1])];
        w = w.t().contiguous();
    }
    if (strcmp(n.op, "Conv") == 0)
        for (const int i : {0, 1}) {
            at::Tensor &t = values[place(n.inputs[i])];
            if (t.defined())
                t = t.contiguous(at::MemoryFormat::ChannelsLast);
        }
}

// The last step of a workload with one operation writes where the last run wrote.
bool in_place(const Step &s, at::Tensor &to)
{
    const std::string op = s.node->op;
    const auto in = [&](int i) -> const at::Tensor & { return values[s.in[i]]; };
    if (!to.defined() || steps.size() != 1)
        return false;
    if (op == "MatMul")
        at::mm_out(to, in(0), in(1));
    else if (op == "Add")
        at::add_out(to, in(0), in(1));
    else if (op == "Relu")
        at::clamp_min_out(to, in(0), 0);
    else if (op == "Gelu")
        at::gelu_out(to, in(0));
    else
        return false;
    return true;
}

at::Tensor compute(const Step &s)
{
    const flat_node &n = *s.node;
    const std::string op = n.op;
    const auto in = [&](int i) -> const at::Tensor & { return values[s.in[i]]; };
    const auto attribute = [&](const char *key) { return (int64_t)flat_attribute(&n, key, 0); };
    if (op == "MatMul")
        return at::matmul(in(0), in(1));
    if (op == "Linear")
        return at::linear(in(0), in(1), in(2));
    if (op == "Conv")
        return at::conv2d(in(0), in(1), in(2), {attribute("strides"), attribute("strides")},
                          {attribute("pads"), attribute("pads")}, {1, 1}, attribute("group"));
    if (op == "Add")
        return at::add(in(0), in(1));
    if (op == "Relu")
        return at::relu(in(0));
    if (op == "Clip")
        return at::clamp(in(0), 0, 6);
    if (op == "Gelu")
        return at::gelu(in(0));
    if (op == "Softmax")
        return at::softmax(in(0), -1);
    if (op == "LayerNormalization")
        return at::layer_norm(in(0), in(1).sizes(), in(1), in(2),
                              flat_attribute(&n, "epsilon", 1e-5));
    if (op == "ReduceSum")
        return at::sum(in(0));
    if (op == "Reshape")
        return at::reshape(in(0), s.list);
    if (op == "Transpose")
        return at::permute(in(0), s.list);
    if (op == "MaxPool")
        return at::max_pool2d(in(0), {attribute("kernel_shape"), attribute("kernel_shape")},
                              {attribute("strides"), attribute("strides")},
                              {attribute("pads"), attribute("pads")});
    if (op == "GlobalAveragePool")
        return at::adaptive_avg_pool2d(in(0), {1, 1});
    if (op == "Attention")
        return at::scaled_dot_product_attention(in(0).transpose(1, 2), in(1).transpose(1, 2),
                                                in(2).transpose(1, 2));
    throw std::runtime_error("torch has no " + op + " here");
}

void prepare(const char *folder)
{
    values.clear();
    steps.clear();
    places.clear();
    flat_free(&data);
    if (const char *problem = flat_read(&data, folder))
        throw std::runtime_error(problem);
    for (int i = 0; i < data.value_count; i++) {
        const flat_value &v = data.values[i];
        std::vector<int64_t> dims(v.dims, v.dims + v.rank);
        const int at = place(v.name);
        values[at] = at::from_blob(v.data, dims, at::TensorOptions().dtype(type_of(v.type)));
        if (!flat_is(folder, "exact")) // inputs and weights beforehand, as its users would
            values[at] = values[at].to(flat_is(folder, "fast") ? at::kBFloat16 : at::kHalf);
    }
    for (int i = 0; i < data.node_count; i++) {
        const flat_node &n = data.nodes[i];
        Step s{&n, {}, 0, list_of(n)};
        for (int k = 0; k < n.count; k++)
            s.in.push_back(place(n.inputs[k]));
        s.out = place(n.output);
        arrange(n);
        steps.push_back(s);
    }
}

template <typename F> const char *guarded(F &&work)
{
    try {
        const c10::InferenceMode guard;
        work();
        return nullptr;
    } catch (const std::exception &e) {
        message = e.what();
        message.resize(std::min(message.size(), message.find('\n')));
        return message.c_str();
    }
}

} // namespace

const char *peer_open(const char *)
{
    return nullptr;
}

const char *peer_version(void)
{
    return TORCH_VERSION;
}

const char *peer_load(const char *folder, int threads)
{
    return guarded([&] {
        at::set_num_threads(threads);
        prepare(folder);
    });
}

const char *peer_run(void)
{
    return guarded([] {
        for (const Step &s : steps)
            if (!in_place(s, values[s.out]))
                values[s.out] = compute(s);
    });
}

const void *peer_output(size_t *bytes)
{
    result = values[place(data.output.name)].to(type_of(data.output.type)).contiguous();
    *bytes = result.nbytes();
    return result.data_ptr();
}
