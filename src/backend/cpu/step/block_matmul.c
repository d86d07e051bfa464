/* block_matmul.c - products with block-quantised weights, which stay packed in their few bits. */
#include <string.h>

#include "backend/cpu/block_floats.h"
#include "backend/cpu/block_words.h"
#include "backend/cpu/conv/run.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/cut.h"
#include "backend/cpu/epilogue.h"
#include "backend/cpu/pace.h"
#include "base/size.h"
#include "kernel/block_f32/block_f32.h"
#include "kernel/block_i8/block_i8.h"
#include "op/util/block.h"

/* By bytes; a few rows by floats in registers; more rows by packed floats of a part of the weights.
 */
typedef enum way { BYTES, FEW_ROWS, FLOATS } way;

typedef struct operand {
    size_t in;      /* into step->in; SIZE_MAX: absent */
    bool is_packed; /* already; else packed in shared scratch at every run */
    size_t packed_at;
} operand;

typedef struct facts {
    way way;
    size_t m;
    takt_blocks b; /* without its pointers */
    bool is_signed;
    takt_blocks_job levels; /* how they are packed */
    takt_dtype zero;        /* of the zero points; the element type of b, or f32 */
    bool zero_is_one;       /* for all weights */
    operand words, scale, zeros;
    size_t a, bias; /* into step->in; bias may be SIZE_MAX */
    takt_block_i8_fn *bytes;
    const takt_block_i8_info *bytes_info;
    takt_block_f32_fn *few;
    takt_block_floats floats;
    takt_cut cut;
    bool is_rounded_once; /* A, to bytes, before all tasks instead of by each */
    size_t rounded_at;    /* in shared scratch */
    takt_cpu_epilogue ending;
    size_t registers_at; /* of the epilogue's program, in a task's own scratch */
} facts;

static bool keeps(const takt_graph *g, const takt_node *n)
{
    (void)g;
    return n->op == &takt_op_block_matmul;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    return keeps(g, &g->nodes[node]) ? NULL : "";
}

/* ---- packing ---- */

static takt_blocks_job levels_of(const facts *f)
{
    return (takt_blocks_job){
        .n = f->b.n, .k = f->b.k, .bits = f->b.bits, .is_signed = f->is_signed};
}

/* Scales or zero points. */
static takt_blocks_job parameters_of(const facts *f, const void *from)
{
    takt_blocks_job job = levels_of(f);
    job.k = takt_blocks_count(&f->b);
    job.src = from;
    return job;
}

static void scale_to(const facts *f, const void *from, void *to)
{
    const takt_blocks_job job = parameters_of(f, from);
    takt_blocks_pack_floats(&job, f->b.scale_is_f16 ? 2 : 4, to);
}

static void zero_to(const facts *f, const void *from, void *to)
{
    const takt_blocks_job job = parameters_of(f, from);
    if (f->zero == TAKT_F32)
        takt_blocks_pack_floats(&job, 4, to);
    else
        takt_blocks_pack_levels(&job, to);
}

static takt_status pack_scale(void *user, const void *from, void *to)
{
    scale_to(user, from, to);
    return TAKT_OK;
}

static takt_status pack_zero(void *user, const void *from, void *to)
{
    zero_to(user, from, to);
    return TAKT_OK;
}

static takt_status add(takt_planner *p, facts *f, takt_id node, takt_filler how, operand *o)
{
    const bool is_words = how.fill == takt_block_words_fill;
    o->is_packed = takt_planner_is_constant(p, node) && !takt_planner_in_prologue(p);
    if (!o->is_packed) {
        o->packed_at = takt_conv_reserve(p->step, how.bytes);
        return takt_planner_input(p, node, &o->in);
    }
    how.format = takt_planner_text(p, "blocks-%u p16 n=%zu k=%zu block=%zu", f->b.bits, f->b.n,
                                   f->b.k, f->b.block);
    if (how.format == NULL)
        return TAKT_ERR_MEMORY;
    return takt_planner_packed_by(p, node, &how, is_words ? (void *)&f->levels : f, &o->in);
}

