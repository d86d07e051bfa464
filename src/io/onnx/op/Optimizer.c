/* Optimizer.c - the optimisers of ai.onnx.preview.training: Adagrad, Adam and Momentum. */
#include "io/onnx/adapt.h"

typedef struct step {
    takt_call *c;
    takt_graph *g;
    takt_id rate, time; /* time as a float */
    takt_id x, grad;    /* grad with the penalty on x added */
} step;

static takt_id sum(step *s, takt_id a, double fa, takt_id b, double fb)
{
    return takt_add(s->g, takt_mul_scalar(s->g, a, fa), takt_mul_scalar(s->g, b, fb));
}

static takt_id after_start(step *s, takt_id later, takt_id at_start)
{
    const takt_id zero = takt_scalar_like(s->g, s->time, 0);
    return takt_select(s->g, takt_binary(s->g, &takt_op_lt, zero, s->time), later, at_start);
}

static takt_id moved(step *s, takt_id rate, takt_id by)
{
    return takt_sub(s->g, s->x, takt_mul(s->g, rate, by));
}

static void adagrad(step *s, takt_id h, takt_id out[3])
{
    const double decay = takt_onnx_f(s->c, "decay_factor", 0),
                 epsilon = takt_onnx_f(s->c, "epsilon", 0);
    const takt_id rate =
        takt_div(s->g, s->rate, takt_add_scalar(s->g, takt_mul_scalar(s->g, s->time, decay), 1));
    out[1] = takt_add(s->g, h, takt_mul(s->g, s->grad, s->grad));
    const takt_id root = takt_add_scalar(s->g, takt_unary(s->g, &takt_op_sqrt, out[1]), epsilon);
    out[0] = moved(s, rate, takt_div(s->g, s->grad, root));
}

static void adam(step *s, takt_id v, takt_id h, takt_id out[3])
{
    takt_graph *g = s->g;
    const double alpha = takt_onnx_f(s->c, "alpha", 0.9f), beta = takt_onnx_f(s->c, "beta", 0.999f);
    const double epsilon = takt_onnx_f(s->c, "epsilon", 0),
                 post = takt_onnx_f(s->c, "norm_coefficient_post", 0);
    const takt_id one = takt_scalar_like(g, s->time, 1);
    const takt_id pa = takt_binary(g, &takt_op_pow, takt_scalar_like(g, s->time, alpha), s->time);
    const takt_id pb = takt_binary(g, &takt_op_pow, takt_scalar_like(g, s->time, beta), s->time);
    out[1] = sum(s, v, alpha, s->grad, 1 - alpha);
    out[2] = sum(s, h, beta, takt_mul(g, s->grad, s->grad), 1 - beta);
    takt_id rate = takt_mul(g, s->rate, takt_unary(g, &takt_op_sqrt, takt_sub(g, one, pb)));
    rate = after_start(s, takt_div(g, rate, takt_sub(g, one, pa)), s->rate);
    const takt_id root = takt_add_scalar(g, takt_unary(g, &takt_op_sqrt, out[2]), epsilon);
    out[0] = takt_mul_scalar(g, moved(s, rate, takt_div(g, out[1], root)), 1 - post);
}

static void momentum(step *s, takt_id v, takt_id out[3])
{
    takt_graph *g = s->g;
    const double alpha = takt_onnx_f(s->c, "alpha", 0), beta = takt_onnx_f(s->c, "beta", 0);
    const takt_id weight =
        after_start(s, takt_scalar_like(g, s->time, beta), takt_scalar_like(g, s->time, 1));
    out[1] = takt_add(g, takt_mul_scalar(g, v, alpha), takt_mul(g, weight, s->grad));
    const takt_id by = takt_onnx_is(s->c, "mode", "standard", "nesterov")
                           ? takt_add(g, s->grad, takt_mul_scalar(g, out[1], alpha))
                           : out[1];
    out[0] = moved(s, s->rate, by);
}

static takt_status adapt(takt_call *c)
{
    const bool is_adam = takt_span_is(c->node->op, "Adam");
    const size_t each = is_adam ? 4 : 3, results = is_adam ? 3 : 2;
    const size_t count = c->in_count < 2 ? 0 : (c->in_count - 2) / each;
    const double norm = takt_onnx_f(c, "norm_coefficient", 0);
    if (count == 0 || c->in_count != 2 + each * count || c->out_count != results * count)
        return takt_onnx_refuse(c, "%zu inputs", c->in_count);
    for (size_t i = 0; i < c->in_count; i++)
        if (takt_onnx_in(c, i) == TAKT_NONE)
            return takt_onnx_refuse(c, "an input is missing");
    for (size_t i = 0; i < count && c->status == TAKT_OK; i++) {
        step s = {.c = c, .g = c->g, .rate = takt_onnx_in(c, 0), .x = takt_onnx_in(c, 2 + i)};
        takt_id out[3] = {TAKT_NONE, TAKT_NONE, TAKT_NONE};
        s.time = takt_onnx_cast(c, takt_onnx_in(c, 1), takt_type_of(c->g, s.x)->dtype);
        s.grad = sum(&s, s.x, norm, takt_onnx_in(c, 2 + count + i), 1);
        const takt_id v = takt_onnx_in(c, 2 + 2 * count + i);
        if (is_adam)
            adam(&s, v, takt_onnx_in(c, 2 + 3 * count + i), out);
        else if (takt_span_is(c->node->op, "Adagrad"))
            adagrad(&s, v, out);
        else
            momentum(&s, v, out);
        for (size_t k = 0; k < results; k++)
            takt_onnx_set(c, k * count + i, out[k]);
    }
    return c->status;
}

const takt_onnx_op takt_onnx_Optimizer = {
    .names = {"Adagrad", "Adam", "Momentum"}, .domain = "ai.onnx.preview.training", .adapt = adapt};
