/**
 * plan.h - compiling a model: memory, order and arithmetic are fixed before anything runs.
 *
 *     takt_plan *plan;
 *     takt_plan_options options = {.sizes = "batch=32"};
 *     takt_plan_create(model, &options, &plan);
 *     takt_plan_info info;
 *     takt_plan_query(plan, &info);   // peak memory to the byte
 *
 * Threads: any number may read a plan and create sessions of it.
 */
#ifndef TAKT_PLAN_H
#define TAKT_PLAN_H

#include <takt/cpu.h>
#include <takt/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct takt_plan takt_plan;

/* The fields of takt_cache_config, one line each: X(kind, name). */
#define TAKT_CACHE_CONFIG(X)                                                                       \
    /* Bytes of the left operand that are packed at a time. */                                     \
    X(SIZE, block_size)                                                                            \
    /* Bytes from one prefetch to the next. */                                                     \
    X(SIZE, cache_line_size)                                                                       \
    /* 1: on, the default; -1: off. */                                                             \
    X(INT, enable_prefetch)                                                                        \
    /* Cache lines of the next block that are skipped. */                                          \
    X(SIZE, prefetch_distance)                                                                     \
    /* Rows, depth and columns of a block (MC, KC, NC), rounded up to what kernels can do: tiles,  \
     * 256, panels. At most 65536 each. */                                                         \
    X(SIZE, rows)                                                                                  \
    X(SIZE, depth)                                                                                 \
    X(SIZE, columns)

/* The fields of takt_plan_options, one line each. The struct, its copy, the key of the plan cache,
 * the command's flags (with --config and environment) and the table in docs/options.md are made
 * from these rows; a new option is a new row at the end.
 *
 *   FLAG(kind, name, ID, "flag", letter, flag kind, "ARG", "what it does")
 *             a flag of every verb that plans
 *   SOME(…)   the same, but verbs that take it name it themselves
 *   FIELD(kind, name, "what it does")
 *             no flag of its own
 *
 *   kind      type               in the key
 *   TEXT      const char *       yes; copied
 *   SIZES     const char *       as the size of every named dimension; copied
 *   INT       int                yes
 *   U64       uint64_t           yes
 *   BOOL      bool               yes
 *   ASIDE     bool               no: changes no plan
 *   CAPS      uint8_t[16]        yes
 *   FIXED     array and count    yes; copied
 *   CACHE     takt_cache_config  yes */
