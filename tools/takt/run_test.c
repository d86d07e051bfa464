/* run_test.c - `takt run --test DIR`: ONNX's layout of test data, input_K.pb and output_K.pb. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct one_test {
    takt_tool *t;
    const char *folder;
    takt_test_data *data;
    takt_known_input *in, *out; /* in the order of the model; `data` owns the memory */
    size_t in_count, out_count;
    double rtol, atol;
} one_test;

enum { FILES = 256, VALUES = 4096 };

static bool exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

static bool has_output(const one_test *o)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/output_0.pb", o->folder);
    return exists(path);
}

/* Files KIND_0.pb, KIND_1.pb, ... of the folder; a sequence is several values. */
static int load_files(one_test *o, bool is_output, takt_known_input *to, size_t *count)
{
    *count = 0;
    for (size_t file = 0; file < FILES; file++) {
        char path[2048];
        const takt_known_input *at;
        size_t more;
        snprintf(path, sizeof path, "%s/%s_%zu.pb", o->folder, is_output ? "output" : "input",
                 file);
        if (!exists(path))
            return TAKT_EXIT_OK;
        const int code =
            tool_finish(o->t, takt_test_data_load(o->data, is_output, file, path, &at, &more));
        if (code != TAKT_EXIT_OK)
            return code;
        if (more > VALUES - *count)
            return tool_usage_error(o->t, 1003, NULL, "%s holds more than %d values", o->folder,
                                    VALUES);
        for (size_t i = 0; i < more; i++)
            to[(*count)++] = at[i];
    }
    return TAKT_EXIT_OK;
}

static size_t count_of(const takt_tensor_view *v)
{
    size_t n = 1;
    for (int d = 0; d < v->rank; d++)
        n *= (size_t)v->dims[d];
    return n;
}

static bool same_shape(const takt_tensor_view *a, const takt_tensor_view *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = a->dims[d] == b->dims[d];
    return same;
}

static void tell(const one_test *o, const char *name, size_t wrong, size_t count, double worst)
{
    if (tool_on(o->t, TAKT_F_JSON)) {
        printf("{\"folder\": ");
        tool_print_string(stdout, o->folder);
        printf(", \"output\": ");
        tool_print_string(stdout, name);
        printf(", \"elements\": %zu, \"outside\": %zu, \"largest_difference\": %.9g}\n", count,
               wrong, worst);
    } else if (wrong > 0) {
        printf("%s: %s: %zu of %zu elements are outside rtol %g, atol %g; the largest difference "
               "is %g\n",
               o->folder, name, wrong, count, o->rtol, o->atol, worst);
    } else if (!tool_on(o->t, TAKT_F_QUIET)) {
        printf("%s: %s: %zu elements agree; the largest difference is %g\n", o->folder, name, count,
               worst);
    }
}

/* True if all elements are within the tolerance. */
static bool compare(const one_test *o, const char *name, const takt_tensor_view *got,
                    const takt_tensor_view *want)
{
    if (!same_shape(got, want)) {
        fprintf(stderr, "%s: %s has another type or shape than expected\n", o->folder, name);
        return false;
    }
    size_t wrong = 0;
    double worst = 0;
    const size_t count = count_of(want);
    for (size_t i = 0; i < count; i++) {
        const double a = takt_view_element(got, i), b = takt_view_element(want, i);
        if ((isnan(a) && isnan(b)) || a == b)
            continue;
        const double difference = fabs(a - b);
        worst = difference > worst || isnan(difference) ? difference : worst;
        wrong += !(difference <= o->atol + o->rtol * fabs(b));
    }
    tell(o, name, wrong, count, worst);
    return wrong == 0;
}

static int run_session(one_test *o, takt_session *s)
{
    const size_t ins = takt_session_input_count(s), outs = takt_session_output_count(s);
    if (ins != o->in_count || outs != o->out_count)
        return tool_usage_error(o->t, 1003, NULL,
                                "%s has %zu inputs and %zu outputs, the model %zu and %zu",
                                o->folder, o->in_count, o->out_count, ins, outs);
    for (size_t i = 0; i < ins; i++)
        if (takt_session_bind(s, takt_session_input_desc(s, i)->name, &o->in[i].view) != TAKT_OK)
            return tool_report_error(o->t, takt_session_error(s));
    if (takt_session_run(s) != TAKT_OK)
        return tool_report_error(o->t, takt_session_error(s));
    bool good = true;
    for (size_t i = 0; i < outs; i++)
        good = compare(o, takt_session_output_desc(s, i)->name, takt_session_output(s, i),
                       &o->out[i].view) &&
               good;
    return good ? TAKT_EXIT_OK : TAKT_EXIT_FAILED;
}

