/* normalize.c - normalises a text before it is split into words. */
#include <string.h>

#include "text/tokenizer.h"
#include "text/unicode.h"

bool takt_span_begins(takt_span span, takt_span start)
{
    return start.length <= span.length &&
           (start.length == 0 || memcmp(span.at, start.at, start.length) == 0);
}

void takt_span_replace(takt_span text, takt_span a, takt_span b, takt_text *to)
{
    size_t i = 0;
    while (i < text.length) {
        if (a.length > 0 && text.length - i >= a.length &&
            memcmp(text.at + i, a.at, a.length) == 0) {
            takt_text_put(to, b.at, b.length);
            i += a.length;
        } else {
            takt_text_put(to, text.at + i++, 1);
        }
    }
}

static void clean(takt_span text, takt_text *to)
{
    for (size_t i = 0, bytes; i < text.length; i += bytes) {
        const uint32_t c = takt_unicode_take(text.at + i, text.length - i, &bytes);
        const takt_unicode_class k = takt_unicode_class_of(c);
        const bool is_control = k == TAKT_U_CC || k == TAKT_U_CF || k == TAKT_U_CO;
        if (c == '\t' || c == '\n' || c == '\r' || (takt_unicode_is_space(c) && !is_control))
            takt_text_put(to, " ", 1);
        else if (c != TAKT_U_BAD && !is_control)
            takt_text_put(to, text.at + i, bytes);
    }
}

static void space_ideographs(takt_span text, takt_text *to)
{
    for (size_t i = 0, bytes; i < text.length; i += bytes) {
        const bool is_one =
            takt_unicode_is_ideograph(takt_unicode_take(text.at + i, text.length - i, &bytes));
        takt_text_put(to, " ", is_one);
        takt_text_put(to, text.at + i, bytes);
        takt_text_put(to, " ", is_one);
    }
}

static bool is_in(uint32_t c, uint32_t first, uint32_t last)
{
    return c >= first && c <= last;
}

static void clean_nmt(takt_span text, takt_text *to)
{
    for (size_t i = 0, bytes; i < text.length; i += bytes) {
        const uint32_t c = takt_unicode_take(text.at + i, text.length - i, &bytes);
        const bool is_dropped = is_in(c, 1, 8) || c == 0xB || is_in(c, 0xE, 0x1F) || c == 0x7F ||
                                c == 0x8F || c == 0x9F;
        const bool is_space = c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == 0x1680 ||
                              is_in(c, 0x200B, 0x200F) || is_in(c, 0x2028, 0x2029) || c == 0x2581 ||
                              c == 0xFEFF || c == 0xFFFD;
        if (is_space)
            takt_text_put(to, " ", 1);
        else if (!is_dropped)
            takt_text_put(to, text.at + i, bytes);
    }
}

static void strip(takt_span text, const takt_normal *n, takt_text *to)
{
    size_t first = 0, end = text.length, bytes;
    const bool left = memchr(n->b.at, 'l', n->b.length) != NULL;
    const bool right = memchr(n->b.at, 'r', n->b.length) != NULL;
    while (left && first < end &&
           takt_unicode_is_space(takt_unicode_take(text.at + first, end - first, &bytes)))
        first += bytes;
    while (right && end > first) {
        size_t last = end - 1;
        while (last > first && ((unsigned char)text.at[last] & 0xC0) == 0x80)
            last--;
        if (!takt_unicode_is_space(takt_unicode_take(text.at + last, end - last, &bytes)))
            break;
        end = last;
    }
    takt_text_put(to, text.at + first, end - first);
}

static void prepend(takt_span text, const takt_normal *n, bool begins, takt_text *to)
{
    const bool has_it =
        n->b.length > 0 && text.length >= n->b.length && memcmp(text.at, n->b.at, n->b.length) == 0;
    if (text.length > 0 && begins && !has_it)
        takt_text_put(to, n->a.at, n->a.length);
    takt_text_put(to, text.at, text.length);
}

/* The position after the white space at `at`, or only after spaces if so set; and their number. */
static size_t behind_spaces(takt_span text, size_t at, bool plain, size_t *count)
{
    size_t bytes;
    for (*count = 0; at < text.length; at += bytes, ++*count) {
        const uint32_t c = takt_unicode_take(text.at + at, text.length - at, &bytes);
        if (plain ? c != ' ' : !takt_unicode_is_space(c))
            break;
    }
    return at;
}

