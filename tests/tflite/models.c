/* models.c - trained models in TensorFlow Lite's format give the results that came with them.
 *
 * Those were made by LiteRT's fast kernels, which differ from its reference kernels by up to four
 * steps: integers are held to that, and to the reference kernels' bits by digests.txt (litert.py
 * --write makes it). Every model has the same bits with every instruction set and thread count.
 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/onnx_case.h"

static takt_ctx *ctx;

static size_t count_of(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dims[d];
    return count;
}

static double number_at(const takt_tensor_view *v, size_t i)
{
    switch (v->dtype) {
    case TAKT_F32: return (double)((const float *)v->data)[i];
    case TAKT_I32: return ((const int32_t *)v->data)[i];
    case TAKT_I16: return ((const int16_t *)v->data)[i];
    case TAKT_I8: return ((const int8_t *)v->data)[i];
    default: return ((const uint8_t *)v->data)[i];
    }
}

/* FNV-1a, which a script computes in one line. */
static uint64_t hash_of(const takt_tensor_view *v)
{
    const size_t bytes = count_of(v) * (size_t)takt_dtype_bits(v->dtype) / 8;
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)v->data)[i]) * 0x100000001b3;
    return hash;
}

/* ---- one model ---- */

typedef struct job {
    const char *folder, *name;
    takt_model *model;
    uint64_t hash[8]; /* of the results, once known */
    bool is_known;
} job;

static bool give_inputs(const job *j, takt_session *s)
{
    char path[1600];
    for (size_t i = 0; i < takt_session_input_count(s); i++) {
        takt_tensor_view given;
        const takt_tensor_view *to = takt_session_input(s, i);
        snprintf(path, sizeof path, "%s/in%zu.npy", j->folder, i);
        FILE *f = fopen(path, "rb");
        if (f == NULL) { /* the model came without one */
            EXPECT_OK(ctx, takt_view_random(ctx, to, 1, (uint32_t)i));
            continue;
        }
        fclose(f);
        if (!EXPECT_OK(ctx, takt_npy_load(ctx, path, &given)))
            return false;
        const bool fits = given.dtype == to->dtype && count_of(&given) == count_of(to);
        EXPECT(fits, "%s: input %zu has another type", j->name, i);
        if (fits)
            memcpy(to->data, given.data, count_of(to) * (size_t)takt_dtype_bits(to->dtype) / 8);
        takt_view_free(ctx, &given);
        if (!fits)
            return false;
    }
    return true;
}

static void compare(const job *j, const takt_tensor_view *got, size_t place)
{
    char path[1600];
    takt_tensor_view want;
    snprintf(path, sizeof path, "%s/out%zu.npy", j->folder, place);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return;
    fclose(f);
    if (!EXPECT_OK(ctx, takt_npy_load(ctx, path, &want)))
        return;
    const size_t count = count_of(got);
    EXPECT(got->dtype == want.dtype && count == count_of(&want), "%s: result %zu has another type",
           j->name, place);
    double most = 0, error = 0, best = -INFINITY, ours = -INFINITY;
    size_t first = 0, our_first = 0;
    for (size_t i = 0; i < count && count == count_of(&want); i++) {
        const double w = number_at(&want, i), g = number_at(got, i);
        most = fmax(most, fabs(w));
        error = fmax(error, fabs(w - g));
        if (w > best)
            best = w, first = i;
        if (g > ours)
            ours = g, our_first = i;
    }
    const bool is_float = got->dtype == TAKT_F32;
    EXPECT(error <= (is_float ? 1e-5 * most : 4), "%s: result %zu is %g off, of %g", j->name, place,
           error, most);
    EXPECT(is_float || first == our_first || number_at(got, first) >= ours - 1,
           "%s: the greatest is %zu, not %zu", j->name, our_first, first);
    takt_view_free(ctx, &want);
}

static void run(job *j, const char *isa, int threads)
{
    const takt_plan_options options = {.isa = isa, .threads = threads};
    takt_plan *plan;
    takt_session *s = NULL;
    if (!EXPECT_OK(ctx, takt_plan_create(j->model, &options, &plan)))
        return;
    if (EXPECT_OK(ctx, takt_session_create(plan, NULL, &s)) && give_inputs(j, s) &&
        EXPECT_OK(ctx, takt_session_run(s))) {
        for (size_t i = 0; i < takt_session_output_count(s) && i < 8; i++) {
            const takt_tensor_view *y = takt_session_output(s, i);
            if (!j->is_known)
                compare(j, y, i);
            EXPECT(!j->is_known || hash_of(y) == j->hash[i], "%s with %s, %d threads: other bits",
                   j->name, isa != NULL ? isa : "all", threads);
            j->hash[i] = hash_of(y);
        }
        j->is_known = true;
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
}

/* The results of LiteRT's reference kernels, if the list has the model. */
static void compare_digest(const job *j)
{
    char name[200];
    unsigned long long hash;
    FILE *f = fopen("tests/tflite/digests.txt", "r");
    EXPECT(f != NULL, "tests/tflite/digests.txt is missing");
    while (f != NULL && fscanf(f, "%199s %llx", name, &hash) == 2)
        if (strcmp(name, j->name) == 0)
            EXPECT(j->hash[0] == hash, "%s: %llx, LiteRT's reference kernels gave %llx", j->name,
                   (unsigned long long)j->hash[0], hash);
    if (f != NULL)
        fclose(f);
}

static bool run_model(const char *data, const char *name)
{
    char folder[1400], path[1500];
    job j = {.folder = folder, .name = name};
    snprintf(folder, sizeof folder, "%s/tflite/%s", data, name);
    snprintf(path, sizeof path, "%s/model.tflite", folder);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return false;
    fclose(f);
    if (EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &j.model))) {
        run(&j, NULL, 1);
        run(&j, NULL, 3);
        run(&j, "scalar", 1);
        compare_digest(&j);
    }
    takt_model_destroy(j.model);
    return true;
}

