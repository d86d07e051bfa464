/* cache.c - a decoded data set in a file, which the next training run maps instead of decoding
 * again.
 *
 * The file is in safetensors format: fields are called "field.N.NAME", and "takt.stamp",
 * "takt.format" and "takt.facts" say what was decoded, from which format, and numbers that are not
 * a field; "takt.classes" has the names of classes, one a line. The last bytes, "takt.sum", are the
 * CRC-32C of all before them, as text. A file of any other form is not used: the data set is
 * decoded again, and the file replaced. */
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/map.h"
#include "io/safetensors/safetensors.h"
#include "train/data/data.h"

enum { OWN = 5, WINDOW = 0, CLASSES, RATE, SKIPPED, FACTS };
enum { SUM = 9 }; /* bytes: eight digits and the terminator */

static const char stamp_name[] = "takt.stamp", format_name[] = "takt.format",
                  facts_name[] = "takt.facts", classes_name[] = "takt.classes",
                  sum_name[] = "takt.sum", field_prefix[] = "field.";

/* ---- writing ---- */

static takt_status text_tensor(takt_ctx *ctx, const char *text, takt_tensor *out)
{
    const takt_type type = {.dtype = TAKT_U8, .rank = 1, .dim = {(int64_t)strlen(text) + 1}};
    TAKT_TRY(takt_tensor_create(ctx, &type, out));
    memcpy(takt_tensor_data(out), text, strlen(text) + 1);
    return TAKT_OK;
}

static takt_status facts_tensor(const takt_data_set *set, takt_tensor *out)
{
    const takt_type type = {.dtype = TAKT_I64, .rank = 1, .dim = {FACTS}};
    TAKT_TRY(takt_tensor_create(set->ctx, &type, out));
    int64_t *facts = takt_tensor_data(out);
    facts[WINDOW] = set->window;
    facts[CLASSES] = set->classes;
    facts[RATE] = set->rate;
    facts[SKIPPED] = (int64_t)set->skipped;
    return TAKT_OK;
}

static takt_status classes_tensor(const takt_data_set *set, takt_tensor *out)
{
    takt_text text;
    takt_text_init(&text, set->ctx);
    for (size_t i = 0; i < set->names; i++)
        takt_text_add(&text, "%s\n", set->class_name[i]);
    takt_status status = text.status;
    if (status == TAKT_OK)
        status = text_tensor(set->ctx, takt_text_get(&text), out);
    takt_text_deinit(&text);
    return status;
}

/* The checksum of all bytes but the last SUM. */
static void sum_of(const void *bytes, size_t length, char text[static SUM])
{
    snprintf(text, SUM, "%08x", (unsigned)takt_crc32c(0, bytes, length - SUM));
}

/* Fields with the widest elements first, so that every element is aligned. */
static size_t arrange(takt_arena *arena, const takt_data_set *set, takt_named_tensor *all)
{
    size_t count = 0;
    for (int bits = 64; bits >= 8; bits /= 2)
        for (size_t i = 0; i < set->count; i++) {
            const takt_field *f = &set->field[i];
            if (takt_dtype_bits(f->tensor.type.dtype) != bits)
                continue;
            const char *name = takt_arena_format(arena, "%s%02zu.%s", field_prefix, i, f->name);
            if (name == NULL)
                return 0;
            all[count++] = (takt_named_tensor){name, &f->tensor};
        }
    return count;
}

static takt_status write_file(const takt_data_set *set, const char *path, takt_named_tensor *all,
                              size_t count)
{
    void *bytes;
    size_t length;
    TAKT_TRY(takt_safetensors_write(set->ctx, all, count, &bytes, &length));
    sum_of(bytes, length, (char *)bytes + length - SUM);
    const takt_status status = takt_write_file(set->ctx, path, bytes, length);
    takt_mem_put(set->ctx, bytes, length);
    if (status == TAKT_ERR_IO)
        return takt_fail_hint(set->ctx, "without --cache disk the data stays in memory");
    return status;
}

