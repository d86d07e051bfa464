/* certificate.c - certificates as text. */
#include "verify/certificate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "base/number.h"

static void seal(const char *text, size_t length, char digest[TAKT_SHA256_TEXT])
{
    takt_sha256 sha;
    uint8_t bytes[TAKT_SHA256_BYTES];
    takt_sha256_init(&sha);
    takt_sha256_add(&sha, text, length);
    takt_sha256_end(&sha, bytes);
    takt_sha256_text(bytes, digest);
}

static const char digits64[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";

static void write_proof(const takt_cut *cut, takt_text *text)
{
    if (cut->beta_count > 0)
        takt_text_add(text, "beta");
    for (size_t k = 0; k < cut->beta_count; k++) {
        takt_text_add(text, " ");
        takt_text_double(text, cut->beta[k]);
    }
    if (cut->beta_count > 0)
        takt_text_add(text, "\n");
    for (size_t k = 0; k < cut->slope_count; k++) {
        const takt_cut_slopes *s = &cut->slopes[k];
        takt_text_add(text, "slope %u ", s->node);
        for (uint32_t i = 0; i < s->count; i++)
            takt_text_add(text, "%c%c", digits64[s->at[i] >> 6 & 63], digits64[s->at[i] & 63]);
        takt_text_add(text, "\n");
    }
}

void takt_certificate_write(const takt_certificate *c, takt_text *text)
{
    char digest[TAKT_SHA256_TEXT];
    takt_text_add(text, "taktcert 1 %s\nmodel %016llx\nproperty %s\n", c->is_real ? "real" : "f32",
                  (unsigned long long)c->model, c->property);
    for (size_t i = 0; i < c->count; i++) {
        const takt_cut *cut = &c->cuts[i];
        if (cut->proved_count > 0) {
            takt_text_add(text, "proved");
            for (size_t k = 0; k < cut->proved_count; k++)
                takt_text_add(text, " %u", cut->proved[k]);
            takt_text_add(text, "\n");
        }
        write_proof(cut, text);
        if (cut->is_relu) {
            takt_text_add(text, "relu %u %u\n", cut->input, cut->element);
        } else if (cut->input != UINT32_MAX) {
            takt_text_add(text, "split %u ", cut->input);
            takt_text_double(text, cut->at);
            takt_text_add(text, "\n");
        } else {
            takt_text_add(text, "leaf\n");
        }
    }
    if (text->status != TAKT_OK)
        return;
    seal(takt_text_get(text), text->length, digest);
    takt_text_add(text, "end %s\n", digest);
}

/* ---- reading ---- */

typedef struct reader {
    takt_ctx *ctx;
    const char *name;
    takt_cursor cursor;
    takt_certificate *c;
    takt_span line;
    int number;
    uint32_t *proved; /* of the current box, as are the following */
    size_t proved_count, proved_room;
    double *beta;
    size_t beta_count, beta_room;
    takt_cut_slopes *slopes;
    size_t slope_count, slope_room;
} reader;

static takt_status bad(reader *r, const char *why)
{
    return takt_fail(r->ctx, TAKT_E_CERTIFICATE, "%s, line %d: the certificate is damaged: %s",
                     r->name, r->number, why);
}

static takt_status next_line(reader *r)
{
    const size_t from = r->cursor.pos;
    r->number++;
    while (takt_cursor_left(&r->cursor) > 0)
        if (takt_cursor_u8(&r->cursor) == '\n') {
            r->line = (takt_span){(const char *)r->cursor.base + from, r->cursor.pos - from - 1};
            return TAKT_OK;
        }
    return bad(r, "it ends early");
}

/* The next word of the line; "" at its end. */
static takt_span word(reader *r)
{
    takt_span w = {r->line.at, 0};
    while (w.length < r->line.length && w.at[w.length] != ' ')
        w.length++;
    const size_t used = w.length < r->line.length ? w.length + 1 : w.length;
    r->line.at += used;
    r->line.length -= used;
    return w;
}

static bool whole(takt_span w, uint32_t *value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < w.length; i++) {
        if (w.at[i] < '0' || w.at[i] > '9' || sum > UINT32_MAX / 10)
            return false;
        sum = 10 * sum + (uint64_t)(w.at[i] - '0');
    }
    *value = (uint32_t)sum;
    return w.length > 0 && sum < UINT32_MAX;
}

