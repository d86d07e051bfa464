/* epilogue.c - recognises the common endings of a product, and runs the others as programs. */
#include "backend/cpu/epilogue.h"

static bool is_half(takt_dtype dtype)
{
    return dtype == TAKT_F16 || dtype == TAKT_BF16;
}

/* Half of a rounding to 16 bits, a pair of casts that the plan puts into one step. */
static bool is_rounding(const takt_graph *g, const takt_node *n)
{
    const takt_dtype to = n->type->dtype, from = takt_type_of(g, n->in[0])->dtype;
    return n->op == &takt_op_cast &&
           ((to == TAKT_F32 && is_half(from)) || (from == TAKT_F32 && is_half(to)));
}

const char *takt_epilogue_absorbs(const takt_graph *g, takt_id anchor, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (takt_type_of(g, anchor)->dtype == TAKT_F32 && is_rounding(g, n))
        return NULL;
    if (takt_type_of(g, anchor)->dtype != TAKT_F32 || n->type->dtype != TAKT_F32)
        return "only f32 values are finished inside the step";
    if (n->op == &takt_op_broadcast)
        return "it copies";
    if (n->op == &takt_op_silu) /* measured: bench/notes/convolution.md */
        return "its arithmetic takes longer than the pass over memory that it would save";
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] == TAKT_NONE || takt_type_of(g, n->in[k])->dtype != TAKT_F32)
            return "it mixes element types";
    return takt_map_accepts(g, node);
}

/* The operand of a binary instruction that is not the value being finished, or -1. */
static int other_operand(const takt_map_instr *code)
{
    const bool first = code->src[0].source == TAKT_MAP_VIEW;
    const takt_map_ref *other = &code->src[first ? 0 : 1];
    return other->source == TAKT_MAP_VIEW ? (int)other->index : -1;
}

static bool is_row(const takt_map_operand *o, size_t columns, size_t count)
{
    if (o->is_scalar)
        return columns == 1;
    if (o->is_full)
        return count == columns;
    return o->rank == 2 && o->stride[0] == 0 && o->stride[1] == 1 && o->dim[1] == (int64_t)columns;
}

/* One instruction of the form the kernels know, in an order they know; false otherwise. */
static bool match(takt_cpu_epilogue *e, const takt_node *n, const takt_map_program *m,
                  const takt_map_instr *code)
{
    if (n->op == &takt_op_relu) {
        if (e->act != TAKT_GEMM_ACT_NONE || e->residual_last)
            return false;
        e->act = TAKT_GEMM_ACT_RELU;
        return true;
    }
    const int index = n->op == &takt_op_add ? other_operand(code) : -1;
    if (index < 0)
        return false;
    const takt_map_operand *o = &m->operands[index];
    if (o->widens)
        return false;
    const bool may_be_bias = e->bias < 0 && e->residual < 0 && e->act == TAKT_GEMM_ACT_NONE;
    if (may_be_bias && is_row(o, e->columns, m->count)) {
        e->bias = (int)o->view;
        return true;
    }
    if (!o->is_full || e->residual >= 0)
        return false;
    e->residual = (int)o->view;
    e->residual_last = e->act != TAKT_GEMM_ACT_NONE;
    return true;
}

static bool is_number(const takt_map_program *m, const takt_map_ref *r)
{
    return r->source == TAKT_MAP_VIEW && m->operands[r->index].is_scalar &&
           !m->operands[r->index].widens;
}

/* A function of the value, or of it and a number, as the last instruction. */
static bool match_last(takt_cpu_epilogue *e, const takt_map_program *m, const takt_map_instr *code)
{
    const takt_map_ref *src = code->src;
    if (code->fn == NULL || code->narrows || code->can_fault || !code->is_final)
        return false;
    const bool has_number = code->src_count == 2 && is_number(m, &src[0]) != is_number(m, &src[1]);
    if (code->src_count != 1 && !has_number)
        return false;
    e->number_first = has_number && is_number(m, &src[0]);
    if (src[e->number_first].source == TAKT_MAP_VIEW)
        return false;
    e->last = code->fn;
    if (has_number)
        e->number = (int)m->operands[src[!e->number_first].index].view;
    return true;
}

