/* importance.c - importance matrices: the weight of each column of a model's matrices. */
#include "io/gguf/importance.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

static takt_status read_header(takt_importance *im, const char *path)
{
    takt_status status = takt_gguf_recognises(im->skim.bytes, im->skim.have)
                             ? takt_gguf_skim(&im->skim)
                             : takt_fail(im->ctx, TAKT_E_SHRINK_DATA,
                                         "%s is not an importance matrix in GGUF", path);
    if (status == TAKT_OK)
        status = takt_gguf_parse(&im->arena, path, im->skim.bytes, im->skim.length, im->skim.length,
                                 &im->g);
    if (status != TAKT_OK)
        return status;
    for (size_t i = 0; i < im->g.tensor_count; i++) {
        const char *name = im->g.tensors[i].name;
        const size_t length = strlen(name), ending = strlen(".in_sum2");
        if (length > ending && strcmp(name + length - ending, ".in_sum2") == 0)
            return TAKT_OK;
    }
    takt_fail(im->ctx, TAKT_E_SHRINK_DATA, "%s holds no importance matrix", path);
    return takt_fail_hint(im->ctx, "takt imatrix MODEL -f TEXT -o F.gguf makes one");
}

takt_status takt_importance_open(takt_importance *im, takt_ctx *ctx, const char *path)
{
    *im = (takt_importance){.ctx = ctx};
    TAKT_TRY(takt_skim_open(ctx, path, &im->skim));
    takt_arena_init(&im->arena, ctx);
    const takt_status status = read_header(im, path);
    if (status != TAKT_OK) {
        takt_importance_close(im);
        return status;
    }
    im->source = (takt_source){.ctx = ctx,
                               .name = path,
                               .bytes = im->skim.bytes,
                               .length = im->skim.length,
                               .skim = &im->skim};
    im->m = (takt_gguf_model){.ctx = ctx, .source = &im->source, .g = &im->g};
    return TAKT_OK;
}

void takt_importance_close(takt_importance *im)
{
    if (im->ctx == NULL)
        return;
    takt_skim_close(&im->skim);
    takt_arena_deinit(&im->arena);
    *im = (takt_importance){.ctx = NULL};
}

/* A float tensor by the matrix's name and a suffix; NULL without failure if it is missing. */
static takt_status numbers(takt_importance *im, const char *name, const char *ending,
                           const takt_gguf_tensor **t, float **at)
{
    const char *full = takt_arena_format(&im->arena, "%s.%s", name, ending);
    *at = NULL;
    if (full == NULL)
        return TAKT_ERR_MEMORY;
    *t = takt_gguf_tensor_find(&im->g, full);
    if (*t == NULL)
        return TAKT_OK;
    if ((*t)->type->dtype != TAKT_F32)
        return takt_fail(im->ctx, TAKT_E_SHRINK_DATA, "%s is not F32", full);
    *at = takt_arena_array(&im->arena, (*t)->count, sizeof **at);
    return *at != NULL ? takt_gguf_bytes(&im->m, *t, (uint8_t *)*at) : TAKT_ERR_MEMORY;
}

takt_status takt_importance_of(takt_importance *im, const takt_gguf_tensor *t, float **values,
                               size_t *matrices)
{
    const takt_gguf_tensor *sums, *counts;
    float *count;
    const size_t columns = (size_t)t->dims[t->rank - 1];
    *matrices = t->rank == 3 ? (size_t)t->dims[0] : 1;
    TAKT_TRY(numbers(im, t->name, "in_sum2", &sums, values));
    if (*values == NULL)
        return TAKT_OK;
    TAKT_TRY(numbers(im, t->name, "counts", &counts, &count));
    if (sums->count != columns * *matrices || count == NULL || counts->count != *matrices)
        return takt_fail(im->ctx, TAKT_E_SHRINK_DATA,
                         "the importance of %s is of another matrix: %zu numbers, not %zu", t->name,
                         sums->count, columns * *matrices);
    for (size_t i = 0; i < sums->count; i++) {
        const float by = count[i / columns];
        const float value = by > 0 ? (*values)[i] / by : 1; /* an expert that was never selected */
        if (!(value >= 0 && isfinite(value)))
            return takt_fail(im->ctx, TAKT_E_SHRINK_DATA,
                             "the importance of %s is %g in column %zu", t->name, (double)value,
                             i % columns);
        (*values)[i] = value;
    }
    return TAKT_OK;
}
