/* builder.h - shared by the stages of plan building.
 *
 *   assign.c   which backend runs which node, and where values are made
 *   group.c    nodes -> groups: one group becomes one step
 *   fusion.c   the cost model of fusion
 *   commit.c   groups that overwrite the state, at the end
 *   swap.c     slots whose next value is made next to the old one, and in which memory
 *   forms.c    packed forms of state
 *   derived.c  transposes and casts of state, which steps that pack them do not read
 *   order.c    the order of the groups, and which run twice
 *   early.c    where among them state is overwritten
 *   lengths.c  nodes that wait for sizes that values decide
 *   alias.c    values that are views of other values
 *   converted.c  conversions that the steps which read them make
 *   memory.c   buffers of values
 *   away.c     values and constants in the memory of devices, and the steps that copy them there
 *   late.c     constants: found among those that other plans made, or computed once a step needs
 *              them
 *   consume.c  constants: freed once everything made from them is made
 *   planner.c  requests of backends, step by step; it extends the lives of buffers
 *   place.c    offsets in the arena, and the lower bound
 *   finish.c   outputs, commits, segments
 *   statement.c  how much of every memory all that needs
 *   prologue.c  steps that depend on constants alone: they run here and now
 *   build.c    the order of all this
 */
#ifndef TAKT_PLAN_BUILDER_H
#define TAKT_PLAN_BUILDER_H

#include "plan/backend.h"
#include "plan/packs.h"

enum { TAKT_NO_GROUP = -1, TAKT_FOREVER = INT32_MAX };
enum { TAKT_DERIVED_MOST = 8 };
enum { TAKT_AT_BEGIN = -2 }; /* `first` of buffers in the arena that runs use before any step */
enum { TAKT_AWAY = 1 };      /* the space of the preferred backend, if it has its own memory */

typedef struct takt_pack_key {
    takt_id from;
    const char *format;
    size_t bytes;
    takt_fill_fn *fill;
    takt_space space;
    uint32_t buffer;
    uint32_t next; /* pack of the same node, or UINT32_MAX */
} takt_pack_key;

/* Kernels that steps of this plan requested, so that the list of all is searched once. */
typedef struct takt_found_kernel {
    const char *family; /* by its address: callers pass a literal */
    takt_isa_set isas;
    const takt_kernel *kernel;
    size_t family_length, name_length; /* of the texts of their names */
    takt_dtype arithmetic;             /* what it computes in, if that differs from its operands' */
    bool is_fast;
} takt_found_kernel;

enum { TAKT_FOUND_KERNELS = 32 };

/* A constant to be made from another one, which does not exist yet. */
typedef struct takt_pending {
    takt_pack_name name; /* fill NULL: a copy */
    void *user;          /* of fill */
    uint32_t buffer;
    struct takt_pending *next;
} takt_pending;

struct takt_answers;