#define TAKT_PLAN_OPTIONS(FLAG, SOME, FIELD)                                                       \
    /* "batch=8,seq=128". */                                                                       \
    FIELD(SIZES, sizes,                                                                            \
          "sizes of named dimensions, batch=8,seq=128, or ranges, seq=1..512; default 1")          \
    SOME(INT, threads, THREADS, "threads", 't', COUNT, "N",                                        \
         "threads; default: one per core this process may use")                                    \
    /* Default: the backend named by the model (`model m(...) backend=blas`), or cpu. */           \
    FLAG(TEXT, backend, BACKEND, "backend", 'd', TEXT, "NAME",                                     \
         "cpu, cuda, cuda:1, blas, ref (interpreter); default: the model's or cpu")                \
    /* "cblas" is the system's libblas.so.3. Default: any but the reference BLAS. */               \
    FLAG(TEXT, blas, BLAS, "blas", 0, TEXT, "LIB",                                                 \
         "for --backend blas: openblas, blis, mkl, cblas or a path")                               \
    FLAG(TEXT, isa, ISA, "isa", 0, TEXT, "CAP",                                                    \
         "no vector code beyond this, e.g. avx2, neon, scalar")                                    \
    /* "+name,-name"; NULL: the standard ones. */                                                  \
    FLAG(TEXT, passes, PASS, "pass", 0, LIST, "+A,-B",                                             \
         "passes on and off by name; all and licensed too")                                        \
    /* Set by takt_opts_level; -1 is -O0, 0 is the default, -O2. */                                \
    FLAG(INT, level, LEVEL, "opt-level", 'O', LEVEL, "0..3",                                       \
         "-O0 scalar and unfused, -O1 unfused, -O3 all; default 2")                                \
    /* Bytes of everything that takt_plan_info.peak counts: weights, packed weights, state, arena, \
     * inputs and outputs. 0: no limit. */                                                         \
    FLAG(U64, memory_limit, MEMORY_LIMIT, "memory-limit", 0, BYTES, "64M",                         \
         "fail if the plan needs more, weights included; 80%: of this machine's")                  \
    FIELD(BOOL, no_reuse, "no value shares memory with another, for debugging")                    \
    FIELD(BOOL, dry, "only sizes: no weight is packed, nothing can run")                           \
    /* Set by takt_opts_simd. */                                                                   \
    FLAG(CAPS, simd, SIMD, "simd", 0, LIST, "gemm=off",                                            \
         "cap vector code of a kernel family: on, off or as --isa")                                \
    /* "latency": work is cut for all threads. "throughput": one thread a session, for several     \
     * sessions at once. "memory": the order of steps is searched, cheap values may be computed    \
     * twice, weights that are read in two forms are kept in one, and convolutions do without      \
     * Winograd's larger weights, which changes bits. */                                           \
    FLAG(TEXT, hint, HINT, "hint", 0, TEXT, "H",                                                   \
         "latency (default), throughput or memory: what the plan is for")                          \
    /* "x,y": the plan uses their bytes. */                                                        \
    SOME(TEXT, donate, DONATE, "donate", 0, LIST, "NAME",                                          \
         "the run may write over this input and use its memory")                                   \
    /* Dense, copied. */                                                                           \
    FLAG(FIXED, fixed, STATIC, "static", 0, READS, "NAME=F",                                       \
         "an input from F.npy that is a constant of the plan")                                     \
    /* TAKT_ERR_REQUIREMENT if not. */                                                             \
    FLAG(TEXT, require, REQUIRE, "require", 0, LIST, "blas,f32",                                   \
         "fail unless these backends and types are used")                                          \
    /* takt_plan_get: fail if the plan is not in the cache. */                                     \
    SOME(ASIDE, static_shapes, STATIC_SHAPES, "static-shapes", 0, SWITCH, "",                      \
         "refuse sizes that were not prepared")                                                    \
    /* "a,b": outputs, values or layers by name; NULL: all outputs. */                             \
    FLAG(TEXT, outputs, OUTPUTS, "outputs", 0, LIST, "A,B",                                        \
         "only these results, and only what they need is computed")                                \
    FIELD(CACHE, cache, "blocking and prefetch of matrix products: --tile, --prefetch")            \
    /* "f16" or "bf16": weights of products, convolutions and tables are widened as they are read; \
     * everything is computed in f32 as before. */                                                 \
    FLAG(TEXT, precision, PRECISION, "precision", 0, TEXT, "P",                                    \
         "f16 or bf16: weights in half the bytes; default f32, as they are")                       \
    FIELD(BOOL, no_in_place, "no result is written over an input of its step, for comparison")     \
    /* "exact": the same bits on every machine. "fast": products with constant factors are         \
     * computed by dot products of bf16 where the machine has them, with sums in f32, or, if the   \
     * weights are f16, in f16. */                                                                 \
    FLAG(TEXT, numerics, NUMERICS, "numerics", 0, TEXT, "N",                                       \
         "exact (default), or fast: products in 16 bits")                                          \
    /* "on": every run evaluates the model's clauses (`require`, `ensure`) and fails with          \
     * TAKT_ERR_RANGE if one does not hold. "off": the plan has no step for them. The command also \
     * takes sample=N. */                                                                          \
    FLAG(TEXT, checks, CHECKS, "checks", 0, TEXT, "WHEN",                                          \
         "the model's clauses: on (default), off, or sample=100: every 100th run")                 \
    /* "boxes_3=100": bounds of sizes that values decide; "100": of all that have none. */         \
    FLAG(TEXT, bounds, BOUND, "bound", 0, LIST, "NAME=N",                                          \
         "bound of a data-dependent size; N alone: of all that have none")                         \
    /* "cuda=2G": bytes of constants, state and arena in a backend's own memory; a plan that needs \
     * more fails. */                                                                              \
    FLAG(TEXT, space_limits, SPACE_LIMITS, "space-limit", 0, LIST, "cuda=2G",                      \
         "fail if the plan needs more of a device's memory")                                       \
    /* Of a training step, 0 to 1: how much of the memory that the fastest plan needs beyond the   \
     * smallest one it may have. "1" computes nothing twice, "0" as much as it can. */             \
    SOME(TEXT, tradeoff, TRADEOFF, "tradeoff", 0, TEXT, "0.7",                                     \
         "of a training: 1 is fastest, 0 needs the least memory")                                  \
    /* Bytes of activations and scratch of a training step, of which the others are computed       \
     * twice; if no plan has so few, it fails. 0: no limit. */                                     \
    SOME(U64, activation_limit, ACTIVATION_LIMIT, "activation-limit", 0, BYTES, "64M",             \
         "of a training: activations and scratch; others are computed twice")

#define TAKT_OPTION_SIZE(name) size_t name;
#define TAKT_OPTION_INT(name) int name;
#define TAKT_OPTION_U64(name) uint64_t name;
#define TAKT_OPTION_BOOL(name) bool name;
#define TAKT_OPTION_ASIDE(name) bool name;
#define TAKT_OPTION_TEXT(name) const char *name;
#define TAKT_OPTION_SIZES(name) const char *name;
#define TAKT_OPTION_CAPS(name) uint8_t name[16];
#define TAKT_OPTION_FIXED(name)                                                                    \
    const takt_known_input *name;                                                                  \
    size_t name##_count;
