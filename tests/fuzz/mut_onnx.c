/* mut_onnx.c - changes a model field by field, so that its lengths still fit afterwards.
 *
 * Bytes changed at random leave most models unreadable at their first length, and rarely reach the
 * checks of operations behind the wire format. Here a field anywhere in the tree is left out,
 * repeated, moved, given another number or another field's payload, and the lengths of all
 * enclosing messages are corrected. One change in five is specific to its field (mut_model.inc);
 * one in four is left to libFuzzer.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DEPTH = 24, SPARE = 1 << 13, SEEN = 512 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

typedef struct {
    size_t tag, length, body, end; /* where tag, length (if it has one) and payload begin */
    uint64_t key;
} place;

/* A field and the messages around it, the outermost first. */
typedef struct {
    place around[DEPTH], at;
    int depth;
} choice;

typedef struct {
    uint8_t *bytes;
    size_t size, max;
    uint64_t state;
} work;

static uint64_t draw(uint64_t *state, uint64_t below)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % below;
}

static bool varint(const uint8_t *d, size_t end, size_t *at, uint64_t *value)
{
    *value = 0;
    if (*at < end && d[*at] < 128) { /* nearly all are one byte */
        *value = d[(*at)++];
        return true;
    }
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = d[(*at)++];
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    for (; value > 127; value >>= 7)
        to[n++] = (uint8_t)(value & 127) | 128;
    to[n++] = (uint8_t)value;
    return n;
}

/* The field at *at, which is moved behind it; false where none begins or it does not fit. */
static bool next(const uint8_t *d, size_t end, size_t *at, place *p)
{
    uint64_t value;
    p->tag = *at;
    if (!varint(d, end, at, &p->key) || p->key >> 3 == 0 || p->key >> 3 > 64)
        return false;
    p->length = p->body = *at;
    switch (p->key & 7) {
    case 0:
        if (!varint(d, end, at, &value))
            return false;
        break;
    case 2:
        if (!varint(d, end, at, &value) || value > end - *at)
            return false;
        p->body = *at;
        *at += (size_t)value;
        break;
    case 1:
    case 5: {
        const size_t width = (p->key & 7) == 1 ? 8 : 4;
        if (width > end - *at)
            return false;
        *at += width;
        break;
    }
    default: return false;
    }
    p->end = *at;
    return true;
}

static bool is_message(const uint8_t *d, const place *p)
{
    place inner;
    size_t at = p->body;
    if ((p->key & 7) != 2 || at == p->end)
        return false;
    while (at < p->end)
        if (!next(d, p->end, &at, &inner))
            return false;
    return true;
}

/* Numbers of fields from the model inwards; 0 is any. */
typedef struct {
    uint8_t step[6];
    int count;
} path;

static bool lies_on(const choice *c, const path *p)
{
    bool is_same = c->depth + 1 == p->count;
    for (int i = 0; is_same && i < p->count; i++) {
        const uint64_t key = i < c->depth ? c->around[i].key : c->at.key;
        is_same = p->step[i] == 0 || key >> 3 == p->step[i];
    }
    return is_same;
}

/* The fields that fit all that is given. */
typedef struct {
    const choice *like;     /* those with its key at its depth */
    const path *on;         /* those of that path */
    const uint8_t *payload; /* those whose payload is these `length` bytes */
    size_t length;
    bool is_first; /* the first of them, not any */
} wish;

static bool fits(const work *w, const wish *only, const choice *c)
{
    const size_t length = c->at.end - c->at.body;
    return (only->like == NULL ||
            (only->like->depth == c->depth && only->like->at.key == c->at.key)) &&
           (only->on == NULL || lies_on(c, only->on)) &&
           (only->payload == NULL ||
            ((c->at.key & 7) == 2 && length == only->length && c->depth < DEPTH &&
             memcmp(w->bytes + c->at.body, only->payload, length) == 0));
}

