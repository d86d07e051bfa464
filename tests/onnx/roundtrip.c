/* roundtrip.c - models written as ONNX and read back give the same bits.
 *
 *     onnx_roundtrip           every sample of every op, then every case of ONNX's test suite
 *     onnx_roundtrip WORD...   samples and cases whose text or name contains one of the words
 */
#include <dirent.h>
#include <math.h>
#include <string.h>

#include "../test.h"
#include "base/mem.h"
#include "io/onnx/write/write.h"
#include "io/read.h"
#include "op/ops.h"
#include "util/onnx_case.h"
#include "util/sample.h"

static takt_ctx *ctx;
static char file[1024];
static size_t exact, near;

/* ---- samples ---- */

/* Tolerance of the results: 0, unless a node was written as its lowering or an attribute is not a
 * float. */
static double slack(const takt_graph *g, size_t lowered)
{
    bool is_exact = lowered == 0;
    double unit = 1e-15;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        for (size_t k = 0; k < takt_op_attr_count(n->op); k++)
            if (n->op->attrs[k].type == TAKT_ATTR_F64 && n->attr[k].is_set &&
                (double)(float)n->attr[k].f64 != n->attr[k].f64)
                is_exact = false;
        const takt_dtype d = n->out_count > 0 ? n->type[0].dtype : TAKT_F64;
        const double u = d == TAKT_BF16  ? 0x1p-7
                         : d == TAKT_F16 ? 0x1p-10
                         : d == TAKT_F32 ? 0x1p-23
                                         : 0;
        unit = u > unit ? u : unit;
    }
    return is_exact ? 0 : 8 * unit;
}

/* Sizes that a run finds out: the interpreter has no such runs. */
static bool is_open(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i].op == &takt_op_length)
            return true;
    return false;
}

static takt_status read_back(const takt_sample *s, takt_graph **out)
{
    void *bytes;
    size_t length;
    TAKT_TRY(takt_read_file(ctx, file, &bytes, &length));
    takt_source source = {.ctx = ctx, .name = file, .bytes = bytes, .length = length};
    takt_status status = takt_read_graph(&source, out);
    takt_fixed fixed[TAKT_SAMPLE_INPUTS] = {0};
    const bool is_found = status == TAKT_OK && is_open(*out);
    if (is_found)
        takt_graph_destroy(*out);
    if (status == TAKT_ERR_UNSUPPORTED || is_found) { /* a shape may depend on a value */
        for (size_t i = 0; i < s->count; i++) {
            fixed[i].name = s->graph->inputs[i].name;
            if (takt_array_to_tensor(ctx, &s->in[i], &fixed[i].tensor) != TAKT_OK)
                break;
        }
        source.fixed = fixed;
        source.fixed_count = s->count;
        status = takt_read_graph(&source, out);
        for (size_t i = 0; i < s->count; i++)
            takt_tensor_release(&fixed[i].tensor);
    }
    takt_mem_put(ctx, bytes, length);
    return status;
}

static void compare(const takt_sample *s, const takt_graph *again, double allowed, const char *text)
{
    takt_array want[TAKT_MAX_OUTPUTS] = {0}, got[TAKT_MAX_OUTPUTS] = {0};
    const size_t count = s->graph->output_count;
    if (!EXPECT(again->output_count == count && again->input_count == s->count, "%s: other ports",
                text))
        return;
    if (!EXPECT_OK(ctx, takt_interpret_arrays(ctx, s->graph, s->in, NULL, want, NULL)))
        return;
    if (EXPECT_OK(ctx, takt_interpret_arrays(ctx, again, s->in, NULL, got, NULL))) {
        for (size_t i = 0; i < count; i++) {
            const double distance = takt_array_distance(&want[i], &got[i]);
            bool same = want[i].rank == got[i].rank;
            for (int d = 0; same && d < want[i].rank; d++)
                same = want[i].dim[d] == got[i].dim[d];
            EXPECT(same && distance <= allowed, "%s: result %zu differs by %g, %g allowed", text, i,
                   distance, allowed);
            takt_array_release(ctx, &got[i]);
        }
    } else {
        printf("%s\n", text);
    }
    for (size_t i = 0; i < count; i++)
        takt_array_release(ctx, &want[i]);
}

