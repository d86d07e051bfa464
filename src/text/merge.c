/* merge.c - byte-pair encoding of one word: the best pair of neighbours becomes one token, until no
 * pair is left. Pairs are kept in a heap, so a word of n characters takes at most n log n steps. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

/* ---- the table of merges ---- */

takt_status takt_merges_init(takt_merges *m, takt_arena *arena, size_t count)
{
    size_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    m->mask = slots - 1;
    m->at = takt_arena_array(arena, slots, sizeof *m->at);
    if (m->at == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < slots; i++)
        m->at[i].left = -1;
    return TAKT_OK;
}

static takt_merge *slot_of(const takt_merges *m, int32_t left, int32_t right)
{
    const uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t slot = (size_t)takt_hash_word(0x5EED, pair) & m->mask;
    while (m->at[slot].left >= 0 && (m->at[slot].left != left || m->at[slot].right != right))
        slot = (slot + 1) & m->mask;
    return &m->at[slot];
}

bool takt_merges_add(takt_merges *m, const takt_merge *merge)
{
    takt_merge *slot = slot_of(m, merge->left, merge->right);
    if (slot->left >= 0)
        return false;
    *slot = *merge;
    return true;
}

const takt_merge *takt_merges_find(const takt_merges *m, int32_t left, int32_t right)
{
    if (m->at == NULL || left < 0 || right < 0)
        return NULL;
    const takt_merge *slot = slot_of(m, left, right);
    return slot->left >= 0 ? slot : NULL;
}

/* ---- ids ---- */

void takt_ids_add(takt_ids *ids, int32_t id)
{
    void *at = ids->at;
    if (ids->status != TAKT_OK)
        return;
    ids->status = takt_mem_grow(ids->ctx, &at, &ids->capacity, ids->count + 1, sizeof *ids->at);
    ids->at = at;
    if (ids->status == TAKT_OK)
        ids->at[ids->count++] = id;
}

/* ---- one word ---- */

typedef struct symbol {
    uint32_t at, length;   /* in the word; length 0: merged into another */
    int32_t id;            /* -1: no token */
    uint32_t before, next; /* NONE at the ends */
} symbol;

typedef struct candidate {
    double key; /* the least is taken first, the leftmost on ties */
    uint32_t left, right;
    uint32_t length; /* of both together; else one has changed */
    int32_t into;
} candidate;

#define NOWHERE UINT32_MAX

typedef struct work {
    const takt_tokenizer *t;
    takt_span word;
    symbol *symbols;
    size_t count;
    candidate *heap;
    size_t heap_count;
} work;

static bool before(const candidate *a, const candidate *b)
{
    return a->key != b->key ? a->key < b->key : a->left < b->left;
}

