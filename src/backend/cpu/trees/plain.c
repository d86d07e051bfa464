/* plain.c - tree_ensemble by its definition: tables are read and checked at every run. */
#include "backend/cpu/trees/plain.h"

#include "base/size.h"
#include "op/util/trees.h"

typedef struct facts {
    takt_trees trees; /* without its tables */
    size_t rows;
    size_t in[TAKT_TREES_INPUTS]; /* into step->in; SIZE_MAX: absent */
    size_t at[TAKT_TREES_INPUTS]; /* of the widened tables in the shared scratch */
    size_t set_at, start_at, order_at;
} facts;

/* The tables as the scratch has them. Its first bytes say whether they hold. */
static takt_trees open_trees(const facts *f, char *scratch, takt_trees_index *index)
{
    takt_trees t = f->trees;
    t.branch = (const int64_t(*)[5])(void *)(scratch + f->at[TAKT_TREES_BRANCH]);
    t.split = (const double *)(void *)(scratch + f->at[TAKT_TREES_SPLIT]);
    t.root = (const int64_t *)(void *)(scratch + f->at[TAKT_TREES_ROOT]);
    t.give = (const int64_t(*)[2])(void *)(scratch + f->at[TAKT_TREES_GIVE]);
    t.weight = (const double *)(void *)(scratch + f->at[TAKT_TREES_WEIGHT]);
    t.member = (const double *)(void *)(scratch + f->at[TAKT_TREES_MEMBER]);
    *index = (takt_trees_index){.set = (size_t *)(void *)(scratch + f->set_at),
                                .start = (size_t *)(void *)(scratch + f->start_at),
                                .order = (size_t *)(void *)(scratch + f->order_at)};
    return t;
}

static size_t count_of(const takt_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dim[d];
    return count;
}

static void widen(const takt_view *v, const void *from, void *to)
{
    const size_t count = count_of(v);
    for (size_t i = 0; i < count; i++)
        if (takt_dtype_is_float(v->dtype))
            ((double *)to)[i] = takt_dtype_get_f(v->dtype, from, i);
        else
            ((int64_t *)to)[i] = takt_dtype_get_i(v->dtype, from, i);
}

static void before(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    char *scratch = t->scratch;
    takt_trees_index index;
    takt_trees_bad bad;
    for (int k = TAKT_TREES_BRANCH; k < TAKT_TREES_INPUTS; k++)
        if (f->in[k] != SIZE_MAX) {
            const takt_view *v = &s->in[f->in[k]];
            widen(v, takt_view_data(t, v), scratch + f->at[k]);
        }
    const takt_trees trees = open_trees(f, scratch, &index);
    const bool is_bad = takt_trees_find_bad(&trees, &bad);
    *(bool *)(void *)scratch = !is_bad;
    if (!is_bad) {
        takt_trees_sets(&trees, index.set);
        takt_trees_sort(&trees, index.start, index.order);
    } else if (t->fault != NULL && f->rows > 0) {
        takt_fault fault = {.index = TAKT_FAULT_NONE};
        takt_fault_note(&fault, bad.element, bad.value);
        takt_fault_merge(t->fault, &fault);
    }
}

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    takt_trees_index index;
    const takt_trees trees = open_trees(f, t->scratch, &index);
    const bool is_good = *(const bool *)t->scratch;
    const takt_view *x = &s->in[f->in[TAKT_TREES_X]], *y = &s->out[0];
    const void *from = takt_view_data(t, x);
    void *to = takt_view_data(t, y);
    double *row = t->scratch_own, *sum = row + trees.features;
    bool *has = (bool *)(void *)(sum + trees.targets);
    size_t first, end;
    takt_cpu_share(f->rows, 1, t->index, s->task_count, &first, &end);
    for (size_t r = first; r < end && (r % 16 != 0 || !takt_poll_stops(t->poll)); r++) {
        for (size_t k = 0; k < trees.features; k++)
            row[k] = takt_dtype_get_f(x->dtype, from, r * trees.features + k);
        if (is_good)
            takt_trees_row(&trees, &index, row, sum, has);
        for (size_t k = 0; k < trees.targets; k++)
            takt_dtype_put_f(y->dtype, to, r * trees.targets + k, is_good ? sum[k] : 0);
    }
}

/* `count` words of 8 bytes at the end of the shared scratch. */
static bool reserve(takt_step *s, size_t count, size_t *at)
{
    size_t bytes;
    *at = s->scratch_bytes;
    return takt_size_mul(count, 8, &bytes) && takt_size_add(*at, bytes, &s->scratch_bytes);
}

static takt_status reserve_all(takt_planner *p, facts *f)
{
    takt_step *s = p->step;
    const takt_trees *t = &f->trees;
    size_t unused, own;
    bool fits = reserve(s, 1, &unused);
    for (int k = TAKT_TREES_BRANCH; k < TAKT_TREES_INPUTS; k++) {
        f->at[k] = s->scratch_bytes;
        if (f->in[k] != SIZE_MAX)
            fits = fits && reserve(s, count_of(&s->in[f->in[k]]), &f->at[k]);
    }
    fits = fits && reserve(s, t->branches, &f->set_at) && reserve(s, t->leaves + 1, &f->start_at) &&
           reserve(s, t->gives, &f->order_at);
    fits = fits && takt_size_mul(2 * t->targets + t->features + 8, 8, &own);
    if (!fits)
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "tree_ensemble: tables are too large");
    s->scratch_each = own;
    return TAKT_OK;
}

takt_status takt_trees_plain(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const takt_type *type[TAKT_TREES_INPUTS] = {0};
    facts *f = takt_planner_get(p, sizeof *f);
    size_t index;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t k = 0; k < TAKT_TREES_INPUTS; k++)
        f->in[k] = SIZE_MAX;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE) {
            type[k] = takt_type_of(p->graph, n->in[k]);
            TAKT_TRY(takt_planner_input(p, n->in[k], &f->in[k]));
        }
    TAKT_TRY(takt_planner_output(p, id, &index));
    f->trees = takt_trees_of(n, type);
    f->rows = (size_t)type[TAKT_TREES_X]->dim[0];
    TAKT_TRY(reserve_all(p, f));
    p->step->data = f;
    p->step->before = before;
    p->step->run = run;
    p->step->can_fault = true;
    p->step->fault_id = TAKT_E_INDEX;
    p->step->note = "trees are not known at plan time, or do not end: walked one by one";
    const double steps = (double)f->rows * (double)f->trees.trees * (double)f->trees.depth;
    p->step->task_count = takt_cpu_tasks(p, 100 * steps, 0, f->rows);
    return TAKT_OK;
}
