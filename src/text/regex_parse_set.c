/* regex_parse_set.c - escapes and sets of characters in patterns. */
#include <string.h>

#include "text/regex_parse.h"
#include "text/unicode.h"

/* ---- escapes ---- */

static uint32_t hexadecimal(takt_regex_parser *p, size_t least, size_t most)
{
    uint32_t value = 0;
    size_t count = 0;
    for (; count < most && p->at < p->pattern.length; count++, p->at++) {
        const char c = p->pattern.at[p->at];
        const char lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            value = 16 * value + (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = 16 * value + (uint32_t)(lower - 'a' + 10);
        else
            break;
    }
    if (count < least || value > 0x10FFFF)
        takt_regex_refuse(p, "a number is not a character");
    return value;
}

#define BIT(class) (1u << TAKT_U_##class)
static const struct {
    const char *name;
    uint32_t bits;
} categories[] = {
    {"L", BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO)},
    {"Letter", BIT(LU) | BIT(LL) | BIT(LT) | BIT(LM) | BIT(LO)},
    {"Lu", BIT(LU)},
    {"Ll", BIT(LL)},
    {"Lt", BIT(LT)},
    {"Lm", BIT(LM)},
    {"Lo", BIT(LO)},
    {"M", BIT(MN) | BIT(M)},
    {"Mark", BIT(MN) | BIT(M)},
    {"Mn", BIT(MN)},
    {"N", BIT(ND) | BIT(N)},
    {"Number", BIT(ND) | BIT(N)},
    {"Nd", BIT(ND)},
    {"P", BIT(P)},
    {"Punctuation", BIT(P)},
    {"S", BIT(S)},
    {"Symbol", BIT(S)},
    {"Cc", BIT(CC)},
    {"Cf", BIT(CF)},
    {"C", BIT(CC) | BIT(CF) | BIT(CO) | BIT(OTHER)},
};

/* "{L}", "L" or "{^L}" after \p or \P. */
static takt_regex_item category(takt_regex_parser *p, bool is_negated)
{
    takt_regex_item item = {.kind = TAKT_R_CLASSES, .is_negated = is_negated};
    const bool has_braces = takt_regex_takes(p, "{");
    if (has_braces && takt_regex_takes(p, "^"))
        item.is_negated = !item.is_negated;
    const char *begin = p->pattern.at + p->at;
    const size_t left = p->pattern.length - p->at;
    const char *close = has_braces && left > 0 ? memchr(begin, '}', left) : NULL;
    const takt_span name = {begin, close != NULL             ? (size_t)(close - begin)
                                   : !has_braces && left > 0 ? 1
                                                             : 0};
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (takt_span_is(name, categories[i].name))
            item.low = categories[i].bits;
    if (takt_span_is(name, "Han") || takt_span_is(name, "Script=Han"))
        item.kind = TAKT_R_HAN;
    if (item.kind == TAKT_R_CLASSES && item.low == 0)
        takt_regex_refuse(p, "a category is not known");
    p->at += name.length + (close != NULL);
    return item;
}

takt_regex_escape takt_regex_read_escape(takt_regex_parser *p)
{
    static const char letters[] = "rntfvae", meanings[] = "\r\n\t\f\v\a\033";
    takt_regex_escape e = {.is_item = true};
    if (p->at >= p->pattern.length) {
        takt_regex_refuse(p, "it ends with a backslash");
        return e;
    }
    const uint32_t c = takt_regex_take(p);
    const char *known = c < 128 && c > 0 ? strchr(letters, (int)c) : NULL;
    const bool is_letter = (c < 128 && takt_unicode_is_letter(c)) || (c >= '0' && c <= '9');
    e.item.is_negated = c == 'S' || c == 'D' || c == 'W';
    switch (c) {
    case 's':
    case 'S': e.item.kind = TAKT_R_SPACE; return e;
    case 'w':
    case 'W': e.item.kind = TAKT_R_WORD; return e;
    case 'd':
    case 'D':
        e.item.kind = TAKT_R_CLASSES;
        e.item.low = BIT(ND);
        return e;
    case 'p':
    case 'P': e.item = category(p, c == 'P'); return e;
    default: break;
    }
    e.is_item = false;
    if (c == 'x') {
        const bool has_braces = takt_regex_takes(p, "{");
        e.c = hexadecimal(p, 1, has_braces ? 6 : 2);
        if (has_braces && !takt_regex_takes(p, "}"))
            takt_regex_refuse(p, "a number does not end");
    } else if (c == 'u') {
        e.c = hexadecimal(p, 4, 4);
    } else if (known != NULL) {
        e.c = (uint32_t)(uint8_t)meanings[known - letters];
    } else if (is_letter) {
        takt_regex_refuse(p, "an escape is not known");
    } else {
        e.c = c;
    }
    return e;
}

/* ---- sets ---- */

static bool grow(takt_regex_parser *p, void **list, size_t size, size_t count, size_t *room)
{
    if (count < *room)
        return true;
    const size_t more = *room > 0 ? 2 * *room : 32;
    void *block = takt_arena_array(p->arena, more, size);
    if (block == NULL) {
        p->status = p->status != TAKT_OK ? p->status : TAKT_ERR_MEMORY;
        return false;
    }
    if (count > 0)
        memcpy(block, *list, count * size);
    *list = block;
    *room = more;
    return true;
}

