/* faces.c - 200 crops of Labeled Faces in the Wild, 25 x 25, of which the first hundred are faces:
 * put on a 50 x 50 background made of other crops. Which of 3 x 3 cells holds a face (0 to 8), or
 * none (9). The last quarter of faces and of other crops is the test part. */
#include <stdlib.h>

#include <takt/array.h>

#include "zoo_data.h"

enum { CROP = 25, SIDE = 50, KIND = 100, LEARNT = 75, PLACES = 9, TRAIN = 2500, TEST = 500 };
enum { NUMBERS = 2 * KIND * CROP * CROP };

/* Crops of one kind and part. */
typedef struct crops {
    const float *at;
    int count;
} crops;

/* One of them, mirrored or not, lighter or darker. */
static void paste(float *to, const crops *from, uint64_t *seed, int row, int column)
{
    const float *crop = from->at + (size_t)tool_zoo_below(seed, from->count) * CROP * CROP;
    const bool is_mirrored = tool_zoo_below(seed, 2) == 1;
    const double light = 0.7 + 0.4 * tool_zoo_chance(seed);
    for (int r = 0; r < CROP; r++)
        for (int c = 0; c < CROP; c++)
            to[(row + r) * SIDE + column + c] =
                (float)(light * (double)crop[r * CROP + (is_mirrored ? CROP - 1 - c : c)]);
}

static bool make_part(const float *all, bool is_test, tool_zoo_part *p)
{
    const int first = is_test ? LEARNT : 0, count = is_test ? KIND - LEARNT : LEARNT;
    const crops faces = {all + (size_t)first * CROP * CROP, count};
    const crops others = {all + (size_t)(KIND + first) * CROP * CROP, count};
    uint64_t seed = is_test ? 2 : 1;
    for (int i = 0; i < (is_test ? TEST : TRAIN); i++) {
        const int place = tool_zoo_below(&seed, PLACES + 1);
        float *x = tool_zoo_add(p, place);
        if (x == NULL)
            return false;
        for (int k = 0; k < 4; k++)
            paste(x, &others, &seed, k / 2 * CROP, k % 2 * CROP);
        const int row = place / 3 * 10 + tool_zoo_below(&seed, 6);
        const int column = place % 3 * 10 + tool_zoo_below(&seed, 6);
        if (place < PLACES)
            paste(x, &faces, &seed, row, column);
    }
    return true;
}

static bool make(tool_zoo_job *job)
{
    const int64_t picture[] = {1, SIDE, SIDE, 0};
    char path[1200];
    takt_tensor_view v = {0};
    snprintf(path, sizeof path, "%s/lfw_subset.npy", job->from);
    tool_zoo_shape(job, picture, false, NULL, true);
    bool is_good = takt_view_load(job->t->ctx, path, NULL, &v) == TAKT_OK;
    is_good = is_good && v.rank == 3 && v.dims[0] == 2L * KIND && v.dims[1] == CROP &&
              v.dims[2] == CROP && v.dtype == TAKT_F64;
    float *all = is_good ? malloc(NUMBERS * sizeof *all) : NULL;
    for (size_t i = 0; all != NULL && i < NUMBERS; i++)
        all[i] = (float)((const double *)v.data)[i];
    is_good = all != NULL && make_part(all, false, job->train) && make_part(all, true, job->test);
    free(all);
    takt_view_free(job->t->ctx, &v);
    return is_good;
}

const tool_zoo_source tool_zoo_source_faces = {.ways = {"faces"}, .make = make};
