/* onnx_case.c - loads a case of ONNX's test suite, runs it and compares. */
#include "util/onnx_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

typedef struct run {
    takt_ctx *ctx;
    takt_arena arena;
    takt_pb_model pb;
    const char *folder, *backend;
    char path[1024];
    case_tolerance tolerance;
    case_report *report;
    case_values in, out;
    bool is_reread; /* the model is the one written and read back */
} run;

static bool give_up(run *r, case_result result, const char *stage)
{
    const takt_error *e = takt_last_error_info(r->ctx);
    r->report->result = result;
    snprintf(r->report->why, sizeof r->report->why, "%s: %.300s", stage,
             e->message[0] != '\0' ? e->message : "unknown");
    return false;
}

static bool fail(run *r, const char *text)
{
    r->report->result = CASE_FAIL;
    snprintf(r->report->why, sizeof r->report->why, "%.390s", text);
    return false;
}

/* ---- data ---- */

static bool add(run *r, case_values *to, takt_span name, long item, const takt_pb_tensor *t)
{
    if (to->count == CASE_VALUES)
        return fail(r, "too many values");
    case_value *v = &to->at[to->count];
    if (item < 0)
        snprintf(v->name, sizeof v->name, "%.*s", (int)name.length, name.at);
    else
        snprintf(v->name, sizeof v->name, "%.*s.%ld", (int)name.length, name.at, item);
    const takt_source source = {.ctx = r->ctx, .name = "test data"};
    if (takt_onnx_tensor(&source, t, &v->tensor) != TAKT_OK)
        return give_up(r, CASE_REFUSED, "data");
    to->count++;
    return true;
}

static bool add_sequence(run *r, case_values *to, takt_span name, const takt_pb_sequence *s)
{
    for (size_t i = 0; i < s->tensor_count; i++)
        if (!add(r, to, name, (long)i, &s->tensors[i]))
            return false;
    return true;
}

static bool add_bytes(run *r, case_values *to, const takt_pb_value *v, const void *bytes,
                      size_t length)
{
    takt_pb_tensor tensor;
    takt_pb_sequence sequence;
    takt_pb_optional optional;
    const takt_pb_type *t = v->type;
    if (t != NULL && t->optional != NULL) {
        if (takt_pb_read_optional(&r->arena, bytes, length, &optional) != TAKT_OK)
            return give_up(r, CASE_REFUSED, "data");
        if (optional.sequence != NULL)
            return add_sequence(r, to, v->name, optional.sequence);
        return optional.tensor == NULL || add(r, to, v->name, -1, optional.tensor);
    }
    if (t != NULL && t->sequence != NULL) {
        if (takt_pb_read_sequence(&r->arena, bytes, length, &sequence) != TAKT_OK)
            return give_up(r, CASE_REFUSED, "data");
        return add_sequence(r, to, v->name, &sequence);
    }
    if (takt_pb_read_tensor(&r->arena, bytes, length, &tensor) != TAKT_OK)
        return give_up(r, CASE_REFUSED, "data");
    enum { U16 = 4, BF16 = 16 }; /* old cases store the one as the other */
    if (t != NULL && t->tensor != NULL && t->tensor->elem == BF16 && tensor.data_type == U16)
        tensor.data_type = BF16;
    return add(r, to, v->name, -1, &tensor);
}

/* The bytes live as long as the arena: descriptions point into them. */
static bool load_bytes(run *r, const char *path, void **bytes, size_t *length)
{
    void *block;
    if (takt_read_file(r->ctx, path, &block, length) != TAKT_OK)
        return false;
    *bytes = takt_arena_copy(&r->arena, block, *length);
    takt_mem_put(r->ctx, block, *length);
    return *bytes != NULL;
}

static bool is_initializer(const takt_pb_graph *g, takt_span name)
{
    for (size_t i = 0; i < g->initializer_count; i++)
        if (g->initializers[i].name.length == name.length &&
            memcmp(g->initializers[i].name.at, name.at, name.length) == 0)
            return true;
    return false;
}

static void drop(case_values *v)
{
    for (size_t i = 0; i < v->count; i++)
        takt_tensor_release(&v->at[i].tensor);
    v->count = 0;
}

static bool load_set(run *r, int set, const char *kind, const takt_pb_value *values, size_t count,
                     case_values *to)
{
    drop(to);
    size_t file = 0;
    for (size_t i = 0; i < count; i++) {
        char path[1024];
        void *bytes;
        size_t length;
        if (to == &r->in && is_initializer(r->pb.graph, values[i].name))
            continue;
        snprintf(path, sizeof path, "%s/test_data_set_%d/%s_%zu.pb", r->folder, set, kind, file++);
        if (!load_bytes(r, path, &bytes, &length))
            return fail(r, "a file of the data set is missing");
        if (!add_bytes(r, to, &values[i], bytes, length))
            return false;
    }
    return true;
}

