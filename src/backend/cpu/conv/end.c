/* end.c - recognises relu6 and clip, and runs programs on whole rows. */
#include "backend/cpu/conv/end.h"

#include <math.h>

/* ---- recognising ---- */

/* The scalar that node `n` combines another value with; false if there is none. */
static bool scalar_operand(const takt_graph *g, const takt_node *n, float *value)
{
    for (uint32_t k = 0; k < 2; k++) {
        const takt_node *c = &g->nodes[n->in[k]];
        size_t count;
        if (c->op != &takt_op_constant || c->type->dtype != TAKT_F32 ||
            !takt_type_count(c->type, &count) || count != 1)
            continue;
        *value = (float)takt_dtype_get_f(TAKT_F32, takt_tensor_data(c->attr[0].tensor), 0);
        return !isnan(*value);
    }
    return false;
}

static const takt_map_operand *added(const takt_map_program *m, const takt_map_instr *code)
{
    for (int k = 0; k < 2; k++)
        if (code->src[k].source == TAKT_MAP_VIEW)
            return &m->operands[code->src[k].index];
    return NULL;
}

static bool is_row(const takt_map_operand *o, size_t columns, size_t count)
{
    if (o->is_full)
        return count == columns;
    return o->rank == 2 && o->stride[0] == 0 && o->stride[1] == 1 && o->dim[1] == (int64_t)columns;
}

static bool take_add(takt_conv_end *e, const takt_map_operand *o, size_t count)
{
    takt_cpu_epilogue *k = &e->epilogue;
    if (o == NULL || k->residual >= 0)
        return false;
    if (is_row(o, k->columns, count)) {
        if (k->bias >= 0 || k->act != TAKT_GEMM_ACT_NONE)
            return false;
        k->bias = (int)o->view;
        return true;
    }
    if (!o->is_full)
        return false;
    k->residual = (int)o->view;
    k->residual_last = k->act != TAKT_GEMM_ACT_NONE;
    return true;
}

/* One node; false if the kernels cannot do it at this place. */
static bool take(takt_conv_end *e, const takt_graph *g, const takt_node *n,
                 const takt_map_program *m, const takt_map_instr *code)
{
    takt_cpu_epilogue *k = &e->epilogue;
    float value;
    if (!isinf(e->limit))
        return false;
    if (n->op == &takt_op_add)
        return take_add(e, added(m, code), m->count);
    const bool is_free = k->act == TAKT_GEMM_ACT_NONE && !k->residual_last;
    if (n->op == &takt_op_relu && is_free) {
        k->act = TAKT_GEMM_ACT_RELU;
        return true;
    }
    if (n->op == &takt_op_max && is_free && scalar_operand(g, n, &e->lo)) {
        k->act = TAKT_GEMM_ACT_CLIP;
        e->hi = INFINITY;
        return true;
    }
    if (n->op != &takt_op_min || !scalar_operand(g, n, &value) || isinf(value))
        return false;
    if (k->act == TAKT_GEMM_ACT_CLIP && !k->residual_last && isinf(e->hi))
        e->hi = value;
    else
        e->limit = value;
    return true;
}

takt_status takt_conv_end_inner(takt_planner *p, size_t columns, takt_conv_end *e)
{
    *e = (takt_conv_end){.limit = INFINITY};
    TAKT_TRY(takt_epilogue_inner(p, columns, &e->epilogue));
    const takt_map_program *m = e->epilogue.program;
    if (m == NULL || m->code_count != p->group->count - 1)
        return TAKT_OK;
    takt_conv_end simple = {
        .limit = INFINITY,
        .epilogue = {.bias = -1, .residual = -1, .number = -1, .columns = columns}};
    for (size_t i = 0; i < m->code_count; i++)
        if (!take(&simple, p->graph, &p->graph->nodes[p->group->nodes[i + 1]], m, &m->code[i]))
            return TAKT_OK;
    *e = simple;
    return TAKT_OK;
}

