/* datalog_symbols.c - every symbol and number that a Datalog program and its files name. */
#include <string.h>

#include "base/mem.h"
#include "logic/datalog.h"

typedef struct finder {
    takt_dlog_program *p;
    takt_dlog_symbols *all;
} finder;

static uint64_t hash(takt_span s)
{
    uint64_t h = 1469598103934665603U;
    for (size_t i = 0; i < s.length; i++)
        h = (h ^ (unsigned char)s.at[i]) * 1099511628211U;
    return h ^ h >> 29;
}

static takt_status enlarge(finder *w)
{
    takt_dlog_symbols *s = w->all;
    const size_t capacity = s->capacity > 0 ? 2 * s->capacity : 64;
    takt_span *at = takt_arena_array(&w->p->arena, capacity, sizeof *at);
    uint32_t *table = takt_arena_array(&w->p->arena, 4 * capacity, sizeof *table);
    if (at == NULL || table == NULL)
        return TAKT_ERR_MEMORY;
    if (s->count > 0)
        memcpy(at, s->at, s->count * sizeof *at);
    for (size_t i = 0; i < s->count; i++) {
        size_t place = hash(at[i]) & (4 * capacity - 1);
        while (table[place] != 0)
            place = (place + 1) & (4 * capacity - 1);
        table[place] = (uint32_t)i + 1;
    }
    s->at = at;
    s->table = table;
    s->capacity = capacity;
    s->table_size = 4 * capacity;
    return TAKT_OK;
}

static takt_status add_symbol(finder *w, takt_span name)
{
    takt_dlog_symbols *s = w->all;
    if (s->count == s->capacity)
        TAKT_TRY(enlarge(w));
    size_t place = hash(name) & (s->table_size - 1);
    for (; s->table[place] != 0; place = (place + 1) & (s->table_size - 1)) {
        const takt_span other = s->at[s->table[place] - 1];
        if (other.length == name.length && memcmp(other.at, name.at, name.length) == 0)
            return TAKT_OK;
    }
    char *copy = takt_arena_text(&w->p->arena, name.at, name.length);
    if (copy == NULL)
        return TAKT_ERR_MEMORY;
    s->table[place] = (uint32_t)s->count + 1;
    s->at[s->count++] = (takt_span){copy, name.length};
    return TAKT_OK;
}

static takt_status collect(finder *w, const takt_dlog_node *n)
{
    if (n == NULL)
        return TAKT_OK;
    if (n->kind == TAKT_DLOG_STRING)
        return add_symbol(w, n->text);
    if (n->kind == TAKT_DLOG_NUMBER && n->number > w->all->largest)
        w->all->largest = n->number;
    TAKT_TRY(collect(w, n->a));
    TAKT_TRY(collect(w, n->b));
    for (int i = 0; i < n->term_count; i++)
        TAKT_TRY(collect(w, n->terms[i]));
    return TAKT_OK;
}

/* One field of a file of facts. */
static takt_status field(finder *w, takt_dlog_relation *r, int line, int index, takt_span text)
{
    int64_t value = 0;
    const char *unfit = r->is_symbol[index] ? takt_dlog_unfit(r, index, text) : NULL;
    if (unfit != NULL)
        return takt_dlog_refuse(w->p, line, unfit, text);
    if (r->is_symbol[index])
        return add_symbol(w, text);
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || value > INT32_MAX / 10 - 1)
            return takt_dlog_refuse(w->p, line, "only numbers from 0 to 2147483600 are read", text);
        value = 10 * value + (text.at[i] - '0');
    }
    if (text.length == 0)
        return takt_dlog_refuse(w->p, line, "a number is missing", text);
    w->all->largest = value > w->all->largest ? value : w->all->largest;
    r->largest[index] = value > r->largest[index] ? value : r->largest[index];
    return TAKT_OK;
}

static takt_status fields(finder *w, takt_dlog_relation *r, int line, takt_span text)
{
    int count = 0;
    const char *end = text.at + text.length;
    for (const char *at = text.at; at <= end; count++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        tab = tab != NULL ? tab : end;
        if (count == r->arity)
            return takt_dlog_refuse(w->p, line, "more columns than the .decl of", r->name);
        TAKT_TRY(field(w, r, line, count, (takt_span){at, (size_t)(tab - at)}));
        at = tab + 1;
    }
    return count == r->arity
               ? TAKT_OK
               : takt_dlog_refuse(w->p, line, "fewer columns than the .decl of", r->name);
}

static takt_status scan(finder *w, takt_dlog_relation *r, takt_span text)
{
    size_t at = 0;
    for (int line = 1; at < text.length; line++) {
        const char *from = text.at + at, *end = memchr(from, '\n', text.length - at);
        size_t length = end != NULL ? (size_t)(end - from) : text.length - at;
        at += length + 1;
        length -= length > 0 && from[length - 1] == '\r';
        r->fact_count += length > 0;
        if (length > 0)
            TAKT_TRY(fields(w, r, line, (takt_span){from, length}));
    }
    return TAKT_OK;
}

static takt_status read_inputs(finder *w, takt_dlog_file_fn *facts, void *user)
{
    for (takt_dlog_relation *r = w->p->relations; r != NULL; r = r->next) {
        void *bytes;
        size_t length;
        if (r->input == NULL)
            continue;
        r->has_facts = true;
        TAKT_TRY(facts(user, r->input, &bytes, &length));
        const char *program = w->p->file;
        w->p->file = r->input; /* for messages */
        const takt_status status = scan(w, r, (takt_span){bytes, length});
        w->p->file = program;
        takt_mem_put(w->p->ctx, bytes, length);
        TAKT_TRY(status);
    }
    return TAKT_OK;
}

takt_status takt_dlog_symbols_of(takt_dlog_program *p, takt_dlog_file_fn *facts, void *user,
                                 takt_dlog_symbols *all)
{
    finder w = {p, all};
    *all = (takt_dlog_symbols){.largest = -1};
    for (takt_dlog_relation *r = p->relations; r != NULL; r = r->next)
        for (int i = 0; i < r->arity; i++)
            r->largest[i] = -1;
    for (const takt_dlog_clause *c = p->clauses; c != NULL; c = c->next) {
        TAKT_TRY(collect(&w, c->head));
        TAKT_TRY(collect(&w, c->body));
    }
    TAKT_TRY(read_inputs(&w, facts, user));
    return takt_dlog_bound(p, all);
}
