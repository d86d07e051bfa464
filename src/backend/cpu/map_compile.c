/* map_compile.c - turns element-wise nodes into a tile program. */
#include <string.h>

#include "backend/cpu/map_program.h"
#include "base/size.h"

takt_dtype takt_map_compute_type(takt_dtype dtype)
{
    switch (dtype) {
    case TAKT_F32:
    case TAKT_F16:
    case TAKT_BF16:
    case TAKT_F8E4M3FN:
    case TAKT_F8E4M3FNUZ:
    case TAKT_F8E5M2:
    case TAKT_F8E5M2FNUZ:
    case TAKT_F8E8M0: return TAKT_F32;
    case TAKT_I32:
    case TAKT_I16:
    case TAKT_I8: return TAKT_I32;
    case TAKT_U32:
    case TAKT_U16:
    case TAKT_U8: return TAKT_U32;
    case TAKT_F64:
    case TAKT_I64:
    case TAKT_U64:
    case TAKT_BOOL: return dtype;
    default: return TAKT_DTYPE_COUNT;
    }
}

static const char *family_of(takt_dtype compute)
{
    switch (compute) {
    case TAKT_F64: return "map_f64";
    case TAKT_F32: return "map_f32";
    case TAKT_I64: return "map_i64";
    case TAKT_I32: return "map_i32";
    case TAKT_U64: return "map_u64";
    case TAKT_U32: return "map_u32";
    default: return "map_bool";
    }
}

takt_dtype takt_map_deciding(const takt_graph *g, const takt_node *n)
{
    return takt_type_of(g, n->in[n->op == &takt_op_select ? 1 : 0])->dtype;
}

takt_map_op takt_map_node_op(const takt_graph *g, const takt_node *n)
{
    const takt_dtype dtype = takt_map_deciding(g, n);
    if (n->op == &takt_op_add || n->op == &takt_op_mul) /* most are, and then no name is searched
                                                         * for */
        return n->op == &takt_op_add ? TAKT_MAP_ADD : TAKT_MAP_MUL;
    if (n->op == &takt_op_sub || n->op == &takt_op_div)
        return n->op == &takt_op_sub ? TAKT_MAP_SUB : TAKT_MAP_DIV;
    if (n->op == &takt_op_broadcast)
        return TAKT_MAP_COPY;
    if (n->op == &takt_op_mod)
        return takt_node_int(n, "fmod") != 0 ? TAKT_MAP_REM : TAKT_MAP_MOD;
    if (n->op == &takt_op_gelu)
        return takt_node_int(n, "approximate") != 0 ? TAKT_MAP_GELU_TANH : TAKT_MAP_GELU;
    if (n->op == &takt_op_shr && (dtype == TAKT_I8 || dtype == TAKT_U8))
        return TAKT_MAP_SHR8;
    if (n->op == &takt_op_shr && (dtype == TAKT_I16 || dtype == TAKT_U16))
        return TAKT_MAP_SHR16;
    return takt_map_op_of(n->op->name);
}

static bool is_cast(const takt_node *n)
{
    return n->op == &takt_op_cast;
}

const char *takt_map_accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] == TAKT_NONE)
            return "an input is left out";
    if (is_cast(n))
        return takt_map_compute_type(n->type->dtype) != TAKT_DTYPE_COUNT &&
                       takt_map_compute_type(takt_type_of(g, n->in[0])->dtype) != TAKT_DTYPE_COUNT
                   ? NULL
                   : "elements smaller than a byte are not converted tile by tile";
    const takt_dtype compute = takt_map_compute_type(takt_map_deciding(g, n));
    if (compute == TAKT_DTYPE_COUNT || takt_map_compute_type(n->type->dtype) == TAKT_DTYPE_COUNT)
        return "the element type is for storage only";
    const takt_map_op op = takt_map_node_op(g, n);
    /* Every variant has the same functions, and asking the machine for its own takes longer than
     * all else here: in a virtual machine each question is an exit. */
    const takt_isa_set scalar = UINT32_C(1) << TAKT_ISA_scalar;
    const takt_kernel *k = takt_kernel_find(family_of(compute), scalar, NULL, 0, NULL);
    if (op == TAKT_MAP_OP_COUNT || k == NULL || takt_map_find(k, op) == NULL)
        return "no element-wise kernel computes it";
    return NULL;
}

