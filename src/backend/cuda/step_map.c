/* step_map.c - element-wise nodes as one program (kernel/map_f32/map_f32_cuda.cu, and
 * kernel/map/map_cuda.cu for other types than f32 and bool). */
#include "backend/cpu/map_program.h"
#include "backend/cuda/step.h"
#include "op/ops.h"

static takt_map_op op_of(const takt_graph *g, const takt_node *n)
{
    return n->op == &takt_op_cast ? TAKT_MAP_COPY : takt_map_node_op(g, n);
}

static bool is_logical(takt_map_op op)
{
    return op == TAKT_MAP_AND || op == TAKT_MAP_OR || op == TAKT_MAP_XOR || op == TAKT_MAP_NOT;
}

static bool is_taken(takt_dtype dtype)
{
    return dtype == TAKT_F32 || dtype == TAKT_BOOL;
}

/* Whether the kernels of f32 compute it, which keep a bool as a float. */
static bool is_plain(const takt_graph *g, const takt_node *n)
{
    bool is = is_taken(n->type->dtype);
    for (uint32_t k = 0; k < n->in_count && is; k++) {
        const takt_dtype in = takt_type_of(g, n->in[k])->dtype;
        is = is_taken(in) && (in == TAKT_BOOL || !is_logical(op_of(g, n)));
    }
    return is && (n->op != &takt_op_cast || n->type->dtype == TAKT_F32 ||
                  takt_type_of(g, n->in[0])->dtype == TAKT_BOOL);
}

static bool is_integer(takt_dtype dtype)
{
    return !takt_dtype_is_float(dtype) && dtype != TAKT_BOOL;
}

/* A zero divisor is reported; of a power that has no value, only the cpu says which it was. */
static bool can_fault(const takt_graph *g, const takt_node *n)
{
    const takt_map_op op = op_of(g, n);
    return is_integer(takt_map_deciding(g, n)) &&
           (op == TAKT_MAP_DIV || op == TAKT_MAP_MOD || op == TAKT_MAP_REM);
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    size_t count;
    if ((n->op->traits & TAKT_ELEMENTWISE) == 0 && n->op != &takt_op_broadcast)
        return "";
    const char *why = takt_map_accepts(g, node);
    if (why != NULL)
        return why;
    const takt_dtype compute = takt_map_compute_type(takt_map_deciding(g, n));
    if (op_of(g, n) == TAKT_MAP_POW && (compute == TAKT_I32 || compute == TAKT_I64))
        return "a power of signed integers that has no value is reported on the cpu only";
    if (!takt_type_count(n->type, &count) || count >= INT32_MAX ||
        n->type->rank > TAKT_CUDA_MAP_DIMS)
        return "more elements or axes than a device step counts";
    return count > 0 ? NULL : "there is nothing to compute";
}

/* ---- compiling ---- */

typedef struct compiler {
    takt_planner *p;
    takt_cuda_map *m;
    size_t first; /* of the group's nodes; those before it are computed in step->out[0] */
    takt_id operand[TAKT_CUDA_MAP_OPERANDS];
    size_t index[TAKT_CUDA_MAP_OPERANDS]; /* in step->in; SIZE_MAX: step->out[0] */
    uint32_t operands;
    bool is_mixed;                                         /* the f32 kernels do not support it */
    takt_id holds[TAKT_CUDA_MAP_CODE];                     /* per register; TAKT_NONE: free */
    int64_t stride[TAKT_CUDA_MAP_OPERANDS][TAKT_MAX_RANK]; /* along the result's axes */
} compiler;

/* NULL: the value that the nodes begin with, which has the result's layout. */
static const takt_view *view_of(const compiler *c, uint32_t o)
{
    return c->index[o] == SIZE_MAX ? NULL : &c->p->step->in[c->index[o]];
}

/* Loops that all operands share: those of the result, merged only where every operand allows it. */
static takt_status set_loops(compiler *c, const takt_type *shape)
{
    takt_cuda_map *m = c->m;
    int64_t(*stride)[TAKT_MAX_RANK] = c->stride;
    for (uint32_t o = 0; o < c->operands; o++) {
        const takt_view *v = view_of(c, o);
        int64_t dense = 1;
        for (int d = shape->rank - 1; v == NULL && d >= 0; dense *= shape->dim[d--])
            stride[o][d] = dense;
        for (int d = 0; v != NULL && d < v->rank; d++)
            stride[o][shape->rank - v->rank + d] = v->dim[d] == 1 ? 0 : v->stride[d];
    }
    m->dims = 0;
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dim[d] == 1)
            continue;
        bool merges = m->dims > 0;
        for (uint32_t o = 0; o < c->operands && merges; o++)
            merges = m->in[o].stride[m->dims - 1] == stride[o][d] * shape->dim[d];
        if (!merges && m->dims == TAKT_CUDA_MAP_DIMS)
            return takt_fail(c->p->ctx, TAKT_E_INTERNAL, "an element-wise step has too many loops");
        const uint32_t at = merges ? m->dims - 1 : m->dims++;
        m->dim[at] = (merges ? m->dim[at] : 1) * (uint32_t)shape->dim[d];
        for (uint32_t o = 0; o < c->operands; o++)
            m->in[o].stride[at] = (int32_t)stride[o][d];
    }
    for (uint32_t o = 0; o < c->operands; o++) {
        const takt_view *v = view_of(c, o);
        takt_map_operand how = {.is_full = true};
        if (v != NULL)
            takt_map_collapse(shape, v, &how);
        m->in[o].form = (uint8_t)(how.is_scalar ? TAKT_CUDA_ONE
                                  : how.is_full ? TAKT_CUDA_FULL
                                                : TAKT_CUDA_SPREAD);
        m->in[o].is_byte = v != NULL && v->dtype == TAKT_BOOL;
        m->in[o].dtype = (uint8_t)(v != NULL ? v->dtype : TAKT_F32);
        m->in[o].data = v != NULL ? takt_cuda_in(c->index[o]) : takt_cuda_out(0);
    }
    return TAKT_OK;
}