/* Without marks `b`, and spaces between them, at the end: SentencePiece takes them for spaces. */
static void trim_marks(takt_span mark, takt_text *to)
{
    while (mark.length > 0 && to->length > 0) {
        const char *text = takt_text_get(to);
        if (text[to->length - 1] == ' ')
            to->length--;
        else if (to->length >= mark.length &&
                 memcmp(text + to->length - mark.length, mark.at, mark.length) == 0)
            to->length -= mark.length;
        else
            break;
    }
}

/* Whether a mark at `at` begins a word by itself: then Metaspace, which follows WhitespaceSplit
 * (`n->a` is empty), does not add one. */
static bool begins_word(takt_span text, size_t at, const takt_normal *n)
{
    return n->a.length == 0 && text.length - at >= TAKT_TOKEN_MARK_BYTES &&
           memcmp(text.at + at, TAKT_TOKEN_MARK, TAKT_TOKEN_MARK_BYTES) == 0;
}

/* White space becomes one space, none at the ends, and no `n->b` at the end; `runs`: only two or
 * more spaces, replaced by `n->b`. */
static void collapse(takt_span text, const takt_normal *n, bool runs, takt_text *to)
{
    for (size_t i = 0, end, count; i < text.length; i = end) {
        end = behind_spaces(text, i, runs || n->a.length > 0, &count);
        if (count == 0) {
            (void)takt_unicode_take(text.at + i, text.length - i, &end);
            takt_text_put(to, text.at + i, end);
            end += i;
        } else if (runs && count > 1) {
            takt_text_put(to, n->b.at, n->b.length);
        } else if (runs || (i > 0 && end < text.length && !begins_word(text, end, n))) {
            takt_text_put(to, " ", 1);
        }
    }
    if (!runs)
        trim_marks(n->b, to);
}

static void apply(const takt_tokenizer *t, const takt_normal *n, takt_span text, bool begins,
                  takt_text *to)
{
    switch (n->kind) {
    case TAKT_NORMAL_NFC: takt_unicode_form(text, TAKT_U_COMPOSED, to); break;
    case TAKT_NORMAL_NFD: takt_unicode_form(text, 0, to); break;
    case TAKT_NORMAL_NFKC: takt_unicode_form(text, TAKT_U_COMPOSED | TAKT_U_COMPATIBLE, to); break;
    case TAKT_NORMAL_NFKD: takt_unicode_form(text, TAKT_U_COMPATIBLE, to); break;
    case TAKT_NORMAL_LOWER: takt_unicode_lower(text, to); break;
    case TAKT_NORMAL_STRIP_MARKS: takt_unicode_strip_marks(text, false, to); break;
    case TAKT_NORMAL_STRIP_ALL_MARKS: takt_unicode_strip_marks(text, true, to); break;
    case TAKT_NORMAL_STRIP: strip(text, n, to); break;
    case TAKT_NORMAL_CLEAN: clean(text, to); break;
    case TAKT_NORMAL_IDEOGRAPHS: space_ideographs(text, to); break;
    case TAKT_NORMAL_NMT: clean_nmt(text, to); break;
    case TAKT_NORMAL_SPELL: takt_token_spell(text, to); break;
    case TAKT_NORMAL_PATTERN: takt_regex_replace(n->regex, text, n->b, to); break;
    case TAKT_NORMAL_REPLACE: takt_span_replace(text, n->a, n->b, to); break;
    case TAKT_NORMAL_PREPEND: prepend(text, n, begins, to); break;
    case TAKT_NORMAL_CHARSMAP: takt_charsmap_apply(&t->charsmap, text, to); break;
    case TAKT_NORMAL_SPACES: collapse(text, n, false, to); break;
    case TAKT_NORMAL_RUNS: collapse(text, n, true, to); break;
    }
}

void takt_normalize(const takt_tokenizer *t, takt_span text, bool begins, takt_text *to)
{
    takt_text forms[2];
    size_t now = 0;
    takt_text_init(&forms[0], t->ctx);
    takt_text_init(&forms[1], t->ctx);
    takt_text_put(&forms[0], text.at, text.length);
    for (size_t i = 0; i < t->normal_count; i++) {
        takt_text *from = &forms[now], *into = &forms[!now];
        into->length = 0;
        apply(t, &t->normals[i], (takt_span){takt_text_get(from), from->length}, begins, into);
        if (from->status != TAKT_OK)
            into->status = from->status;
        now = !now;
    }
    takt_text_put(to, takt_text_get(&forms[now]), forms[now].length);
    if (forms[now].status != TAKT_OK)
        to->status = forms[now].status;
    takt_text_deinit(&forms[0]);
    takt_text_deinit(&forms[1]);
}
