/* loop.c - loops at run time: `for x in xs { ... }` and the values they collect.
 *
 * The body of a loop becomes a subgraph. Tensors of the enclosing frame that it names become
 * inputs; those it assigns to are carried. */
#include <string.h>

#include "ir/attr.h"
#include "lang/body.h"
#include "op/ops.h"

typedef struct loop {
    const takt_ast *at;
    takt_value over; /* a tensor to iterate over, or a count */
    bool is_scan;
    int64_t axis;
    takt_names carried, used; /* outer tensors: assigned inside, or only read */
    const char *goes_on;      /* the body's name for its condition, which no text sees */
    const char *collected;    /* ... and the prefix of the names of collected values */
    takt_value *in;           /* of the node */
    size_t in_count;
} loop;

static bool read_axis(takt_frame *f, loop *l)
{
    const int rank = takt_type_of(f->graph, l->over.id)->rank;
    if (l->at->c == NULL)
        return true;
    const takt_value v = takt_eval_expr(f, l->at->c);
    if (v.kind == TAKT_V_INT && v.i >= -rank && v.i < rank) {
        l->axis = v.i < 0 ? v.i + rank : v.i;
        return true;
    }
    if (v.kind != TAKT_V_POISON)
        takt_complain(f, l->at->c, TAKT_E_ATTR, NULL, "along takes an axis from %d to %d", -rank,
                      rank - 1);
    return false;
}

/* A count known only at run time: iterates over the numbers below it. */
static bool count_up(takt_frame *f, loop *l)
{
    const takt_named_attr shape = {"shape", {.dims = &l->over.dim, .count = 1}};
    const takt_id id = takt_graph_call(f->graph, &takt_op_iota, 0, NULL, 1, &shape);
    if (id == TAKT_NONE)
        return takt_complain_last(f, l->at->a).b;
    l->over = takt_value_tensor(id);
    l->is_scan = true;
    return true;
}

/* The range of the loop: the rows of a tensor, or a count. */
static bool read_source(takt_frame *f, loop *l)
{
    l->over = takt_eval_expr(f, l->at->a);
    const takt_type *type =
        l->over.kind == TAKT_V_TENSOR ? takt_type_of(f->graph, l->over.id) : NULL;
    l->is_scan = type != NULL && type->rank > 0;
    if (l->over.kind == TAKT_V_POISON)
        return false;
    if (l->is_scan)
        return read_axis(f, l);
    if (l->at->c != NULL) {
        takt_complain(f, l->at->c, TAKT_E_CALL, NULL, "along is for tensors with axes");
        return false;
    }
    if (l->over.kind == TAKT_V_DIM)
        return count_up(f, l);
    if (takt_value_is_size(&l->over) || (type != NULL && type->dtype == TAKT_I64))
        return true;
    char text[TAKT_VALUE_TEXT];
    takt_complain(f, l->at->a, TAKT_E_CALL, "for x in xs, for i in 10, for i in count",
                  "a loop goes over a tensor or counts to a size or an i64 scalar, not %s",
                  l->over.kind == TAKT_V_INT ? takt_value_text(f->graph, &l->over, text)
                                             : takt_value_kind_text(&l->over));
    return false;
}

/* A value known at build time would keep its old value in every iteration, and afterwards. */
static bool may_assign(takt_frame *f, const loop *l)
{
    bool good = true;
    for (size_t i = 0; i < l->carried.count; i++) {
        const takt_symbol *name = l->carried.at[i];
        const takt_value *v = name != l->at->name ? takt_frame_find(f, name) : NULL;
        if (v == NULL || v->kind == TAKT_V_TENSOR || v->kind == TAKT_V_POISON)
            continue;
        takt_complain(f, l->at, TAKT_E_CALL,
                      "begin with a tensor, such as constant(f32[], 0), or take another name",
                      "the loop assigns to %s, which is %s outside: it carries tensors alone",
                      name->text, takt_value_kind_text(v));
        good = false;
    }
    return good;
}

static bool find_names(takt_frame *f, loop *l)
{
    takt_names_walk(l->at->b, true, &l->carried);
    takt_names_walk(l->at->b, false, &l->used);
    if (!may_assign(f, l))
        return false;
    takt_names_keep_tensors(f, &l->carried);
    takt_names_keep_tensors(f, &l->used);
    if (l->carried.is_full || l->used.is_full) {
        takt_complain(f, l->at, TAKT_E_GRAPH_FULL, NULL, "a loop names more than %d values",
                      TAKT_NAMES);
        return false;
    }
    size_t carried = 0, used = 0;
    for (size_t i = 0; i < l->carried.count; i++) /* a tensor of the variable's name is hidden */
        if (l->carried.at[i] != l->at->name)
            l->carried.at[carried++] = l->carried.at[i];
    l->carried.count = carried;
    for (size_t i = 0; i < l->used.count; i++)
        if (!takt_names_have(&l->carried, l->used.at[i]) && l->used.at[i] != l->at->name)
            l->used.at[used++] = l->used.at[i];
    l->used.count = used;
    return true;
}

