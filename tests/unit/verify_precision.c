/* verify_precision.c - `takt check`: require clauses, and models with planted scales. */
#include <math.h>
#include <string.h>

#include <takt/takt.h>

#include "api/model.h"
#include "test.h"
#include "util/random_array.h"
#include "verify/box.h"
#include "verify/precision.h"

enum { MODELS = 200, WIDTH = 6, SAMPLES = 16 };
#define LARGEST 65504.0

static takt_ctx *ctx;

static takt_model *load(const char *text)
{
    takt_model *m = NULL;
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "m.takt", text, strlen(text), NULL, &m));
    return m;
}

/* ---- boxes ---- */

static void box_of(const char *clauses, double lo, double hi)
{
    char text[600];
    takt_box box[2];
    snprintf(text, sizeof text, "model m(x: f32[4], n: i8[2]) {\n%s\nreturn x + 0\n}\n", clauses);
    takt_model *m = load(text);
    if (m == NULL)
        return;
    EXPECT_OK(ctx, takt_box_read(m->graph, box));
    EXPECT((box[0].lo == lo || (isnan(lo) && isnan(box[0].lo))) &&
               (box[0].hi == hi || (isnan(hi) && isnan(box[0].hi))),
           "%s: [%g, %g]", clauses, box[0].lo, box[0].hi);
    EXPECT(box[1].lo == -128 && box[1].hi == 127, "an integer has the bounds of its type");
    takt_model_destroy(m);
}

static int to_nowhere(void *user, const char *bytes, size_t length)
{
    (void)user;
    (void)bytes;
    (void)length;
    return 0;
}

static void boxes(void)
{
    const double most = 0x1.fffffep127;
    box_of("", NAN, NAN);
    box_of("require abs(x) <= 2, \"\"", -2, 2);
    box_of("require x <= 2 and x >= -1, \"\"", -1, 2);
    box_of("require x > 0, \"\"\nrequire 3 > x, \"\"", 0, 3);
    box_of("require finite(x), \"\"", -most, most);
    box_of("require x < 5, \"\"", -most, 5);
    box_of("require x <= constant(f32[4], [1, 2, 7, 3]), \"\"", -most, 7);
    box_of("require x[0] < 5, \"of one element\"", NAN, NAN);
    takt_model *m = load("model m(x: f32[4]) {\nrequire x <= 1 and x >= 2, \"\"\nreturn x\n}\n");
    takt_check_options o = {0};
    const takt_status status =
        takt_precision_check(m, &o, TAKT_FORMAT_TEXT, to_nowhere, NULL, NULL);
    EXPECT(status == TAKT_ERR_ARGUMENT && takt_last_error_info(ctx)->id == TAKT_E_EMPTY_BOX, "%s",
           takt_last_error(ctx));
    o.precision = "f99";
    EXPECT(takt_precision_check(m, &o, TAKT_FORMAT_TEXT, to_nowhere, NULL, NULL) ==
               TAKT_ERR_ARGUMENT,
           "f99");
    takt_model_destroy(m);
}

/* ---- planted scales ---- */

/* A chain of layers, some of which scale by a power of ten. */
static void write_model(takt_random *r, char *text, size_t size)
{
    static const char *const acts[] = {"relu", "tanh", "gelu", "abs", "square"};
    size_t length = (size_t)snprintf(text, size,
                                     "model m(x: f32[batch, %d]) seed=%zu {\n"
                                     "  require abs(x) <= 1, \"scaled\"\n  h = x\n",
                                     WIDTH, takt_random_below(r, 1000));
    const size_t layers = 1 + takt_random_below(r, 4);
    for (size_t i = 0; i < layers; i++)
        length += (size_t)snprintf(text + length, size - length, "  h = %s(dense(h, %d) * %g)\n",
                                   acts[takt_random_below(r, 5)], WIDTH,
                                   pow(10, (double)takt_random_below(r, 8) - 3));
    snprintf(text + length, size - length, "  return h\n}\n");
}

static size_t found, alarms_without, overflows;

static void hold(const char *text, const takt_ranges *bounds, const takt_ranges *data)
{
    EXPECT(bounds->count == data->count, "%zu and %zu rows", bounds->count, data->count);
    for (size_t i = 0; i < bounds->count; i++) {
        const takt_value_row *b = &bounds->rows[i], *d = &data->rows[i];
        const bool leaves = fmax(fabs(d->least), fabs(d->top)) > LARGEST;
        EXPECT(isnan(b->lo) || (b->lo <= d->least && d->top <= b->hi),
               "row %zu: [%g, %g] measured, bounds [%g, %g]:\n%s", i, d->least, d->top, b->lo,
               b->hi, text);
        EXPECT(!leaves || b->overflow != TAKT_WILL_NOT, "row %zu: not named before:\n%s", i, text);
        EXPECT((d->overflow == TAKT_DOES) == leaves, "row %zu: a false alarm:\n%s", i, text);
        overflows += leaves;
        found += leaves && b->overflow != TAKT_WILL_NOT;
        alarms_without += b->overflow != TAKT_WILL_NOT && !leaves;
    }
}

