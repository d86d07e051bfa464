/* winograd_dw.c - gradient of a 3x3 convolution with respect to its weights by Winograd's
 * F(4x4, 3x3): how the work is cut. conv/winograd_dw.c is a chunk of it.
 *
 * A task has whole blocks of channels, or threads share the chunks of tiles: then each chunk is
 * stored, and they are added in order, which gives the same bits. Blocks need less memory, but each
 * transforms its channels of x and dy again, so small ones take longer.
 */
#include <string.h>

#include "backend/cpu/conv/grad.h"
#include "backend/cpu/conv/run.h"
#include "backend/cpu/conv/winograd_dw.h"
#include "backend/cpu/crew.h"
#include "op/util/conv.h"

enum { OUT = TAKT_WINOGRAD_OUT, POINTS = TAKT_WINOGRAD_POINTS };
enum { CHUNK = TAKT_WINOGRAD_CHUNK, BLOCK = TAKT_WINOGRAD_CHANNELS, BLOCK_LEAST = 16 };

static float *at(void *memory, size_t offset)
{
    return (float *)(void *)((char *)memory + offset);
}

static size_t aligned(size_t floats)
{
    return takt_cpu_aligned(floats * sizeof(float));
}

static takt_winograd_job job_of(const takt_step *s, const takt_task *t)
{
    const takt_winograd_dw *f = s->data;
    const bool is_nhwc = f->shape.is_nhwc;
    memset(at(t->scratch_own, f->zeros), 0, BLOCK * sizeof(float));
    return (takt_winograd_job){
        .f = f,
        .t = t,
        .x = is_nhwc ? takt_view_data(t, &s->in[0]) : at(t->scratch, f->x_at),
        .dy = is_nhwc ? takt_view_data(t, &s->in[1]) : at(t->scratch, f->dy_at)};
}

/* ---- by blocks ---- */

static void block(takt_winograd_job *j, float *dw)
{
    const takt_winograd_dw *f = j->f;
    const float *so_far = NULL;
    for (size_t i = 0; i < f->chunks && !takt_poll_stops(j->t->poll); i++) {
        float *to = at(j->t->scratch_own, f->sums[i % 2]);
        takt_winograd_dw_chunk(j, i, so_far, to);
        so_far = to;
    }
    if (so_far == NULL)
        so_far =
            memset(at(j->t->scratch_own, f->sums[0]), 0, POINTS * j->ins * j->outs * sizeof(float));
    takt_winograd_dw_store(j, so_far, 0, j->ins, dw);
}

static void run_blocks(const takt_step *s, const takt_task *t)
{
    const takt_winograd_dw *f = s->data;
    takt_winograd_job j = job_of(s, t);
    size_t first, end;
    takt_cpu_share(f->in_count * f->out_count, 1, t->index, s->task_count, &first, &end);
    for (size_t i = first; i < end; i++) {
        takt_winograd_dw_block(&j, i);
        block(&j, takt_view_data(t, &s->out[0]));
    }
}

/* ---- by chunks ---- */

typedef struct call {
    const takt_step *s;
    takt_winograd_job j;
} call;

/* Chunk by chunk, all blocks of one after the other. */
static float *part_of(const call *c, size_t part)
{
    const takt_winograd_dw *f = c->j.f;
    return at(c->j.t->scratch, f->parts_at + part * aligned(takt_winograd_dw_floats(f)));
}

static void multiply_part(call *c, size_t wave, size_t part)
{
    const takt_winograd_dw *f = c->j.f;
    const size_t blocks = f->in_count * f->out_count, unit = wave * f->parts + part;
    if (unit >= blocks * f->chunks)
        return;
    takt_winograd_dw_block(&c->j, unit % blocks);
    takt_winograd_dw_chunk(&c->j, unit / blocks, NULL, part_of(c, part));
}

/* Adds row `i` of a unit, which is outs floats for each point. */
static void add_row(const takt_winograd_job *j, size_t i, bool is_first, const float *part,
                    float *total)
{
    const size_t each = j->ins * j->outs;
    part += i * j->outs;
    total += i * j->outs;
    for (size_t p = 0; p < POINTS; p++, part += each, total += each)
        for (size_t o = 0; o < j->outs; o++)
            total[o] = is_first ? part[o] : total[o] + part[o];
}

