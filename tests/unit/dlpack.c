/* dlpack.c - tensors from and to other libraries: both forms, every type, refusals, ownership; and
 * the offsets of the fields of views and of DLPack's structures. */
#include "test.h"

#include <stddef.h>
#include <string.h>

#include <takt/takt.h>

#include "base/error.h"
#include "util/inject.h"

/* ---- layout ---- */

/* Programs that were built against an older header find fields where they were. */
static void layout(void)
{
    EXPECT_EQ(offsetof(takt_tensor_view, dtype), 0);
    EXPECT_EQ(offsetof(takt_tensor_view, rank), 4);
    EXPECT_EQ(offsetof(takt_tensor_view, dims), 8);
    EXPECT_EQ(offsetof(takt_tensor_view, strides), 136);
    EXPECT_EQ(offsetof(takt_tensor_view, data), 264);
    EXPECT_EQ(offsetof(takt_tensor_view, device), 272);
    EXPECT(sizeof(takt_tensor_view) == 280, "%zu", sizeof(takt_tensor_view));
    EXPECT_EQ(sizeof(takt_dl_tensor), 48);
    EXPECT_EQ(offsetof(takt_dl_tensor, device), 8);
    EXPECT_EQ(offsetof(takt_dl_tensor, ndim), 16);
    EXPECT_EQ(offsetof(takt_dl_tensor, dtype), 20);
    EXPECT_EQ(offsetof(takt_dl_tensor, shape), 24);
    EXPECT_EQ(offsetof(takt_dl_tensor, strides), 32);
    EXPECT_EQ(offsetof(takt_dl_tensor, byte_offset), 40);
    EXPECT_EQ(offsetof(takt_dl_managed, manager), 48);
    EXPECT_EQ(offsetof(takt_dl_managed, deleter), 56);
    EXPECT_EQ(offsetof(takt_dl_versioned, manager), 8);
    EXPECT_EQ(offsetof(takt_dl_versioned, deleter), 16);
    EXPECT_EQ(offsetof(takt_dl_versioned, flags), 24);
    EXPECT_EQ(offsetof(takt_dl_versioned, tensor), 32);
}

/* ---- types ---- */

static void types(void)
{
    for (int i = 0; i < TAKT_DTYPE_COUNT; i++) {
        const takt_dl_dtype t = takt_dtype_to_dlpack((takt_dtype)i);
        EXPECT(t.lanes == 1 && t.bits == takt_dtype_bits((takt_dtype)i), "%d", i);
        EXPECT(takt_dtype_from_dlpack(t) == (takt_dtype)i, "%d", i);
    }
    EXPECT_EQ(takt_dtype_from_dlpack((takt_dl_dtype){2, 32, 2}), TAKT_DTYPE_COUNT);
    EXPECT_EQ(takt_dtype_from_dlpack((takt_dl_dtype){5, 64, 1}), TAKT_DTYPE_COUNT); /* complex */
    EXPECT_EQ(takt_dtype_from_dlpack((takt_dl_dtype){99, 8, 1}), TAKT_DTYPE_COUNT);
    EXPECT_EQ(takt_dtype_to_dlpack((takt_dtype)-1).lanes, 0);
    EXPECT_EQ(takt_dtype_to_dlpack(TAKT_DTYPE_COUNT).lanes, 0);
}

/* ---- there and back ---- */

static void count(void *user)
{
    ++*(int *)user;
}