static void planted(void)
{
    takt_random r = {.state = 29};
    float x[SAMPLES][WIDTH];
    for (size_t i = 0; i < MODELS; i++) {
        char text[1024];
        takt_ranges bounds, data;
        write_model(&r, text, sizeof text);
        takt_model *m = load(text);
        for (size_t s = 0; s < SAMPLES; s++)
            for (size_t k = 0; k < WIDTH; k++)
                x[s][k] = s < SAMPLES / 2                 ? (float)takt_random_between(&r, -1, 1)
                          : takt_random_below(&r, 2) == 0 ? -1
                                                          : 1;
        takt_known_input known = {.view = {.dtype = TAKT_F32, .rank = 2, .data = x}};
        known.view.dims[0] = SAMPLES;
        known.view.dims[1] = WIDTH;
        const takt_check_options without = {.threads = 1},
                                 with = {.data = &known, .data_count = 1, .threads = 1};
        if (EXPECT_OK(ctx, takt_ranges_init(&bounds, m, &without))) {
            if (EXPECT_OK(ctx, takt_ranges_init(&data, m, &with))) {
                takt_ranges_judge(&bounds, TAKT_F16);
                takt_ranges_judge(&data, TAKT_F16);
                hold(text, &bounds, &data);
                takt_ranges_deinit(&data);
            }
            takt_ranges_deinit(&bounds);
        }
        takt_model_destroy(m);
    }
    printf("%zu of %zu overflows of f16 named before; %zu values may overflow that did not here\n",
           found, overflows, alarms_without);
    EXPECT(overflows > 100, "too few scales were planted");
}

/* ---- quantised values ---- */

static takt_leaving clip_of(double scale)
{
    char text[300];
    takt_ranges r;
    takt_leaving verdict = TAKT_WILL_NOT;
    snprintf(text, sizeof text,
             "model m(x: f32[4]) {\nrequire abs(x) <= 1, \"\"\nreturn quantize(x * 2, "
             "constant(f32[], %g), constant(i8[], 0), axis=0)\n}\n",
             scale);
    takt_model *m = load(text);
    if (EXPECT_OK(ctx, takt_ranges_init(&r, m, &(takt_check_options){0}))) {
        takt_ranges_judge(&r, TAKT_I8);
        for (size_t i = 0; i < r.count; i++)
            verdict = r.rows[i].clip > verdict ? r.rows[i].clip : verdict;
        takt_ranges_deinit(&r);
    }
    takt_model_destroy(m);
    return verdict;
}

static void quantised(void)
{
    EXPECT(clip_of(0.02) == TAKT_WILL_NOT, "2 / 0.02 is 100");
    EXPECT(clip_of(0.01) == TAKT_MAY, "2 / 0.01 is 200");
}

/* Constants are known: those that become 0 in f16 are found. */
static void constants(void)
{
    takt_ranges r;
    bool small = false;
    takt_model *m = load("model m(x: f32[2]) {\nrequire abs(x) <= 1, \"\"\n"
                         "return x * constant(f32[2], [1e-9, 1])\n}\n");
    if (EXPECT_OK(ctx, takt_ranges_init(&r, m, &(takt_check_options){0}))) {
        takt_ranges_judge(&r, TAKT_F16);
        for (size_t i = 0; i < r.count; i++)
            small = small || r.rows[i].underflow == TAKT_DOES;
        takt_ranges_deinit(&r);
    }
    EXPECT(small, "1e-9 is 0 in f16");
    takt_model_destroy(m);
}

/* The lower bound of a convolution by Winograd's transform. */
static double convolved(const char *most)
{
    char text[300];
    takt_ranges r;
    double lo = 0;
    snprintf(text, sizeof text,
             "model m(x: f32[1, 16, 6, 6]) {\nrequire abs(x) <= %s, \"\"\n"
             "return conv(x, 1e-7 * broadcast(1.0, shape=[16, 16, 3, 3]))\n}\n",
             most);
    takt_model *m = load(text);
    if (EXPECT_OK(ctx, takt_ranges_init(&r, m, &(takt_check_options){0}))) {
        lo = r.rows[r.count - 1].lo;
        takt_ranges_deinit(&r);
    }
    takt_model_destroy(m);
    return lo;
}

/* Sums of large inputs overflow in the transform, although the result is small. */
static void transforms(void)
{
    const double near = convolved("1e36"), far = convolved("1e37");
    EXPECT(near < -1e31 && near > -1e32, "%g", near);
    EXPECT(isnan(far), "%g", far);
}

static void start(void)
{
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
}

static void stop(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(start, boxes, planted, quantised, constants, transforms, stop)
