/* trees.c - ensembles of trees: blocks of rows go through a few trees at a time.
 *
 * The rows of a block become keys, which stay in cache like the nodes of a tree. Weights are joined
 * in the order of the trees, so nothing depends on how rows and trees are shared out.
 */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/pace.h"
#include "backend/cpu/trees/join.h"
#include "backend/cpu/trees/plain.h"

enum { ROWS_MOST = 256, TREES_MOST = 32 }; /* at a time */
enum { KEY_BYTES = 1 << 16, SUM_BYTES = 1 << 16, SHARED_BYTES = 1 << 22 };
enum { STEP_COST = 20, KEY_COST = 8 }; /* operations for a step through a tree, and for a key */

typedef struct facts {
    takt_trees_form form;
    takt_trees trees; /* without its tables */
    size_t rows, block;
    size_t x, packed;
    takt_trees_fn *walk;
    size_t leaf_at; /* in the scratch of rows, behind the keys */
    size_t sum_at, has_at;
} facts;

static const char *accepts(const takt_graph *g, takt_id node)
{
    return g->nodes[node].op == &takt_op_tree_ensemble ? NULL : "";
}

/* ---- running ---- */

/* What a task works on. */
typedef struct work {
    const facts *f;
    const takt_step *s;
    const takt_task *t;
    takt_trees_packed p;
} work;

static work open_work(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    return (work){f, s, t, takt_trees_place(&f->form, takt_view_data(t, &s->in[f->packed]))};
}

static takt_trees_job job_of(const work *w, const int32_t *keys)
{
    return (takt_trees_job){.tree = w->p.tree,
                            .pairs = w->p.pairs,
                            .wide = w->p.wide,
                            .leaf_of = w->p.leaf_of,
                            .keys = keys,
                            .stride = w->f->form.columns};
}

/* False: the task must end. */
static bool put_keys(const work *w, size_t row, size_t rows, int32_t *keys)
{
    const facts *f = w->f;
    const takt_view *x = &w->s->in[f->x];
    const char *from = takt_view_data(w->t, x);
    const size_t stride = f->trees.features * (size_t)takt_dtype_bits(x->dtype) / 8;
    takt_pace pace = takt_pace_of(w->t);
    for (size_t r = 0; r < rows; r++) {
        takt_trees_keys(&f->form, &w->p, x->dtype, from + (row + r) * stride,
                        keys + r * f->form.columns);
        if (takt_pace_stops(&pace, KEY_COST * f->form.columns))
            return false;
    }
    return true;
}

/* Sums of `rows` rows in this worker's scratch, empty. */
static takt_trees_sums open_sums(const work *w, size_t rows)
{
    char *scratch = w->t->scratch_own;
    const takt_trees_sums s = {.form = &w->f->form,
                               .packed = &w->p,
                               .aggregate = w->f->trees.aggregate,
                               .targets = w->f->trees.targets,
                               .rows = rows,
                               .sum = (double *)(void *)(scratch + w->f->sum_at),
                               .has = (bool *)(void *)(scratch + w->f->has_at)};
    takt_trees_open(&s);
    return s;
}

static void close_sums(const work *w, const takt_trees_sums *sum, size_t row)
{
    const takt_view *y = &w->s->out[0];
    takt_trees_close(sum, w->f->trees.none, y->dtype, takt_view_data(w->t, y),
                     row * w->f->trees.targets);
}

static void run_rows(const takt_step *s, const takt_task *t)
{
    const work w = open_work(s, t);
    const facts *f = w.f;
    int32_t *keys = t->scratch_own;
    size_t first, end;
    takt_cpu_share(f->rows, 8, t->index, s->task_count, &first, &end);
    for (size_t row = first; row < end; row += f->block) {
        const size_t rows = end - row < f->block ? end - row : f->block;
        const takt_trees_sums sum = open_sums(&w, rows);
        takt_trees_job j = job_of(&w, keys);
        if (!put_keys(&w, row, rows, keys))
            return;
        j.rows = rows;
        j.leaf = (uint32_t *)(void *)((char *)t->scratch_own + f->leaf_at);
        for (size_t tree = 0; tree < f->form.trees; tree += TREES_MOST) {
            if (takt_poll_stops(t->poll))
                return;
            const size_t left = f->form.trees - tree;
            j.tree = w.p.tree + tree;
            j.trees = left < TREES_MOST ? left : TREES_MOST;
            f->walk(&j);
            takt_trees_add(&sum, &(takt_trees_found){j.leaf, rows, j.trees}, tree == 0);
        }
        close_sums(&w, &sum, row);
    }
}

