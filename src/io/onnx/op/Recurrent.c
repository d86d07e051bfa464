/* Recurrent.c - RNN, LSTM and GRU: one matrix product for all inputs, then a scan over time. */
#include "io/onnx/cell.h"

typedef struct work {
    takt_call *c;
    takt_graph *g;
    takt_cell cell;
    int gates, directions;
    bool is_batch_first;
    bool is_bytes;      /* DynamicQuantizeLSTM */
    takt_tensor weight; /* its recurrent weights, if they are constant: they go into the body */
    bool is_constant;
    takt_dim steps, batch;
    takt_id x;    /* [steps, batch, input] */
    takt_id live; /* [steps, batch, 1], or TAKT_NONE */
    size_t p_input, h_input, c_input;
    size_t alphas, betas; /* taken from the lists of the activations' constants */
} work;

/* Row `d` of an input with a leading axis of directions; TAKT_NONE if it was left out. */
static takt_id row(work *w, size_t input, int d)
{
    const takt_id x = takt_onnx_in(w->c, input);
    return x == TAKT_NONE ? x : takt_onnx_squeeze(w->c, takt_slice(w->g, x, 0, d, d + 1, 1), 0);
}

/* Bytes of direction `d`, [k, n], if they are constant. */
static bool constant_bytes(const work *w, size_t input, int d, takt_tensor *t)
{
    const takt_id x = takt_onnx_in(w->c, input);
    const takt_node *n = x == TAKT_NONE ? NULL : takt_node_at(w->g, x);
    if (n == NULL || n->op != &takt_op_constant)
        return false;
    takt_graph_fail_if(w->g, takt_fold_bind(w->c->scope->room, x));
    *t = *n->attr[0].tensor;
    const takt_type type = t->type;
    t->type = (takt_type){.dtype = type.dtype, .rank = 2, .dim = {type.dim[1], type.dim[2]}};
    t->offset += (size_t)d * (size_t)type.dim[1] * (size_t)type.dim[2];
    return true;
}

/* Input `input` of direction `d`, whose scale and zero point are inputs `at` and `at` + 1. */
static takt_bytes_matrix bytes_of(work *w, size_t input, size_t at, int d)
{
    takt_tensor t;
    return (takt_bytes_matrix){.q = constant_bytes(w, input, d, &t) ? takt_graph_constant(w->g, &t)
                                                                    : row(w, input, d),
                               .scale = row(w, at, d),
                               .zero = row(w, at + 1, d)};
}

static takt_id zeros(work *w, const takt_dim *dims, size_t rank)
{
    const takt_dtype dtype = takt_type_of(w->g, w->x)->dtype;
    return takt_broadcast(w->g, takt_onnx_scalar(w->c, dtype, 0), dims, rank);
}

static takt_id lengths(work *w, const takt_dim *dims, size_t rank)
{
    const takt_id l = takt_onnx_cast(w->c, takt_onnx_in(w->c, 4), TAKT_I64);
    return takt_reshape(w->g, l, dims, rank);
}

/* A sequence without steps ends in zeros, whatever its initial state: ONNX does not say, and
 * onnxruntime does this.
 */
static takt_id begun(work *w, takt_id state)
{
    if (w->live == TAKT_NONE || state == TAKT_NONE)
        return state;
    const takt_id none = takt_onnx_scalar(w->c, TAKT_I64, 0);
    const takt_id has_steps =
        takt_binary(w->g, &takt_op_lt, none, lengths(w, (takt_dim[]){w->batch, 1}, 2));
    return takt_select(w->g, has_steps, state, takt_scalar_like(w->g, state, 0));
}

static takt_id first_state(work *w, size_t input, int d)
{
    if (!takt_onnx_has(w->c, input))
        return zeros(w, (takt_dim[]){w->batch, w->cell.hidden}, 2);
    if (!w->is_batch_first)
        return begun(w, row(w, input, d));
    const takt_id x = takt_slice(w->g, takt_onnx_in(w->c, input), 1, d, d + 1, 1);
    return begun(w, takt_onnx_squeeze(w->c, x, 1));
}

/* ---- over time ---- */