typedef struct takt_builder {
    takt_planner p; /* first: backends see this part */
    takt_arena scratch;
    takt_group *groups;
    size_t group_count;
    int32_t *group_index; /* per node, TAKT_NO_GROUP for leaves and views */
    unsigned char *live, *is_constant;
    uint32_t *uses;
    const takt_backend **backend_of; /* per node; NULL: the fallback runs all */
    const char **reason_of;          /* per node: why the preferred one does not run it, or NULL */
    takt_space *space_of;            /* per node: where its value is made */
    takt_space space;                /* of the step being compiled */
    uint32_t *copy_in[TAKT_SPACES]; /* per root, where it is not made: its buffer, UINT32_MAX: none;
                                     * NULL: the plan has the host only */
    unsigned char *is_alias;        /* per node: its value exists without a step */
    unsigned char *is_converted;    /* per node: a conversion that its readers make (converted.c) */
    takt_id *root;                  /* per node: the node whose buffer holds its value */
    size_t *root_offset;            /* bytes into that buffer */
    /* For a training step in mixed precision: whether a node belongs to the forward pass; else
     * NULL. */
    const unsigned char *forward;
    int32_t *ready;    /* per node: the group after which its value is complete */
    int32_t *sequence; /* groups in the order they run; one may run twice */
    size_t sequence_count;
    int32_t position;   /* in `sequence`: of the group being compiled */
    int32_t tail;       /* in `sequence`: from here on every group overwrites state */
    int32_t *last_run;  /* per group: its last position */
    int32_t *last_read; /* per root: the last position that reads it; TAKT_FOREVER for outputs */
    takt_id *gets;      /* per node with several results: first `get`, chained by next_get */
    takt_id *next_get;
    uint32_t *port_of;   /* per input or state node: which one it is */
    uint32_t *output_of; /* per root: the first output that shows it; UINT32_MAX: none */
    void **bases;        /* per buffer: where constants are, for the steps that run at once */
    size_t base_count, base_capacity;
    bool in_prologue;       /* the step being compiled is constant */
    unsigned char *is_late; /* per root: constant, made once something requests it */
    takt_id *reserved;      /* roots promised to a step and not yet made */
    size_t reserved_count;
    takt_pending *pending;    /* packed forms and copies of them */
    const takt_group **late;  /* groups being made for these */
    unsigned char *is_wanted; /* per group: it is among them */
    int step_index;           /* of the step being compiled */
    size_t step_capacity, buffer_capacity, constant_capacity;
    takt_pack_key *packs;
    size_t pack_count, pack_capacity;
    uint32_t *pack_of;                /* per node: its newest pack, or UINT32_MAX */
    size_t in_capacity, out_capacity; /* of the step being compiled */
    takt_pool *pool; /* of the threads that pack large weights; NULL until there is one */
    takt_found_kernel found[TAKT_FOUND_KERNELS];
    size_t found_count, found_next; /* steps mostly request them in the same order */
    uint32_t *reads;  /* per root: inputs of groups that will read it, if constants are consumed */
    int32_t *unasked; /* constant groups that will not be made, while they are looked through */
    bool *keeps_source; /* per group: what it is made from is not freed before what it makes */
    takt_cost *costs;   /* per group: its cost as a step */
    struct takt_answers *answers; /* recorded or replayed (answers.h); NULL: neither */
    struct takt_answers *sized;   /* the same of constants that depend on sizes */
    uint32_t *latest;             /* as takt_plan.latest; NULL: no size is decided by values */
    takt_id *lengths;             /* the nodes that find them, [1] the first */
    unsigned char *is_taken;      /* for takt_builder_join, once it has run */
    takt_fusion *fusions;
    size_t fusion_count, fusion_capacity;
    takt_state_form *forms; /* of state */
    size_t form_count, form_capacity;
    size_t settled_forms;      /* this many have the steps that they begin with */
    unsigned char *is_derived; /* per root: derived from a weight that is state, by this many
                                * steps */
    takt_id *asked;            /* those whose value the step being compiled reads directly */
    size_t asked_count;
    uint32_t *next_of; /* per root: the first slot whose next value it holds; UINT32_MAX: none */
    takt_storage *late_room; /* of the constant that is being packed (ir/late.h); or NULL */
    takt_storage *spare[2];  /* of constants that were dropped, for the next ones; or NULL */
} takt_builder;

static inline takt_builder *takt_builder_of(takt_planner *p)
{
    return (takt_builder *)p;
}

/* The backend that runs a node. */
static inline const takt_backend *takt_builder_backend(const takt_builder *b, takt_id node)
{
    return b->backend_of != NULL ? b->backend_of[node] : b->p.settings->fallback;
}

/* A backend's performance, or the fallback's if it does not say. */
const takt_machine *takt_builder_machine(const takt_builder *b, const takt_backend *backend);

TAKT_MUST_USE takt_status takt_builder_alias(takt_builder *b);
TAKT_MUST_USE takt_status takt_builder_find_converted(takt_builder *b);
TAKT_MUST_USE takt_status takt_builder_assign(takt_builder *b);
/* Which nodes wait for which sizes that values decide (lengths.c). */
TAKT_MUST_USE takt_status takt_builder_lengths(takt_builder *b);
/* Concatenations in place, of values that are made in one space. */
TAKT_MUST_USE takt_status takt_builder_join(takt_builder *b);
/* Sizes have changed since both: whether a slice or concatenation is what it was, where it was.
 * False: perhaps not. */
