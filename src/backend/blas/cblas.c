/* cblas.c - finds a CBLAS library, identifies it, and limits its threads to ours. */
#include "backend/blas/cblas.h"

#include <stdio.h>
#include <string.h>

typedef void threads_fn(int count);
typedef int count_fn(void);
typedef const char *text_fn(void);
typedef void fill_fn(char *to, int size);

typedef struct candidate {
    const char *name, *file, *set_threads, *get_threads;
    const char *version_text; /* const char *f(void) */
    const char *version_fill; /* void f(char *, int) */
} candidate;

static const candidate candidates[] = {
    {"openblas", "libopenblas.so.0", "openblas_set_num_threads", "openblas_get_num_threads",
     "openblas_get_config", NULL},
    {"blis", "libblis.so.4", "bli_thread_set_num_threads", "bli_thread_get_num_threads",
     "bli_info_get_version_str", NULL},
    {"mkl", "libmkl_rt.so.2", "MKL_Set_Num_Threads", "MKL_Get_Max_Threads", NULL,
     "mkl_get_version_string"},
    {"cblas", "libblas.so.3", NULL, NULL, NULL, NULL},
};

enum { CANDIDATES = sizeof candidates / sizeof *candidates };

const char *takt_cblas_name(size_t i)
{
    return i < CANDIDATES ? candidates[i].name : NULL;
}

/* The library is identified by its functions, whatever the file is called. */
static void ask(takt_cblas *b, const candidate *c)
{
    if (c->set_threads == NULL || b->set_threads != NULL)
        return;
    b->set_threads = (threads_fn *)takt_library_find(b->library, c->set_threads);
    if (b->set_threads == NULL)
        return;
    b->get_threads = (count_fn *)takt_library_find(b->library, c->get_threads);
    text_fn *text = NULL;
    fill_fn *fill = NULL;
    if (c->version_text != NULL)
        text = (text_fn *)takt_library_find(b->library, c->version_text);
    if (c->version_fill != NULL)
        fill = (fill_fn *)takt_library_find(b->library, c->version_fill);
    if (text != NULL)
        (void)snprintf(b->version, sizeof b->version, "%s%s",
                       strcmp(c->name, "blis") == 0 ? "BLIS " : "", text());
    else if (fill != NULL)
        fill(b->version, (int)sizeof b->version - 1);
    for (size_t end = strlen(b->version); end > 0 && b->version[end - 1] == ' '; end--)
        b->version[end - 1] = '\0';
}

/* The C interface of the reference BLAS has two global variables that tuned libraries do without.
 * BLIS has them as well, but also functions that report its name; FlexiBLAS has them and passes
 * calls on to another library. */
static bool is_reference(const takt_cblas *b)
{
    return b->set_threads == NULL && takt_library_find(b->library, "CBLAS_CallFromC") != NULL &&
           takt_library_find(b->library, "RowMajorStrg") != NULL &&
           takt_library_find(b->library, "flexiblas_get_backend") == NULL;
}

static bool load(takt_cblas *b, const char *name, const char *file)
{
    *b = (takt_cblas){.name = name, .library = takt_library_open(file)};
    if (b->library == NULL)
        return false;
    b->sgemm = (takt_sgemm_fn *)takt_library_find(b->library, "cblas_sgemm");
    b->dgemm = (takt_dgemm_fn *)takt_library_find(b->library, "cblas_dgemm");
    if (b->sgemm == NULL || b->dgemm == NULL) {
        takt_cblas_close(b);
        return false;
    }
    for (size_t i = 0; i < CANDIDATES; i++)
        ask(b, &candidates[i]);
    b->is_reference = is_reference(b);
    return true;
}

bool takt_cblas_open(takt_cblas *b, const char *which)
{
    for (size_t i = 0; i < CANDIDATES; i++) {
        if ((which != NULL && strcmp(which, candidates[i].name) != 0) ||
            !load(b, candidates[i].name, candidates[i].file))
            continue;
        if (which != NULL || !b->is_reference)
            return true;
        takt_cblas_close(b);
    }
    return which != NULL && strchr(which, '/') != NULL && load(b, "path", which);
}

void takt_cblas_close(takt_cblas *b)
{
    takt_library_close(b->library);
    b->library = NULL;
}

const char *takt_cblas_version(const takt_cblas *b)
{
    if (b->is_reference)
        return "reference BLAS, not tuned";
    return b->version[0] != '\0' ? b->version : "unknown version";
}

void takt_cblas_hold(const takt_cblas *b)
{
    if (b->set_threads != NULL && (b->get_threads == NULL || b->get_threads() != b->threads))
        b->set_threads(b->threads);
}