static void push(work *w, const candidate *c)
{
    size_t i = w->heap_count++;
    for (; i > 0 && before(c, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = *c;
}

static candidate pop(work *w)
{
    const candidate first = w->heap[0], last = w->heap[--w->heap_count];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < w->heap_count) {
        if (child + 1 < w->heap_count && before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return first;
}

/* The merge of two neighbours, if any. */
static void offer(work *w, uint32_t left, uint32_t right)
{
    const takt_tokenizer *t = w->t;
    if (left == NOWHERE || right == NOWHERE)
        return;
    const symbol *a = &w->symbols[left], *b = &w->symbols[right];
    candidate c = {.left = left, .right = right, .length = a->length + b->length};
    if (t->model == TAKT_TOKENIZER_SCORES || t->ranks_ids) {
        if (c.length > t->longest)
            return;
        const uint32_t id = takt_spans_find(&t->index, (takt_span){w->word.at + a->at, c.length});
        if (id == UINT32_MAX)
            return;
        c.into = (int32_t)id;
        c.key = t->ranks_ids ? (double)id : -(double)t->scores[id];
    } else {
        const takt_merge *m = takt_merges_find(&t->merges, a->id, b->id);
        if (m == NULL)
            return;
        c.into = m->into;
        c.key = m->rank;
    }
    push(w, &c);
}

enum { AFFIXED_MOST = TAKT_AFFIX_BYTES + 4 };

/* The token of [at, at + bytes), with the prefix or suffix of tokens inside or at the end of a
 * word. */
static uint32_t find_affixed(const work *w, size_t at, size_t bytes)
{
    const takt_tokenizer *t = w->t;
    const size_t prefix = at > 0 ? t->piece_prefix.length : 0;
    const size_t suffix = at + bytes == w->word.length ? t->word_suffix.length : 0;
    char text[AFFIXED_MOST];
    if (prefix + bytes + suffix > AFFIXED_MOST)
        return UINT32_MAX;
    if (prefix > 0)
        memcpy(text, t->piece_prefix.at, prefix);
    memcpy(text + prefix, w->word.at + at, bytes);
    if (suffix > 0)
        memcpy(text + prefix + bytes, t->word_suffix.at, suffix);
    return takt_spans_find(&t->index, (takt_span){text, prefix + bytes + suffix});
}

static uint32_t find_symbol(const work *w, size_t at, size_t bytes)
{
    const takt_tokenizer *t = w->t;
    if (t->piece_prefix.length > 0 || t->word_suffix.length > 0)
        return find_affixed(w, at, bytes);
    if (t->model == TAKT_TOKENIZER_BYTES)
        return (uint32_t)t->bytes[(unsigned char)w->word.at[at]];
    return takt_spans_find(&t->index, (takt_span){w->word.at + at, bytes});
}

/* Bytes, or characters; characters that are not tokens become bytes later. */
static void cut(work *w)
{
    const takt_tokenizer *t = w->t;
    size_t bytes = 1;
    for (size_t i = 0; i < w->word.length; i += bytes) {
        symbol *s = &w->symbols[w->count];
        if (t->model != TAKT_TOKENIZER_BYTES)
            (void)takt_unicode_take(w->word.at + i, w->word.length - i, &bytes);
        const uint32_t id = find_symbol(w, i, bytes);
        *s = (symbol){.at = (uint32_t)i,
                      .length = (uint32_t)bytes,
                      .id = (int32_t)id,
                      .before = w->count > 0 ? (uint32_t)w->count - 1 : NOWHERE,
                      .next = i + bytes < w->word.length ? (uint32_t)w->count + 1 : NOWHERE};
        w->count++;
    }
}

static void merge(work *w)
{
    for (size_t i = 1; i < w->count; i++)
        offer(w, (uint32_t)i - 1, (uint32_t)i);
    while (w->heap_count > 0) {
        const candidate c = pop(w);
        symbol *a = &w->symbols[c.left], *b = &w->symbols[c.right];
        if (a->length == 0 || b->length == 0 || a->length + b->length != c.length ||
            a->next != c.right)
            continue;
        a->length = c.length;
        a->id = c.into;
        a->next = b->next;
        b->length = 0;
        if (a->next != NOWHERE)
            w->symbols[a->next].before = c.left;
        offer(w, a->before, c.left);
        offer(w, c.left, a->next);
    }
}

/* A symbol that is not a token: its bytes, or the unknown token. The word's ids begin at `first`.
 */
static void spell(const work *w, const symbol *s, size_t first, takt_ids *ids)
{
    const takt_tokenizer *t = w->t;
    const int32_t unknown = t->roles[TAKT_TOKEN_UNK];
    bool has_bytes = t->piece_prefix.length == 0 && t->word_suffix.length == 0;
    for (uint32_t i = 0; i < s->length; i++)
        has_bytes = has_bytes && t->bytes[(unsigned char)w->word.at[s->at + i]] >= 0;
    for (uint32_t i = 0; has_bytes && i < s->length; i++)
        takt_ids_add(ids, t->bytes[(unsigned char)w->word.at[s->at + i]]);
    const bool is_joined =
        t->joins_unknown && ids->count > first && ids->at[ids->count - 1] == unknown;
    if (!has_bytes && unknown >= 0 && !is_joined)
        takt_ids_add(ids, unknown);
}

static takt_status make_room(takt_merging *m, work *w)
{
    const size_t length = w->word.length;
    TAKT_TRY(takt_mem_grow(m->ctx, &m->symbols, &m->symbol_room, length, sizeof(symbol)));
    /* Each merge removes one candidate and adds two. */
    TAKT_TRY(takt_mem_grow(m->ctx, &m->heap, &m->heap_room, 3 * length, sizeof(candidate)));
    w->symbols = m->symbols;
    w->heap = m->heap;
    return TAKT_OK;
}

void takt_merging_deinit(takt_merging *m)
{
    takt_mem_put(m->ctx, m->symbols, m->symbol_room * sizeof(symbol));
    takt_mem_put(m->ctx, m->heap, m->heap_room * sizeof(candidate));
}

void takt_merge_word(const takt_tokenizer *t, takt_merging *m, takt_span word, takt_ids *ids)
{
    work w = {.t = t, .word = word};
    if (word.length == 0 || ids->status != TAKT_OK)
        return;
    const uint32_t whole = t->takes_whole ? takt_spans_find(&t->index, word) : UINT32_MAX;
    if (whole != UINT32_MAX) {
        takt_ids_add(ids, (int32_t)whole);
        return;
    }
    if (word.length >= UINT32_MAX / 4)
        ids->status =
            takt_fail(t->ctx, TAKT_E_OVERFLOW, "a text of %zu bytes is too long", word.length);
    else
        ids->status = make_room(m, &w);
    if (ids->status != TAKT_OK)
        return;
    const size_t first = ids->count;
    cut(&w);
    merge(&w);
    for (uint32_t i = 0; i != NOWHERE; i = w.symbols[i].next) {
        if (w.symbols[i].id >= 0)
            takt_ids_add(ids, w.symbols[i].id);
        else
            spell(&w, &w.symbols[i], first, ids);
    }
}
