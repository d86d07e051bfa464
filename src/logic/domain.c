/* domain.c - names of a domain, found by hashing. */
#include "logic/domain.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/near.h"
#include "base/utf8.h"
#include "logic/lines.h"

/* The largest domain: numbers of entries fit 31 bits, and so does a table of twice as many. */
enum { MOST = 1 << 30 };

uint64_t takt_domain_hash(takt_span name)
{
    return takt_hash_bytes(name.length, name.at, name.length);
}

/* Most names are short: two overlapping words cover all of one. */
static bool is_same(takt_span a, takt_span b)
{
    uint64_t x[2], y[2];
    if (a.length != b.length)
        return false;
    if (a.length < sizeof *x || a.length > sizeof x)
        return memcmp(a.at, b.at, a.length) == 0;
    memcpy(&x[0], a.at, sizeof *x);
    memcpy(&y[0], b.at, sizeof *y);
    memcpy(&x[1], a.at + a.length - sizeof *x, sizeof *x);
    memcpy(&y[1], b.at + b.length - sizeof *y, sizeof *y);
    return x[0] == y[0] && x[1] == y[1];
}

static size_t place(const takt_domain *d, takt_span name, uint64_t hash)
{
    size_t i = hash & (d->table_size - 1);
    for (; d->table[i].entry != 0; i = (i + 1) & (d->table_size - 1))
        if (d->table[i].tag == hash >> 32 && is_same(d->entries[d->table[i].entry - 1], name))
            break;
    return i;
}

takt_status takt_domain_of(takt_arena *arena, const char *name, const takt_span *entries,
                           size_t count, takt_domain **domain)
{
    takt_domain *d = takt_arena_array(arena, 1, sizeof *d);
    if (d == NULL)
        return TAKT_ERR_MEMORY;
    if (count > MOST)
        return takt_fail(arena->ctx, TAKT_E_FACTS, "domain %s has more than %d names", name, MOST);
    *d = (takt_domain){.name = name, .size = (takt_dim)count, .entries = entries, .table_size = 4};
    while (d->table_size < 2 * count)
        d->table_size *= 2;
    d->table = takt_arena_array(arena, d->table_size, sizeof *d->table);
    if (d->table == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const uint64_t hash = takt_domain_hash(entries[i]);
        const size_t at = place(d, entries[i], hash);
        if (d->table[at].entry != 0)
            return takt_fail(arena->ctx, TAKT_E_FACTS, "domain %s has the name %.*s twice", name,
                             entries[i].length < 64 ? (int)entries[i].length : 64, entries[i].at);
        d->table[at].entry = (uint32_t)i + 1;
        d->table[at].tag = (uint32_t)(hash >> 32);
    }
    *domain = d;
    return TAKT_OK;
}

takt_status takt_domain_read(takt_arena *arena, const char *name, const char *file, takt_span text,
                             takt_domain **domain)
{
    takt_lines lines = takt_lines_of(file, text);
    takt_span line;
    size_t count = 0;
    while (takt_lines_next(&lines, &line))
        count++;
    const char *copy = takt_arena_text(arena, text.at, text.length);
    takt_span *entries = takt_arena_array(arena, count + 1, sizeof *entries);
    if (copy == NULL || entries == NULL)
        return TAKT_ERR_MEMORY;
    lines = takt_lines_of(file, (takt_span){copy, text.length});
    for (size_t i = 0; i < count && takt_lines_next(&lines, &line); i++) {
        if (takt_utf8_check(line.at, line.length) != line.length)
            return takt_fail(arena->ctx, TAKT_E_FACTS, "%s:%u: the name is not UTF-8", file,
                             lines.number);
        entries[i] = line;
    }
    return takt_domain_of(arena, name, entries, count, domain);
}

static bool digits(takt_span name, uint32_t *value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < name.length; i++) {
        if (name.at[i] < '0' || name.at[i] > '9' || sum > UINT32_MAX)
            return false;
        sum = 10 * sum + (uint64_t)(name.at[i] - '0');
    }
    *value = (uint32_t)sum;
    return name.length > 0 && sum <= UINT32_MAX;
}

bool takt_domain_find(const takt_domain *domain, takt_span name, uint32_t *index)
{
    if (domain->entries == NULL)
        return digits(name, index) && (!takt_dim_is_number(domain->size) || *index < domain->size);
    return takt_domain_find_hashed(domain, name, takt_domain_hash(name), index);
}

bool takt_domain_find_hashed(const takt_domain *domain, takt_span name, uint64_t hash,
                             uint32_t *index)
{
    const size_t at = place(domain, name, hash);
    *index = domain->table[at].entry - 1;
    return domain->table[at].entry != 0;
}

void takt_domain_prefetch(const takt_domain *d, uint64_t hash, int stage)
{
    const size_t at = hash & (d->table_size - 1);
    const uint32_t entry = stage == 0 ? 0 : d->table[at].entry;
    if (stage == 0)
        __builtin_prefetch(&d->table[at]);
    else if (entry != 0 && stage == 1)
        __builtin_prefetch(&d->entries[entry - 1]);
    else if (entry != 0)
        __builtin_prefetch(d->entries[entry - 1].at);
}

const char *takt_domain_nearest(const takt_domain *domain, takt_span name,
                                char buffer[static TAKT_DOMAIN_HINT])
{
    enum { TRIED = 1 << 16 };
    char wanted[64], candidate[64], best[64] = "";
    if (domain->entries == NULL || name.length >= sizeof wanted)
        return NULL;
    snprintf(wanted, sizeof wanted, "%.*s", (int)name.length, name.at);
    takt_nearest near = takt_nearest_to(wanted);
    for (size_t i = 0; i < (size_t)domain->size && i < TRIED; i++) {
        const takt_span *e = &domain->entries[i];
        if (e->length >= sizeof candidate)
            continue;
        snprintf(candidate, sizeof candidate, "%.*s", (int)e->length, e->at);
        near.best = NULL;
        takt_nearest_try(&near, candidate);
        if (near.best != NULL)
            memcpy(best, candidate, sizeof best);
    }
    if (best[0] == '\0')
        return NULL;
    snprintf(buffer, TAKT_DOMAIN_HINT, "did you mean %s?", best);
    return buffer;
}

void takt_domain_entry(const takt_domain *domain, uint32_t index, takt_text *text)
{
    if (domain != NULL && domain->entries != NULL && (takt_dim)index < domain->size)
        takt_text_put(text, domain->entries[index].at, domain->entries[index].length);
    else
        takt_text_add(text, "%u", index);
}
