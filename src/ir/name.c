/* name.c - a node is printed under its own name if no other has it, else as v<id>. */
#include "ir/name.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "ir/leaves.h"

static const char *const reserved[] = {
    "model", "layer", "param", "state",  "next", "return", "repeat", "as",  "if",  "else", "graph",
    "true",  "false", "none",  "import", "in",   "inf",    "nan",    "hex", "for", "_"};

/* The first letter distinguishes most words: computing their length took a tenth of the parsing
 * time. */
static bool is_word(const char *word, const char *name, size_t length)
{
    return length > 0 && word[0] == name[0] && strlen(word) == length &&
           memcmp(word, name, length) == 0;
}

bool takt_name_is_reserved(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (is_word(reserved[i], name, length))
            return true;
    for (int d = 0; d < TAKT_DTYPE_COUNT; d++)
        if (is_word(takt_dtype_name((takt_dtype)d), name, length))
            return true;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether it needs no backquotes: a letter first, then letters and digits; parts joined by single
 * dots. */
static bool is_plain(const char *name)
{
    if (!is_letter(name[0]))
        return false;
    for (const char *c = name; *c != '\0'; c++) {
        const bool joins = *c == '.' && (is_letter(c[1]) || is_digit(c[1]));
        if (!is_letter(*c) && !is_digit(*c) && !joins)
            return false;
    }
    return !takt_name_is_reserved(name, strlen(name));
}

/* U+0000 to U+001F, U+007F and U+0080 to U+009F: terminals may interpret them. */
static bool is_control(const char *at)
{
    const unsigned char c = (unsigned char)at[0];
    return c < 0x20 || c == 0x7f || (c == 0xc2 && ((unsigned char)at[1] & 0xe0) == 0x80);
}

enum { PIECE = 8 };

/* The character at `*at` as written in backquotes; returns its bytes. */
static size_t piece(const char **at, char to[static PIECE])
{
    const char *from = *at;
    const bool is_long = (unsigned char)from[0] == 0xc2 && is_control(from);
    *at += is_long ? 2 : 1;
    if (from[0] == '\n')
        return (size_t)snprintf(to, PIECE, "\\n");
    if (is_control(from))
        return (size_t)snprintf(to, PIECE, "\\u{%x}", (unsigned char)from[is_long ? 1 : 0]);
    if (from[0] == '`' || from[0] == '\\')
        return (size_t)snprintf(to, PIECE, "\\%c", from[0]);
    to[0] = from[0];
    return 1;
}

void takt_name_print(const char *name, takt_text *text)
{
    if (is_plain(name)) {
        takt_text_add(text, "%s", name);
        return;
    }
    takt_text_add(text, "`");
    for (const char *at = name; *at != '\0';) {
        char one[PIECE];
        const size_t length = piece(&at, one);
        takt_text_put(text, one, length);
    }
    takt_text_add(text, "`");
}

static void put(const char *bytes, size_t length, char *to, size_t size, size_t *at)
{
    if (*at + length < size)
        memcpy(to + *at, bytes, length);
    if (*at < size)
        to[*at + length < size ? *at + length : *at] = '\0';
    *at += length;
}

size_t takt_name_put(const char *name, char *to, size_t size)
{
    size_t length = 0;
    if (is_plain(name)) {
        length = strlen(name);
        const size_t kept = length < size ? length : takt_utf8_cut(name, size > 0 ? size - 1 : 0);
        if (size > 0) {
            memcpy(to, name, kept);
            to[kept] = '\0';
        }
        return length;
    }
    put("`", 1, to, size, &length);
    for (const char *at = name; *at != '\0';) {
        char one[PIECE];
        const size_t more = piece(&at, one);
        put(one, more, to, size, &length);
    }
    put("`", 1, to, size, &length);
    return length;
}

/* ---- unique names: a set by open addressing ---- */

typedef struct set {
    const char **slots;
    size_t size;
} set;

static size_t place(const set *s, const char *name)
{
    size_t i = takt_hash_bytes(7, name, strlen(name)) & (s->size - 1);
    while (s->slots[i] != NULL && strcmp(s->slots[i], name) != 0)
        i = (i + 1) & (s->size - 1);
    return i;
}

static bool claim(set *s, const char *name)
{
    const size_t i = place(s, name);
    if (s->slots[i] != NULL)
        return false;
    s->slots[i] = name;
    return true;
}

static const char *fresh(takt_name_table *t, set *taken, size_t id)
{
    const char *name = takt_arena_format(&t->arena, "v%zu", id);
    while (name != NULL && !claim(taken, name))
        name = takt_arena_format(&t->arena, "%s_", name);
    return name;
}

static takt_status assign(takt_name_table *t, const takt_graph *g, set *taken)
{
    for (size_t i = 0; i < g->input_count; i++) /* ports always keep their names */
        if (claim(taken, g->inputs[i].name))
            t->of[g->inputs[i].id] = g->inputs[i].name;
    for (size_t i = 0; i < g->slot_count; i++)
        if (claim(taken, g->slots[i].name))
            t->of[g->slots[i].value] = g->slots[i].name;
    for (size_t i = 0; i < g->count; i++)
        if (t->of[i] == NULL && g->nodes[i].name != NULL && g->nodes[i].out_count == 1 &&
            claim(taken, g->nodes[i].name))
            t->of[i] = g->nodes[i].name;
    for (size_t i = 0; i < g->count; i++)
        if (t->of[i] == NULL && (t->of[i] = fresh(t, taken, i)) == NULL)
            return TAKT_ERR_MEMORY;
    return TAKT_OK;
}

static void chain_gets(takt_name_table *t, const takt_graph *g)
{
    memset(t->gets, 0xff, g->count * sizeof *t->gets);
    memset(t->next_get, 0xff, g->count * sizeof *t->next_get);
    for (size_t i = 0; i < g->count; i++) {
        if (g->nodes[i].op != &takt_op_get)
            continue;
        t->next_get[i] = t->gets[g->nodes[i].in[0]];
        t->gets[g->nodes[i].in[0]] = (takt_id)i;
    }
}

takt_status takt_name_table_init(takt_name_table *t, const takt_graph *g)
{
    t->ctx = g->ctx;
    takt_arena_init(&t->arena, g->ctx);
    set taken = {.size = 64};
    while (taken.size < 4 * (g->count + 1))
        taken.size *= 2;
    taken.slots = takt_arena_array(&t->arena, taken.size, sizeof *taken.slots);
    t->of = takt_arena_array(&t->arena, g->count, sizeof *t->of);
    t->gets = takt_arena_array(&t->arena, g->count, sizeof *t->gets);
    t->next_get = takt_arena_array(&t->arena, g->count, sizeof *t->next_get);
    if (taken.slots == NULL || t->of == NULL || t->gets == NULL || t->next_get == NULL ||
        assign(t, g, &taken) != TAKT_OK) {
        takt_arena_deinit(&t->arena);
        return TAKT_ERR_MEMORY;
    }
    chain_gets(t, g);
    return TAKT_OK;
}

void takt_name_table_deinit(takt_name_table *t)
{
    takt_arena_deinit(&t->arena);
}

takt_id takt_name_table_get(const takt_name_table *t, const takt_graph *g, takt_id id,
                            uint32_t index)
{
    for (takt_id k = t->gets[id]; k != TAKT_NONE; k = t->next_get[k])
        if (g->nodes[k].attr[0].i64 == (int64_t)index)
            return k;
    return TAKT_NONE;
}
