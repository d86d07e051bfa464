/* repeat.c - a body of a loop in which values decide sizes. */
#include "plan/repeat.h"

#include <inttypes.h>
#include <string.h>

#include "base/error_record.h"
#include "base/mem.h"
#include "ir/leaves.h"
#include "op/util/length.h"
#include "os/os.h"
#include "plan/finish.h"
#include "plan/resize.h"
#include "plan/variants.h"

enum { WAIT_NS = 50000 }; /* between two looks at whether a body is free */

struct takt_repeat {
    takt_ctx *ctx;
    const takt_plan *top;   /* which owns this */
    takt_resizer *resizer;  /* NULL: every size has a plan of its own */
    int64_t *cells, *names; /* of the size program; the sizes of this iteration so far */
    int64_t *start;         /* the sizes that an iteration begins with */
    size_t cell_count;
    takt_variants variants;
    const takt_variant *last; /* that ran last, where there is no resizer; or NULL */
    bool is_off;              /* the resizer's plan is of no size: it is set before it runs */
    bool is_other;            /* not even those that an iteration begins with */
    takt_lock lock;
};

bool takt_repeat_finds(const takt_graph *g)
{
    size_t name;
    for (size_t i = 0; i < g->count; i++) {
        const takt_attr *names = &g->nodes[i].attr[TAKT_LENGTH_NAMES];
        for (uint32_t k = 0; g->nodes[i].op == &takt_op_length && k < names->count; k++)
            if (takt_length_names(g, &g->nodes[i], k, &name))
                return true;
    }
    return false;
}

/* ---- making one ---- */

static takt_status number_of(const takt_graph *g, takt_dim d, const int64_t *sizes, size_t count,
                             int64_t *out)
{
    takt_dim dim;
    TAKT_TRY(takt_dim_substitute(g->dims, d, sizes, count, &dim));
    *out = takt_dim_is_number(dim) ? dim : TAKT_LENGTH_OPEN;
    return TAKT_OK;
}

/* The range of each name and its planned size, in the order in which they are found. */
static takt_status find_ranges(const takt_graph *g, takt_size_range *ranges, int64_t *sizes,
                               size_t count)
{
    size_t name;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        for (uint32_t k = 0; n->op == &takt_op_length && k < n->attr[TAKT_LENGTH_NAMES].count;
             k++) {
            int64_t bound, top;
            if (!takt_length_names(g, n, k, &name) || name >= count || ranges[name].is_length)
                continue;
            TAKT_TRY(number_of(g, n->attr[TAKT_LENGTH_BOUNDS].dims[k], sizes, count, &bound));
            TAKT_TRY(number_of(g, n->attr[TAKT_LENGTH_TOPS].dims[k], sizes, count, &top));
            if (bound == TAKT_LENGTH_OPEN) /* the caller's value for it */
                bound = sizes[name] >= 0 ? sizes[name] : TAKT_LENGTH_OPEN;
            if (bound == TAKT_LENGTH_OPEN)
                return takt_fail(g->ctx, TAKT_E_LENGTH_OPEN,
                                 "%s is a size that values decide, and nothing bounds it",
                                 takt_dims_name(g->dims, name));
            top = top < bound ? top : bound;
            ranges[name] =
                (takt_size_range){.low = 0, .high = bound, .top = top, .is_length = true};
            sizes[name] = top;
        }
    }
    return TAKT_OK;
}

