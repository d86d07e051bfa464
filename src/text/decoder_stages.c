/* decoder_stages.c - what each decoder of tokenizer.json makes of a list of pieces. */
#include <string.h>

#include "base/mem.h"
#include "text/decoder.h"
#include "text/tokenizer.h"

/* ---- lists of pieces ---- */

static takt_span piece(const takt_pieces *p, size_t i)
{
    const size_t *ends = p->ends;
    const size_t begin = i > 0 ? ends[i - 1] : 0;
    return (takt_span){takt_text_get(&p->bytes) + begin, ends[i] - begin};
}

void takt_pieces_end(takt_pieces *p)
{
    if (p->bytes.status == TAKT_OK)
        p->bytes.status =
            takt_mem_grow(p->bytes.ctx, &p->ends, &p->room, p->count + 1, sizeof(size_t));
    if (p->bytes.status == TAKT_OK)
        ((size_t *)p->ends)[p->count++] = p->bytes.length;
}

void takt_pieces_put(takt_pieces *to, takt_span text)
{
    takt_text_put(&to->bytes, text.at, text.length);
}

void takt_pieces_init(takt_pieces *p, takt_ctx *ctx, bool continues)
{
    *p = (takt_pieces){.continues = continues};
    takt_text_init(&p->bytes, ctx);
}

void takt_pieces_deinit(takt_pieces *p)
{
    takt_mem_put(p->bytes.ctx, p->ends, p->room * sizeof(size_t));
    takt_text_deinit(&p->bytes);
}

static bool is_first(const takt_pieces *p, size_t i)
{
    return i == 0 && !p->continues;
}

/* ---- stages ---- */

void takt_decode_spaced(const takt_decoder *d, const takt_pieces *from, takt_pieces *to)
{
    (void)d;
    for (size_t i = 0; i < from->count; i++) {
        if (!is_first(from, i))
            takt_pieces_put(to, takt_span_of(" "));
        takt_pieces_put(to, piece(from, i));
        takt_pieces_end(to);
    }
}

void takt_decode_fuse(const takt_decoder *d, const takt_pieces *from, takt_pieces *to)
{
    (void)d;
    takt_pieces_put(to, (takt_span){takt_text_get(&from->bytes), from->bytes.length});
    takt_pieces_end(to);
}

void takt_decode_replace(const takt_decoder *d, const takt_pieces *from, takt_pieces *to)
{
    for (size_t i = 0; i < from->count; i++) {
        if (d->regex != NULL)
            takt_regex_replace(d->regex, piece(from, i), d->b, &to->bytes);
        else
            takt_span_replace(piece(from, i), d->a, d->b, &to->bytes);
        takt_pieces_end(to);
    }
}

/* Joins all pieces into one. */
void takt_decode_byte_level(const takt_decoder *d, const takt_pieces *from, takt_pieces *to)
{
    (void)d;
    for (size_t i = 0; i < from->count; i++)
        takt_token_unspell(piece(from, i), &to->bytes);
    takt_pieces_end(to);
}

void takt_decode_byte_fallback(const takt_decoder *d, const takt_pieces *from, takt_pieces *to)
{
    bool is_open = false;
    (void)d;
    for (size_t i = 0; i < from->count; i++) {
        const takt_span text = piece(from, i);
        const int byte = takt_token_byte_named(text);
        const char c = (char)byte;
        if (is_open && byte < 0)
            takt_pieces_end(to);
        takt_pieces_put(to, byte >= 0 ? (takt_span){&c, 1} : text);
        is_open = byte >= 0;
        if (!is_open)
            takt_pieces_end(to);
    }
    if (is_open)
        takt_pieces_end(to);
}

