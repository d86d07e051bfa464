/* dim_table.c - entries of the table of dimensions: made once, found by hash, printed on making. */
#include "ir/dim_table.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "ir/name.h"

bool takt_dim_is_valid(const takt_dims *dims, takt_dim d)
{
    return takt_dim_is_number(d) || (uint64_t)(-1 - d) < dims->count;
}

const char *takt_dim_text(const takt_dims *dims, takt_dim d)
{
    if (dims == NULL || takt_dim_is_number(d) || !takt_dim_is_valid(dims, d))
        return "?";
    return dims->entry[dim_entry_of(d)].text;
}

takt_status takt_dim_too_large(takt_dims *dims)
{
    return takt_fail(dims->ctx, TAKT_E_DIM,
                     "a dimension's expression has a number beyond 64 bits or grows beyond %d terms"
                     " of %d factors",
                     DIM_TERMS, DIM_ATOMS);
}

void takt_dim_load(const takt_dims *dims, takt_dim d, dim_sum *out)
{
    if (takt_dim_is_number(d)) {
        takt_dim_sum_set(out, d);
        return;
    }
    const dim_entry *e = &dims->entry[dim_entry_of(d)];
    if (e->kind == DIM_SUM) {
        out->count = e->count;
        memcpy(out->term, e->term, e->count * sizeof *e->term);
        return;
    }
    out->count = 1;
    out->term[0] = (dim_term){.factor = 1, .count = 1, .atom = {dim_entry_of(d)}};
}

static bool same_entry(const dim_entry *a, const dim_entry *b)
{
    if (a->hash != b->hash || a->kind != b->kind)
        return false;
    if (a->kind == DIM_NAME)
        return a->count == b->count && memcmp(a->name, b->name, a->count) == 0;
    if (a->kind == DIM_OP)
        return a->op == b->op && a->a == b->a && a->b == b->b;
    return a->count == b->count && memcmp(a->term, b->term, a->count * sizeof *a->term) == 0;
}

/* The slot with an equal entry, or the free slot for it. */
static uint32_t *find_slot(const takt_dims *dims, const dim_entry *wanted)
{
    size_t at = wanted->hash & (dims->slot_count - 1);
    while (dims->slot[at] != 0 && !same_entry(&dims->entry[dims->slot[at] - 1], wanted))
        at = (at + 1) & (dims->slot_count - 1);
    return &dims->slot[at];
}

static takt_status grow_slots(takt_dims *dims)
{
    if (2 * (dims->count + 1) <= dims->slot_count)
        return TAKT_OK;
    uint32_t *old = dims->slot;
    const size_t old_count = dims->slot_count, count = old_count != 0 ? 2 * old_count : 32;
    void *grown;
    TAKT_TRY(takt_mem_zero(dims->ctx, count, sizeof *old, "dimensions", &grown));
    dims->slot = grown;
    dims->slot_count = count;
    for (size_t i = 0; i < dims->count; i++)
        *find_slot(dims, &dims->entry[i]) = (uint32_t)i + 1;
    takt_mem_put(dims->ctx, old, old_count * sizeof *old);
    return TAKT_OK;
}

/* Adds the entry to `slot`. */
static takt_status insert(takt_dims *dims, uint32_t *slot, const dim_entry *e)
{
    void *array = dims->entry;
    if (dims->count == INT32_MAX)
        return takt_dim_too_large(dims);
    TAKT_TRY(takt_mem_grow(dims->ctx, &array, &dims->capacity, dims->count + 1, sizeof *e));
    dims->entry = array;
    dims->entry[dims->count] = *e;
    *slot = (uint32_t)++dims->count;
    return TAKT_OK;
}

/* Keeps the finished text in the arena; long expressions are refused, so that nothing grows for
 * ever. */
static takt_status keep_text(takt_dims *dims, takt_text *text, dim_entry *e)
{
    takt_status status = text->status;
    if (status == TAKT_OK && e->kind != DIM_NAME && text->length > DIM_TEXT)
        status = takt_fail(dims->ctx, TAKT_E_DIM,
                           "a dimension's expression needs more than %d "
                           "characters: %.60s...",
                           DIM_TEXT, takt_text_get(text));
    if (status == TAKT_OK) {
        e->text = takt_arena_text(&dims->arena, takt_text_get(text), text->length);
        status = e->text != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    }
    takt_text_deinit(text);
    return status;
}

