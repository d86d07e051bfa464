/* cuda_units.c - device kernels behind the function types of their families.
 *
 * The order of threads, tiles, cuts and the layout of B vary from call to call, so the cases of a
 * family's check cover all kernels in all orders.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/map_program.h"
#include "cuda_device.h"
#include "kernel/convert/convert.h"
#include "kernel/gemm_f32/gemm_f32.h"
#include "kernel/map/map.h"
#include "kernel/pack/pack.h"
#include "kernel/reduce/reduce.h"
#include "kernel/rows/rows.h"

uint32_t device_calls;

void device_next(void)
{
    device_calls++;
    device_order((grid_order)(device_calls % GRID_ORDERS));
}

/* Numbers of multiprocessors that lead to one choice or another. */
static takt_cuda_block_room room(void)
{
    static const uint32_t processors[] = {1, 2, 4, 132, 1 << 20};
    return (takt_cuda_block_room){device_calls % 3 == 0 ? 64 << 10 : 227 << 10,
                                  processors[device_calls % 5]};
}

/* ---- element-wise ---- */

static void map(takt_map_op op, void *dst, const void *const *src, const unsigned char *is_scalar,
                size_t n)
{
    takt_cuda_map m = {.count = n, .dims = 1, .code_count = 1, .dim = {(uint32_t)n}};
    const int operands = takt_map_operands(op);
    const bool is_byte = takt_map_is_predicate(op);
    device_next();
    if (n == 0)
        return;
    m.code[0] = (takt_cuda_instruction){
        .op = (uint8_t)op, .is_output = 1, .is_byte = is_byte, .to = (uint8_t)(device_calls % 3)};
    for (int k = 0; k < 3; k++)
        m.code[0].from[k] = (uint8_t)(TAKT_CUDA_MAP_CODE + (k < operands ? k : 0));
    for (int k = 0; k < operands; k++) {
        takt_cuda_operand *o = &m.in[k];
        o->is_byte = op == TAKT_MAP_SELECT && k == 0;
        o->form = is_scalar[k]            ? TAKT_CUDA_ONE
                  : device_calls % 5 == 0 ? TAKT_CUDA_SPREAD
                                          : TAKT_CUDA_FULL;
        o->stride[0] = 1;
        o->data = src[k] == dst && !is_scalar[k]
                      ? NULL
                      : device_in(src[k], (is_scalar[k] ? 1 : n) * (o->is_byte ? 1 : 4));
    }
    m.out[0] = device_out(dst, n * (is_byte ? 1 : 4));
    for (int k = 0; k < operands; k++)
        m.in[k].data = m.in[k].data == NULL ? m.out[0] : m.in[k].data;
    takt_cuda_launch l;
    takt_cuda_launch_map(&m, &l);
    if (strcmp(l.kernel, "takt_cuda_map_one_f32") == 0 && device_calls % 2 == 0) {
        enum { EACH = TAKT_CUDA_MAP_THREADS * TAKT_CUDA_MAP_MANY };
        l.kernel = "takt_cuda_map_one_f32_many"; /* the kernel for many elements takes few */
        l.grid[0] = (uint32_t)(n + EACH - 1) / EACH;
    }
    device_launch(&l, 1);
    device_end();
}