static takt_status plan_top(takt_basis *basis, const takt_plan_settings *settings, takt_plan **plan)
{
    takt_graph *graph = basis->template->graph, *g = NULL;
    takt_ctx *ctx = basis->ctx;
    const size_t count = basis->template->sizes.name_count;
    takt_plan_settings with = *settings;
    void *block;
    const size_t bytes = (count + 1) * (sizeof(takt_size_range) + sizeof(int64_t));
    TAKT_TRY(takt_mem_zero(ctx, 1, bytes, "sizes", &block));
    takt_size_range *ranges = block;
    int64_t *sizes = (int64_t *)(void *)(ranges + count + 1);
    for (size_t i = 0; i < count; i++)
        sizes[i] = i < settings->size_count ? settings->sizes[i] : -1;
    with.basis = basis;
    with.sizes = sizes;
    with.size_count = count;
    takt_status status = find_ranges(graph, ranges, sizes, count);
    for (size_t i = 0; i < count; i++)
        sizes[i] = sizes[i] < 0 ? 1 : sizes[i];
    if (status == TAKT_OK)
        status = takt_template_size(basis->template, sizes, count, &g);
    if (status == TAKT_OK)
        status = takt_plan_build(ctx, g, &with, plan);
    takt_graph_destroy(g);
    if (status == TAKT_OK) {
        takt_plan *p = *plan;
        p->name_count = count;
        p->sizes = takt_arena_copy(&p->arena, sizes, count * sizeof *sizes);
        p->ranges = takt_arena_copy(&p->arena, ranges, count * sizeof *ranges);
        if (p->sizes == NULL || p->ranges == NULL)
            status = TAKT_ERR_MEMORY;
    }
    takt_mem_put(ctx, block, bytes);
    return status;
}

static takt_status make(takt_plan *top)
{
    const size_t cells_of_program = takt_sizes_cells(&top->basis->template->sizes);
    void *block, *cells;
    TAKT_TRY(takt_mem_zero(top->ctx, 1, sizeof(takt_repeat), "a body", &block));
    takt_repeat *b = block;
    top->body = b;
    b->ctx = top->ctx;
    b->top = b->variants.top = top;
    TAKT_TRY(takt_resizer_create(top, &b->resizer));
    b->cell_count = cells_of_program + 2 * top->name_count;
    TAKT_TRY(takt_mem_zero(top->ctx, b->cell_count, sizeof *b->cells, "a body", &cells));
    b->cells = cells;
    b->names = b->cells + cells_of_program;
    b->start = b->names + top->name_count;
    memcpy(b->start, top->sizes, top->name_count * sizeof *b->start);
    return TAKT_OK;
}

takt_status takt_repeat_create(takt_basis *basis, const takt_plan_settings *settings,
                               takt_plan **plan)
{
    *plan = NULL;
    takt_status status = plan_top(basis, settings, plan);
    if (status == TAKT_OK)
        status = make(*plan);
    if (*plan != NULL && status != TAKT_OK) {
        takt_plan_release_internal(*plan);
        *plan = NULL;
    }
    return status;
}

void takt_repeat_destroy(takt_repeat *b)
{
    if (b == NULL)
        return;
    takt_variants_deinit(&b->variants);
    takt_resizer_destroy(b->resizer);
    takt_mem_put(b->ctx, b->cells, b->cell_count * sizeof *b->cells);
    takt_mem_put(b->ctx, b, sizeof *b);
}

void takt_repeat_limit(takt_repeat *b)
{
    b->variants.is_limited = true;
}

const takt_plan *takt_repeat_plan(const takt_repeat *b)
{
    return b->resizer != NULL ? takt_resizer_plan(b->resizer) : b->top;
}

/* ---- an iteration ---- */

/* One iteration after another: the steps after a size point are sized for one session. */
bool takt_repeat_begin(takt_repeat *b, const takt_poll *poll)
{
    while (!takt_lock_try(&b->lock)) {
        if (takt_poll_stops(poll))
            return false;
        takt_os_sleep_until(takt_os_now_ns(NULL) + WAIT_NS);
    }
    return true;
}

void takt_repeat_end(takt_repeat *b)
{
    takt_lock_give(&b->lock);
}

typedef struct iteration {
    takt_repeat *body;
    const takt_execution *x;
    bool needs_replan; /* with its own plan for the sizes so far */
} iteration;