takt_status takt_conv_end_compile(takt_planner *p, size_t columns, takt_conv_end *e)
{
    size_t index;
    TAKT_TRY(takt_conv_end_inner(p, columns, e));
    return takt_planner_output(p, p->group->nodes[p->group->count - 1], &index);
}

size_t takt_conv_end_scratch(const takt_conv_end *e)
{
    return takt_epilogue_scratch(&e->epilogue);
}

bool takt_conv_end_is_simple(const takt_conv_end *e)
{
    const takt_cpu_epilogue *k = &e->epilogue;
    const bool is_relu = k->act == TAKT_GEMM_ACT_RELU;
    return k->program == NULL && !(k->residual >= 0 && k->residual_last) &&
           (is_relu || (k->act == TAKT_GEMM_ACT_NONE && isinf(e->limit)));
}

bool takt_conv_end_clips(const takt_conv_end *e)
{
    const takt_cpu_epilogue *k = &e->epilogue;
    return k->program == NULL && k->residual < 0 && k->act == TAKT_GEMM_ACT_CLIP && isinf(e->limit);
}

/* ---- running ---- */

/* minimum(x, limit) of IEEE 754-2019: a NaN stays, and of two zeros the negative one. */
static void limit_row(float *x, size_t n, float limit)
{
    if (limit == 0 && !signbit(limit))
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] > limit ? limit : x[i];
    else
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] >= limit ? limit : x[i];
}

static void limit_tail(void *user, float *tile, size_t ld, size_t row, size_t col, size_t rows,
                       size_t cols)
{
    const takt_conv_ending *e = user;
    (void)row;
    (void)col;
    if (ld == cols)
        limit_row(tile, rows * cols, e->end->limit);
    else
        for (size_t r = 0; r < rows; r++)
            limit_row(tile + r * ld, cols, e->end->limit);
}

/* Rows that follow each other are one run of elements. */
static void program_tail(void *user, float *tile, size_t ld, size_t row, size_t col, size_t rows,
                         size_t cols)
{
    const takt_conv_ending *e = user;
    const takt_epilogue_run *run = &e->run;
    const size_t columns = run->epilogue->columns;
    const bool is_whole = cols == columns && ld == cols;
    const size_t runs = is_whole ? 1 : rows, length = is_whole ? rows * cols : cols;
    for (size_t r = 0; r < runs; r++)
        for (size_t i = 0; i < length; i += TAKT_MAP_TILE) {
            const size_t n = length - i < TAKT_MAP_TILE ? length - i : TAKT_MAP_TILE;
            const size_t first = (run->row + row + r) * columns + run->column + col + i;
            takt_map_finish(run->epilogue->program, run->step, run->task, run->registers, first, n,
                            tile + r * ld + i);
        }
}

takt_conv_ending takt_conv_end_at(const takt_conv_end *end, const takt_step *s, const takt_task *t,
                                  size_t registers, size_t row, size_t column)
{
    return (takt_conv_ending){.end = end,
                              .run = {.epilogue = &end->epilogue,
                                      .step = s,
                                      .task = t,
                                      .registers = (char *)t->scratch_own + registers,
                                      .row = row,
                                      .column = column}};
}

bool takt_conv_end_for(takt_conv_ending *e, takt_epilogue_f32 *out)
{
    const bool any = takt_epilogue_f32_for(&e->run, out);
    out->lo = e->end->lo;
    out->hi = e->end->hi;
    if (e->end->epilogue.program == NULL && isinf(e->end->limit))
        return any;
    if (e->end->epilogue.act == TAKT_GEMM_ACT_RELU && !e->end->epilogue.residual_last) {
        out->act = TAKT_GEMM_ACT_RELU_MIN;
        out->hi = e->end->limit;
        return true;
    }
    out->tail = e->end->epilogue.program != NULL ? program_tail : limit_tail;
    out->user = e;
    return true;
}