/* ---- comparison ---- */

static bool close_enough(const run *r, const takt_tensor *want, const takt_tensor_view *got,
                         size_t i, double *a, double *b)
{
    const takt_dtype d = want->type.dtype;
    if (!takt_dtype_is_float(d)) {
        const int64_t x = takt_dtype_get_i(d, got->data, i);
        const int64_t y = takt_dtype_get_i(d, takt_tensor_data(want), i);
        *a = (double)x;
        *b = (double)y;
        return x == y;
    }
    *a = takt_dtype_get_f(d, got->data, i);
    *b = takt_dtype_get_f(d, takt_tensor_data(want), i);
    if (isnan(*b) || isinf(*b))
        return isnan(*b) ? isnan(*a) : *a == *b;
    /* Narrow floats may differ by one unit in the last place. */
    const double unit = r->is_reread ? 0 : d == TAKT_BF16 ? 0x1p-7 : d == TAKT_F16 ? 0x1p-9 : 0;
    const double rtol = unit > r->tolerance.rtol ? unit : r->tolerance.rtol;
    return fabs(*a - *b) <= r->tolerance.atol + rtol * fabs(*b);
}

static bool compare(run *r, const case_value *want, const takt_tensor_view *got)
{
    const takt_type *t = &want->tensor.type;
    bool same = got->dtype == t->dtype && got->rank == t->rank;
    for (int d = 0; same && d < t->rank; d++)
        same = got->dims[d] == t->dim[d];
    char text[CASE_TEXT];
    if (!same) {
        size_t at = (size_t)snprintf(text, sizeof text, "output %s: got %s[", want->name,
                                     takt_dtype_name(got->dtype));
        for (int d = 0; d < got->rank && at < 250; d++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%lld,", (long long)got->dims[d]);
        at +=
            (size_t)snprintf(text + at, sizeof text - at, "] want %s[", takt_dtype_name(t->dtype));
        for (int d = 0; d < t->rank && at < 350; d++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%lld,", (long long)t->dim[d]);
        return fail(r, text);
    }
    const size_t count = r->tolerance.only_shapes ? 0 : takt_tensor_count(&want->tensor);
    for (size_t i = 0; i < count; i++) {
        double a, b;
        if (close_enough(r, &want->tensor, got, i, &a, &b))
            continue;
        snprintf(text, sizeof text, "output %s: element %zu of %zu is %.9g, expected %.9g",
                 want->name, i, count, a, b);
        return fail(r, text);
    }
    return true;
}

/* ---- running ---- */

static case_value *find(case_values *values, const char *name)
{
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->at[i].name, name) == 0)
            return &values->at[i];
    return NULL;
}

/* "batch=3,seq=5" from the inputs at hand. */
static void sizes_of(run *r, const takt_model *m, char *text, size_t room)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < takt_model_input_count(m); i++) {
        const takt_desc *d = takt_model_input(m, i);
        const case_value *v = find(&r->in, d->name);
        for (int k = 0; v != NULL && k < d->rank && k < v->tensor.type.rank; k++) {
            char word[160];
            if (d->dims[k] >= 0 || strpbrk(d->dim_names[k], "+*-( ") != NULL)
                continue;
            snprintf(word, sizeof word, "%s=%lld", d->dim_names[k],
                     (long long)v->tensor.type.dim[k]);
            if (strstr(text, word) == NULL && at < room - 200)
                at += (size_t)snprintf(text + at, room - at, "%s%s", at > 0 ? "," : "", word);
        }
    }
}

static bool run_session(run *r, takt_session *s)
{
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        const takt_desc *d = takt_session_input_desc(s, i);
        const case_value *v = find(&r->in, d->name);
        if (v == NULL)
            return fail(r, "an input of the model has no data");
        const takt_tensor_view view = onnx_case_view(&v->tensor);
        if (takt_session_bind(s, d->name, &view) != TAKT_OK)
            return fail(r, takt_session_error(s)->message);
    }
    if (takt_session_run(s) != TAKT_OK)
        return fail(r, takt_session_error(s)->message);
    for (size_t k = 0; k < r->out.count; k++) {
        size_t i = 0;
        while (i < takt_session_output_count(s) &&
               strcmp(takt_session_output_desc(s, i)->name, r->out.at[k].name) != 0)
            i++;
        if (i == takt_session_output_count(s))
            return fail(r, "the model lacks an output");
        if (!compare(r, &r->out.at[k], takt_session_output(s, i)))
            return false;
        if (r->tolerance.rewrite != NULL && takt_tensor_bytes(&r->out.at[k].tensor) > 0)
            memcpy(takt_tensor_data(&r->out.at[k].tensor), takt_session_output(s, i)->data,
                   takt_tensor_bytes(&r->out.at[k].tensor));
    }
    return true;
}