/* A share of the input channels of all blocks. */
static void add_parts(call *c, size_t wave, size_t share)
{
    const takt_winograd_dw *f = c->j.f;
    const size_t blocks = f->in_count * f->out_count, left = blocks * f->chunks - wave * f->parts;
    const size_t parts = left < f->parts ? left : f->parts;
    size_t first, end;
    takt_cpu_share(blocks * f->ins, 1, share, f->parts, &first, &end);
    for (size_t r = first, next; r < end; r = next) {
        const size_t own = r / f->ins, i = r % f->ins;
        next = (own + 1) * f->ins < end ? (own + 1) * f->ins : end;
        float *total = at(c->j.t->scratch, f->total_at + own * aligned(takt_winograd_dw_floats(f)));
        takt_winograd_dw_block(&c->j, own);
        const size_t stop = i + next - r < c->j.ins ? i + next - r : c->j.ins;
        for (size_t row = i; row < stop; row++)
            for (size_t k = 0; k < parts; k++)
                if ((wave * f->parts + k) % blocks == own)
                    add_row(&c->j, row, wave * f->parts + k < blocks, part_of(c, k), total);
        if (wave + 1 == f->waves)
            takt_winograd_dw_store(&c->j, total, i, stop, takt_view_data(c->j.t, &c->s->out[0]));
    }
}

static void run_part(void *user, size_t round, size_t part)
{
    if (round % 2 == 0)
        multiply_part(user, round / 2, part);
    else
        add_parts(user, round / 2, part);
}

static bool goes_on(void *user, size_t round)
{
    const call *c = user;
    (void)round;
    return !takt_poll_stops(c->j.t->poll);
}

static takt_crew *crew_of(const takt_step *s, const takt_task *t)
{
    const takt_winograd_dw *f = s->data;
    return (takt_crew *)(void *)((char *)t->scratch + f->crew_at);
}

static void run_chunks(const takt_step *s, const takt_task *t)
{
    call c = {.s = s, .j = job_of(s, t)};
    const takt_crew_work work = {run_part, goes_on, &c};
    takt_crew_run(crew_of(s, t), t->index * c.j.f->parts / s->task_count, &work);
}

/* ---- around the tasks ---- */

static void before(const takt_step *s, const takt_task *t)
{
    const takt_winograd_dw *f = s->data;
    const takt_conv_shape *c = &f->shape;
    if (f->parts > 0)
        takt_crew_open(crew_of(s, t), f->parts, 2 * f->waves);
    if (c->is_nhwc)
        return;
    takt_winograd_transpose(t, takt_view_data(t, &s->in[0]), at(t->scratch, f->x_at), c->batch,
                            c->cin, c->area);
    takt_winograd_transpose(t, takt_view_data(t, &s->in[1]), at(t->scratch, f->dy_at), c->batch,
                            c->cout, c->positions);
}

static void after(const takt_step *s, const takt_task *t)
{
    takt_crew_close(crew_of(s, t));
}

/* ---- compiling ---- */

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    return n->op == &takt_op_winograd_conv_dw && n->type->dtype == TAKT_F32 ? NULL : "";
}

static size_t divided(size_t count, size_t each)
{
    return count > 0 ? (count + each - 1) / each : 1;
}

/* A way to cut the work: its time, in products of two channels over a chunk, and its scratch. */
typedef struct way {
    size_t in_count, out_count;
    bool by_chunks;
    double cost;
    size_t bytes;
} way;

typedef struct choice {
    takt_winograd_dw *f;
    const takt_gemm_f32_info *info;
    size_t tasks;   /* as many as there is work for */
    size_t workers; /* that have scratch if there is more than one task */
    size_t most;    /* bytes of scratch, if it can be */
} choice;