/* The body's inputs in the order h, [c], x, [live], [r], rb, [p], [r_scale], [r_zero]. */
static takt_status fill_body(work *w, const takt_cell_in *all, takt_graph *body)
{
    takt_cell_in in = {.c = TAKT_NONE,
                       .p = TAKT_NONE,
                       .live = TAKT_NONE,
                       .r_scale = TAKT_NONE,
                       .r_zero = TAKT_NONE};
    takt_type x = *takt_type_of(w->g, all->x), live = {.dtype = TAKT_BOOL, .rank = 2};
    x.rank = 2;
    x.dim[0] = live.dim[0] = w->batch;
    x.dim[1] = w->gates * w->cell.hidden;
    live.dim[1] = 1;
    in.h = takt_graph_input(body, "h", takt_type_of(w->g, all->h));
    if (all->c != TAKT_NONE)
        in.c = takt_graph_input(body, "c", takt_type_of(w->g, all->c));
    in.x = takt_graph_input(body, "x", &x);
    if (all->live != TAKT_NONE)
        in.live = takt_graph_input(body, "live", &live);
    in.r = w->is_constant ? takt_graph_constant(body, &w->weight)
                          : takt_graph_input(body, "r", takt_type_of(w->g, all->r));
    in.rb = takt_graph_input(body, "rb", takt_type_of(w->g, all->rb));
    if (all->p != TAKT_NONE)
        in.p = takt_graph_input(body, "p", takt_type_of(w->g, all->p));
    if (all->r_scale != TAKT_NONE)
        in.r_scale = takt_graph_input(body, "r_scale", takt_type_of(w->g, all->r_scale));
    if (all->r_zero != TAKT_NONE)
        in.r_zero = takt_graph_input(body, "r_zero", takt_type_of(w->g, all->r_zero));
    const takt_cell_out out = takt_cell_step(body, &w->cell, &in);
    takt_graph_output(body, "h_next", out.h);
    if (all->c != TAKT_NONE)
        takt_graph_output(body, "c_next", out.c);
    takt_graph_output(body, "y", out.y);
    return body->status;
}

static takt_cell_out scanned(work *w, const takt_cell_in *all, bool reverse)
{
    takt_cell_out out = {TAKT_NONE, TAKT_NONE, TAKT_NONE};
    takt_graph *body;
    takt_status status = takt_graph_create(w->c->ctx, w->g, &body);
    if (status == TAKT_OK)
        status = fill_body(w, all, body);
    const takt_id given[] = {
        all->h,  all->c, all->x,       all->live,  w->is_constant ? TAKT_NONE : all->r,
        all->rb, all->p, all->r_scale, all->r_zero};
    enum { GIVEN = sizeof given / sizeof *given };
    takt_id in[GIVEN];
    size_t count = 0;
    for (size_t i = 0; i < GIVEN; i++)
        if (given[i] != TAKT_NONE)
            in[count++] = given[i];
    const bool has_c = all->c != TAKT_NONE;
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(body)},
                                     {"carried", takt_attr_i64(1 + has_c)},
                                     {"sequences", takt_attr_i64(1 + (all->live != TAKT_NONE))},
                                     {"reverse", takt_attr_bool(reverse)}};
    if (status == TAKT_OK) {
        const takt_id y = takt_graph_call(w->g, &takt_op_scan, count, in, 4, attrs);
        if (y != TAKT_NONE) {
            out.h = takt_graph_get(w->g, y, 0);
            out.c = has_c ? takt_graph_get(w->g, y, 1) : TAKT_NONE;
            out.y = takt_graph_get(w->g, y, 1 + has_c);
        }
    }
    takt_graph_fail_if(w->g, status);
    takt_graph_destroy(body);
    return out;
}

/* The input products of all steps at once, and the recurrent weights. */
static void set_products(work *w, int d, takt_cell_in *in)
{
    if (!w->is_bytes) {
        in->r = row(w, 2, d);
        in->x = takt_matmul(w->g, w->x, row(w, 1, d), false, true);
        return;
    }
    const takt_bytes_matrix x = bytes_of(w, 1, 8, d), r = bytes_of(w, 2, 10, d);
    w->is_constant = constant_bytes(w, 2, d, &w->weight);
    in->r = r.q;
    in->r_scale = r.scale;
    in->r_zero = r.zero;
    in->x = x.q == TAKT_NONE || x.scale == TAKT_NONE || r.scale == TAKT_NONE
                ? TAKT_NONE
                : takt_onnx_dynamic_matmul(w->g, w->x, &x);
}