static bool run_model(run *r, const takt_model *m)
{
    char sizes[2048];
    sizes_of(r, m, sizes, sizeof sizes);
    const takt_plan_options options = {
        .backend = r->backend, .threads = 1, .sizes = sizes, .bounds = "36"};
    takt_plan *plan;
    takt_session *session;
    if (takt_plan_create(m, &options, &plan) != TAKT_OK)
        return give_up(r, CASE_REFUSED, "plan");
    bool good = true;
    if (takt_session_create(plan, NULL, &session) != TAKT_OK)
        good = give_up(r, CASE_REFUSED, "session");
    else
        good = run_session(r, session);
    if (good || r->report->result != CASE_REFUSED)
        takt_session_destroy(session);
    takt_plan_destroy(plan);
    return good;
}

static bool load_known(run *r, takt_model **m)
{
    return onnx_case_load_known(r->ctx, r->path, &r->in, r->report, m) == TAKT_OK ||
           give_up(r, CASE_REFUSED, "load");
}

static bool load_model(run *r, const char *path, takt_model **m)
{
    return onnx_case_load(r->ctx, path, r->pb.graph, &r->in, r->report, m) == TAKT_OK ||
           give_up(r, CASE_REFUSED, "load");
}

static bool run_known(run *r, takt_model **m)
{
    takt_model_destroy(*m);
    *m = NULL;
    r->report->result = CASE_PASS;
    return load_known(r, m) && run_model(r, *m);
}

/* The model written and read back: its results must not change. */
static bool run_again(run *r, takt_model **m)
{
    const case_tolerance tolerance = r->tolerance;
    takt_status status = takt_model_save(*m, tolerance.rewrite, NULL);
    if (status != TAKT_OK && !r->report->used_inputs) { /* ONNX has no such sizes by values */
        if (!run_known(r, m))
            return false;
        status = takt_model_save(*m, tolerance.rewrite, NULL);
    }
    if (status != TAKT_OK)
        return give_up(r, CASE_FAIL, "save");
    takt_model_destroy(*m);
    *m = NULL;
    if (!load_model(r, tolerance.rewrite, m)) {
        r->report->result = CASE_FAIL;
        return false;
    }
    r->tolerance.rtol = r->tolerance.atol = 0;
    r->is_reread = true;
    bool good = run_model(r, *m);
    r->tolerance = tolerance;
    if (!good) { /* a node that was written as its lowering is rounded more often */
        r->report->result = CASE_PASS;
        r->report->is_near = true;
        r->tolerance.rtol = 1e-6;
        r->tolerance.atol = 1e-7;
        r->is_reread = false;
        good = run_model(r, *m);
    }
    r->tolerance = tolerance;
    r->is_reread = false;
    return good;
}

static bool has_set(const run *r, int set)
{
    char path[1024];
    struct stat info;
    snprintf(path, sizeof path, "%s/test_data_set_%d", r->folder, set);
    return stat(path, &info) == 0;
}

static bool run_sets(run *r)
{
    const char *path = r->path;
    void *bytes;
    size_t length;
    snprintf(r->path, sizeof r->path, "%s/model.onnx", r->folder);
    if (!load_bytes(r, path, &bytes, &length))
        return fail(r, "model.onnx is missing");
    if (takt_pb_read_model(&r->arena, bytes, length, &r->pb) != TAKT_OK || r->pb.graph == NULL)
        return give_up(r, CASE_REFUSED, "read");
    const takt_pb_graph *g = r->pb.graph;
    for (int set = r->tolerance.first_set; set < 8 && has_set(r, set); set++) {
        takt_model *m;
        if (!load_set(r, set, "input", g->inputs, g->input_count, &r->in) ||
            !load_set(r, set, "output", g->outputs, g->output_count, &r->out) ||
            !load_model(r, path, &m))
            return false;
        bool good = run_model(r, m);
        if (!good && !r->report->used_inputs && r->report->result == CASE_REFUSED)
            good = run_known(r, &m); /* bounds of sizes that values decide do not fit together */
        good = good && (r->tolerance.rewrite == NULL || run_again(r, &m));
        takt_model_destroy(m);
        if (!good)
            return false;
    }
    return true;
}

void onnx_case_run(const char *folder, const char *backend, case_tolerance tolerance,
                   case_report *report)
{
    *report = (case_report){.result = CASE_PASS};
    run *r = calloc(1, sizeof *r);
    if (r == NULL || takt_ctx_create(NULL, &r->ctx) != TAKT_OK) {
        report->result = CASE_FAIL;
        free(r);
        return;
    }
    r->folder = folder;
    r->backend = backend;
    r->tolerance = tolerance;
    r->report = report;
    takt_arena_init(&r->arena, r->ctx);
    (void)run_sets(r);
    drop(&r->in);
    drop(&r->out);
    takt_arena_deinit(&r->arena);
    takt_ctx_destroy(r->ctx);
    free(r);
}
