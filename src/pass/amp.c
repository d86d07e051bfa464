/* amp.c - mixed precision: which values of a trained model are in 16 bits.
 *
 * Runs over the forward graph, before gradients are appended: the gradient of a value has its type,
 * so a value in 16 bits has a gradient in 16 bits. Parameters stay f32; a product that reads one
 * reads a rounded copy. Each op's record says how it is treated (op/util/amp.h): docs/numerics.md,
 * "Mixed precision". */
#include "op/util/amp.h"
#include "ir/before.h"
#include "op/ops.h"
#include "pass/copier.h"
#include "pass/passes.h"

enum { TO, TO_BF16 = 0, TO_F16 = 1 }; /* the argument, and its words */

static const char half_law[] = "f(x) = f(round(x)), in 16 bits";
static const char rounded_law[] = "f(x) = round(f(widen(x)))";

/* One value of the model; TAKT_NONE if it has not been made. */
typedef struct value {
    takt_id narrow; /* in 16 bits */
    takt_id wide;   /* f32; if `is_narrow`, `narrow` widened */
    takt_id exact;  /* f32 before it was rounded to `narrow` */
    bool is_narrow;
} value;

typedef struct amp {
    takt_copier c;
    value *values; /* per node of the old graph */
    takt_dtype to;
    takt_pass_report *report;
} amp;

static bool is_f32(const takt_type *type)
{
    return type->dtype == TAKT_F32;
}

static takt_id narrow_of(amp *a, takt_id id)
{
    value *v = &a->values[id];
    if (v->narrow == TAKT_NONE)
        v->narrow = takt_cast(a->c.out, v->wide, a->to);
    return v->narrow;
}

static takt_id wide_of(amp *a, takt_id id)
{
    value *v = &a->values[id];
    if (v->wide == TAKT_NONE)
        v->wide = takt_cast(a->c.out, v->narrow, TAKT_F32);
    return v->wide;
}

/* Outputs and next states of the model. */
static takt_id exact_of(amp *a, takt_id id)
{
    return a->values[id].exact != TAKT_NONE ? a->values[id].exact : wide_of(a, id);
}

/* ---- how a node is treated ---- */

typedef enum way {
    AS_IT_IS, /* f32 in, f32 out */
    HALF,     /* 16 bits in and out */
    ROUNDED,  /* f32 in, the result rounded */
} way;

typedef struct reads {
    bool some, all; /* f32 inputs of the old node that are 16 bits in the new graph */
} reads;

static reads reads_of(const amp *a, const takt_node *n)
{
    reads r = {.all = true};
    for (uint32_t k = 0; k < n->in_count; k++) {
        if (n->in[k] == TAKT_NONE || !is_f32(takt_type_of(a->c.in, n->in[k])))
            continue;
        const bool is_narrow = a->values[n->in[k]].is_narrow;
        r.some |= is_narrow;
        r.all &= is_narrow;
    }
    return r;
}

static bool is_parameter(const amp *a, takt_id id)
{
    const takt_graph *g = a->c.in;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].value == id)
            return true;
    return false;
}

/* Types other than f32 are kept. */
static bool is_of_f32(const amp *a, const takt_node *n)
{
    bool is_all = is_f32(&n->type[0]);
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE) {
            const takt_dtype dtype = takt_type_of(a->c.in, n->in[k])->dtype;
            is_all &= dtype == TAKT_F32 || !takt_dtype_is_float(dtype);
        }
    return is_all;
}

/* Whether the op can be applied to 16 bits directly, with the same result as computing in f32 and
 * rounding. */
static bool is_same_in_half(const takt_node *n, bool reads_only_half)
{
    const uint32_t traits = n->op->traits;
    if (n->out_count != 1)
        return false;
    return (traits & (TAKT_VIEW | TAKT_AMP_CHOOSES | TAKT_AMP_TABLE | TAKT_AMP_FOLLOWS)) != 0 ||
           (reads_only_half && (traits & TAKT_AMP_SIMPLE) != 0);
}

static bool is_wide(const takt_node *n)
{
    const uint32_t traits = n->op->traits;
    return (traits & (TAKT_LEAF | TAKT_CONTROL | TAKT_AMP_WIDE)) != 0 || n->op == &takt_op_cast ||
           ((traits & TAKT_REDUCES) != 0 && (traits & TAKT_AMP_FOLLOWS) == 0);
}

static way way_of(const amp *a, const takt_node *n)
{
    const uint32_t traits = n->op->traits;
    const reads r = reads_of(a, n);
    if (n->op == &takt_op_get) /* of an op with several results, which are f32 */
        return a->values[n->in[0]].is_narrow && is_f32(n->type) ? ROUNDED : AS_IT_IS;
    if (is_wide(n))
        return AS_IT_IS;
    if ((traits & TAKT_PREDICATE) != 0)
        return r.some && r.all ? HALF : AS_IT_IS;
    if (!is_of_f32(a, n))
        return AS_IT_IS;
    if ((traits & TAKT_AMP_FACTORS) != 0)
        return HALF;
    if ((traits & TAKT_AMP_TABLE) != 0 && is_parameter(a, n->in[0]))
        return ROUNDED;
    if (!r.some)
        return AS_IT_IS;
    return is_same_in_half(n, r.all) ? HALF : ROUNDED;
}

/* ---- the new graph ---- */

static value made_by(amp *a, takt_id id, takt_id made, way w)
{
    const takt_node *old = &a->c.in->nodes[id];
    value v = {.narrow = TAKT_NONE, .wide = TAKT_NONE, .exact = TAKT_NONE};
    v.is_narrow = w != AS_IT_IS && is_f32(old->type);
    if (w == HALF && v.is_narrow) {
        v.narrow = made;
    } else if (w == ROUNDED && old->out_count == 1) {
        v.exact = made;
        v.narrow = takt_cast(a->c.out, made, a->to);
    } else { /* of several results, those that are used are rounded */
        v.wide = made;
    }
    return v;
}