/* Any field that fits, all equally likely, found in one pass over the bytes. */
static bool choose(work *w, const wish *only, choice *found)
{
    choice c;
    size_t count = 0, at = 0;
    c.depth = 0;
    for (int depth = 0; at < w->size;) {
        while (depth > 0 && at >= c.around[depth - 1].end)
            depth--;
        const size_t end = depth > 0 ? c.around[depth - 1].end : w->size;
        if (!next(w->bytes, end, &at, &c.at))
            break;
        c.depth = depth;
        if (fits(w, only, &c) && draw(&w->state, ++count) == 0) {
            memcpy(found->around, c.around, (size_t)depth * sizeof *c.around);
            found->at = c.at;
            found->depth = depth;
            if (only->is_first)
                return true;
        }
        if (depth < DEPTH && is_message(w->bytes, &c.at)) {
            c.around[depth++] = c.at;
            at = c.at.body;
        }
    }
    return count > 0;
}

static bool splice(work *w, size_t from, size_t to, const uint8_t *with, size_t n)
{
    if (n > to - from && n - (to - from) > w->max - w->size)
        return false;
    memmove(w->bytes + from + n, w->bytes + to, w->size - to);
    memcpy(w->bytes + from, with, n);
    w->size = w->size - (to - from) + n;
    return true;
}

/* Replaces bytes from..to, in the payload of `depth` messages, by `n` others, and adjusts the
 * lengths of the messages. */
static bool replace(work *w, const choice *c, int depth, const place *range, const uint8_t *with,
                    size_t n)
{
    size_t grown = n - (range->end - range->body); /* may wrap: differences add up modulo 2^64 */
    if (!splice(w, range->body, range->end, with, n))
        return false;
    for (int i = depth; i-- > 0;) {
        const place *p = &c->around[i];
        uint8_t length[10];
        const size_t now = put_varint(length, p->end - p->body + grown);
        if (!splice(w, p->length, p->body, length, now))
            return false;
        grown += now - (p->body - p->length);
    }
    return true;
}

/* All of the field, its tag included, becomes these bytes. */
static bool replace_field(work *w, const choice *c, const uint8_t *with, size_t n)
{
    const place range = {.body = c->at.tag, .end = c->at.end};
    return replace(w, c, c->depth, &range, with, n);
}

static bool insert_field(work *w, const choice *c, const uint8_t *with, size_t n)
{
    const place range = {.body = c->at.tag, .end = c->at.tag};
    return replace(w, c, c->depth, &range, with, n);
}

static bool replace_payload(work *w, choice *c, const uint8_t *with, size_t n)
{
    const place range = c->at;
    if ((c->at.key & 7) != 2)
        return replace(w, c, c->depth, &range, with, n);
    if (c->depth == DEPTH)
        return false;
    c->around[c->depth] = c->at;
    return replace(w, c, c->depth + 1, &range, with, n);
}

static uint64_t number(work *w, uint64_t old)
{
    switch (draw(&w->state, 6)) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return draw(&w->state, 32);
    case 3: return old ^ 1ull << draw(&w->state, 64);
    case 4: return UINT64_MAX - draw(&w->state, 4);
    default: return (1ull << draw(&w->state, 64)) + draw(&w->state, 5) - 2;
    }
}

/* One element of 4 or 8 bytes: the axes, sizes and scales that decide what an operation does. */
static bool mutate_element(work *w, const choice *c)
{
    static const float floats[] = {0, -0.0f, 0.5f, 1, -1, 2, 1e-30f, 3e38f, INFINITY, NAN};
    const size_t n = c->at.end - c->at.body, width = n % 8 == 0 && draw(&w->state, 3) != 0 ? 8 : 4;
    if (n == 0 || n % width != 0)
        return false;
    uint8_t *at = w->bytes + c->at.body + width * draw(&w->state, n / width);
    uint64_t value = 0;
    memcpy(&value, at, width); /* both machines of a campaign are little-endian */
    if (width == 4 && draw(&w->state, 2) == 0)
        memcpy(&value, &floats[draw(&w->state, sizeof floats / sizeof *floats)], 4);
    else
        value = number(w, value);
    memcpy(at, &value, width);
    return true;
}

