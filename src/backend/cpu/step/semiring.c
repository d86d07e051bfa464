/* semiring.c - products over semirings, of floats and of bits, and their gradients. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "kernel/bits_u64/bits_u64.h"
#include "op/record/semiring_matmul_grad.h"
#include "op/util/semiring.h"

/* Rows that kernels take at a time; lanes of the widest vector, which the gradient of noisy_or
 * fills with rows. */
enum { GRAIN = 4, LANES = 16 };

typedef struct facts {
    takt_semiring_math math;
    takt_semiring_sizes z;
    bool is_grad;
    size_t grain; /* rows at a time */
    takt_semiring_f32_fn *kernel;
    takt_bits_u64_fn *bits;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_op *op = g->nodes[node].op;
    return op == &takt_op_semiring_matmul || op == &takt_op_semiring_matmul_grad ? NULL : "";
}

/* Rows [first, end) of all products, cut where one product ends, and into as many as a few hundred
 * microseconds allow: polls before each span. */
typedef struct span {
    size_t product, row, count;
} span;

static bool next_span(const facts *f, const takt_task *t, size_t *at, size_t end, span *out)
{
    enum { FAST = 8 }; /* products that take as long as one element */
    const size_t most = takt_pace_piece(f->z.n * f->z.k / FAST, f->grain);
    if (*at >= end || takt_poll_stops(t->poll))
        return false;
    out->product = *at / f->z.m;
    out->row = *at;
    out->count = f->z.m - *at % f->z.m;
    out->count = out->count < end - *at ? out->count : end - *at;
    out->count = out->count < most ? out->count : most;
    *at += out->count;
    return true;
}

/* ---- products ---- */

static void run_f32(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_semiring_sizes *z = &f->z;
    size_t at, end;
    span r;
    takt_cpu_share(z->batch * z->m, f->grain, t->index, s->task_count, &at, &end);
    while (next_span(f, t, &at, end, &r)) {
        const takt_semiring_f32 job = {
            .semiring = f->math.semiring,
            .m = r.count,
            .n = z->n,
            .k = z->k,
            .a = (const float *)takt_view_data(t, &s->in[0]) + r.row * z->k,
            .b = (const float *)takt_view_data(t, &s->in[1]) + r.product * z->k * z->n,
            .c = (float *)takt_view_data(t, &s->out[0]) + r.row * z->n};
        f->kernel(&job);
    }
}

static void run_f64(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_semiring_sizes *z = &f->z;
    const double *a = takt_view_data(t, &s->in[0]), *b = takt_view_data(t, &s->in[1]);
    double *out = takt_view_data(t, &s->out[0]);
    size_t row, end;
    takt_cpu_share(z->batch * z->m, 1, t->index, s->task_count, &row, &end);
    takt_pace pace = takt_pace_of(t);
    for (; row < end && !takt_pace_stops(&pace, z->k * z->n); row++) {
        const double *right = b + row / z->m * z->k * z->n;
        if (f->is_grad) {
            const double *dy = takt_view_data(t, &s->in[2]);
            const takt_semiring_grad g = {a + row * z->k, right, dy + row * z->n, out + row * z->k,
                                          t->scratch_own};
            takt_semiring_grad_row(&f->math, z, &g);
        } else {
            takt_semiring_row(&f->math, z, a + row * z->k, right, out + row * z->n);
        }
    }
}

static void run_bits(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_semiring_sizes *z = &f->z;
    size_t at, end;
    span r;
    takt_cpu_share(z->batch * z->m, 1, t->index, s->task_count, &at, &end);
    while (next_span(f, t, &at, end, &r)) {
        const takt_bits_u64 job = {
            .job = TAKT_BITS_PRODUCT,
            .m = r.count,
            .n = z->n,
            .k = z->k,
            .a = (const uint64_t *)takt_view_data(t, &s->in[0]) + r.row * takt_bits_words(z->k),
            .b = (const uint64_t *)takt_view_data(t, &s->in[1]) + r.product * z->k * z->n,
            .c = (uint64_t *)takt_view_data(t, &s->out[0]) + r.row * z->n};
        f->bits(&job);
    }
}

/* ---- the gradient in f32 ---- */

/* Floats of one right-hand side in the kernel's layout. */
static size_t right_floats(const facts *f)
{
    const size_t blocks = (f->z.n + TAKT_SEMIRING_BLOCK - 1) / TAKT_SEMIRING_BLOCK;
    return f->z.k * (f->math.semiring == TAKT_NOISY_OR ? blocks * TAKT_SEMIRING_BLOCK : f->z.n);
}

