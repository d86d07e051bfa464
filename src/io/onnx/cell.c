/* cell.c - one step of RNN, LSTM and GRU in our ops. */
#include "io/onnx/cell.h"
#include "op/record/hard_sigmoid.h"
#include "op/record/softplus.h"
#include "op/record/softsign.h"
#include "op/record/thresholded_relu.h"

#include <strings.h>

typedef enum shape {
    SIGMOID,
    TANH,
    RELU,
    AFFINE,
    LEAKY_RELU,
    SCALED_TANH,
    HARD_SIGMOID,
    ELU,
    THRESHOLDED_RELU,
    SOFTSIGN,
    SOFTPLUS,
    SHAPES
} shape;

static const struct {
    const char *name;
    double alpha, beta;
    bool has_alpha, has_beta;
} shapes[SHAPES] = {
    [SIGMOID] = {.name = "Sigmoid"},
    [TANH] = {.name = "Tanh"},
    [RELU] = {.name = "Relu"},
    [AFFINE] = {"Affine", 1, 0, true, true},
    [LEAKY_RELU] = {"LeakyRelu", 0.01, 0, true, false},
    [SCALED_TANH] = {"ScaledTanh", 1, 0, true, true},
    [HARD_SIGMOID] = {"HardSigmoid", 0.2, 0.5, true, true},
    [ELU] = {"Elu", 1, 0, true, false},
    [THRESHOLDED_RELU] = {"ThresholdedRelu", 1, 0, true, false},
    [SOFTSIGN] = {.name = "Softsign"},
    [SOFTPLUS] = {.name = "Softplus"},
};

static int which(const char *name)
{
    int i = 0;
    while (i < SHAPES && strcasecmp(shapes[i].name, name) != 0)
        i++;
    return i;
}

bool takt_activation_init(takt_activation *a)
{
    const int i = which(a->name);
    if (i == SHAPES)
        return false;
    a->alpha = shapes[i].alpha;
    a->beta = shapes[i].beta;
    return true;
}

bool takt_activation_has_alpha(const takt_activation *a)
{
    return shapes[which(a->name)].has_alpha;
}

bool takt_activation_has_beta(const takt_activation *a)
{
    return shapes[which(a->name)].has_beta;
}

static takt_id with(takt_graph *g, const takt_op *op, takt_id x, const char *name, double v)
{
    const takt_named_attr attr = {name, takt_attr_f64(v)};
    return x == TAKT_NONE ? x : takt_graph_call(g, op, 1, &x, 1, &attr);
}

static takt_id hard_sigmoid(takt_graph *g, const takt_activation *a, takt_id x)
{
    const takt_named_attr attrs[] = {{"alpha", takt_attr_f64(a->alpha)},
                                     {"beta", takt_attr_f64(a->beta)}};
    return takt_graph_call(g, &takt_op_hard_sigmoid, 1, &x, 2, attrs);
}

static takt_id activate(takt_graph *g, const takt_activation *a, takt_id x)
{
    if (x == TAKT_NONE)
        return x;
    switch (which(a->name)) {
    case SIGMOID: return takt_unary(g, &takt_op_sigmoid, x);
    case TANH: return takt_unary(g, &takt_op_tanh, x);
    case RELU: return takt_unary(g, &takt_op_relu, x);
    case AFFINE: return takt_add_scalar(g, takt_mul_scalar(g, x, a->alpha), a->beta);
    case LEAKY_RELU: return with(g, &takt_op_leaky_relu, x, "slope", a->alpha);
    case SCALED_TANH:
        return takt_mul_scalar(g, takt_unary(g, &takt_op_tanh, takt_mul_scalar(g, x, a->beta)),
                               a->alpha);
    case HARD_SIGMOID: return hard_sigmoid(g, a, x);
    case ELU: return with(g, &takt_op_elu, x, "alpha", a->alpha);
    case THRESHOLDED_RELU: return with(g, &takt_op_thresholded_relu, x, "alpha", a->alpha);
    case SOFTSIGN: return takt_unary(g, &takt_op_softsign, x);
    default: return takt_unary(g, &takt_op_softplus, x);
    }
}

static takt_id clipped(takt_graph *g, const takt_cell *cell, takt_id x)
{
    if (cell->clip == 0 || x == TAKT_NONE)
        return x;
    x = takt_binary(g, &takt_op_min, x, takt_scalar_like(g, x, cell->clip));
    return takt_binary(g, &takt_op_max, x, takt_scalar_like(g, x, -cell->clip));
}

static takt_id gate(takt_graph *g, const takt_cell *cell, takt_id all, int index)
{
    const int64_t at = index * cell->hidden;
    return takt_slice(g, all, -1, at, at + cell->hidden, 1);
}