static takt_status source(compiler *c, takt_id node, uint8_t *from)
{
    for (uint32_t r = 0; r < TAKT_CUDA_MAP_CODE; r++)
        if (c->holds[r] == node) {
            *from = (uint8_t)r;
            return TAKT_OK;
        }
    uint32_t o = 0;
    while (o < c->operands && c->operand[o] != node)
        o++;
    if (o == c->operands) {
        if (o == TAKT_CUDA_MAP_OPERANDS)
            return takt_fail(c->p->ctx, TAKT_E_INTERNAL, "an element-wise step reads too much");
        c->index[o] = SIZE_MAX;
        if (c->first == 0 || node != c->p->group->nodes[c->first - 1])
            TAKT_TRY(takt_planner_input(c->p, node, &c->index[o]));
        c->operand[c->operands++] = node;
    }
    *from = (uint8_t)(TAKT_CUDA_MAP_CODE + o);
    return TAKT_OK;
}

static bool is_used_later(const compiler *c, takt_id value, size_t after)
{
    const takt_group *group = c->p->group;
    for (size_t i = after + 1; i < group->count; i++) {
        const takt_node *n = &c->p->graph->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] == value)
                return true;
    }
    return false;
}

static void set_types(compiler *c, const takt_node *n, takt_cuda_instruction *code)
{
    const takt_attr *saturate = takt_node_attr(n, "saturate");
    c->is_mixed |= !is_plain(c->p->graph, n);
    code->dtype = (uint8_t)n->type->dtype;
    code->as = (uint8_t)takt_map_compute_type(takt_map_deciding(c->p->graph, n));
    if (n->op == &takt_op_cast)
        code->cast = (uint8_t)(saturate == NULL || saturate->boolean ? TAKT_CUDA_CAST_SATURATING
                                                                     : TAKT_CUDA_CAST);
    if (can_fault(c->p->graph, n)) {
        c->m->fault = takt_cuda_named(TAKT_CUDA_FAULT, 0);
        c->p->step->can_fault = true;
        c->p->step->fault_id = TAKT_E_DIVIDE;
    }
}

static takt_status add(compiler *c, size_t at)
{
    const takt_id id = c->p->group->nodes[at];
    const takt_node *n = &c->p->graph->nodes[id];
    takt_cuda_instruction *code = &c->m->code[at - c->first];
    size_t index;
    code->op = (uint8_t)op_of(c->p->graph, n);
    code->is_byte = n->type->dtype == TAKT_BOOL;
    set_types(c, n, code);
    for (uint32_t k = 0; k < 3; k++)
        TAKT_TRY(source(c, n->in[k < n->in_count ? k : 0], &code->from[k]));
    for (uint32_t r = 0; r < TAKT_CUDA_MAP_CODE; r++)
        if (c->holds[r] != TAKT_NONE && !is_used_later(c, c->holds[r], at))
            c->holds[r] = TAKT_NONE;
    while (c->holds[code->to] != TAKT_NONE) /* sources are read before: one may be written over */
        code->to++;
    c->holds[code->to] = id;
    if (takt_planner_escapes(c->p, id)) {
        TAKT_TRY(takt_planner_output(c->p, id, &index));
        code->is_output = 1;
        c->m->out[at - c->first] = takt_cuda_out(index);
    }
    return TAKT_OK;
}

takt_status takt_cuda_map_after(takt_planner *p, size_t first, takt_cuda_launch *l)
{
    const takt_type *shape = p->graph->nodes[p->group->nodes[0]].type;
    takt_cuda_map *m = takt_planner_get(p, sizeof *m);
    compiler *c = takt_planner_get(p, sizeof *c);
    size_t count;
    if (m == NULL || c == NULL)
        return TAKT_ERR_MEMORY;
    if (p->group->count - first > TAKT_CUDA_MAP_CODE)
        return takt_fail(p->ctx, TAKT_E_INTERNAL, "an element-wise step is too long");
    c->p = p;
    c->m = m;
    c->first = first;
    for (size_t r = 0; r < TAKT_CUDA_MAP_CODE; r++)
        c->holds[r] = TAKT_NONE;
    (void)takt_type_count(shape, &count);
    m->count = count;
    m->code_count = (uint32_t)(p->group->count - first);
    for (size_t i = first; i < p->group->count; i++)
        TAKT_TRY(add(c, i));
    TAKT_TRY(set_loops(c, shape));
    if (c->is_mixed)
        takt_cuda_launch_map_mixed(m, l);
    else
        takt_cuda_launch_map(m, l);
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    takt_cuda_step *s;
    TAKT_TRY(takt_cuda_step_get(p, 1, &s));
    return takt_cuda_map_after(p, 0, &s->launches[0]);
}

const takt_cuda_kind takt_cuda_map_kind = {.name = "map", .accepts = accepts, .compile = compile};