/* ---- scores ---- */

typedef struct images {
    uint8_t *at;
    size_t count, each;
} images;

/* Right answers among `count` inputs of bytes, each after its label. */
static size_t score(const char *path, const images *set, void (*convert)(const uint8_t *, int8_t *))
{
    takt_model *m;
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    size_t right = 0;
    if (!EXPECT_OK(ctx, takt_model_load(ctx, path, NULL, &m)))
        return 0;
    if (EXPECT_OK(ctx, takt_plan_create(m, NULL, &plan)) &&
        EXPECT_OK(ctx, takt_session_create(plan, NULL, &s))) {
        for (size_t i = 0; i < set->count; i++) {
            const uint8_t *from = set->at + i * set->each;
            convert(from + 1, takt_session_input(s, 0)->data);
            EXPECT_OK(ctx, takt_session_run(s));
            const takt_tensor_view *y = takt_session_output(s, 0);
            const int8_t *scores = y->data;
            size_t best = 0;
            for (size_t k = 1; k < count_of(y); k++)
                best = scores[k] > scores[best] ? k : best;
            right += best == from[0];
        }
    }
    takt_session_destroy(s);
    takt_plan_destroy(plan);
    takt_model_destroy(m);
    return right;
}

/* Three planes of CIFAR to one of triples, less the zero point. */
static void from_cifar(const uint8_t *from, int8_t *to)
{
    for (size_t i = 0; i < 3072; i++)
        to[i] = (int8_t)(from[i % 3 * 1024 + i / 3] - 128);
}

static void as_it_is(const uint8_t *from, int8_t *to)
{
    memcpy(to, from, 490);
}

static void score_cifar(const char *data)
{
    enum { EACH = 3073, COUNT = 500, WANT = 445 };
    char path[1500];
    images set = {.at = malloc(EACH * COUNT), .each = EACH};
    snprintf(path, sizeof path, "%s/data/cifar10/test_first500.bin", data);
    FILE *f = fopen(path, "rb");
    if (f != NULL) {
        set.count = fread(set.at, EACH, COUNT, f);
        fclose(f);
    }
    snprintf(path, sizeof path, "%s/tflite/mlperf-ic01-int8/model.tflite", data);
    if (set.count == COUNT) {
        const size_t right = score(path, &set, from_cifar);
        printf("mlperf-ic01-int8: %zu of %d\n", right, COUNT);
        EXPECT(right == WANT, "%zu of %d images, not %d", right, COUNT, WANT);
    } else {
        printf("skipped: no images of CIFAR-10\n");
    }
    free(set.at);
}

/* The label is the last number of a file's name. */
static void score_words(const char *data)
{
    enum { EACH = 491, COUNT = 500, WANT = 449 };
    char path[1500], name[1900];
    images set = {.at = malloc(EACH * COUNT), .each = EACH};
    snprintf(path, sizeof path, "%s/data/kws01", data);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && set.count < COUNT && (e = readdir(dir)) != NULL;) {
        const char *label = strrchr(e->d_name, '_');
        if (strncmp(e->d_name, "tst_", 4) != 0 || label == NULL)
            continue;
        snprintf(name, sizeof name, "%s/%.300s", path, e->d_name);
        FILE *f = fopen(name, "rb");
        set.at[set.count * EACH] = (uint8_t)atoi(label + 1);
        if (f != NULL) {
            set.count += fread(set.at + set.count * EACH + 1, EACH - 1, 1, f);
            fclose(f);
        }
    }
    if (dir != NULL)
        closedir(dir);
    snprintf(path, sizeof path, "%s/tflite/mlperf-kws01-int8/model.tflite", data);
    if (set.count == COUNT) {
        const size_t right = score(path, &set, as_it_is);
        printf("mlperf-kws01-int8: %zu of %d\n", right, COUNT);
        EXPECT(right == WANT, "%zu of %d words, not %d", right, COUNT, WANT);
    } else {
        printf("skipped: no features of words\n");
    }
    free(set.at);
}

int main(int argc, char **argv)
{
    const char *data = onnx_case_data();
    char path[1024];
    size_t count = 0;
    if (data == NULL)
        TEST_SKIP("no models; set TAKT_DATA");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return test_done();
    snprintf(path, sizeof path, "%s/tflite", data);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.' && (argc < 2 || strstr(e->d_name, argv[1]) != NULL))
            count += run_model(data, e->d_name);
    if (dir != NULL)
        closedir(dir);
    if (count > 0 && argc < 2) {
        score_cifar(data);
        score_words(data);
    }
    takt_ctx_destroy(ctx);
    if (count == 0)
        TEST_SKIP("no models in %s", path);
    printf("%zu models\n", count);
    return test_done();
}