static takt_status head(reader *r)
{
    TAKT_TRY(next_line(r));
    if (!takt_span_is(word(r), "taktcert") || !takt_span_is(word(r), "1"))
        return bad(r, "it does not begin with taktcert 1");
    const takt_span kind = word(r);
    r->c->is_real = takt_span_is(kind, "real");
    if ((!r->c->is_real && !takt_span_is(kind, "f32")) || r->line.length > 0)
        return bad(r, "arithmetic is f32 or real");
    TAKT_TRY(next_line(r));
    const bool is_model = takt_span_is(word(r), "model");
    const takt_span digest = word(r);
    if (!is_model || digest.length != 16 || r->line.length > 0)
        return bad(r, "the model's digest is missing");
    for (size_t i = 0; i < 16; i++) {
        const char *digits = "0123456789abcdef", *at = memchr(digits, digest.at[i], 16);
        if (at == NULL)
            return bad(r, "the model's digest is missing");
        r->c->model = r->c->model << 4 | (uint64_t)(at - digits);
    }
    TAKT_TRY(next_line(r));
    const bool is_property = takt_span_is(word(r), "property");
    const takt_span sha = word(r);
    if (!is_property || sha.length != TAKT_SHA256_TEXT - 1 || r->line.length > 0)
        return bad(r, "the property's digest is missing");
    for (size_t i = 0; i < sha.length; i++)
        if (memchr("0123456789abcdef", sha.at[i], 16) == NULL)
            return bad(r, "the property's digest is not one");
    memcpy(r->c->property, sha.at, sha.length);
    return TAKT_OK;
}

static takt_status proved(reader *r)
{
    if (r->proved_count > 0)
        return bad(r, "two lists of cases for one box");
    while (r->line.length > 0) {
        TAKT_TRY(takt_mem_grow(r->ctx, (void **)&r->proved, &r->proved_room, r->proved_count + 1,
                               sizeof *r->proved));
        if (!whole(word(r), &r->proved[r->proved_count++]))
            return bad(r, "a case is not a number");
    }
    return r->proved_count > 0 ? TAKT_OK : bad(r, "an empty list of cases");
}

static takt_status beta(reader *r)
{
    if (r->beta_count > 0)
        return bad(r, "two lists of multipliers for one box");
    while (r->line.length > 0) {
        TAKT_TRY(takt_mem_grow(r->ctx, (void **)&r->beta, &r->beta_room, r->beta_count + 1,
                               sizeof *r->beta));
        const takt_span w = word(r);
        double *value = &r->beta[r->beta_count++];
        if (!takt_number_read(w.at, w.length, value) || !(*value >= 0) || !isfinite(*value))
            return bad(r, "a multiplier is not a number from 0 on");
    }
    return r->beta_count > 0 ? TAKT_OK : bad(r, "an empty list of multipliers");
}

static int digit64(char c)
{
    const char *at = c != '\0' ? strchr(digits64, c) : NULL;
    return at != NULL ? (int)(at - digits64) : -1;
}

static takt_status slopes(reader *r)
{
    takt_cut_slopes s;
    if (!whole(word(r), &s.node))
        return bad(r, "a node is not a number");
    const takt_span text = word(r);
    if (text.length == 0 || text.length % 2 != 0 || text.length / 2 > UINT32_MAX ||
        r->line.length > 0)
        return bad(r, "slopes are pairs of characters");
    s.count = (uint32_t)(text.length / 2);
    uint16_t *at = takt_arena_array(&r->c->arena, s.count, sizeof *at);
    if (at == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t i = 0; i < s.count; i++) {
        const int high = digit64(text.at[2 * i]), low = digit64(text.at[2 * i + 1]);
        if (high < 0 || low < 0)
            return bad(r, "slopes are pairs of characters");
        at[i] = (uint16_t)(64 * high + low);
    }
    s.at = at;
    TAKT_TRY(takt_mem_grow(r->ctx, (void **)&r->slopes, &r->slope_room, r->slope_count + 1,
                           sizeof *r->slopes));
    r->slopes[r->slope_count++] = s;
    return TAKT_OK;
}

