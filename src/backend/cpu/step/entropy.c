/* entropy.c - cross-entropy of class numbers and its gradient, one step each: no probabilities are
 * kept, and labels are not expanded to a distribution. The bits are those of the lowerings. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/index.h"
#include "kernel/convert/convert.h"
#include "kernel/reduce/reduce.h"
#include "kernel/rows_dx_f32/rows_dx_f32.h"
#include "op/util/loss.h"

typedef struct facts {
    takt_rows_dx_f32_fn *run;
    takt_reduce_fn *reduce; /* sums all losses; NULL: one result per row */
    size_t rows, classes;
    int64_t reduction, ignored;
    bool ignores, is_dx, is_one_seed;
    takt_convert_fn *convert; /* of rows in `from`, 16 bits, as many as `piece` at a time */
    takt_dtype from;
    size_t piece;
} facts;

enum { BLOCK = 64, WIDENED = 1 << 16 }; /* rows at a time, and elements of those in 16 bits */

static bool keeps(const takt_graph *g, const takt_node *n)
{
    const bool is_loss = n->op == &takt_op_cross_entropy;
    if ((!is_loss && n->op != &takt_op_cross_entropy_dx) ||
        takt_type_of(g, n->in[0])->dtype != TAKT_F32 ||
        takt_dtype_is_float(takt_type_of(g, n->in[1])->dtype))
        return false;
    return !is_loss || takt_node_attr(n, "smoothing")->f64 == 0;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* The gradient of probabilities stays f32, so the loss and its gradient read scores in 16 bits. */
static bool converts(const takt_graph *g, takt_id node, uint32_t k)
{
    return k == 0 && takt_type_of(g, g->nodes[node].in[k])->dtype == TAKT_F32;
}

static int64_t given(const takt_index_reader *r, size_t i)
{
    return r->dtype == TAKT_I64 ? ((const int64_t *)r->data)[i] : ((const int32_t *)r->data)[i];
}

/* The labels of rows [at, at + count) as positions, and the factors of their gradients. An ignored
 * row counts as class 0 with factor 0. */
typedef struct block {
    size_t label[BLOCK];
    float seed[BLOCK];
    bool counts[BLOCK];
} block;

static void read_labels(const facts *f, takt_index_reader *labels, const float *dy, size_t at,
                        size_t count, block *b)
{
    const int64_t classes = (int64_t)f->classes;
    for (size_t i = 0; i < count; i++) {
        const int64_t own = given(labels, at + i), place = own < 0 ? own + classes : own;
        b->counts[i] = !(f->ignores && own == f->ignored);
        b->seed[i] = dy == NULL ? 0 : dy[f->is_one_seed ? 0 : at + i];
        b->label[i] = place >= 0 && place < classes ? (size_t)place : SIZE_MAX;
        if (!b->counts[i]) {
            b->label[i] = 0;
            b->seed[i] = 0;
        } else if (!f->is_dx) {
            b->label[i] = (size_t)takt_index_next(labels, at + i, classes); /* faults */
        }
    }
}

static void run_block(const takt_step *s, const takt_task *t, block *b, size_t at, size_t count,
                      float *losses)
{
    const facts *f = s->data;
    takt_rows_dx_f32 r = {.op = f->is_dx ? TAKT_ROWS_DX_ENTROPY_DX : TAKT_ROWS_DX_ENTROPY,
                          .rows = count,
                          .n = f->classes,
                          .x_stride = f->classes,
                          .dx_stride = f->is_dx ? f->classes : 1,
                          .label = b->label,
                          .seed = b->seed,
                          .poll = t->poll};
    const char *x = takt_view_data(t, &s->in[0]);
    if (f->from != TAKT_F32) {
        const takt_convert how = {.to = TAKT_F32, .from = f->from};
        f->convert(&how, t->scratch_own, x + at * f->classes * sizeof(uint16_t),
                   count * f->classes);
        r.x = t->scratch_own;
    } else {
        r.x = (const float *)(const void *)x + at * f->classes;
    }
    r.dx = f->is_dx ? (float *)takt_view_data(t, &s->out[0]) + at * f->classes : losses + at;
    f->run(&r);
    for (size_t i = 0; i < count && !f->is_dx; i++)
        losses[at + i] = b->counts[i] ? losses[at + i] : 0;
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    block b;
    size_t first, end;
    takt_index_reader labels = takt_index_open(t, &s->in[1]);
    const float *dy = f->is_dx ? takt_view_data(t, &s->in[2]) : NULL;
    float *losses = f->reduce != NULL ? t->scratch : takt_view_data(t, &s->out[0]);
    takt_cpu_share(f->rows, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end && !takt_poll_stops(t->poll); i += f->piece) {
        const size_t count = end - i < f->piece ? end - i : f->piece;
        read_labels(f, &labels, dy, i, count, &b);
        if (f->classes > 0)
            run_block(s, t, &b, i, count, losses);
    }
    takt_index_close(&labels, t);
}

/* The sum of all rows, divided by those that count. */
static void finish(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    float *out = takt_view_data(t, &s->out[0]);
    const takt_reduce all = {.op = TAKT_REDUCE_SUM,
                             .dst = out,
                             .src = t->scratch,
                             .count = 1,
                             .n = f->rows,
                             .run = f->rows,
                             .step = 1,
                             .poll = t->poll};
    f->reduce(&all);
    if (f->reduction != TAKT_MEAN)
        return;
    const takt_index_reader labels = takt_index_open(t, &s->in[1]);
    size_t count = 0;
    for (size_t i = 0; i < f->rows; i++)
        count += !(f->ignores && given(&labels, i) == f->ignored);
    out[0] /= (float)count;
}

static void set_facts(const takt_planner *p, const takt_node *n, facts *f)
{
    const takt_type *x = takt_type_of(p->graph, n->in[0]);
    const takt_attr *ignore = takt_node_attr(n, "ignore");
    f->classes = (size_t)x->dim[x->rank - 1];
    f->is_dx = n->op == &takt_op_cross_entropy_dx;
    f->is_one_seed = f->is_dx && takt_type_of(p->graph, n->in[2])->rank == 0;
    f->reduction = f->is_dx ? TAKT_EACH : takt_node_int(n, "reduction");
    f->ignores = ignore->is_set;
    f->ignored = ignore->i64;
    (void)takt_type_count(takt_type_of(p->graph, n->in[1]), &f->rows);
}

static void set_piece(takt_step *s, facts *f)
{
    f->from = s->in[0].dtype;
    f->piece = BLOCK;
    if (f->from == TAKT_F32)
        return;
    const size_t rows = WIDENED / (f->classes + 1), all = BLOCK * f->classes;
    const size_t most = f->classes > WIDENED ? f->classes : WIDENED;
    f->piece = rows < 1 ? 1 : rows < BLOCK ? rows : BLOCK;
    s->scratch_each = takt_cpu_aligned((all < most ? all : most) * sizeof(float));
}

static takt_status compile(takt_planner *p)
{
    enum { ROW = 3000, EACH = 60 }; /* operations for a row, and for an element */
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    set_facts(p, n, f);
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(f->is_dx ? takt_planner_output_over(p, id, 0, &index)
                      : takt_planner_output(p, id, &index));
    f->run = takt_kernel_as_rows_dx_f32(takt_planner_kernel(p, "rows_dx_f32"));
    f->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    set_piece(p->step, f);
    p->step->run = run;
    p->step->data = f;
    if (f->reduction != TAKT_EACH) {
        f->reduce = takt_kernel_as_reduce_f32(takt_planner_find(p, "reduce_f32"));
        p->step->after = finish;
        p->step->scratch_bytes = f->rows * sizeof(float);
    }
    p->step->can_fault = !f->is_dx;
    p->step->fault_id = TAKT_E_INDEX;
    const double count = (double)f->rows * (double)f->classes;
    p->step->task_count =
        takt_cpu_tasks(p, EACH * count + ROW * (double)f->rows, 8.0 * count, f->rows);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_entropy = {.is_steady = true,
                                        .name = "entropy",
                                        .family = TAKT_FAMILY_ROWS,
                                        .accepts = accepts,
                                        .keeps = keeps,
                                        .converts = converts,
                                        .compile = compile};
