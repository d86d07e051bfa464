/* run_onnxruntime.c - ONNX Runtime, through the function table of its C interface.
 *
 * The package has no header, and needs none: the table only grows, so a position in it never
 * changes. The Python extension holds the whole engine; it is loaded here, from a process in which
 * Python's symbols exist.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flat.h"
#include "runner.h"

enum { API_VERSION = 16, LOG_ERROR = 3, OPTIMISE_ALL = 99, ARENA_ALLOCATOR = 1 };
enum place {
    GET_MESSAGE = 2,
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_OPTIONS = 10,
    SET_OPTIMISATION = 23,
    SET_INTRA_THREADS = 24,
    SET_INTER_THREADS = 25,
    CREATE_TENSOR = 49,
    CREATE_MEMORY_INFO = 69,
    ADD_CONFIG = 130,
    RELEASE_SESSION = 95,
    RELEASE_VALUE = 96,
    RELEASE_OPTIONS = 100
};
typedef struct api_base {
    void *const *(*get_api)(uint32_t version);
    const char *(*version)(void);
} api_base;

typedef void *status; /* NULL: well */
typedef status run_fn(void *session, const void *options, const char *const *input_names,
                      const void *const *inputs, size_t input_count,
                      const char *const *output_names, size_t output_count, void **outputs);

static struct {
    const api_base *base;
    void *const *api;
    run_fn *run;
    void *env, *session, *memory, *inputs[FLAT_INPUTS], *output;
    const char *input_names[FLAT_INPUTS], *output_name;
    size_t input_count;
    flat_graph data;
    void *result;
} state;

static const char *told(status s)
{
    const char *(*message)(const void *) = (const char *(*)(const void *))state.api[GET_MESSAGE];
    return s == NULL ? NULL : message(s);
}

const char *peer_open(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return dlerror();
    const api_base *(*get)(void) = (const api_base *(*)(void))dlsym(handle, "OrtGetApiBase");
    if (get == NULL)
        return dlerror();
    state.base = get();
    state.api = state.base->get_api(API_VERSION);
    if (state.api == NULL)
        return "no such version of the interface";
    state.run = (run_fn *)state.api[RUN];
    status (*env)(int, const char *, void **) =
        (status(*)(int, const char *, void **))state.api[CREATE_ENV];
    status (*memory)(int, int, void **) =
        (status(*)(int, int, void **))state.api[CREATE_MEMORY_INFO];
    const char *problem = told(env(LOG_ERROR, "peers", &state.env));
    return problem != NULL ? problem : told(memory(ARENA_ALLOCATOR, 0, &state.memory));
}

const char *peer_version(void)
{
    return state.base->version();
}

static void release(enum place place, void *what)
{
    if (what != NULL)
        ((void (*)(void *))state.api[place])(what);
}

static void drop(void)
{
    for (size_t i = 0; i < state.input_count; i++)
        release(RELEASE_VALUE, state.inputs[i]);
    release(RELEASE_VALUE, state.output);
    release(RELEASE_SESSION, state.session);
    free(state.result);
    flat_free(&state.data);
    state.input_count = 0;
    state.output = state.session = state.result = NULL;
}

static status tensor(const flat_value *v, void *data, void **value)
{
    status (*create)(const void *, void *, size_t, const int64_t *, size_t, int, void **) =
        (status(*)(const void *, void *, size_t, const int64_t *, size_t, int,
                   void **))state.api[CREATE_TENSOR];
    static const struct {
        const char *name;
        int code;
    } types[] = {{"float32", 1}, {"uint8", 2},    {"int8", 3},    {"int32", 6},
                 {"int64", 7},   {"float16", 10}, {"float64", 11}};
    int64_t dims[FLAT_RANK];
    int code = 0;
    for (int i = 0; i < v->rank; i++)
        dims[i] = v->dims[i];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        code = strcmp(types[i].name, v->type) == 0 ? types[i].code : code;
    return create(state.memory, data, (size_t)v->count * flat_width(v->type), dims, (size_t)v->rank,
                  code, value);
}

static status open_session(const char *path, int threads, int is_fast)
{
    void *options;
    status s = ((status(*)(void **))state.api[CREATE_OPTIONS])(&options);
    if (s != NULL)
        return s;
    status (*set)(void *, int) = (status(*)(void *, int))state.api[SET_OPTIMISATION];
    s = set(options, OPTIMISE_ALL);
    set = (status(*)(void *, int))state.api[SET_INTRA_THREADS];
    s = s == NULL ? set(options, threads) : s;
    set = (status(*)(void *, int))state.api[SET_INTER_THREADS];
    s = s == NULL ? set(options, 1) : s;
    status (*add)(void *, const char *, const char *) =
        (status(*)(void *, const char *, const char *))state.api[ADD_CONFIG];
    if (s == NULL && is_fast)
        s = add(options, "mlas.enable_gemm_fastmath_arm64_bfloat16", "1");
    status (*create)(void *, const char *, void *, void **) =
        (status(*)(void *, const char *, void *, void **))state.api[CREATE_SESSION];
    s = s == NULL ? create(state.env, path, options, &state.session) : s;
    release(RELEASE_OPTIONS, options);
    return s;
}

const char *peer_load(const char *folder, int threads)
{
    char path[4096];
    drop();
    const char *problem = flat_read(&state.data, folder);
    if (problem != NULL)
        return problem;
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    if (flat_is(folder, "f16") || flat_is(folder, "f16-exact"))
        return "ONNX Runtime has no f16 arithmetic for f32 models";
    status s = open_session(path, threads, flat_is(folder, "fast"));
    for (int i = 0; s == NULL && i < state.data.value_count; i++) {
        flat_value *v = &state.data.values[i];
        if (!v->is_input)
            continue;
        state.input_names[state.input_count] = v->name;
        s = tensor(v, v->data, &state.inputs[state.input_count]);
        state.input_count += s == NULL;
    }
    if (s != NULL)
        return told(s);
    const flat_value *out = &state.data.output;
    state.output_name = out->name;
    state.result = aligned_alloc(64, ((size_t)out->count * flat_width(out->type) + 127) / 64 * 64);
    return told(tensor(out, state.result, &state.output));
}

const char *peer_run(void)
{
    return told(state.run(state.session, NULL, state.input_names, (const void *const *)state.inputs,
                          state.input_count, &state.output_name, 1, &state.output));
}

const void *peer_output(size_t *bytes)
{
    *bytes = (size_t)state.data.output.count * flat_width(state.data.output.type);
    return state.result;
}