/* Offsets in a worker's scratch; returns its bytes. */
static size_t set_own(const choice *h, bool by_chunks)
{
    takt_winograd_dw *f = h->f;
    const size_t count = f->tiles < CHUNK ? f->tiles : CHUNK;
    size_t kernel = 0;
    for (size_t less = 0; less < 2; less++)
        for (size_t last = 0; last < 2; last++) {
            const size_t rows = f->ins - (f->ins > less ? less : 0);
            const takt_gemm_f32 g = {.m = rows,
                                     .n = f->outs - (f->outs > last ? last : 0),
                                     .k = count,
                                     .a_row = 1,
                                     .a_col = rows,
                                     .blocking = f->blocking};
            const size_t bytes = h->info->scratch_bytes(&g);
            kernel = bytes > kernel ? bytes : kernel;
        }
    const size_t sums = by_chunks ? 0 : aligned(takt_winograd_dw_floats(f));
    f->v = takt_cpu_aligned(kernel);
    f->d = f->v + aligned(POINTS * takt_winograd_stride(count, f->ins));
    f->sums[0] = f->d + aligned(POINTS * takt_winograd_stride(count, f->outs + 2 * f->panels.wide));
    f->sums[1] = f->sums[0] + sums;
    f->zeros = f->sums[1] + sums;
    return f->zeros + aligned(BLOCK);
}

/* All chunks in one wave, as far as parts and memory allow. */
static void set_waves(takt_winograd_dw *f, size_t threads)
{
    enum { BYTES = 24 << 20 };
    const size_t units = f->in_count * f->out_count * f->chunks;
    const size_t fit = BYTES / aligned(takt_winograd_dw_floats(f));
    size_t most = fit > threads ? fit : threads;
    most = most < TAKT_CREW_MOST ? most : TAKT_CREW_MOST;
    f->waves = divided(units, most);
    f->parts = divided(units, f->waves);
}

static void apply(takt_winograd_dw *f, const way *w, size_t threads)
{
    f->in_count = w->in_count;
    f->out_count = w->out_count;
    f->ins = divided(f->shape.cin, w->in_count);
    f->outs = divided(f->shape.cout, w->out_count);
    f->parts = f->waves = 0;
    if (w->by_chunks)
        set_waves(f, threads);
}

static void weigh(const choice *h, way *w)
{
    /* of a channel of x or dy; of storing and adding a chunk */
    static const double transform = 24, storing = 0.2;
    takt_winograd_dw *f = h->f;
    apply(f, w, h->tasks);
    const size_t blocks = f->in_count * f->out_count, units = w->by_chunks ? f->parts : blocks;
    const size_t workers = h->tasks > 1 && units > 1 ? h->workers : 1;
    const double channels = (double)(f->ins + f->outs), pairs = (double)(f->ins * f->outs);
    const double tiles =
        (double)(takt_round_up(f->ins, h->info->rows) * takt_panels_columns(f->panels, f->outs));
    const double each = tiles + transform * channels + (w->by_chunks ? storing * pairs : 0);
    const size_t turns = w->by_chunks ? f->waves * divided(f->parts, h->tasks)
                                      : divided(blocks, h->tasks) * f->chunks;
    w->cost = (double)turns * each;
    w->bytes = workers * set_own(h, w->by_chunks) +
               (w->by_chunks ? takt_cpu_aligned(sizeof(takt_crew)) : 0) +
               (w->by_chunks ? f->parts + blocks : 0) * aligned(takt_winograd_dw_floats(f));
}

static bool is_better(const choice *h, const way *a, const way *b)
{
    const bool a_fits = a->bytes <= h->most, b_fits = b->bytes <= h->most;
    if (a_fits != b_fits)
        return a_fits;
    return a_fits ? a->cost < b->cost : a->bytes < b->bytes;
}

