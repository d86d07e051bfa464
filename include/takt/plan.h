/**
 * plan.h - compiling a model: memory, order and arithmetic are fixed before anything runs.
 *
 *     takt_plan *plan;
 *     takt_plan_options options = {.sizes = "batch=32"};
 *     takt_plan_create(model, &options, &plan);
 *     takt_plan_info info;
 *     takt_plan_query(plan, &info);   // peak memory to the byte
 */
#ifndef TAKT_PLAN_H
#define TAKT_PLAN_H

#include <takt/cpu.h>
#include <takt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_plan takt_plan;

/** How matrix products walk through memory: for tuning, it never changes bits. Zero in any field
 *  means what suits this machine. */
typedef struct takt_cache_config {
    size_t block_size;        /**< bytes of the left operand that are packed at a time */
    size_t cache_line_size;   /**< bytes from one prefetch to the next */
    int enable_prefetch;      /**< 1: on, the default; -1: off */
    size_t prefetch_distance; /**< so many lines of the next block are passed over */
    /** Rows, depth and columns of a block (MC, KC, NC), rounded up to what kernels can do: tiles,
     *  256, panels. At most 65536 each. */
    size_t rows, depth, columns;
} takt_cache_config;

/** Zero in any field means the default, so `{0}` is always valid. A program that shall run with
 *  later versions of the library sets `size`. */
typedef struct takt_plan_options {
    size_t size;         /**< sizeof(takt_plan_options), or 0 for this header's */
    const char *sizes;   /**< "batch=8,seq=128": every named dimension needs one; default 1 each */
    int threads;         /**< default: one per core this process may use */
    const char *backend; /**< "cpu", "ref", the interpreter, or "blas"; default: the model's own
                              word (`model m(…) backend=blas`), or cpu */
    const char *blas;    /**< for backend blas: "openblas", "blis", "mkl", "cblas" (the system's
                              libblas.so.3) or a path; default: any but the reference BLAS */
    const char *isa;     /**< cap on vector code, e.g. "avx2" or "scalar"; default: no cap */
    const char *passes;  /**< "+name,-name"; NULL: the standard ones */
    int level;           /**< set by takt_opts_level; -1 is -O0, 0 is the default, -O2 */
    uint64_t memory_limit; /**< bytes of arena that the plan may need; 0: no limit */
    bool no_reuse;         /**< no value shares memory with another, for debugging */
    bool dry;              /**< only sizes: no weight is packed, nothing can run */
    uint8_t simd[16];      /**< caps of kernel families, set by takt_opts_simd */
    /** "latency" (default: work is cut for all threads), "throughput" (one thread a session, for
     *  several sessions at once) or "memory" (the order of steps is searched, cheap values may be
     *  computed twice). */
    const char *hint;
    const char *donate; /**< "x,y": inputs that a run may write over; the plan uses their bytes */
    const takt_known_input *fixed; /**< static inputs: constants of this plan, dense, copied */
    size_t fixed_count;
    /** "blas,f32": backends and element types that must be used; TAKT_ERR_REQUIREMENT if not. */
    const char *require;
    bool static_shapes;  /**< takt_plan_get: a plan that is not in the cache is refused */
    const char *outputs; /**< "a,b": only these are computed, and what they need; outputs, values or
                              layers by name; NULL: all outputs */
    takt_cache_config cache; /**< how matrix products walk through memory */
    /** "f16" or "bf16": weights of products, convolutions and tables are stored so, in half the
     * bytes, and are widened as they are read; everything is computed in f32 as before. Default
     * "f32": as they are. */
    const char *precision;
    bool no_in_place; /**< no result is written over an input of its step, for comparison */
    /** "exact" (default: the same bits on every machine) or "fast": products with constant factors
     *  are computed by dot products of bf16 where the machine has them, with sums in f32, or, if
     *  the weights are f16, in f16. */
    const char *numerics;
} takt_plan_options;

/** Optimisation level 0 to 3; docs/options.md tells what each does. TAKT_ERR_ARGUMENT beyond. */
TAKT_API TAKT_MUST_USE takt_status takt_opts_level(takt_plan_options *options, int level);
/** Caps the vector code of the steps of one family: "on" (no cap, even at -O0), "off" (scalar), or
 *  an instruction set such as "avx2". TAKT_ERR_NOT_FOUND if there is none of that name; one that
 *  this machine lacks is refused when the plan is made. */