uint32_t takt_regex_add_set(takt_regex_parser *p)
{
    takt_regex *r = p->r;
    void *list = r->sets;
    if (r->set_count == TAKT_REGEX_SETS)
        takt_regex_refuse(p, "it has too many sets");
    if (p->status != TAKT_OK || !grow(p, &list, sizeof *r->sets, r->set_count, &p->set_room))
        return 0;
    r->sets = list;
    r->sets[r->set_count] = (takt_regex_set){.first = (uint32_t)r->item_count, .folds = p->folds};
    return (uint32_t)r->set_count++;
}

void takt_regex_add_item(takt_regex_parser *p, takt_regex_item item)
{
    takt_regex *r = p->r;
    void *list = r->items;
    if (p->status != TAKT_OK || !grow(p, &list, sizeof *r->items, r->item_count, &p->item_room))
        return;
    r->items = list;
    r->items[r->item_count++] = item;
}

uint32_t takt_regex_set_of(takt_regex_parser *p, takt_regex_item item)
{
    const uint32_t set = takt_regex_add_set(p);
    takt_regex_add_item(p, item);
    if (p->status != TAKT_OK)
        return 0;
    p->r->sets[set].count = 1;
    takt_regex_settle(p->r, &p->r->sets[set]);
    return set;
}

enum { ITEMS = 512 };

/* Items of the set being read. They are added to the regex contiguously once all are known, after
 * those of nested sets. */
typedef struct items {
    takt_regex_item at[ITEMS];
    size_t count;
} items;

static void keep(takt_regex_parser *p, items *list, takt_regex_item item)
{
    if (list->count == ITEMS)
        takt_regex_refuse(p, "a set has too many members");
    else
        list->at[list->count++] = item;
}

/* One character, or \s and the like as an item. */
static takt_regex_escape member(takt_regex_parser *p)
{
    if (takt_regex_takes(p, "\\"))
        return takt_regex_read_escape(p);
    return (takt_regex_escape){.c = takt_regex_take(p)};
}

/* Whether a range continues: a '-' that is not the last character. */
static bool is_range(const takt_regex_parser *p)
{
    return p->at + 1 < p->pattern.length && p->pattern.at[p->at] == '-' &&
           p->pattern.at[p->at + 1] != ']' && p->pattern.at[p->at + 1] != '[';
}

static void read_member(takt_regex_parser *p, items *list)
{
    const takt_regex_escape low = member(p);
    if (low.is_item) {
        keep(p, list, low.item);
        return;
    }
    takt_regex_item item = {.kind = TAKT_R_RANGE, .low = low.c, .high = low.c};
    if (p->status == TAKT_OK && is_range(p)) {
        p->at++;
        const takt_regex_escape high = member(p);
        if (high.is_item || high.c < low.c)
            takt_regex_refuse(p, "a range has no end, or ends before it begins");
        item.high = high.c;
    }
    keep(p, list, item);
}

static void finish(takt_regex_parser *p, uint32_t set, const items *list)
{
    const size_t first = p->r->item_count;
    for (size_t i = 0; i < list->count; i++)
        takt_regex_add_item(p, list->at[i]);
    if (p->status != TAKT_OK)
        return;
    p->r->sets[set].first = (uint32_t)first;
    p->r->sets[set].count = (uint32_t)list->count;
    takt_regex_settle(p->r, &p->r->sets[set]);
}

/* Up to the closing ']'. The part after && is a separate set, which is not negated. */
static uint32_t read_rest(takt_regex_parser *p, bool is_negated)
{
    const uint32_t set = takt_regex_add_set(p);
    items *list = takt_arena_array(p->arena, 1, sizeof *list);
    if (list == NULL || p->status != TAKT_OK || ++p->depth > TAKT_REGEX_DEPTH) {
        if (list == NULL && p->status == TAKT_OK)
            p->status = TAKT_ERR_MEMORY;
        takt_regex_refuse(p, "it is nested too deeply");
        return 0;
    }
    uint32_t other = 0;
    for (bool is_first = true;; is_first = false) {
        if (p->at >= p->pattern.length)
            takt_regex_refuse(p, "a set does not end");
        if (p->status != TAKT_OK)
            return 0;
        if (!is_first && takt_regex_takes(p, "]"))
            break;
        if (takt_regex_takes(p, "&&")) {
            other = read_rest(p, false) + 1;
            break;
        }
        if (p->pattern.at[p->at] == '[' && p->at + 1 < p->pattern.length &&
            p->pattern.at[p->at + 1] == ':')
            takt_regex_refuse(p, "names of POSIX sets are not read");
        else if (takt_regex_takes(p, "["))
            keep(p, list, (takt_regex_item){.kind = TAKT_R_SUBSET, .low = takt_regex_read_set(p)});
        else
            read_member(p, list);
    }
    p->depth--;
    if (p->status == TAKT_OK) {
        p->r->sets[set].and_set = other;
        p->r->sets[set].is_negated = is_negated;
        finish(p, set, list);
    }
    return set;
}

uint32_t takt_regex_read_set(takt_regex_parser *p)
{
    const bool is_negated = takt_regex_takes(p, "^");
    return read_rest(p, is_negated);
}