/* Up to `begin` and `end` times `a` at the ends of each piece. */
void takt_decode_strip(const takt_decoder *d, const takt_pieces *from, takt_pieces *to)
{
    for (size_t i = 0; i < from->count; i++) {
        takt_span text = piece(from, i);
        for (size_t n = 0; n < d->begin && !from->continues && takt_span_begins(text, d->a); n++)
            text = (takt_span){text.at + d->a.length, text.length - d->a.length};
        for (size_t n = 0; n < d->end && text.length >= d->a.length &&
                           memcmp(text.at + text.length - d->a.length, d->a.at, d->a.length) == 0;
             n++)
            text.length -= d->a.length;
        takt_pieces_put(to, text);
        takt_pieces_end(to);
    }
}

void takt_decode_metaspace(const takt_decoder *d, const takt_pieces *from, takt_pieces *to)
{
    for (size_t i = 0; i < from->count; i++) {
        const bool drops = d->flag && is_first(from, i);
        takt_span_replace(piece(from, i), d->a, takt_span_of(drops ? "" : " "), &to->bytes);
        takt_pieces_end(to);
    }
}

static void replace_in(takt_text *text, takt_span a, takt_span b)
{
    takt_text copy;
    takt_text_init(&copy, text->ctx);
    takt_span_replace((takt_span){takt_text_get(text), text->length}, a, b, &copy);
    text->length = 0;
    takt_text_put(text, takt_text_get(&copy), copy.length);
    if (copy.status != TAKT_OK)
        text->status = copy.status;
    takt_text_deinit(&copy);
}

/* English written without the spaces that its tokens had. */
static void clean(takt_text *text)
{
    static const char *const rows[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        replace_in(text, takt_span_of(rows[i][0]), takt_span_of(rows[i][1]));
}

/* Ends the piece in `text`, and empties `text`. */
static void move(takt_text *text, takt_pieces *to)
{
    takt_pieces_put(to, (takt_span){takt_text_get(text), text->length});
    if (text->status != TAKT_OK)
        to->bytes.status = text->status;
    text->length = 0;
    takt_pieces_end(to);
}

void takt_decode_word_pieces(const takt_decoder *d, const takt_pieces *from, takt_pieces *to)
{
    takt_text text;
    takt_text_init(&text, to->bytes.ctx);
    for (size_t i = 0; i < from->count; i++) {
        const takt_span p = piece(from, i);
        const bool goes_on = !is_first(from, i) && takt_span_begins(p, d->a);
        if (!is_first(from, i) && !goes_on)
            takt_text_put(&text, " ", 1);
        takt_text_put(&text, p.at + (goes_on ? d->a.length : 0),
                      p.length - (goes_on ? d->a.length : 0));
        if (d->flag)
            clean(&text);
        move(&text, to);
    }
    takt_text_deinit(&text);
}

void takt_decode_words_with_ends(const takt_decoder *d, const takt_pieces *from, takt_pieces *to)
{
    for (size_t i = 0; i < from->count; i++) {
        const bool is_last = i + 1 == from->count && !from->continues; /* others may follow */
        takt_span_replace(piece(from, i), d->a, takt_span_of(is_last ? "" : " "), &to->bytes);
        takt_pieces_end(to);
    }
}

/* Speech: a piece that repeats the one before is dropped, then the padding. */
void takt_decode_ctc(const takt_decoder *d, const takt_pieces *from, takt_pieces *to)
{
    takt_text text;
    takt_text_init(&text, to->bytes.ctx);
    for (size_t i = 0; i < from->count; i++) {
        const takt_span p = piece(from, i), last = i > 0 ? piece(from, i - 1) : takt_span_of("");
        if (i > 0 && p.length == last.length && memcmp(p.at, last.at, p.length) == 0)
            continue;
        takt_span_replace(p, d->a, takt_span_of(""), &text);
        if (d->flag) {
            clean(&text);
            replace_in(&text, d->b, takt_span_of(" "));
        }
        if (text.length > 0 || text.status != TAKT_OK)
            move(&text, to);
    }
    takt_text_deinit(&text);
}
