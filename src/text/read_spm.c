/* read_spm.c - SentencePiece's tokenizer.model: a protobuf message with pieces and settings. */
#include <math.h>
#include <string.h>

#include "io/onnx/wire.h"
#include "text/tokenizer.h"

enum { UNIGRAM = 1, BPE = 2 };

typedef struct settings {
    uint64_t model; /* UNIGRAM unless set */
    int64_t roles[TAKT_TOKEN_ROLES];
    bool adds_space, strips, escapes, falls_back;
    takt_span charsmap;
} settings;

/* A protobuf error, reported as the tokenizer's. */
static takt_status blame(const takt_tokenizer *t, takt_status status)
{
    return status == TAKT_ERR_FORMAT
               ? takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "tokenizer.model is damaged")
               : status;
}

static takt_status next(const takt_tokenizer *t, takt_cursor *c, takt_field *f, bool *more)
{
    return blame(t, takt_wire_next(t->ctx, c, f, more));
}

/* ---- pieces ---- */

static takt_status read_piece(takt_tokenizer *t, takt_cursor c, size_t id)
{
    static const uint8_t kinds[] = {0,
                                    TAKT_TOKEN_NORMAL,
                                    TAKT_TOKEN_UNKNOWN,
                                    TAKT_TOKEN_CONTROL,
                                    TAKT_TOKEN_USER,
                                    TAKT_TOKEN_UNUSED,
                                    TAKT_TOKEN_BYTE};
    takt_field f;
    bool more;
    for (;;) {
        TAKT_TRY(next(t, &c, &f, &more));
        if (!more)
            return TAKT_OK;
        if (f.number == 1 && f.wire == TAKT_WIRE_BYTES) {
            const takt_span text = takt_wire_span(&f);
            const char *copy = takt_arena_text(&t->arena, text.at, text.length);
            if (copy == NULL)
                return TAKT_ERR_MEMORY;
            t->texts[id] = (takt_span){copy, text.length};
        } else if (f.number == 2 && f.wire == TAKT_WIRE_32) {
            const uint32_t bits = (uint32_t)f.value;
            memcpy(&t->scores[id], &bits, sizeof bits);
            if (isnan(t->scores[id]))
                return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "a score is NaN");
        } else if (f.number == 3 && f.wire == TAKT_WIRE_VARINT) {
            if (f.value < 1 || f.value > 6)
                return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "a token is of an unknown type");
            t->kinds[id] = kinds[f.value];
        }
    }
}

static takt_status read_pieces(takt_tokenizer *t, takt_cursor whole)
{
    takt_cursor c = whole;
    takt_field f;
    bool more = true;
    size_t count = 0;
    while (more) {
        TAKT_TRY(next(t, &c, &f, &more));
        count += more && f.number == 1 && f.wire == TAKT_WIRE_BYTES;
    }
    TAKT_TRY(takt_tokenizer_reserve(t, count));
    c = whole;
    for (size_t id = 0; id < count;) {
        TAKT_TRY(next(t, &c, &f, &more));
        if (f.number == 1 && f.wire == TAKT_WIRE_BYTES)
            TAKT_TRY(read_piece(t, f.body, id++));
    }
    return TAKT_OK;
}

/* ---- settings ---- */

/* trainer_spec and normalizer_spec: the fields in use. */
static takt_status read_spec(const takt_tokenizer *t, takt_cursor c, bool is_trainer, settings *s)
{
    takt_field f;
    bool more;
    for (;;) {
        TAKT_TRY(next(t, &c, &f, &more));
        if (!more)
            return TAKT_OK;
        const int64_t id = (int32_t)(uint32_t)f.value;
        if (!is_trainer && f.number == 2 && f.wire == TAKT_WIRE_BYTES)
            s->charsmap = takt_wire_span(&f);
        if (f.wire != TAKT_WIRE_VARINT)
            continue;
        if (is_trainer) {
            switch (f.number) {
            case 3: s->model = f.value; break;
            case 35: s->falls_back = f.value != 0; break;
            case 40: s->roles[TAKT_TOKEN_UNK] = id; break;
            case 41: s->roles[TAKT_TOKEN_BOS] = id; break;
            case 42: s->roles[TAKT_TOKEN_EOS] = id; break;
            case 43: s->roles[TAKT_TOKEN_PAD] = id; break;
            default: break;
            }
        } else {
            s->adds_space = f.number == 3 ? f.value != 0 : s->adds_space;
            s->strips = f.number == 4 ? f.value != 0 : s->strips;
            s->escapes = f.number == 5 ? f.value != 0 : s->escapes;
        }
    }
}

