/* hostile_large.c - the bad inputs that are too large for the corpus, made at run time, and limits
 * just reached and exceeded.
 *
 * Each is refused, or loads, within bounds of time and memory: 16 times its bytes plus 1 MiB, less
 * for payload bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/back.h"
#include "util/load.h"

static int id_of(load_fn *how, const takt_limits *limits, const void *bytes, size_t length)
{
    takt_config config = {.allocator = &load_allocator};
    takt_ctx *ctx;
    int id = -1;
    if (limits != NULL)
        config.limits = *limits;
    load_meter = (meter){0};
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return id;
    id = how(ctx, bytes, length) == TAKT_OK ? 0 : takt_last_error_info(ctx)->id;
    takt_ctx_destroy(ctx);
    EXPECT(load_meter.live == 0, "%zu bytes leak", load_meter.live);
    return id;
}

/* ---- models ---- */

/* ValueInfoProto x: f32[dims of 1]. */
static void before_value(back *b, uint32_t field, const char *name, size_t rank)
{
    const uint8_t *mark = b->at, *inner = b->at;
    for (size_t i = 0; i < rank; i++)
        back_bytes(b, "\x0a\x02\x08\x01", 4);
    back_wrap(b, 2, inner);
    back_int(b, 1, 1);
    back_wrap(b, 1, inner);
    back_wrap(b, 2, inner);
    back_text(b, 1, name);
    back_wrap(b, field, mark);
}

static void before_node(back *b, uint32_t field, const char *op, const char *domain)
{
    const uint8_t *mark = b->at;
    back_text(b, 7, domain);
    back_text(b, 4, op);
    back_text(b, 2, "y");
    back_text(b, 1, "x");
    back_wrap(b, field, mark);
}

/* y = op(x) with x of `rank` axes, and the version before it; what follows is written already. */
static void before_graph(back *b, const char *op, const char *domain, size_t rank)
{
    const uint8_t *mark = b->at;
    before_value(b, 12, "y", rank);
    before_value(b, 11, "x", rank);
    back_text(b, 2, "g");
    before_node(b, 1, op, domain);
    back_wrap(b, 7, mark);
    back_int(b, 1, 8);
}

/* ---- the inputs ---- */

static size_t unknown_fields(char *to, size_t count)
{
    enum { EACH = 1 << 20 };
    back b = back_open(count * (EACH + 16) + 1024);
    back_opset(&b, 8, "", 21);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *mark = b.at;
        b.at -= EACH;
        memset(b.at, 0, EACH);
        back_wrap(&b, 999, mark);
    }
    before_graph(&b, "Relu", "", 1);
    return back_take(&b, to);
}

static size_t deep_graphs(char *to, size_t count)
{
    back b = back_open(count * 64 + 1024);
    back_opset(&b, 8, "", 21);
    const uint8_t *mark = b.at;
    before_node(&b, 1, "Relu", "");
    for (size_t i = 0; i < count; i++) {
        back_wrap(&b, 6, mark); /* the graph of an attribute */
        back_text(&b, 1, "body");
        back_wrap(&b, 5, mark);
        back_text(&b, 4, "Loop");
        back_wrap(&b, 1, mark);
    }
    back_wrap(&b, 7, mark);
    back_int(&b, 1, 8);
    return back_take(&b, to);
}

static size_t many_functions(char *to, size_t count)
{
    back b = back_open(count * 64 + 1024);
    char name[32] = "f0";
    back_opset(&b, 8, "my", 1);
    back_opset(&b, 8, "", 21);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *mark = b.at;
        sprintf(name, "f%zu", i);
        back_text(&b, 10, "my");
        back_opset(&b, 9, "", 21);
        before_node(&b, 7, "Relu", "");
        back_text(&b, 5, "y");
        back_text(&b, 4, "x");
        back_text(&b, 1, name);
        back_wrap(&b, 25, mark);
    }
    before_graph(&b, name, "my", 1);
    return back_take(&b, to);
}

static size_t high_rank(char *to, size_t rank)
{
    back b = back_open(rank * 8 + 1024);
    back_opset(&b, 8, "", 21);
    before_graph(&b, "Relu", "", rank);
    return back_take(&b, to);
}

