/** logic.h - relations of a model with rules: facts in, tuples out, queries, proofs.
 *
 *     takt_tuples tuples;
 *     const takt_tensor_view *y = takt_session_output(session, 0);
 *     if (takt_relation_tuples(model, "ancestor", y, &tuples) == TAKT_OK)
 *         printf("%zu tuples\n", tuples.count);
 *     takt_tuples_free(ctx, &tuples);
 *
 * docs/logic.md describes rules. A relation is an ordinary tensor; these functions know which one,
 * in which form, and what its elements are called. A model that was compiled to a .taktp file, or
 * cut out of another, keeps the tensors but not the names: it has no relations here.
 *
 * Threads: any; the model is only read. A derivation or set of tuples must not be used
 * concurrently.
 */
#ifndef TAKT_LOGIC_H
#define TAKT_LOGIC_H

#include <takt/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a tensor stores a relation. */
typedef enum takt_relation_form {
    TAKT_RELATION_SOFT,   /**< f32 truth or length, or an i64 count, for every tuple */
    TAKT_RELATION_BOOL,   /**< bool for every tuple */
    TAKT_RELATION_BITS,   /**< u64: 64 tuples of the last argument per word, lowest bit first */
    TAKT_RELATION_VALUE,  /**< the last argument, a number, for every tuple of the others */
    TAKT_RELATION_TUPLES, /**< u32[capacity, arity]: ascending, then rows of all ones */
} takt_relation_form;

/** A relation, rule or constraint of a model's text. */
typedef struct takt_relation {
    const char *name;
    const char *kind;      /**< "facts", "input", "tensor", "rule" or "constraint" */
    const char *semantics; /**< of rules and constraints; NULL for the others */
    takt_relation_form form;
    int arity;
    const char *domains[TAKT_MAX_RANK]; /**< NULL: an axis of a tensor, or a number */
    int64_t sizes[TAKT_MAX_RANK];       /**< -1: a named dimension, or a number */
    size_t rule_count;
    int stratum; /**< of rules: lower strata are computed first; -1 for other relations */
    bool is_recursive;
    const char *joins; /**< products of its rules in order, "(x, y) x (y, z)"; "": none */
    double weight;     /**< of a constraint */
} takt_relation;

/** How many relations the model has; 0 for a model without rules. */
TAKT_API size_t takt_model_relation_count(const takt_model *model);
/** The relation's strings live as long as the model. TAKT_ERR_NOT_FOUND beyond the last. */
TAKT_API TAKT_MUST_USE takt_status takt_model_relation(const takt_model *model, size_t index,
                                                       takt_relation *relation);
/** The name of entry `entry` of an argument's domain, not terminated; NULL if it has none. The
 *  arguments of a constraint are the variables of its outermost `forall`. */
TAKT_API const char *takt_relation_entry(const takt_model *model, const char *relation,
                                         int argument, uint32_t entry, size_t *length);

/** Facts as TSV or CSV, one tuple per line, become the tensor of an input relation. If the input is
 *  f32, a last column may hold weights. `name` names the text in messages.
 *  @param view  receives the tensor: bind it, and free it with takt_view_free
 *  @return TAKT_ERR_FORMAT for a line that is wrong, TAKT_ERR_NOT_FOUND if there is no such input
 */
TAKT_API TAKT_MUST_USE takt_status takt_relation_read(const takt_model *model, const char *relation,
                                                      const char *name, const char *text,
                                                      size_t length, takt_tensor_view *view);

/** The same from a file.
 *
 *  @return what takt_relation_read returns; TAKT_ERR_IO. On failure `view->data` is NULL */
TAKT_API TAKT_MUST_USE takt_status takt_relation_load(const takt_model *model, const char *relation,
                                                      const char *path, takt_tensor_view *view);

/** Whether an array that the caller made may be bound as an input relation. A set of tuples may be
 * in any order, but a run does not check whether its numbers are in their domains: such numbers
 * merely have no names.
 *
 *  @return TAKT_ERR_FORMAT for a number outside its domain, TAKT_ERR_ARGUMENT for a view that is
 * not its tensor, TAKT_ERR_NOT_FOUND for another relation */
TAKT_API TAKT_MUST_USE takt_status takt_relation_check(const takt_model *model,
                                                       const char *relation,
                                                       const takt_tensor_view *view);

/** Tuples in ascending order. */
typedef struct takt_tuples {
    size_t count;
    int arity;
    uint32_t *entries; /**< [count][arity], numbers of entries; of a VALUE relation the last is 0 */
    double *values;    /**< truth, length, count or number of each tuple; NULL: all are true */
} takt_tuples;

/** The tuples in a relation's tensor: those whose truth is not 0, or whose length is finite. @param
 *  view the tensor, dense, such as takt_session_output gives it @return TAKT_ERR_NOT_FOUND for
 *  another relation, TAKT_ERR_ARGUMENT for a view that is not its tensor, TAKT_ERR_MEMORY: there
 *  are then no tuples */
TAKT_API TAKT_MUST_USE takt_status takt_relation_tuples(const takt_model *model,
                                                        const char *relation,
                                                        const takt_tensor_view *view,
                                                        takt_tuples *tuples);
/** Accepts tuples without memory. */
TAKT_API void takt_tuples_free(takt_ctx *ctx, takt_tuples *tuples);

/** Writes the names of the values that show which tuples break the constraints of a model, "a,b,c",
 *  to a sink: of each constraint its truth and, if it begins with `forall`, that of every tuple.
 *  They are for takt_plan_options.outputs. */
