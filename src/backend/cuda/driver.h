/* driver.h - the functions of the CUDA driver that Takt calls, in one table.
 *
 * libcuda.so.1 is found at run time; nothing else of CUDA is needed. All code gets the table from
 * the device that was opened, so a test that opens one with its own table (tests/util/gpu.h) needs
 * no driver. Types are those of cuda.h, version 12 and later, without the header.
 */
#ifndef TAKT_BACKEND_CUDA_DRIVER_H
#define TAKT_BACKEND_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t takt_cu_ptr; /* CUdeviceptr */
typedef struct CUctx_st *takt_cu_ctx;
typedef struct CUmod_st *takt_cu_module;
typedef struct CUfunc_st *takt_cu_function;
typedef struct CUstream_st *takt_cu_stream;
typedef struct CUevent_st *takt_cu_event;
typedef struct CUgraph_st *takt_cu_graph;
typedef struct CUgraphNode_st *takt_cu_node;
typedef struct CUgraphExec_st *takt_cu_exec;

/* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct takt_cu_kernel_node {
    takt_cu_function function;
    unsigned grid[3], block[3], shared_bytes;
    void **parameters, **extra;
    void *kernel;
    takt_cu_ctx context;
} takt_cu_kernel_node;

/* One side of CUDA_MEMCPY3D_v2. */
typedef struct takt_cu_side {
    size_t x, y, z, lod;
    int memory; /* 1: host, 2: device */
    const void *host;
    takt_cu_ptr device;
    void *array, *reserved;
    size_t pitch, height;
} takt_cu_side;

typedef struct takt_cu_copy_node {
    takt_cu_side from, to;
    size_t width, height, depth;
} takt_cu_copy_node;

/* CUgraphEdgeData */
typedef struct takt_cu_edge {
    unsigned char from_port, to_port, type, reserved[5];
} takt_cu_edge;

/* CUlaunchAttributeValue */
typedef union takt_cu_attribute {
    int is_cooperative;
    unsigned char room[64];
} takt_cu_attribute;

enum {
    TAKT_CU_OK = 0,
    TAKT_CU_NOT_READY = 600,
    TAKT_CU_OUT_OF_MEMORY = 2,
    TAKT_CU_NO_DEVICE = 100,
    TAKT_CU_STUB = 34,
    TAKT_CU_NO_BINARY = 209,
    TAKT_CU_TIMEOUT = 702,
    TAKT_CU_STREAM_NON_BLOCKING = 1,
    TAKT_CU_EVENT_BLOCKING = 1,
    TAKT_CU_EVENT_NO_TIMING = 2,
    TAKT_CU_PROCESSORS = 16, /* CU_DEVICE_ATTRIBUTE_... */
    TAKT_CU_MAJOR = 75,
    TAKT_CU_MINOR = 76,
    TAKT_CU_MOST_SHARED = 97,
    TAKT_CU_MAX_DYNAMIC_SHARED = 8, /* CU_FUNC_ATTRIBUTE_... */
    TAKT_CU_MEMORY_TYPE = 2,        /* CU_POINTER_ATTRIBUTE_... */
    TAKT_CU_ORDINAL = 9,
    TAKT_CU_MEMORY_DEVICE = 2,
    TAKT_CU_PROGRAMMATIC = 1, /* of an edge: port and type */
    TAKT_CU_COOPERATIVE = 2,  /* CU_LAUNCH_ATTRIBUTE_... */
    TAKT_CU_OLDEST = 12000,   /* driver: CUDA 12.0 */
    TAKT_CU_OLDEST_CAPABILITY = 75
};

