/* contrib.c - operators outside ONNX's own domain: models made here, results computed elsewhere.
 *
 * tests/onnx/contrib.txt holds the cases: a node with its attributes, its inputs and constants, and
 * what it gives (computed by onnxruntime), or words of the refusal. Each runs on ref and on cpu,
 * where `step` names a kind of step that must be there.
 */
#define _GNU_SOURCE /* strsep */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "ir/dtype.h"
#include "util/pb.h"

enum { VALUES = 16, ROOM = 4096, LINE = 1 << 16 };

typedef struct value {
    char name[32];
    takt_tensor_view view;
    double data[ROOM]; /* room for any type, aligned */
    size_t bytes;
} value;

static pb model, graph, node, attr, made;
static value ins[VALUES], outs[VALUES], constant;
static size_t in_count, out_count, case_count;
static char name[128], refusal[256], step[64];
static double tolerance;

static const struct {
    const char *name;
    takt_dtype dtype;
    int elem;
} types[] = {{"f32", TAKT_F32, 1}, {"u8", TAKT_U8, 2},   {"i8", TAKT_I8, 3},
             {"i32", TAKT_I32, 6}, {"i64", TAKT_I64, 7}, {"bool", TAKT_BOOL, 9}};

/* ---- reading ---- */

/* "NAME TYPE DIMS : numbers", DIMS like 2x3 or - for a scalar. Returns ONNX's element type. */
static int read_value(char *text, value *v)
{
    char *rest;
    const char *word = strtok_r(text, " ", &rest), *type = strtok_r(NULL, " ", &rest);
    char *dims = strtok_r(NULL, " ", &rest);
    size_t k = 0, count = 1;
    memset(v, 0, sizeof *v);
    snprintf(v->name, sizeof v->name, "%s", word);
    while (k + 1 < sizeof types / sizeof *types && strcmp(types[k].name, type) != 0)
        k++;
    EXPECT(strcmp(types[k].name, type) == 0, "%s: type %s", name, type);
    v->view.dtype = types[k].dtype;
    for (char *d = dims; *d != '-' && *d != '\0'; d += *d == 'x') {
        v->view.dims[v->view.rank] = strtoll(d, &d, 10);
        count *= (size_t)v->view.dims[v->view.rank++];
    }
    v->view.data = v->data;
    char *at = strchr(rest, ':') + 1;
    for (size_t i = 0; i < count && i < ROOM; i++) {
        const double x = strtod(at, &at);
        if (takt_dtype_is_float(types[k].dtype))
            takt_dtype_put_f(types[k].dtype, v->data, i, takt_dtype_round(types[k].dtype, x));
        else
            takt_dtype_put_i(types[k].dtype, v->data, i, (int64_t)x);
    }
    const takt_dtype stored = types[k].dtype == TAKT_BOOL ? TAKT_U8 : types[k].dtype;
    v->bytes = count * (size_t)takt_dtype_bits(stored) / 8;
    return types[k].elem;
}

/* "i NAME 3", "f NAME 0.5", "s NAME Relu", "ints NAME 1 2", "floats NAME 1 2". */
static void read_attr(const char *kind, char *text)
{
    char *rest;
    const char *word = strtok_r(text, " ", &rest);
    attr.length = 0;
    pb_text(&attr, 1, word);
    if (strcmp(kind, "s") == 0)
        pb_text(&attr, 4, rest);
    else if (strcmp(kind, "i") == 0)
        pb_int(&attr, 3, (uint64_t)strtoll(rest, NULL, 10));
    else if (strcmp(kind, "f") == 0)
        pb_float(&attr, 2, strtof(rest, NULL));
    for (char *one = strtok_r(NULL, " ", &rest); one != NULL && strlen(kind) > 3;
         one = strtok_r(NULL, " ", &rest)) {
        if (kind[0] == 'i')
            pb_int(&attr, 8, (uint64_t)strtoll(one, NULL, 10));
        else
            pb_float(&attr, 7, strtof(one, NULL));
    }
    const int type = strcmp(kind, "f") == 0   ? 1
                     : strcmp(kind, "i") == 0 ? 2
                     : strcmp(kind, "s") == 0 ? 3
                     : kind[0] == 'f'         ? 6
                                              : 7;
    pb_int(&attr, 20, (uint64_t)type);
    pb_message(&node, 5, &attr);
}

