/* npz.c - .npz archives: ZIP files whose members are .npy files, stored as they are or deflated.
 *
 * The reader uses the central directory at the end. Every offset is checked before use, and the
 * member's checksum after reading.
 */
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "base/sort.h"
#include "io/inflate.h"
#include "io/npy/npy.h"
#include "io/read.h"

enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END = 0x06054b50,
    LOCAL_BYTES = 30,
    CENTRAL_BYTES = 46,
    END_BYTES = 22,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1,
};

typedef takt_npz archive;

typedef struct entry {
    takt_span name;
    uint32_t crc, packed, size, local;
    uint16_t method, flags;
} entry;

static takt_status fail(const archive *a, size_t offset, const char *what)
{
    takt_fail(a->ctx, TAKT_E_NPY, "%s: %s", a->name, what);
    return takt_fail_offset(a->ctx, offset);
}

/* ---- reading ---- */

/* Reads up to `count` bytes at `at`, as many as the file has. */
static takt_status fetch(const archive *a, size_t at, size_t count)
{
    const size_t first = at < a->length ? at : a->length, left = a->length - first;
    return a->skim == NULL ? TAKT_OK
                           : takt_skim_fetch(a->skim, first, first + (count < left ? count : left));
}

/* A cursor on the central directory; its end record is at the end of the file, before a comment. */
static takt_status find_directory(const archive *a, takt_cursor *directory, size_t *count)
{
    const size_t comment = 65535, most = END_BYTES + comment;
    const size_t stop = a->length > most ? a->length - most : 0;
    TAKT_TRY(fetch(a, stop, most));
    for (size_t at = a->length; at-- > stop;) {
        takt_cursor c = takt_cursor_of(a->bytes + at, a->length - at, at);
        if (takt_cursor_u32le(&c) != END || !takt_cursor_skip(&c, 6))
            continue;
        *count = takt_cursor_u16le(&c);
        const size_t size = takt_cursor_u32le(&c), from = takt_cursor_u32le(&c);
        if (takt_cursor_u16le(&c) != takt_cursor_left(&c) || c.failed)
            continue;
        if (from > at || size > at - from)
            return fail(a, at, "the archive's directory lies outside the file");
        *directory = takt_cursor_of(a->bytes + from, size, from);
        return fetch(a, from, size);
    }
    return fail(a, 0, "this is not a .npz archive: a ZIP file's end record is missing");
}

static takt_status next_entry(const archive *a, takt_cursor *c, entry *e)
{
    const size_t at = (size_t)takt_cursor_offset(c);
    const bool is_entry = takt_cursor_u32le(c) == CENTRAL;
    takt_cursor_skip(c, 4);
    e->flags = takt_cursor_u16le(c);
    e->method = takt_cursor_u16le(c);
    takt_cursor_skip(c, 4);
    e->crc = takt_cursor_u32le(c);
    e->packed = takt_cursor_u32le(c);
    e->size = takt_cursor_u32le(c);
    const size_t name = takt_cursor_u16le(c), extra = takt_cursor_u16le(c);
    const size_t comment = takt_cursor_u16le(c);
    takt_cursor_skip(c, 8);
    e->local = takt_cursor_u32le(c);
    e->name = (takt_span){(const char *)takt_cursor_take(c, name), name};
    takt_cursor_skip(c, extra);
    takt_cursor_skip(c, comment);
    return is_entry && !c->failed ? TAKT_OK : fail(a, at, "the archive's directory is damaged");
}

/* The bytes of a member as they are in the file. */
static takt_status find_member(const archive *a, const entry *e, takt_span *member)
{
    takt_cursor c = takt_cursor_of(a->bytes, a->length, 0);
    if ((e->method != STORED && e->method != DEFLATED) || (e->flags & ENCRYPTED) != 0) {
        fail(a, e->local, "a member is encrypted, or compressed other than by deflate");
        return takt_fail_hint(a->ctx, "save it with numpy.savez or numpy.savez_compressed");
    }
    if (e->method == STORED && e->packed != e->size)
        return fail(a, e->local, "a member that is not compressed has two sizes");
    TAKT_TRY(fetch(a, e->local, LOCAL_BYTES));
    takt_cursor_skip(&c, e->local);
    const bool is_local = takt_cursor_u32le(&c) == LOCAL;
    takt_cursor_skip(&c, LOCAL_BYTES - 8);
    const size_t name = takt_cursor_u16le(&c), extra = takt_cursor_u16le(&c);
    takt_cursor_skip(&c, name);
    takt_cursor_skip(&c, extra);
    const uint8_t *data = takt_cursor_take(&c, e->packed);
    if (!is_local || data == NULL)
        return fail(a, e->local, "a member lies outside the archive");
    TAKT_TRY(fetch(a, (size_t)(data - a->bytes), e->packed));
    *member = (takt_span){(const char *)data, e->packed};
    return TAKT_OK;
}

