/* mut_model.h - changes that know what a field of an ONNX model is: sizes, names, attributes and
 * external data become what has broken readers before. A part of mut_onnx.c. */
#ifndef TAKT_TESTS_FUZZ_MUT_MODEL_H
#define TAKT_TESTS_FUZZ_MUT_MODEL_H

static const path sizes = {{7, 0, 2, 1, 2, 1}, 6}; /* of inputs, outputs, values: a dimension */
static const path tensor_sizes = {{7, 5, 1}, 3}, tensors = {{7, 5}, 2};
static const path attributes = {{7, 1, 5, 0}, 4};
static const path named[] = {{{7, 1, 1}, 3},  {{7, 1, 2}, 3},  {{7, 5, 8}, 3},
                             {{7, 11, 1}, 3}, {{7, 12, 1}, 3}, {{7, 0, 2, 1, 2, 1}, 6}};

/* A field on the path, at random; false: there is none. */
static bool choose_on(work *w, const path *p, choice *found)
{
    const size_t count = walk(w, SIZE_MAX, NULL, p, found);
    if (count == 0)
        return false;
    walk(w, (size_t)draw(&w->state, count), NULL, p, found);
    return true;
}

static size_t put_text(uint8_t *to, uint8_t tag, const char *text)
{
    const size_t n = strlen(text), head = 1 + put_varint(to + 1, n);
    to[0] = tag;
    memcpy(to + head, text, n);
    return head + n;
}

static const char *one_of(work *w, const char *const *list, size_t count)
{
    return list[draw(&w->state, count)];
}
#define ONE_OF(w, list) one_of(w, list, sizeof(list) / sizeof *(list))

static uint64_t hostile(work *w)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       2,
                                       3,
                                       7,
                                       255,
                                       65536,
                                       INT32_MAX,
                                       1ull << 31,
                                       1ull << 32,
                                       (1ull << 32) + 1,
                                       1ull << 40,
                                       (1ull << 42) + 1,
                                       1ull << 61,
                                       1ull << 62,
                                       INT64_MAX,
                                       1ull << 63,
                                       UINT64_MAX,
                                       UINT64_MAX - 1};
    return numbers[draw(&w->state, sizeof numbers / sizeof *numbers)];
}

/* A number, or a name such as exporters and attackers write. */
static bool change_size(work *w)
{
    static const char *const names[] = {
        "N",   "batch.size", "n 0",  "a-b",     "a,b",
        "if",  "\xc3\xa9",   "2*n",  "n//0",    "-n",
        "((n", "\x1b[1m",    "\xff", "p2o.D.0", "99999999999999999999999999"};
    choice c;
    uint8_t bytes[64];
    const bool is_tensor = draw(&w->state, 3) == 0;
    if (!choose_on(w, is_tensor ? &tensor_sizes : &sizes, &c))
        return false;
    if (is_tensor)
        return replace_payload(w, &c, bytes, put_varint(bytes, hostile(w)));
    bytes[0] = 1 << 3;
    return replace_payload(w, &c, bytes,
                           draw(&w->state, 2) == 0 ? put_text(bytes, 2 << 3 | 2, ONE_OF(w, names))
                                                   : 1 + put_varint(bytes + 1, hostile(w)));
}

/* A value's name, wherever it stands: the model means the same. */
static bool rename_all(work *w)
{
    static const char *const names[] = {"",        "x",        "a,b",     "a=b",
                                        "if",      "\xc3\xa9", ".",       "../",
                                        "\x1b[2J", "a\nb",     "x:1x2x3", "\xf0\x9f\x99\x82",
                                        "takt",    "0",        "%s%n",    "\xff\xfe"};
    choice c;
    uint8_t old[64];
    const char *name = ONE_OF(w, names);
    if (!choose_on(w, &named[draw(&w->state, sizeof named / sizeof *named)], &c))
        return false;
    const size_t n = c.at.end - c.at.body;
    if (n == 0 || n > sizeof old || (c.at.key & 7) != 2)
        return false;
    memcpy(old, w->bytes + c.at.body, n);
    if (strlen(name) == n && memcmp(name, old, n) == 0)
        return false;
    bool is_done = false;
    for (size_t i = 0, changes = 0; changes < 64 && walk(w, i, NULL, NULL, &c) == i + 1; i++)
        if ((c.at.key & 7) == 2 && c.at.end - c.at.body == n && c.depth < DEPTH &&
            memcmp(w->bytes + c.at.body, old, n) == 0) {
            is_done |= replace_payload(w, &c, (const uint8_t *)name, strlen(name));
            changes++;
        }
    return is_done;
}

static bool change_attribute(work *w)
{
    static const char *const texts[] = {"",          "SAME_UPPER", "VALID", "linear",
                                        "ij,jk->ik", "reflect",    "max",   "\xff\xfe",
                                        "a\\",       "->",         "NHWC"};
    choice c;
    uint8_t bytes[64];
    if (!choose_on(w, &attributes, &c))
        return false;
    if ((c.at.key & 7) == 0)
        return replace_payload(w, &c, bytes, put_varint(bytes, hostile(w)));
    if ((c.at.key & 7) == 5)
        return mutate_element(w, &c);
    const char *text = ONE_OF(w, texts);
    return replace_payload(w, &c, (const uint8_t *)text, strlen(text));
}

/* An initializer says that its bytes lie in a file. */
static bool go_outside(work *w)
{
    static const char *const places[] = {
        "data.bin", "sub/data.bin",  "../data.bin", "/etc/passwd", "",
        ".",        "a/../data.bin", "data.bin/",   "absent",      "//x"};
    static const char *const numbers[] = {"0",  "4",   "-1", "64",   "9223372036854775807", "abc",
                                          " 0", "1e3", "",   "0x10", "18446744073709551615"};
    static const char *const keys[] = {"location", "offset", "length", "checksum", "other"};
    choice c;
    uint8_t bytes[256], entry[128];
    size_t n = 0;
    if (!choose_on(w, &tensors, &c) || c.depth == DEPTH)
        return false;
    for (uint64_t i = 0, count = 1 + draw(&w->state, 3); i < count; i++) {
        const char *key = i == 0 ? keys[0] : ONE_OF(w, keys);
        const size_t half = put_text(entry, 1 << 3 | 2, key);
        const char *value = strcmp(key, "location") == 0 ? ONE_OF(w, places) : ONE_OF(w, numbers);
        const size_t all = half + put_text(entry + half, 2 << 3 | 2, value);
        bytes[n++] = 13 << 3 | 2;
        n += put_varint(bytes + n, all);
        memcpy(bytes + n, entry, all);
        n += all;
    }
    bytes[n++] = 14 << 3; /* data_location = EXTERNAL */
    bytes[n++] = 1;
    const place range = {.body = c.at.end, .end = c.at.end};
    c.around[c.depth] = c.at;
    return replace(w, &c, c.depth + 1, &range, bytes, n);
}

static bool change_knowingly(work *w)
{
    switch (draw(&w->state, 4)) {
    case 0: return change_size(w);
    case 1: return rename_all(w);
    case 2: return change_attribute(w);
    default: return go_outside(w);
    }
}

#endif