/* X(field, symbol, parameters); all return a CUresult, 0 for success. */
#define TAKT_CUDA_FUNCTIONS(X)                                                                     \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(driver_version, "cuDriverGetVersion", (int *version))                                        \
    X(device_count, "cuDeviceGetCount", (int *count))                                              \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                       \
    X(device_name, "cuDeviceGetName", (char *name, int size, int device))                          \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))           \
    X(device_total, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                           \
    X(primary_retain, "cuDevicePrimaryCtxRetain", (takt_cu_ctx * ctx, int device))                 \
    X(primary_release, "cuDevicePrimaryCtxRelease_v2", (int device))                               \
    X(ctx_push, "cuCtxPushCurrent_v2", (takt_cu_ctx ctx))                                          \
    X(ctx_pop, "cuCtxPopCurrent_v2", (takt_cu_ctx * ctx))                                          \
    X(error_string, "cuGetErrorString", (int error, const char **text))                            \
    X(mem_info, "cuMemGetInfo_v2", (size_t * free, size_t * total))                                \
    X(mem_get, "cuMemAlloc_v2", (takt_cu_ptr * ptr, size_t bytes))                                 \
    X(mem_put, "cuMemFree_v2", (takt_cu_ptr ptr))                                                  \
    X(host_get, "cuMemHostAlloc", (void **data, size_t bytes, unsigned flags))                     \
    X(host_put, "cuMemFreeHost", (void *data))                                                     \
    X(copy_up, "cuMemcpyHtoDAsync_v2",                                                             \
      (takt_cu_ptr to, const void *from, size_t bytes, takt_cu_stream stream))                     \
    X(copy_down, "cuMemcpyDtoHAsync_v2",                                                           \
      (void *to, takt_cu_ptr from, size_t bytes, takt_cu_stream stream))                           \
    X(copy_within, "cuMemcpyDtoDAsync_v2",                                                         \
      (takt_cu_ptr to, takt_cu_ptr from, size_t bytes, takt_cu_stream stream))                     \
    X(fill, "cuMemsetD32Async",                                                                    \
      (takt_cu_ptr to, unsigned value, size_t count, takt_cu_stream stream))                       \
    X(stream_create, "cuStreamCreate", (takt_cu_stream * stream, unsigned flags))                  \
    X(stream_destroy, "cuStreamDestroy_v2", (takt_cu_stream stream))                               \
    X(stream_query, "cuStreamQuery", (takt_cu_stream stream))                                      \
    X(stream_wait, "cuStreamSynchronize", (takt_cu_stream stream))                                 \
    X(event_create, "cuEventCreate", (takt_cu_event * event, unsigned flags))                      \
    X(event_destroy, "cuEventDestroy_v2", (takt_cu_event event))                                   \
    X(event_record, "cuEventRecord", (takt_cu_event event, takt_cu_stream stream))                 \
    X(event_wait, "cuEventSynchronize", (takt_cu_event event))                                     \
    X(event_elapsed, "cuEventElapsedTime", (float *ms, takt_cu_event start, takt_cu_event end))    \
    X(module_load, "cuModuleLoadData", (takt_cu_module * module, const void *image))               \
    X(module_unload, "cuModuleUnload", (takt_cu_module module))                                    \
    X(module_function, "cuModuleGetFunction",                                                      \
      (takt_cu_function * function, takt_cu_module module, const char *name))                      \
    X(function_set, "cuFuncSetAttribute", (takt_cu_function function, int attribute, int value))   \
    X(launch, "cuLaunchKernel",                                                                    \
      (takt_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
       unsigned bz, unsigned shared, takt_cu_stream stream, void **parameters, void **extra))      \
    X(launch_together, "cuLaunchCooperativeKernel",                                                \
      (takt_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
       unsigned bz, unsigned shared, takt_cu_stream stream, void **parameters))                    \
    X(graph_create, "cuGraphCreate", (takt_cu_graph * graph, unsigned flags))                      \
    X(graph_destroy, "cuGraphDestroy", (takt_cu_graph graph))                                      \
    X(graph_kernel, "cuGraphAddKernelNode_v2",                                                     \
      (takt_cu_node * node, takt_cu_graph graph, const takt_cu_node *after, size_t count,          \
       const takt_cu_kernel_node *kernel))                                                         \
    X(node_attribute, "cuGraphKernelNodeSetAttribute",                                             \
      (takt_cu_node node, int attribute, const takt_cu_attribute *value))                          \
    X(graph_copy, "cuGraphAddMemcpyNode",                                                          \
      (takt_cu_node * node, takt_cu_graph graph, const takt_cu_node *after, size_t count,          \
       const takt_cu_copy_node *copy, takt_cu_ctx ctx))                                            \
    X(graph_instantiate, "cuGraphInstantiateWithFlags",                                            \
      (takt_cu_exec * exec, takt_cu_graph graph, unsigned long long flags))                        \
    X(graph_upload, "cuGraphUpload", (takt_cu_exec exec, takt_cu_stream stream))                   \
    X(graph_launch, "cuGraphLaunch", (takt_cu_exec exec, takt_cu_stream stream))                   \
    X(exec_kernel, "cuGraphExecKernelNodeSetParams_v2",                                            \
      (takt_cu_exec exec, takt_cu_node node, const takt_cu_kernel_node *kernel))                   \
    X(exec_destroy, "cuGraphExecDestroy", (takt_cu_exec exec))                                     \
    X(pointer, "cuPointerGetAttribute", (void *value, int attribute, takt_cu_ptr ptr))             \
    X(range, "cuMemGetAddressRange_v2", (takt_cu_ptr * first, size_t * bytes, takt_cu_ptr ptr))

/* The same for functions of later drivers, which may be NULL. */
#define TAKT_CUDA_LATER(X)                                                                         \
    X(graph_edges, "cuGraphAddDependencies_v2",                                                    \
      (takt_cu_graph graph, const takt_cu_node *from, const takt_cu_node *to,                      \
       const takt_cu_edge *edges, size_t count))

typedef struct takt_cuda_driver {
#define X(field, symbol, parameters) int(*field) parameters;
    TAKT_CUDA_FUNCTIONS(X)
    TAKT_CUDA_LATER(X)
#undef X
    struct takt_library *library; /* or NULL */
} takt_cuda_driver;

/* A device as the driver reports it. */
typedef struct takt_cuda_facts {
    char name[128];
    int ordinal, device, count; /* count: devices that are visible */
    int driver;                 /* 13000: CUDA 13.0 */
    int capability;             /* 90: compute capability 9.0 */
    int processors;
    int shared_bytes; /* that a block may request */
    size_t memory;
} takt_cuda_facts;

/* Loads libcuda.so.1: NULL, or why it cannot be used; static text. */
const char *takt_cuda_load(takt_cuda_driver *driver);
void takt_cuda_unload(takt_cuda_driver *driver);
/* Facts of device `ordinal`: NULL, or why it cannot be used, in `text` or static. */
const char *takt_cuda_ask(const takt_cuda_driver *driver, int ordinal, takt_cuda_facts *facts,
                          char *text, size_t size);
/* The driver's message for an error. */
const char *takt_cuda_text(const takt_cuda_driver *driver, int error);

#endif
