/* run_blas.c - a BLAS library, for workloads that are one product. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flat.h"
#include "runner.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };
typedef void sgemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int,
                      float, float *, int);
typedef void dgemm_fn(int, int, int, int, int, int, double, const double *, int, const double *,
                      int, double, double *, int);
typedef void sgemv_fn(int, int, int, int, float, const float *, int, const float *, int, float,
                      float *, int);
enum { TRANSPOSE = 112 };

static struct {
    void *handle;
    sgemm_fn *sgemm;
    dgemm_fn *dgemm;
    sgemv_fn *sgemv;
    void *(*set_threads)(int);
    flat_graph data;
    const void *a, *b;
    void *c;
    int m, n, k, is_double;
} state;

const char *peer_open(const char *library)
{
    static const char *const setters[] = {"openblas_set_num_threads", "bli_thread_set_num_threads",
                                          "MKL_Set_Num_Threads"};
    state.handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (state.handle == NULL)
        return dlerror();
    state.sgemm = (sgemm_fn *)dlsym(state.handle, "cblas_sgemm");
    state.dgemm = (dgemm_fn *)dlsym(state.handle, "cblas_dgemm");
    state.sgemv = (sgemv_fn *)dlsym(state.handle, "cblas_sgemv");
    for (size_t i = 0; i < sizeof setters / sizeof *setters && state.set_threads == NULL; i++)
        state.set_threads = (void *(*)(int))dlsym(state.handle, setters[i]);
    return state.sgemm != NULL && state.dgemm != NULL && state.sgemv != NULL &&
                   state.set_threads != NULL
               ? NULL
               : "not a CBLAS whose threads can be set";
}

const char *peer_version(void)
{
    char *(*openblas)(void) = (char *(*)(void))dlsym(state.handle, "openblas_get_config");
    const char *(*blis)(void) =
        (const char *(*)(void))dlsym(state.handle, "bli_info_get_version_str");
    return openblas != NULL ? openblas() : blis != NULL ? blis() : "";
}

const char *peer_load(const char *folder, int threads)
{
    flat_free(&state.data);
    free(state.c);
    state.c = NULL;
    const char *problem = flat_read(&state.data, folder);
    if (problem != NULL)
        return problem;
    if (!flat_is(folder, "exact"))
        return "a BLAS has f32 only here";
    const flat_node *n = &state.data.nodes[0];
    if (state.data.node_count != 1 || strcmp(n->op, "MatMul") != 0)
        return "a BLAS has products only";
    const flat_value *a = flat_find(&state.data, n->inputs[0]);
    const flat_value *b = flat_find(&state.data, n->inputs[1]);
    state.m = (int)a->dims[0];
    state.k = (int)a->dims[1];
    state.n = (int)b->dims[1];
    state.a = a->data;
    state.b = b->data;
    state.is_double = strcmp(a->type, "float64") == 0;
    if (!state.is_double && strcmp(a->type, "float32") != 0)
        return "a BLAS has f32 and f64 only";
    state.c = aligned_alloc(64, ((size_t)state.m * (size_t)state.n * 8 + 127) / 64 * 64);
    state.set_threads(threads);
    return state.c != NULL ? NULL : "no memory";
}

/* One row is a product with a vector, which a caller would use. */
const char *peer_run(void)
{
    const int m = state.m, n = state.n, k = state.k;
    if (state.is_double)
        state.dgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1, state.a, k, state.b, n, 0,
                    state.c, n);
    else if (m == 1)
        state.sgemv(ROW_MAJOR, TRANSPOSE, k, n, 1, state.b, n, state.a, 1, 0, state.c, 1);
    else
        state.sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1, state.a, k, state.b, n, 0,
                    state.c, n);
    return NULL;
}

const void *peer_output(size_t *bytes)
{
    *bytes = (size_t)state.m * (size_t)state.n * (state.is_double ? 8 : 4);
    return state.c;
}