static bool some_begin(const takt_names *n, const char *with)
{
    for (size_t i = 0; i < n->count; i++)
        if (strncmp(n->at[i]->text, with, strlen(with)) == 0)
            return true;
    return false;
}

/* `wish` with enough dots before it that no name of the text begins like it; NULL if out of
 * memory. */
static const char *unlike_names(takt_frame *f, const loop *l, const char *wish)
{
    while (wish != NULL && (some_begin(&l->carried, wish) || some_begin(&l->used, wish) ||
                            strncmp(l->at->name->text, wish, strlen(wish)) == 0))
        wish = takt_arena_format(&f->arena, ".%s", wish);
    return wish;
}

static bool choose_names(takt_frame *f, loop *l)
{
    l->goes_on = unlike_names(f, l, "goes.on");
    l->collected = unlike_names(f, l, "collect.");
    return (l->goes_on != NULL && l->collected != NULL) || takt_out_of_memory(f).b;
}

static takt_type element_type(takt_frame *f, const loop *l)
{
    const takt_type *t = takt_type_of(f->graph, l->over.id);
    takt_type made = {.dtype = t->dtype, .rank = t->rank - 1};
    for (int d = 0, to = 0; d < t->rank; d++)
        if (d != l->axis)
            made.dim[to++] = t->dim[d];
    return made;
}

/* scan: carried, element, captures; loop: number, condition, carried, captures. */
static void take_loop(takt_frame *f, loop *l, takt_body *b)
{
    const takt_type number = {.dtype = TAKT_I64}, truth = {.dtype = TAKT_BOOL};
    if (!l->is_scan) {
        takt_body_take(b, l->at->name, &number);
        if (takt_graph_input(b->frame.graph, l->goes_on, &truth) == TAKT_NONE)
            b->is_good = takt_complain_last(&b->frame, l->at).b;
    }
    takt_body_take_all(f, b, &l->carried);
    if (l->is_scan) {
        const takt_type type = element_type(f, l);
        takt_body_take(b, l->at->name, &type);
    }
    takt_body_take_all(f, b, &l->used);
}

static void give_loop(loop *l, takt_body *b)
{
    takt_frame *inner = &b->frame;
    if (!l->is_scan)
        takt_graph_output(inner->graph, l->goes_on, inner->graph->inputs[1].id);
    for (size_t i = 0; b->is_good && i < l->carried.count; i++)
        takt_body_give(b, l->at, l->carried.at[i]->text, *takt_frame_find(inner, l->carried.at[i]),
                       TAKT_F32);
    for (const takt_collected *c = inner->collected; b->is_good && c != NULL; c = c->next) {
        const char *name = takt_arena_format(&inner->arena, "%s%s", l->collected, c->name->text);
        if (name != NULL)
            takt_body_give(b, c->at, name, c->value, TAKT_F32);
        else
            b->is_good = takt_out_of_memory(inner).b;
    }
}

static bool inputs(takt_frame *f, loop *l)
{
    l->in = takt_frame_items(f, l->carried.count + l->used.count + 2);
    if (l->in == NULL)
        return false;
    if (!l->is_scan) {
        const takt_value yes = takt_value_bool(true);
        l->in[l->in_count++] =
            l->over.kind == TAKT_V_TENSOR
                ? l->over
                : takt_value_tensor(takt_elab_scalar(f, l->at->a, &l->over, TAKT_I64));
        l->in[l->in_count++] = takt_value_tensor(takt_elab_scalar(f, l->at, &yes, TAKT_BOOL));
    }
    for (size_t i = 0; i < l->carried.count; i++)
        l->in[l->in_count++] = *takt_frame_find(f, l->carried.at[i]);
    if (l->is_scan)
        l->in[l->in_count++] = l->over;
    for (size_t i = 0; i < l->used.count; i++)
        l->in[l->in_count++] = *takt_frame_find(f, l->used.at[i]);
    return true;
}

static void set(takt_attr *attrs, const takt_op *op, const char *name, takt_attr value)
{
    attrs[takt_op_attr_index(op, name)] = value;
}

