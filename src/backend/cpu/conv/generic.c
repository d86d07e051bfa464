/* generic.c - convolutions and their gradients in f64 and integers, one result at a time.
 *
 * The order of the sums is the contract's: chunks of 256 along k, each one chain of fma. Integers
 * wrap, so their order does not matter.
 */
#include "backend/cpu/conv/generic.h"

#include <math.h>

#include "backend/cpu/conv/shape.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "op/util/conv.h"

typedef struct facts {
    takt_conv_shape shape;
    const takt_op *op;
    size_t count; /* of results */
    bool is_float;
} facts;

/* A sum in progress. */
typedef struct sum {
    const facts *f;
    const void *a, *b;
    double acc, total;
    uint64_t wrapped;
    size_t in_chunk;
    bool has_total;
} sum;

static void end_chunk(sum *s)
{
    if (s->in_chunk == 0)
        return;
    s->total = s->has_total ? s->total + s->acc : s->acc;
    s->has_total = true;
    s->acc = 0;
    s->in_chunk = 0;
}

/* `inside`: false where the first factor is padding: zero, but multiplied. */
static void add(sum *s, bool inside, size_t i, size_t j)
{
    const takt_dtype dtype = s->f->shape.dtype;
    if (s->f->is_float) {
        const double x = inside ? takt_dtype_get_f(dtype, s->a, i) : 0;
        s->acc = fma(x, takt_dtype_get_f(dtype, s->b, j), s->acc);
        if (++s->in_chunk == TAKT_GEMM_CHUNK)
            end_chunk(s);
    } else if (inside) {
        s->wrapped +=
            (uint64_t)takt_dtype_get_i(dtype, s->a, i) * (uint64_t)takt_dtype_get_i(dtype, s->b, j);
    }
}

static void store(sum *s, void *to, size_t index)
{
    const takt_dtype dtype = s->f->shape.dtype;
    end_chunk(s);
    if (s->f->is_float)
        takt_dtype_put_f(dtype, to, index, s->total);
    else
        takt_dtype_put_i(dtype, to, index, takt_dtype_wrap(dtype, (int64_t)s->wrapped));
}

/* The position of x that tap `tap` of output position `at` reads; false: padding. */
static bool x_of(const takt_conv_shape *c, const size_t at[3], const size_t tap[3], size_t *flat)
{
    *flat = 0;
    for (int i = 0; i < 3; i++) {
        const size_t padded = at[i] * c->stride[i] + tap[i] * c->dilation[i];
        if (padded < c->before[i] || padded - c->before[i] >= c->in[i])
            return false;
        *flat += (padded - c->before[i]) * c->x_at[i];
    }
    return true;
}

/* The output position whose tap `tap` reads position `at` of x. False: the stride skips it.
 * `*inside` is false where it lies beyond the border of y. */
static bool y_of(const takt_conv_shape *c, const size_t at[3], const size_t tap[3], size_t *flat,
                 bool *inside)
{
    size_t position = 0;
    *inside = true;
    for (int i = 0; i < 3; i++) {
        const ptrdiff_t from =
            (ptrdiff_t)(at[i] + c->before[i]) - (ptrdiff_t)(tap[i] * c->dilation[i]);
        const ptrdiff_t stride = (ptrdiff_t)c->stride[i];
        if (from % stride != 0)
            return false;
        const ptrdiff_t to = from / stride;
        *inside = *inside && to >= 0 && to < (ptrdiff_t)c->out[i];
        position = position * c->out[i] + (*inside ? (size_t)to : 0);
    }
    *flat = *inside ? position * c->y_position : 0;
    return true;
}

/* ---- one result of each of the three ---- */

static void sum_y(sum *s, const size_t sample, const size_t at[3], size_t channel)
{
    const takt_conv_shape *c = &s->f->shape;
    const size_t from = sample * c->x_sample + channel / c->cout * c->cin * c->x_channel;
    for (size_t t = 0; t < c->taps; t++) {
        size_t tap[3], x;
        takt_conv_unflatten(c->kernel, t, tap);
        const bool inside = x_of(c, at, tap, &x);
        for (size_t i = 0; i < c->cin; i++)
            add(s, inside, from + x + i * c->x_channel,
                channel * c->w_out + t * c->w_tap + i * c->w_in);
    }
}

