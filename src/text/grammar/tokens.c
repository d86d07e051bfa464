/* tokens.c - the tokens of a vocabulary in the order of their bytes. */
#include <string.h>

#include "base/sort.h"
#include "text/grammar/grammar.h"
#include "text/tokenizer.h"

static bool before(const void *a, const void *b)
{
    const takt_token_row *x = a, *y = b;
    const size_t both = x->length < y->length ? x->length : y->length;
    const int order = both > 0 ? memcmp(x->at, y->at, both) : 0;
    if (order != 0)
        return order < 0;
    return x->length != y->length ? x->length < y->length : x->id < y->id;
}

static uint32_t common(const takt_token_row *x, const takt_token_row *y)
{
    uint32_t n = 0;
    while (n < x->length && n < y->length && x->at[n] == y->at[n])
        n++;
    return n;
}

enum { LONGEST = 1024 };

/* The bytes of a token; longer ones, which no grammar needs, are left out. */
static takt_status read_row(takt_token_table *table, const takt_tokenizer *t, int32_t id,
                            takt_token_row *row)
{
    char text[LONGEST];
    takt_token_text room = {text, sizeof text, 0};
    *row = (takt_token_row){.id = id};
    if (takt_token_is_end(t, id))
        return TAKT_OK;
    TAKT_TRY(takt_detokenize(t, &id, 1, TAKT_DETOKENIZE_CONTINUE, &room));
    if (room.length == 0 || room.length > sizeof text)
        return TAKT_OK;
    row->at = takt_arena_copy(&table->arena, text, room.length);
    row->length = (uint32_t)room.length;
    if (room.length > table->longest)
        table->longest = room.length;
    return row->at != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

static takt_status fill(takt_token_table *table, const takt_tokenizer *t)
{
    const size_t tokens = takt_tokenizer_count(t);
    takt_token_row *rows = takt_arena_array(&table->arena, tokens, sizeof *rows);
    const void **order = takt_arena_array(&table->arena, tokens, sizeof *order);
    table->rows = takt_arena_array(&table->arena, tokens, sizeof *table->rows);
    if (rows == NULL || order == NULL || table->rows == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < tokens; i++) {
        TAKT_TRY(read_row(table, t, (int32_t)i, &rows[i]));
        if (rows[i].length > 0)
            order[table->count++] = &rows[i];
    }
    takt_sort_pointers(order, table->count, before);
    for (size_t i = 0; i < table->count; i++) {
        table->rows[i] = *(const takt_token_row *)order[i];
        table->rows[i].same = i > 0 ? common(&table->rows[i - 1], &table->rows[i]) : 0;
    }
    return TAKT_OK;
}

takt_status takt_token_table_init(takt_token_table *table, takt_ctx *ctx, const takt_tokenizer *t)
{
    *table = (takt_token_table){.ctx = ctx};
    takt_arena_init(&table->arena, ctx);
    const takt_status status = fill(table, t);
    if (status != TAKT_OK)
        takt_token_table_deinit(table);
    return status;
}

void takt_token_table_deinit(takt_token_table *table)
{
    takt_arena_deinit(&table->arena);
    *table = (takt_token_table){.ctx = table->ctx};
}