static takt_id append(takt_frame *f, loop *l, const takt_body *b, size_t collected)
{
    takt_attr attrs[TAKT_MAX_ATTRS] = {{.is_set = false}};
    const takt_op *op = l->is_scan ? &takt_op_scan : &takt_op_loop;
    int64_t *axes = takt_arena_array(&f->arena, collected + 1, sizeof *axes);
    if (axes == NULL) {
        takt_out_of_memory(f);
        return TAKT_NONE;
    }
    for (size_t i = 0; i <= collected; i++)
        axes[i] = l->axis;
    set(attrs, op, "body", takt_attr_graph(b->frame.graph));
    set(attrs, op, "carried", takt_attr_i64((int64_t)l->carried.count));
    if (l->is_scan)
        set(attrs, op, "axes", takt_attr_i64s(axes, 1));
    if (l->is_scan && collected > 0)
        set(attrs, op, "out_axes", takt_attr_i64s(axes, collected));
    if (!l->is_scan && collected > 0)
        set(attrs, op, "length", takt_attr_shape(&l->over.dim, 1));
    return takt_elab_append(f, l->at, op, l->in, l->in_count, attrs);
}

/* The loop's results under their names. */
static void bind(takt_frame *f, loop *l, const takt_body *b, takt_id id)
{
    const uint32_t count = takt_node_at(f->graph, id)->out_count;
    const takt_value all = count == 1
                               ? takt_value_tensor(id)
                               : (takt_value){.kind = TAKT_V_RESULTS, .count = count, .id = id};
    uint32_t k = 0;
    for (size_t i = 0; i < l->carried.count; i++, k++)
        takt_frame_set(f, l->carried.at[i], count == 1 ? all : takt_elab_result(f, l->at, &all, k));
    for (const takt_collected *c = b->frame.collected; c != NULL; c = c->next, k++)
        takt_frame_set(f, c->name, count == 1 ? all : takt_elab_result(f, l->at, &all, k));
}

static void finish(takt_frame *f, loop *l, takt_body *b)
{
    size_t collected = 0;
    for (const takt_collected *c = b->frame.collected; c != NULL; c = c->next)
        collected++;
    if (l->carried.count + collected == 0) {
        takt_complain(f, l->at, TAKT_E_CALL,
                      "assign to a tensor from outside, or `collect y = ...`",
                      "the loop changes nothing");
        return;
    }
    if (collected > 0 && !l->is_scan && l->over.kind == TAKT_V_TENSOR) {
        takt_complain(f, l->at->a, TAKT_E_DIM, "count to a size",
                      "how many rows are collected is not known while the model is built");
        return;
    }
    give_loop(l, b);
    const takt_id id = b->is_good && inputs(f, l) ? append(f, l, b, collected) : TAKT_NONE;
    if (id != TAKT_NONE)
        bind(f, l, b, id);
}

void takt_eval_for(takt_frame *f, const takt_ast *a)
{
    takt_elab *e = f->e;
    const takt_ast *root = e->root;
    loop *l = takt_arena_array(&f->arena, 1, sizeof *l);
    takt_body b;
    if (l == NULL) {
        takt_out_of_memory(f);
        return;
    }
    l->at = a;
    if (f->caller == NULL) { /* outside all layers the loop is a row of tables, "for x" */
        const char *row = takt_arena_format(&f->arena, "for %s", a->name->text);
        takt_graph_set_origin(f->graph, row != NULL ? row : "for", (int)a->line);
    }
    if (!read_source(f, l) || !find_names(f, l) || !choose_names(f, l) || !takt_may_name(f, a))
        return;
    e->root = NULL;
    if (takt_body_begin(f, a, &b))
        take_loop(f, l, &b);
    b.frame.is_loop = true;
    const size_t errors = e->diagnostics->complaints;
    if (b.is_good)
        takt_eval_block(&b.frame, a->b);
    e->root = root;
    if (b.frame.returned != NULL && b.frame.returned->kind == TAKT_A_RETURN)
        takt_complain(f, b.frame.returned, TAKT_E_CALL, "assign to a name from outside",
                      "nothing is returned from within a loop");
    else if (b.is_good && e->status == TAKT_OK && e->diagnostics->complaints == errors)
        finish(f, l, &b);
    takt_body_end(f, &b);
}

void takt_eval_collect(takt_frame *f, const takt_ast *a)
{
    const takt_value v = takt_eval_expr(f, a->a);
    if (!f->is_loop) {
        takt_complain(f, a, TAKT_E_CALL, NULL, "collect stands directly in a `for` loop");
        return;
    }
    takt_collected *c = takt_arena_array(&f->arena, 1, sizeof *c);
    if (c == NULL) {
        takt_out_of_memory(f);
        return;
    }
    *c = (takt_collected){.at = a, .name = a->name, .value = v};
    takt_collected **end_of = &f->collected;
    for (; *end_of != NULL; end_of = &(*end_of)->next) {
        if ((*end_of)->name == a->name) {
            takt_complain(f, a, TAKT_E_DUPLICATE, NULL, "%s is collected twice", a->name->text);
            return;
        }
    }
    *end_of = c;
}