/* ---- operands ---- */

typedef struct compiler {
    takt_planner *p;
    takt_map_program *program;
    const takt_id *nodes;
    size_t count;
    takt_id hot;
    const takt_type *shape; /* of the result */
    takt_id *operand_node;  /* per operand */
    takt_id *in_register;   /* per register: node whose value it holds, or TAKT_NONE if free */
    size_t register_capacity;
} compiler;

/* A register that holds no other value before or after. */
static takt_status take_new_register(compiler *c, takt_id holder, uint32_t *out)
{
    if (c->program->registers == c->register_capacity)
        return takt_fail(c->p->ctx, TAKT_E_INTERNAL,
                         "an element-wise step needs too many registers");
    c->in_register[c->program->registers] = holder;
    *out = c->program->registers++;
    return TAKT_OK;
}

static takt_status take_register(compiler *c, takt_id holder, uint32_t *out)
{
    for (uint32_t r = 0; r < c->program->registers; r++)
        if (c->in_register[r] == TAKT_NONE) {
            c->in_register[r] = holder;
            *out = r;
            return TAKT_OK;
        }
    return take_new_register(c, holder, out);
}

static void widen_registers(takt_map_program *m, takt_dtype compute)
{
    const uint32_t bytes = (uint32_t)takt_dtype_bits(compute) / 8;
    m->width = bytes > m->width ? bytes : m->width;
}

enum { RESERVED = INT32_MAX }; /* a holder that no node has: staging of operands, never freed */

static takt_status add_operand(compiler *c, takt_id node, uint32_t *index)
{
    for (size_t i = 0; i < c->program->operand_count; i++)
        if (c->operand_node[i] == node) {
            *index = (uint32_t)i;
            return TAKT_OK;
        }
    takt_map_operand *o = &c->program->operands[c->program->operand_count];
    size_t view;
    TAKT_TRY(takt_planner_input(c->p, node, &view));
    const takt_view *v = &c->p->step->in[view];
    o->view = (uint32_t)view;
    o->bytes = (uint32_t)takt_dtype_bits(v->dtype) / 8;
    takt_map_collapse(c->shape, v, o);
    const takt_dtype compute = takt_map_compute_type(v->dtype);
    o->widens = compute != v->dtype;
    o->widen = (takt_convert){.to = compute, .from = v->dtype};
    widen_registers(c->program, compute);
    if (!o->is_full && !o->is_scalar)
        TAKT_TRY(takt_map_period(o) > 0 ? take_new_register(c, RESERVED, &o->gathered)
                                        : take_register(c, RESERVED, &o->gathered));
    if (o->widens)
        TAKT_TRY(take_register(c, RESERVED, &o->widened));
    c->operand_node[c->program->operand_count] = node;
    *index = (uint32_t)c->program->operand_count++;
    return TAKT_OK;
}

/* Where an input of a node comes from: a register of this program, the hot tile, or memory. */
static takt_status reference(compiler *c, takt_id node, takt_map_ref *ref)
{
    if (node == c->hot) {
        *ref = (takt_map_ref){TAKT_MAP_HOT, 0};
        return TAKT_OK;
    }
    for (uint32_t r = 0; r < c->program->registers; r++)
        if (c->in_register[r] == node) {
            *ref = (takt_map_ref){TAKT_MAP_REG, r};
            return TAKT_OK;
        }
    ref->source = TAKT_MAP_VIEW;
    return add_operand(c, node, &ref->index);
}

/* ---- instructions ---- */

static bool used_later(const compiler *c, takt_id value, size_t after)
{
    for (size_t i = after + 1; i < c->count; i++) {
        const takt_node *n = &c->p->graph->nodes[c->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] == value)
                return true;
    }
    return false;
}

static void free_registers(compiler *c, size_t at)
{
    for (uint32_t r = 0; r < c->program->registers; r++) {
        const takt_id holder = c->in_register[r];
        if (holder != TAKT_NONE && holder != (takt_id)RESERVED && !used_later(c, holder, at))
            c->in_register[r] = TAKT_NONE;
    }
}

