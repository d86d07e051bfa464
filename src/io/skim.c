/* skim.c - reads a file from beginning to end, and skips requested ranges. */
#include "io/skim.h"

#include <string.h>

#include "base/count.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/held_file.h"
#include "os/memory.h"

enum { CHUNK = 64 << 10, LEAST = 256 << 10 };

static takt_status read_at(const takt_skim *s, size_t offset, void *to, size_t count)
{
    const takt_stamped_file from = {s->file, s->path, s->stamp};
    return takt_file_same_part(s->ctx, &from, offset, to, count);
}

static takt_status count(takt_skim *s, size_t bytes)
{
    uint64_t live;
    if (!s->has_pages)
        return TAKT_OK;
    if (!takt_count_more(s->ctx, bytes, &live))
        return takt_fail_memory(s->ctx, "file", bytes);
    takt_count_peak(s->ctx, live);
    s->counted += bytes;
    return TAKT_OK;
}

static takt_status read_up_to(takt_skim *s, size_t end)
{
    if (end <= s->have)
        return TAKT_OK;
    TAKT_TRY(count(s, end - s->have));
    TAKT_TRY(read_at(s, s->have, s->bytes + s->have, end - s->have));
    s->have = end;
    return TAKT_OK;
}

takt_status takt_skim_need(takt_skim *s, size_t end)
{
    if (end <= s->have)
        return TAKT_OK;
    const size_t left = s->length - s->have, chunk = s->chunk < left ? s->chunk : left;
    return read_up_to(s, end - s->have > chunk ? end : s->have + chunk);
}

static takt_status open_memory(takt_skim *s)
{
    size_t length;
    void *block;
    TAKT_TRY(takt_file_stamp(s->ctx, s->path, s->file, &s->stamp));
    TAKT_TRY(takt_file_length(s->ctx, s->path, s->file, &length));
    s->has_pages = length > s->least;
    if (!s->has_pages)
        TAKT_TRY(takt_mem_get(s->ctx, length, "file", &block));
    else if (takt_pages_get(length, &block) != 0)
        return takt_fail_memory(s->ctx, "file", length);
    s->bytes = block;
    s->length = length;
    return takt_skim_need(s, s->length > 0 ? 1 : 0);
}

takt_status takt_skim_open(takt_ctx *ctx, const char *path, takt_skim *s)
{
    takt_file *file;
    const int error = ctx->files.open_read(ctx->files.user, path, &file);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_OPEN, path, "open", error);
    return takt_skim_opened(ctx, path, file, s);
}

takt_status takt_skim_opened(takt_ctx *ctx, const char *path, takt_file *file, takt_skim *s)
{
    *s = (takt_skim){.ctx = ctx, .path = path, .file = file, .chunk = CHUNK, .least = LEAST};
    const takt_status status = open_memory(s);
    if (status != TAKT_OK)
        takt_skim_close(s);
    return status;
}

void takt_skim_close(takt_skim *s)
{
    takt_mem_put(s->ctx, s->gaps, s->gap_room * sizeof *s->gaps);
    takt_count_less(s->ctx, s->counted);
    if (s->has_pages)
        takt_pages_put(s->bytes, s->length);
    else
        takt_mem_put(s->ctx, s->bytes, s->length);
    if (s->held != NULL)
        takt_held_file_release(s->held);
    else
        s->ctx->files.close(s->ctx->files.user, s->file);
}

takt_status takt_skim_hold(takt_skim *s, takt_held_file **file)
{
    if (s->held == NULL)
        TAKT_TRY(
            takt_hold_file(s->ctx, &(takt_stamped_file){s->file, s->path, s->stamp}, &s->held));
    *file = takt_held_file_retain(s->held);
    return TAKT_OK;
}

static takt_status make_room(takt_skim *s)
{
    if (s->gap_count < s->gap_room)
        return TAKT_OK;
    const size_t room = s->gap_room > 0 ? 2 * s->gap_room : 64;
    void *block;
    TAKT_TRY(takt_mem_get(s->ctx, room * sizeof *s->gaps, "parts of a file", &block));
    if (s->gap_count > 0)
        memcpy(block, s->gaps, s->gap_count * sizeof *s->gaps);
    takt_mem_put(s->ctx, s->gaps, s->gap_room * sizeof *s->gaps);
    s->gaps = block;
    s->gap_room = room;
    return TAKT_OK;
}

takt_status takt_skim_leave(takt_skim *s, size_t first, size_t end)
{
    first = first > s->have ? first : s->have;
    if (end <= first || end - first < s->least)
        return read_up_to(s, end);
    TAKT_TRY(read_up_to(s, first));
    TAKT_TRY(make_room(s));
    s->gaps[s->gap_count++] = (takt_gap){first, end};
    s->have = end;
    return TAKT_OK;
}

/* The first gap that ends after `at`; NULL if there is none. */
static const takt_gap *gap_at(const takt_skim *s, size_t at)
{
    size_t low = 0, high = s->gap_count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (s->gaps[mid].end <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->gap_count ? &s->gaps[low] : NULL;
}

takt_status takt_skim_copy(const takt_skim *s, const uint8_t *from, void *to, size_t count)
{
    size_t at = (size_t)(from - s->bytes);
    const size_t end = at + count;
    uint8_t *out = to;
    while (at < end) {
        const takt_gap *gap = gap_at(s, at);
        const bool is_gap = gap != NULL && gap->first <= at;
        const size_t stop = gap == NULL ? end : is_gap ? gap->end : gap->first;
        const size_t part = (stop < end ? stop : end) - at;
        if (is_gap)
            TAKT_TRY(read_at(s, at, out, part));
        else
            memcpy(out, s->bytes + at, part);
        at += part;
        out += part;
    }
    return TAKT_OK;
}

takt_status takt_skim_fetch(takt_skim *s, size_t first, size_t end)
{
    for (size_t at = first; at < end;) {
        const takt_gap *gap = gap_at(s, at);
        if (gap == NULL || gap->first >= end)
            break;
        at = gap->first > at ? gap->first : at;
        const size_t stop = gap->end < end ? gap->end : end;
        TAKT_TRY(count(s, stop - at));
        s->fetches = true;
        TAKT_TRY(read_at(s, at, s->bytes + at, stop - at));
        at = stop;
    }
    return TAKT_OK;
}

void takt_skim_done(takt_skim *s, const uint8_t *from, size_t count)
{
    const size_t at = (size_t)(from - s->bytes);
    takt_gap part = {at, at + count};
    if (!s->has_pages || (s->gap_count > 0 && !s->fetches)) /* then gaps are not counted */
        return;
    if (s->fetches) { /* other bytes cannot be fetched again */
        const takt_gap *gap = gap_at(s, at);
        part.first = gap != NULL && gap->first > at ? gap->first : at;
        part.end = gap == NULL || gap->first >= part.end ? part.first
                   : gap->end < part.end                 ? gap->end
                                                         : part.end;
    }
    const size_t less = takt_pages_drop(s->bytes + part.first, part.end - part.first);
    s->counted -= less;
    takt_count_less(s->ctx, less);
}
