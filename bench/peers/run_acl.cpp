// run_acl.cpp - Arm Compute Library, through its C++ functions; images with channels last.
#include <arm_compute/runtime/NEON/NEFunctions.h>
#include <arm_compute/runtime/Scheduler.h>
#include <arm_compute/runtime/Tensor.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flat.h"
#include "runner.h"

namespace
{

using namespace arm_compute;

flat_graph data;
std::map<std::string, std::unique_ptr<Tensor>> tensors;
std::vector<std::unique_ptr<IFunction>> functions;
std::vector<float> result;
std::string message;

// Sizes as flat.h has them, [n, c, h, w], to the library's, which begin with the fastest: c, w, h,
// n.
TensorShape shape_of(int rank, const long *dims)
{
    if (rank == 4)
        return TensorShape((size_t)dims[1], (size_t)dims[3], (size_t)dims[2], (size_t)dims[0]);
    TensorShape shape;
    for (int i = 0; i < rank; i++)
        shape.set((size_t)i, (size_t)dims[rank - 1 - i], false);
    return shape;
}

Tensor *make(const std::string &name, int rank, const long *dims)
{
    auto &t = tensors[name];
    if (!t) {
        t = std::make_unique<Tensor>();
        TensorInfo info(shape_of(rank, dims), 1, DataType::F32);
        info.set_data_layout(rank == 4 ? DataLayout::NHWC : DataLayout::NCHW);
        t->allocator()->init(info);
    }
    return t.get();
}

Tensor *value(const char *name)
{
    const flat_value *v = flat_find(&data, name);
    return v == nullptr ? tensors.at(name).get() : make(name, v->rank, v->dims);
}

// Every element of a tensor with its place in flat order.
template <typename F> void each(const Tensor &t, int rank, const long *dims, F &&use)
{
    long d[4] = {1, 1, 1, 1};
    for (int i = 0; i < rank; i++)
        d[4 - rank + i] = dims[i];
    size_t at = 0;
    for (int n = 0; n < d[0]; n++)
        for (int c = 0; c < d[1]; c++)
            for (int h = 0; h < d[2]; h++)
                for (int w = 0; w < d[3]; w++) {
                    const Coordinates place =
                        rank == 4 ? Coordinates(c, w, h, n) : Coordinates(w, h, c, n);
                    use(*reinterpret_cast<float *>(t.ptr_to_element(place)), at++);
                }
}

template <typename T> T *add()
{
    functions.push_back(std::make_unique<T>());
    return static_cast<T *>(functions.back().get());
}

// The activation that a following node asks for, which is then done with this one.
ActivationLayerInfo fused(int &i)
{
    using Kind = ActivationLayerInfo::ActivationFunction;
    if (i + 1 == data.node_count || strcmp(data.nodes[i + 1].inputs[0], data.nodes[i].output) != 0)
        return {};
    const std::string next = data.nodes[i + 1].op;
    if (next != "Relu" && next != "Clip")
        return {};
    i++;
    return next == "Relu" ? ActivationLayerInfo(Kind::RELU)
                          : ActivationLayerInfo(Kind::BOUNDED_RELU, 6.f);
}

void convolution(const flat_node &n, Tensor *x, Tensor *y, const ActivationLayerInfo &act)
{
    Tensor *w = value(n.inputs[1]), *b = value(n.inputs[2]);
    const auto stride = (unsigned)flat_attribute(&n, "strides", 1);
    const auto pad = (unsigned)flat_attribute(&n, "pads", 0);
    const PadStrideInfo geometry(stride, stride, pad, pad);
    if (flat_attribute(&n, "group", 1) == 1) {
        add<NEConvolutionLayer>()->configure(x, w, b, y, geometry, WeightsInfo(), Size2D(1, 1), act,
                                             true);
        return;
    }
    // [channels, 1, h, w] is one filter with as many channels there
    const flat_value *v = flat_find(&data, n.inputs[1]);
    const long dims[4] = {1, v->dims[0], v->dims[2], v->dims[3]};
    tensors.erase(n.inputs[1]);
    add<NEDepthwiseConvolutionLayer>()->configure(x, make(n.inputs[1], 4, dims), b, y, geometry, 1,
                                                  act);
}

void build(int &i)
{
    const flat_node &n = data.nodes[i];
    const std::string op = n.op;
    Tensor *x = value(n.inputs[0]);
    if (op == "Linear" || op == "Conv") {
        const ActivationLayerInfo act = fused(i);
        Tensor *y = make(data.nodes[i].output, n.rank, n.dims);
        if (op == "Conv")
            return convolution(n, x, y, act);
        const GEMMInfo info(false, false, true, 0, false, false, {}, false, false, act);
        add<NEGEMM>()->configure(x, value(n.inputs[1]), value(n.inputs[2]), y, 1, 1, info);
        return;
    }
    Tensor *y = make(n.output, n.rank, n.dims);
    const auto size = (unsigned)flat_attribute(&n, "kernel_shape", 0);
    const auto stride = (unsigned)flat_attribute(&n, "strides", 1);
    const auto pad = (unsigned)flat_attribute(&n, "pads", 0);
    if (op == "MatMul")
        add<NEGEMM>()->configure(x, value(n.inputs[1]), nullptr, y, 1, 0,
                                 GEMMInfo(false, false, true));
    else if (op == "Add")
        add<NEArithmeticAddition>()->configure(x, value(n.inputs[1]), y, ConvertPolicy::SATURATE);
    else if (op == "Relu")
        add<NEActivationLayer>()->configure(
            x, y, ActivationLayerInfo(ActivationLayerInfo::ActivationFunction::RELU));
    else if (op == "Softmax")
        add<NESoftmaxLayer>()->configure(x, y);
    else if (op == "MaxPool")
        add<NEPoolingLayer>()->configure(x, y,
                                         PoolingLayerInfo(PoolingType::MAX, size, DataLayout::NHWC,
                                                          PadStrideInfo(stride, stride, pad, pad)));
    else if (op == "GlobalAveragePool")
        add<NEPoolingLayer>()->configure(x, y,
                                         PoolingLayerInfo(PoolingType::AVG, DataLayout::NHWC));
    else if (op == "Reshape")
        add<NEFlattenLayer>()->configure(x, y);
    else
        throw std::runtime_error("the Arm Compute Library has no " + op + " here");
}

void prepare(const char *folder)
{
    functions.clear();
    tensors.clear();
    flat_free(&data);
    if (const char *problem = flat_read(&data, folder))
        throw std::runtime_error(problem);
    if (!flat_is(folder, "exact"))
        throw std::runtime_error("the runner has f32 only");
    for (int i = 0; i < data.value_count; i++)
        if (strcmp(data.values[i].type, "float32") != 0 && data.values[i].is_input)
            throw std::runtime_error(std::string("the runner has no ") + data.values[i].type);
    for (int i = 0; i < data.node_count; i++)
        build(i);
    for (auto &[name, t] : tensors)
        t->allocator()->allocate();
    for (int i = 0; i < data.value_count; i++) {
        const flat_value &v = data.values[i];
        const auto found = tensors.find(v.name);
        if (found == tensors.end())
            continue;
        const bool depthwise = v.rank == 4 && !v.is_input && v.dims[1] == 1 && v.dims[0] > 1 &&
                               found->second->info()->dimension(0) == (size_t)v.dims[0];
        const long swapped[4] = {1, v.dims[0], v.dims[2], v.dims[3]};
        const float *from = static_cast<const float *>(v.data);
        each(*found->second, v.rank, depthwise ? swapped : v.dims,
             [&](float &to, size_t at) { to = from[at]; });
    }
}

template <typename F> const char *guarded(F &&work)
{
    try {
        work();
        return nullptr;
    } catch (const std::exception &e) {
        message = e.what();
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
    return "20.08";
}

const char *peer_load(const char *folder, int threads)
{
    return guarded([&] {
        Scheduler::get().set_num_threads((unsigned)threads);
        prepare(folder);
    });
}

const char *peer_run(void)
{
    return guarded([] {
        for (auto &f : functions)
            f->run();
    });
}

const void *peer_output(size_t *bytes)
{
    result.resize((size_t)data.output.count);
    each(*tensors.at(data.output.name), data.output.rank, data.output.dims,
         [](float &from, size_t at) { result[at] = from; });
    *bytes = result.size() * sizeof(float);
    return result.data();
}