/* Whether a member is an array without numbers. */
static bool is_other(const archive *a, const void *bytes, size_t length)
{
    const takt_error before = a->ctx->error;
    takt_npy_header header = {0};
    takt_cursor c = takt_cursor_of(bytes, length, 0);
    const takt_status status = takt_npy_read_header(a->ctx, a->name, &c, &header);
    a->ctx->error = before;
    return status != TAKT_OK && header.is_other;
}

static takt_status load(const archive *a, const entry *e, const void *bytes, size_t length,
                        takt_tensor_view *view)
{
    if (length != e->size || takt_zip_checksum(0, bytes, length) != e->crc)
        return fail(a, e->local, "a member's checksum is wrong: the archive is damaged");
    *view = (takt_tensor_view){.rank = -1};
    if (a->has_others && is_other(a, bytes, length))
        return TAKT_OK;
    char name[512]; /* of file and member */
    snprintf(name, sizeof name, "%.400s: %.*s", a->name,
             e->name.length < 80 ? (int)e->name.length : 80, e->name.at);
    return takt_npy_load_memory(a->ctx, name, bytes, length, view);
}

static takt_status read_member(const archive *a, const entry *e, takt_span *member,
                               takt_tensor_view *view)
{
    void *plain;
    size_t length;
    TAKT_TRY(find_member(a, e, member));
    if (e->method == STORED)
        return load(a, e, member->at, member->length, view);
    const takt_packed from = {.name = a->name,
                              .bytes = (const uint8_t *)member->at,
                              .length = member->length,
                              .is_raw = true,
                              .most = e->size,
                              .error = TAKT_E_NPY};
    TAKT_TRY(takt_inflate(a->ctx, &from, &plain, &length));
    const takt_status status = load(a, e, plain, length, view);
    takt_mem_put(a->ctx, plain, length > 0 ? length : 1);
    return status;
}

/* ---- the whole directory: no duplicate names, no overlapping members ---- */

static bool by_place(const void *a, const void *b)
{
    return ((const entry *)a)->local < ((const entry *)b)->local;
}

static int compare_names(const entry *a, const entry *b)
{
    const size_t least = a->name.length < b->name.length ? a->name.length : b->name.length;
    const int order = least > 0 ? memcmp(a->name.at, b->name.at, least) : 0;
    return order != 0 ? order
                      : (a->name.length > b->name.length) - (a->name.length < b->name.length);
}

static bool by_name(const void *a, const void *b)
{
    return compare_names(a, b) < 0;
}

static takt_status check_entries(const archive *a, const void **order, size_t count)
{
    takt_sort_pointers(order, count, by_place);
    for (size_t i = 1; i < count; i++) {
        const entry *one = order[i - 1], *two = order[i];
        const uint64_t end = (uint64_t)one->local + LOCAL_BYTES + one->name.length + one->packed;
        if (end > two->local)
            return fail(a, two->local, "two members of the archive overlap");
    }
    takt_sort_pointers(order, count, by_name);
    for (size_t i = 1; i < count; i++)
        if (compare_names(order[i - 1], order[i]) == 0)
            return fail(a, ((const entry *)order[i])->local,
                        "the archive has two members of the same name");
    return TAKT_OK;
}