/* By trees: keys and leaves of all rows are in the shared scratch. */
static void before_trees(const takt_step *s, const takt_task *t)
{
    const work w = open_work(s, t);
    (void)put_keys(&w, 0, w.f->rows, t->scratch);
}

static void walk_trees(const takt_step *s, const takt_task *t)
{
    const work w = open_work(s, t);
    const facts *f = w.f;
    takt_trees_job j = job_of(&w, t->scratch);
    size_t first, end;
    takt_cpu_share(f->form.trees, 8, t->index, s->prepare_count, &first, &end);
    j.rows = f->rows;
    for (; first < end && !takt_poll_stops(t->poll); first += j.trees) {
        j.trees = end - first < TREES_MOST ? end - first : TREES_MOST;
        j.tree = w.p.tree + first;
        j.leaf = (uint32_t *)(void *)((char *)t->scratch + f->leaf_at) + first * f->rows;
        f->walk(&j);
    }
}

static void join_rows(const takt_step *s, const takt_task *t)
{
    const work w = open_work(s, t);
    const facts *f = w.f;
    const uint32_t *leaf = (const uint32_t *)(void *)((char *)t->scratch + f->leaf_at);
    size_t first, end;
    takt_cpu_share(f->rows, 8, t->index, s->task_count, &first, &end);
    for (size_t row = first; row < end && !takt_poll_stops(t->poll); row += f->block) {
        const size_t rows = end - row < f->block ? end - row : f->block;
        const takt_trees_sums sum = open_sums(&w, rows);
        takt_trees_add(&sum, &(takt_trees_found){leaf + row, f->rows, f->form.trees}, true);
        close_sums(&w, &sum, row);
    }
}

/* ---- planning ---- */

/* Bytes of keys and leaves for `rows` rows and `trees` trees at a time. */
static size_t places_for(facts *f, size_t rows, size_t trees)
{
    f->leaf_at = takt_cpu_aligned(rows * f->form.columns * sizeof(int32_t));
    return f->leaf_at + takt_cpu_aligned(rows * trees * sizeof(uint32_t));
}

/* Bytes of sums for a block, from `at` on; where they end. */
static size_t sums_for(facts *f, size_t at)
{
    const size_t cells = f->block * f->trees.targets;
    f->sum_at = at;
    f->has_at = f->sum_at + takt_cpu_aligned(cells * sizeof(double));
    return f->has_at + takt_cpu_aligned(cells);
}

static size_t block_of(const facts *f)
{
    const size_t columns = f->form.columns > 0 ? f->form.columns : 1;
    size_t rows = ROWS_MOST;
    if (rows > KEY_BYTES / sizeof(int32_t) / columns)
        rows = KEY_BYTES / sizeof(int32_t) / columns;
    if (rows > SUM_BYTES / sizeof(double) / f->trees.targets)
        rows = SUM_BYTES / sizeof(double) / f->trees.targets;
    return rows < 8 ? 8 : rows;
}

/* If there is less than a block of rows per thread, threads divide the trees: each loads only its
 * own into cache. */
static bool shares_trees(const takt_planner *p, const facts *f)
{
    const size_t threads = (size_t)(p->settings->threads < 1 ? 1 : p->settings->threads);
    return threads > 1 && f->form.trees >= 8 * threads && f->rows < f->block * threads &&
           f->rows * (f->form.trees + f->form.columns) * sizeof(uint32_t) <= SHARED_BYTES;
}

static void share_out(takt_planner *p, facts *f)
{
    const double walks = STEP_COST * f->form.steps * (double)f->rows;
    const double joins = (double)f->rows * (double)f->form.trees * (double)f->trees.targets;
    takt_step *s = p->step;
    f->block = block_of(f);
    const size_t tasks = takt_cpu_tasks(p, walks, 0, (f->form.trees + 7) / 8);
    if (tasks > 1 && shares_trees(p, f)) {
        s->prepare_count = tasks;
        s->task_count = takt_cpu_tasks(p, STEP_COST * joins, 0, (f->rows + 7) / 8);
        s->scratch_bytes = places_for(f, f->rows, f->form.trees);
        s->scratch_each = sums_for(f, 0);
        s->before = before_trees;
        s->prepare = walk_trees;
        s->run = join_rows;
        return;
    }
    s->task_count = takt_cpu_tasks(p, walks, 0, (f->rows + 7) / 8);
    s->scratch_each = sums_for(f, places_for(f, f->block, TREES_MOST));
    s->run = run_rows;
}