static void one_sample(const takt_op *op, const char *text)
{
    takt_sample s;
    takt_graph *again = NULL;
    size_t lowered = 0;
    const takt_onnx_options options = {.version = "test", .lowered = &lowered};
    if (!EXPECT_OK(ctx, takt_sample_init(ctx, op, text, false, &s)))
        return;
    if (EXPECT_OK(ctx, takt_onnx_write(s.graph, &options, file)) &&
        EXPECT_OK(ctx, read_back(&s, &again))) {
        const double allowed = slack(s.graph, lowered);
        compare(&s, again, allowed, text);
        exact += allowed == 0;
        near += allowed != 0;
    } else {
        printf("%s\n", text);
    }
    takt_graph_destroy(again);
    takt_sample_deinit(&s);
}

static bool is_wanted(const char *name, char **words, int count)
{
    for (int i = 0; i < count; i++)
        if (strstr(name, words[i]) != NULL)
            return true;
    return count == 0;
}

static void every_sample(char **words, int count)
{
    for (size_t i = 0; i < takt_op_count; i++)
        for (size_t k = 0; k < 10 && takt_ops[i]->samples[k] != NULL; k++)
            if (is_wanted(takt_ops[i]->samples[k], words, count))
                one_sample(takt_ops[i], takt_ops[i]->samples[k]);
    printf("%zu samples give the same bits, %zu nearly the same\n", exact, near);
    EXPECT(count > 0 || exact > 2 * near, "%zu exact, %zu near", exact, near);
}

/* ---- cases ---- */

/* False if the suite is not here. */
static bool cases_of(const char *suite, char **words, int count, size_t *same, size_t *refused)
{
    char path[1024];
    if (!onnx_case_suite(suite, path, sizeof path))
        return false;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char folder[1400];
        case_report report;
        if (e->d_name[0] == '.' || !is_wanted(e->d_name, words, count) ||
            onnx_case_is_wrong(suite, e->d_name))
            continue;
        snprintf(folder, sizeof folder, "%s/%.200s", path, e->d_name);
        onnx_case_run(folder, "ref",
                      (case_tolerance){.rtol = 1e-3,
                                       .atol = 1e-6,
                                       .rewrite = file,
                                       .only_shapes = onnx_case_is_random(e->d_name)},
                      &report);
        *same += report.result == CASE_PASS && !report.is_near;
        near += report.result == CASE_PASS && report.is_near;
        if (report.is_near && count > 0)
            printf("%s: nearly the same\n", e->d_name);
        *refused += report.result == CASE_REFUSED;
        EXPECT(report.result != CASE_FAIL, "%s: %s", e->d_name, report.why);
        if (report.result == CASE_REFUSED && count > 0)
            printf("%s: %s\n", e->d_name, report.why);
    }
    if (dir != NULL)
        closedir(dir);
    return true;
}

int main(int argc, char **argv)
{
    const char *tmp = getenv("TAKT_TEST_TMP");
    size_t same = 0, refused = 0;
    snprintf(file, sizeof file, "%s/again.onnx", tmp != NULL ? tmp : "/tmp");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return 1;
    every_sample(argv + 1, argc - 1);
    takt_ctx_destroy(ctx);
    near = 0;
    if (!cases_of("backend-node", argv + 1, argc - 1, &same, &refused) &&
        !cases_of("node", argv + 1, argc - 1, &same, &refused))
        TEST_SKIP("no ONNX test data; set TAKT_DATA, or install Debian's libonnx-testdata");
    if (!cases_of("backend-simple", argv + 1, argc - 1, &same, &refused))
        (void)cases_of("simple", argv + 1, argc - 1, &same, &refused);
    printf("%zu cases give the same bits after a round trip, %zu nearly the same, %zu are not read "
           "at all\n",
           same, near, refused);
    EXPECT(argc > 1 || near * 20 < same, "%zu exact, %zu near", same, near);
    return test_done();
}