takt_status takt_data_cache_write(const takt_data_set *set, const char *path, const char *stamp)
{
    takt_tensor own[OWN] = {0};
    takt_named_tensor all[TAKT_DATA_FIELDS + OWN];
    takt_arena arena;
    takt_arena_init(&arena, set->ctx);
    takt_status status = facts_tensor(set, &own[0]);
    if (status == TAKT_OK)
        status = text_tensor(set->ctx, stamp, &own[1]);
    if (status == TAKT_OK)
        status = text_tensor(set->ctx, set->format, &own[2]);
    if (status == TAKT_OK)
        status = text_tensor(set->ctx, "00000000", &own[3]);
    if (status == TAKT_OK)
        status = classes_tensor(set, &own[4]);
    all[0] = (takt_named_tensor){facts_name, &own[0]};
    const size_t fields = arrange(&arena, set, all + 1);
    all[1 + fields] = (takt_named_tensor){stamp_name, &own[1]};
    all[2 + fields] = (takt_named_tensor){format_name, &own[2]};
    all[3 + fields] = (takt_named_tensor){classes_name, &own[4]};
    all[4 + fields] = (takt_named_tensor){sum_name, &own[3]};
    if (status == TAKT_OK && fields < set->count)
        status = TAKT_ERR_MEMORY;
    if (status == TAKT_OK)
        status = write_file(set, path, all, fields + OWN);
    for (size_t i = 0; i < OWN; i++)
        takt_tensor_release(&own[i]);
    takt_arena_deinit(&arena);
    return status;
}

/* ---- reading ---- */

typedef struct source {
    takt_data_set *set;
    takt_storage *storage;
    const char *bytes;
    size_t length;
    takt_weight_list list;
} source;

static const takt_weight *find(const source *s, const char *name)
{
    for (size_t i = 0; i < s->list.count; i++)
        if (strcmp(s->list.at[i].name, name) == 0)
            return &s->list.at[i];
    return NULL;
}

/* A NUL-terminated text; NULL if it is not a text. */
static const char *text_of(const source *s, const char *name)
{
    const takt_weight *w = find(s, name);
    if (w == NULL || w->type.dtype != TAKT_U8 || w->bytes == 0 ||
        s->bytes[w->offset + w->bytes - 1] != '\0')
        return NULL;
    return s->bytes + w->offset;
}

/* Verifies that no byte has changed since the file was written. */
static bool is_whole(const source *s)
{
    const takt_weight *w = find(s, sum_name);
    char sum[SUM];
    if (w == NULL || w->bytes != SUM || w->offset + SUM != s->length)
        return false;
    sum_of(s->bytes, s->length, sum);
    return memcmp(sum, s->bytes + w->offset, SUM) == 0;
}

static const char *format_of(const source *s)
{
    const char *name = text_of(s, format_name);
    for (size_t i = 0; name != NULL && takt_data_readers[i] != NULL; i++)
        if (strcmp(takt_data_readers[i]->name, name) == 0)
            return takt_data_readers[i]->name;
    return name != NULL && strcmp(name, takt_data_folders) == 0 ? takt_data_folders : NULL;
}

/* "field.03.labels" is field 3 and called labels. */
static bool take_field(source *s, const takt_weight *w)
{
    const size_t prefix = sizeof field_prefix - 1;
    if (strncmp(w->name, field_prefix, prefix) != 0)
        return true; /* one of the others */
    const char *number = w->name + prefix;
    if (strspn(number, "0123456789") != 2 || number[2] != '.' || w->type.rank == 0)
        return false;
    const size_t index = (size_t)(10 * (number[0] - '0') + number[1] - '0');
    if (index >= TAKT_DATA_FIELDS)
        return false;
    takt_field *f = &s->set->field[index];
    const char *name = number + 3;
    if (f->name != NULL ||
        !takt_map_tensor(s->storage, s->length, &w->type, s->bytes + w->offset, &f->tensor))
        return false;
    f->name = takt_arena_text(&s->set->arena, name, strlen(name));
    s->set->count++;
    return f->name != NULL;
}

