/* onnx_reject.c - ONNX files that must be refused, each with its message and offset. */
#include <string.h>

#include <takt/model.h>

#include "../test.h"
#include "util/pb.h"

static pb model, graph, node, tensor, value, other;
static takt_ctx *ctx;

static const int64_t two[] = {2}, three[] = {3};
static const pb_shape row = {1, {3}};

/* x + w, where w is given by the test. */
static void begin(const pb *w)
{
    graph.length = 0;
    pb_node(&node, "Add", "x", "w", "y");
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    if (w != NULL)
        pb_message(&graph, 5, w);
    pb_value(&value, "x", 1, 1, three);
    pb_message(&graph, 11, &value);
    pb_value(&value, "y", 1, 1, three);
    pb_message(&graph, 12, &value);
}

static void expect_bytes(const void *bytes, size_t length, takt_status want, const char *words)
{
    takt_model *m;
    const takt_status got = takt_model_load_memory(ctx, "test", bytes, length, NULL, &m);
    const takt_error *e = takt_last_error_info(ctx);
    EXPECT(got == want, "%s: %s", words, got == TAKT_OK ? "loaded" : e->message);
    EXPECT(got == TAKT_OK || strstr(e->message, words) != NULL, "\"%s\" lacks \"%s\"", e->message,
           words);
    if (e->id == 3301 || e->id == 3304)
        EXPECT(e->offset >= 0 && (size_t)e->offset <= length, "%s: offset %lld", words,
               (long long)e->offset);
    if (got == TAKT_OK)
        takt_model_destroy(m);
}

static void expect(takt_status want, const char *words)
{
    pb_model(&model, &graph, 21);
    expect_bytes(model.at, model.length, want, words);
}

static void tensors(void)
{
    const float raw[4] = {1, 2, 3, 4};
    const int64_t half = (int64_t)1 << 32;
    const pb_shape wide = {2, {half, half}}, minus = {1, {-1}}, least = {1, {INT64_MIN}};
    const pb_shape zero = {1, {0}};
    pb_tensor(&tensor, "w", 1, &row, raw, 12);
    begin(&tensor);
    expect(TAKT_OK, "");
    pb_tensor(&tensor, "w", 1, &wide, raw, 12);
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "too large");
    EXPECT(takt_last_error_info(ctx)->id == 3301, "got %d", takt_last_error_info(ctx)->id);
    pb_tensor(&tensor, "w", 1, &minus, raw, 12);
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "dimension 0");
    pb_tensor(&tensor, "w", 1, &least, raw, 12);
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "dimension 0");
    pb_tensor(&tensor, "w", 1, &row, raw, 11);
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "raw_data has 11 bytes");
    pb_tensor(&tensor, "w", 1, &row, raw, 16);
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "raw_data has 16 bytes");
    pb_tensor(&tensor, "w", 1, &row, NULL, 0);
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "has 0 numbers");
    pb_tensor(&tensor, "w", 1, &zero, raw, 4);
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "raw_data has 4 bytes");
    pb_tensor(&tensor, "w", 22, &row, raw, 1); /* int4: needs two */
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "raw_data has 1 bytes");
}

static void kinds_of_data(void)
{
    const float raw[3] = {1, 2, 3};
    pb_tensor(&tensor, "w", 1, &row, raw, 12);
    pb_bytes(&tensor, 4, raw, 12); /* float_data as well */
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "two kinds of data");
    pb_tensor(&tensor, "w", 1, &row, NULL, 0);
    pb_bytes(&tensor, 7, "\1\2\3", 3); /* int64_data */
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "in field 7 instead of 4");
    const int types[] = {0, 9999, 8, 14};
    for (size_t i = 0; i < 4; i++) {
        pb_tensor(&tensor, "w", types[i], &row, raw, 12);
        begin(&tensor);
        expect(TAKT_ERR_FORMAT, "element type");
    }
    pb_tensor(&tensor, "w", 1, &row, raw, 12);
    pb_int(&tensor, 2, 1);
    begin(&tensor);
    expect(TAKT_ERR_FORMAT, "given twice");
}

