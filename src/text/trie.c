/* trie.c - finds added tokens in a text: the leftmost, and of those at one position the longest. */
#include <string.h>

#include "text/tokenizer.h"
#include "text/unicode.h"

static uint32_t child_of(const takt_trie *trie, uint32_t node, uint8_t byte)
{
    if (node == 0)
        return trie->first[byte];
    uint32_t child = trie->nodes[node].child;
    while (child != 0 && trie->nodes[child].byte != byte)
        child = trie->nodes[child].sibling;
    return child;
}

static uint32_t add_child(takt_trie *trie, uint32_t node, uint8_t byte)
{
    const uint32_t child = (uint32_t)trie->count++;
    trie->nodes[child] = (takt_trie_node){.byte = byte};
    if (node == 0) {
        trie->first[byte] = child;
    } else {
        trie->nodes[child].sibling = trie->nodes[node].child;
        trie->nodes[node].child = child;
    }
    return child;
}

takt_status takt_trie_build(takt_tokenizer *t)
{
    takt_trie *trie = &t->trie;
    size_t most = 1;
    for (size_t i = 0; i < trie->added_count; i++)
        most += t->texts[trie->added[i].id].length;
    if (most >= UINT32_MAX)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "the added tokens are too long");
    trie->nodes = takt_arena_array(&t->arena, most, sizeof *trie->nodes);
    if (trie->nodes == NULL)
        return TAKT_ERR_MEMORY;
    trie->count = 1;
    for (size_t i = 0; i < trie->added_count; i++) {
        const takt_span text = t->texts[trie->added[i].id];
        uint32_t node = 0;
        for (size_t k = 0; k < text.length; k++) {
            const uint32_t child = child_of(trie, node, (uint8_t)text.at[k]);
            node = child != 0 ? child : add_child(trie, node, (uint8_t)text.at[k]);
        }
        if (node != 0 && trie->nodes[node].added == 0)
            trie->nodes[node].added = (uint32_t)i + 1;
    }
    return TAKT_OK;
}

/* Start of the character before `at` > 0. */
static size_t before(takt_span text, size_t at)
{
    size_t first = at - 1;
    while (first > 0 && at - first < 4 && ((unsigned char)text.at[first] & 0xC0) == 0x80)
        first--;
    return first;
}

static bool is_space_before(takt_span text, size_t at)
{
    size_t bytes;
    const size_t first = before(text, at);
    return takt_unicode_is_space(takt_unicode_take(text.at + first, at - first, &bytes)) &&
           bytes == at - first;
}

static bool is_word_char(takt_span text, size_t at)
{
    size_t bytes;
    if (at >= text.length)
        return false;
    const uint32_t c = takt_unicode_take(text.at + at, text.length - at, &bytes);
    const takt_unicode_class k = takt_unicode_class_of(c);
    return c == '_' || (k >= TAKT_U_LU && k <= TAKT_U_ND); /* letters, marks, decimal digits */
}

static bool may_stand(const takt_added *a, takt_span text, size_t at, size_t end)
{
    if (!a->is_word)
        return true;
    return !(at > 0 && is_word_char(text, before(text, at))) && !is_word_char(text, end);
}

/* The longest added token that begins at `at`; NULL: none. */
static const takt_added *match_at(const takt_tokenizer *t, takt_span text, size_t at, bool parses,
                                  size_t *end)
{
    const takt_trie *trie = &t->trie;
    const takt_added *found = NULL;
    uint32_t node = 0;
    for (size_t i = at; i < text.length; i++) {
        node = child_of(trie, node, (uint8_t)text.at[i]);
        if (node == 0)
            break;
        const uint32_t index = trie->nodes[node].added;
        const takt_added *a = index != 0 ? &trie->added[index - 1] : NULL;
        if (a == NULL || (a->is_control && !parses) || !may_stand(a, text, at, i + 1))
            continue;
        found = a;
        *end = i + 1;
    }
    return found;
}

bool takt_trie_next(const takt_tokenizer *t, takt_span text, size_t from, bool parses,
                    takt_added_match *match)
{
    size_t end = 0, bytes, at = from;
    const takt_added *a = NULL;
    for (; t->trie.added_count > 0 && at < text.length; at++)
        if (t->trie.first[(uint8_t)text.at[at]] != 0 &&
            (a = match_at(t, text, at, parses, &end)) != NULL)
            break;
    if (a == NULL)
        return false;
    *match = (takt_added_match){a, at, end};
    while (a->strips_left && match->begin > from && is_space_before(text, match->begin))
        match->begin = before(text, match->begin);
    while (a->strips_right && match->end < text.length &&
           takt_unicode_is_space(
               takt_unicode_take(text.at + match->end, text.length - match->end, &bytes)))
        match->end += bytes;
    return true;
}
