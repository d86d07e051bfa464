/* launch.c - kernels, grids and shared memory of the device steps. */
#include "kernel/cuda/launch.h"

#include <string.h>

#include "kernel/map_f32/cuda_kind.h"
#include "kernel/reduce/reduce.h"
#include "kernel/rows/rows.h"

static uint32_t blocks_of(uint64_t count, uint64_t each)
{
    return (uint32_t)((count + each - 1) / each);
}

static takt_cuda_launch launch(const char *kernel, uint32_t blocks, uint32_t threads)
{
    return (takt_cuda_launch){.kernel = kernel, .grid = {blocks, 1, 1}, .threads = threads};
}

/* ---- element-wise ---- */

/* Whether the program is one operation on contiguous floats, or on single floats. */
static bool is_one(const takt_cuda_map *m, takt_cuda_map_one *one)
{
    const takt_cuda_instruction *c = &m->code[0];
    if (m->code_count != 1 || c->is_byte || !c->is_output || c->op == TAKT_MAP_SELECT ||
        takt_cuda_map_kind_of(c->op) == TAKT_CUDA_MAP_RARE || c->from[0] < TAKT_CUDA_MAP_CODE ||
        c->from[1] < TAKT_CUDA_MAP_CODE)
        return false;
    const takt_cuda_operand *a = &m->in[c->from[0] - TAKT_CUDA_MAP_CODE];
    const takt_cuda_operand *b = &m->in[c->from[1] - TAKT_CUDA_MAP_CODE];
    if (a->is_byte || b->is_byte || a->form == TAKT_CUDA_SPREAD || b->form == TAKT_CUDA_SPREAD)
        return false;
    *one = (takt_cuda_map_one){.dst = m->out[0],
                               .a = a->data,
                               .b = a == b ? NULL : b->data,
                               .count = m->count,
                               .op = c->op,
                               .a_one = a->form == TAKT_CUDA_ONE,
                               .b_one = b->form == TAKT_CUDA_ONE};
    return true;
}

static void launch_one(const takt_cuda_map_one *one, takt_cuda_launch *l)
{
    enum { MANY = 1 << 22 }; /* elements; fewer are spread over more threads */
    const bool is_light = takt_cuda_map_kind_of((uint8_t)one->op) == TAKT_CUDA_MAP_LIGHT;
    const bool is_many = !is_light && one->count >= MANY;
    const uint64_t each = is_many ? TAKT_CUDA_MAP_MANY : TAKT_CUDA_MAP_EACH;
    *l = launch(is_light  ? "takt_cuda_map_one_f32_light"
                : is_many ? "takt_cuda_map_one_f32_many"
                          : "takt_cuda_map_one_f32",
                blocks_of(one->count, TAKT_CUDA_MAP_THREADS * each), TAKT_CUDA_MAP_THREADS);
    l->args.map_one = *one;
    l->arg_bytes = sizeof *one;
}

void takt_cuda_launch_map(const takt_cuda_map *m, takt_cuda_launch *l)
{
    takt_cuda_map_one one;
    if (is_one(m, &one)) {
        launch_one(&one, l);
        return;
    }
    static const char *const kernels[] = {"takt_cuda_map_f32_light", "takt_cuda_map_f32",
                                          "takt_cuda_map_f32_any"};
    uint32_t registers = 0;
    takt_cuda_map_kind kind = TAKT_CUDA_MAP_LIGHT;
    for (uint32_t k = 0; k < m->code_count; k++) {
        const takt_cuda_map_kind own = takt_cuda_map_kind_of(m->code[k].op);
        registers = m->code[k].to + 1U > registers ? m->code[k].to + 1U : registers;
        kind = own > kind ? own : kind;
    }
    *l = launch(kernels[kind],
                blocks_of(m->count, (uint64_t)TAKT_CUDA_MAP_THREADS * TAKT_CUDA_MAP_EACH),
                TAKT_CUDA_MAP_THREADS);
    l->shared_bytes =
        registers * TAKT_CUDA_MAP_THREADS * TAKT_CUDA_MAP_EACH * (uint32_t)sizeof(float);
    l->args.map = *m;
    l->arg_bytes = sizeof *m;
}

