/* write_json_merges.c - merges of tokenizer.json: those of a vocabulary, or the equivalent of
 * SentencePiece's scores. */
#include <string.h>

#include "base/sort.h"
#include "text/write_json.h"

typedef struct pair {
    uint32_t left, right;
    double key;
} pair;

static bool by_key(const void *a, const void *b)
{
    return ((const pair *)a)->key < ((const pair *)b)->key;
}

/* Pairs in the order in which they merge. */
typedef struct pairs {
    takt_arena arena;
    const void **at;
    size_t count, room;
} pairs;

static takt_status add_pair(pairs *p, uint32_t left, uint32_t right, double key)
{
    pair *one = takt_arena_get(&p->arena, sizeof *one);
    if (one == NULL)
        return TAKT_ERR_MEMORY;
    if (p->count == p->room) {
        const size_t room = p->room > 0 ? 2 * p->room : 1024;
        const void **at = takt_arena_array(&p->arena, room, sizeof *at);
        if (at == NULL)
            return TAKT_ERR_MEMORY;
        if (p->count > 0)
            memcpy(at, p->at, p->count * sizeof *at);
        p->at = at;
        p->room = room;
    }
    *one = (pair){left, right, key};
    p->at[p->count++] = one;
    return TAKT_OK;
}

/* SentencePiece merges whatever gives the best token: so every way to split a token in two. */
static takt_status add_cuts(const takt_tokenizer *t, pairs *p)
{
    for (size_t i = 0; i < t->count; i++) {
        const takt_span text = t->texts[i];
        if (takt_token_is_added(t, i) || t->kinds[i] == TAKT_TOKEN_BYTE)
            continue;
        for (size_t k = 1; k < text.length; k++) {
            const uint32_t left = takt_spans_find(&t->index, (takt_span){text.at, k});
            const uint32_t right =
                left != UINT32_MAX
                    ? takt_spans_find(&t->index, (takt_span){text.at + k, text.length - k})
                    : UINT32_MAX;
            if (right != UINT32_MAX && t->kinds[left] == TAKT_TOKEN_NORMAL &&
                t->kinds[right] == TAKT_TOKEN_NORMAL)
                TAKT_TRY(add_pair(p, left, right, -(double)t->scores[i]));
        }
    }
    return TAKT_OK;
}

static takt_status add_merges(const takt_tokenizer *t, pairs *p)
{
    for (size_t i = 0; t->merges.at != NULL && i <= t->merges.mask; i++) {
        const takt_merge *m = &t->merges.at[i];
        if (m->left >= 0)
            TAKT_TRY(add_pair(p, (uint32_t)m->left, (uint32_t)m->right, m->rank));
    }
    return TAKT_OK;
}

takt_status takt_json_merges(const takt_tokenizer *t, takt_json_writer *w)
{
    takt_text name;
    pairs p = {.count = 0};
    takt_text_init(&name, t->ctx);
    takt_arena_init(&p.arena, t->ctx);
    const takt_status status =
        t->model == TAKT_TOKENIZER_SCORES ? add_cuts(t, &p) : add_merges(t, &p);
    if (status == TAKT_OK)
        takt_sort_pointers(p.at, p.count, by_key);
    takt_json_put_open(w, "merges", '[');
    for (size_t i = 0; status == TAKT_OK && i < p.count; i++) {
        const pair *one = p.at[i];
        takt_json_open(w, '[');
        takt_json_string(w, takt_token_name(t, one->left, &name));
        takt_json_string(w, takt_token_name(t, one->right, &name));
        takt_json_close(w, ']');
    }
    takt_json_close(w, ']');
    takt_arena_deinit(&p.arena);
    const takt_status named = name.status;
    takt_text_deinit(&name);
    return status == TAKT_OK ? named : status;
}