static takt_status add_weights(takt_planner *p, facts *f, const takt_node *n)
{
    const size_t panels = takt_blocks_panels(f->b.n), deep = takt_blocks_deep(f->b.k);
    const takt_id zero = takt_block_input(n, TAKT_BLOCK_ZERO);
    size_t words, each, bytes;
    if (!takt_size_mul(panels * TAKT_BLOCKS_PANEL, deep, &words) ||
        !takt_size_mul(panels * TAKT_BLOCKS_PANEL, takt_blocks_count(&f->b), &each) ||
        !takt_size_mul(each, 4, &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "packed weights of %u bits are too large",
                         f->b.bits);
    f->levels = levels_of(f);
    takt_filler levels = {.bytes = words / 8 * f->b.bits, .fill = takt_block_words_fill};
    if (f->b.k * f->b.bits % 8 == 0) {
        levels.part = takt_block_words_part;
        levels.span = takt_block_words_span;
    }
    const takt_filler scale = {.bytes = f->b.scale_is_f16 ? 2 * each : bytes, .fill = pack_scale};
    const takt_filler zeros = {.bytes = f->zero == TAKT_F32 ? bytes : each, .fill = pack_zero};
    TAKT_TRY(add(p, f, n->in[TAKT_BLOCK_B], levels, &f->words));
    TAKT_TRY(add(p, f, n->in[TAKT_BLOCK_SCALE], scale, &f->scale));
    f->zeros.in = SIZE_MAX;
    if (zero == TAKT_NONE)
        return TAKT_OK;
    if (f->zero_is_one)
        return takt_planner_input(p, zero, &f->zeros.in);
    return add(p, f, zero, zeros, &f->zeros);
}

static const void *packed(const operand *o, const takt_step *s, const takt_task *t)
{
    return o->is_packed ? takt_view_data(t, &s->in[o->in])
                        : (const char *)t->scratch + o->packed_at;
}

/* Words of some panels at a time; scales and zero points are few in comparison. */
static void words_in_run(const facts *f, const takt_task *t, const char *from, char *to)
{
    takt_blocks_job part = f->levels;
    const size_t most = takt_pace_piece(4 * f->b.k, TAKT_BLOCKS_PANEL);
    for (size_t at = 0; at < f->b.n && !takt_poll_stops(t->poll); at += part.n) {
        part.n = f->b.n - at < most ? f->b.n - at : most;
        part.src = from + at * f->b.k * f->b.bits / 8;
        takt_blocks_pack(&part, (void *)(to + at * takt_blocks_deep(f->b.k) * f->b.bits / 8));
    }
}

/* Packs what is not constant. */
static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    char *to = t->scratch;
    if (!f->words.is_packed)
        words_in_run(f, t, takt_view_data(t, &s->in[f->words.in]), to + f->words.packed_at);
    if (!f->scale.is_packed)
        scale_to(f, takt_view_data(t, &s->in[f->scale.in]), to + f->scale.packed_at);
    if (f->zeros.in != SIZE_MAX && !f->zero_is_one && !f->zeros.is_packed)
        zero_to(f, takt_view_data(t, &s->in[f->zeros.in]), to + f->zeros.packed_at);
}

/* ---- running ---- */

static takt_blocks weights(const facts *f, const takt_step *s, const takt_task *t)
{
    takt_blocks b = f->b;
    const uint8_t half = (uint8_t)(f->is_signed ? 1U << (b.bits - 1) : 0);
    b.words = packed(&f->words, s, t);
    b.scale = packed(&f->scale, s, t);
    b.level = half;
    if (f->zeros.in == SIZE_MAX)
        return b;
    if (f->zero_is_one)
        b.level = (uint8_t)((*(const uint8_t *)takt_view_data(t, &s->in[f->zeros.in]) &
                             ((1U << b.bits) - 1)) ^
                            half);
    else if (f->zero == TAKT_F32)
        b.zero_f32 = packed(&f->zeros, s, t);
    else
        b.zero = packed(&f->zeros, s, t);
    return b;
}

/* Rounds a part of the rows to bytes, for all tasks. */
static void round_rows(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_block_i8 g = {.m = f->m,
                             .a = takt_view_data(t, &s->in[f->a]),
                             .a_row = f->b.k,
                             .b = weights(f, s, t),
                             .scratch = t->scratch_own};
    f->bytes_info->round(&g, t->index, s->prepare_count, (char *)t->scratch + f->rounded_at);
}

