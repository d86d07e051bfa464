/* control.c - branches and loops: captures are names of the enclosing graph. */
#include "io/onnx/write/emit.h"

static const char **inputs_of(takt_emit *e, const takt_node *n)
{
    const char **in = takt_arena_array(&e->arena, n->in_count + 1, sizeof *in);
    for (uint32_t i = 0; in != NULL && i < n->in_count; i++)
        in[i] = takt_emit_in(e, i);
    if (in == NULL)
        e->status = TAKT_ERR_MEMORY;
    return in;
}

static bool branch(takt_emit *e, const takt_node *n)
{
    static const char *const names[] = {"then_branch", "else_branch"};
    const char **in = inputs_of(e, n);
    takt_text body[2];
    for (int i = 0; i < 2; i++) {
        takt_text_init(&body[i], e->ctx);
        if (e->status == TAKT_OK)
            takt_emit_subgraph(e, n->attr[i].graph, 0, in + 1, &body[i]);
    }
    for (int i = 0; i < 2; i++) {
        takt_emit_attr_graph(e, names[i], &body[i]);
        takt_text_deinit(&body[i]);
    }
    if (e->status == TAKT_OK)
        takt_emit_call_many(e, "If", "", (takt_emit_list){n->out_count, e->outs},
                            (takt_emit_list){1, in});
    return true;
}

/* Rows of iterations that did not run are zero in Takt and absent in ONNX. */
static void fill_up(takt_emit *e, const char *rows, const char *out, const takt_type *t,
                    takt_dim length)
{
    takt_emit_i(e, "start", 0);
    takt_emit_i(e, "end", 1);
    const char *have = takt_emit_1(e, "Shape", takt_emit_fresh(e), rows);
    const char *lack =
        takt_emit_2(e, "Sub", takt_emit_fresh(e), takt_emit_dim(e, length, true), have);
    int64_t zeros[2 * TAKT_MAX_RANK] = {0};
    const char *parts[3] = {takt_emit_vector(e, zeros, (size_t)t->rank), lack, ""};
    size_t count = 2;
    if (t->rank > 1)
        parts[count++] = takt_emit_vector(e, zeros, (size_t)t->rank - 1);
    takt_emit_i(e, "axis", 0);
    const char *pads = takt_emit_call(e, "Concat", takt_emit_fresh(e), count, parts);
    takt_emit_3(e, "Pad", out, rows, pads, takt_emit_scalar(e, t->dtype, 0));
}

static bool loop(takt_emit *e, const takt_node *n)
{
    enum { BODY, CARRIED, LENGTH };
    const size_t carried = (size_t)n->attr[CARRIED].i64, own = 2 + carried;
    const char **in = inputs_of(e, n), *out[TAKT_MAX_OUTPUTS];
    takt_text body;
    if (e->status != TAKT_OK)
        return true;
    takt_text_init(&body, e->ctx);
    takt_emit_subgraph(e, n->attr[BODY].graph, own, in + own, &body);
    takt_emit_attr_graph(e, "body", &body);
    takt_text_deinit(&body);
    for (uint32_t i = 0; i < n->out_count; i++)
        out[i] = i < carried ? e->outs[i] : takt_emit_fresh(e);
    takt_emit_call_many(e, "Loop", "", (takt_emit_list){n->out_count, out},
                        (takt_emit_list){own, in});
    for (size_t i = carried; i < n->out_count; i++)
        fill_up(e, out[i], e->outs[i], &n->type[i], n->attr[LENGTH].dims[0]);
    return true;
}

static bool scan(takt_emit *e, const takt_node *n)
{
    enum { BODY, CARRIED, SEQUENCES, AXES, OUT_AXES, REVERSE };
    const takt_attr *a = n->attr;
    const size_t carried = (size_t)a[CARRIED].i64, sequences = (size_t)a[SEQUENCES].i64;
    const size_t own = carried + sequences, scanned = n->out_count - carried;
    int64_t reverse[64];
    const char **in = inputs_of(e, n);
    takt_text body;
    if (e->status != TAKT_OK || sequences > 64)
        return e->status != TAKT_OK;
    takt_text_init(&body, e->ctx);
    takt_emit_subgraph(e, a[BODY].graph, own, in + own, &body);
    takt_emit_attr_graph(e, "body", &body);
    takt_text_deinit(&body);
    for (size_t i = 0; i < 64; i++)
        reverse[i] = a[REVERSE].boolean;
    takt_emit_i(e, "num_scan_inputs", (int64_t)sequences);
    takt_emit_ints(e, "scan_input_axes", a[AXES].i64s, a[AXES].count);
    takt_emit_ints(e, "scan_output_axes", a[OUT_AXES].i64s, a[OUT_AXES].count);
    if (a[REVERSE].boolean) {
        takt_emit_ints(e, "scan_input_directions", reverse, sequences);
        takt_emit_ints(e, "scan_output_directions", reverse, scanned);
    }
    takt_emit_call_many(e, "Scan", "", (takt_emit_list){n->out_count, e->outs},
                        (takt_emit_list){own, in});
    return true;
}

static bool emit(takt_emit *e, const takt_node *n)
{
    return n->op == &takt_op_if ? branch(e, n) : n->op == &takt_op_loop ? loop(e, n) : scan(e, n);
}

const takt_emitter takt_emit_op_control = {
    .ops = {&takt_op_if, &takt_op_loop, &takt_op_scan},
    .emit = emit,
};