static void external_data(void)
{
    static const char *const places[] = {"../x", "/etc/passwd", "", "a\\0b"};
    for (size_t i = 0; i < 4; i++) {
        pb_tensor(&tensor, "w", 1, &row, NULL, 0);
        other.length = 0;
        pb_text(&other, 1, "location");
        pb_text(&other, 2, places[i]);
        pb_message(&tensor, 13, &other);
        pb_int(&tensor, 14, 1);
        begin(&tensor);
        expect(TAKT_ERR_FORMAT, "external data");
        EXPECT(takt_last_error_info(ctx)->id == 3304, "got %d", takt_last_error_info(ctx)->id);
    }
    static const char *const keys[] = {"nonsense", "location"};
    for (size_t i = 0; i < 2; i++) {
        pb_tensor(&tensor, "w", 1, &row, NULL, 0);
        for (int k = 0; k < 2; k++) {
            other.length = 0;
            pb_text(&other, 1, k == 0 ? "location" : keys[i]);
            pb_text(&other, 2, "f");
            pb_message(&tensor, 13, &other);
        }
        pb_int(&tensor, 14, 1);
        begin(&tensor);
        expect(TAKT_ERR_FORMAT, i == 0 ? "unknown key" : "twice");
    }
}

static void wire(void)
{
    static const uint8_t long_varint[] = {8,   8,   0x3A, 1,   0x08, 255, 255, 255,
                                          255, 255, 255,  255, 255,  255, 255, 255};
    static const uint8_t group[] = {8, 8, 0x3A, 2, 0x0B, 0x0C}, number_0[] = {8, 8, 0x3A, 2, 2, 0};
    static const uint8_t wire_6[] = {8, 8, 0x3A, 2, 0x0E, 0}, beyond[] = {8, 8, 0x3A, 100, 1};
    expect_bytes(long_varint, sizeof long_varint, TAKT_ERR_FORMAT, "malformed");
    expect_bytes(group, sizeof group, TAKT_ERR_FORMAT, "wire type 3");
    expect_bytes(number_0, sizeof number_0, TAKT_ERR_FORMAT, "number 0");
    expect_bytes(wire_6, sizeof wire_6, TAKT_ERR_FORMAT, "wire type 6");
    expect_bytes(beyond, sizeof beyond, TAKT_ERR_FORMAT, "100 bytes");
    expect_bytes("", 0, TAKT_ERR_FORMAT, "empty");
    const float raw[3] = {1, 2, 3};
    pb_tensor(&tensor, "w", 1, &row, raw, 12);
    begin(&tensor);
    pb_model(&model, &graph, 21);
    for (size_t i = 4; i < model.length;
         i++) { /* truncated at every byte: any error, but no crash */
        takt_model *m;
        if (takt_model_load_memory(ctx, "cut", model.at, i, NULL, &m) == TAKT_OK)
            takt_model_destroy(m);
    }
}

static void names(void)
{
    begin(NULL);
    expect(TAKT_ERR_FORMAT, "uses w, which nothing before it produces");
    graph.length = 0;
    for (int i = 0; i < 2; i++) {
        pb_node(&node, "Relu", "x", NULL, "y");
        pb_message(&graph, 1, &node);
    }
    pb_value(&value, "x", 1, 1, two);
    pb_message(&graph, 11, &value);
    expect(TAKT_ERR_FORMAT, "produced twice");
    graph.length = 0;
    pb_value(&value, "x", 1, 1, two);
    pb_message(&graph, 11, &value);
    pb_value(&value, "nobody", 1, 1, two);
    pb_message(&graph, 12, &value);
    expect(TAKT_ERR_FORMAT, "never produced");
    graph.length = 0;
    pb_node(&node, "Nonsense", "x", NULL, "y");
    pb_message(&graph, 1, &node);
    pb_value(&value, "x", 1, 1, two);
    pb_message(&graph, 11, &value);
    expect(TAKT_ERR_UNSUPPORTED, "Nonsense");
}

static void opsets(void)
{
    static const int64_t versions[] = {0, -1, (int64_t)1 << 31};
    begin(NULL);
    for (size_t i = 0; i < 3; i++) {
        pb_model(&model, &graph, versions[i]);
        expect_bytes(model.at, model.length, TAKT_ERR_FORMAT, "opset version");
    }
    model.length = 0;
    pb_int(&model, 1, 8);
    pb_message(&model, 7, &graph);
    expect_bytes(model.at, model.length, TAKT_ERR_FORMAT, "imports no opset");
    other.length = 0;
    pb_int(&other, 2, 21);
    pb_message(&model, 8, &other);
    other.length = 0;
    pb_int(&other, 2, 20);
    pb_message(&model, 8, &other);
    expect_bytes(model.at, model.length, TAKT_ERR_FORMAT, "imported twice, as opset 21 and 20");
}