/* The fewest blocks possible, or twice, four times as many, ..., and both orders for each. */
static way choose(const choice *h)
{
    const takt_conv_shape *c = &h->f->shape;
    way best = {divided(c->cin, BLOCK), divided(c->cout, BLOCK), false, 0, 0};
    weigh(h, &best);
    for (size_t in = divided(c->cin, BLOCK); in == 1 || c->cin / in >= BLOCK_LEAST; in *= 2)
        for (size_t out = divided(c->cout, BLOCK); out == 1 || c->cout / out >= BLOCK_LEAST;
             out *= 2)
            for (int by_chunks = 0; by_chunks < (h->tasks > 1 && h->f->chunks > 1 ? 2 : 1);
                 by_chunks++) {
                way w = {in, out, by_chunks == 1, 0, 0};
                weigh(h, &w);
                if (is_better(h, &w, &best))
                    best = w;
            }
    return best;
}

/* If memory is limited, an eighth of it; for a smaller size of a range, the scratch of the largest.
 * The step already has its forms with channels last. */
static size_t most_scratch(const takt_planner *p)
{
    const size_t memory = p->settings->memory_limit, arena = p->settings->activation_limit;
    const size_t least = memory == 0 || (arena > 0 && arena < memory) ? arena : memory;
    const size_t taken = p->step->scratch_bytes;
    const size_t room = p->scratch_room > taken ? p->scratch_room - taken : 0;
    return least > 0 && least / 8 < room ? least / 8 : room;
}

static void set_tasks(takt_planner *p, takt_winograd_dw *f, const takt_gemm_f32_info *info,
                      const takt_cost *cost)
{
    const takt_conv_shape *c = &f->shape;
    takt_step *s = p->step;
    const size_t threads = p->settings->threads > 1 ? (size_t)p->settings->threads : 1;
    const size_t tasks = takt_cpu_tasks(p, cost->flops / 4, cost->bytes, threads);
    if (!c->is_nhwc) {
        f->x_at = takt_conv_reserve(s, c->batch * c->x_sample * sizeof(float));
        f->dy_at = takt_conv_reserve(s, c->batch * c->y_sample * sizeof(float));
    }
    const choice h = {f, info, tasks, threads, most_scratch(p)};
    const way best = choose(&h);
    apply(f, &best, tasks);
    s->scratch_each = set_own(&h, best.by_chunks);
    const size_t blocks = f->in_count * f->out_count, units = f->parts > 0 ? f->parts : blocks;
    s->task_count = tasks < units ? tasks : units;
    if (f->parts > 0) {
        f->crew_at = takt_conv_reserve(s, sizeof(takt_crew));
        f->parts_at = takt_conv_reserve(s, f->parts * aligned(takt_winograd_dw_floats(f)));
        f->total_at = takt_conv_reserve(s, blocks * aligned(takt_winograd_dw_floats(f)));
    }
}

static takt_status compile(takt_planner *p)
{
    takt_step *s = p->step;
    takt_winograd_dw *f = takt_planner_get(p, sizeof *f);
    takt_cost cost;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_conv_grad_open(p, &f->shape, &cost));
    const takt_conv_shape *c = &f->shape;
    f->to_v = takt_kernel_as_winograd_f32(takt_planner_kernel(p, "winograd_f32"));
    f->to_d = takt_kernel_as_winograd_dy_f32(takt_planner_find(p, "winograd_dy_f32"));
    const takt_kernel *gemm = takt_planner_find(p, "gemm_f32");
    f->multiply = takt_kernel_as_gemm_f32(gemm);
    f->panels = ((const takt_gemm_f32_info *)gemm->info)->panels;
    TAKT_TRY(takt_cpu_blocking(p, &f->blocking));
    f->across = (c->out[2] + OUT - 1) / OUT;
    f->tiles = c->batch * f->across * ((c->out[1] + OUT - 1) / OUT);
    f->chunks = (f->tiles + CHUNK - 1) / CHUNK;
    set_tasks(p, f, gemm->info, &cost);
    s->data = f;
    s->run = f->parts > 0 ? run_chunks : run_blocks;
    s->before = c->is_nhwc && f->parts == 0 ? NULL : before;
    s->after = f->parts > 0 ? after : NULL;
    return TAKT_OK;
}

const takt_cpu_kind takt_cpu_winograd_dw = {
    .name = "winograd_dw", .family = TAKT_FAMILY_CONV, .accepts = accepts, .compile = compile};
