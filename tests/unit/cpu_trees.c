/* cpu_trees.c - ensembles of trees on the cpu backend: the interpreter's bits, in every form.
 *
 * Forests are random: trees of pairs, shared branches, every mode, sets, NaN in splits, rows and
 * tracks, leaves with any weights; tables that lead in circles or out of range as well.
 */
#include "backend/agree.h"
#include "op/util/trees.h"

enum { BRANCHES = 400, LEAVES = 420, GIVES = 3 * LEAVES, MEMBERS = 300, TREES = 40 };

typedef struct forest {
    const char *what;
    takt_dtype dtype;
    size_t rows, features, targets, trees, levels;
    int modes;      /* of the first ones, this many */
    bool is_dense;  /* every leaf has all targets */
    bool is_shared; /* branches that are reached from several places */
    bool has_holes; /* NaN and infinities everywhere */
    bool loops;     /* a branch leads back */
    bool is_bad;    /* a number is out of range */
    int aggregate;
    size_t branches, leaves, gives, members, depth;
    double branch[5 * BRANCHES], split[BRANCHES], root[TREES], give[2 * GIVES], weight[GIVES];
    double member[MEMBERS];
} forest;

static double value(takt_random *r, const forest *f)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-40};
    if (f->has_holes && takt_random_below(r, 8) == 0)
        return odd[takt_random_below(r, 6)];
    return (double)takt_random_below(r, 9) / 2 - 2; /* often equal */
}

/* Fills the position reserved at `at` with a branch or a leaf. */
static void grow(takt_random *r, forest *f, double *at, size_t level, size_t *todo, size_t *count)
{
    const bool is_leaf =
        level >= f->levels || f->branches + *count >= BRANCHES / 2 || takt_random_below(r, 6) == 0;
    if (f->is_shared && f->leaves > 2 && takt_random_below(r, 5) == 0) {
        *at = -1 - (double)takt_random_below(r, f->leaves); /* some leaf, again */
    } else if (is_leaf) {
        *at = -1 - (double)f->leaves++;
    } else {
        *at = (double)f->branches;
        double *b = f->branch + 5 * f->branches;
        b[0] = (double)takt_random_below(r, f->features);
        b[1] = (double)takt_random_below(r, (size_t)f->modes);
        b[2] = takt_random_below(r, 3) == 0;
        f->split[f->branches++] = value(r, f);
        todo[(*count)++] = (size_t)(b + 3 - f->branch);
        todo[(*count)++] = (size_t)(b + 4 - f->branch);
    }
}

static void plant(takt_random *r, forest *f)
{
    size_t todo[2 * BRANCHES], level[5 * BRANCHES] = {0}, count;
    for (size_t t = 0; t < f->trees; t++) {
        count = 0;
        grow(r, f, &f->root[t], 0, todo, &count);
        while (count > 0) {
            const size_t at = todo[--count], l = level[at] + 1, had = count;
            grow(r, f, &f->branch[at], l, todo, &count);
            for (size_t i = had; i < count; i++)
                level[todo[i]] = l;
        }
    }
    f->leaves += f->leaves == 0;
    for (size_t i = 0; i < f->branches; i++)
        for (size_t k = 3; k < 5; k++)
            if (f->branch[5 * i + k] < 0)
                f->branch[5 * i + k] = (double)f->branches - 1 - f->branch[5 * i + k];
    for (size_t t = 0; t < f->trees; t++)
        if (f->root[t] < 0)
            f->root[t] = (double)f->branches - 1 - f->root[t];
    for (size_t i = 0; i < f->branches && f->is_shared; i++)
        if (takt_random_below(r, 4) == 0) /* further down: no circle */
            f->branch[5 * i + 3] = (double)(i + 1 + takt_random_below(r, f->branches - i));
    f->depth = f->is_shared ? f->branches : f->levels;
}

