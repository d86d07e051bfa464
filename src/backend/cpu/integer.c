/* integer.c - operands of the integer products: packing, zero points, requantisation. */
#include "backend/cpu/integer.h"

#include <string.h>

#include "backend/cpu/conv/run.h"
#include "base/size.h"
#include "kernel/gemm_i8/fixed.h"
#include "op/util/conv.h"

/* ---- packing ---- */

static void pack(const takt_integer *f, const int8_t *from, char *to)
{
    for (size_t g = 0; g < f->groups; g++) {
        const takt_pack_i8_job job = {
            .k = f->k,
            .n = f->n,
            .group = f->info->group,
            .src = from + g * f->n * f->col,
            .row = f->row,
            .col = f->col,
            .run = f->tap_run,
            .is_unsigned = f->b_unsigned,
            .dst = (int8_t *)(void *)(to + g * f->group_bytes),
            .sums = (int32_t *)(void *)(to + g * f->group_bytes + f->panels_bytes)};
        takt_pack_i8(&job);
        /* Padding between the parts has a defined value, since it is compared when plans share
         * weights. */
        char *sums_end = (char *)(job.sums + f->n), *end = to + (g + 1) * f->group_bytes;
        memset((char *)job.dst + f->padded_bytes, 0, f->panels_bytes - f->padded_bytes);
        memset(sums_end, 0, (size_t)(end - sums_end));
    }
}

static takt_status pack_constant(void *user, const void *from, void *to)
{
    pack(user, from, to);
    return TAKT_OK;
}

void takt_integer_pack(const takt_integer *f, const takt_step *s, const takt_task *t)
{
    pack(f, takt_view_data(t, &s->in[f->in[TAKT_INTEGER_B]]), (char *)t->scratch + f->packed_at);
}

static takt_status add_weights(takt_planner *p, takt_integer *f, takt_id node)
{
    const size_t group = f->info->group, panels = (f->n + 15) / 16;
    size_t bytes;
    f->deep = takt_i8_deep(f->k, f->tap_run, group);
    if (!takt_size_mul(panels * 16, f->deep, &f->panels_bytes) || f->panels_bytes > SIZE_MAX / 4)
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "packed weights of 8 bits are too large");
    f->padded_bytes = f->panels_bytes;
    f->panels_bytes = takt_cpu_aligned(f->panels_bytes);
    f->group_bytes = f->panels_bytes + takt_cpu_aligned(f->n * sizeof(int32_t));
    if (!takt_size_mul(f->group_bytes, f->groups, &bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "packed weights of 8 bits are too large");
    f->is_packed = takt_planner_is_constant(p, node) && !takt_planner_in_prologue(p);
    if (!f->is_packed) {
        f->packed_at = takt_conv_reserve(p->step, bytes);
        return takt_planner_input(p, node, &f->in[TAKT_INTEGER_B]);
    }
    const char *format = takt_planner_text(p, "i8-p16x%zu row=%zu groups=%zu k=%zu n=%zu run=%zu",
                                           group, f->row, f->groups, f->k, f->n, f->tap_run);
    if (format == NULL)
        return TAKT_ERR_MEMORY;
    return takt_planner_packed(p, node, format, bytes, pack_constant, f, &f->in[TAKT_INTEGER_B]);
}

/* ---- what follows ---- */

/* The constant byte that bounds the other operand of `n`; false: `n` is not such a bound. */
static bool bound_of(const takt_graph *g, const takt_node *n, int32_t *bound)
{
    const bool bounds = n->op == &takt_op_max || n->op == &takt_op_min;
    for (uint32_t k = 0; bounds && k < 2; k++) {
        const takt_node *c = &g->nodes[n->in[k]];
        if (c->op == &takt_op_constant && c->type->rank == 0) {
            const void *data = takt_tensor_data(c->attr[0].tensor);
            *bound = (int32_t)takt_dtype_get_i(c->type->dtype, data, 0);
            return true;
        }
    }
    return false;
}

const char *takt_integer_absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    const takt_dtype dtype = takt_type_of(g, anchor)->dtype;
    int32_t bound;
    if ((dtype != TAKT_I8 && dtype != TAKT_U8) || !bound_of(g, &g->nodes[node], &bound))
        return "only bounds of bytes are kept inside the step";
    return NULL;
}