static takt_status read_settings(const takt_tokenizer *t, takt_cursor c, settings *s)
{
    takt_field f;
    bool more = true;
    while (more) {
        TAKT_TRY(next(t, &c, &f, &more));
        if (more && (f.number == 2 || f.number == 3) && f.wire == TAKT_WIRE_BYTES)
            TAKT_TRY(read_spec(t, f.body, f.number == 2, s));
    }
    return TAKT_OK;
}

static void add_normal(takt_tokenizer *t, takt_normal_kind kind, const char *a, const char *b)
{
    t->normals[t->normal_count++] = (takt_normal){kind, takt_span_of(a), takt_span_of(b), NULL};
}

static takt_status apply(takt_tokenizer *t, const settings *s)
{
    for (size_t i = 0; i < TAKT_TOKEN_ROLES; i++) {
        if (s->roles[i] >= 0 && (uint64_t)s->roles[i] >= t->count && i != TAKT_TOKEN_PAD)
            return takt_tokenizer_fail(t, TAKT_E_TOKENIZER, "a token with a role does not exist");
        t->roles[i] = s->roles[i] < (int64_t)t->count ? (int32_t)s->roles[i] : -1;
    }
    if (!s->escapes)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED,
                                   "spaces that are not marked are not supported");
    if (s->charsmap.length > 0) {
        TAKT_TRY(takt_charsmap_read(t, (const uint8_t *)s->charsmap.at, s->charsmap.length));
        add_normal(t, TAKT_NORMAL_CHARSMAP, "", "");
    }
    if (s->strips)
        add_normal(t, TAKT_NORMAL_SPACES, " ", TAKT_TOKEN_MARK);
    t->joins_unknown = true;
    t->begins_spaced = s->adds_space;
    if (s->adds_space)
        add_normal(t, TAKT_NORMAL_PREPEND, " ", "");
    add_normal(t, TAKT_NORMAL_REPLACE, " ", TAKT_TOKEN_MARK);
    for (size_t b = 0; !s->falls_back && b < 256; b++)
        t->bytes[b] = -1;
    return TAKT_OK;
}

/* The first and last tokens of a text: as in Llama's code, unless tokenizer_config.json says
 * otherwise. */
static takt_status add_special(takt_tokenizer *t)
{
    takt_trie *trie = &t->trie;
    trie->added = takt_arena_array(&t->arena, t->count, sizeof *trie->added);
    if (trie->added == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < t->count; i++) {
        const bool is_control =
            t->kinds[i] == TAKT_TOKEN_CONTROL || t->kinds[i] == TAKT_TOKEN_UNKNOWN;
        if ((is_control || t->kinds[i] == TAKT_TOKEN_USER) && t->texts[i].length > 0)
            trie->added[trie->added_count++] =
                (takt_added){.id = (int32_t)i, .is_control = is_control};
    }
    return takt_trie_build(t);
}

bool takt_spm_recognises(const uint8_t *bytes, size_t length)
{
    /* A file begins with a piece, and that with its text: "\n", its length, "\n", and the text's
     * length. */
    return length > 4 && bytes[0] == 0x0A && bytes[1] > 2 && bytes[1] < 0x80 && bytes[2] == 0x0A &&
           bytes[3] < bytes[1];
}

takt_status takt_tokenizer_read_spm(takt_tokenizer *t, const uint8_t *bytes, size_t length)
{
    const takt_cursor c = takt_cursor_of(bytes, length, 0);
    settings s = {.model = UNIGRAM, .adds_space = true, .strips = true, .escapes = true};
    for (size_t i = 0; i < TAKT_TOKEN_ROLES; i++)
        s.roles[i] = -1;
    s.roles[TAKT_TOKEN_BOS] = 1;
    s.roles[TAKT_TOKEN_EOS] = 2;
    s.roles[TAKT_TOKEN_UNK] = 0;
    TAKT_TRY(read_settings(t, c, &s));
    if (s.model != UNIGRAM && s.model != BPE)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED,
                                   "of SentencePiece's models Unigram and BPE are read");
    t->model = s.model == BPE ? TAKT_TOKENIZER_SCORES : TAKT_TOKENIZER_UNIGRAM;
    TAKT_TRY(read_pieces(t, c));
    TAKT_TRY(takt_tokenizer_index(t));
    TAKT_TRY(apply(t, &s));
    t->adds_floats = true;
    if (t->model == TAKT_TOKENIZER_UNIGRAM)
        TAKT_TRY(takt_unigram_init(t));
    if (t->model == TAKT_TOKENIZER_SCORES && t->roles[TAKT_TOKEN_BOS] >= 0)
        t->prefix[t->prefix_count++] = t->roles[TAKT_TOKEN_BOS];
    if (t->model == TAKT_TOKENIZER_UNIGRAM && t->roles[TAKT_TOKEN_EOS] >= 0)
        t->suffix[t->suffix_count++] = t->roles[TAKT_TOKEN_EOS];
    takt_tokenizer_guess_roles(t);
    return add_special(t);
}