/* Elements of a constant input as doubles or 64-bit integers; NULL: no memory. */
static void *widened(takt_arena *arena, const takt_tensor *c)
{
    const size_t count = takt_tensor_count(c);
    const void *data = takt_tensor_data(c);
    const bool is_float = takt_dtype_is_float(c->type.dtype);
    double *f = takt_arena_array(arena, count, sizeof *f);
    int64_t *i = (int64_t *)(void *)f;
    for (size_t k = 0; f != NULL && k < count; k++)
        if (is_float)
            f[k] = takt_dtype_get_f(c->type.dtype, data, k);
        else
            i[k] = takt_dtype_get_i(c->type.dtype, data, k);
    return f;
}

/* False: some table is not a constant. */
static bool open_tables(takt_planner *p, const takt_node *n, takt_arena *arena, takt_trees *t)
{
    const void *table[TAKT_TREES_INPUTS] = {0};
    const takt_type *type[TAKT_TREES_INPUTS] = {0};
    type[TAKT_TREES_X] = takt_type_of(p->graph, n->in[TAKT_TREES_X]);
    for (uint32_t k = TAKT_TREES_BRANCH; k < n->in_count; k++) {
        if (n->in[k] == TAKT_NONE)
            continue;
        const takt_node *c = &p->graph->nodes[n->in[k]];
        table[k] = c->op == &takt_op_constant ? widened(arena, c->attr[0].tensor) : NULL;
        if (table[k] == NULL)
            return false;
        type[k] = c->type;
    }
    *t = takt_trees_of(n, type);
    t->branch = (const int64_t(*)[5])table[TAKT_TREES_BRANCH];
    t->split = table[TAKT_TREES_SPLIT];
    t->root = table[TAKT_TREES_ROOT];
    t->give = (const int64_t(*)[2])table[TAKT_TREES_GIVE];
    t->weight = table[TAKT_TREES_WEIGHT];
    t->member = table[TAKT_TREES_MEMBER];
    return true;
}

typedef struct block {
    const void *at;
    size_t bytes;
} block;

static takt_status fill(void *user, const void *from, void *to)
{
    const block *b = user;
    (void)from;
    memcpy(to, b->at, b->bytes);
    return TAKT_OK;
}

static takt_status add_packed(takt_planner *p, facts *f, const takt_node *n, const void *packed)
{
    const char *format = takt_planner_text(
        p, "trees %u %u %u %u %u, %zu targets, %zu features", n->in[TAKT_TREES_SPLIT],
        n->in[TAKT_TREES_ROOT], n->in[TAKT_TREES_GIVE], n->in[TAKT_TREES_WEIGHT],
        n->in_count > TAKT_TREES_MEMBER ? n->in[TAKT_TREES_MEMBER] : TAKT_NONE, f->trees.targets,
        f->trees.features);
    block b = {packed, f->form.bytes};
    if (format == NULL)
        return TAKT_ERR_MEMORY;
    return takt_planner_packed(p, n->in[TAKT_TREES_BRANCH], format, f->form.bytes, fill, &b,
                               &f->packed);
}

static takt_status compile_in(takt_planner *p, takt_arena *arena)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    const bool is_f64 = n->type[0].dtype == TAKT_F64;
    facts *f = takt_planner_get(p, sizeof *f);
    takt_trees t;
    takt_trees_bad bad;
    void *packed = NULL;
    size_t index;
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    if (open_tables(p, n, arena, &t) && !takt_trees_find_bad(&t, &bad))
        TAKT_TRY(takt_trees_pack(arena, &t, is_f64, &f->form, &packed));
    if (packed == NULL)
        return takt_trees_plain(p);
    f->trees = t;
    f->trees.branch = NULL; /* freed with the arena */
    f->trees.split = f->trees.weight = f->trees.member = NULL;
    f->trees.root = NULL;
    f->trees.give = NULL;
    f->rows = (size_t)n->type[0].dim[0];
    f->walk = takt_kernel_as_trees(takt_planner_kernel(p, "trees"));
    TAKT_TRY(takt_planner_input(p, n->in[TAKT_TREES_X], &f->x));
    TAKT_TRY(add_packed(p, f, n, packed));
    TAKT_TRY(takt_planner_output(p, id, &index));
    p->step->data = f;
    share_out(p, f);
    return TAKT_OK;
}

static takt_status compile(takt_planner *p)
{
    takt_arena arena;
    takt_arena_init(&arena, p->ctx);
    takt_planner_rigid(p);
    const takt_status status = compile_in(p, &arena);
    takt_arena_deinit(&arena);
    return status;
}

const takt_cpu_kind takt_cpu_trees = {.name = "trees", .accepts = accepts, .compile = compile};