static void weigh(takt_random *r, forest *f)
{
    f->gives = f->is_dense ? f->leaves * f->targets : f->leaves + f->leaves / 2;
    f->gives = f->gives < GIVES ? f->gives : GIVES;
    for (size_t i = 0; i < f->gives; i++) {
        f->give[2 * i] = (double)(f->is_dense ? i / f->targets : takt_random_below(r, f->leaves));
        f->give[2 * i + 1] =
            (double)(f->is_dense ? i % f->targets : takt_random_below(r, f->targets));
        f->weight[i] = takt_random_between(r, -1, 1);
    }
    for (f->members = 0; f->modes > TAKT_TREES_IS_MEMBER && f->members < MEMBERS; f->members++)
        f->member[f->members] = takt_random_below(r, 4) == 0 ? NAN : value(r, f);
    if (f->loops)
        f->branch[4] = 0;
    if (f->is_bad)
        f->branch[5 * (f->branches / 2) + 3] = 1e6;
}

static takt_id table(takt_graph *g, takt_dtype dtype, const double *v, size_t rows, int64_t columns)
{
    takt_type type = {.dtype = dtype, .rank = columns > 1 ? 2 : 1};
    takt_tensor t;
    type.dim[0] = (takt_dim)rows;
    type.dim[1] = columns;
    if (!EXPECT_OK(NULL, takt_tensor_create(g->ctx, &type, &t)))
        return TAKT_NONE;
    for (size_t i = 0; i < takt_tensor_count(&t); i++)
        if (takt_dtype_is_float(dtype))
            takt_dtype_put_f(dtype, takt_tensor_data(&t), i, v[i]);
        else
            takt_dtype_put_i(dtype, takt_tensor_data(&t), i, (int64_t)v[i]);
    const takt_id id = takt_graph_constant(g, &t);
    takt_tensor_release(&t);
    return id;
}

static void build(takt_graph *g, const forest *f)
{
    takt_type x = {.dtype = f->dtype, .rank = 2};
    x.dim[0] = (takt_dim)f->rows;
    x.dim[1] = (takt_dim)f->features;
    const takt_id in[] = {takt_graph_input(g, "x", &x),
                          table(g, TAKT_I32, f->branch, f->branches, 5),
                          table(g, f->dtype, f->split, f->branches, 1),
                          table(g, TAKT_I64, f->root, f->trees, 1),
                          table(g, TAKT_I32, f->give, f->gives, 2),
                          table(g, f->dtype, f->weight, f->gives, 1),
                          table(g, f->dtype, f->member, f->members, 1)};
    const takt_named_attr attrs[] = {{"targets", takt_attr_i64((int64_t)f->targets)},
                                     {"leaves", takt_attr_i64((int64_t)f->leaves)},
                                     {"depth", takt_attr_i64((int64_t)f->depth)},
                                     {"aggregate", takt_attr_i64(f->aggregate)},
                                     {"none", takt_attr_f64(-7)}};
    takt_graph_output(g, "y", takt_graph_call(g, &takt_op_tree_ensemble, 7, in, 5, attrs));
}

/* The kernel's name, which says how it is done. */
static void look(const agree_subject *a, const forest *f)
{
    takt_plan *plan = NULL;
    if (!EXPECT_OK(a->ctx, takt_plan_create(&a->model, NULL, &plan)))
        return;
    const takt_step *s = &plan->steps[0];
    const bool is_packed = s->kernel != NULL && strncmp(s->kernel, "trees/", 6) == 0;
    EXPECT(is_packed == (!f->loops && !f->is_bad), "%s: step %s is done by %s", a->what, s->kind,
           s->kernel != NULL ? s->kernel : "nothing");
    takt_plan_destroy(plan);
}