TAKT_API TAKT_MUST_USE takt_status takt_opts_simd(takt_plan_options *options, takt_family family,
                                                  const char *cap);
/** "MC,KC,NC" into the options' cache: rows, depth and columns of a block; 0: the default. */
TAKT_API TAKT_MUST_USE takt_status takt_opts_tile(takt_ctx *ctx, takt_plan_options *options,
                                                  const char *text);
/** The same from words: "gemm=avx2,conv=off,map=on". A mistake is explained in the context. */
TAKT_API TAKT_MUST_USE takt_status takt_opts_simd_words(takt_ctx *ctx, takt_plan_options *options,
                                                        const char *words);

/** How a plan computes, in the words of its options; for results that are to be compared. */
typedef struct takt_run_config {
    const char *backend;   /**< "cpu" */
    const char *precision; /**< what weights are stored in: "f32", "f16", "bf16" */
    const char *numerics;  /**< "exact" or "fast" */
    const char *note;      /**< an option that changes nothing here, and why; or NULL */
} takt_run_config;

/** The words live as long as the plan. */
TAKT_API void takt_plan_config(const takt_plan *plan, takt_run_config *config);

/** Everything a run will need, in bytes. */
typedef struct takt_plan_info {
    uint64_t weights;     /**< constants in the form the kernels read, shared by sessions */
    uint64_t packed;      /**< the part of further constants that is packed for kernels */
    uint64_t state;       /**< per session, outlives runs */
    uint64_t arena;       /**< per session: activations and scratch */
    uint64_t scratch;     /**< the largest part of it that is scratch of one step */
    uint64_t io;          /**< inputs and outputs, where the caller binds none; 64-byte rounded */
    uint64_t peak;        /**< weights + packed + state + arena + io */
    uint64_t lower_bound; /**< of the arena: no plan in this order of steps can need less */
    uint64_t unshared;    /**< of the arena, if no memory were reused */
    size_t steps;
    int threads;
    double flops;     /**< of one run */
    uint64_t session; /**< a session's own tables, beside state, arena and io; not in `peak` */
    uint64_t plan_ns; /**< what making the plan took */
} takt_plan_info;

/** Compiles for concrete sizes. The model may be destroyed afterwards. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_create(const takt_model *model,
                                                    const takt_plan_options *options,
                                                    takt_plan **plan);
/** The same through the context's cache: a plan made before for an equal model, with equal sizes
 * and options, is given again. Give it back with takt_plan_destroy. The cache keeps a bounded
 * number of plans, those in use always; takt_ctx_trim empties it. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_get(const takt_model *model,
                                                 const takt_plan_options *options,
                                                 takt_plan **plan);
/** NULL if the backend can be used here, else the reason; unknown names have one too. */
TAKT_API const char *takt_backend_available(const char *name);
/** The backends: name, whether they can be used or why not, and what they are good for. */
TAKT_API TAKT_MUST_USE takt_status takt_backend_list(takt_ctx *ctx, takt_format format,
                                                     takt_sink_fn *sink, void *user);
/** What the plan runs on, as text: "cpu", or "blas: openblas (OpenBLAS 0.3.21 …), 2 threads". */
TAKT_API void takt_plan_backend(const takt_plan *plan, char *text, size_t size);
/** Accepts NULL. Sessions made from the plan live on. */
TAKT_API void takt_plan_destroy(takt_plan *plan);
TAKT_API void takt_plan_query(const takt_plan *plan, takt_plan_info *info);
/** Steps, buffers and the memory statement: `takt plan`. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_describe(const takt_plan *plan, takt_format format,
                                                      takt_sink_fn *sink, void *user);
/** Which kernel each step got, which were refused and why: `takt kernels`. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_kernels(const takt_plan *plan, takt_format format,
                                                     takt_sink_fn *sink, void *user);
/** The arena over the steps, as an SVG picture. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_draw(const takt_plan *plan, takt_sink_fn *sink,
                                                  void *user);
/** What fused with what, and what did not and why; `node` NULL: everything. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_explain(const takt_plan *plan, const char *node,
                                                     takt_format format, takt_sink_fn *sink,
                                                     void *user);

#ifdef __cplusplus
}
#endif
#endif