/* A graph inside the attribute of a node inside a graph, … */
static void nesting(void)
{
    static pb attr;
    graph.length = 0;
    for (int i = 0; i < 60; i++) {
        attr.length = 0;
        pb_text(&attr, 1, "body");
        pb_message(&attr, 6, &graph);
        pb_node(&node, "Loop", NULL, NULL, "y");
        pb_message(&node, 5, &attr);
        graph.length = 0;
        pb_message(&graph, 1, &node);
    }
    expect(TAKT_ERR_FORMAT, "nested deeper");
}

/* A function that calls itself `calls` times: with two, there would be 2^32 calls in all. */
static void calls_itself(int calls)
{
    static pb function, import;
    graph.length = function.length = import.length = 0;
    pb_node(&node, "F", "x", NULL, "y");
    pb_text(&node, 7, "my");
    pb_message(&graph, 1, &node);
    pb_value(&value, "x", 1, 1, two);
    pb_message(&graph, 11, &value);
    pb_text(&function, 1, "F"); /* which calls itself */
    pb_text(&function, 4, "a");
    pb_text(&function, 5, "b");
    for (int i = 0; i < calls; i++) {
        pb_node(&node, "F", "a", NULL, i == 0 ? "b" : "unused");
        pb_text(&node, 7, "my");
        pb_message(&function, 7, &node);
    }
    pb_text(&function, 10, "my");
    pb_text(&import, 1, "my");
    pb_int(&import, 2, 1);
    pb_model(&model, &graph, 21);
    pb_message(&model, 8, &import);
    pb_message(&model, 25, &function);
    expect_bytes(model.at, model.length, TAKT_ERR_FORMAT, "nest deeper");
}

static void functions(void)
{
    calls_itself(1);
    calls_itself(2);
}

/* Ops that do not exist, and settings that depend on an input's values. */
static void unsupported(void)
{
    graph.length = 0;
    pb_node(&node, "NoSuchOp", "x", "w", "y");
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    for (int i = 0; i < 2; i++) {
        pb_value(&value, i == 0 ? "x" : "w", 1, 1, three);
        pb_message(&graph, 11, &value);
    }
    pb_value(&value, "y", 1, 1, three);
    pb_message(&graph, 12, &value);
    expect(TAKT_ERR_UNSUPPORTED, "NoSuchOp");
    EXPECT(takt_last_error_info(ctx)->id == 3302, "got %d", takt_last_error_info(ctx)->id);
    graph.length = 0;
    pb_node(&node, "SplitToSequence", "x", "w", "y");
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_value(&value, "x", 1, 1, three);
    pb_message(&graph, 11, &value);
    pb_value(&value, "w", 7, 0, two); /* determines the number of parts */
    pb_message(&graph, 11, &value);
    pb_value(&value, "y", 1, 1, three);
    pb_message(&graph, 12, &value);
    expect(TAKT_ERR_UNSUPPORTED, "SplitToSequence");
    EXPECT(takt_last_error_info(ctx)->id == 3303, "got %d: %s", takt_last_error_info(ctx)->id,
           takt_last_error(ctx));
}

/* Three elements in blocks of two have two scales. */
static void blocks(void)
{
    static const char *const names[] = {"axis", "block_size"};
    for (int64_t count = 1; count <= 3; count++) {
        graph.length = 0;
        pb_node(&node, "QuantizeLinear", "x", "w", "y");
        for (uint64_t i = 0; i < 2; i++) {
            other.length = 0;
            pb_text(&other, 1, names[i]);
            pb_int(&other, 3, 2 * i);
            pb_int(&other, 20, 2);
            pb_message(&node, 5, &other);
        }
        pb_message(&graph, 1, &node);
        pb_text(&graph, 2, "g");
        pb_value(&value, "x", 1, 1, three);
        pb_message(&graph, 11, &value);
        pb_value(&value, "w", 1, 1, &count);
        pb_message(&graph, 11, &value);
        pb_value(&value, "y", 2, 1, three);
        pb_message(&graph, 12, &value);
        char words[80];
        snprintf(words, sizeof words,
                 "the scale is f32[%d], but one for each block of 2 needs f32[2]", (int)count);
        expect(count == 2 ? TAKT_OK : TAKT_ERR_UNSUPPORTED, count == 2 ? "" : words);
    }
}

int main(void)
{
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        return 1;
    unsupported();
    tensors();
    kinds_of_data();
    external_data();
    wire();
    names();
    opsets();
    nesting();
    functions();
    blocks();
    takt_ctx_destroy(ctx);
    return test_done();
}
