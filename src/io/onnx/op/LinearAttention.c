/* LinearAttention.c - attention as a recurrence over a matrix of state. */
#include <math.h>

#include "io/onnx/adapt.h"

enum { LINEAR, GATED, DELTA, GATED_DELTA };

typedef struct step {
    int rule;
    double scale;
    takt_dtype wide;
    takt_dim groups; /* query heads for each key head */
} step;

static takt_id squeezed(takt_graph *g, takt_id x, int64_t axis)
{
    const takt_named_attr attr = {"axes", takt_attr_i64s(&axis, 1)};
    return x == TAKT_NONE ? x : takt_graph_call(g, &takt_op_squeeze, 1, &x, 1, &attr);
}

static takt_id widened(takt_graph *g, takt_id x, int64_t axis)
{
    const takt_named_attr attr = {"axes", takt_attr_i64s(&axis, 1)};
    return x == TAKT_NONE ? x : takt_graph_call(g, &takt_op_unsqueeze, 1, &x, 1, &attr);
}

static takt_id to(takt_graph *g, takt_id x, takt_dtype dtype)
{
    return x == TAKT_NONE || takt_type_of(g, x)->dtype == dtype ? x : takt_cast(g, x, dtype);
}

/* state [batch, heads, dk, dv]; q, k [batch, heads, dk]; v [batch, heads, dv]. */
static void body_of(takt_graph *g, const step *s, const takt_id *in)
{
    takt_id state = in[0];
    const takt_id q = to(g, in[1], s->wide), k = to(g, in[2], s->wide), v = to(g, in[3], s->wide);
    size_t next = 4;
    if (s->rule == GATED || s->rule == GATED_DELTA) {
        const takt_id decay = takt_unary(g, &takt_op_exp, to(g, in[next++], s->wide));
        state = takt_mul(g, state, widened(g, decay, -1));
    }
    const takt_id column = widened(g, k, -1);
    takt_id fresh = v;
    if (s->rule == DELTA || s->rule == GATED_DELTA) {
        const takt_id held = squeezed(g, takt_matmul(g, state, column, true, false), -1);
        fresh = takt_mul(g, to(g, in[next++], s->wide), takt_sub(g, v, held));
    }
    state = takt_add(g, state, takt_matmul(g, column, widened(g, fresh, -2), false, false));
    takt_id y;
    if (s->groups > 1 && q != TAKT_NONE && state != TAKT_NONE) {
        const takt_type t = *takt_type_of(g, q), m = *takt_type_of(g, state);
        y = takt_reshape(g, q, (takt_dim[]){t.dim[0], m.dim[1], s->groups, t.dim[2]}, 4);
        y = takt_matmul(g, y, state, false, false);
        y = takt_reshape(g, y, (takt_dim[]){t.dim[0], t.dim[1], m.dim[3]}, 3);
    } else {
        y = squeezed(g, takt_matmul(g, widened(g, q, -2), state, false, false), -2);
    }
    takt_graph_output(g, "state", state);
    if (y != TAKT_NONE)
        takt_graph_output(g, "y",
                          to(g, takt_mul_scalar(g, y, s->scale), takt_type_of(g, in[1])->dtype));
}

/* [batch, steps, heads * size] to [steps, batch, heads, size]. */
static takt_id spread(takt_call *c, takt_id x, takt_dim heads)
{
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, x);
    if (t.rank != 3 || !takt_dim_is_number(t.dim[2]) || heads < 1) {
        (void)takt_onnx_refuse(c, "an input of rank %d", t.rank);
        return TAKT_NONE;
    }
    x = takt_reshape(c->g, x, (takt_dim[]){t.dim[0], t.dim[1], heads, t.dim[2] / heads}, 4);
    return takt_transpose(c->g, x, (int64_t[]){1, 0, 2, 3}, 4);
}