#define X(NAME, name, operands, result, what)                                                      \
    static void map_##NAME(void *dst, const void *const *src, const unsigned char *is_scalar,      \
                           size_t n, takt_fault *fault)                                            \
    {                                                                                              \
        (void)fault;                                                                               \
        map(TAKT_MAP_##NAME, dst, src, is_scalar, n);                                              \
    }
TAKT_MAP_OPS(X)
#undef X

/* The float operations of the scalar table. */
static takt_map_table map_table = {{
#define X(NAME, name, operands, result, what) map_##NAME,
    TAKT_MAP_OPS(X)
#undef X
}};

void device_fit_map_table(const char *family, takt_map_table *table)
{
    const takt_kernel *scalar =
        takt_kernel_find(family, UINT32_C(1) << TAKT_ISA_scalar, NULL, 0, NULL);
    for (int op = 0; op < TAKT_MAP_OP_COUNT; op++)
        if (takt_map_find(scalar, (takt_map_op)op) == NULL)
            table->op[op] = NULL;
}

/* ---- rows ---- */

static size_t extent(size_t rows, size_t n, size_t stride)
{
    return rows > 0 ? ((rows - 1) * stride + n) * sizeof(float) : 0;
}

static void rows(const takt_rows_step *r);

/* Device code takes gamma and beta per element of a row, not per plane: rows are computed one by
 * one, with their own values. */
static void rows_of_planes(const takt_rows_step *r)
{
    float *gamma = malloc(2 * (r->n + 1) * sizeof *gamma), *beta = gamma + r->n + 1;
    for (size_t row = 0; gamma != NULL && row < r->rows; row++) {
        const size_t channel = (r->first + row) * (r->n / r->plane) % r->channels;
        takt_rows_step one = *r;
        for (size_t i = 0; i < r->n; i++) {
            gamma[i] = r->gamma != NULL ? ((const float *)r->gamma)[channel + i / r->plane] : 1.0f;
            beta[i] = r->beta != NULL ? ((const float *)r->beta)[channel + i / r->plane] : -0.0f;
        }
        one.rows = 1;
        one.plane = 0;
        one.dst = (float *)r->dst + row * r->dst_stride;
        one.src = (const float *)r->src + row * r->src_stride;
        one.gamma = gamma;
        one.beta = beta;
        rows(&one);
    }
    free(gamma);
}

static void rows(const takt_rows_step *r)
{
    if (r->rows == 0 || r->n == 0)
        return;
    if (r->plane > 0) {
        rows_of_planes(r);
        return;
    }
    const bool in_place = r->src == r->dst;
    device_next();
    takt_cuda_rows d = {.rows = r->rows,
                        .n = r->n,
                        .dst_stride = r->dst_stride,
                        .src_stride = r->src_stride,
                        .epsilon = (float)r->epsilon,
                        .op = r->op};
    d.dst = device_out(r->dst, extent(r->rows, r->n, r->dst_stride));
    d.src = in_place ? d.dst : device_in(r->src, extent(r->rows, r->n, r->src_stride));
    d.gamma = r->gamma != NULL ? device_in(r->gamma, r->n * sizeof(float)) : NULL;
    d.beta = r->beta != NULL ? device_in(r->beta, r->n * sizeof(float)) : NULL;
    takt_cuda_launch l;
    const takt_cuda_block_room has = room();
    takt_cuda_launch_rows(&d, &has, &l);
    if (device_calls % 4 == 1) { /* kernels for long rows accept short ones as well */
        l.kernel = "takt_cuda_rows_f32";
        l.threads = TAKT_CUDA_ROWS_THREADS;
        l.shared_bytes = 0;
        l.grid[0] = (uint32_t)d.rows;
    } else if (device_calls % 4 == 2 && d.n < 4096) {
        l.kernel = "takt_cuda_rows_f32_block";
        l.threads = device_calls % 8 == 2 ? 256 : 1024;
        l.shared_bytes = ((uint32_t)d.n + l.threads) * (uint32_t)sizeof(float);
        l.grid[0] = (uint32_t)d.rows;
    } else if (device_calls % 4 == 3 && d.n <= 1024) { /* and that for many rows takes few */
        l.kernel = "takt_cuda_rows_f32_1024";
        l.threads = 64;
        l.shared_bytes = 4 * (16 + TAKT_CUDA_ROWS_LINE((uint32_t)d.n)) * (uint32_t)sizeof(float);
        l.grid[0] = (uint32_t)(d.rows + 3) / 4;
    }
    device_launch(&l, 1);
    device_end();
}

/* ---- reductions ---- */

static void reduce(const takt_reduce *r)
{
    if (r->count == 0)
        return;
    const bool is_arg = r->op >= TAKT_REDUCE_ARGMAX;
    device_next();
    const size_t last = r->n > 0 ? takt_reduce_at(r, r->count - 1, r->n - 1) : 0;
    size_t most = last; /* the last element of the last run need not be the farthest one */
    for (size_t i = 0; i < r->n; i++) {
        const size_t at = takt_reduce_at(r, r->count - 1, i);
        most = at > most ? at : most;
    }
    takt_cuda_reduce d = {.count = r->count,
                          .across = r->across,
                          .n = r->n,
                          .run = r->run < r->n ? r->run : r->n,
                          .run_stride = r->run_stride,
                          .step = r->step,
                          .inner = r->count,
                          .op = r->op};
    d.src = device_in(r->src, r->n > 0 ? (most + 1) * sizeof(float) : 0);
    d.dst = device_out(r->dst, r->count * (is_arg ? sizeof(int64_t) : sizeof(float)));
    const takt_cuda_block_room has = room();
    takt_cuda_launch l[TAKT_CUDA_LAUNCHES];
    const size_t chunks = (d.n + TAKT_REDUCE_CHUNK - 1) / TAKT_REDUCE_CHUNK;
    float *scratch = device_scratch(takt_cuda_reduce_scratch(&d, &has));
    uint32_t few = takt_cuda_reduce_tickets(&d, &has);
    const bool is_long = few > 0 && device_calls % 2 == 0; /* its kernel accepts short ones too */
    uint32_t *tickets = device_tickets(is_long ? (uint32_t)(2 * chunks * d.count) : few);
    const size_t count = takt_cuda_launch_reduce(&d, &has, scratch, tickets, l);
    if (is_long)
        takt_cuda_launch_reduce_long(
            &d, &(takt_cuda_block_room){227 << 10, has.processors < 4 ? has.processors : 4},
            tickets, l);
    device_launch(l, count);
    device_end();
}

/* ---- products ---- */

enum { P = 16 };
static const takt_panels panels = {P, P};

/* B in the layout of a graph: row-major or column-major. */
static float *unpacked(const takt_gemm_f32 *g, bool by_columns)
{
    static float piece[P * TAKT_GEMM_CHUNK];
    float *b = malloc((g->k * g->n + 1) * sizeof *b);
    for (size_t first = 0; b != NULL && first < g->k; first += TAKT_GEMM_CHUNK)
        for (size_t col = 0; col < g->n; col += P) {
            const size_t k = g->k - first < TAKT_GEMM_CHUNK ? g->k - first : TAKT_GEMM_CHUNK;
            const size_t cols = g->n - col < P ? g->n - col : P;
            const float *from = piece;
            if (g->stored != NULL)
                g->stored->widen(g->stored, &(takt_gemm_piece){first, k, g->b_first + col, P},
                                 piece);
            else
                from = g->b + first * takt_panels_columns(panels, g->b_n) + (g->b_first + col) * k;
            for (size_t p = 0; p < k; p++)
                for (size_t j = 0; j < cols; j++)
                    b[by_columns ? (col + j) * g->k + first + p : (first + p) * g->n + col + j] =
                        from[p * P + j];
        }
    return b;
}

static void set_epilogue(takt_cuda_epilogue *d, const takt_gemm_f32 *g)
{
    const takt_epilogue_f32 *e = g->epilogue;
    if (e == NULL)
        return;
    const bool has_low = e->act == TAKT_GEMM_ACT_CLIP;
    const bool has_high = has_low || e->act == TAKT_GEMM_ACT_RELU_MIN;
    d->bias = e->bias != NULL ? device_in(e->bias, g->n * sizeof(float)) : NULL;
    d->residual =
        e->residual != NULL ? device_in(e->residual, extent(g->m, g->n, e->residual_stride)) : NULL;
    d->residual_row = (int64_t)e->residual_stride;
    d->residual_last = e->residual_last;
    d->is_relu = e->act == TAKT_GEMM_ACT_RELU || e->act == TAKT_GEMM_ACT_RELU_MIN;
    d->is_leaky = e->act == TAKT_GEMM_ACT_LEAKY;
    d->low = has_low ? device_in(&e->lo, sizeof e->lo) : NULL;
    d->high = has_high ? device_in(&e->hi, sizeof e->hi) : NULL;
    d->slope = e->slope;
}

/* A as lines of each k. */
static float *lined(const takt_gemm_f32 *g)
{
    float *a = malloc((g->m * g->k + 1) * sizeof *a);
    for (size_t p = 0; a != NULL && p < g->k; p++)
        for (size_t i = 0; i < g->m; i++)
            a[p * g->m + i] = g->a[i * g->a_row + p * g->a_col];
    return a;
}

static bool takes(const takt_cuda_gemm *d, size_t way)
{
    const takt_cuda_block_room has = room();
    return takt_cuda_gemm_plan_of(d, 1, &has, way).way != SIZE_MAX;
}

/* Every tile in turn, and the one that would be chosen. Few products fit tiles that need A as
 * lines: those that do take each of these before they take another. */
static size_t way_of(const takt_cuda_gemm *d, const takt_cuda_gemm *turned)
{
    enum { MOST = 64 };
    static uint32_t turn;
    const size_t ways = takt_cuda_gemm_ways(), way = device_calls % (ways + 2);
    size_t by_lines[MOST], count = 0;
    for (size_t w = 0; w < ways && w < MOST; w++)
        if (!takes(d, w) && takes(turned, w))
            by_lines[count++] = w;
    const size_t own = count > 0 ? turn++ % (count + 1) : 0;
    if (own < count)
        return by_lines[own];
    return way < ways && takes(d, way) ? way : TAKT_CUDA_GEMM_ANY;
}

static void gemm(const takt_gemm_f32 *g)
{
    if (g->m == 0 || g->n == 0)
        return;
    device_next();
    const bool by_columns = device_calls % 7 == 2;
    static float *a, *b; /* a planted kernel that gives up jumps over the end of this function */
    free(a);
    free(b);
    b = unpacked(g, by_columns);
    const size_t a_last = g->k > 0 ? (g->m - 1) * g->a_row + (g->k - 1) * g->a_col + 1 : 0;
    takt_cuda_gemm d = {.m = (uint32_t)g->m,
                        .n = (uint32_t)g->n,
                        .k = (uint32_t)g->k,
                        .a_row = (int64_t)g->a_row,
                        .a_col = (int64_t)g->a_col,
                        .b_row = by_columns ? 1 : (int64_t)g->n,
                        .b_col = by_columns ? (int64_t)g->k : 1,
                        .c_row = (int64_t)g->ldc,
                        .inner = 1,
                        .keeps_b = device_calls % 2};
    takt_cuda_gemm turned = d;
    turned.a_row = 1;
    turned.a_col = (int64_t)g->m;
    turned.is_aligned = 1;
    const size_t way = way_of(&d, &turned);
    const bool is_turned = way != TAKT_CUDA_GEMM_ANY && !takes(&d, way);
    a = is_turned ? lined(g) : NULL;
    d = is_turned ? turned : d;
    d.a = is_turned ? device_in(a, g->m * g->k * sizeof(float))
                    : device_in(g->a, a_last * sizeof(float));
    d.b = device_in(b, g->k * g->n * sizeof(float));
    d.c = device_out(g->c, extent(g->m, g->n, g->ldc));
    set_epilogue(&d.end, g);
    const takt_cuda_block_room has = room();
    const takt_cuda_gemm_plan plan = takt_cuda_gemm_plan_of(&d, 1, &has, way);
    takt_cuda_launch l;
    float *scratch = device_scratch(plan.scratch_bytes);
    takt_cuda_launch_gemm(&d, 1, &plan, scratch, device_tickets(plan.tickets), &l);
    device_launch(&l, 1);
    device_end();
    if (g->epilogue != NULL && g->epilogue->tail != NULL)
        g->epilogue->tail(g->epilogue->user, g->c, g->ldc, 0, 0, g->m, g->n);
}

static size_t no_scratch(const takt_gemm_f32 *g)
{
    (void)g;
    return 0;
}

static const takt_gemm_f32_info gemm_info = {1, {P, P}, no_scratch, 0, 0};

/* ---- the families ---- */

static const takt_kernel gemm_kernels[] = {TAKT_KERNEL(gemm_f32, "cuda", 0, gemm, &gemm_info)};
static const takt_kernel rows_kernels[] = {TAKT_KERNEL(rows_f32, "cuda", 0, rows, NULL)};
static const takt_kernel reduce_kernels[] = {TAKT_KERNEL(reduce_f32, "cuda", 0, reduce, NULL)};
static const takt_kernel map_kernels[] = {TAKT_KERNEL(map_f32, "cuda", 0, map_COPY, &map_table)};

#define UNIT(family, kernels)                                                                      \
    {                                                                                              \
#family, TAKT_ISA_scalar, kernels, sizeof kernels / sizeof *kernels                        \
    }
static const takt_kernel_unit units[] = {UNIT(map_f32, map_kernels), UNIT(rows_f32, rows_kernels),
                                         UNIT(reduce_f32, reduce_kernels),
                                         UNIT(gemm_f32, gemm_kernels)};

const takt_kernel_unit *device_unit(size_t index)
{
    device_fit_map_table("map_f32", &map_table);
    const size_t own = sizeof units / sizeof *units;
    return index < own ? &units[index] : device_mixed_unit(index - own);
}