/* A weight whose payload takes `bytes`: raw, or packed numbers of one byte each. */
static size_t one_weight(char *to, size_t bytes, bool is_raw)
{
    enum { U8 = 2, I64 = 7 };
    back b = back_open(bytes + 1024);
    back_opset(&b, 8, "", 21);
    const uint8_t *mark = b.at;
    before_value(&b, 12, "y", 1);
    before_value(&b, 11, "x", 1);
    const uint8_t *payload = b.at;
    b.at -= bytes;
    memset(b.at, 1, bytes);
    back_wrap(&b, is_raw ? 9 : 7, payload);
    back_text(&b, 8, "w");
    back_int(&b, 2, is_raw ? U8 : I64);
    back_int(&b, 1, bytes);
    back_wrap(&b, 5, payload);
    back_text(&b, 2, "g");
    const uint8_t *reads = b.at; /* data without a reader is not loaded */
    back_text(&b, 4, "Identity");
    back_text(&b, 2, "y");
    back_text(&b, 1, "w");
    back_wrap(&b, 1, reads);
    back_wrap(&b, 7, mark);
    back_int(&b, 1, 8);
    return back_take(&b, to);
}

static size_t raw_weight(char *to, size_t bytes)
{
    return one_weight(to, bytes, true);
}

static size_t varint_weight(char *to, size_t bytes)
{
    return one_weight(to, bytes, false);
}

static size_t long_name(char *to, size_t length)
{
    back b = back_open(4 * length + 1024);
    char *name = malloc(length + 1);
    memset(name, 'n', length);
    name[length] = '\0';
    back_opset(&b, 8, "", 21);
    const uint8_t *mark = b.at, *node;
    before_value(&b, 12, name, 1);
    before_value(&b, 11, "x", 1);
    back_text(&b, 2, "g");
    node = b.at;
    back_text(&b, 4, "Relu");
    back_text(&b, 2, name);
    back_text(&b, 1, "x");
    back_wrap(&b, 1, node);
    back_wrap(&b, 7, mark);
    back_int(&b, 1, 8);
    free(name);
    return back_take(&b, to);
}

static size_t finish_header(char *to, size_t end)
{
    const uint64_t header = end - 8;
    memcpy(to, &header, 8);
    return end;
}

