/* cuda_mixed.c - device kernels of any element type behind the function types of their families. */
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/map_program.h"
#include "cuda_device.h"
#include "kernel/convert/convert.h"
#include "kernel/ggml_f32/ggml_f32.h"
#include "kernel/map/map.h"
#include "kernel/reduce/reduce.h"

/* ---- element-wise, of other types ---- */

/* A word on the device that keeps the lowest fault. */
static uint64_t fault_word;

typedef struct what {
    takt_dtype type;
    takt_map_op op;
} what;

static void mixed(what w, void *dst, const void *const *src, const unsigned char *is_scalar,
                  size_t n, takt_fault *fault)
{
    const takt_dtype type = w.type;
    const takt_map_op op = w.op;
    takt_cuda_map m = {.count = n, .dims = 1, .code_count = 1, .dim = {(uint32_t)n}};
    const int operands = takt_map_operands(op);
    const size_t bytes = (size_t)takt_dtype_bits(type) / 8;
    const bool is_byte = takt_map_is_predicate(op);
    device_next();
    if (n == 0)
        return;
    fault = operands == 2 ? fault : NULL;
    m.code[0] = (takt_cuda_instruction){.op = (uint8_t)op,
                                        .is_output = 1,
                                        .to = (uint8_t)(device_calls % 3),
                                        .dtype = (uint8_t)(is_byte ? TAKT_BOOL : type),
                                        .as = (uint8_t)type};
    for (int k = 0; k < 3; k++)
        m.code[0].from[k] = (uint8_t)(TAKT_CUDA_MAP_CODE + (k < operands ? k : 0));
    for (int k = 0; k < operands; k++) {
        takt_cuda_operand *o = &m.in[k];
        const bool is_mask = op == TAKT_MAP_SELECT && k == 0;
        o->dtype = (uint8_t)(is_mask ? TAKT_BOOL : type);
        o->form = is_scalar[k]            ? TAKT_CUDA_ONE
                  : device_calls % 5 == 0 ? TAKT_CUDA_SPREAD
                                          : TAKT_CUDA_FULL;
        o->stride[0] = 1;
        o->data = src[k] == dst && !is_scalar[k]
                      ? NULL
                      : device_in(src[k], (is_scalar[k] ? 1 : n) * (is_mask ? 1 : bytes));
    }
    m.out[0] = device_out(dst, n * (is_byte ? 1 : bytes));
    for (int k = 0; k < operands; k++)
        m.in[k].data = m.in[k].data == NULL ? m.out[0] : m.in[k].data;
    uint64_t divisors[2] = {0}; /* dst may be src[1], so its values are gone after the launch */
    fault_word = TAKT_FAULT_NONE;
    m.fault = fault != NULL ? device_out(&fault_word, sizeof fault_word) : NULL;
    void *kept = fault != NULL && !is_scalar[1] ? malloc(n * bytes) : NULL;
    const void *b = kept != NULL ? memcpy(kept, src[1], n * bytes) : fault != NULL ? src[1] : NULL;
    takt_cuda_launch l;
    takt_cuda_launch_map_mixed(&m, &l);
    device_launch(&l, 1);
    device_end();
    if (fault != NULL && fault_word != TAKT_FAULT_NONE) {
        memcpy(divisors, (const char *)b + (is_scalar[1] ? 0 : fault_word * bytes), bytes);
        takt_fault_note(fault, fault_word,
                        type == TAKT_I32 ? (int32_t)(uint32_t)divisors[0] : (int64_t)divisors[0]);
    }
    free(kept);
}

