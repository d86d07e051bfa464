/* regex_set.c - sets of characters in patterns. */
#include "text/regex.h"
#include "text/unicode.h"

typedef struct range {
    uint32_t low, high;
} range;

static bool is_among(const range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].low && c <= ranges[i].high)
            return true;
    return false;
}

/* The script Han. */
static bool is_han(uint32_t c)
{
    static const range han[] = {
        {0x2E80, 0x2E99},   {0x2E9B, 0x2EF3},   {0x2F00, 0x2FD5},   {0x3005, 0x3005},
        {0x3007, 0x3007},   {0x3021, 0x3029},   {0x3038, 0x303B},   {0x3400, 0x4DBF},
        {0x4E00, 0x9FFF},   {0xF900, 0xFA6D},   {0xFA70, 0xFAD9},   {0x16FE2, 0x16FE3},
        {0x16FF0, 0x16FF1}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B739}, {0x2B740, 0x2B81D},
        {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0}, {0x2EBF0, 0x2EE5D}, {0x2F800, 0x2FA1D},
        {0x30000, 0x3134A}, {0x31350, 0x323AF}};
    return is_among(han, sizeof han / sizeof *han, c);
}

/* Letters, marks, digits, numbers and symbols that are letters, and connectors. */
static bool is_word(uint32_t c)
{
    static const range more[] = {{'_', '_'},         {0x203F, 0x2040},   {0x2054, 0x2054},
                                 {0xFE33, 0xFE34},   {0xFE4D, 0xFE4F},   {0xFF3F, 0xFF3F},
                                 {0x16EE, 0x16F0},   {0x2160, 0x2188},   {0x24B6, 0x24E9},
                                 {0x3007, 0x3007},   {0x3021, 0x3029},   {0x3038, 0x303A},
                                 {0xA6E6, 0xA6EF},   {0x10140, 0x10174}, {0x10341, 0x10341},
                                 {0x1034A, 0x1034A}, {0x103D1, 0x103D5}, {0x12400, 0x1246E},
                                 {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
    const takt_unicode_class k = takt_unicode_class_of(c);
    return (k >= TAKT_U_LU && k <= TAKT_U_ND) || is_among(more, sizeof more / sizeof *more, c);
}

/* Oniguruma counts superscripts and fractions of Latin-1 as parts of words, but not inside sets. */
bool takt_regex_is_word(const takt_regex *r, uint32_t c)
{
    static const range small[] = {{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}};
    return is_word(c) || (!r->is_rust && is_among(small, sizeof small / sizeof *small, c));
}

static bool has_item(const takt_regex *r, const takt_regex_item *i, uint32_t c)
{
    switch (i->kind) {
    case TAKT_R_RANGE: return c >= i->low && c <= i->high;
    case TAKT_R_CLASSES: return (i->low >> takt_unicode_class_of(c) & 1) != 0;
    case TAKT_R_SPACE: return takt_unicode_is_space(c);
    case TAKT_R_WORD: return i->low != 0 ? takt_regex_is_word(r, c) : is_word(c);
    case TAKT_R_HAN: return is_han(c);
    case TAKT_R_SUBSET: return takt_regex_has(r, &r->sets[i->low], c);
    }
    return false;
}

static bool has_exactly(const takt_regex *r, const takt_regex_set *s, uint32_t c)
{
    for (uint32_t i = s->first; i < s->first + s->count; i++)
        if (has_item(r, &r->items[i], c) != r->items[i].is_negated)
            return true;
    return false;
}

/* The other case of an ASCII letter, and the two non-ASCII letters that fold to one. */
static bool has_folded(const takt_regex *r, const takt_regex_set *s, uint32_t c)
{
    const uint32_t lower = c | 0x20;
    if (c == 0x17F || c == 0x212A)
        return has_exactly(r, s, c == 0x17F ? 's' : 'k') ||
               has_exactly(r, s, c == 0x17F ? 'S' : 'K');
    if (c < 0x80 && lower >= 'a' && lower <= 'z')
        return has_exactly(r, s, c ^ 0x20) || (lower == 's' && has_exactly(r, s, 0x17F)) ||
               (lower == 'k' && has_exactly(r, s, 0x212A));
    return false;
}

static bool has(const takt_regex *r, const takt_regex_set *s, uint32_t c)
{
    bool is = has_exactly(r, s, c) || (s->folds && has_folded(r, s, c));
    if (is && s->and_set > 0)
        is = takt_regex_has(r, &r->sets[s->and_set - 1], c);
    return is != s->is_negated;
}

bool takt_regex_has(const takt_regex *r, const takt_regex_set *s, uint32_t c)
{
    return c < 128 ? (s->ascii[c / 64] >> c % 64 & 1) != 0 : has(r, s, c);
}

void takt_regex_settle(const takt_regex *r, takt_regex_set *s)
{
    s->ascii[0] = s->ascii[1] = 0;
    for (uint32_t c = 0; c < 128; c++)
        s->ascii[c / 64] |= (uint64_t)has(r, s, c) << c % 64;
}