static size_t many_tensors(char *to, size_t count)
{
    size_t at = 9;
    to[8] = '{';
    for (size_t i = 0; i < count; i++)
        at += (size_t)sprintf(to + at,
                              "%s\"t%zu\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                              i > 0 ? "," : "", i);
    to[at++] = '}';
    return finish_header(to, at);
}

static size_t long_tensor_name(char *to, size_t length)
{
    size_t at = 8 + (size_t)sprintf(to + 8, "{\"");
    memset(to + at, 'n', length);
    at += length;
    at += (size_t)sprintf(to + at, "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}");
    return finish_header(to, at);
}

/* One tensor of `bytes` bytes. */
static size_t one_tensor(char *to, size_t bytes)
{
    size_t at =
        8 + (size_t)sprintf(to + 8,
                            "{\"a\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}",
                            bytes, bytes);
    (void)finish_header(to, at);
    memset(to + at, 0, bytes);
    return at + bytes;
}

static size_t one_array(char *to, size_t bytes)
{
    const int n =
        sprintf(to + 10, "{'descr': '|u1', 'fortran_order': False, 'shape': (%zu,), }\n", bytes);
    memcpy(to, "\x93NUMPY\x01\x00", 8);
    to[8] = (char)n;
    to[9] = 0;
    memset(to + 10 + n, 0, bytes);
    return 10 + (size_t)n + bytes;
}

static size_t many_keys(char *to, size_t count)
{
    size_t at = 0;
    to[at++] = '{';
    for (size_t i = 0; i < count; i++)
        at += (size_t)sprintf(to + at, "%s\"k%zu\":[%zu,\"x\"]", i > 0 ? "," : "", i, i);
    to[at++] = '}';
    return at;
}

typedef size_t make_fn(char *to, size_t count);

/* ---- whole ---- */

static void whole(char *bytes)
{
    /* A million of anything takes seconds; with a step of each for each it would take hours. The
     * limit lies far from both, since machines differ. */
    enum { SECONDS = 30 };
    static const struct {
        const char *name;
        load_fn *how;
        make_fn *make;
        size_t count;
        int id;
    } inputs[] = {{"onnx 13: 100 MB of unknown fields", load_onnx, unknown_fields, 100, 0},
                  {"onnx 14: 10,000 graphs deep", load_onnx, deep_graphs, 10000, 3301},
                  {"onnx 15: a million functions", load_onnx, many_functions, 1000000, 0},
                  {"onnx 21: a million axes", load_onnx, high_rank, 1000000, 3301},
                  {"safetensors 21: a million tensors", load_safetensors, many_tensors, 1000000, 0},
                  {"json 8: a million keys", load_json, many_keys, 1000000, 0}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        const size_t length = inputs[i].make(bytes, inputs[i].count);
        const clock_t start = clock();
        const int id = id_of(inputs[i].how, NULL, bytes, length);
        const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        printf("%s: %.1f MB, %.2f s, %.1f MB of memory\n", inputs[i].name, (double)length / 1e6,
               seconds, (double)load_meter.peak / 1e6);
        EXPECT(id == inputs[i].id, "%s: id %d", inputs[i].name, id);
        EXPECT(load_meter.peak <= 16 * length + (1 << 20), "%s: %zu bytes for %zu", inputs[i].name,
               load_meter.peak, length);
        EXPECT(seconds <= SECONDS || TEST_SANITIZED, "%s: %g s", inputs[i].name, seconds);
    }
}

/* Payloads, which are most of a real file: 2 times raw ones and 8 times packed numbers, not 16. */
static void payloads(char *bytes)
{
    static const struct {
        const char *name;
        load_fn *how;
        make_fn *make;
        size_t factor;
    } inputs[] = {{"onnx, raw", load_onnx, raw_weight, 2},
                  {"onnx, packed numbers", load_onnx, varint_weight, 8},
                  {"safetensors", load_safetensors, one_tensor, 2},
                  {"npy", load_npy, one_array, 2}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        const size_t length = inputs[i].make(bytes, 16 << 20);
        const int id = id_of(inputs[i].how, NULL, bytes, length);
        printf("%s: %.1f MB of memory for %.1f MB\n", inputs[i].name, (double)load_meter.peak / 1e6,
               (double)length / 1e6);
        EXPECT(id == 0 && load_meter.peak <= inputs[i].factor * length + (1 << 20),
               "%s: id %d, %zu bytes for %zu", inputs[i].name, id, load_meter.peak, length);
    }
}

/* ---- limits at their edge: one below and at the limit load, one above does not ---- */

static void edge(const char *name, load_fn *how, make_fn *make, const takt_limits *limits,
                 size_t limit)
{
    static char bytes[1 << 16];
    for (size_t n = limit - 1; n <= limit + 1; n++) {
        const size_t length = make(bytes, n);
        const int id = id_of(how, limits, bytes, length);
        EXPECT((id == 0) == (n <= limit), "%s of %zu at a limit of %zu: id %d", name, n, limit, id);
    }
}

static void file_edge(void)
{
    enum { LIMIT = 1000 };
    const char *folder = getenv("TAKT_TEST_TMP");
    char path[400];
    static char bytes[4096];
    snprintf(path, sizeof path, "%s/limit.npy", folder != NULL ? folder : "/tmp");
    for (size_t n = LIMIT - 1; n <= LIMIT + 1; n++) {
        const takt_config config = {.limits.file_bytes = LIMIT};
        size_t room = 1, length = one_array(bytes, room);
        while (length < n)
            length = one_array(bytes, ++room);
        if (!EXPECT(length == n, "%zu", length))
            return;
        FILE *f = fopen(path, "wb");
        EXPECT(f != NULL && fwrite(bytes, 1, length, f) == length && fclose(f) == 0);
        takt_ctx *ctx;
        takt_tensor_view v;
        if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
            return;
        const takt_status status = takt_npy_load(ctx, path, &v);
        EXPECT((status == TAKT_OK) == (n <= LIMIT), "a file of %zu: %d", n, (int)status);
        EXPECT(status == TAKT_OK || takt_last_error_info(ctx)->id == 3004, "%d",
               takt_last_error_info(ctx)->id);
        takt_view_free(ctx, &v);
        takt_ctx_destroy(ctx);
    }
    remove(path);
}

static void limits(void)
{
    edge("a name in onnx", load_onnx, long_name, NULL, 4096);
    edge("a name in onnx", load_onnx, long_name, &(takt_limits){.name_bytes = 100}, 100);
    edge("a name in safetensors", load_safetensors, long_tensor_name, NULL, 4096);
    edge("a tensor in safetensors", load_safetensors, one_tensor,
         &(takt_limits){.tensor_bytes = 500}, 500);
    edge("an array in npy", load_npy, one_array, &(takt_limits){.tensor_bytes = 500}, 500);
    edge("axes in onnx", load_onnx, high_rank, NULL, 16);
    file_edge();
}

int main(void)
{
    char *bytes = malloc((size_t)256 << 20);
    if (EXPECT(bytes != NULL)) {
        whole(bytes);
        payloads(bytes);
    }
    free(bytes);
    limits();
    return test_done();
}