static void sum_dx(sum *s, size_t sample, const size_t at[3], size_t channel)
{
    const takt_conv_shape *c = &s->f->shape;
    const size_t group = channel / c->cin, within = channel % c->cin;
    for (size_t t = 0; t < c->taps; t++) {
        size_t tap[3], y;
        bool inside;
        takt_conv_unflatten(c->kernel, t, tap);
        if (!y_of(c, at, tap, &y, &inside))
            continue;
        for (size_t j = 0; j < c->cout; j++) {
            const size_t o = group * c->cout + j;
            add(s, inside, sample * c->y_sample + y + o * c->y_channel,
                o * c->w_out + t * c->w_tap + within * c->w_in);
        }
    }
}

static void sum_dw(sum *s, size_t o, size_t t, size_t i)
{
    const takt_conv_shape *c = &s->f->shape;
    const size_t channel = o / c->cout * c->cin + i;
    size_t tap[3];
    takt_conv_unflatten(c->kernel, t, tap);
    for (size_t n = 0; n < c->batch; n++) {
        for (size_t p = 0; p < c->positions; p++) {
            size_t at[3], x;
            takt_conv_unflatten(c->out, p, at);
            const bool inside = x_of(c, at, tap, &x);
            add(s, inside, n * c->x_sample + x + channel * c->x_channel,
                n * c->y_sample + p * c->y_position + o * c->y_channel);
        }
        end_chunk(s);
    }
}

/* Result number `index`, counted (sample, position, channel), or (output, tap, channel) for dw;
 * returns its position. */
static size_t compute(sum *s, size_t index)
{
    const takt_conv_shape *c = &s->f->shape;
    size_t at[3];
    if (takt_conv_result_of(s->f->op) == TAKT_CONV_DW) {
        const size_t i = index % c->cin, t = index / c->cin % c->taps, o = index / c->k;
        sum_dw(s, o, t, i);
        return o * c->w_out + t * c->w_tap + i * c->w_in;
    }
    const bool is_dx = takt_conv_result_of(s->f->op) == TAKT_CONV_DX;
    const size_t channels = c->groups * (is_dx ? c->cin : c->cout);
    const size_t positions = is_dx ? c->area : c->positions;
    const size_t channel = index % channels, p = index / channels % positions;
    const size_t sample = index / channels / positions;
    takt_conv_unflatten(is_dx ? c->in : c->out, p, at);
    if (!is_dx) {
        sum_y(s, sample, at, channel);
        return sample * c->y_sample + p * c->y_position + channel * c->y_channel;
    }
    sum_dx(s, sample, at, channel);
    return sample * c->x_sample + p * c->x_at[2] + channel * c->x_channel;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    takt_cpu_share(f->count, 1, t->index, s->task_count, &first, &end);
    enum { POLLED = 64 }; /* elements between two checks of deadline and cancel */
    for (size_t i = first; i < end; i++) {
        if (i % POLLED == 0 && takt_poll_stops(t->poll))
            return;
        sum one = {.f = f, .a = takt_view_data(t, &s->in[0]), .b = takt_view_data(t, &s->in[1])};
        const size_t to = compute(&one, i);
        store(&one, takt_view_data(t, &s->out[0]), to);
    }
}

takt_status takt_conv_generic_compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    *f = (facts){.shape = takt_conv_shape_of(p->graph, id),
                 .op = n->op,
                 .is_float = takt_dtype_is_float(n->type->dtype)};
    if (!takt_type_count(n->type, &f->count))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "the result of a convolution is too large");
    takt_cost cost = {0};
    n->op->cost(p->graph, n, &cost);
    p->step->data = f;
    p->step->run = run;
    p->step->note = "only f32, f16 and bf16 convolutions have a kernel";
    p->step->task_count = takt_cpu_tasks(p, 16 * cost.flops, cost.bytes, f->count);
    return TAKT_OK;
}