static void run_bytes(const facts *f, const takt_task *t, const takt_block_part *o)
{
    const void *rounded = f->is_rounded_once ? (const char *)t->scratch + f->rounded_at : NULL;
    const takt_block_i8 g = {o->m, o->a,   f->b.k,     o->b,    o->bias,
                             o->c, f->b.n, o->scratch, rounded, t->poll};
    f->bytes(&g);
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    size_t row, row_end, column, column_end;
    takt_cpu_share(f->m, f->cut.grain, takt_quotient(t->index, f->cut.columns), f->cut.rows, &row,
                   &row_end);
    takt_cpu_share(f->b.n, TAKT_BLOCKS_PANEL, takt_remainder(t->index, f->cut.columns),
                   f->cut.columns, &column, &column_end);
    if (row == row_end || column == column_end)
        return;
    const takt_blocks all = weights(f, s, t);
    const float *bias = f->bias == SIZE_MAX ? NULL : takt_view_data(t, &s->in[f->bias]);
    const takt_block_part o = {.a = (const float *)takt_view_data(t, &s->in[f->a]) + row * f->b.k,
                               .bias = bias ? bias + column : NULL,
                               .b = takt_blocks_cut(&all, column, column_end - column),
                               .m = row_end - row,
                               .ldc = f->b.n,
                               .c = (float *)takt_view_data(t, &s->out[0]) + row * f->b.n + column,
                               .scratch = t->scratch_own,
                               .poll = t->poll};
    if (f->way == BYTES) {
        run_bytes(f, t, &o);
    } else if (f->way == FEW_ROWS) {
        const takt_block_f32 g = {o.m, o.a, f->b.k, o.b, o.bias, o.c, f->b.n, t->poll};
        f->few(&g);
    } else {
        takt_block_floats_run(&f->floats, &o);
    }
    takt_epilogue_run ending = {.epilogue = &f->ending,
                                .step = s,
                                .task = t,
                                .registers = (char *)t->scratch_own + f->registers_at,
                                .row = row,
                                .column = column};
    const takt_conv_block whole = {
        .y = o.c, .ld = o.ldc, .rows = o.m, .columns = column_end - column};
    takt_epilogue_finish(&ending, &whole);
}

/* ---- planning ---- */

static void choose(takt_planner *p, facts *f)
{
    if (f->way == BYTES) {
        const takt_kernel *k = takt_planner_kernel(p, "block_i8");
        f->bytes = takt_kernel_as_block_i8(k);
        f->bytes_info = k->info;
    } else if (f->way == FEW_ROWS) {
        f->few = takt_kernel_as_block_f32(takt_planner_kernel(p, "block_f32"));
    } else {
        f->floats.panels = takt_kernel_as_block_panels(takt_planner_kernel(p, "block_panels"));
        const takt_kernel *k = takt_planner_kernel(p, "gemm_f32");
        f->floats.gemm = takt_kernel_as_gemm_f32(k);
        f->floats.info = k->info;
    }
}

/* The most that any share of the rows needs. */
static size_t scratch_of(facts *f)
{
    size_t most = 0, first, end;
    if (f->way == FEW_ROWS)
        return 0;
    for (size_t i = 0; i < f->cut.rows; i++) {
        takt_cpu_share(f->m, f->cut.grain, i, f->cut.rows, &first, &end);
        const takt_block_i8 g = {
            .m = end - first, .b = f->b, .rounded = f->is_rounded_once ? f : NULL};
        const size_t bytes = f->way == BYTES
                                 ? f->bytes_info->scratch_bytes(&g)
                                 : takt_block_floats_scratch(&f->floats, end - first, &f->b);
        most = bytes > most ? bytes : most;
    }
    return takt_cpu_aligned(most);
}

static facts *facts_of(takt_planner *p, const takt_node *n)
{
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return NULL;
    const takt_type *b = takt_type_of(p->graph, n->in[TAKT_BLOCK_B]);
    const takt_id zero = takt_block_input(n, TAKT_BLOCK_ZERO);
    f->m = 1;
    for (int d = 0; d + 1 < n->type->rank; d++)
        f->m *= (size_t)n->type->dim[d];
    f->b = (takt_blocks){.n = (size_t)b->dim[0],
                         .k = (size_t)b->dim[1],
                         .block = (size_t)n->attr[TAKT_BLOCK_SIZE].i64,
                         .bits = (unsigned)takt_dtype_bits(b->dtype)};
    f->b.scale_is_f16 = takt_type_of(p->graph, n->in[TAKT_BLOCK_SCALE])->dtype == TAKT_F16;
    f->is_signed = takt_dtype_is_signed(b->dtype);
    f->zero = zero == TAKT_NONE ? b->dtype : takt_type_of(p->graph, zero)->dtype;
    f->zero_is_one = zero != TAKT_NONE && takt_type_of(p->graph, zero)->rank == 0;
    f->way = n->attr[TAKT_BLOCK_COMPUTE].i64 == TAKT_BLOCK_INT8 ? BYTES
             : f->m <= TAKT_BLOCK_ROWS                          ? FEW_ROWS
                                                                : FLOATS;
    return f;
}

