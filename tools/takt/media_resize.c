/* media_resize.c - images of other sizes. */
#include <stdlib.h>

#include <takt/data.h>

#include "media.h"

float *media_resize(const takt_tool *t, const media_planes *from, int64_t height, int64_t width)
{
    const takt_tensor_view own = {.dtype = TAKT_F32,
                                  .rank = 3,
                                  .dims = {from->channels, from->height, from->width},
                                  .data = from->at};
    takt_tensor_view to = {.dtype = TAKT_F32, .rank = 3, .dims = {from->channels, height, width}};
    float *all = malloc((size_t)from->channels * (size_t)height * (size_t)width * sizeof *all);
    to.data = all;
    if (all != NULL && takt_picture_resize(t->ctx, &own, &to) == TAKT_OK)
        return all;
    free(all);
    return NULL;
}