static takt_status insert_name(takt_dims *dims, uint32_t *slot, dim_entry *e)
{
    void *names = dims->name;
    TAKT_TRY(takt_mem_grow(dims->ctx, &names, &dims->name_capacity, dims->name_count + 1,
                           sizeof *dims->name));
    dims->name = names;
    e->name = takt_arena_text(&dims->arena, e->name, e->count);
    if (e->name == NULL)
        return TAKT_ERR_MEMORY;
    takt_text text;
    takt_text_init(&text, dims->ctx);
    takt_name_print(e->name, &text);
    TAKT_TRY(keep_text(dims, &text, e));
    dims->name[dims->name_count] = (uint32_t)dims->count;
    TAKT_TRY(insert(dims, slot, e));
    dims->name_count++;
    return TAKT_OK;
}

takt_status takt_dim_find_name(takt_dims *dims, takt_span name, takt_dim *out)
{
    if (name.length == 0 || name.length > DIM_TEXT)
        return takt_fail(dims->ctx, TAKT_E_DIM,
                         "a dimension's name has %zu characters, not 1 to %d", name.length,
                         DIM_TEXT);
    if (takt_utf8_check(name.at, name.length) != name.length ||
        memchr(name.at, '\0', name.length) != NULL)
        return takt_fail(dims->ctx, TAKT_E_DIM,
                         "a dimension's name of %zu bytes is not UTF-8, or has a NUL", name.length);
    dim_entry e = {.kind = DIM_NAME,
                   .name = name.at,
                   .count = (uint32_t)name.length,
                   .index = dims->name_count};
    e.hash = takt_hash_bytes(DIM_NAME, name.at, name.length);
    TAKT_TRY(grow_slots(dims));
    uint32_t *slot = find_slot(dims, &e);
    if (*slot == 0)
        TAKT_TRY(insert_name(dims, slot, &e));
    *out = dim_of(*slot - 1);
    return TAKT_OK;
}

static void print_operand(const takt_dims *dims, takt_dim d, takt_text *text)
{
    if (takt_dim_is_number(d))
        takt_text_add(text, "%" PRId64, d);
    else
        takt_text_add(text, "%s", takt_dim_text(dims, d));
}

/* Texts say nothing of the order in which names were met, so that a text that is read and printed
 * again is the same: names in the order of their letters, then operations. */
static int before(const takt_dims *dims, uint32_t a, uint32_t b)
{
    const dim_entry *x = &dims->entry[a], *y = &dims->entry[b];
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->text, y->text);
}

static dim_term in_order(const takt_dims *dims, const dim_term *t)
{
    dim_term o = *t;
    for (uint32_t i = 1; i < o.count; i++)
        for (uint32_t k = i; k > 0 && before(dims, o.atom[k], o.atom[k - 1]) < 0; k--) {
            const uint32_t held = o.atom[k];
            o.atom[k] = o.atom[k - 1];
            o.atom[k - 1] = held;
        }
    return o;
}

/* Longer products before their prefixes, so the constant comes last. */
static bool is_before(const takt_dims *dims, const dim_term *s, const dim_term *t)
{
    const dim_term a = in_order(dims, s), b = in_order(dims, t);
    for (uint32_t i = 0; i < a.count && i < b.count; i++)
        if (a.atom[i] != b.atom[i])
            return before(dims, a.atom[i], b.atom[i]) < 0;
    return a.count > b.count;
}

static void print_term(const takt_dims *dims, const dim_term *term, takt_text *text)
{
    const dim_term t = in_order(dims, term);
    const uint64_t size = t.factor < 0 ? -(uint64_t)t.factor : (uint64_t)t.factor;
    if (size != 1 || t.count == 0)
        takt_text_add(text, "%" PRIu64 "%s", size, t.count != 0 ? "*" : "");
    for (uint32_t i = 0; i < t.count; i++)
        takt_text_add(text, "%s%s", i > 0 ? "*" : "", dims->entry[t.atom[i]].text);
}

