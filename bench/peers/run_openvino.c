/* run_openvino.c - OpenVINO, through its C interface. */
#include <openvino/c/openvino.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flat.h"
#include "runner.h"

static struct {
    ov_core_t *core;
    ov_compiled_model_t *compiled;
    ov_infer_request_t *request;
    flat_graph data;
    ov_version_t version;
} state;

static const char *told(ov_status_e status)
{
    if (status == OK)
        return NULL;
    const char *more = ov_get_last_err_msg();
    return more != NULL && *more != '\0' ? more : ov_get_error_info(status);
}

const char *peer_open(const char *library)
{
    (void)library;
    const ov_status_e status = ov_get_openvino_version(&state.version);
    return told(status != OK ? status : ov_core_create(&state.core));
}

const char *peer_version(void)
{
    return state.version.buildNumber;
}

static void drop(void)
{
    ov_infer_request_free(state.request);
    ov_compiled_model_free(state.compiled);
    flat_free(&state.data);
    state.request = NULL;
    state.compiled = NULL;
}

static ov_status_e bind(const flat_value *v)
{
    static const struct {
        const char *name;
        ov_element_type_e type;
    } types[] = {{"float32", F32}, {"float64", F64}, {"uint8", U8}, {"int8", I8}, {"float16", F16}};
    ov_element_type_e type = F32;
    int64_t dims[FLAT_RANK];
    ov_shape_t shape;
    ov_tensor_t *tensor;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        type = strcmp(types[i].name, v->type) == 0 ? types[i].type : type;
    for (int i = 0; i < v->rank; i++)
        dims[i] = v->dims[i];
    ov_status_e status = ov_shape_create(v->rank, dims, &shape);
    if (status != OK)
        return status;
    status = ov_tensor_create_from_host_ptr(type, shape, v->data, &tensor);
    if (status == OK) {
        status = ov_infer_request_set_tensor(state.request, v->name, tensor);
        ov_tensor_free(tensor);
    }
    ov_shape_free(&shape);
    return status;
}

/* f32 stays f32: on some processors the default is a narrower type, or bytes for weights. */
#ifdef __aarch64__
#define NARROW "f16"
#else
#define NARROW "bf16"
#endif

const char *peer_load(const char *folder, int threads)
{
    char path[4096], count[16];
    drop();
    const char *problem = flat_read(&state.data, folder);
    if (problem != NULL)
        return problem;
    if (strcmp(state.data.output.type, "float64") == 0)
        return "OpenVINO computes f64 in f32";
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    snprintf(count, sizeof count, "%d", threads);
    const bool is_exact = flat_is(folder, "exact"), is_steps = flat_is(folder, "steps");
    ov_status_e status = ov_core_compile_model_from_file(
        state.core, path, "CPU", 10, &state.compiled, "INFERENCE_NUM_THREADS", count, "NUM_STREAMS",
        "1", "PERFORMANCE_HINT", "LATENCY", "INFERENCE_PRECISION_HINT",
        is_exact || is_steps ? "f32" : NARROW, "DYNAMIC_QUANTIZATION_GROUP_SIZE",
        is_exact ? "0" : "32");
    if (status == OK)
        status = ov_compiled_model_create_infer_request(state.compiled, &state.request);
    for (int i = 0; status == OK && i < state.data.value_count; i++)
        if (state.data.values[i].is_input)
            status = bind(&state.data.values[i]);
    return told(status);
}

const char *peer_run(void)
{
    return told(ov_infer_request_infer(state.request));
}

const void *peer_output(size_t *bytes)
{
    ov_tensor_t *tensor;
    void *from = NULL;
    *bytes = 0;
    if (ov_infer_request_get_output_tensor_by_index(state.request, 0, &tensor) != OK)
        return NULL;
    if (ov_tensor_get_byte_size(tensor, bytes) != OK || ov_tensor_data(tensor, &from) != OK)
        *bytes = 0;
    ov_tensor_free(tensor); /* the request keeps the memory */
    return from;
}