static takt_status fail_bound(const iteration *t, const takt_node *n, size_t name, int64_t found,
                              int64_t most)
{
    takt_error *e = t->x->error;
    takt_error_set(e, TAKT_E_LENGTH, "%s: a size is %" PRId64 ", its bound %" PRId64,
                   takt_node_label(n), found, most);
    (void)takt_error_node(e, takt_node_label(n));
    if (found < 0)
        return takt_error_hint(e, "no size is negative");
    return takt_error_hint(e, "make the plan with a higher one: --bound %s=%" PRId64,
                           takt_dims_name(t->body->top->graph->dims, name), found);
}

/* Element `k` of a length that was found. */
static takt_status put_size(const iteration *t, const takt_node *n, const takt_node *named,
                            uint32_t k, int64_t found)
{
    const takt_repeat *b = t->body;
    int64_t most = n->attr[TAKT_LENGTH_BOUNDS].dims[k];
    size_t name = 0;
    const bool is_name =
        takt_dim_is_name(b->top->graph->dims, named->attr[TAKT_LENGTH_NAMES].dims[k], &name) &&
        name < b->top->name_count && b->top->ranges[name].is_length;
    if (is_name && b->top->ranges[name].high < most)
        most = b->top->ranges[name].high;
    if (found < 0 || (is_name && found > most))
        return fail_bound(t, n, name, found, most);
    const int64_t is = is_name ? b->names[name] : n->attr[TAKT_LENGTH_NAMES].dims[k];
    const takt_id node = (takt_id)(n - t->x->plan->graph->nodes);
    if (is_name ? takt_plan_differs(b->top, b->names, name, found, node) : found != is) {
        takt_error_set(t->x->error, TAKT_E_LENGTH_DIFFERS,
                       "%s: a size is %" PRId64 ", and has to be %" PRId64, takt_node_label(n),
                       found, is);
        return takt_error_node(t->x->error, takt_node_label(n));
    }
    if (is_name)
        b->names[name] = found;
    return TAKT_OK;
}

/* Sets the names after node `behind` to their planned sizes, given the others. */
static void clamp(takt_repeat *b, takt_id behind)
{
    const size_t bytes = b->top->name_count * sizeof *b->names;
    memcpy(b->cells, b->names, bytes);
    takt_plan_clamp(b->top, b->cells, NULL, behind);
    memcpy(b->names, b->cells, bytes);
}

static takt_status point(void *user, size_t step)
{
    iteration *t = user;
    takt_repeat *b = t->body;
    const takt_plan *plan = t->x->plan;
    const takt_step *at = &plan->steps[step];
    const takt_id node = at->nodes[0];
    const int64_t *found = takt_point_found(at, t->x->base);
    bool done = false;
    memcpy(b->names, plan->sizes, b->top->name_count * sizeof *b->names);
    for (int64_t k = 0; k < at->out[0].dim[0]; k++)
        TAKT_TRY(put_size(t, &plan->graph->nodes[node],
                          &b->top->basis->template->graph->nodes[node], (uint32_t)k, found[k]));
    clamp(b, node + 1);
    if (b->resizer != NULL && plan == takt_repeat_plan(b)) {
        takt_error before;
        takt_error_copy(b->ctx, &before);
        const takt_status status = takt_resizer_set(b->resizer, b->names, &done);
        if (status != TAKT_OK) {
            takt_error_copy(b->ctx, t->x->error);
            takt_error_put_back(b->ctx, &before);
        }
        b->is_off = !done;
        TAKT_TRY(status);
    }
    t->needs_replan = !done;
    return done ? TAKT_OK : TAKT_ERR_STATE;
}

void takt_repeat_bind(const takt_plan *plan, unsigned char *arena, const void *const *in,
                      void *const *out, void **base)
{
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        switch (b->place) {
        case TAKT_PLACE_ARENA: base[i] = arena + b->offset; break;
        case TAKT_PLACE_CONSTANT:
            base[i] = plan->constants[b->index].storage != NULL
                          ? takt_tensor_data(&plan->constants[b->index])
                          : NULL;
            break;
        case TAKT_PLACE_INPUT: base[i] = (void *)(uintptr_t)in[b->index]; break; /* only read */
        case TAKT_PLACE_OUTPUT: base[i] = out[b->index]; break;
        case TAKT_PLACE_STATE: /* subgraphs have none */
        case TAKT_PLACE_NEXT:
        case TAKT_PLACE_FORM: base[i] = NULL; break;
        }
    }
}

