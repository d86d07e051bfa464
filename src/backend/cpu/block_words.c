/* block_words.c - a part of the levels is some of the panels, and reads their columns alone. */
#include "backend/cpu/block_words.h"

/* Part `index` of `count` begins with panel `*first` and has columns [column[0], column[1]). */
static void share(const takt_blocks_job *j, const size_t part[2], size_t *first, size_t column[2])
{
    const size_t panels = takt_blocks_panels(j->n), end = panels * (part[0] + 1) / part[1];
    *first = panels * part[0] / part[1];
    column[0] = *first * TAKT_BLOCKS_PANEL;
    column[1] = end == panels ? j->n : end * TAKT_BLOCKS_PANEL;
}

void takt_block_words_span(const void *user, size_t index, size_t count, size_t span[2])
{
    const takt_blocks_job *j = user;
    size_t first;
    share(j, (const size_t[2]){index, count}, &first, span);
    span[0] = span[0] * j->k * j->bits / 8;
    span[1] = span[1] * j->k * j->bits / 8;
}

takt_status takt_block_words_part(const void *user, const void *from, void *to, size_t index,
                                  size_t count)
{
    takt_blocks_job job = *(const takt_blocks_job *)user;
    const size_t words = takt_blocks_words(job.bits, takt_blocks_deep(job.k));
    size_t first, column[2];
    share(&job, (const size_t[2]){index, count}, &first, column);
    job.n = column[1] - column[0];
    job.src = from;
    takt_blocks_pack(&job, (uint32_t *)to + first * words);
    return TAKT_OK;
}

takt_status takt_block_words_fill(void *user, const void *from, void *to)
{
    return takt_block_words_part(user, from, to, 0, 1);
}