static void compare(const agree_subject *a, const forest *f)
{
    static const takt_plan_options plans[] = {
        {.threads = 1}, {.threads = 1, .isa = "scalar"}, {.threads = 2}, {.threads = 5}};
    const takt_plan_options reference = {.threads = 1, .backend = "ref"};
    agree_subject free = *a;
    agree_result want, got;
    free.may_fall_back = true;
    if (!agree_try(&free, &reference, false, &want))
        return;
    EXPECT((want.status[0] != TAKT_OK) == f->is_bad, "%s", a->what);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        if (agree_try(a, &plans[i], false, &got))
            agree_same(a, plans[i].isa != NULL ? "scalar" : "cpu", &want, &got);
        agree_release(a, &got);
    }
    agree_release(a, &want);
}

static void check(forest *f, uint64_t seed)
{
    takt_random r = {seed};
    takt_ctx *ctx;
    takt_graph *g = NULL;
    takt_array x = {0};
    f->branches = f->leaves = 0;
    plant(&r, f);
    weigh(&r, f);
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    if (EXPECT_OK(ctx, takt_graph_create(ctx, NULL, &g))) {
        build(g, f);
        const takt_type type = *takt_type_of(g, 0);
        if (EXPECT_OK(ctx, g->status) && EXPECT_OK(ctx, takt_array_create(ctx, &type, &x))) {
            for (size_t i = 0; i < x.count; i++)
                x.f[i] = value(&r, f);
            agree_subject a = {.what = f->what, .ctx = ctx, .in = &x};
            a.model = (takt_model){.ctx = ctx, .graph = g};
            look(&a, f);
            compare(&a, f);
            if (seed % 8 == 0)
                agree_all(&a);
        }
    }
    takt_array_release(ctx, &x);
    takt_graph_destroy(g);
    takt_ctx_destroy(ctx);
}

static void forests(void)
{
    static const takt_dtype dtypes[] = {TAKT_F32, TAKT_F64, TAKT_F16, TAKT_BF16};
    static forest f;
    for (uint64_t i = 0; i < 96; i++) {
        char what[64];
        snprintf(what, sizeof what, "forest %llu", (unsigned long long)i);
        f = (forest){.what = what,
                     .dtype = dtypes[i % 4],
                     .rows = 1 + i * 7 % 41,
                     .features = 1 + i % 5,
                     .targets = 1 + i / 4 % 3,
                     .trees = 1 + i * 5 % TREES,
                     .levels = i % 11,
                     .modes = i / 2 % 3 == 0   ? 1
                              : i / 2 % 3 == 1 ? TAKT_TREES_EQ
                                               : TAKT_TREES_MODES,
                     .is_dense = i / 3 % 2 == 0,
                     .is_shared = i % 7 == 3,
                     .has_holes = i % 3 != 0,
                     .aggregate = (int)(i / 5 % 4)};
        check(&f, i + 1);
    }
}

/* Enough work that threads share it: few rows, so trees are shared out, and many. */
static void shared_out(void)
{
    static forest f;
    for (size_t rows = 1; rows <= 3000; rows *= 14) {
        f = (forest){.what = "large forest",
                     .dtype = TAKT_F32,
                     .rows = rows,
                     .features = 4,
                     .targets = 2,
                     .trees = TREES,
                     .levels = 9,
                     .modes = TAKT_TREES_EQ,
                     .is_dense = true,
                     .aggregate = TAKT_TREES_SUM};
        check(&f, rows);
    }
}

static void wrong_tables(void)
{
    static forest f;
    for (int i = 0; i < 4; i++) {
        f = (forest){.what = i % 2 == 0 ? "circle" : "lost",
                     .dtype = i < 2 ? TAKT_F32 : TAKT_F64,
                     .rows = 5,
                     .features = 3,
                     .targets = 2,
                     .trees = 7,
                     .levels = 6,
                     .modes = TAKT_TREES_EQ,
                     .loops = i % 2 == 0,
                     .is_bad = i % 2 == 1,
                     .aggregate = TAKT_TREES_SUM};
        check(&f, 40 + (uint64_t)i);
    }
}

TEST_MAIN(forests, shared_out, wrong_tables)