static bool mutate_payload(work *w, choice *c)
{
    uint8_t spare[4096];
    const size_t n = c->at.end - c->at.body;
    if ((c->at.key & 7) == 0) {
        uint64_t old = 0;
        size_t at = c->at.body;
        varint(w->bytes, c->at.end, &at, &old);
        return replace_payload(w, c, spare, put_varint(spare, number(w, old)));
    }
    if (!is_message(w->bytes, &c->at) && draw(&w->state, 2) == 0 && mutate_element(w, c))
        return true;
    if (n > sizeof spare / 2)
        return false;
    memcpy(spare, w->bytes + c->at.body, n);
    const bool fixed = (c->at.key & 7) != 2;
    const size_t now = LLVMFuzzerMutate(spare, n, fixed || n == 0 ? (fixed ? n : 16) : n + 64);
    return (!fixed || now == n) && replace_payload(w, c, spare, now);
}

/* A field replaces another of the same kind, or its payload; or is inserted before another. */
static bool borrow(work *w, choice *c, work *from)
{
    static uint8_t spare[SPARE];
    choice other;
    const bool alike = draw(&w->state, 4) != 0;
    if (!choose(from, &(wish){.like = alike ? c : NULL}, &other))
        return false;
    const bool whole = !alike || (other.at.key & 7) != 2 || draw(&w->state, 2) == 0;
    const size_t begin = whole ? other.at.tag : other.at.body, n = other.at.end - begin;
    if (n > sizeof spare)
        return false;
    memcpy(spare, from->bytes + begin, n);
    if (!whole)
        return replace_payload(w, c, spare, n);
    return draw(&w->state, 2) == 0 ? insert_field(w, c, spare, n) : replace_field(w, c, spare, n);
}

/* Models met before, of which fields are borrowed. */
static struct {
    uint8_t bytes[SPARE];
    size_t size;
} seen[SEEN];

static void remember(work *w)
{
    const uint64_t slot = draw(&w->state, SEEN * 8);
    if (slot >= SEEN || w->size > SPARE)
        return;
    memcpy(seen[slot].bytes, w->bytes, w->size);
    seen[slot].size = w->size;
}

static work donor(work *w)
{
    const uint64_t slot = draw(&w->state, SEEN), state = draw(&w->state, UINT64_MAX);
    if (seen[slot].size == 0 || draw(&w->state, 2) == 0)
        return (work){w->bytes, w->size, w->max, state};
    return (work){seen[slot].bytes, seen[slot].size, SPARE, state};
}

#include "mut_model.inc"

static bool change(work *w)
{
    choice c;
    if (draw(&w->state, 5) == 0)
        return change_knowingly(w);
    if (!choose(w, &(wish){0}, &c))
        return false;
    switch (draw(&w->state, 9)) {
    case 0: return replace_field(w, &c, w->bytes, 0);
    case 8: /* an empty name: an optional input left out */
        return (c.at.key & 7) == 2 && !is_message(w->bytes, &c.at) &&
               replace_payload(w, &c, w->bytes, 0);
    case 1:
    case 2:
    case 3: {
        work from = donor(w);
        return borrow(w, &c, &from);
    }
    default: return mutate_payload(w, &c);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    work w = {data, size, max, seed};
    remember(&w);
    if (draw(&w.state, 4) == 0)
        return LLVMFuzzerMutate(data, size, max);
    bool changed = false;
    for (uint64_t i = 1 + draw(&w.state, 3); i-- > 0;)
        changed |= change(&w);
    return changed ? w.size : LLVMFuzzerMutate(data, size, max);
}
