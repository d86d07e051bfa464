/* torch_grad.c - results and gradients of 37 layers and losses compared with PyTorch's. */
#include <math.h>
#include <string.h>

#include "api/model.h"
#include "grad/grad.h"
#include "io/safetensors/safetensors.h"
#include "ir/array.h"
#include "lang/parse.h"
#include "test.h"
#include "util/onnx_case.h"

#include <takt/takt.h>

enum { TEXT = 1 << 16, CASES = 37, PORTS = 16 };
static const double tolerance = 1e-4;

static takt_ctx *ctx;

/* A case's file and the graph that it is about. */
typedef struct subject {
    const char *name, *backend;
    takt_arena arena;
    uint8_t *bytes;
    takt_weight_list tensors;
    takt_graph *graph;
    size_t count; /* of gradients */
    const char *gradient[PORTS];
} subject;

static const takt_weight *find(const subject *s, const char *name)
{
    for (size_t i = 0; i < s->tensors.count; i++)
        if (strcmp(s->tensors.at[i].name, name) == 0)
            return &s->tensors.at[i];
    return NULL;
}

static bool fits(const takt_weight *w, const takt_tensor_view *v)
{
    bool same = w != NULL && w->type.dtype == v->dtype && w->type.rank == v->rank;
    for (int i = 0; same && i < v->rank; i++)
        same = w->type.dim[i] == v->dims[i];
    return same;
}

static bool read_tensors(subject *s, const char *data)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/grad/%s.safetensors", data, s->name);
    FILE *file = fopen(path, "rb");
    if (!EXPECT(file != NULL, "%s is missing", path))
        return false;
    s->bytes = malloc(TEXT);
    const size_t length = s->bytes != NULL ? fread(s->bytes, 1, TEXT, file) : 0;
    fclose(file);
    return EXPECT_OK(ctx, takt_safetensors_read(&s->arena, path, s->bytes, length, &s->tensors));
}

/* dIn0 belongs to in0, dparam.weight to param.weight. */
static const takt_weight *gradient_of(const subject *s, const char *input)
{
    char name[128];
    if (strncmp(input, "in", 2) == 0)
        snprintf(name, sizeof name, "dIn%s", input + 2);
    else
        snprintf(name, sizeof name, "d%s", input);
    return find(s, name);
}

/* Outputs after "out": the gradients, with dOut as the incoming one. */
static bool add_gradients(subject *s)
{
    takt_graph *g = s->graph;
    const takt_id out = g->outputs[0].id;
    takt_id in[PORTS], result[PORTS];
    size_t count = 0;
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_weight *w = gradient_of(s, g->inputs[i].name);
        if (w == NULL)
            continue;
        s->gradient[count] = w->name;
        in[count++] = g->inputs[i].id;
    }
    size_t expected = 0;
    for (size_t i = 0; i < s->tensors.count; i++)
        expected += s->tensors.at[i].name[0] == 'd' && strcmp(s->tensors.at[i].name, "dOut") != 0;
    EXPECT(count == expected, "%s: %zu gradients of %zu", s->name, count, expected);
    const takt_id seed = takt_graph_input(g, "dOut", takt_type_of(g, out));
    const takt_grad_request r = {
        .out_count = 1, .out = &out, .seed = &seed, .in_count = count, .in = in, .result = result};
    if (!EXPECT_OK(ctx, takt_grad_append(g, &r)))
        return false;
    for (size_t i = 0; i < count; i++)
        takt_graph_output(g, s->gradient[i], result[i]);
    s->count = count;
    return EXPECT_OK(ctx, g->status);
}

static void compare(const subject *s, const char *name, const takt_tensor_view *v)
{
    const takt_weight *w = find(s, name);
    if (!EXPECT(fits(w, v), "%s: %s", s->name, name))
        return;
    const float *got = v->data;
    for (size_t i = 0; i < w->bytes / sizeof(float); i++) {
        float want;
        memcpy(&want, s->bytes + w->offset + i * sizeof want, sizeof want);
        if (!EXPECT(fabs((double)got[i] - (double)want) <= tolerance * (1 + fabs((double)want)),
                    "%s on %s: %s[%zu] is %.9g, PyTorch's %.9g", s->name, s->backend, name, i,
                    (double)got[i], (double)want))
            return;
    }
}

static void run(const subject *s)
{
    const takt_model model = {.ctx = ctx, .graph = s->graph};
    const takt_plan_options options = {.backend = s->backend};
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    if (EXPECT(takt_plan_create(&model, &options, &plan) == TAKT_OK, "%s: %s", s->name,
               takt_last_error(ctx)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &session))) {
        for (size_t i = 0; i < s->graph->input_count; i++) {
            const takt_weight *w = find(s, s->graph->inputs[i].name);
            const takt_tensor_view *v = takt_session_input(session, i);
            if (EXPECT(fits(w, v), "%s: input %zu", s->name, i))
                memcpy(v->data, s->bytes + w->offset, w->bytes);
        }
        EXPECT(takt_session_run(session) == TAKT_OK, "%s: %s", s->name,
               takt_session_error(session)->message);
        compare(s, "out", takt_session_output(session, 0));
        for (size_t i = 0; i < s->count; i++)
            compare(s, s->gradient[i], takt_session_output(session, 1 + i));
    }
    takt_session_destroy(session);
    takt_plan_destroy(plan);
}

static void check(const char *data, const char *name, const char *text)
{
    static const char *const backends[] = {"ref", "cpu"};
    subject s = {.name = name};
    takt_arena_init(&s.arena, ctx);
    if (read_tensors(&s, data) &&
        EXPECT(takt_parse(ctx, name, text, strlen(text), NULL, &s.graph) == TAKT_OK, "%s: %s", name,
               takt_last_error(ctx)) &&
        add_gradients(&s))
        for (size_t i = 0; i < 2; i++) {
            s.backend = backends[i];
            run(&s);
        }
    takt_graph_destroy(s.graph);
    takt_arena_deinit(&s.arena);
    free(s.bytes);
}

int main(void)
{
    static char text[TEXT];
    const char *data = onnx_case_data();
    char path[1024];
    snprintf(path, sizeof path, "%s/grad/linear.safetensors", data != NULL ? data : "");
    FILE *file = data != NULL ? fopen(path, "rb") : NULL;
    if (file == NULL)
        TEST_SKIP("the gradients of PyTorch are not here: set TAKT_DATA");
    fclose(file);
    file = fopen("tests/unit/torch_grad.txt", "rb");
    if (!EXPECT(file != NULL) || !EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    size_t count = 0;
    for (char *at = strstr(text, "\n== "), *next; at != NULL; at = next, count++) {
        char *body = strchr(at + 4, '\n');
        next = strstr(body, "\n== ");
        *body++ = '\0';
        if (next != NULL)
            *next = '\0';
        check(data, at + 4, body);
    }
    EXPECT(count == CASES, "%zu cases", count);
    printf("%zu cases agree with PyTorch, but for what is said above\n", count);
    takt_ctx_destroy(ctx);
    return test_done();
}
