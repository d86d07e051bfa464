/* map_program.h - element-wise nodes as a program over tiles that stay in the nearest cache.
 *
 * Nodes become instructions in graph order. Values are computed in one of a few compute types
 * (narrow floats in f32, narrow integers in 32 bits) and rounded or wrapped to their own type after
 * every node, so fusing changes no bit. A value read outside the program is written to its buffer;
 * the others live in registers: tiles of scratch memory.
 *
 * The same program finishes the hot tiles of a matrix product or convolution: then one value, the
 * anchor's, is handed in and its final form handed back.
 */
#ifndef TAKT_BACKEND_CPU_MAP_PROGRAM_H
#define TAKT_BACKEND_CPU_MAP_PROGRAM_H

#include "backend/cpu/cpu.h"
#include "kernel/chain_f32/chain_f32.h"
#include "kernel/convert/convert.h"
#include "kernel/map/map.h"

enum { TAKT_MAP_TILE = 1024 };
#define TAKT_MAP_NONE UINT32_MAX

typedef enum takt_map_source { TAKT_MAP_REG, TAKT_MAP_VIEW, TAKT_MAP_HOT } takt_map_source;

typedef struct takt_map_ref {
    takt_map_source source;
    uint32_t index; /* register, or operand */
} takt_map_ref;

typedef struct takt_map_instr {
    takt_map_fn *fn;     /* NULL for a cast */
    takt_convert cast;   /* from the source's compute type to the node's own type */
    takt_convert narrow; /* from the compute type to the node's own type */
    takt_convert widen;  /* and back */
    bool narrows;        /* the node's own type is not its compute type */
    bool is_exact;       /* its result has its own type already: nothing to round */
    bool is_read;        /* by later instructions, or handed back */
    takt_map_ref src[3];
    unsigned char src_count;
    bool can_fault;
    uint32_t dst;    /* register, or TAKT_MAP_NONE: it goes to memory alone */
    int32_t out;     /* index into step->out, or -1 */
    bool is_direct;  /* computes straight into the output: its type is a compute type */
    bool is_final;   /* the value that goes back to the anchor's tile */
    bool keeps_copy; /* computed straight into the output, and read again by later instructions */
    uint32_t narrow_bytes; /* of an element of the node's own type */
    takt_map_op op;        /* unless it is a cast */
    bool is_f32;           /* computed in f32, and stored so or as a byte */
    bool is_linked_cast;   /* of a value that registers hold as f32 before and after */
    unsigned char links;   /* instructions from this one on that run in one pass; 0: just this */
    unsigned char at;      /* in a pass: the operand that is the result of the previous
                            * instruction */
    bool is_passed;        /* in a pass: only the next one reads it, from a vector register */
} takt_map_instr;

/* How the elements [first, first + n) of the result read an input. */
typedef struct takt_map_operand {
    uint32_t view;  /* index into step->in */
    bool is_full;   /* element i of the input belongs to element i of the result */
    bool is_scalar; /* one element */
    int rank;       /* otherwise: collapsed loops over the result */
    int64_t dim[TAKT_MAX_RANK], stride[TAKT_MAX_RANK];
    uint32_t bytes;    /* of an element */
    bool repeats;      /* all tiles but the last are expanded to the same values */
    uint32_t gathered; /* register for the expanded tile, which nothing else writes */
    uint32_t widened;  /* register for the tile in the compute type */
    bool widens;       /* the element type is not a compute type */
    takt_convert widen;
} takt_map_operand;

typedef struct takt_map_program {
    takt_map_instr *code;
    size_t code_count;
    takt_map_operand *operands;
    size_t operand_count;
    takt_convert_fn *convert;
    takt_chain_f32_fn *chain; /* NULL: every instruction is a pass of its own */
    uint32_t registers;
    uint32_t width;         /* bytes of the widest element that a register holds */
    size_t tile;            /* elements at a time */
    size_t room;            /* elements of a register */
    size_t count;           /* elements of the result */
    const takt_type *shape; /* and its shape */
    bool can_fault;
} takt_map_program;

/* Compiles nodes[0..count): element-wise, one shape. `hot`: the node whose value is handed in, or
 * TAKT_NONE. Adds inputs and outputs to p->step. */
TAKT_MUST_USE takt_status takt_map_compile(takt_planner *p, const takt_id *nodes, size_t count,
                                           takt_id hot, takt_map_program **program);
/* Loops over a result of `shape` with the strides of an operand, adjacent ones merged where that is
 * possible. */
void takt_map_collapse(const takt_type *shape, const takt_view *v, takt_map_operand *o);
/* Bytes of one register: a tile of the program's widest type, or less for results that are smaller.
 */
static inline size_t takt_map_register(const takt_map_program *m)
{
    return m->room * m->width;
}
/* Elements after which the operand is read from its beginning again; 0: it is not. */
size_t takt_map_period(const takt_map_operand *o);
/* Sets the sizes of tiles and registers when all instructions are known. */
void takt_map_set_tile(takt_map_program *m, bool is_hot);
/* Finds instructions that follow each other and can run in one pass. */
void takt_map_link(takt_map_program *m);
/* Bytes of scratch that one worker needs. */
size_t takt_map_scratch(const takt_map_program *program);
/* Elements [first, end). */
void takt_map_run(const takt_map_program *program, const takt_step *step, const takt_task *task,
                  void *registers, size_t first, size_t end);
/* Elements [first, first + n), n <= TAKT_MAP_TILE, of which `hot` holds the anchor's values;
 * the final values are left there. */
void takt_map_finish(const takt_map_program *program, const takt_step *step, const takt_task *task,
                     void *registers, size_t first, size_t n, float *hot);

/* The type that values of `dtype` are computed in; TAKT_DTYPE_COUNT if there is none. */
takt_dtype takt_map_compute_type(takt_dtype dtype);
/* The element type that decides which kernel runs. */
takt_dtype takt_map_deciding(const takt_graph *g, const takt_node *n);
/* The operation that computes the node, unless it is a cast; TAKT_MAP_OP_COUNT if there is none. */
takt_map_op takt_map_node_op(const takt_graph *g, const takt_node *n);
/* NULL if a tile program can compute the node, else the reason. */
const char *takt_map_accepts(const takt_graph *g, takt_id node);

#endif