void takt_cuda_launch_map_mixed(const takt_cuda_map *m, takt_cuda_launch *l)
{
    uint32_t registers = 0;
    for (uint32_t k = 0; k < m->code_count; k++)
        registers = m->code[k].to + 1U > registers ? m->code[k].to + 1U : registers;
    *l = launch("takt_cuda_map_mixed", blocks_of(m->count, TAKT_CUDA_MAP_THREADS),
                TAKT_CUDA_MAP_THREADS);
    l->shared_bytes = registers * TAKT_CUDA_MAP_THREADS * (uint32_t)sizeof(uint64_t);
    l->args.map = *m;
    l->arg_bytes = sizeof *m;
}

void takt_cuda_launch_rows(const takt_cuda_rows *r, const takt_cuda_block_room *has,
                           takt_cuda_launch *l)
{
    enum { SHORT = 256, LONG = 1024, WIDE = 16, FEW = 264, MANY = 4096 };
    const uint64_t longest = has->shared_bytes / sizeof(float) - LONG;
    if (r->n <= SHORT) {
        const uint32_t threads = r->rows < MANY ? 4 * WIDE : 8 * WIDE;
        *l = launch("takt_cuda_rows_f32_256", blocks_of(r->rows, threads / WIDE), threads);
    } else if (r->n <= LONG && r->rows >= MANY) {
        enum { EACH = 4 }; /* rows of a block */
        *l = launch("takt_cuda_rows_f32_1024", blocks_of(r->rows, EACH), EACH * WIDE);
        l->shared_bytes =
            EACH * (WIDE + TAKT_CUDA_ROWS_LINE((uint32_t)r->n)) * (uint32_t)sizeof(float);
    } else if (r->n <= longest) {
        const uint32_t threads = r->n <= 4 * LONG ? 128 : r->rows <= FEW ? 1024 : 256;
        const bool is_held = r->op == TAKT_ROWS_SOFTMAX && r->n % 4 == 0 &&
                             r->n <= (uint64_t)TAKT_CUDA_ROWS_HELD * threads;
        *l = launch(is_held ? "takt_cuda_rows_f32_held" : "takt_cuda_rows_f32_block",
                    (uint32_t)r->rows, threads);
        l->shared_bytes = ((uint32_t)r->n + threads) * (uint32_t)sizeof(float);
    } else {
        *l = launch("takt_cuda_rows_f32", (uint32_t)r->rows, TAKT_CUDA_ROWS_THREADS);
    }
    l->args.rows = *r;
    l->arg_bytes = sizeof *r;
}

void takt_cuda_launch_move(const takt_cuda_move_args *m, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_move", blocks_of(m->count, TAKT_CUDA_MOVE_THREADS),
                TAKT_CUDA_MOVE_THREADS);
    l->args.move = *m;
    l->arg_bytes = sizeof *m;
}

void takt_cuda_launch_gather(const takt_cuda_gather_args *g, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_gather",
                blocks_of(g->outer * g->count * g->inner, TAKT_CUDA_MOVE_THREADS),
                TAKT_CUDA_MOVE_THREADS);
    l->args.gather = *g;
    l->arg_bytes = sizeof *g;
}

void takt_cuda_launch_window(const takt_cuda_window *w, takt_cuda_launch *l)
{
    *l = w->is_packed
             ? launch(w->op == TAKT_CUDA_DEPTHWISE ? "takt_cuda_depthwise_f32"
                                                   : "takt_cuda_window_f32_quads",
                      blocks_of(w->count / 4, TAKT_CUDA_DEPTHWISE_THREADS),
                      TAKT_CUDA_DEPTHWISE_THREADS)
             : launch("takt_cuda_window_f32", blocks_of(w->count, TAKT_CUDA_WINDOW_THREADS),
                      TAKT_CUDA_WINDOW_THREADS);
    l->args.window = *w;
    l->arg_bytes = sizeof *w;
}

void takt_cuda_launch_winograd(const takt_cuda_winograd *w, bool is_output, takt_cuda_launch *l)
{
    *l = launch(is_output ? "takt_cuda_winograd_out_f32" : "takt_cuda_winograd_in_f32",
                blocks_of((uint64_t)w->tiles * (is_output ? w->outputs : w->channels),
                          TAKT_CUDA_WINOGRAD_THREADS),
                TAKT_CUDA_WINOGRAD_THREADS);
    l->args.winograd = *w;
    l->arg_bytes = sizeof *w;
}