static void rewrite(amp *a, takt_id id)
{
    const takt_node *old = &a->c.in->nodes[id];
    takt_id *in = a->c.inputs;
    const way w = way_of(a, old);
    for (uint32_t k = 0; k < old->in_count; k++) {
        const takt_id from = old->in[k];
        if (from == TAKT_NONE)
            in[k] = TAKT_NONE;
        else if (!is_f32(takt_type_of(a->c.in, from)) || old->op == &takt_op_get)
            in[k] = a->values[from].wide;
        else
            in[k] = w == HALF ? narrow_of(a, from) : wide_of(a, from);
    }
    takt_graph_inherit(a->c.out, old);
    const takt_id made = takt_graph_append(a->c.out, old->op, old->in_count, in, old->attr);
    a->values[id] = made_by(a, id, made, w);
    if (w != AS_IT_IS)
        takt_pass_fired(a->report, "amp", w == HALF ? half_law : rounded_law, old);
}

static takt_status walk(amp *a)
{
    const takt_graph *in = a->c.in;
    a->values = takt_arena_array(&a->c.arena, in->count + 1, sizeof *a->values);
    if (a->values == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_graph_begin_copy(in, a->c.out, a->c.map));
    for (size_t i = 0; i < in->count; i++) {
        a->values[i] = (value){.narrow = TAKT_NONE, .wide = a->c.map[i], .exact = TAKT_NONE};
        if (a->c.live[i] && a->c.map[i] == TAKT_NONE)
            rewrite(a, (takt_id)i);
        TAKT_TRY(a->c.out->status);
    }
    for (size_t i = 0; i < in->output_count; i++)
        a->c.map[in->outputs[i].id] = exact_of(a, in->outputs[i].id);
    for (size_t i = 0; i < in->slot_count; i++)
        if (in->slots[i].next != TAKT_NONE)
            a->c.map[in->slots[i].next] = exact_of(a, in->slots[i].next);
    for (size_t i = 0; i < in->check_count; i++)
        a->c.map[in->checks[i].id] = exact_of(a, in->checks[i].id);
    return a->c.out->status;
}

static takt_status run(const takt_graph *in, const takt_pass_given *given, takt_pass_report *report,
                       takt_graph **out)
{
    amp a = {.to = given->arg[TO] == TO_F16 ? TAKT_F16 : TAKT_BF16, .report = report};
    takt_status status = takt_copier_init(&a.c, in);
    if (status == TAKT_OK)
        status = walk(&a);
    return takt_copier_done(&a.c, status, out);
}

static const char *const types[] = {[TO_BF16] = "bf16", [TO_F16] = "f16", NULL};

const takt_pass takt_pass_amp = {
    .name = "amp",
    .summary = "keep activations and factors of a training in 16 bits",
    .licence = "Mixed precision",
    .args = {[TO] = {.name = "to", .summary = "the type, bf16 or f16", .words = types}},
    .run = run,
};

takt_status takt_graph_amp(const takt_graph *in, takt_dtype to, takt_pass_report *report,
                           takt_graph **out)
{
    const takt_pass_given given = {.arg[TO] = to == TAKT_F16 ? TO_F16 : TO_BF16};
    return takt_pass_apply_with(&takt_pass_amp, &given, in, report, out);
}

/* ---- the backward pass ---- */

static bool is_widened(const takt_graph *g, takt_id id)
{
    const takt_node *n = &g->nodes[id];
    return n->op == &takt_op_cast && n->type->dtype == TAKT_F32 &&
           takt_dtype_bits(takt_type_of(g, n->in[0])->dtype) == 16;
}

/* The same value as a separate node, which no pass merges with the first: `saturate` only matters
 * for 8 bits. */
static takt_id widened_again(takt_graph *g, takt_id narrow)
{
    const takt_named_attr attrs[] = {
        {"dtype", {.dtype = TAKT_F32, .is_set = true}},
        {"saturate", {.boolean = false, .is_set = true}},
    };
    return takt_graph_call(g, &takt_op_cast, 1, &narrow, 2, attrs);
}

static void copy_late(takt_copier *c, const unsigned char *forward, takt_id id)
{
    const takt_node n = takt_copier_node(c, id);
    const takt_node *old = &c->in->nodes[id];
    for (uint32_t k = 0; k < n.in_count && !forward[id]; k++) {
        const takt_id from = old->in[k];
        if (from != TAKT_NONE && forward[from] && is_widened(c->in, from))
            c->inputs[k] = widened_again(c->out, c->map[c->in->nodes[from].in[0]]);
    }
    takt_graph_inherit(c->out, old);
    c->map[id] = takt_graph_append(c->out, old->op, old->in_count, c->inputs, old->attr);
}

takt_status takt_graph_amp_late(const takt_graph *in, takt_id loss, takt_graph **out)
{
    takt_copier c;
    *out = NULL;
    takt_status status = takt_copier_init(&c, in);
    unsigned char *forward = takt_arena_array(&c.arena, in->count + 1, 1);
    if (status == TAKT_OK && forward == NULL)
        status = TAKT_ERR_MEMORY;
    if (status == TAKT_OK) {
        takt_graph_before(in, loss, forward);
        status = takt_graph_begin_copy(in, c.out, c.map);
    }
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++) {
        if (c.live[i] && c.map[i] == TAKT_NONE)
            copy_late(&c, forward, (takt_id)i);
        status = c.out->status;
    }
    return takt_copier_done(&c, status, out);
}