/* All right sides in blocks of columns, for every task. */
static void block(const takt_step *s, const takt_task *t)
{
    enum { BLOCK = TAKT_SEMIRING_BLOCK };
    const facts *f = s->data;
    const takt_semiring_sizes *z = &f->z;
    const float *b = takt_view_data(t, &s->in[1]);
    float *to = t->scratch;
    takt_pace pace = takt_pace_of(t);
    for (size_t p = 0; p < z->batch; p++, b += z->k * z->n, to += right_floats(f))
        for (size_t k = 0; k < z->k && !takt_pace_stops(&pace, z->n); k++)
            for (size_t j = 0; j < z->n; j += BLOCK)
                memcpy(to + j * z->k + k * BLOCK, b + k * z->n + j,
                       (z->n - j < BLOCK ? z->n - j : BLOCK) * sizeof *to);
}

/* All right sides transposed, for every task. */
static void transpose(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_semiring_sizes *z = &f->z;
    const float *b = takt_view_data(t, &s->in[1]);
    float *to = t->scratch;
    takt_pace pace = takt_pace_of(t);
    for (size_t p = 0; p < z->batch; p++, b += z->k * z->n, to += z->k * z->n)
        for (size_t k = 0; k < z->k && !takt_pace_stops(&pace, 4 * z->n); k++)
            for (size_t j = 0; j < z->n; j++)
                to[j * z->k + k] = b[k * z->n + j];
}

static void run_grad(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_semiring_sizes *z = &f->z;
    size_t at, end;
    span r;
    takt_cpu_share(z->batch * z->m, f->grain, t->index, s->task_count, &at, &end);
    while (next_span(f, t, &at, end, &r)) {
        const takt_semiring_f32 job = {
            .semiring = f->math.semiring,
            .m = r.count,
            .n = z->n,
            .k = z->k,
            .a = (const float *)takt_view_data(t, &s->in[0]) + r.row * z->k,
            .b = (const float *)takt_view_data(t, &s->in[1]) + r.product * z->k * z->n,
            .bt = (const float *)t->scratch + r.product * right_floats(f),
            .dy = (const float *)takt_view_data(t, &s->in[2]) + r.row * z->n,
            .da = (float *)takt_view_data(t, &s->out[0]) + r.row * z->k,
            .scratch = t->scratch_own};
        f->kernel(&job);
    }
}

/* ---- planning ---- */

static void choose(takt_planner *p, facts *f, takt_dtype dtype)
{
    takt_step *s = p->step;
    const takt_semiring_sizes *z = &f->z;
    if (dtype == TAKT_U64) {
        f->bits = takt_kernel_as_bits_u64(takt_planner_kernel(p, "bits_u64"));
        s->run = run_bits;
        return;
    }
    if (dtype == TAKT_F64) {
        s->run = run_f64;
        s->scratch_each = f->is_grad ? takt_cpu_aligned(z->k * sizeof(double)) : 0;
        return;
    }
    f->kernel = takt_kernel_as_semiring_f32(takt_planner_kernel(p, "semiring_f32"));
    s->run = f->is_grad ? run_grad : run_f32;
    if (!f->is_grad)
        return;
    const takt_semiring semiring = f->math.semiring;
    s->scratch_each =
        takt_cpu_aligned(takt_semiring_f32_room(semiring, z->n, z->k) * sizeof(float));
    s->before = semiring == TAKT_NOISY_OR ? block : transpose;
    s->scratch_bytes = takt_cpu_aligned(z->batch * right_floats(f) * sizeof(float));
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_inputs(p, n));
    TAKT_TRY(takt_planner_output(p, id, &index));
    const takt_type *a = takt_type_of(p->graph, n->in[0]);
    f->z = takt_semiring_sizes_of(a, takt_type_of(p->graph, n->in[1]));
    f->math = takt_semiring_math_of(n);
    f->is_grad = n->op == &takt_op_semiring_matmul_grad;
    f->grain = f->is_grad && f->math.semiring == TAKT_NOISY_OR ? LANES : GRAIN;
    p->step->data = f;
    choose(p, f, a->dtype);
    const double rows = (double)f->z.batch * (double)f->z.m;
    const double flops = (f->is_grad ? 8 : 2) * rows * (double)f->z.n * (double)f->z.k;
    p->step->task_count = takt_cpu_tasks(p, flops, 0, f->z.batch * f->z.m);
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_semiring = {
    .name = "semiring", .family = TAKT_FAMILY_GEMM, .accepts = accepts, .compile = compile};