void takt_cuda_launch_weigh(const takt_cuda_weigh *w, uint32_t planes, takt_cuda_launch *l)
{
    enum { SHORT = 512 };
    const uint32_t threads = w->keys <= SHORT ? 128 : TAKT_CUDA_WEIGH_THREADS;
    *l = launch("takt_cuda_weigh_f32", planes * w->queries, threads);
    l->shared_bytes = (w->keys + threads) * (uint32_t)sizeof(float);
    l->args.weigh = *w;
    l->arg_bytes = sizeof *w;
}

void takt_cuda_launch_transpose(const takt_cuda_transpose *t, uint32_t planes, takt_cuda_launch *l)
{
    enum { SIDE = TAKT_CUDA_TRANSPOSE_SIDE };
    *l =
        launch("takt_cuda_transpose_f32", blocks_of(t->rows, SIDE) * blocks_of(t->cols, SIDE), 256);
    l->grid[2] = planes;
    l->args.transpose = *t;
    l->arg_bytes = sizeof *t;
}

void takt_cuda_launch_attend(const takt_cuda_attend *a, uint32_t batch, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_attend_f32", batch * a->heads * a->queries, TAKT_CUDA_WEIGH_THREADS);
    l->shared_bytes = (a->keys + 2 * TAKT_CUDA_WEIGH_THREADS) * (uint32_t)sizeof(float);
    l->args.attend = *a;
    l->arg_bytes = sizeof *a;
}

/* A tile of 128 x 128, stages, and a float per query. */
uint32_t takt_cuda_attend_long_bytes(void)
{
    enum { SIDE = TAKT_CUDA_ATTEND_SIDE, LINES = SIDE + TAKT_CUDA_ATTEND_LINES + 1 };
    return LINES * SIDE * (uint32_t)sizeof(float);
}

void takt_cuda_launch_attend_long(const takt_cuda_attend_long *a, uint32_t batches,
                                  takt_cuda_launch *l)
{
    *l = launch("takt_cuda_attend_long_f32", a->blocks, TAKT_CUDA_ATTEND_THREADS);
    l->shared_bytes = takt_cuda_attend_long_bytes();
    l->args.attend_long = *a;
    l->args.attend_long.each = blocks_of(a->queries, TAKT_CUDA_ATTEND_SIDE);
    l->args.attend_long.panels = l->args.attend_long.each * batches * a->heads;
    l->arg_bytes = sizeof *a;
}

void takt_cuda_launch_fours(const takt_cuda_fours *f, takt_cuda_launch *l)
{
    enum { THREADS = 256 };
    *l = launch("takt_cuda_fours_f32", blocks_of(f->count, THREADS), THREADS);
    l->args.fours = *f;
    l->arg_bytes = sizeof *f;
}

void takt_cuda_launch_pick(const takt_cuda_pick_args *p, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_pick", blocks_of(p->count, TAKT_CUDA_MOVE_THREADS),
                TAKT_CUDA_MOVE_THREADS);
    l->args.pick = *p;
    l->arg_bytes = sizeof *p;
}

void takt_cuda_launch_ggml_rows(const takt_cuda_ggml_rows *g, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_ggml_rows_f32", blocks_of(g->count, TAKT_CUDA_GGML_THREADS),
                TAKT_CUDA_GGML_THREADS);
    l->args.ggml_rows = *g;
    l->arg_bytes = sizeof *g;
}

void takt_cuda_launch_ggml(const takt_cuda_ggml *g, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_ggml_product_f32", blocks_of(g->n, TAKT_CUDA_GGML_COLS),
                TAKT_CUDA_GGML_THREADS);
    l->grid[1] = blocks_of(g->m, TAKT_CUDA_GGML_ROWS);
    l->args.ggml = *g;
    l->arg_bytes = sizeof *g;
}