takt_status takt_epilogue_inner(takt_planner *p, size_t columns, takt_cpu_epilogue *e)
{
    const takt_cpu_epilogue none = {.bias = -1, .residual = -1, .number = -1, .columns = columns};
    *e = none;
    const takt_group *group = p->group;
    if (group->count > 1) {
        takt_map_program *m;
        TAKT_TRY(takt_map_compile(p, group->nodes + 1, group->count - 1, group->nodes[0], &m));
        bool simple = true;
        for (size_t i = 0; i < m->code_count && simple; i++)
            simple = match(e, &p->graph->nodes[group->nodes[i + 1]], m, &m->code[i]) ||
                     (i + 1 == m->code_count && match_last(e, m, &m->code[i]));
        if (!simple) {
            *e = none;
            e->program = m;
        }
    }
    return TAKT_OK;
}

takt_status takt_epilogue_compile(takt_planner *p, size_t columns, takt_cpu_epilogue *e)
{
    size_t index;
    TAKT_TRY(takt_epilogue_inner(p, columns, e));
    return takt_planner_output(p, p->group->nodes[p->group->count - 1], &index);
}

size_t takt_epilogue_scratch(const takt_cpu_epilogue *e)
{
    return e->program != NULL ? takt_map_scratch(e->program) : 0;
}

/* Short rows that follow each other are one run of elements. */
static void tail(void *user, float *tile, size_t ld, size_t row, size_t col, size_t rows,
                 size_t cols)
{
    const takt_epilogue_run *run = user;
    const takt_cpu_epilogue *e = run->epilogue;
    const bool is_whole = cols == e->columns && ld == cols && cols <= TAKT_MAP_TILE / 4;
    const size_t runs = is_whole ? 1 : rows, length = is_whole ? rows * cols : cols;
    for (size_t r = 0; r < runs; r++)
        for (size_t c = 0; c < length; c += TAKT_MAP_TILE) {
            const size_t n = length - c < TAKT_MAP_TILE ? length - c : TAKT_MAP_TILE;
            const size_t first = (run->row + row + r) * e->columns + run->column + col + c;
            takt_map_finish(e->program, run->step, run->task, run->registers, first, n,
                            tile + r * ld + c);
        }
}

static void last_tail(void *user, float *tile, size_t ld, size_t row, size_t col, size_t rows,
                      size_t cols)
{
    const takt_epilogue_run *run = user;
    const takt_cpu_epilogue *e = run->epilogue;
    const unsigned char is_scalar[2] = {e->number_first, !e->number_first};
    const void *src[2] = {NULL, NULL};
    if (e->number >= 0)
        src[!e->number_first] = takt_view_data(run->task, &run->step->in[e->number]);
    const size_t runs = ld == cols ? 1 : rows, length = ld == cols ? rows * cols : cols;
    (void)row;
    (void)col;
    for (size_t r = 0; r < runs; r++) {
        src[e->number_first] = tile + r * ld;
        e->last(tile + r * ld, src, is_scalar, length, NULL);
    }
}

bool takt_epilogue_f32_for(takt_epilogue_run *run, takt_epilogue_f32 *out)
{
    const takt_cpu_epilogue *e = run->epilogue;
    *out = (takt_epilogue_f32){.act = e->act, .residual_last = e->residual_last};
    if (e->program != NULL) {
        out->tail = tail;
        out->user = run;
        out->is_late = true;
        return true;
    }
    if (e->bias >= 0)
        out->bias = (const float *)takt_view_data(run->task, &run->step->in[e->bias]) + run->column;
    if (e->residual >= 0) {
        out->residual = (const float *)takt_view_data(run->task, &run->step->in[e->residual]) +
                        run->row * e->columns + run->column;
        out->residual_stride = e->columns;
    }
    if (e->last != NULL) {
        out->tail = last_tail;
        out->user = run;
    }
    return e->bias >= 0 || e->residual >= 0 || e->act != TAKT_GEMM_ACT_NONE || e->last != NULL;
}

void takt_epilogue_product(takt_gemm_f32_fn *run, takt_gemm_f32 *g, const takt_epilogue_f32 *e)
{
    const bool is_late = e != NULL && e->is_late && g->m > 0 && g->n > 0;
    g->epilogue = is_late ? NULL : e;
    run(g);
    if (is_late)
        e->tail(e->user, g->c, g->ldc, 0, 0, g->m, g->n);
}

void takt_epilogue_finish(takt_epilogue_run *run, const takt_conv_block *block)
{
    takt_epilogue_f32 e;
    if (takt_epilogue_f32_for(run, &e))
        takt_conv_finish(&e, block);
}
