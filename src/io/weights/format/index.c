/* index.c - tensors of a .index.json file, which names the safetensors files that hold them. */
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sort.h"
#include "io/read.h"
#include "io/weights/format.h"
#include "os/os.h"

static bool recognises(const uint8_t *bytes, size_t length)
{
    size_t i = 0;
    while (i < length &&
           (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\t' || bytes[i] == '\r'))
        i++;
    return i < length && bytes[i] == '{' && !takt_safetensors_recognises(bytes, length);
}

/* The contents of the index, and its parts so far. */
typedef struct shards {
    takt_weights_reader *r;
    const char *folder;
    const void **entries; /* takt_json of the map, by their keys */
    bool *seen;           /* of each entry */
    size_t count;
    const char **read; /* parts */
    size_t read_count;
} shards;

static bool by_key(const void *a, const void *b)
{
    return strcmp(((const takt_json *)a)->key, ((const takt_json *)b)->key) < 0;
}

/* The index of `name` among the entries; their number if it is absent. */
static size_t find(const shards *s, const char *name)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(((const takt_json *)s->entries[middle])->key, name);
        if (order == 0)
            return middle;
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return s->count;
}

static takt_status misled(const shards *s, const takt_json *at, const char *name, const char *part,
                          const char *why)
{
    (void)takt_fail(s->r->ctx, TAKT_E_SAFETENSORS, "%s: %s: %s %s", s->r->path, name, part, why);
    return at != NULL ? takt_fail_offset(s->r->ctx, at->offset) : s->r->ctx->error.status;
}

/* A tensor must be in the part that the index names, and only there. */
static takt_status visit_part(shards *s, const char *part, const uint8_t *bytes, size_t length)
{
    takt_weight_list list;
    TAKT_TRY(takt_weights_list(s->r, part, bytes, length, &list));
    for (size_t i = 0; i < list.count; i++) {
        const takt_weight *w = &list.at[i];
        const size_t at = find(s, w->name);
        const takt_json *e = at < s->count ? s->entries[at] : NULL;
        if (e == NULL)
            return misled(s, NULL, w->name, part, "has it, but the index does not list it");
        if (strcmp(e->text, part) != 0)
            return misled(s, e, w->name, part, "has it, but the index names another part");
        s->seen[at] = true;
        TAKT_TRY(takt_weights_visit_bytes(s->r, part, w, bytes));
    }
    return TAKT_OK;
}

static takt_status cannot_open(const shards *s, const char *name, int error)
{
    char reason[128];
    takt_os_reason(error, reason, sizeof reason);
    return takt_fail(s->r->ctx, TAKT_E_FILE_OPEN, "%s: cannot open the part %s beneath %s: %s",
                     s->r->path, name, s->folder, reason);
}

static takt_status read_part(shards *s, const char *name)
{
    takt_ctx *ctx = s->r->ctx;
    takt_file *file;
    takt_skim skim, *const outer = s->r->skim;
    const int error = ctx->files.open_beneath(ctx->files.user, s->folder, name, 0, &file);
    if (error != 0)
        return cannot_open(s, name, error);
    TAKT_TRY(takt_skim_opened(ctx, name, file, &skim));
    takt_status status = takt_weights_skim_safetensors(&skim);
    s->r->skim = skim.gap_count > 0 ? &skim : NULL;
    s->r->undone = 0;
    s->read[s->read_count++] = name;
    if (status == TAKT_OK)
        status = visit_part(s, name, skim.bytes, skim.length);
    s->r->skim = outer;
    takt_skim_close(&skim);
    return status;
}

/* All entries, before a part is opened: it looks up its other tensors, too. */
static takt_status take_entries(shards *s, const takt_json *map)
{
    for (const takt_json *v = takt_json_first(map); v != NULL; v = takt_json_next(v)) {
        if (v->kind != TAKT_JSON_STRING || strlen(v->text) != v->text_length || v->text_length == 0)
            return misled(s, v, v->key, "its file", "is not a name");
        s->entries[s->count++] = v;
    }
    takt_sort_pointers(s->entries, s->count, by_key);
    return TAKT_OK;
}

/* The part of an entry, unless an earlier entry has loaded it. */
static takt_status read_entry(shards *s, const takt_json *v)
{
    const size_t at = find(s, v->key);
    if (s->seen[at])
        return TAKT_OK;
    bool is_read = false;
    for (size_t i = 0; i < s->read_count; i++)
        is_read = is_read || strcmp(s->read[i], v->text) == 0;
    if (!is_read)
        TAKT_TRY(read_part(s, v->text));
    return s->seen[at] ? TAKT_OK : misled(s, v, v->key, v->text, "has it not");
}

static takt_status each(takt_weights_reader *r, const uint8_t *bytes, size_t length)
{
    const takt_json *root;
    TAKT_TRY(takt_json_parse(r->ctx, &r->arena, (const char *)bytes, length, &root));
    const takt_json *map =
        root->kind == TAKT_JSON_OBJECT ? takt_json_get(root, "weight_map") : NULL;
    if (map == NULL || map->kind != TAKT_JSON_OBJECT)
        return takt_fail(r->ctx, TAKT_E_SAFETENSORS, "%s: weight_map is missing", r->path);
    const char *slash = strrchr(r->path, '/');
    shards s = {.r = r,
                .folder = slash == NULL
                              ? "."
                              : takt_arena_text(&r->arena, r->path, (size_t)(slash - r->path) + 1),
                .entries = takt_arena_array(&r->arena, map->count, sizeof *s.entries),
                .seen = takt_arena_array(&r->arena, map->count, sizeof *s.seen),
                .read = takt_arena_array(&r->arena, map->count, sizeof *s.read)};
    if (s.folder == NULL || s.entries == NULL || s.seen == NULL || s.read == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(take_entries(&s, map));
    for (const takt_json *v = takt_json_first(map); v != NULL; v = takt_json_next(v))
        TAKT_TRY(read_entry(&s, v));
    return TAKT_OK;
}

/* ---- writing ---- */

/* First tensor after the part that begins at `from`. */
static size_t part_end(const takt_named_tensor *t, size_t count, size_t from, uint64_t most)
{
    uint64_t sum = 0;
    size_t i = from;
    for (; i < count; i++) {
        sum += takt_tensor_bytes(t[i].tensor);
        if (sum > most && i > from)
            break;
    }
    return i;
}

/* "m.safetensors.index.json": the parts are m-00001-of-00002.safetensors. */
static size_t stem_of(const char *path)
{
    const size_t length = strlen(path) - strlen(".index.json");
    const size_t tail = strlen(".safetensors");
    return length >= tail && strncmp(path + length - tail, ".safetensors", tail) == 0
               ? length - tail
               : length;
}

static takt_status save_parts(takt_ctx *ctx, const char *path, const takt_named_tensor *t,
                              size_t count, uint64_t most, takt_json_writer *json)
{
    size_t parts = 0, part = 0;
    for (size_t i = 0; i < count; i = part_end(t, count, i, most))
        parts++;
    for (size_t i = 0, end; i < count; i = end) {
        char name[1200];
        end = part_end(t, count, i, most);
        const int length = snprintf(name, sizeof name, "%.*s-%05zu-of-%05zu.safetensors",
                                    (int)stem_of(path), path, ++part, parts);
        if (length < 0 || (size_t)length >= sizeof name)
            return takt_fail(ctx, TAKT_E_ARGUMENT, "the path %.100s... is too long", path);
        const takt_weights_set own = {t + i, end - i, 0};
        TAKT_TRY(takt_weights_save_safetensors(ctx, name, &own));
        const char *slash = strrchr(name, '/');
        for (size_t k = i; k < end; k++) {
            takt_json_put_string(json, t[k].name, slash != NULL ? slash + 1 : name);
        }
    }
    return TAKT_OK;
}

/* The index is written last, when the parts it names exist. */
static takt_status save(takt_ctx *ctx, const char *path, const takt_weights_set *set)
{
    const takt_named_tensor *t = set->tensors;
    const size_t count = set->count;
    const uint64_t most = set->shard_bytes != 0 ? set->shard_bytes : UINT64_C(5000000000);
    takt_text text;
    takt_json_writer json;
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += takt_tensor_bytes(t[i].tensor);
    takt_text_init(&text, ctx);
    takt_json_begin(&json, &text, true);
    takt_json_open(&json, '{');
    takt_json_put_open(&json, "metadata", '{');
    takt_json_put_unsigned(&json, "total_size", total);
    takt_json_close(&json, '}');
    takt_json_put_open(&json, "weight_map", '{');
    takt_status status = save_parts(ctx, path, t, count, most, &json);
    takt_json_close(&json, '}');
    takt_json_close(&json, '}');
    if (status == TAKT_OK)
        status = takt_write_text(ctx, path, &text);
    takt_text_deinit(&text);
    return status;
}

const takt_weights_format takt_weights_index = {
    .name = "index", .recognises = recognises, .each = each, .ending = ".index.json", .save = save};
