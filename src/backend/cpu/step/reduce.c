/* reduce.c - sums, extremes and the like over any axes.
 *
 * The reduced axes are looped over in row-major order, as the contract requires. Narrow types are
 * widened into scratch first, and the result is narrowed. Axes that no kernel can traverse directly
 * are gathered into rows.
 */
#include "kernel/reduce/reduce.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "backend/cpu/reduce_long.h"
#include "backend/cpu/reduce_op.h"
#include "backend/cpu/strided.h"
#include "kernel/convert/convert.h"

typedef struct facts {
    takt_reduce_fn *run;
    takt_convert_fn *convert;
    takt_reduce_op op;
    takt_dtype from, compute, to; /* compute: the type that the kernel reads; to: the result's
                                   * type */
    bool is_arg;
    size_t outer, inner; /* results = outer * inner: x is [outer, n, inner] if is_plain */
    size_t n, count;
    size_t grain;  /* units of a long reduction that stay together; rows widened at a time */
    size_t joined; /* offset in its scratch of results that must be narrowed */
    bool is_plain;
    takt_strided walk; /* otherwise: results by reduced elements, read with strides */
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (takt_reduce_op_of(n) == TAKT_REDUCE_OP_COUNT)
        return "";
    return takt_dtype_bits(takt_type_of(g, n->in[0])->dtype) >= 8 ? NULL : "elements below a byte";
}

/* ---- running ---- */

static size_t bytes_of(takt_dtype dtype)
{
    return (size_t)takt_dtype_bits(dtype) / 8;
}

/* Results [first, end) of [outer, n, inner] data of the compute type. */
static void reduce_plain(const facts *f, const takt_task *t, const char *x, char *y, size_t first,
                         size_t end)
{
    const size_t in = bytes_of(f->compute), out = f->is_arg ? 8 : in;
    takt_reduce r = {.op = f->op, .n = f->n, .run = f->n, .poll = t->poll};
    if (f->inner == 1) {
        r.src = x + first * f->n * in;
        r.dst = y + first * out;
        r.count = end - first;
        r.across = f->n;
        r.step = 1;
        f->run(&r);
        return;
    }
    while (first < end) {
        const size_t o = takt_quotient(first, f->inner), i = first - o * f->inner;
        r.count = f->inner - i < end - first ? f->inner - i : end - first;
        r.src = x + (o * f->n * f->inner + i) * in;
        r.dst = y + first * out;
        r.across = 1;
        r.step = f->inner;
        f->run(&r);
        first += r.count;
    }
}

/* Rows that are widened some at a time. */
static void reduce_widened(const facts *f, const takt_task *t, const char *x, char *y, size_t first,
                           size_t end)
{
    const takt_convert c = {.to = f->compute, .from = f->from};
    const size_t out = f->is_arg ? 8 : bytes_of(f->compute);
    for (size_t n; first < end && !takt_poll_stops(t->poll); first += n) {
        n = end - first < f->grain ? end - first : f->grain;
        takt_pace_convert(t, f->convert, &c, t->scratch_own, x + first * f->n * bytes_of(f->from),
                          n * f->n);
        reduce_plain(f, t, t->scratch_own, y + first * out, 0, n);
    }
}

/* One result at a time from a row gathered into scratch. */
static void reduce_gathered(const facts *f, const takt_task *t, const char *x, char *y,
                            size_t first, size_t end)
{
    char *row = t->scratch_own;
    const size_t in = bytes_of(f->from), wide = bytes_of(f->compute), out = f->is_arg ? 8 : wide;
    char *widened = f->from == f->compute ? row : row + takt_cpu_aligned(f->n * in);
    const takt_convert c = {.to = f->compute, .from = f->from};
    for (size_t i = first; i < end; i++) {
        for (size_t at = 0, n; at < f->n; at += n) {
            n = f->n - at < TAKT_PACE ? f->n - at : TAKT_PACE;
            takt_strided_copy(&f->walk, x, row + at * in, i * f->n + at, i * f->n + at + n);
            if (takt_poll_stops(t->poll))
                return;
        }
        if (f->from != f->compute)
            takt_pace_convert(t, f->convert, &c, widened, row, f->n);
        const takt_reduce r = {.op = f->op,
                               .src = widened,
                               .dst = y + i * out,
                               .count = 1,
                               .across = f->n,
                               .n = f->n,
                               .run = f->n,
                               .step = 1,
                               .poll = t->poll};
        f->run(&r);
    }
}

static void widen(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_convert c = {.to = f->compute, .from = f->from};
    takt_pace_convert(t, f->convert, &c, t->scratch, takt_view_data(t, &s->in[0]), f->count * f->n);
}