bool takt_builder_alias_stays(const takt_builder *b, takt_id id);
TAKT_MUST_USE takt_status takt_builder_group(takt_builder *b);
/* Moves groups that only make next values of state to the end, where they write over it. */
TAKT_MUST_USE takt_status takt_builder_commit(takt_builder *b);
/* The results of such a group are stored in the state. */
TAKT_MUST_USE takt_status takt_builder_write_state(takt_builder *b, const takt_group *group);
/* Puts groups that overwrite the state where they may run in `sequence`. */
TAKT_MUST_USE takt_status takt_builder_place_commits(takt_builder *b);
/* Steps after the first that overwrites state can neither be stopped nor fail. */
void takt_builder_seal(takt_builder *b);
/* Fills in `sequence` and everything derived from it. */
TAKT_MUST_USE takt_status takt_builder_order(takt_builder *b);
/* Weights that steps may read in 16 bits: a constant that is widened to f32. */
bool takt_is_widening(const takt_builder *b, takt_id node);
/* Which constants are. */
TAKT_MUST_USE takt_status takt_builder_mark_late(takt_builder *b);
/* The group that computes a root; negative: none does. */
int32_t takt_builder_maker(const takt_builder *b, takt_id root);
/* Memory for the value of a root that is_late: found, with its value, or to be filled. */
TAKT_MUST_USE takt_status takt_builder_want(takt_builder *b, takt_id root);
/* The same for a packed form or a copy of one that is not filled. */
TAKT_MUST_USE takt_status takt_builder_postpone(takt_builder *b, const takt_pack_name *name,
                                                void *user, uint32_t *buffer);
/* Fills all of these: a separate stage, while no step is being compiled. */
TAKT_MUST_USE takt_status takt_builder_settle(takt_builder *b);
/* A packed form of an existing constant, as a separate constant. */
TAKT_MUST_USE takt_status takt_builder_pack(takt_builder *b, const takt_pack_name *name, void *user,
                                            uint32_t *buffer);
/* Compiles the next group; runs it if it is constant. */
TAKT_MUST_USE takt_status takt_builder_compile(takt_builder *b, const takt_group *group);
/* Counts the readers of each constant, and frees those that nothing will read any more, if the
 * settings say so (consume.c). */
TAKT_MUST_USE takt_status takt_builder_count_reads(takt_builder *b);
size_t takt_builder_scratch_room(const takt_builder *b, const takt_group *group);
void takt_builder_consume(takt_builder *b, const takt_group *group, const takt_step *step);
/* Whether the step reads a subgraph while it runs, and not a plan of it. */
bool takt_step_interprets(const takt_graph *g, const takt_step *step);
/* The constants that the plan shares with others; NULL: it shares none. */
takt_packs *takt_builder_packs(const takt_builder *b);
/* Looks in these packs, then in those of plans for other sizes. If true, the tensor must be
 * released. */
bool takt_builder_find_pack(const takt_builder *b, const takt_pack_name *name, takt_tensor *tensor);
/* Shares the constants that steps read. */
TAKT_MUST_USE takt_status takt_builder_keep(takt_builder *b);
/* Buffer of a node's value, made if it has none yet. */
TAKT_MUST_USE takt_status takt_builder_buffer(takt_builder *b, takt_id node, uint32_t *buffer);
TAKT_MUST_USE takt_status takt_builder_new_buffer(takt_builder *b, takt_buffer buffer,
                                                  uint32_t *index);
TAKT_MUST_USE takt_status takt_builder_new_constant(takt_builder *b, const takt_tensor *tensor,
                                                    uint32_t *buffer);
/* The same bytes in the memory of another space, as a constant of that. */
TAKT_MUST_USE takt_status takt_builder_upload(takt_builder *b, const takt_pack_name *name,
                                              uint32_t from, uint32_t *buffer);
/* A step that copies the value of `root` into `space`, unless it is there already. */
TAKT_MUST_USE takt_status takt_builder_bring(takt_builder *b, takt_id root, takt_space space);
/* All values that the group reads from other spaces. */
TAKT_MUST_USE takt_status takt_builder_bring_all(takt_builder *b, const takt_group *group);
/* The step of the commit phase that copies the next value of a slot in another space. */
TAKT_MUST_USE takt_status takt_builder_commit_away(takt_builder *b, size_t slot);
/* Copies an output to the host that is part of a value made in another space. */
TAKT_MUST_USE takt_status takt_builder_bring_output(takt_builder *b, size_t output);
TAKT_MUST_USE takt_status takt_builder_push(takt_builder *b, const takt_step *step);
/* Runs a step that depends on constants alone, now. */
TAKT_MUST_USE takt_status takt_builder_run_constant(takt_builder *b, takt_step *step);
/* Releases a constant; the largest ones are memory for the next that are computed. */
void takt_builder_set_aside(takt_builder *b, takt_tensor *tensor);
/* A constant that a step of the prologue is about to compute. */
TAKT_MUST_USE takt_status takt_builder_new_computed(takt_builder *b, const takt_type *type,
                                                    uint32_t *buffer);