/* "DOMAIN OP a,b,,c y,z". */
static void read_node(char *text)
{
    char *rest;
    const char *domain = strtok_r(text, " ", &rest), *op = strtok_r(NULL, " ", &rest);
    node.length = 0;
    for (uint32_t field = 1; field <= 2; field++) {
        char *list = strtok_r(NULL, " ", &rest);
        for (char *one; (one = strsep(&list, ",")) != NULL;)
            pb_text(&node, field, one);
    }
    pb_text(&node, 4, op);
    pb_text(&node, 7, domain);
}

/* ---- running ---- */

static void compare(const value *want, const takt_tensor_view *got, const char *backend)
{
    bool same = got->dtype == want->view.dtype && got->rank == want->view.rank;
    size_t count = 1;
    for (int d = 0; same && d < got->rank; d++) {
        same = got->dims[d] == want->view.dims[d];
        count *= (size_t)got->dims[d];
    }
    if (!EXPECT(same, "%s on %s: %s has another type", name, backend, want->name))
        return;
    for (size_t i = 0; i < count; i++) {
        const bool is_float = takt_dtype_is_float(got->dtype);
        const double a = is_float ? takt_dtype_get_f(got->dtype, got->data, i)
                                  : (double)takt_dtype_get_i(got->dtype, got->data, i);
        const double b = is_float ? takt_dtype_get_f(got->dtype, want->data, i)
                                  : (double)takt_dtype_get_i(got->dtype, want->data, i);
        const double room = is_float ? tolerance * (1 + fabs(b)) : 0;
        if (!EXPECT(fabs(a - b) <= room, "%s on %s: %s[%zu] is %.8g, expected %.8g", name, backend,
                    want->name, i, a, b))
            return;
    }
}

typedef struct listing {
    char at[1 << 14];
    size_t length;
} listing;

static int list(void *user, const char *text, size_t length)
{
    listing *to = user;
    const size_t room = sizeof to->at - 1 - to->length, n = length < room ? length : room;
    memcpy(to->at + to->length, text, n);
    to->length += n;
    to->at[to->length] = '\0';
    return 0;
}

/* `step`: the plan for cpu has a step of this kind. */
static void check_step(takt_ctx *ctx, const takt_plan *plan)
{
    listing text = {.length = 0};
    EXPECT_OK(ctx, takt_plan_kernels(plan, TAKT_FORMAT_TEXT, list, &text));
    EXPECT(strstr(text.at, step) != NULL, "%s has no %s:\n%s", name, step, text.at);
}

static void run_on(takt_ctx *ctx, const takt_model *m, const char *backend)
{
    const takt_plan_options options = {.backend = backend, .threads = 1};
    takt_plan *plan;
    takt_session *s;
    if (!EXPECT_OK(ctx, takt_plan_create(m, &options, &plan)))
        return;
    if (step[0] != '\0' && strcmp(backend, "cpu") == 0)
        check_step(ctx, plan);
    if (EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        for (size_t i = 0; i < in_count; i++)
            EXPECT_OK(ctx, takt_session_bind(s, ins[i].name, &ins[i].view));
        EXPECT(takt_session_run(s) == TAKT_OK, "%s: %s", name, takt_session_error(s)->message);
        for (size_t i = 0; i < out_count; i++)
            compare(&outs[i], takt_session_output(s, i), backend);
        takt_session_destroy(s);
    }
    takt_plan_destroy(plan);
}