static bool take_facts(source *s)
{
    const takt_weight *w = find(s, facts_name);
    int64_t facts[FACTS];
    if (w == NULL || w->type.dtype != TAKT_I64 || w->bytes != sizeof facts)
        return false;
    memcpy(facts, s->bytes + w->offset, sizeof facts);
    s->set->window = facts[WINDOW];
    s->set->classes = facts[CLASSES];
    s->set->rate = facts[RATE];
    s->set->skipped = (uint64_t)facts[SKIPPED];
    const takt_type *first = &s->set->field[0].tensor.type;
    return facts[CLASSES] >= 0 && facts[RATE] >= 0 && facts[WINDOW] >= 0 && facts[SKIPPED] >= 0 &&
           (facts[WINDOW] == 0 ||
            (s->set->count == 1 && first->rank == 1 && first->dim[0] > facts[WINDOW]));
}

/* One to a line. */
static bool take_classes(source *s)
{
    takt_data_set *set = s->set;
    const char *at = text_of(s, classes_name);
    size_t lines = 0;
    for (const char *c = at; c != NULL && *c != '\0'; c++)
        lines += *c == '\n';
    const char **name = takt_arena_array(&set->arena, lines + 1, sizeof *name);
    for (size_t i = 0; at != NULL && name != NULL && i < lines; i++) {
        const size_t length = strcspn(at, "\n");
        name[i] = takt_arena_text(&set->arena, at, length);
        if (name[i] == NULL)
            return false;
        at += length + 1;
    }
    set->class_name = name;
    set->names = lines;
    return at != NULL && name != NULL;
}

static bool take(source *s, const char *stamp)
{
    const char *was = text_of(s, stamp_name);
    bool is_good = was != NULL && strcmp(was, stamp) == 0 && is_whole(s);
    for (size_t i = 0; i < s->list.count && is_good; i++)
        is_good = take_field(s, &s->list.at[i]);
    s->set->format = format_of(s);
    is_good = is_good && s->set->format != NULL && take_facts(s) && take_classes(s);
    for (size_t i = 0; i < TAKT_DATA_FIELDS && is_good; i++) /* no number is missing */
        is_good = (i < s->set->count) == (s->set->field[i].name != NULL);
    return is_good;
}

/* Frees memory allocated for a file that is not used after all. */
static void forget(takt_data_set *set)
{
    for (size_t i = 0; i < TAKT_DATA_FIELDS; i++)
        takt_tensor_release(&set->field[i].tensor);
    memset(set->field, 0, sizeof set->field);
    set->count = 0;
    set->window = set->classes = set->rate = 0;
    set->skipped = 0;
    set->names = 0;
    set->format = NULL;
}

takt_status takt_data_cache_read(takt_data_set *set, const char *path, const char *stamp,
                                 bool *found)
{
    const takt_error before = set->ctx->error;
    source s = {.set = set};
    takt_arena arena;
    *found = false;
    takt_arena_init(&arena, set->ctx);
    takt_status status = takt_map_file(set->ctx, path, &s.storage, &s.length);
    if (status == TAKT_OK && s.storage != NULL) {
        s.bytes = takt_storage_data(s.storage);
        status = takt_safetensors_read(&arena, path, (const uint8_t *)s.bytes, s.length, &s.list);
        *found = status == TAKT_OK && take(&s, stamp);
        if (!*found)
            forget(set);
        takt_storage_release(s.storage);
    }
    takt_arena_deinit(&arena);
    if (status != TAKT_OK && status != TAKT_ERR_MEMORY) { /* it is decoded, and written again */
        set->ctx->error = before;
        status = TAKT_OK;
    }
    return status;
}