static takt_status scan(takt_call *c, const step *s, const takt_id *in, size_t count,
                        takt_id *state, takt_id *y)
{
    takt_graph *body;
    takt_id inner[8];
    static const char *const names[] = {"state", "q", "k", "v", "a", "b"};
    TAKT_TRY(takt_graph_create(c->ctx, c->g, &body));
    for (size_t i = 0; i < count; i++) {
        takt_type t = *takt_type_of(c->g, in[i]);
        if (i > 0) {
            for (int d = 1; d < t.rank; d++)
                t.dim[d - 1] = t.dim[d];
            t.rank--;
        }
        inner[i] = takt_graph_input(body, names[i], &t);
    }
    body_of(body, s, inner);
    takt_status status = body->status;
    if (status == TAKT_OK) {
        const takt_named_attr attrs[] = {{"body", takt_attr_graph(body)},
                                         {"carried", takt_attr_i64(1)},
                                         {"sequences", takt_attr_i64((int64_t)count - 1)}};
        const takt_id id = takt_graph_call(c->g, &takt_op_scan, count, in, 3, attrs);
        *state = id == TAKT_NONE ? id : takt_graph_get(c->g, id, 0);
        *y = id == TAKT_NONE ? id : takt_graph_get(c->g, id, 1);
    }
    takt_graph_destroy(body);
    return status;
}

static takt_status adapt(takt_call *c)
{
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta", NULL};
    const takt_dim heads = takt_onnx_i(c, "q_num_heads", 1),
                   kv_heads = takt_onnx_i(c, "kv_num_heads", 1);
    const takt_type t = *takt_onnx_type(c, 0);
    step s = {.rule = takt_onnx_choice(c, "update_rule", "gated_delta", rules), .wide = TAKT_F32};
    if (c->status != TAKT_OK || heads < 1 || kv_heads < 1 || heads % kv_heads != 0)
        return takt_onnx_refuse(c, "%lld heads on %lld", (long long)heads, (long long)kv_heads);
    takt_id in[6] = {TAKT_NONE, spread(c, takt_onnx_in(c, 0), heads),
                     spread(c, takt_onnx_in(c, 1), kv_heads),
                     spread(c, takt_onnx_in(c, 2), kv_heads)};
    size_t count = 4;
    if (s.rule == GATED || s.rule == GATED_DELTA)
        in[count++] = spread(c, takt_onnx_in(c, 4), kv_heads);
    if (s.rule == DELTA || s.rule == GATED_DELTA) {
        const takt_id beta = takt_onnx_in(c, 5);
        in[count++] = spread(c, beta, beta == TAKT_NONE ? 1 : takt_onnx_type(c, 5)->dim[2]);
    }
    for (size_t i = 1; i < count; i++)
        if (in[i] == TAKT_NONE)
            return takt_onnx_refuse(c, "an input is missing");
    const takt_dim dk = takt_type_of(c->g, in[2])->dim[3], dv = takt_type_of(c->g, in[3])->dim[3];
    s.groups = heads / kv_heads;
    s.scale = takt_onnx_f(c, "scale", 0);
    if (s.scale == 0)
        s.scale = 1 / sqrt(dk > 0 ? (double)dk : 1);
    in[0] = takt_onnx_has(c, 3) ? takt_onnx_cast(c, takt_onnx_in(c, 3), s.wide)
                                : takt_broadcast(c->g, takt_onnx_scalar(c, s.wide, 0),
                                                 (takt_dim[]){t.dim[0], kv_heads, dk, dv}, 4);
    takt_id state = TAKT_NONE, y = TAKT_NONE;
    takt_dim width;
    TAKT_TRY(takt_dim_make(c->g->dims, TAKT_DIM_MUL, heads, dv, &width));
    TAKT_TRY(scan(c, &s, in, count, &state, &y));
    if (y == TAKT_NONE)
        return takt_onnx_done(c, y);
    y = takt_transpose(c->g, y, (int64_t[]){1, 0, 2, 3}, 4);
    takt_onnx_set(c, 0, takt_reshape(c->g, y, (takt_dim[]){t.dim[0], t.dim[1], width}, 3));
    takt_onnx_set(c, 1, takt_onnx_cast(c, state, t.dtype));
    return c->status;
}

const takt_onnx_op takt_onnx_LinearAttention = {.names = {"LinearAttention"}, .adapt = adapt};
