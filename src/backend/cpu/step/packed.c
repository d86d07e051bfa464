/* packed.c - the ops that move or convert elements of less than a byte, one element at a time. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "backend/cpu/strided.h"
#include "kernel/convert/convert.h"

/* How the result's elements read one input. */
typedef struct source {
    int64_t start;
    int64_t stride[TAKT_MAX_RANK];
} source;

typedef struct facts {
    takt_convert_fn *convert;
    takt_convert how; /* of a cast */
    size_t count;
    int rank;
    int64_t dim[TAKT_MAX_RANK];
    source *from; /* per input */
} facts;

static bool is_packed(const takt_graph *g, const takt_node *n)
{
    bool packed = takt_dtype_bits(n->type->dtype) < 8;
    for (uint32_t k = 0; k < n->in_count && !packed; k++)
        packed = n->in[k] != TAKT_NONE && takt_dtype_bits(takt_type_of(g, n->in[k])->dtype) < 8;
    return packed;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    const bool mine = n->op == &takt_op_cast || n->op == &takt_op_broadcast ||
                      n->op == &takt_op_select || n->op == &takt_op_transpose ||
                      n->op == &takt_op_slice;
    return mine && is_packed(g, n) ? NULL : "";
}

/* Pieces begin at multiples of 64 elements: always at a whole byte. */
static void run_cast(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    takt_cpu_share(f->count, 64, t->index, s->task_count, &first, &end);
    const char *from = takt_view_data(t, &s->in[0]);
    char *to = takt_view_data(t, &s->out[0]);
    takt_pace_convert(t, f->convert, &f->how,
                      to + takt_element_bytes(takt_dtype_bits(f->how.to), first),
                      from + takt_element_bytes(takt_dtype_bits(f->how.from), first), end - first);
}

/* Advances to the next element of the result; `at` are positions in the inputs. */
static void advance(const facts *f, size_t inputs, int64_t *index, int64_t *at)
{
    for (int d = f->rank - 1; d >= 0; d--) {
        const bool wraps = ++index[d] == f->dim[d];
        for (size_t k = 0; k < inputs; k++)
            at[k] += f->from[k].stride[d] * (wraps ? 1 - f->dim[d] : 1);
        if (!wraps)
            return;
        index[d] = 0;
    }
}

/* A copy, or of two inputs the one that a byte mask says. */
static void run_move(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const int bits = takt_dtype_bits(s->out[0].dtype);
    void *to = takt_view_data(t, &s->out[0]);
    const void *from[3];
    int64_t at[3], index[TAKT_MAX_RANK] = {0};
    for (size_t k = 0; k < s->in_count; k++) {
        from[k] = takt_view_data(t, &s->in[k]);
        at[k] = f->from[k].start;
    }
    takt_pace pace = takt_pace_of(t);
    for (size_t i = 0; i < f->count && !takt_pace_stops(&pace, 8); i++) {
        const size_t k = s->in_count == 1                               ? 0
                         : ((const unsigned char *)from[0])[at[0]] != 0 ? 1
                                                                        : 2;
        takt_copy_elements(bits, to, i, from[k], (size_t)at[k], 1);
        advance(f, s->in_count, index, at);
    }
    takt_clear_tail(bits, to, f->count);
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    source *from = takt_planner_get(p, n->in_count * sizeof *from);
    if (f == NULL || from == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    for (uint32_t k = 0; k < n->in_count; k++) {
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
        from[k].start = takt_strided_source(n, &p->step->in[k], from[k].stride);
    }
    TAKT_TRY(takt_planner_output(p, id, &index));
    (void)takt_type_count(n->type, &f->count);
    f->rank = n->type->rank;
    memcpy(f->dim, n->type->dim, sizeof f->dim);
    f->from = from;
    p->step->data = f;
    p->step->run = run_move;
    if (n->op == &takt_op_cast) {
        const takt_attr *saturate = takt_node_attr(n, "saturate");
        f->convert = takt_kernel_as_convert(takt_planner_kernel(p, "convert"));
        f->how = (takt_convert){.to = n->type->dtype,
                                .from = p->step->in[0].dtype,
                                .saturate = saturate == NULL || saturate->boolean};
        p->step->run = run_cast;
        p->step->task_count = takt_cpu_tasks(p, 0, 8.0 * (double)f->count, (f->count + 63) / 64);
    }
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_packed = {.name = "move", .accepts = accepts, .compile = compile};