static takt_cell_out direction(work *w, int d, bool reverse)
{
    const takt_dim width = w->gates * w->cell.hidden;
    takt_cell_in in = {.h = first_state(w, w->h_input, d),
                       .c = TAKT_NONE,
                       .r = TAKT_NONE,
                       .r_scale = TAKT_NONE,
                       .r_zero = TAKT_NONE,
                       .p = w->p_input != 0 ? row(w, w->p_input, d) : TAKT_NONE,
                       .live = w->live};
    takt_id wb = TAKT_NONE;
    if (w->cell.kind == TAKT_CELL_LSTM)
        in.c = first_state(w, w->c_input, d);
    if (takt_onnx_has(w->c, 3)) {
        const takt_id b = row(w, 3, d);
        wb = takt_slice(w->g, b, 0, 0, width, 1);
        in.rb = takt_slice(w->g, b, 0, width, 2 * width, 1);
    } else {
        in.rb = zeros(w, &width, 1);
    }
    set_products(w, d, &in);
    if (wb != TAKT_NONE)
        in.x = takt_add(w->g, in.x, wb);
    if (in.x == TAKT_NONE || in.r == TAKT_NONE || in.rb == TAKT_NONE || in.h == TAKT_NONE)
        return (takt_cell_out){TAKT_NONE, TAKT_NONE, TAKT_NONE};
    return scanned(w, &in, reverse);
}

/* ---- settings ---- */

/* The next of a list of floats that activations consume in order; `fallback` after its end. */
static double next_float(work *w, const char *list, size_t *at, double fallback)
{
    const takt_pb_attr *given = takt_onnx_attr(w->c, list);
    return given != NULL && *at < given->float_count ? (double)given->floats[(*at)++] : fallback;
}