static int run_model(one_test *o, const takt_model *model)
{
    tool_sizes sizes = {.length = 0};
    takt_session *s;
    int code = TAKT_EXIT_OK;
    for (size_t i = 0; i < takt_model_input_count(model) && i < o->in_count; i++)
        if (!tool_sizes_from(o->t, &sizes, takt_model_input(model, i), o->in[i].view.rank,
                             o->in[i].view.dims, o->folder))
            return TAKT_EXIT_USAGE;
    takt_plan *plan = tool_make_plan(o->t, model, &sizes, false, &code);
    if (plan == NULL)
        return code;
    code = tool_finish(o->t, takt_session_create(plan, NULL, &s));
    if (code == TAKT_EXIT_OK) {
        code = run_session(o, s);
        takt_session_destroy(s);
    }
    takt_plan_destroy(plan);
    return code;
}

static int run_folder(one_test *o)
{
    o->in_count = o->out_count = 0;
    int code = tool_finish(o->t, takt_test_data_open(o->t->ctx, tool_model_path(o->t), &o->data));
    if (code == TAKT_EXIT_OK)
        code = load_files(o, false, o->in, &o->in_count);
    if (code == TAKT_EXIT_OK)
        code = load_files(o, true, o->out, &o->out_count);
    if (code == TAKT_EXIT_OK && o->out_count == 0 && !has_output(o))
        code = tool_usage_error(o->t, 1003, "it holds input_0.pb, ... and output_0.pb, ...",
                                "%s holds no test data", o->folder);
    takt_model *model =
        code == TAKT_EXIT_OK ? tool_open_known(o->t, o->in, o->in_count, &code) : NULL;
    if (model != NULL)
        code = run_model(o, model);
    takt_model_destroy(model);
    takt_test_data_close(o->data);
    o->data = NULL;
    return code;
}

static bool tolerance(const takt_tool *t, tool_flag_id id, double fallback, double *value)
{
    const char *text = tool_text_of(t, id);
    char *end = NULL;
    *value = text != NULL ? strtod(text, &end) : fallback;
    if (text == NULL || (*end == '\0' && *value >= 0))
        return true;
    tool_usage_error(t, 1003, "write for example 1e-3", "%s is not a tolerance", text);
    return false;
}

/* A folder of data, or one that contains folders test_data_set_N. */
static int run_folders(one_test *o, const char *folder)
{
    char path[2048];
    int worst = TAKT_EXIT_OK;
    size_t set = 0;
    for (; set < 1000; set++) {
        snprintf(path, sizeof path, "%s/test_data_set_%zu", folder, set);
        if (!exists(path))
            break;
        o->folder = path;
        const int code = run_folder(o);
        worst = code != TAKT_EXIT_OK ? code : worst;
    }
    o->folder = folder;
    return set > 0 ? worst : run_folder(o);
}

int tool_run_tests(takt_tool *t)
{
    one_test o = {.t = t};
    const char *folder;
    int worst = TAKT_EXIT_OK;
    if (!tolerance(t, TAKT_F_RTOL, 1e-3, &o.rtol) || !tolerance(t, TAKT_F_ATOL, 1e-4, &o.atol))
        return TAKT_EXIT_USAGE;
    o.in = calloc(VALUES, sizeof *o.in);
    o.out = calloc(VALUES, sizeof *o.out);
    if (o.in == NULL || o.out == NULL)
        worst = tool_finish(t, TAKT_ERR_MEMORY);
    for (size_t i = 0; worst != TAKT_EXIT_USAGE &&
                       (folder = tool_item_of(t, TAKT_F_TEST, i)) != NULL && o.out != NULL;
         i++) {
        const int code = run_folders(&o, folder);
        worst = code != TAKT_EXIT_OK ? code : worst;
    }
    free(o.in);
    free(o.out);
    return worst;
}