#define FUNCTION(TYPE, NAME)                                                                       \
    static void map_##TYPE##_##NAME(void *dst, const void *const *src,                             \
                                    const unsigned char *is_scalar, size_t n, takt_fault *fault)   \
    {                                                                                              \
        mixed((what){TAKT_##TYPE, TAKT_MAP_##NAME}, dst, src, is_scalar, n, fault);                \
    }
#define OF_F64(NAME, ...) FUNCTION(F64, NAME)
#define OF_I32(NAME, ...) FUNCTION(I32, NAME)
#define OF_I64(NAME, ...) FUNCTION(I64, NAME)
#define OF_U32(NAME, ...) FUNCTION(U32, NAME)
#define OF_U64(NAME, ...) FUNCTION(U64, NAME)
#define OF_BOOL(NAME, ...) FUNCTION(BOOL, NAME)
/* Lists of functions: clang-format takes them for one statement. */
/* clang-format off */
TAKT_MAP_OPS(OF_F64)
TAKT_MAP_OPS(OF_I32)
TAKT_MAP_OPS(OF_I64)
TAKT_MAP_OPS(OF_U32)
TAKT_MAP_OPS(OF_U64)
TAKT_MAP_OPS(OF_BOOL)
/* clang-format on */

#define ROW_F64(NAME, ...) map_F64_##NAME,
#define ROW_I32(NAME, ...) map_I32_##NAME,
#define ROW_I64(NAME, ...) map_I64_##NAME,
#define ROW_U32(NAME, ...) map_U32_##NAME,
#define ROW_U64(NAME, ...) map_U64_##NAME,
#define ROW_BOOL(NAME, ...) map_BOOL_##NAME,
static takt_map_table tables[] = {{{TAKT_MAP_OPS(ROW_F64)}}, {{TAKT_MAP_OPS(ROW_I32)}},
                                  {{TAKT_MAP_OPS(ROW_I64)}}, {{TAKT_MAP_OPS(ROW_U32)}},
                                  {{TAKT_MAP_OPS(ROW_U64)}}, {{TAKT_MAP_OPS(ROW_BOOL)}}};

static const char *const mixed_families[] = {"map_f64", "map_i32", "map_i64",
                                             "map_u32", "map_u64", "map_bool"};

/* Every pair of byte-sized types; devices do not have the others. */
static void convert(const takt_convert *how, void *dst, const void *src, size_t n)
{
    const takt_dtype compute = takt_map_compute_type(how->from);
    if (compute == TAKT_DTYPE_COUNT || takt_map_compute_type(how->to) == TAKT_DTYPE_COUNT) {
        takt_convert_any(how, dst, src, n);
        return;
    }
    takt_cuda_map m = {.count = n, .dims = 1, .code_count = 1, .dim = {(uint32_t)n}};
    device_next();
    if (n == 0)
        return;
    m.code[0] = (takt_cuda_instruction){
        .op = TAKT_MAP_COPY,
        .from = {TAKT_CUDA_MAP_CODE, TAKT_CUDA_MAP_CODE, TAKT_CUDA_MAP_CODE},
        .is_output = 1,
        .dtype = (uint8_t)how->to,
        .as = (uint8_t)compute,
        .cast = (uint8_t)(how->saturate ? TAKT_CUDA_CAST_SATURATING : TAKT_CUDA_CAST)};
    m.in[0] =
        (takt_cuda_operand){.data = device_in(src, n * (size_t)takt_dtype_bits(how->from) / 8),
                            .dtype = (uint8_t)how->from};
    m.out[0] = device_out(dst, n * (size_t)takt_dtype_bits(how->to) / 8);
    takt_cuda_launch l;
    takt_cuda_launch_map_mixed(&m, &l);
    device_launch(&l, 1);
    device_end();
}

/* ---- reductions of other types ---- */

static void reduce(takt_dtype type, const takt_reduce *r)
{
    const size_t bytes = (size_t)takt_dtype_bits(type) / 8;
    const bool is_arg = r->op >= TAKT_REDUCE_ARGMAX;
    size_t most = 0;
    if (r->count == 0)
        return;
    device_next();
    for (size_t i = 0; i < r->n; i++) {
        const size_t at = takt_reduce_at(r, r->count - 1, i);
        most = at > most ? at : most;
    }
    const size_t run = r->run < r->n ? r->run : r->n;
    const takt_cuda_reduce_any_args d = {
        .dst = device_out(r->dst, r->count * (is_arg ? sizeof(int64_t) : bytes)),
        .src = device_in(r->src, r->n > 0 ? (most + 1) * bytes : 0),
        .count = r->count,
        .n = r->n,
        .results = {1, {(int64_t)r->count}, {(int64_t)r->across}},
        .reduced = {2,
                    {run > 0 ? (int64_t)((r->n + run - 1) / run) : 1, run > 0 ? (int64_t)run : 1},
                    {(int64_t)r->run_stride, (int64_t)r->step}},
        .op = r->op,
        .from = (uint32_t)type,
        .as = (uint32_t)type,
        .to = (uint32_t)type};
    takt_cuda_launch l;
    takt_cuda_launch_reduce_any(&d, &l);
    device_launch(&l, 1);
    device_end();
}

#define REDUCE(TYPE, type)                                                                         \
    static void reduce_##type##_any(const takt_reduce *r)                                          \
    {                                                                                              \
        reduce(TAKT_##TYPE, r);                                                                    \
    }                                                                                              \
    static const takt_kernel reduce_##type##_kernels[] = {                                         \
        TAKT_KERNEL(reduce_##type, "cuda", 0, reduce_##type##_any, NULL)};
REDUCE(F64, f64)
REDUCE(I32, i32)
REDUCE(I64, i64)
REDUCE(U32, u32)
REDUCE(U64, u64)

/* ---- weights in blocks ---- */

static void ggml(const takt_ggml_f32 *g)
{
    const takt_ggml_info *info = &takt_ggml_formats[g->format];
    device_next();
    if (g->blocks == 0)
        return;
    const takt_cuda_ggml_rows d = {
        .dst = device_out(g->dst, g->blocks * info->weights * sizeof(float)),
        .src = device_in(g->src, g->blocks * info->bytes),
        .count = g->blocks * info->weights,
        .n = 1,
        .width = g->blocks * info->weights,
        .format = (uint32_t)g->format,
        .weights = info->weights,
        .bytes = info->bytes};
    takt_cuda_launch l;
    takt_cuda_launch_ggml_rows(&d, &l);
    device_launch(&l, 1);
    device_end();
}

/* ---- the families ---- */

static const takt_kernel ggml_kernels[] = {TAKT_KERNEL(ggml_f32, "cuda", 0, ggml, NULL)};

#define MIXED(type, NAME, index)                                                                   \
    static const takt_kernel map_##type##_kernels[] = {                                            \
        TAKT_KERNEL(map_##type, "cuda", 0, map_##NAME##_COPY, &tables[index])};
MIXED(f64, F64, 0)
MIXED(i32, I32, 1)
MIXED(i64, I64, 2)
MIXED(u32, U32, 3)
MIXED(u64, U64, 4)
MIXED(bool, BOOL, 5)
static const takt_kernel convert_kernels[] = {TAKT_KERNEL(convert, "cuda", 0, convert, NULL)};

#define UNIT(family, kernels)                                                                      \
    {                                                                                              \
#family, TAKT_ISA_scalar, kernels, sizeof kernels / sizeof *kernels                        \
    }
static const takt_kernel_unit units[] = {
    UNIT(map_f64, map_f64_kernels),       UNIT(map_i32, map_i32_kernels),
    UNIT(map_i64, map_i64_kernels),       UNIT(map_u32, map_u32_kernels),
    UNIT(map_u64, map_u64_kernels),       UNIT(map_bool, map_bool_kernels),
    UNIT(convert, convert_kernels),       UNIT(ggml_f32, ggml_kernels),
    UNIT(reduce_f64, reduce_f64_kernels), UNIT(reduce_i32, reduce_i32_kernels),
    UNIT(reduce_i64, reduce_i64_kernels), UNIT(reduce_u32, reduce_u32_kernels),
    UNIT(reduce_u64, reduce_u64_kernels)};

const takt_kernel_unit *device_mixed_unit(size_t index)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        device_fit_map_table(mixed_families[i], &tables[i]);
    return index < sizeof units / sizeof *units ? &units[index] : NULL;
}
