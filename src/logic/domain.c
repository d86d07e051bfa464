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

static size_t place(const takt_domain *d, takt_span name)
{
    size_t i = takt_hash_bytes(name.length, name.at, name.length) & (d->table_size - 1);
    while (d->table[i] != 0) {
        const takt_span *e = &d->entries[d->table[i] - 1];
        if (e->length == name.length && memcmp(e->at, name.at, name.length) == 0)
            break;
        i = (i + 1) & (d->table_size - 1);
    }
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
        const size_t at = place(d, entries[i]);
        if (d->table[at] != 0)
            return takt_fail(arena->ctx, TAKT_E_FACTS, "domain %s has the name %.*s twice", name,
                             entries[i].length < 64 ? (int)entries[i].length : 64, entries[i].at);
        d->table[at] = (uint32_t)i + 1;
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
    const size_t at = place(domain, name);
    *index = domain->table[at] - 1;
    return domain->table[at] != 0;
}

void takt_domain_prefetch(const takt_domain *d, takt_span name, int stage)
{
    const uint32_t *at =
        &d->table[takt_hash_bytes(name.length, name.at, name.length) & (d->table_size - 1)];
    if (stage == 0)
        __builtin_prefetch(at);
    else if (*at != 0 && stage == 1)
        __builtin_prefetch(&d->entries[*at - 1]);
    else if (*at != 0)
        __builtin_prefetch(d->entries[*at - 1].at);
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