/* "2*n + 1", "3 - n": begins with something positive, since the language has no sign. */
static void print_sum(const takt_dims *dims, const dim_sum *s, takt_text *text)
{
    uint8_t order[DIM_TERMS];
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t k = i;
        for (; k > 0 && is_before(dims, &s->term[i], &s->term[order[k - 1]]); k--)
            order[k] = order[k - 1];
        order[k] = (uint8_t)i;
    }
    uint32_t first = 0;
    while (first < s->count && s->term[order[first]].factor < 0)
        first++;
    if (first == s->count)
        takt_text_put(text, "0", 1);
    else
        print_term(dims, &s->term[order[first]], text);
    for (uint32_t i = 0; i < s->count; i++) {
        if (i == first)
            continue;
        takt_text_put(text, s->term[order[i]].factor < 0 ? " - " : " + ", 3);
        print_term(dims, &s->term[order[i]], text);
    }
}

/* min and max are commutative: operands are ordered by their text, numbers last. */
static bool is_swapped(const takt_dims *dims, takt_dim_op op, takt_dim a, takt_dim b)
{
    if ((op != TAKT_DIM_MIN && op != TAKT_DIM_MAX) || takt_dim_is_number(b))
        return false;
    return takt_dim_is_number(a) || before(dims, dim_entry_of(b), dim_entry_of(a)) < 0;
}

takt_status takt_dim_opaque(takt_dims *dims, takt_dim_op op, takt_dim a, takt_dim b, takt_dim *out)
{
    static const char *const names[] = {[TAKT_DIM_FLOORDIV] = "floordiv",
                                        [TAKT_DIM_MOD] = "mod",
                                        [TAKT_DIM_MIN] = "min",
                                        [TAKT_DIM_MAX] = "max"};
    dim_entry e = {.kind = DIM_OP, .op = op, .a = a, .b = b};
    e.hash = takt_hash_word(takt_hash_word(takt_hash_word(DIM_OP, op), (uint64_t)a), (uint64_t)b);
    TAKT_TRY(grow_slots(dims));
    uint32_t *slot = find_slot(dims, &e);
    if (*slot == 0) {
        takt_text text;
        takt_text_init(&text, dims->ctx);
        const bool is_other = is_swapped(dims, op, a, b);
        takt_text_add(&text, "%s(", names[op]);
        print_operand(dims, is_other ? b : a, &text);
        takt_text_put(&text, ", ", 2);
        print_operand(dims, is_other ? a : b, &text);
        takt_text_put(&text, ")", 1);
        TAKT_TRY(keep_text(dims, &text, &e));
        TAKT_TRY(insert(dims, slot, &e));
    }
    *out = dim_of(*slot - 1);
    return TAKT_OK;
}

takt_status takt_dim_store(takt_dims *dims, const dim_sum *s, takt_dim *out)
{
    int64_t number;
    if (takt_dim_sum_number(s, &number) && number >= 0) {
        *out = number;
        return TAKT_OK;
    }
    if (s->count == 1 && s->term[0].count == 1 && s->term[0].factor == 1) {
        *out = dim_of(s->term[0].atom[0]);
        return TAKT_OK;
    }
    dim_entry e = {.kind = DIM_SUM, .term = s->term, .count = s->count};
    e.hash = takt_hash_bytes(DIM_SUM, s->term, s->count * sizeof *s->term);
    TAKT_TRY(grow_slots(dims));
    uint32_t *slot = find_slot(dims, &e);
    if (*slot == 0) {
        takt_text text;
        takt_text_init(&text, dims->ctx);
        print_sum(dims, s, &text);
        TAKT_TRY(keep_text(dims, &text, &e));
        e.term = takt_arena_copy(&dims->arena, s->term, s->count * sizeof *s->term);
        if (e.term == NULL)
            return TAKT_ERR_MEMORY;
        TAKT_TRY(insert(dims, slot, &e));
    }
    *out = dim_of(*slot - 1);
    return TAKT_OK;
}