/* The resizer's plan at the initial sizes of an iteration, if these are possible. */
static takt_status recover(takt_repeat *b)
{
    bool done = false;
    if (!b->is_off)
        return TAKT_OK;
    if (!b->is_other)
        TAKT_TRY(takt_resizer_set(b->resizer, b->start, &done));
    b->is_off = !done;
    b->is_other = !done;
    return TAKT_OK;
}

static bool is_start(const takt_repeat *b, const int64_t *sizes)
{
    return memcmp(b->start, sizes, b->top->name_count * sizeof *sizes) == 0;
}

/* Runs `v` from now on, in the arena of the iteration if that is large enough. */
static takt_status take(takt_repeat *b, const takt_variant *v, takt_execution *x,
                        unsigned char *arena)
{
    TAKT_TRY(takt_variants_arena(&b->variants, v, arena, &x->arena));
    x->plan = v->plan;
    x->base = v->base;
    b->last = v;
    return TAKT_OK;
}

/* The plan that an iteration begins with: that of the last sizes, which often recur. */
static takt_status first(takt_repeat *b, takt_execution *x, void **base)
{
    const takt_variant *v = b->last;
    TAKT_TRY(recover(b));
    x->plan = takt_repeat_plan(b);
    x->base = base;
    if (b->resizer != NULL && !b->is_off)
        return TAKT_OK;
    if (v == NULL || v->plan == NULL) {
        if (b->resizer == NULL && is_start(b, b->top->sizes))
            return TAKT_OK;
        TAKT_TRY(takt_variants_get(&b->variants, b->start, &v));
    }
    return take(b, v, x, x->arena);
}

takt_status takt_repeat_resize(takt_repeat *b, const int64_t *sizes, size_t count,
                               const takt_graph **graph, bool *done)
{
    const takt_variant *v;
    const size_t names = b->top->name_count;
    memcpy(b->names, sizes, (count < names ? count : names) * sizeof *sizes);
    for (size_t i = count; i < names; i++)
        b->names[i] = b->top->sizes[i];
    clamp(b, 0);
    *done = true;
    *graph = takt_repeat_plan(b)->graph;
    if (!is_start(b, b->names)) {
        memcpy(b->start, b->names, names * sizeof *sizes);
        b->last = NULL;
        b->is_off = b->resizer != NULL;
        b->is_other = false;
    }
    if (b->resizer != NULL ? !b->is_off : is_start(b, b->top->sizes))
        return TAKT_OK;
    TAKT_TRY(recover(b));
    if (b->resizer != NULL && !b->is_off)
        return TAKT_OK;
    TAKT_TRY(takt_variants_get(&b->variants, b->start, &v));
    *graph = v->plan->graph;
    return TAKT_OK;
}

takt_status takt_repeat_iterate(takt_repeat *b, takt_execution *x, void **base,
                                const void *const *in, void *const *out)
{
    iteration t = {.body = b, .x = x};
    unsigned char *arena = x->arena;
    takt_status status = first(b, x, base);
    if (status != TAKT_OK)
        takt_error_copy(b->ctx, x->error);
    x->point = point;
    x->point_user = &t;
    while (status == TAKT_OK) {
        t.needs_replan = false;
        takt_repeat_bind(x->plan, x->arena, in, out, (void **)(uintptr_t)x->base);
        status = takt_execute(x);
        if (status == TAKT_OK || !t.needs_replan)
            break;
        const takt_variant *v;
        status = takt_variants_get(&b->variants, b->names, &v);
        if (status == TAKT_OK)
            status = take(b, v, x, arena);
        if (status != TAKT_OK)
            takt_error_copy(b->ctx, x->error);
    }
    x->arena = arena;
    return status;
}