/* Tasks per thread when there are many threads, some of which may be half as fast as others. */
static size_t tasks_each(const facts *f, size_t threads)
{
    enum { MANY_THREADS = 8 };
    if (threads < MANY_THREADS || (f->way == BYTES && !f->is_rounded_once))
        return 1;
    return f->way == FLOATS ? 2 : 4;
}

/* Rows that every task would round are rounded before, if that justifies a separate phase, if they
 * stay in the last level of cache, and if there are columns for all. */
static bool rounds_once(const facts *f, size_t threads)
{
    enum { LEAST = 32 << 10, MOST = 4 << 20 };
    return f->way == BYTES && f->bytes_info->round != NULL && threads > 1 &&
           takt_blocks_panels(f->b.n) >= 2 * threads && f->b.k > 0 && f->m <= MOST / f->b.k &&
           f->m * f->b.k >= LEAST;
}

static void plan_rounding(takt_step *s, facts *f, size_t threads)
{
    enum { EACH = 8 << 10 }; /* elements: some microseconds */
    const takt_block_i8 g = {.m = f->m, .b = f->b};
    const size_t parts = f->m * f->b.k / EACH;
    f->rounded_at = takt_conv_reserve(s, f->bytes_info->rounded_bytes(&g));
    s->prepare = round_rows;
    s->prepare_count = parts < threads ? parts : threads;
}

static void plan_tasks(takt_planner *p, facts *f)
{
    const double operations = 2.0 * (double)f->m * (double)f->b.n * (double)f->b.k;
    const takt_cut_work work = {f->m, takt_blocks_panels(f->b.n), 8, 4};
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    const double bytes = (double)f->b.n * (double)f->b.k / 8 * f->b.bits;
    f->is_rounded_once = rounds_once(f, threads);
    const size_t tasks = takt_cpu_tasks(p, f->way == BYTES ? operations / 4 : operations, bytes,
                                        tasks_each(f, threads) * threads);
    f->is_rounded_once &= tasks > 1;
    if (f->is_rounded_once) {
        f->cut = (takt_cut){1, tasks < work.panels ? tasks : work.panels, f->m, false};
        plan_rounding(p->step, f, threads);
    } else {
        f->cut = takt_cpu_cut(&work, tasks);
    }
    p->step->task_count = f->cut.rows * f->cut.columns;
}

static takt_status compile(takt_planner *p)
{
    takt_step *s = p->step;
    const takt_id id = p->group->nodes[0],
                  bias = takt_block_input(&p->graph->nodes[id], TAKT_BLOCK_BIAS);
    const takt_node *n = &p->graph->nodes[id];
    facts *f = facts_of(p, n);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    s->data = f;
    choose(p, f);
    TAKT_TRY(takt_planner_input(p, n->in[TAKT_BLOCK_A], &f->a));
    TAKT_TRY(add_weights(p, f, n));
    f->bias = SIZE_MAX;
    if (bias != TAKT_NONE)
        TAKT_TRY(takt_planner_input(p, bias, &f->bias));
    TAKT_TRY(takt_epilogue_compile(p, f->b.n, &f->ending));
    plan_tasks(p, f);
    f->registers_at = scratch_of(f);
    s->scratch_each = f->registers_at + takt_epilogue_scratch(&f->ending);
    s->run = run;
    s->before = f->words.is_packed && f->scale.is_packed &&
                        (f->zeros.in == SIZE_MAX || f->zero_is_one || f->zeros.is_packed)
                    ? NULL
                    : before;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_block_matmul = {.name = "block_matmul",
                                             .family = TAKT_FAMILY_GEMM,
                                             .accepts = accepts,
                                             .keeps = keeps,
                                             .absorbs = takt_epilogue_absorbs,
                                             .compile = compile};
