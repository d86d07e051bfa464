/* message.c - reads a message in two passes: one counts repeated fields, one fills them in. */
#include "io/onnx/message.h"

#include <string.h>

enum { RULES = 16 };

static const takt_pb_rule *find(const takt_pb_def *def, uint32_t number, size_t *index)
{
    for (size_t i = 0; i < RULES && def->rules[i].kind != TAKT_PB_END; i++)
        if (def->rules[i].number == number) {
            *index = i;
            return &def->rules[i];
        }
    return NULL;
}

static takt_wire wire_of(takt_pb_kind kind)
{
    switch (kind) {
    case TAKT_PB_I64:
    case TAKT_PB_I64S: return TAKT_WIRE_VARINT;
    case TAKT_PB_F32:
    case TAKT_PB_F32S: return TAKT_WIRE_32;
    default: return TAKT_WIRE_BYTES;
    }
}

static size_t item_size(const takt_pb_rule *rule)
{
    switch (rule->kind) {
    case TAKT_PB_I64S: return sizeof(int64_t);
    case TAKT_PB_F32S: return sizeof(float);
    case TAKT_PB_TEXTS: return sizeof(takt_span);
    default: return rule->def->size;
    }
}

static takt_status count_fields(takt_ctx *ctx, const takt_pb_def *def, takt_cursor c,
                                size_t counts[RULES])
{
    for (;;) {
        takt_field f;
        bool more;
        TAKT_TRY(takt_wire_next(ctx, &c, &f, &more));
        if (!more)
            return TAKT_OK;
        size_t at = 0, count = 1;
        const takt_pb_rule *rule = find(def, f.number, &at);
        if (rule == NULL)
            continue; /* a field of a newer version, or one that is not used */
        if (rule->kind == TAKT_PB_I64S || rule->kind == TAKT_PB_F32S)
            TAKT_TRY(takt_wire_count(ctx, &f, wire_of(rule->kind), rule->name, &count));
        else
            TAKT_TRY(takt_wire_expect(ctx, &f, wire_of(rule->kind), rule->name));
        if (rule->kind < TAKT_PB_I64S && counts[at] > 0)
            return takt_wire_fail(ctx, f.at, "%s of a %s is given twice", rule->name, def->name);
        counts[at] += count;
    }
}

static takt_status make_room(takt_arena *arena, const takt_pb_def *def, const size_t counts[RULES],
                             char *out)
{
    for (size_t i = 0; i < RULES && def->rules[i].kind != TAKT_PB_END; i++) {
        const takt_pb_rule *rule = &def->rules[i];
        if (rule->kind < TAKT_PB_I64S || counts[i] == 0)
            continue;
        void *items = takt_arena_array(arena, counts[i], item_size(rule));
        if (items == NULL)
            return TAKT_ERR_MEMORY;
        memcpy(out + rule->at, &items, sizeof items);
    }
    return TAKT_OK;
}

static takt_status put_numbers(takt_arena *arena, const takt_pb_rule *rule, const takt_field *f,
                               char *items, size_t *count)
{
    size_t fresh = 0;
    TAKT_TRY(takt_wire_count(arena->ctx, f, wire_of(rule->kind), rule->name, &fresh));
    uint64_t one = 0, *bits = &one;
    if (fresh > 1 && (bits = takt_arena_array(arena, fresh, sizeof *bits)) == NULL)
        return TAKT_ERR_MEMORY;
    if (fresh > 0)
        TAKT_TRY(takt_wire_numbers(arena->ctx, f, wire_of(rule->kind), bits));
    for (size_t i = 0; i < fresh; i++) {
        const uint32_t low = (uint32_t)bits[i];
        if (rule->kind == TAKT_PB_I64S)
            memcpy(items + (*count + i) * sizeof(int64_t), &bits[i], sizeof(int64_t));
        else
            memcpy(items + (*count + i) * sizeof(float), &low, sizeof low);
    }
    *count += fresh;
    return TAKT_OK;
}

static takt_status put_repeated(takt_arena *arena, const takt_pb_rule *rule, const takt_field *f,
                                uint64_t depth, char *out)
{
    char *items;
    size_t count;
    memcpy(&items, out + rule->at, sizeof items);
    memcpy(&count, out + rule->count_at, sizeof count);
    if (rule->kind == TAKT_PB_TEXTS) {
        ((takt_span *)(void *)items)[count++] = takt_wire_span(f);
    } else if (rule->kind == TAKT_PB_MESSAGES) {
        TAKT_TRY(takt_pb_read(arena, rule->def, f->body, depth, items + count * rule->def->size));
        count++;
    } else {
        TAKT_TRY(put_numbers(arena, rule, f, items, &count));
    }
    memcpy(out + rule->count_at, &count, sizeof count);
    return TAKT_OK;
}

static takt_status put_single(takt_arena *arena, const takt_pb_rule *rule, const takt_field *f,
                              uint64_t depth, char *out)
{
    const takt_span text = takt_wire_span(f);
    const uint32_t low = (uint32_t)f->value;
    const bool yes = true;
    if (rule->flag_at != 0)
        memcpy(out + rule->flag_at, &yes, sizeof yes);
    if (rule->kind == TAKT_PB_I64)
        memcpy(out + rule->at, &f->value, sizeof f->value);
    else if (rule->kind == TAKT_PB_F32)
        memcpy(out + rule->at, &low, sizeof low);
    else if (rule->kind == TAKT_PB_TEXT)
        memcpy(out + rule->at, &text, sizeof text);
    else {
        void *message = takt_arena_array(arena, 1, rule->def->size);
        if (message == NULL)
            return TAKT_ERR_MEMORY;
        memcpy(out + rule->at, &message, sizeof message);
        return takt_pb_read(arena, rule->def, f->body, depth, message);
    }
    return TAKT_OK;
}

takt_status takt_pb_read(takt_arena *arena, const takt_pb_def *def, takt_cursor body,
                         uint64_t depth, void *out)
{
    takt_ctx *ctx = arena->ctx;
    size_t counts[RULES] = {0};
    const uint64_t at = takt_cursor_offset(&body);
    if (def->nests && ++depth > ctx->limits.depth)
        return takt_wire_fail(ctx, at, "%ss are nested deeper than %llu", def->name,
                              (unsigned long long)ctx->limits.depth);
    memcpy((char *)out + def->at, &at, sizeof at);
    if (def->body_at != 0)
        memcpy((char *)out + def->body_at, &body, sizeof body);
    TAKT_TRY(count_fields(ctx, def, body, counts));
    TAKT_TRY(make_room(arena, def, counts, out));
    for (;;) {
        takt_field f;
        bool more;
        size_t index;
        TAKT_TRY(takt_wire_next(ctx, &body, &f, &more));
        if (!more)
            return TAKT_OK;
        const takt_pb_rule *rule = find(def, f.number, &index);
        if (rule != NULL && rule->kind >= TAKT_PB_I64S)
            TAKT_TRY(put_repeated(arena, rule, &f, depth, out));
        else if (rule != NULL)
            TAKT_TRY(put_single(arena, rule, &f, depth, out));
    }
}