static bool narrows(const facts *f)
{
    return !f->is_arg && f->to != f->compute;
}

/* Results of the compute type: in scratch if they must be narrowed. */
static char *results(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    return narrows(f) ? (char *)t->scratch + f->joined : takt_view_data(t, &s->out[0]);
}

enum { POLLED = 1 << 18 }; /* elements */

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t first, end;
    takt_cpu_share(f->count, 16, t->index, s->task_count, &first, &end);
    const char *x = takt_view_data(t, &s->in[0]);
    /* Blocks of rows between two checks of deadline and cancel. */
    const size_t most = 16 * (1 + POLLED / 16 / (f->n + 1));
    for (size_t last; first < end && !takt_poll_stops(t->poll); first = last) {
        last = end - first < most ? end : first + most;
        if (!f->is_plain)
            reduce_gathered(f, t, x, results(s, t), first, last);
        else if (f->from != f->compute && f->inner == 1)
            reduce_widened(f, t, x, results(s, t), first, last);
        else
            reduce_plain(f, t, f->from == f->compute ? x : t->scratch, results(s, t), first, last);
    }
}

/* ---- long rows and columns ---- */

static takt_reduce_long long_of(const facts *f)
{
    return (takt_reduce_long){.run = f->run,
                              .op = f->op,
                              .dtype = f->compute,
                              .rows = f->outer,
                              .n = f->n,
                              .inner = f->inner,
                              .convert = f->convert,
                              .from = f->from};
}

/* Few rows of many chunks: divided by chunks, and read as several streams. Columns of more than one
 * chunk, as in batch statistics and biases: even with one thread, reading a few columns at a time
 * then hits the cache. Rows that are widened, of any length: a copy of a short row must not take
 * more than the chunk of a long one. */
static bool is_long(const facts *f)
{
    enum { ROWS = 64, CHUNKS = 4 };
    if (!f->is_plain || f->is_arg)
        return false;
    if (f->inner == 1)
        return f->count <= ROWS && f->n >= (f->from != f->compute ? 1 : CHUNKS * TAKT_REDUCE_CHUNK);
    if (f->from != f->compute)
        return f->n > 0 && f->count > 0;
    return f->to == f->compute && f->n > TAKT_REDUCE_CHUNK;
}

static void run_long(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_reduce_long l = long_of(f);
    const size_t each = TAKT_REDUCE_CHUNK * (l.inner == 1 ? 1 : TAKT_REDUCE_LANES);
    size_t first, end;
    takt_cpu_share(takt_reduce_long_units(&l), f->grain, t->index, s->task_count, &first, &end);
    for (size_t last; first < end && !takt_poll_stops(t->poll); first = last) {
        last = end - first < POLLED / each ? end : first + POLLED / each;
        const void *x = takt_view_data(t, &s->in[0]);
        if (f->from == f->compute)
            takt_reduce_long_parts(&l, x, first, last, t->scratch);
        else
            takt_reduce_long_widened(&l, x, first, last, t->scratch, t->scratch_own);
    }
}

static void narrow(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_convert c = {.to = f->to, .from = f->compute};
    takt_pace_convert(t, f->convert, &c, takt_view_data(t, &s->out[0]), results(s, t), f->count);
}

static void join_long(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_reduce_long l = long_of(f);
    takt_reduce_long_join(&l, t->scratch, results(s, t));
    if (narrows(f))
        narrow(s, t);
}

/* ---- compiling ---- */

static void find_axes(const takt_node *n, int rank, bool *is_reduced)
{
    const takt_attr *axes = takt_node_attr(n, "axes"), *axis = takt_node_attr(n, "axis");
    for (int d = 0; d < rank; d++)
        is_reduced[d] = axes != NULL && axes->count == 0;
    for (uint32_t i = 0; axes != NULL && i < axes->count; i++)
        is_reduced[axes->i64s[i] < 0 ? axes->i64s[i] + rank : axes->i64s[i]] = true;
    if (axes == NULL && axis != NULL)
        is_reduced[axis->i64 < 0 ? axis->i64 + rank : axis->i64] = true;
}