void takt_cuda_launch_reduce_any(const takt_cuda_reduce_any_args *r, takt_cuda_launch *l)
{
    *l = launch(r->op >= TAKT_REDUCE_ARGMAX ? "takt_cuda_any_arg" : "takt_cuda_any_reduce",
                blocks_of(r->count, TAKT_CUDA_REDUCE_RESULTS), TAKT_CUDA_REDUCE_THREADS);
    l->args.reduce_any = *r;
    l->arg_bytes = sizeof *r;
}

void takt_cuda_launch_gemm_any(const takt_cuda_gemm_any_args *g, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_any_gemm", blocks_of(g->count, TAKT_CUDA_MOVE_THREADS),
                TAKT_CUDA_MOVE_THREADS);
    l->args.gemm_any = *g;
    l->arg_bytes = sizeof *g;
}

void takt_cuda_launch_lines(const takt_cuda_lines_args *a, takt_cuda_launch *l)
{
    const bool is_order = a->places != NULL;
    *l = launch(is_order ? "takt_cuda_lines_order" : "takt_cuda_lines_sum",
                blocks_of(a->outer * a->inner * (is_order ? a->size : 1), TAKT_CUDA_MOVE_THREADS),
                TAKT_CUDA_MOVE_THREADS);
    l->args.lines = *a;
    l->arg_bytes = sizeof *a;
}

void takt_cuda_launch_scatter(const takt_cuda_scatter_args *s, bool converts, takt_cuda_launch *l)
{
    /* Few lines are spread over multiprocessors: each waits for its own memory. */
    enum { FEW = 4096 };
    const uint32_t threads = !converts && s->count < FEW ? 32 : TAKT_CUDA_MOVE_THREADS;
    *l = launch(converts ? "takt_cuda_scatter_convert" : "takt_cuda_scatter",
                blocks_of(s->count, threads), threads);
    l->args.scatter = *s;
    l->arg_bytes = sizeof *s;
}

void takt_cuda_launch_affine(const takt_cuda_affine_args *a, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_affine", blocks_of(a->count, TAKT_CUDA_MOVE_THREADS),
                TAKT_CUDA_MOVE_THREADS);
    l->args.affine = *a;
    l->arg_bytes = sizeof *a;
}

void takt_cuda_launch_rand(const takt_cuda_rand_args *r, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_rand", blocks_of(r->count, TAKT_CUDA_MOVE_THREADS),
                TAKT_CUDA_MOVE_THREADS);
    l->args.rand = *r;
    l->arg_bytes = sizeof *r;
}

void takt_cuda_launch_conv_any(const takt_cuda_conv_any_args *c, const char *kernel,
                               takt_cuda_launch *l)
{
    *l = launch(kernel, blocks_of(c->count, TAKT_CUDA_MOVE_THREADS), TAKT_CUDA_MOVE_THREADS);
    l->args.conv_any = *c;
    l->arg_bytes = sizeof *c;
}

void takt_cuda_launch_pool_any(const takt_cuda_pool_args *p, takt_cuda_launch *l)
{
    *l = launch(p->op >= TAKT_CUDA_POOL_MAX_DX ? "takt_cuda_pool_any_dx" : "takt_cuda_pool_any",
                blocks_of(p->count, TAKT_CUDA_POOL_THREADS), TAKT_CUDA_POOL_THREADS);
    l->args.pool_any = *p;
    l->arg_bytes = sizeof *p;
}

void takt_cuda_launch_block(const takt_cuda_block_args *g, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_block_f32", blocks_of(g->n, TAKT_CUDA_BLOCK_COLS),
                TAKT_CUDA_BLOCK_THREADS);
    l->grid[1] = blocks_of(g->m, TAKT_CUDA_BLOCK_ROWS);
    l->args.block = *g;
    l->arg_bytes = sizeof *g;
}

void takt_cuda_launch_semiring(const takt_cuda_semiring_args *s, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_semiring", blocks_of(s->count, TAKT_CUDA_SEMIRING_THREADS),
                TAKT_CUDA_SEMIRING_THREADS);
    l->args.semiring = *s;
    l->arg_bytes = sizeof *s;
}

void takt_cuda_launch_recompute(const takt_cuda_recompute *a, uint32_t planes, takt_cuda_launch *l)
{
    *l = launch("takt_cuda_attend_recompute_f32", planes * a->queries, 128);
    l->args.again = *a;
    l->arg_bytes = sizeof *a;
}