/* Multipliers and slopes go with cases. */
static takt_status keep_proof(reader *r, takt_cut *cut)
{
    takt_arena *a = &r->c->arena;
    if (cut->proved_count == 0)
        return r->beta_count + r->slope_count == 0 ? TAKT_OK : bad(r, "slopes without cases");
    cut->proved = takt_arena_copy(a, r->proved, r->proved_count * sizeof *r->proved);
    cut->beta_count = r->beta_count;
    cut->slope_count = r->slope_count;
    if (r->beta_count > 0)
        cut->beta = takt_arena_copy(a, r->beta, r->beta_count * sizeof *r->beta);
    if (r->slope_count > 0)
        cut->slopes = takt_arena_copy(a, r->slopes, r->slope_count * sizeof *r->slopes);
    if (cut->proved == NULL || (r->beta_count > 0 && cut->beta == NULL) ||
        (r->slope_count > 0 && cut->slopes == NULL))
        return TAKT_ERR_MEMORY;
    r->proved_count = r->beta_count = r->slope_count = 0;
    return TAKT_OK;
}

static takt_status box(reader *r, bool is_split, bool is_relu)
{
    takt_certificate *c = r->c;
    takt_cut cut = {.input = UINT32_MAX, .proved_count = r->proved_count, .is_relu = is_relu};
    if (is_relu && (!whole(word(r), &cut.input) || !whole(word(r), &cut.element)))
        return bad(r, "a relu is not a number");
    if (is_split) {
        if (!whole(word(r), &cut.input))
            return bad(r, "an input is not a number");
        const takt_span at = word(r);
        if (!takt_number_read(at.at, at.length, &cut.at) || !isfinite(cut.at))
            return bad(r, "a split is not a number");
    }
    if (r->line.length > 0)
        return bad(r, "a line is too long");
    TAKT_TRY(keep_proof(r, &cut));
    TAKT_TRY(takt_mem_grow(r->ctx, (void **)&c->cuts, &c->capacity, c->count + 1, sizeof *c->cuts));
    c->cuts[c->count++] = cut;
    return TAKT_OK;
}

static takt_status body(reader *r)
{
    for (;;) {
        const size_t before = r->cursor.pos;
        TAKT_TRY(next_line(r));
        const takt_span first = word(r);
        if (takt_span_is(first, "proved")) {
            TAKT_TRY(proved(r));
        } else if (takt_span_is(first, "beta")) {
            TAKT_TRY(beta(r));
        } else if (takt_span_is(first, "slope")) {
            TAKT_TRY(slopes(r));
        } else if (takt_span_is(first, "split") || takt_span_is(first, "leaf") ||
                   takt_span_is(first, "relu")) {
            TAKT_TRY(box(r, takt_span_is(first, "split"), takt_span_is(first, "relu")));
        } else if (takt_span_is(first, "end")) {
            char digest[TAKT_SHA256_TEXT];
            seal((const char *)r->cursor.base, before, digest);
            if (!takt_span_is(word(r), digest) || r->line.length > 0)
                return bad(r, "its seal does not fit");
            return takt_cursor_left(&r->cursor) == 0 ? TAKT_OK
                                                     : bad(r, "something follows its end");
        } else {
            return bad(r, "a line is not understood");
        }
    }
}

takt_status takt_certificate_read(takt_ctx *ctx, const char *name, takt_span text,
                                  takt_certificate *c)
{
    *c = (takt_certificate){0};
    takt_arena_init(&c->arena, ctx);
    reader r = {.ctx = ctx, .name = name, .c = c};
    r.cursor = takt_cursor_of(text.at, text.length, 0);
    takt_status status = head(&r);
    if (status == TAKT_OK)
        status = body(&r);
    if (status == TAKT_OK && r.proved_count + r.beta_count + r.slope_count > 0)
        status = bad(&r, "cases without a box");
    takt_mem_put(ctx, r.proved, r.proved_room * sizeof *r.proved);
    takt_mem_put(ctx, r.beta, r.beta_room * sizeof *r.beta);
    takt_mem_put(ctx, r.slopes, r.slope_room * sizeof *r.slopes);
    return status;
}

void takt_certificate_deinit(takt_certificate *c)
{
    if (c->arena.ctx == NULL)
        return;
    takt_mem_put(c->arena.ctx, c->cuts, c->capacity * sizeof *c->cuts);
    takt_arena_deinit(&c->arena);
    *c = (takt_certificate){0};
}