/* [outer, n, inner] if the reduced axes are neighbours, else loops with strides. */
static void set_geometry(facts *f, const takt_view *x, const bool *is_reduced)
{
    int64_t dim[TAKT_MAX_RANK], stride[TAKT_MAX_RANK];
    int rank = 0, changes = 0;
    f->outer = f->inner = f->n = 1;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < x->rank; d++)
            if (is_reduced[d] == (pass == 1)) {
                dim[rank] = x->dim[d];
                stride[rank++] = x->stride[d];
            }
    bool before = true, inside = false;
    for (int d = 0; d < x->rank; d++) {
        if (x->dim[d] == 1)
            continue;
        if (is_reduced[d] && !inside)
            changes++;
        inside = is_reduced[d];
        before = before && !inside;
        *(inside ? &f->n : before ? &f->outer : &f->inner) *= (size_t)x->dim[d];
    }
    for (int d = 0; d < x->rank; d++)
        if (x->dim[d] == 0) { /* nothing was skipped above, but a zero must not hide */
            f->n = f->outer = f->inner = 1;
            for (int e = 0; e < x->rank; e++)
                *(is_reduced[e] ? &f->n : &f->outer) *= (size_t)x->dim[e];
            changes = 1;
            break;
        }
    f->is_plain = changes <= 1;
    f->count = f->outer * f->inner;
    f->walk = takt_strided_of(dim, stride, rank, bytes_of(f->from));
}

static void set_scratch(takt_step *s, facts *f)
{
    enum { WIDENED = 1 << 14 }; /* elements */
    const size_t wide = bytes_of(f->compute);
    if (!f->is_plain) {
        s->scratch_each = takt_cpu_aligned(f->n * bytes_of(f->from)) + f->n * wide;
    } else if (f->from != f->compute && f->inner == 1) {
        f->grain = f->n < WIDENED ? WIDENED / (f->n + 1) : 1;
        const size_t most = f->n > WIDENED ? f->n : WIDENED, all = f->count * f->n;
        s->scratch_each = takt_cpu_aligned((all < most ? all : most) * wide);
    } else if (f->from != f->compute) {
        s->scratch_bytes = takt_cpu_aligned(f->count * f->n * wide);
        s->before = widen;
    }
    if (narrows(f)) {
        f->joined = takt_cpu_aligned(s->scratch_bytes);
        s->scratch_bytes = f->joined + f->count * wide;
        s->after = narrow;
    }
}

/* All columns of a chunk, if there are chunks for all threads. */
static size_t grain_of(const takt_planner *p, const takt_reduce_long *l)
{
    enum { ROWS = 4, EACH = 4 };
    const size_t threads = p->settings->threads > 1 ? (size_t)p->settings->threads : 1;
    const size_t chunks = l->rows * takt_reduce_long_chunks(l);
    if (l->inner == 1)
        return ROWS;
    return chunks >= EACH * threads ? takt_reduce_long_units(l) / chunks : 1;
}

static void compile_long(takt_planner *p, facts *f, double work)
{
    const takt_reduce_long l = long_of(f);
    const double bytes = work * (double)bytes_of(f->from);
    f->grain = grain_of(p, &l);
    const size_t most = (takt_reduce_long_units(&l) + f->grain - 1) / f->grain;
    takt_step *s = p->step;
    const size_t wide = bytes_of(f->compute);
    f->joined = takt_cpu_aligned(f->count * takt_reduce_long_chunks(&l) * wide);
    s->scratch_bytes = f->joined + (narrows(f) ? f->count * wide : 0);
    s->scratch_each = f->from != f->compute ? takt_reduce_long_room(&l) * wide : 0;
    s->run = run_long;
    s->after = join_long;
    s->task_count = takt_cpu_tasks(p, work, bytes, most);
    if (s->task_count == 1 && f->inner == 1)
        s->task_count = takt_cpu_reversible_parts(p, bytes, most);
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    bool is_reduced[TAKT_MAX_RANK] = {0};
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    const takt_view *x = &p->step->in[0];
    f->op = takt_reduce_op_of(n);
    f->is_arg = f->op >= TAKT_REDUCE_ARGMAX;
    f->from = x->dtype;
    f->compute = takt_reduce_compute(x->dtype);
    f->to = n->type->dtype;
    f->run = (takt_reduce_fn *)takt_planner_kernel(p, takt_reduce_family(f->compute))->run;
    f->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    find_axes(n, x->rank, is_reduced);
    set_geometry(f, x, is_reduced);
    p->step->data = f;
    const double work = (double)f->count * (double)f->n;
    if (is_long(f)) {
        compile_long(p, f, work);
        return TAKT_OK;
    }
    set_scratch(p->step, f);
    p->step->run = run;
    p->step->task_count =
        takt_cpu_tasks(p, work, work * (double)bytes_of(f->from), (f->count + 15) / 16);
    return TAKT_OK;
}

/* Sums of 16 bits are taken in f32 anyway. */
static bool converts(const takt_graph *g, takt_id node, uint32_t k)
{
    return takt_type_of(g, g->nodes[node].in[k])->dtype == TAKT_F32;
}

const takt_cpu_kind takt_cpu_reduce = {.is_steady = true,
                                       .name = "reduce",
                                       .family = TAKT_FAMILY_ROWS,
                                       .accepts = accepts,
                                       .converts = converts,
                                       .compile = compile};