/* A full operand of the same size that dies here may be overwritten, unless a later instruction
 * still reads it. */
static int overwritable(const compiler *c, size_t at)
{
    const takt_type *type = c->p->graph->nodes[c->nodes[at]].type;
    for (size_t i = 0; i < c->program->operand_count; i++) {
        const takt_map_operand *o = &c->program->operands[i];
        if (o->is_full && o->bytes == (uint32_t)takt_dtype_bits(type->dtype) / 8 &&
            c->p->step->in[o->view].dtype == type->dtype && !used_later(c, c->operand_node[i], at))
            return (int)o->view;
    }
    return -1;
}

static takt_status add_output(compiler *c, size_t at, takt_map_instr *code)
{
    const takt_id id = c->nodes[at];
    code->out = -1;
    if (!takt_planner_escapes(c->p, id))
        return TAKT_OK;
    if (c->hot != TAKT_NONE) { /* only the last node of an epilogue escapes: see `absorbs` */
        code->is_final = true;
        return TAKT_OK;
    }
    const int over = overwritable(c, at);
    size_t index;
    TAKT_TRY(over >= 0 ? takt_planner_output_over(c->p, id, (size_t)over, &index)
                       : takt_planner_output(c->p, id, &index));
    code->out = (int32_t)index;
    code->is_direct = !code->narrows && code->fn != NULL;
    code->keeps_copy = code->is_direct && used_later(c, id, at);
    return TAKT_OK;
}

static takt_status choose_kernel(compiler *c, const takt_node *n, takt_map_instr *code)
{
    const takt_dtype to = n->type->dtype, compute = takt_map_compute_type(to);
    code->narrows = compute != to;
    code->narrow = (takt_convert){.to = to, .from = compute};
    code->widen = (takt_convert){.to = compute, .from = to};
    widen_registers(c->program, compute);
    if (is_cast(n)) {
        const takt_attr *saturate = takt_node_attr(n, "saturate");
        code->cast = (takt_convert){
            .to = to,
            .from = takt_map_compute_type(takt_type_of(c->p->graph, n->in[0])->dtype),
            .saturate = saturate == NULL || saturate->boolean};
    } else {
        const takt_dtype in = takt_map_compute_type(takt_map_deciding(c->p->graph, n));
        const takt_kernel *k = takt_planner_kernel(c->p, family_of(in));
        const takt_map_op op = takt_map_node_op(c->p->graph, n);
        code->fn = k != NULL ? takt_map_find(k, op) : NULL;
        code->op = op;
        code->is_f32 = in == TAKT_F32 && (to == TAKT_F32 || to == TAKT_BOOL);
        code->can_fault =
            !takt_dtype_is_float(in) && in != TAKT_BOOL &&
            (op == TAKT_MAP_DIV || op == TAKT_MAP_MOD || op == TAKT_MAP_REM || op == TAKT_MAP_POW);
    }
    code->narrow_bytes = (uint32_t)takt_dtype_bits(to) / 8;
    if (code->fn == NULL && !is_cast(n))
        return takt_fail(c->p->ctx, TAKT_E_INTERNAL, "no kernel computes %s on %s", n->op->name,
                         takt_dtype_name(takt_type_of(c->p->graph, n->in[0])->dtype));
    return TAKT_OK;
}

/* Rounding to f16 of a value that stays in a register as f32, and reading 16 bits as f32, can be
 * links of a pass. */
static void link_cast(const compiler *c, const takt_node *n, takt_map_instr *code)
{
    const takt_dtype to = n->type->dtype, from = takt_type_of(c->p->graph, n->in[0])->dtype;
    const bool rounds = from == TAKT_F32 && to == TAKT_F16 && code->out < 0;
    if (!is_cast(n) || (!rounds && (to != TAKT_F32 || takt_map_compute_type(from) != TAKT_F32)))
        return;
    code->is_linked_cast = true;
    code->is_direct = code->out >= 0;
    code->keeps_copy = code->is_direct && code->is_read;
    code->op = (takt_map_op)(rounds ? (int)TAKT_CHAIN_F16 : (int)TAKT_MAP_COPY);
}