static bool same_view(const takt_tensor_view *a, const takt_tensor_view *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && a->data == b->data && a->device == 0 &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

static void there_and_back(takt_ctx *ctx, const takt_tensor_view *v, takt_dlpack_options o)
{
    int done = 0;
    bool read_only = !o.read_only;
    takt_dlpack d;
    takt_tensor_view back;
    o.done = count;
    o.user = &done;
    if (!EXPECT_OK(ctx, takt_view_to_dlpack(ctx, v, &o, &d)))
        return;
    EXPECT_EQ((d.managed != NULL), o.unversioned);
    EXPECT_EQ((d.versioned == NULL), o.unversioned);
    if (d.versioned != NULL) {
        EXPECT_EQ(d.versioned->version.major, 1);
        EXPECT_EQ(((d.versioned->flags & TAKT_DL_COPIED) != 0), o.copied);
    }
    EXPECT_OK(ctx, takt_view_from_dlpack(ctx, &d, &back, &read_only));
    EXPECT(same_view(v, &back) && read_only == o.read_only);
    EXPECT_EQ(done, 0);
    takt_dlpack_release(&d);
    EXPECT(done == 1 && d.versioned == NULL && d.managed == NULL);
    takt_dlpack_release(&d); /* a second time is nothing */
    EXPECT_EQ(done, 1);
}

static takt_status both_forms(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    float numbers[24] = {0};
    takt_tensor_view v = {.dtype = TAKT_F32, .rank = 3, .dims = {2, 3, 4}, .data = numbers};
    takt_dlpack d;
    (void)user;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    for (int form = 0; form < 2 && status == TAKT_OK; form++) {
        const takt_dlpack_options o = {.unversioned = form == 1};
        status = takt_view_to_dlpack(ctx, &v, &o, &d);
        takt_dlpack_release(&d);
    }
    takt_ctx_destroy(ctx);
    return status;
}

static void round_trips(void)
{
    takt_ctx *ctx;
    float numbers[24];
    takt_tensor_view v = {.dtype = TAKT_F32, .rank = 3, .dims = {2, 3, 4}, .data = numbers};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    for (int flags = 0; flags < 8; flags++)
        if ((flags & 3) != 3)
            there_and_back(ctx, &v,
                           (takt_dlpack_options){.unversioned = (flags & 1) != 0,
                                                 .read_only = (flags & 2) != 0,
                                                 .copied = (flags & 4) != 0 && (flags & 1) == 0});
    const takt_tensor_view slice = {
        .dtype = TAKT_F32, .rank = 2, .dims = {2, 2}, .strides = {-12, 2}, .data = numbers + 12};
    const takt_tensor_view scalar = {.dtype = TAKT_BF16, .data = numbers};
    const takt_tensor_view empty = {.dtype = TAKT_I64, .rank = 2, .dims = {0, INT64_C(1) << 40}};
    there_and_back(ctx, &slice, (takt_dlpack_options){0});
    there_and_back(ctx, &scalar, (takt_dlpack_options){0});
    there_and_back(ctx, &empty, (takt_dlpack_options){.unversioned = true});
    for (int i = 0; i < TAKT_DTYPE_COUNT; i++) {
        v.dtype = (takt_dtype)i;
        there_and_back(ctx, &v, (takt_dlpack_options){0});
    }
    takt_ctx_destroy(ctx);
    const takt_sweep_report r = takt_sweep(both_forms, NULL, TAKT_INJECT_ALL);
    EXPECT(r.is_good && r.runs > 0, "%s", r.message);
}

/* Strides are passed on, or zeros if the producer gives none. */
static void strides(void)
{
    takt_ctx *ctx;
    float numbers[64];
    int64_t shape[] = {3, 4}, steps[] = {16, 2};
    takt_tensor_view v;
    takt_dl_managed m = {.tensor = {.data = numbers,
                                    .device = {TAKT_DL_CUDA_HOST, 0},
                                    .ndim = 2,
                                    .dtype = {2, 32, 1},
                                    .shape = shape,
                                    .byte_offset = 8}};
    const takt_dlpack d = {.managed = &m};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    EXPECT_OK(ctx, takt_view_from_dlpack(ctx, &d, &v, NULL));
    EXPECT_SAME(v.data, numbers + 2);
    EXPECT_EQ(v.dims[1], 4);
    EXPECT_EQ(v.strides[0], 0);
    EXPECT_EQ(v.strides[1], 0);
    m.tensor.strides = steps;
    EXPECT_OK(ctx, takt_view_from_dlpack(ctx, &d, &v, NULL));
    EXPECT_EQ(v.strides[0], 16);
    EXPECT_EQ(v.strides[1], 2);
    steps[0] = 0; /* all rows are the same memory: a view keeps that */
    EXPECT_OK(ctx, takt_view_from_dlpack(ctx, &d, &v, NULL));
    takt_ctx_destroy(ctx);
}

/* ---- refusals ---- */

typedef struct producer {
    takt_dl_versioned t;
    int64_t shape[20], strides[20];
    float data[24];
} producer;

static void good(producer *p)
{
    *p = (producer){.shape = {2, 3}, .strides = {3, 1}};
    p->t = (takt_dl_versioned){.version = {1, 9},
                               .tensor = {.data = p->data,
                                          .device = {TAKT_DL_CPU, 0},
                                          .ndim = 2,
                                          .dtype = {2, 32, 1},
                                          .shape = p->shape,
                                          .strides = p->strides}};
}

static void refused(takt_ctx *ctx, producer *p, int id, const char *what)
{
    takt_tensor_view v = {.rank = 7};
    bool read_only = true;
    const takt_dlpack d = {.versioned = &p->t};
    const takt_status want = id == TAKT_E_DEVICE ? TAKT_ERR_DEVICE : TAKT_ERR_ARGUMENT;
    EXPECT_STATUS(ctx, takt_view_from_dlpack(ctx, &d, &v, &read_only), want);
    EXPECT(takt_last_error_info(ctx)->id == id && strstr(takt_last_error(ctx), what) != NULL,
           "wanted '%s', got %d: %s", what, takt_last_error_info(ctx)->id, takt_last_error(ctx));
    EXPECT(v.rank == 0 && v.data == NULL && !read_only);
    good(p);
}

static void foreign(takt_ctx *ctx)
{
    producer p;
    good(&p);
    p.t.version.major = 2;
    refused(ctx, &p, TAKT_E_DLPACK, "version 2.9");
    p.t.tensor.device = (takt_dl_device){TAKT_DL_CUDA, -1};
    refused(ctx, &p, TAKT_E_DEVICE, "CUDA");
    p.t.tensor.device.type = -1;
    refused(ctx, &p, TAKT_E_DEVICE, "device -1");
    p.t.tensor.ndim = 17;
    refused(ctx, &p, TAKT_E_DLPACK, "17 dimensions");
    p.t.tensor.ndim = -1;
    refused(ctx, &p, TAKT_E_DLPACK, "-1 dimensions");
    p.t.tensor.shape = NULL;
    refused(ctx, &p, TAKT_E_DLPACK, "no shape");
    p.t.tensor.dtype.lanes = 4;
    refused(ctx, &p, TAKT_E_DLPACK, "4 lanes");
    p.t.tensor.dtype = (takt_dl_dtype){5, 128, 1};
    refused(ctx, &p, TAKT_E_DLPACK, "code 5");
    p.shape[1] = -3;
    refused(ctx, &p, TAKT_E_DLPACK, "dimension 1");
    p.shape[0] = p.shape[1] = INT64_MAX / 2;
    refused(ctx, &p, TAKT_E_DLPACK, "overflow");
    p.shape[0] = 0, p.shape[1] = INT64_MAX; /* nothing in it, and still too large */
    refused(ctx, &p, TAKT_E_DLPACK, "overflow");
    p.strides[0] = INT64_MIN;
    refused(ctx, &p, TAKT_E_DLPACK, "overflow");
    p.strides[0] = INT64_MAX / 3;
    refused(ctx, &p, TAKT_E_DLPACK, "overflow");
    p.strides[0] = p.strides[1] = 0;
    refused(ctx, &p, TAKT_E_DLPACK, "one place");
    p.t.tensor.data = NULL;
    refused(ctx, &p, TAKT_E_DLPACK, "no data");
    p.t.tensor.byte_offset = UINT64_MAX;
    refused(ctx, &p, TAKT_E_DLPACK, "offset");
    p.t.tensor.dtype = (takt_dl_dtype){0, 4, 1};
    p.t.flags = TAKT_DL_PADDED;
    refused(ctx, &p, TAKT_E_DLPACK, "a byte");
}

static void misused(takt_ctx *ctx)
{
    takt_tensor_view v = {.dtype = TAKT_F32, .rank = 1, .dims = {4}};
    takt_dl_managed m = {.manager = NULL};
    takt_dl_versioned w = {.manager = NULL};
    const takt_dlpack none = {NULL, NULL}, both = {&w, &m};
    takt_dlpack d = {.managed = &m};
    EXPECT_STATUS(NULL, takt_view_from_dlpack(NULL, &d, &v, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_view_from_dlpack(ctx, NULL, &v, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_view_from_dlpack(ctx, &none, &v, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_view_from_dlpack(ctx, &both, &v, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_view_from_dlpack(ctx, &d, NULL, NULL), TAKT_ERR_ARGUMENT);
    if (EXPECT_STATUS(NULL, takt_view_to_dlpack(NULL, &v, NULL, &d), TAKT_ERR_ARGUMENT))
        EXPECT_SAME(d.managed, NULL);
    EXPECT_STATUS(ctx, takt_view_to_dlpack(ctx, NULL, NULL, &d), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_view_to_dlpack(ctx, &v, NULL, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_STATUS(ctx, takt_view_to_dlpack(ctx, &v, NULL, &d), TAKT_ERR_ARGUMENT); /* no data */
    v.data = &v;
    const takt_dlpack_options old = {.unversioned = true, .read_only = true};
    EXPECT_STATUS(ctx, takt_view_to_dlpack(ctx, &v, &old, &d), TAKT_ERR_ARGUMENT);
    v.device = -1;
    EXPECT_STATUS(ctx, takt_view_to_dlpack(ctx, &v, NULL, &d), TAKT_ERR_DEVICE);
    v.device = 0;
    v.rank = 17;
    EXPECT_STATUS(ctx, takt_view_to_dlpack(ctx, &v, NULL, &d), TAKT_ERR_ARGUMENT);
    v.rank = 1;
    v.dims[0] = -1;
    EXPECT_STATUS(ctx, takt_view_to_dlpack(ctx, &v, NULL, &d), TAKT_ERR_ARGUMENT);
    EXPECT(d.managed == NULL && d.versioned == NULL);
    takt_dlpack_release(NULL);
    d.managed = &m; /* without a deleter */
    takt_dlpack_release(&d);
    EXPECT_SAME(d.managed, NULL);
}

/* Device memory is distinguished from host memory wherever a view is accepted. */
static void elsewhere(takt_ctx *ctx)
{
    static const char text[] = "model m(x: f32[4]) { return relu(x) }\n";
    float numbers[4] = {0};
    char digest[TAKT_DIGEST_TEXT];
    takt_model *m = NULL;
    takt_plan *p = NULL;
    takt_session *s = NULL;
    const takt_tensor_view v = {
        .dtype = TAKT_F32, .rank = 1, .dims = {4}, .data = numbers, .device = 3};
    EXPECT_OK(ctx, takt_model_load_memory(ctx, "text", text, sizeof text - 1, NULL, &m));
    EXPECT_OK(ctx, takt_plan_create(m, NULL, &p));
    EXPECT_OK(ctx, takt_session_create(p, NULL, &s));
    EXPECT_STATUS(NULL, takt_session_bind(s, "x", &v), TAKT_ERR_ARGUMENT);
    EXPECT(strstr(takt_session_error(s)->message, "device 3 (cuda:2)") != NULL);
    takt_session_destroy(s);
    takt_plan_destroy(p);
    const takt_known_input known = {"x", v};
    const takt_plan_options fixed = {.fixed = &known, .fixed_count = 1};
    const takt_load_options load = {.known = &known, .known_count = 1};
    EXPECT_STATUS(ctx, takt_plan_create(m, &fixed, &p), TAKT_ERR_DEVICE);
    takt_model_destroy(m);
    EXPECT_STATUS(ctx, takt_model_load_memory(ctx, "text", text, sizeof text - 1, &load, &m),
                  TAKT_ERR_DEVICE);
    const takt_op_call call = {"relu", NULL, &v, 1, &v, 1};
    EXPECT_STATUS(ctx, takt_op_run(ctx, &call), TAKT_ERR_DEVICE);
    EXPECT_STATUS(ctx, takt_view_digest(ctx, &v, 1, digest), TAKT_ERR_DEVICE);
    EXPECT_IS(takt_npy_save(ctx, "nowhere.npy", &v), !=, TAKT_OK);
}

static void refusals(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    foreign(ctx);
    misused(ctx);
    elsewhere(ctx);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(layout, types, round_trips, strides, refusals)