TAKT_API TAKT_MUST_USE takt_status takt_constraint_outputs(const takt_model *model,
                                                           takt_sink_fn *sink, void *user);
/** The first tuples of a constraint's outermost `forall` whose truth is below 0.5. There are none
 *  if it does not begin with `forall`, or under `probability`.
 *  @param session  has run with the outputs of takt_constraint_outputs
 *  @param limit    of tuples; 0: all
 *  @return TAKT_ERR_NOT_FOUND for another constraint, TAKT_ERR_ARGUMENT if the session does not
 *  have these outputs, TAKT_ERR_MEMORY: there are then no tuples */
TAKT_API TAKT_MUST_USE takt_status takt_constraint_broken(const takt_model *model,
                                                          const char *constraint,
                                                          takt_session *session, size_t limit,
                                                          takt_tuples *tuples);

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_query_options {
    size_t size;
    size_t limit;       /**< tuples that are written; 0: all */
    takt_format format; /**< TAKT_FORMAT_TEXT, the default, is TSV */
} takt_query_options;

/** Which relation a query is about: "ancestor(ann, x)" is about ancestor. `name` has room for
 *  `size` bytes.
 *
 *  @return TAKT_ERR_SYNTAX for a text that is not a query, TAKT_ERR_NOT_FOUND if the model has no
 *  such relation */
TAKT_API TAKT_MUST_USE takt_status takt_query_relation(const takt_model *model,
                                                       const char *question, char *name,
                                                       size_t size);
/** Writes the tuples of a relation's tensor that match a query. Arguments are names or numbers of
 *  the domain, in double quotes where that is needed; `_`, which matches anything; or variables,
 *  every other word: one column each; the same variable has the same value everywhere. Without
 *  variables the answer is `true` or `false`. `options` may be NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_query(const takt_model *model, const char *question,
                                              const takt_tensor_view *view,
                                              const takt_query_options *options, takt_sink_fn *sink,
                                              void *user);
/** A proof of a fact: a tree of facts and of tuples that rules derive from others. */
typedef struct takt_derivation takt_derivation;

/** A tuple of a proof. Its premises are steps as well; a tuple that is used twice is one step. */
typedef struct takt_derivation_step {
    const char *relation;
    int arity;
    uint32_t entries[TAKT_MAX_RANK]; /**< for a rule that yields a number, the last is 0 */
    double value;                    /**< that number */
    int line;                        /**< of the rule in its text; 0: a fact */
    int height;                      /**< 0: a fact; else above all its premises */
    const size_t *premises;
    size_t premise_count;
} takt_derivation_step;

/** Writes the names of the values that a proof of `fact` reads, "a,b,c", to a sink. A session whose
 *  plan has them as takt_plan_options.outputs can prove the fact after a run. */
TAKT_API TAKT_MUST_USE takt_status takt_fact_outputs(const takt_model *model, const char *fact,
                                                     takt_sink_fn *sink, void *user);
/** The lowest proof of a fact, "ancestor(ann, bo)"; among lowest ones the first: rules in order,
 *  variables ascending. Every proof is replayed before it is returned.
 *  @param session  has run with the outputs of takt_fact_outputs
 *  @param proof    receives the proof, to be freed with takt_derivation_free; NULL if the fact does
 *  not hold, which is not a failure
 *  @return TAKT_ERR_UNSUPPORTED for relations that are not boolean, TAKT_ERR_LIMIT if there are too
 *          many ways to derive the fact */
TAKT_API TAKT_MUST_USE takt_status takt_fact_prove(const takt_model *model, const char *fact,
                                                   takt_session *session, takt_derivation **proof);
/** Steps of the proof; 0 without one. */
TAKT_API size_t takt_derivation_step_count(const takt_derivation *proof);
/** Step 0 is the fact. TAKT_ERR_NOT_FOUND beyond the last. What the step points to lives as long as
 *  the proof. */
TAKT_API TAKT_MUST_USE takt_status takt_derivation_at(const takt_derivation *proof, size_t index,
                                                      takt_derivation_step *step);
/** Writes it as a tree, or as JSON. */
TAKT_API TAKT_MUST_USE takt_status takt_derivation_write(const takt_derivation *proof,
                                                         takt_format format, takt_sink_fn *sink,
                                                         void *user);
/** Accepts NULL. */
TAKT_API void takt_derivation_free(takt_derivation *proof);
/** Why a fact does not hold: for every rule, and every side of an `or` in it, the first literal
 *  that fails, with the first values for which those before it hold. */
TAKT_API TAKT_MUST_USE takt_status takt_fact_why_not(const takt_model *model, const char *fact,
                                                     takt_session *session, takt_format format,
                                                     takt_sink_fn *sink, void *user);
/** Writes all tuples of a relation's tensor to a file, as TSV. On failure the old file stays. */
TAKT_API TAKT_MUST_USE takt_status takt_relation_save(const takt_model *model, const char *relation,
                                                      const takt_tensor_view *view,
                                                      const char *path);
/** A program in Soufflé's plain Datalog (.dl) as a text with rules (.takt), written to `to`, next
 *  to its fact files. docs/logic.md lists what is supported; anything else is refused, with its
 *  line. On failure the old file stays. */
TAKT_API TAKT_MUST_USE takt_status takt_datalog_convert(takt_ctx *ctx, const char *path,
                                                        const char *to);
/** Relations, rules and constraints: kind, form, bytes, stratum, order of products. Writes
 *  nothing if the model has none. */
TAKT_API TAKT_MUST_USE takt_status takt_model_rules(const takt_model *model, takt_format format,
                                                    takt_sink_fn *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