static takt_id recurrent(takt_graph *g, takt_id h, takt_id r, takt_id rb)
{
    return takt_add(g, takt_matmul(g, h, r, false, true), rb);
}

static takt_cell_out rnn(takt_graph *g, const takt_cell *cell, const takt_cell_in *in)
{
    const takt_id sum = takt_add(g, in->x, recurrent(g, in->h, in->r, in->rb));
    const takt_id h = activate(g, &cell->act[0], clipped(g, cell, sum));
    return (takt_cell_out){h, TAKT_NONE, h};
}

static takt_id peek(takt_graph *g, const takt_cell *cell, const takt_cell_in *in, takt_id sum,
                    int index, takt_id c)
{
    if (in->p == TAKT_NONE)
        return sum;
    return takt_add(g, sum, takt_mul(g, gate(g, cell, in->p, index), c));
}

/* Gates in the order input, output, forget, cell. The standard clips the input of every activation,
 * including the cell state before h; onnxruntime does not clip the latter. */
static takt_cell_out lstm(takt_graph *g, const takt_cell *cell, const takt_cell_in *in)
{
    const takt_bytes_matrix bytes = {in->r, in->r_scale, in->r_zero};
    const takt_id back = in->r_scale == TAKT_NONE
                             ? recurrent(g, in->h, in->r, in->rb)
                             : takt_add(g, takt_onnx_dynamic_matmul(g, in->h, &bytes), in->rb);
    const takt_id all = takt_add(g, in->x, back);
    takt_id i = peek(g, cell, in, gate(g, cell, all, 0), 0, in->c);
    takt_id f = peek(g, cell, in, gate(g, cell, all, 2), 2, in->c);
    i = activate(g, &cell->act[0], clipped(g, cell, i));
    f = cell->forgets_input ? takt_sub(g, takt_scalar_like(g, i, 1), i)
                            : activate(g, &cell->act[0], clipped(g, cell, f));
    const takt_id fresh = activate(g, &cell->act[1], clipped(g, cell, gate(g, cell, all, 3)));
    const takt_id c = takt_add(g, takt_mul(g, f, in->c), takt_mul(g, i, fresh));
    takt_id o = peek(g, cell, in, gate(g, cell, all, 1), 1, c);
    o = activate(g, &cell->act[0], clipped(g, cell, o));
    const takt_id h = takt_mul(g, o, activate(g, &cell->act[2], clipped(g, cell, c)));
    return (takt_cell_out){h, c, h};
}

/* Gates in the order update, reset, hidden. */
static takt_cell_out gru(takt_graph *g, const takt_cell *cell, const takt_cell_in *in)
{
    const takt_id back = recurrent(g, in->h, in->r, in->rb);
    const takt_id z =
        activate(g, &cell->act[0],
                 clipped(g, cell, takt_add(g, gate(g, cell, in->x, 0), gate(g, cell, back, 0))));
    const takt_id r =
        activate(g, &cell->act[0],
                 clipped(g, cell, takt_add(g, gate(g, cell, in->x, 1), gate(g, cell, back, 1))));
    takt_id n;
    if (cell->is_linear_first) {
        n = takt_mul(g, r, gate(g, cell, back, 2));
    } else {
        const takt_id rows = takt_slice(g, in->r, 0, 2 * cell->hidden, 3 * cell->hidden, 1);
        n = recurrent(g, takt_mul(g, r, in->h), rows, gate(g, cell, in->rb, 2));
    }
    n = takt_add(g, gate(g, cell, in->x, 2), n);
    n = activate(g, &cell->act[1], clipped(g, cell, n));
    if (z == TAKT_NONE || n == TAKT_NONE)
        return (takt_cell_out){TAKT_NONE, TAKT_NONE, TAKT_NONE};
    const takt_id keep = takt_sub(g, takt_scalar_like(g, z, 1), z);
    const takt_id h = takt_add(g, takt_mul(g, keep, n), takt_mul(g, z, in->h));
    return (takt_cell_out){h, TAKT_NONE, h};
}

takt_cell_out takt_cell_step(takt_graph *g, const takt_cell *cell, const takt_cell_in *in)
{
    takt_cell_out out = cell->kind == TAKT_CELL_RNN    ? rnn(g, cell, in)
                        : cell->kind == TAKT_CELL_LSTM ? lstm(g, cell, in)
                                                       : gru(g, cell, in);
    if (in->live == TAKT_NONE || out.h == TAKT_NONE)
        return out;
    out.y = takt_select(g, in->live, out.h, takt_scalar_like(g, out.h, 0));
    out.h = takt_select(g, in->live, out.h, in->h);
    if (cell->kind == TAKT_CELL_LSTM)
        out.c = takt_select(g, in->live, out.c, in->c);
    return out;
}