static takt_status read_activations(work *w, int d)
{
    static const char *const usual[3][3] = {
        {"Tanh", "Tanh", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
    takt_call *c = w->c;
    const size_t each = w->cell.kind == TAKT_CELL_RNN ? 1 : w->cell.kind == TAKT_CELL_GRU ? 2 : 3;
    const takt_pb_attr *list = takt_onnx_attr(c, "activations");
    for (size_t i = 0; i < each; i++) {
        const size_t at = (size_t)d * each + i;
        takt_activation *a = &w->cell.act[i];
        *a = (takt_activation){.name = usual[w->cell.kind][i]};
        if (list != NULL && at < list->string_count)
            a->name =
                takt_arena_text(&c->im->arena, list->strings[at].at, list->strings[at].length);
        if (a->name == NULL)
            return TAKT_ERR_MEMORY;
        if (!takt_activation_init(a))
            return takt_onnx_refuse(c, "activation %s", a->name);
        if (takt_activation_has_alpha(a))
            a->alpha = next_float(w, "activation_alpha", &w->alphas, a->alpha);
        if (takt_activation_has_beta(a))
            a->beta = next_float(w, "activation_beta", &w->betas, a->beta);
    }
    return TAKT_OK;
}

/* Which steps are before the end of each sequence. */
static takt_id not_ended(work *w)
{
    const takt_dim line[] = {w->steps, 1, 1};
    const takt_named_attr shape = {"shape", takt_attr_shape(line, 3)};
    const takt_id time = takt_graph_call(w->g, &takt_op_iota, 0, NULL, 1, &shape);
    return takt_binary(w->g, &takt_op_lt, time, lengths(w, (takt_dim[]){1, w->batch, 1}, 3));
}

static takt_status check_bytes(takt_call *c)
{
    for (size_t i = 1; i <= 2; i++) {
        const takt_type *w = takt_onnx_type(c, i);
        if (c->status != TAKT_OK)
            return c->status;
        if ((w->dtype != TAKT_I8 && w->dtype != TAKT_U8) || w->rank != 3)
            return takt_onnx_refuse(c, "weights of %s and rank %d", takt_dtype_name(w->dtype),
                                    w->rank);
        if (w->dim[0] != takt_onnx_type(c, 2)->dim[0])
            return takt_onnx_refuse(c, "weights of different directions");
        if (!takt_onnx_has(c, i == 1 ? 8 : 10))
            return takt_onnx_refuse(c, "weights without a scale");
    }
    return TAKT_OK;
}

static takt_status read_settings(work *w)
{
    takt_call *c = w->c;
    w->is_bytes = takt_span_is(c->node->op, "DynamicQuantizeLSTM");
    w->cell.kind = takt_span_is(c->node->op, "LSTM") || w->is_bytes ? TAKT_CELL_LSTM
                   : takt_span_is(c->node->op, "GRU")               ? TAKT_CELL_GRU
                                                                    : TAKT_CELL_RNN;
    w->gates = w->cell.kind == TAKT_CELL_LSTM ? 4 : w->cell.kind == TAKT_CELL_GRU ? 3 : 1;
    w->cell.clip = takt_onnx_f(c, "clip", 0);
    w->cell.forgets_input = takt_onnx_i(c, "input_forget", 0) != 0;
    w->cell.is_linear_first = takt_onnx_i(c, "linear_before_reset", 0) != 0;
    w->is_batch_first = takt_onnx_i(c, "layout", 0) != 0;
    w->h_input = 5;
    w->c_input = 6;
    w->p_input = w->cell.kind == TAKT_CELL_LSTM ? 7 : 0;
    const takt_type *x = takt_onnx_type(c, 0), *r = takt_onnx_type(c, 2);
    if (c->status != TAKT_OK)
        return c->status;
    const int along = w->is_bytes ? 1 : 2; /* of r: the state */
    if (x->rank != 3 || r->rank != 3 || !takt_dim_is_number(r->dim[along]) ||
        r->dim[along] > INT32_MAX || r->dim[0] < 1 || r->dim[0] > 2)
        return takt_onnx_refuse(c, "inputs of other ranks than 3");
    if (w->is_bytes)
        TAKT_TRY(check_bytes(c));
    w->cell.hidden = r->dim[along];
    w->directions = (int)r->dim[0];
    w->x = takt_onnx_in(c, 0);
    if (w->is_batch_first)
        w->x = takt_transpose(w->g, w->x, (int64_t[]){1, 0, 2}, 3);
    x = takt_type_of(w->g, w->x);
    TAKT_TRY(takt_dim_resolve(w->g->dims, x->dim[0], &w->steps));
    w->batch = x->dim[1];
    w->live = TAKT_NONE;
    if (takt_onnx_has(c, 4))
        w->live = not_ended(w);
    return w->g->status;
}

static takt_status give(work *w, const takt_cell_out *out)
{
    takt_call *c = w->c;
    takt_id y[2], h[2], cs[2];
    for (int d = 0; d < w->directions; d++) {
        y[d] = out[d].y;
        h[d] = out[d].h;
        cs[d] = out[d].c;
        if (y[d] == TAKT_NONE)
            return takt_onnx_done(c, TAKT_NONE);
    }
    const size_t count = (size_t)w->directions;
    /* [steps, directions, batch, hidden], or [batch, steps, directions, hidden]. */
    const takt_named_attr one = {"axis", takt_attr_i64(1)}, zero = {"axis", takt_attr_i64(0)};
    takt_id all = takt_graph_call(w->g, &takt_op_stack, count, y, 1, &one);
    if (w->is_batch_first)
        all = takt_transpose(w->g, all, (int64_t[]){2, 0, 1, 3}, 4);
    takt_onnx_set(c, 0, all);
    const takt_named_attr *axis = w->is_batch_first ? &one : &zero;
    takt_onnx_set(c, 1, takt_graph_call(w->g, &takt_op_stack, count, h, 1, axis));
    if (w->cell.kind == TAKT_CELL_LSTM)
        takt_onnx_set(c, 2, takt_graph_call(w->g, &takt_op_stack, count, cs, 1, axis));
    return c->status;
}

takt_status takt_onnx_recurrent(takt_call *c)
{
    work w = {.c = c, .g = c->g};
    takt_cell_out out[2];
    TAKT_TRY(read_settings(&w));
    const bool reverse = takt_onnx_is(c, "direction", "forward", "reverse");
    for (int d = 0; d < w.directions; d++) {
        TAKT_TRY(read_activations(&w, d));
        out[d] = direction(&w, d, d == 1 || reverse);
    }
    return give(&w, out);
}

const takt_onnx_op takt_onnx_Recurrent = {.names = {"RNN", "LSTM", "GRU"},
                                          .adapt = takt_onnx_recurrent};