/* Chooses among floats of its own type, or changes a sign. */
static bool is_exact(const takt_graph *g, const takt_node *n)
{
    const takt_op *const ops[] = {&takt_op_relu, &takt_op_max, &takt_op_min,
                                  &takt_op_abs,  &takt_op_neg, &takt_op_select};
    bool is_known = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        is_known |= n->op == ops[i];
    for (uint32_t k = n->op == &takt_op_select; is_known && k < n->in_count; k++)
        is_known = takt_type_of(g, n->in[k])->dtype == n->type->dtype;
    return is_known && takt_dtype_is_float(n->type->dtype);
}

static takt_status compile_node(compiler *c, size_t at)
{
    const takt_node *n = &c->p->graph->nodes[c->nodes[at]];
    takt_map_instr *code = &c->program->code[at];
    code->src_count = (unsigned char)n->in_count;
    for (uint32_t k = 0; k < n->in_count; k++)
        TAKT_TRY(reference(c, n->in[k], &code->src[k]));
    TAKT_TRY(choose_kernel(c, n, code));
    TAKT_TRY(add_output(c, at, code));
    code->is_exact = is_exact(c->p->graph, n);
    code->is_read = code->is_final || used_later(c, c->nodes[at], at);
    link_cast(c, n, code);
    code->dst = TAKT_MAP_NONE;
    if (code->out < 0 || code->is_read || (code->fn != NULL && !code->is_direct))
        TAKT_TRY(
            take_register(c, c->nodes[at], &code->dst)); /* not over a source: before freeing */
    free_registers(c, at);
    c->program->can_fault |= code->can_fault;
    return TAKT_OK;
}

/* One block for the program and the compiler's temporaries: each allocation costs time whenever
 * sizes change. */
static takt_status get_memory(compiler *c)
{
    size_t inputs = 0;
    for (size_t i = 0; i < c->count; i++)
        inputs += c->p->graph->nodes[c->nodes[i]].in_count;
    c->register_capacity = 2 * inputs + c->count + 1;
    const size_t operands_at = sizeof *c->program + c->count * sizeof *c->program->code;
    const size_t nodes_at = operands_at + inputs * sizeof *c->program->operands;
    const size_t ids = inputs + c->register_capacity;
    char *block = takt_planner_get(c->p, nodes_at + ids * sizeof(takt_id));
    if (block == NULL)
        return TAKT_ERR_MEMORY;
    c->program = (takt_map_program *)(void *)block;
    c->program->code_count = c->count;
    c->program->code = (takt_map_instr *)(void *)(block + sizeof *c->program);
    c->program->operands = (takt_map_operand *)(void *)(block + operands_at);
    c->operand_node = (takt_id *)(void *)(block + nodes_at);
    c->in_register = c->operand_node + inputs;
    return TAKT_OK;
}

static takt_status compile(compiler *c)
{
    takt_map_program *m = c->program;
    for (size_t i = 0; i < c->count; i++)
        TAKT_TRY(compile_node(c, i));
    takt_map_link(m);
    takt_map_set_tile(m, c->hot != TAKT_NONE);
    return TAKT_OK;
}

takt_status takt_map_compile(takt_planner *p, const takt_id *nodes, size_t count, takt_id hot,
                             takt_map_program **program)
{
    compiler c = {.p = p,
                  .nodes = nodes,
                  .count = count,
                  .hot = hot,
                  .shape = p->graph->nodes[nodes[0]].type};
    TAKT_TRY(get_memory(&c));
    takt_map_program *m = c.program;
    m->convert = takt_kernel_as_convert(takt_planner_find(p, "convert"));
    m->chain = takt_kernel_as_chain_f32(takt_planner_find(p, "chain_f32"));
    if (!takt_type_count(c.shape, &m->count))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "an element-wise result is too large");
    m->shape = c.shape;
    *program = m;
    return compile(&c);
}

size_t takt_map_scratch(const takt_map_program *m)
{
    return m->registers * takt_map_register(m);
}
