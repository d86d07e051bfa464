/* plain.c - a whole backend in a hundred lines: matrix products and sums by the obvious loops.
 *
 * It runs f32 matmul of two matrices, and add, mul and neg, alone or fused; everything else it
 * refuses with a reason, and cpu runs it. src/plan/backend.h explains each call; the suite in
 * tests/backend compares it with the interpreter.
 */
#include "op/ops.h"
#include "plan/backend.h"

/* ---- what it can do ---- */

static bool is_map(const takt_node *n)
{
    return n->op == &takt_op_add || n->op == &takt_op_mul || n->op == &takt_op_neg;
}

static const char *supports(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (n->op != &takt_op_matmul && !is_map(n))
        return "plain has only matmul, add, mul and neg";
    if (n->type->dtype != TAKT_F32)
        return "plain computes f32 only";
    for (uint32_t k = 0; is_map(n) && k < n->in_count; k++)
        if (!takt_type_same(g->dims, takt_type_of(g, n->in[k]), n->type))
            return "plain does not broadcast";
    for (uint32_t k = 0; n->op == &takt_op_matmul && k < 2; k++)
        if (takt_type_of(g, n->in[k])->rank != 2 || n->attr[k].boolean)
            return "plain multiplies two matrices, neither transposed";
    return NULL;
}

/* ---- a product: one task per row ---- */

static void run_product(const takt_step *s, const takt_task *t)
{
    const int64_t n = s->out[0].dim[1], depth = s->in[0].dim[1];
    const float *a = (const float *)takt_view_data(t, &s->in[0]) + (int64_t)t->index * depth;
    const float *b = takt_view_data(t, &s->in[1]);
    float *c = (float *)takt_view_data(t, &s->out[0]) + (int64_t)t->index * n;
    for (int64_t j = 0; j < n; j++) {
        float sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += a[k] * b[k * n + j];
        c[j] = sum;
    }
}

static takt_status compile_product(takt_planner *p, const takt_node *n, takt_id id)
{
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    p->step->run = run_product;
    p->step->task_count = (size_t)p->step->out[0].dim[0];
    return TAKT_OK;
}

/* ---- element-wise nodes, fused: each has a register, and reads the registers of others ---- */

enum { LONGEST = 64 }; /* nodes of a group: more than the planner ever fuses */

typedef struct instruction {
    const takt_op *op;
    int in[2];  /* from 0: a register; below: ~index of a view in step->in */
    int output; /* index in step->out, or -1 */
} instruction;

static void run_map(const takt_step *s, const takt_task *t)
{
    const instruction *code = s->data;
    float reg[LONGEST];
    size_t count = 1;
    for (int d = 0; d < s->out[0].rank; d++)
        count *= (size_t)s->out[0].dim[d];
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < s->node_count; k++) {
            float x[2];
            for (int a = 0; a < 2; a++) {
                const int in = code[k].in[a];
                x[a] = in >= 0 ? reg[in] : ((const float *)takt_view_data(t, &s->in[~in]))[i];
            }
            reg[k] = code[k].op == &takt_op_add   ? x[0] + x[1]
                     : code[k].op == &takt_op_mul ? x[0] * x[1]
                                                  : -x[0];
            if (code[k].output >= 0)
                ((float *)takt_view_data(t, &s->out[code[k].output]))[i] = reg[k];
        }
}

/* Where input `id` of a node comes from. */
static takt_status find_input(takt_planner *p, takt_id id, int *in)
{
    size_t index;
    for (size_t k = 0; k < p->group->count; k++)
        if (p->group->nodes[k] == id) {
            *in = (int)k;
            return TAKT_OK;
        }
    TAKT_TRY(takt_planner_input(p, id, &index));
    *in = ~(int)index;
    return TAKT_OK;
}

static takt_status compile_map(takt_planner *p)
{
    instruction *code = takt_planner_get(p, p->group->count * sizeof *code);
    size_t index;
    if (code == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t k = 0; k < p->group->count; k++) {
        const takt_id id = p->group->nodes[k];
        const takt_node *n = &p->graph->nodes[id];
        code[k] = (instruction){.op = n->op, .output = -1};
        for (uint32_t a = 0; a < 2; a++)
            TAKT_TRY(find_input(p, n->in[a < n->in_count ? a : 0], &code[k].in[a]));
        if (!takt_planner_escapes(p, id))
            continue;
        TAKT_TRY(takt_planner_output(p, id, &index));
        code[k].output = (int)index;
    }
    p->step->run = run_map;
    p->step->data = code;
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    p->step->kind = "plain";
    return n->op == &takt_op_matmul ? compile_product(p, n, id) : compile_map(p);
}

const takt_backend takt_backend_plain = {
    .name = "plain",
    .summary = "an example: matrix products and sums by the obvious loops",
    .supports = supports,
    .compile = compile,
};