static int32_t higher(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t lower(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The bounds that remain after the type and the bounds of the group, in order. */
static void set_range(const takt_planner *p, takt_integer *f)
{
    int32_t bound;
    f->low = f->to == TAKT_REQUANT_U8 ? 0 : -128;
    f->high = f->to == TAKT_REQUANT_U8 ? 255 : 127;
    for (size_t i = 1; i < p->group->count; i++) {
        const takt_node *n = &p->graph->nodes[p->group->nodes[i]];
        if (!bound_of(p->graph, n, &bound))
            continue;
        const bool is_low = n->op == &takt_op_max;
        f->low = is_low ? higher(f->low, bound) : lower(f->low, bound);
        f->high = is_low ? higher(f->high, bound) : lower(f->high, bound);
    }
}

static int32_t byte_at(const void *p, size_t i, bool is_unsigned)
{
    return is_unsigned ? ((const uint8_t *)p)[i] : ((const int8_t *)p)[i];
}

/* NULL also for a constant whose data has been freed: plans that only compute sizes may lack the
 * model. */
static const takt_node *constant_of(const takt_graph *g, const takt_node *n, size_t which)
{
    if (which >= n->in_count || n->in[which] == TAKT_NONE)
        return NULL;
    const takt_node *c = &g->nodes[n->in[which]];
    return c->op == &takt_op_constant && c->attr[0].tensor->storage != NULL ? c : NULL;
}

/* Whether multipliers and shifts are constants that need none of the rarer cases. */
static bool goes_right(const takt_graph *g, const takt_node *n)
{
    const takt_node *by = constant_of(g, n, TAKT_INTEGER_SCALE),
                    *shift = constant_of(g, n, TAKT_INTEGER_SHIFT);
    size_t count, shifts;
    if (by == NULL || shift == NULL || by->type->dtype != TAKT_I32 ||
        shift->type->dtype != TAKT_I32 || !takt_type_count(by->type, &count) ||
        !takt_type_count(shift->type, &shifts) || count != shifts)
        return false;
    return takt_fixed_goes_right(takt_tensor_data(by->attr[0].tensor),
                                 takt_tensor_data(shift->attr[0].tensor), count);
}

/* The offset that packing subtracts from unsigned bytes and from their zero points. */
static int32_t taken(const takt_integer *f)
{
    return f->b_unsigned ? 128 : 0;
}

/* Whether the zero points of B are constants and vanish when it is packed. */
static bool has_no_zeros(const takt_graph *g, const takt_node *n, const takt_integer *f)
{
    const takt_node *zero = constant_of(g, n, TAKT_INTEGER_B_ZERO);
    const bool is_absent =
        n->in_count <= TAKT_INTEGER_B_ZERO || n->in[TAKT_INTEGER_B_ZERO] == TAKT_NONE;
    size_t count;
    if (is_absent)
        return taken(f) == 0;
    if (zero == NULL || !takt_type_count(zero->type, &count))
        return false;
    const void *data = takt_tensor_data(zero->attr[0].tensor);
    for (size_t i = 0; i < count; i++)
        if (byte_at(data, i, f->b_unsigned) != taken(f))
            return false;
    return true;
}

takt_status takt_integer_compile(takt_planner *p, takt_integer *f, bool use_panels)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    size_t index;
    if (use_panels) {
        const takt_kernel *gemm = takt_planner_kernel(p, "gemm_i8");
        f->run = takt_kernel_as_gemm_i8(gemm);
        f->info = gemm->info;
    }
    f->a_unsigned = takt_type_of(p->graph, n->in[TAKT_INTEGER_A])->dtype == TAKT_U8;
    f->b_unsigned = takt_type_of(p->graph, n->in[TAKT_INTEGER_B])->dtype == TAKT_U8;
    f->to = n->type->dtype == TAKT_I32   ? TAKT_REQUANT_I32
            : n->type->dtype == TAKT_F32 ? TAKT_REQUANT_F32
            : n->type->dtype == TAKT_I8  ? TAKT_REQUANT_S8
                                         : TAKT_REQUANT_U8;
    f->is_wide = n->in_count > TAKT_INTEGER_SCALE && n->in[TAKT_INTEGER_SCALE] != TAKT_NONE &&
                 takt_type_of(p->graph, n->in[TAKT_INTEGER_SCALE])->dtype == TAKT_F64;
    f->goes_right = goes_right(p->graph, n);
    f->has_no_zeros = has_no_zeros(p->graph, n, f);
    f->result_bytes = (size_t)takt_dtype_bits(n->type->dtype) / 8;
    for (size_t k = 0; k < TAKT_INTEGER_ALL; k++) {
        f->in[k] = SIZE_MAX;
        if (k >= n->in_count || n->in[k] == TAKT_NONE)
            continue;
        if (k == TAKT_INTEGER_B && use_panels)
            TAKT_TRY(add_weights(p, f, n->in[k]));
        else if (k != TAKT_INTEGER_B)
            TAKT_TRY(takt_planner_input(p, n->in[k], &f->in[k]));
    }
    set_range(p, f);
    return takt_planner_output(p, p->group->nodes[p->group->count - 1], &index);
}

/* ---- parameters ---- */

bool takt_integer_is_depthwise(const takt_graph *g, const takt_node *n)
{
    if (n->op != &takt_op_integer_conv || n->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC)
        return false;
    const takt_type *x = takt_type_of(g, n->in[0]), *w = takt_type_of(g, n->in[1]);
    const int64_t groups = n->attr[TAKT_CONV_GROUPS].i64;
    return groups > 1 && x->dim[x->rank - 1] == groups && w->dim[0] == groups;
}

/* Input `which`, or NULL; `*is_one`: the same for every column. */
static const void *parameter(const takt_integer *f, const takt_step *s, const takt_task *t,
                             size_t which, bool *is_one)
{
    const size_t at = f->in[which];
    *is_one = at == SIZE_MAX || s->in[at].rank == 0;
    return at == SIZE_MAX ? NULL : takt_view_data(t, &s->in[at]);
}

int32_t takt_integer_a_zero(const takt_integer *f, const takt_step *s, const takt_task *t)
{
    bool is_one;
    const void *p = parameter(f, s, t, TAKT_INTEGER_A_ZERO, &is_one);
    return p == NULL ? 0 : byte_at(p, 0, f->a_unsigned);
}

void takt_integer_b_zeros(const takt_integer *f, const takt_step *s, const takt_task *t,
                          size_t column, size_t columns, int32_t *to)
{
    bool is_one;
    const void *p = parameter(f, s, t, TAKT_INTEGER_B_ZERO, &is_one);
    for (size_t j = 0; j < columns; j++)
        to[j] = p == NULL ? 0 : byte_at(p, is_one ? 0 : column + j, f->b_unsigned);
}

/* A scale, a wide one, or a multiplier and a shift. */
static void set_scale(const takt_integer *f, const takt_step *s, const takt_task *t, size_t column,
                      takt_requant *q)
{
    bool is_one;
    const int32_t *shift = parameter(f, s, t, TAKT_INTEGER_SHIFT, &is_one);
    const void *scale = parameter(f, s, t, TAKT_INTEGER_SCALE, &is_one);
    const size_t from = is_one ? 0 : column;
    q->scale_per_column = !is_one;
    if (f->is_wide) {
        q->wide = (const double *)scale + from;
        return;
    }
    if (shift == NULL) {
        q->scale = scale == NULL ? NULL : (const float *)scale + from;
        return;
    }
    q->multiplier = (const int32_t *)scale + from;
    q->shift = shift + from;
    q->goes_right = f->goes_right;
}

void takt_integer_requant_of(const takt_integer *f, const takt_step *s, const takt_task *t,
                             size_t column, takt_requant *q)
{
    bool is_one;
    *q = (takt_requant){.to = f->to, .lo = f->low, .hi = f->high};
    const int32_t *bias = parameter(f, s, t, TAKT_INTEGER_BIAS, &is_one);
    q->bias = bias == NULL ? NULL : bias + column;
    set_scale(f, s, t, column, q);
    const void *zero = parameter(f, s, t, TAKT_INTEGER_ZERO, &is_one);
    q->zero = zero == NULL ? 0 : byte_at(zero, 0, f->to == TAKT_REQUANT_U8);
}

/* ---- running ---- */

/* The kernels multiply signed B, so unsigned bytes were packed minus 128. NULL if all are 0. */
static const int32_t *packed_zeros(const takt_integer *f, const takt_integer_block *b)
{
    const int32_t shift = taken(f);
    bool any = false;
    if (f->has_no_zeros)
        return NULL;
    takt_integer_b_zeros(f, b->step, b->task, b->group * f->n + b->column, b->columns, b->zeros);
    for (size_t j = 0; j < b->columns; j++) {
        b->zeros[j] -= shift;
        any |= b->zeros[j] != 0;
    }
    return any ? b->zeros : NULL;
}

void takt_integer_product(const takt_integer *f, const takt_integer_block *b)
{
    const char *packed = f->is_packed ? takt_view_data(b->task, &b->step->in[f->in[TAKT_INTEGER_B]])
                                      : (const char *)b->task->scratch + f->packed_at;
    takt_requant q;
    takt_integer_requant_of(f, b->step, b->task, b->group * f->n + b->column, &q);
    packed += b->group * f->group_bytes;
    const int32_t *sums = (const int32_t *)(const void *)(packed + f->panels_bytes);
    const takt_gemm_i8 g = {.m = b->rows,
                            .n = b->columns,
                            .k = f->k,
                            .a = b->a,
                            .a_row = b->a_row,
                            .a_open = b->a_open,
                            .image = b->image,
                            .a_unsigned = f->a_unsigned || b->flip != 0,
                            .a_zero = takt_integer_a_zero(f, b->step, b->task) + b->flip,
                            .b = (const int8_t *)packed + b->column * f->deep,
                            .b_panel = 16 * f->deep,
                            .b_sum = sums + b->column,
                            .b_zero = packed_zeros(f, b),
                            .c = b->c,
                            .ldc = b->ldc,
                            .requant = &q,
                            .scratch = b->scratch,
                            .poll = b->task->poll};
    f->run(&g);
}