static void finish_model(void)
{
    static const char *const domains[] = {"com.microsoft", "ai.onnx.ml"};
    pb_message(&graph, 1, &node);
    pb_model(&model, &graph, 17);
    for (size_t i = 0; i < 2; i++) {
        made.length = 0;
        pb_text(&made, 1, domains[i]);
        pb_int(&made, 2, i == 0 ? 1 : 4);
        pb_message(&model, 8, &made);
    }
}

static void run_case(void)
{
    takt_ctx *ctx;
    takt_model *m = NULL;
    finish_model();
    case_count++;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    const takt_status status = takt_model_load_memory(ctx, name, model.at, model.length, NULL, &m);
    const takt_error *e = takt_last_error_info(ctx);
    if (refusal[0] != '\0') {
        EXPECT(status != TAKT_OK && (strstr(e->message, refusal) != NULL ||
                                     (e->hint[0] != '\0' && strstr(e->hint, refusal) != NULL)),
               "%s: \"%s\" (%s) lacks \"%s\"", name, e->message, e->hint, refusal);
    } else if (EXPECT(status == TAKT_OK, "%s: %s", name, e->message)) {
        run_on(ctx, m, "ref");
        run_on(ctx, m, "cpu");
    }
    if (m != NULL)
        takt_model_destroy(m);
    takt_ctx_destroy(ctx);
}

static void declare(const value *v, int elem, uint32_t field)
{
    pb_value(&made, v->name, elem, (size_t)v->view.rank, v->view.dims);
    pb_message(&graph, field, &made);
}

static void add_constant(int elem)
{
    made.length = 0;
    for (int d = 0; d < constant.view.rank; d++)
        pb_int(&made, 1, (uint64_t)constant.view.dims[d]);
    pb_int(&made, 2, (uint64_t)elem);
    pb_text(&made, 8, constant.name);
    pb_bytes(&made, 9, constant.data, constant.bytes);
    pb_message(&graph, 5, &made);
}

static void line(char *text)
{
    char *rest;
    const char *word = strtok_r(text, " ", &rest);
    if (word == NULL || word[0] == '#')
        return;
    if (strcmp(word, "case") == 0) {
        snprintf(name, sizeof name, "%s", rest);
        graph.length = in_count = out_count = 0;
        refusal[0] = step[0] = '\0';
        tolerance = 2e-5;
        pb_text(&graph, 2, "g");
    } else if (strcmp(word, "node") == 0) {
        read_node(rest);
    } else if (strcmp(word, "in") == 0 && in_count < VALUES) {
        const int elem = read_value(rest, &ins[in_count]);
        declare(&ins[in_count], elem, 11);
        in_count++;
    } else if (strcmp(word, "out") == 0 && out_count < VALUES) {
        const int elem = read_value(rest, &outs[out_count]);
        declare(&outs[out_count], elem, 12);
        out_count++;
    } else if (strcmp(word, "const") == 0) {
        add_constant(read_value(rest, &constant));
    } else if (strcmp(word, "tolerance") == 0) {
        tolerance = strtod(rest, NULL);
    } else if (strcmp(word, "refuse") == 0) {
        snprintf(refusal, sizeof refusal, "%s", rest);
    } else if (strcmp(word, "step") == 0) {
        snprintf(step, sizeof step, "%s", rest);
    } else if (strcmp(word, "end") == 0) {
        run_case();
    } else {
        read_attr(word, rest);
    }
}

int main(void)
{
    static char text[LINE];
    FILE *f = fopen("tests/onnx/contrib.txt", "r");
    if (!EXPECT(f != NULL, "tests/onnx/contrib.txt is missing"))
        return test_done();
    while (fgets(text, sizeof text, f) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        line(text);
    }
    fclose(f);
    printf("%zu cases\n", case_count);
    EXPECT(case_count > 40, "only %zu cases", case_count);
    return test_done();
}