/* Bounds the work of reading all members by the file's size. */
static takt_status check_directory(const archive *a, takt_cursor directory, size_t count)
{
    takt_arena arena;
    takt_arena_init(&arena, a->ctx);
    takt_status status = TAKT_OK;
    /* Each entry takes space in the directory, which bounds their number. */
    const size_t most = takt_cursor_left(&directory) / CENTRAL_BYTES;
    const size_t kept = count < most ? count : most;
    entry *entries = takt_arena_array(&arena, kept, sizeof *entries);
    const void **order = takt_arena_array(&arena, kept, sizeof *order);
    if (entries == NULL || order == NULL)
        status = TAKT_ERR_MEMORY;
    for (size_t i = 0; i < kept && status == TAKT_OK; i++) {
        status = next_entry(a, &directory, &entries[i]);
        order[i] = &entries[i];
    }
    if (status == TAKT_OK)
        status = kept == count ? check_entries(a, order, count)
                               : fail(a, 0, "the archive's directory is damaged");
    takt_arena_deinit(&arena);
    return status;
}

/* Members are called NAME.npy. */
static bool is_called(const entry *e, const char *member)
{
    const size_t length = strlen(member);
    return e->name.length == length + 4 && memcmp(e->name.at, member, length) == 0 &&
           memcmp(e->name.at + length, ".npy", 4) == 0;
}

/* Fails with a list of the archive's members, under the names passed to NumPy's savez, or arr_0 and
 * so on. */
static takt_status fail_member(const archive *a, const char *member, takt_cursor directory,
                               size_t count)
{
    char list[200] = "";
    size_t length = 0, i = 0;
    entry e;
    for (; i < count && length < sizeof list - 40 && next_entry(a, &directory, &e) == TAKT_OK;
         i++) {
        const size_t own = e.name.length > 4 ? e.name.length - 4 : e.name.length;
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%.*s", i > 0 ? ", " : "",
                                   own > 30 ? 30 : (int)own, e.name.at);
    }
    if (member != NULL)
        takt_fail(a->ctx, TAKT_E_NAME, "%s has no array called %s", a->name, member);
    else
        takt_fail(a->ctx, TAKT_E_NAME, "%s holds %zu arrays: say which", a->name, count);
    return takt_fail_hint(a->ctx, "it holds %s%s; numpy.savez(file, x=x) calls one x", list,
                          i < count ? ", ..." : "");
}

static takt_status read_archive(const archive *a, const char *member, takt_tensor_view *view)
{
    takt_cursor directory;
    size_t count = 0;
    TAKT_TRY(find_directory(a, &directory, &count));
    TAKT_TRY(check_directory(a, directory, count));
    const takt_cursor first = directory;
    if (count != 1 && member == NULL)
        return fail_member(a, NULL, first, count);
    for (size_t i = 0; i < count; i++) {
        entry e;
        TAKT_TRY(next_entry(a, &directory, &e));
        takt_span found;
        if (member == NULL || is_called(&e, member))
            return read_member(a, &e, &found, view);
    }
    return fail_member(a, member, first, count);
}

takt_status takt_npz_each(const takt_npz *a, takt_npz_fn *visit, void *user)
{
    takt_cursor directory;
    size_t count = 0;
    TAKT_TRY(find_directory(a, &directory, &count));
    TAKT_TRY(check_directory(a, directory, count));
    for (size_t i = 0; i < count; i++) {
        entry e;
        takt_tensor_view view;
        TAKT_TRY(next_entry(a, &directory, &e));
        if (e.name.length < 5 || memcmp(e.name.at + e.name.length - 4, ".npy", 4) != 0)
            return fail(a, e.local, "a member is not a .npy file");
        takt_span member;
        TAKT_TRY(read_member(a, &e, &member, &view));
        const takt_span own = {e.name.at, e.name.length - 4};
        const takt_status status = visit(user, own, member, &view);
        takt_view_free(a->ctx, &view);
        TAKT_TRY(status);
    }
    return TAKT_OK;
}

takt_status takt_npz_load(takt_ctx *ctx, const char *path, const char *member,
                          takt_tensor_view *view)
{
    void *bytes;
    size_t length;
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, view);
    *view = (takt_tensor_view){.data = NULL};
    TAKT_NEED(ctx, path);
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    const archive a = {.ctx = ctx, .name = path, .bytes = bytes, .length = length};
    const takt_status status = read_archive(&a, member, view);
    takt_mem_put(ctx, bytes, length);
    return status;
}