#define TAKT_OPTION_CACHE(name) takt_cache_config name;
#define TAKT_OPTION_FIELD(kind, name, ...) TAKT_OPTION_##kind(name)

/** Blocking of matrix products: for tuning, it never changes bits. Zero in any field means the
 *  default for this machine. */
typedef struct takt_cache_config {
#define TAKT_CACHE_FIELD(kind, name) TAKT_OPTION_##kind(name)
    TAKT_CACHE_CONFIG(TAKT_CACHE_FIELD)
#undef TAKT_CACHE_FIELD
} takt_cache_config;

/** The fields of TAKT_PLAN_OPTIONS above. Zero in any field means the default, so `{0}` is always
 *  valid. Set `size` to stay compatible with later versions of the library. */
typedef struct takt_plan_options {
    size_t size; /**< sizeof(takt_plan_options), or 0 for this header's */
    TAKT_PLAN_OPTIONS(TAKT_OPTION_FIELD, TAKT_OPTION_FIELD, TAKT_OPTION_FIELD)
} takt_plan_options;

#undef TAKT_OPTION_SIZE
#undef TAKT_OPTION_INT
#undef TAKT_OPTION_U64
#undef TAKT_OPTION_BOOL
#undef TAKT_OPTION_ASIDE
#undef TAKT_OPTION_TEXT
#undef TAKT_OPTION_SIZES
#undef TAKT_OPTION_CAPS
#undef TAKT_OPTION_FIXED
#undef TAKT_OPTION_CACHE
#undef TAKT_OPTION_FIELD

/** Optimisation level 0 to 3; docs/options.md lists what each does. TAKT_ERR_ARGUMENT for
 *  others. */
TAKT_API TAKT_MUST_USE takt_status takt_opts_level(takt_plan_options *options, int level);
/** Caps the vector code of the steps of one family: "on" (no cap, even at -O0), "off" (scalar), or
 *  an instruction set such as "avx2". TAKT_ERR_NOT_FOUND for an unknown name; a set that this
 *  machine lacks is refused when the plan is made. */
TAKT_API TAKT_MUST_USE takt_status takt_opts_simd(takt_plan_options *options, takt_family family,
                                                  const char *cap);
/** "MC,KC,NC" into the options' cache: rows, depth and columns of a block; 0: the default.
 *
 *  @return TAKT_ERR_ARGUMENT for any other text; the options are then unchanged */
TAKT_API TAKT_MUST_USE takt_status takt_opts_tile(takt_ctx *ctx, takt_plan_options *options,
                                                  const char *text);
/** The same from text: "gemm=avx2,conv=off,map=on". The context's error explains mistakes:
 *  TAKT_ERR_NOT_FOUND, TAKT_ERR_ARGUMENT; words before the mistake have been set. */
TAKT_API TAKT_MUST_USE takt_status takt_opts_simd_words(takt_ctx *ctx, takt_plan_options *options,
                                                        const char *words);

/** How a training step trades time for memory: takt_opts_schedule puts it into plan options. */
typedef struct takt_schedule_opts {
    bool enable_checkpointing; /**< values may be rematerialised; false: none are */
    /** 0: default; else up to 1: how much of the memory between the smallest and the fastest plan
     *  it may use; see takt_plan_options.tradeoff. */
    double memory_speed_tradeoff;
    bool recompute_activations;     /**< rematerialise as many as possible: the least memory */
    uint64_t max_activation_memory; /**< bytes of activations and scratch; 0: no limit */
} takt_schedule_opts;

/** TAKT_ERR_ARGUMENT unless the tradeoff is from 0 to 1, or if checkpointing is off but another
 *  field requires it. */
TAKT_API TAKT_MUST_USE takt_status takt_opts_schedule(takt_ctx *ctx, takt_plan_options *options,
                                                      const takt_schedule_opts *schedule);

/** How a plan computes, in terms of its options; for comparing results. */
typedef struct takt_run_config {
    const char *backend;   /**< "cpu" */
    const char *precision; /**< type that weights are stored in: "f32", "f16", "bf16" */
    const char *numerics;  /**< "exact" or "fast" */
    const char *note;      /**< an option that changes nothing here, and why; or NULL */
} takt_run_config;

/** The strings live as long as the plan. */
TAKT_API void takt_plan_config(const takt_plan *plan, takt_run_config *config);