/* The output that takes the value of `root` directly, since it covers the whole buffer; or -1. */
int takt_builder_direct_output(const takt_builder *b, takt_id root, size_t bytes);
/* The same, in whatever space the value is made. */
int takt_builder_output_of(const takt_builder *b, takt_id root, size_t bytes);
/* Adds a buffer of raw bytes to the step's inputs. */
TAKT_MUST_USE takt_status takt_builder_add_raw(takt_builder *b, uint32_t buffer, size_t bytes,
                                               size_t *index);
/* A packed form of state, by a function that packs constants, too. */
TAKT_MUST_USE takt_status takt_builder_fill_form(takt_builder *b, const takt_pack_name *name,
                                                 void *user, size_t *index);
/* Whether packed forms of that state are kept. */
bool takt_state_has_forms(const takt_builder *b, takt_id node);
/* Which nodes are derived (derived.c); then one that a step reads as it is, if it is derived and
 * not there; and the steps for those, before the one being compiled. */
TAKT_MUST_USE takt_status takt_builder_mark_derived(takt_builder *b);
void takt_builder_ask(takt_builder *b, takt_id root);
TAKT_MUST_USE takt_status takt_builder_make_asked(takt_builder *b);
/* Steps that new forms begin with, and where their values are once the arena is known. */
TAKT_MUST_USE takt_status takt_builder_settle_forms(takt_builder *b);
TAKT_MUST_USE takt_status takt_builder_place_forms(takt_builder *b);
/* Makes a step of a group, without running it. */
TAKT_MUST_USE takt_status takt_builder_step(takt_builder *b, const takt_group *group,
                                            takt_step *step);
/* The steps that repack what the run has changed. */
TAKT_MUST_USE takt_status takt_builder_pack_state(takt_builder *b);
/* Adds a view to the step's results. */
TAKT_MUST_USE takt_status takt_builder_add_out(takt_builder *b, const takt_view *view);
/* Places slots, once it is known where values are made. */
TAKT_MUST_USE takt_status takt_builder_find_slots(takt_builder *b);
/* Slots that take one another's values, once ports are known. */
TAKT_MUST_USE takt_status takt_builder_find_rings(takt_builder *b);
/* The value of `root` is made in the second memory of a slot; which slot. */
bool takt_state_swaps(const takt_builder *b, takt_id root, uint32_t *slot);
/* The next value of the slot has already overwritten its old one. */
bool takt_state_is_in_place(const takt_builder *b, size_t slot);
/* The step of `node` writes only what nobody sees before the run is committed. */
bool takt_state_is_append(const takt_builder *b, takt_id node);
/* The buffer is an input's that the caller lets steps overwrite. */
bool takt_builder_is_donated(const takt_builder *b, const takt_buffer *buffer);
/* ports.c: outputs may have a place in the arena, and none has one at first; whether they may; from
 * which step on one is there (false: no step writes it); and gaps for those that have none once
 * everything else is placed. */
typedef struct takt_output_life {
    size_t bytes;
    int first;
} takt_output_life;
TAKT_MUST_USE takt_status takt_ports_begin(takt_builder *b);
bool takt_ports_share(const takt_builder *b);
bool takt_output_lives(const takt_plan *plan, size_t output, takt_output_life *life);
TAKT_MUST_USE takt_status takt_ports_fill(takt_builder *b);
/* Bytes of outputs that have no place in the arena. */
size_t takt_ports_outside(const takt_plan *plan);
/* Moves values of the arena into the memory of outputs outside of it; false: there were none. */
bool takt_guests_invite(const takt_builder *b);
void takt_guests_leave(takt_plan *plan);
/* rooms.c: whether the places of `rooms`, a plan for larger sizes or NULL, are sufficient, and
 * taking them. */
bool takt_rooms_suffice(const takt_plan *plan, const takt_plan *rooms);
void takt_rooms_take(takt_plan *plan, const takt_plan *rooms);
/* The arena is not smaller than `end`. */
void takt_plan_reach(takt_plan *plan, takt_space space, size_t end);
/* Moves values into donated inputs that are no longer read. */
void takt_builder_donate(takt_builder *b);
/* Makes each part of the step's scratch begin at a multiple of 64. */
TAKT_MUST_USE takt_status takt_builder_align_scratch(takt_builder *b, takt_step *s);
TAKT_MUST_USE takt_status takt_builder_place(takt_builder *b);
/* takt_plan_build with the caller's builder; the caller frees its `scratch`: it lives on with the
 * plan, and so must `settings`. */
TAKT_MUST_USE takt_status takt_builder_build(takt_builder *b, takt_plan **out);

#endif
