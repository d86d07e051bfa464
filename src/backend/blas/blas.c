/* blas.c - matrix products through a CBLAS that is found at run time.
 *
 * Everything else runs on cpu, and every step says why. Results are BLAS's own: its order of
 * arithmetic is not Takt's, so the promise of equal bits does not cover this backend.
 */
#include <string.h>

#include "backend/cpu/matrix.h"
#include "base/mem.h"
#include "op/ops.h"
#include "os/library.h"
#include "plan/backend.h"

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void dgemm_fn(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                      int lda, const double *b, int ldb, double beta, double *c, int ldc);
typedef void threads_fn(int count);

typedef struct blas {
    takt_library *library;
    const char *name;
    sgemm_fn *sgemm;
    dgemm_fn *dgemm;
    threads_fn *set_threads; /* or NULL */
} blas;

typedef struct candidate {
    const char *name, *file, *set_threads;
} candidate;

static const candidate candidates[] = {
    {"openblas", "libopenblas.so.0", "openblas_set_num_threads"},
    {"blis", "libblis.so.4", "bli_thread_set_num_threads"},
    {"mkl", "libmkl_rt.so.2", "MKL_Set_Num_Threads"},
    {"cblas", "libblas.so.3", NULL},
};

enum { CANDIDATES = sizeof candidates / sizeof *candidates };

static bool load(blas *b, const char *name, const char *file, const char *set_threads)
{
    b->library = takt_library_open(file);
    if (b->library == NULL)
        return false;
    b->name = name;
    b->sgemm = (sgemm_fn *)takt_library_find(b->library, "cblas_sgemm");
    b->dgemm = (dgemm_fn *)takt_library_find(b->library, "cblas_dgemm");
    for (size_t i = 0; i < CANDIDATES && b->set_threads == NULL; i++)
        if (candidates[i].set_threads != NULL &&
            (set_threads == NULL || set_threads == candidates[i].set_threads))
            b->set_threads = (threads_fn *)takt_library_find(b->library, candidates[i].set_threads);
    if (b->sgemm != NULL && b->dgemm != NULL)
        return true;
    takt_library_close(b->library);
    b->library = NULL;
    return false;
}

/* `which`: a name of the list, a path, or NULL for the first that is there. */
static bool find(blas *b, const char *which)
{
    for (size_t i = 0; i < CANDIDATES; i++) {
        if (which != NULL && strcmp(which, candidates[i].name) != 0)
            continue;
        if (load(b, candidates[i].name, candidates[i].file, candidates[i].set_threads))
            return true;
    }
    return which != NULL && strchr(which, '/') != NULL && load(b, "path", which, NULL);
}

static takt_status open(takt_ctx *ctx, const char *which, int threads, void **state)
{
    void *block;
    *state = NULL;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(blas), "blas", &block));
    blas *b = block;
    if (!find(b, which)) {
        takt_mem_put(ctx, b, sizeof *b);
        takt_fail(ctx, TAKT_E_LIBRARY, "no CBLAS library was found%s%s", which != NULL ? ": " : "",
                  which != NULL ? which : "");
        return takt_fail_hint(ctx,
                              "install libopenblas0, or name one: openblas, blis, mkl or a path");
    }
    if (b->set_threads != NULL)
        b->set_threads(threads);
    *state = b;
    return TAKT_OK;
}

static void close(takt_ctx *ctx, void *state)
{
    blas *b = state;
    takt_library_close(b->library);
    takt_mem_put(ctx, b, sizeof *b);
}

static const char *available(void)
{
    blas b = {0};
    if (!find(&b, NULL))
        return "no CBLAS library is installed";
    takt_library_close(b.library);
    return NULL;
}

static const char *supports(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    if (n->op != &takt_op_matmul)
        return "blas computes matrix products only";
    if (n->type->dtype != TAKT_F32 && n->type->dtype != TAKT_F64)
        return "blas takes f32 and f64 only";
    const takt_product mm = takt_product_of(g, node);
    const size_t most = INT32_MAX;
    return mm.m < most && mm.n < most && mm.k < most && mm.k > 0
               ? NULL
               : "a dimension does not fit an int";
}

/* ---- steps ---- */

typedef struct facts {
    takt_product mm;
    const blas *blas;
    int ta, tb, lda, ldb;
} facts;

static void run(const takt_step *s, const takt_task *t)
{
    const facts *f = s->data;
    const takt_product *mm = &f->mm;
    const int m = (int)mm->m, n = (int)mm->n, k = (int)mm->k;
    const size_t size = s->out[0].dtype == TAKT_F32 ? 4 : 8;
    for (size_t i = 0; i < mm->batch; i++) {
        size_t a, b;
        takt_product_pair(mm, i, &a, &b);
        const char *x = (const char *)takt_view_data(t, &s->in[0]) + a * mm->m * mm->k * size;
        const char *y = (const char *)takt_view_data(t, &s->in[1]) + b * mm->k * mm->n * size;
        char *z = (char *)takt_view_data(t, &s->out[0]) + i * mm->m * mm->n * size;
        if (size == 4)
            f->blas->sgemm(ROW_MAJOR, f->ta, f->tb, m, n, k, 1, (const float *)(const void *)x,
                           f->lda, (const float *)(const void *)y, f->ldb, 0, (float *)(void *)z,
                           n);
        else
            f->blas->dgemm(ROW_MAJOR, f->ta, f->tb, m, n, k, 1, (const double *)(const void *)x,
                           f->lda, (const double *)(const void *)y, f->ldb, 0, (double *)(void *)z,
                           n);
    }
}

static takt_status compile(takt_planner *p)
{
    const takt_id id = p->group->nodes[0];
    const takt_node *n = &p->graph->nodes[id];
    facts *f = takt_planner_get(p, sizeof *f);
    if (f == NULL)
        return TAKT_ERR_MEMORY;
    size_t index;
    TAKT_TRY(takt_planner_input(p, n->in[0], &index));
    TAKT_TRY(takt_planner_input(p, n->in[1], &index));
    TAKT_TRY(takt_planner_output(p, id, &index));
    f->mm = takt_product_of(p->graph, id);
    f->blas = p->plan->backend_state;
    f->ta = f->mm.a_col == 1 ? PLAIN : TRANSPOSED;
    f->tb = f->mm.b_col == 1 ? PLAIN : TRANSPOSED;
    f->lda = (int)(f->ta == PLAIN ? f->mm.a_row : f->mm.a_col);
    f->ldb = (int)(f->tb == PLAIN ? f->mm.b_row : f->mm.b_col);
    p->step->kind = "blas";
    p->step->kernel = f->blas->name;
    p->step->run = run;
    p->step->data = f;
    return TAKT_OK;
}

const takt_backend takt_backend_blas = {
    .name = "blas",
    .summary = "matrix products by OpenBLAS, BLIS or MKL; everything else on cpu",
    .available = available,
    .open = open,
    .close = close,
    .supports = supports,
    .keeps = NULL,
    .compile = compile,
};
