/* vnnlib_names.c - variables of a VNN-LIB text. */
#include "verify/vnnlib_names.h"

#include <string.h>

enum { MOST = 1 << 26 }; /* elements: bounds could not follow larger models */

/* Digits at *at, which moves past them; false if there are none or too many. */
static bool digits(takt_span text, size_t *at, uint32_t *value)
{
    const size_t from = *at;
    uint64_t sum = 0;
    for (; *at < text.length && text.at[*at] >= '0' && text.at[*at] <= '9'; ++*at) {
        sum = 10 * sum + (uint64_t)(text.at[*at] - '0');
        if (sum > UINT32_MAX || (*at > from && text.at[from] == '0'))
            return false;
    }
    *value = (uint32_t)sum;
    return *at > from;
}

/* X_12 or Y_12. */
static bool plain(takt_span word, bool *is_input, uint32_t *index)
{
    size_t at = 2;
    if (word.length < 3 || (word.at[0] != 'X' && word.at[0] != 'Y') || word.at[1] != '_')
        return false;
    *is_input = word.at[0] == 'X';
    return digits(word, &at, index) && at == word.length;
}

takt_status takt_vnnlib_declare(takt_vnnlib_names *n, takt_vnnlib_scan *s)
{
    char text[64];
    bool is_input;
    uint32_t index;
    if (s->kind != TAKT_VNNLIB_WORD || !plain(s->word, &is_input, &index))
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB_NAME,
                                "%s cannot be declared: variables are X_0, X_1, ... and Y_0, ...",
                                takt_vnnlib_word(s, text));
    if (n->has_network)
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB, "declare-const together with declare-network");
    if (index < n->counts[is_input])
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB_NAME, "%s is declared twice",
                                takt_vnnlib_word(s, text));
    if (index > n->counts[is_input] || index >= MOST)
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB_NAME, "%s is declared before %c_%u",
                                takt_vnnlib_word(s, text), is_input ? 'X' : 'Y',
                                n->counts[is_input]);
    n->counts[is_input]++;
    return TAKT_OK;
}

/* [a, b, c] after `at`: up to TAKT_VNNLIB_RANK numbers. */
static bool list(takt_span word, size_t at, uint32_t *values, int *count)
{
    *count = 0;
    if (at >= word.length || word.at[at++] != '[')
        return false;
    for (bool is_first = true;; is_first = false) {
        while (at < word.length && (word.at[at] == ' ' || word.at[at] == '\t'))
            at++;
        if (is_first && at < word.length && word.at[at] == ']')
            return at + 1 == word.length;
        if (*count == TAKT_VNNLIB_RANK || !digits(word, &at, &values[*count]))
            return false;
        ++*count;
        while (at < word.length && (word.at[at] == ' ' || word.at[at] == '\t'))
            at++;
        if (at >= word.length || (word.at[at] != ',' && word.at[at] != ']'))
            return false;
        if (word.at[at++] == ']')
            return at == word.length;
    }
}

static takt_vnnlib_tensor *find(const takt_vnnlib_names *n, takt_span name)
{
    for (size_t i = 0; i < n->tensor_count; i++)
        if (n->tensors[i].name.length == name.length &&
            memcmp(n->tensors[i].name.at, name.at, name.length) == 0)
            return (takt_vnnlib_tensor *)&n->tensors[i];
    return NULL;
}

static takt_status shape_of(takt_vnnlib_names *n, takt_vnnlib_scan *s, takt_vnnlib_tensor *t)
{
    char text[64];
    uint64_t count = 1;
    if (s->kind != TAKT_VNNLIB_WORD || !list(s->word, 0, t->dims, &t->rank))
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB, "a shape such as [1, 5] is expected, not %s",
                                takt_vnnlib_word(s, text));
    for (int i = 0; i < t->rank && count <= MOST; i++)
        count *= t->dims[i];
    if (count == 0 || count + n->counts[t->is_input] > MOST)
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB, "the shape %s is empty or too large",
                                takt_vnnlib_word(s, text));
    t->first = n->counts[t->is_input];
    t->count = (uint32_t)count;
    n->counts[t->is_input] += t->count;
    return TAKT_OK;
}

takt_status takt_vnnlib_declare_tensor(takt_vnnlib_names *n, takt_vnnlib_scan *s, bool is_input)
{
    char text[64];
    takt_vnnlib_tensor *t = &n->tensors[n->tensor_count];
    if (s->kind != TAKT_VNNLIB_WORD || memchr(s->word.at, '[', s->word.length) != NULL)
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB, "a name is expected, not %s",
                                takt_vnnlib_word(s, text));
    if (find(n, s->word) != NULL)
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB_NAME, "%s is declared twice",
                                takt_vnnlib_word(s, text));
    if (n->tensor_count == TAKT_VNNLIB_TENSORS)
        return takt_vnnlib_fail(s, TAKT_E_PROPERTY_LIMIT, "more than %d inputs and outputs",
                                TAKT_VNNLIB_TENSORS);
    *t = (takt_vnnlib_tensor){.name = s->word, .is_input = is_input};
    TAKT_TRY(takt_vnnlib_next(s)); /* the element type: proofs are for those of the model */
    if (s->kind != TAKT_VNNLIB_WORD)
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB, "an element type is expected, not %s",
                                takt_vnnlib_word(s, text));
    TAKT_TRY(takt_vnnlib_next(s));
    TAKT_TRY(shape_of(n, s, t));
    n->tensor_count++;
    return takt_vnnlib_next(s);
}

static takt_status undeclared(takt_vnnlib_scan *s)
{
    char text[64];
    return takt_vnnlib_fail(s, TAKT_E_VNNLIB_NAME, "%s is neither a number nor declared",
                            takt_vnnlib_word(s, text));
}

takt_status takt_vnnlib_find(const takt_vnnlib_names *n, takt_vnnlib_scan *s, takt_term *term)
{
    char text[64];
    uint32_t values[TAKT_VNNLIB_RANK];
    int count = 0;
    *term = (takt_term){.factor = 1};
    if (!n->has_network) {
        if (!plain(s->word, &term->is_input, &term->index) ||
            term->index >= n->counts[term->is_input])
            return undeclared(s);
        return TAKT_OK;
    }
    const char *bracket = memchr(s->word.at, '[', s->word.length);
    const size_t length = bracket != NULL ? (size_t)(bracket - s->word.at) : s->word.length;
    const takt_vnnlib_tensor *t = find(n, (takt_span){s->word.at, length});
    if (t == NULL)
        return undeclared(s);
    bool fits = bracket == NULL || list(s->word, length, values, &count);
    uint32_t flat = 0;
    fits = fits && count == t->rank;
    for (int i = 0; i < count && fits; i++) {
        fits = values[i] < t->dims[i];
        flat = flat * t->dims[i] + values[i];
    }
    if (!fits)
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB_NAME, "%s does not fit the declared shape",
                                takt_vnnlib_word(s, text));
    term->is_input = t->is_input;
    term->index = t->first + flat;
    return TAKT_OK;
}