/** Everything a run will need, in bytes. */
typedef struct takt_plan_info {
    uint64_t weights; /**< constants in the form the kernels read, shared by sessions */
    uint64_t packed;  /**< the part of further constants that is packed for kernels */
    uint64_t state;   /**< per session, outlives runs */
    /** Per session: activations and scratch. A step of one task that needs no more than 7 KiB of
     *  scratch has it on the stack of the thread that runs it instead. */
    uint64_t arena;
    uint64_t scratch; /**< the largest part of it that is scratch of one step */
    /** Inputs and outputs, where the caller binds none; 64-byte rounded. Outputs for which the
     *  arena has room once they are written lie there, and are not counted; a session with an arena
     *  of the caller's (takt_session_options.arena) takes memory for them in addition. In the
     *  memory of others, the caller's too, a run may keep other values until it writes them. */
    uint64_t io;
    uint64_t peak;        /**< weights + packed + state + arena + io */
    uint64_t lower_bound; /**< of the arena: no plan in this order of steps can need less */
    uint64_t unshared;    /**< of the arena, if no memory were reused */
    size_t steps;
    int threads;
    double flops;     /**< of one run */
    uint64_t session; /**< a session's own tables, besides state, arena and io; not in `peak` */
    uint64_t plan_ns; /**< time to make the plan */
    /** 3x3 convolutions that the hint "memory" computes without Winograd's transform: their bits
     *  are not those of the other hints. */
    size_t direct_convs;
    /** What the plan currently holds from the allocator, to the byte: weights, packed weights and
     *  initial values of state, each once, and its own tables. While the model lives, originals of
     *  packed weights count as well. A session takes another state + arena + io + session, and pool
     *  if the caller provides none; with the caller's arena, state + io + session and the outputs
     *  that io leaves out. Where sizes have ranges or values decide them, its first run takes more
     *  (takt_session_held). */
    uint64_t held;
    /** Peak memory of the context until the plan was made: that of loading and planning, if the
     *  context did nothing else. */
    uint64_t planning_peak;
    uint64_t pool; /**< the threads of a session with its own pool */
} takt_plan_info;

/** Compiles for concrete sizes, or for the top of ranges; sessions then accept every size inside
 *  them (docs/sizes.md). The model may be destroyed afterwards.
 *
 *  @return TAKT_ERR_SHAPE for sizes that break a rule of the model, TAKT_ERR_UNSUPPORTED with the
 *  step that no kernel can do, TAKT_ERR_LIMIT for a plan above the memory limit,
 *  TAKT_ERR_REQUIREMENT, TAKT_ERR_DEVICE, TAKT_ERR_ARGUMENT for an option, TAKT_ERR_MEMORY: `*plan`
 *  is then NULL */
TAKT_API TAKT_MUST_USE takt_status takt_plan_create(const takt_model *model,
                                                    const takt_plan_options *options,
                                                    takt_plan **plan);
/** The same, but destroys the model, even on failure. Its weights are freed one by one as they are
 *  packed, so that memory never holds all of them twice: planning takes at most the weights in
 *  their larger form, one more tensor and 16 MB. Plans for ranges of sizes, with a memory limit or
 *  of models with clauses keep the weights until they are made. */
TAKT_API TAKT_MUST_USE takt_status takt_plan_take(takt_model *model,
                                                  const takt_plan_options *options,
                                                  takt_plan **plan);
/** takt_plan_create through the context's cache: an earlier plan for an equal model, with equal
 *  sizes and options, is reused. Release it with takt_plan_destroy. The cache keeps a bounded
 *  number of plans, and always those in use; takt_ctx_trim empties it.
 *
 *  @return what takt_plan_create returns; TAKT_ERR_SHAPE if `static_shapes` is set and the cache
 *  has no such plan */
TAKT_API TAKT_MUST_USE takt_status takt_plan_get(const takt_model *model,
                                                 const takt_plan_options *options,
                                                 takt_plan **plan);
/** NULL if the backend can be used here, else the reason why not; unknown names have one, too. */
TAKT_API const char *takt_backend_available(const char *name);
/** The backends: name, whether they can be used or why not, and what they are good for. */
TAKT_API TAKT_MUST_USE takt_status takt_backend_list(takt_ctx *ctx, takt_format format,
                                                     takt_sink_fn *sink, void *user);
/** What the plan runs on, as text: "cpu", or "blas: openblas (OpenBLAS 0.3.21 …), 2 threads". */
TAKT_API void takt_plan_backend(const takt_plan *plan, char *text, size_t size);
/** Accepts NULL. Sessions made from the plan stay valid. */
TAKT_API void takt_plan_destroy(takt_plan *plan);
/** Fills `*info`; unchanged without a plan. */
TAKT_API void takt_plan_query(const takt_plan *plan, takt_plan_info *info);

#ifdef __cplusplus
}
#endif
#endif
