/* tool.h - the command: one file per verb; everything about flags comes from flags.def. */
#ifndef TAKT_TOOL_H
#define TAKT_TOOL_H

#include <stdbool.h>
#include <stdio.h>

#include <takt/takt.h>

/* ---- exit codes ---- */

enum {
    TAKT_EXIT_OK = 0,
    TAKT_EXIT_FAILED = 1,
    TAKT_EXIT_USAGE = 2,
    TAKT_EXIT_REGRESSION = 3,
    TAKT_EXIT_BUDGET = 4, /* a requirement or limit that the caller stated is not met */
    TAKT_EXIT_INCONCLUSIVE = 5,
    TAKT_EXIT_INTERRUPTED = 130,
};

/* ---- flags ---- */

typedef enum tool_flag_kind {
    TAKT_FLAG_SWITCH, /* no argument; true or false in environment and configuration */
    TAKT_FLAG_TEXT,
    TAKT_FLAG_LIST,   /* may be given several times */
    TAKT_FLAG_READ,   /* a file that is read */
    TAKT_FLAG_READS,  /* a list of such files; each may be NAME=FILE if the argument is declared so
                       */
    TAKT_FLAG_WRITE,  /* a file that is written; "-" is standard output */
    TAKT_FLAG_WRITES, /* a list of them, as above */
    TAKT_FLAG_MAYBE_WRITE, /* a switch that may be given a file, F.json, to write */
    TAKT_FLAG_COUNT,       /* 1, 2, ... */
    TAKT_FLAG_NUMBER,      /* 0 .. 2^64 - 1 */
    TAKT_FLAG_BYTES,       /* 64M */
    TAKT_FLAG_TIME,        /* 5ms */
    TAKT_FLAG_LEVEL,       /* 0 .. 3 */
} tool_flag_kind;

typedef enum tool_flag_id {
#define X(ID, name, letter, kind, argument, summary) TAKT_F_##ID,
#include "flags.def"
#undef X
    TAKT_FLAG_IDS
} tool_flag_id;

typedef struct tool_flag {
    const char *name;
    char letter; /* or 0 */
    tool_flag_kind kind;
    const char *argument, *summary;
} tool_flag;

extern const tool_flag tool_flags[TAKT_FLAG_IDS];
bool tool_flag_is_list(tool_flag_id id);
bool tool_flag_reads(tool_flag_id id);
bool tool_flag_is_help(tool_flag_id id);
bool tool_flag_writes(tool_flag_id id);

/* ---- verbs ---- */

typedef struct takt_tool takt_tool;

enum { TAKT_VERB_FLAGS = 72 };

/* The tasks of a user: the headings of `takt help`, in this order. */
#define TAKT_TASKS(X)                                                                              \
    X(RUN, "run a model and look at it")                                                           \
    X(MAKE, "make, convert and cut models")                                                        \
    X(TEXT, "generate and serve text")                                                             \
    X(TRAIN, "train and evaluate")                                                                 \
    X(SHRINK, "shrink")                                                                            \
    X(MEASURE, "measure and explain speed")                                                        \
    X(TRUST, "prove, check and compare")                                                           \
    X(COMMAND, "the command itself")
typedef enum takt_task {
#define TAKT_TASK_ID(id, heading) TAKT_TASK_##id,
    TAKT_TASKS(TAKT_TASK_ID)
#undef TAKT_TASK_ID
} takt_task;

typedef struct takt_verb {
    const char *name, *summary;
    takt_task task;
    bool is_main; /* has a line of its own in `takt help`; `takt help all` has one for every verb */
    const char *arguments; /* for the usage line: "MODEL" */
    int arg_min, arg_max;
    const char *about; /* a paragraph for --help; may be NULL */
    const char *example;
    const tool_flag_id *often;           /* the part of `flags` that --help shows; NULL: all of
                                          * them */
    tool_flag_id flags[TAKT_VERB_FLAGS]; /* besides the common ones; ends with TAKT_FLAG_IDS */
    int (*run)(takt_tool *t);
} takt_verb;

extern const takt_verb *const tool_verbs[];
extern const size_t tool_verb_count;
const takt_verb *tool_verb_find(const char *name); /* NULL if there is none */
/* Flags of every verb; ends with TAKT_FLAG_IDS. */
extern const tool_flag_id tool_common_flags[];
bool tool_verb_takes(const takt_verb *verb, tool_flag_id id);
/* A flag that every verb has that has this one; TAKT_FLAG_IDS: there is none. */
tool_flag_id tool_flag_companion(tool_flag_id id);

/* ---- the command line ---- */

typedef enum tool_from { TAKT_FROM_CONFIG, TAKT_FROM_ENVIRONMENT, TAKT_FROM_FLAG } tool_from;

typedef struct tool_value {
    tool_flag_id id;
    tool_from from;
    char *text; /* owned */
} tool_value;

typedef struct tool_reads tool_reads;

struct takt_tool {
    takt_ctx *ctx;
    tool_reads *reads;
    const takt_verb *verb;
    tool_value *values;
    size_t value_count;
    const char **args; /* arguments after the verb that are not flags */
    size_t arg_count;
    char *complaints; /* rendered errors of a text model, for --json; owned */
    bool has_complained;
    bool has_fixed_sizes; /* -D went into the model when it was loaded */
    bool has_known;       /* the model was read with the values of inputs */
    bool collects_notes;  /* a model is being loaded for given inputs */
    bool is_trial;        /* models are loaded to see whether they can be: no notes are printed */
    char notes[1024];     /* lines that are printed if it loads */
    bool trains;          /* models are loaded to be trained */
    takt_plan *checked;   /* for sessions: the plan with checks, if --checks samples; or NULL */
};

/* Between these calls warnings of takt_model_load are kept; end prints them if the model was
 * loaded. */
void tool_notes_begin(takt_tool *t);
void tool_notes_end(takt_tool *t, bool is_reported);
/* Ends the progress bar for reading large files, which begins again at tool_notes_begin;
 * tool_finish and tool_notes_end call it. */
void tool_loaded(const takt_tool *t);

/* Reads the command line after the verb, then environment and configuration. If false, an error was
 * printed and `*code` is set. */
bool tool_parse(takt_tool *t, int argc, char **argv, int *code);
/* Our flag for one that other benchmark tools have ("num_runs"), or NULL. */
const char *tool_alias(const takt_tool *t, const char *word, size_t length);
/* The answer to a flag of other tools that has no counterpart here, or NULL. */
const char *tool_foreign_hint(const takt_tool *t, const char *word, size_t length);
/* The same for llama.cpp's flags, which text verbs get. */
const char *tool_llama_hint(const takt_verb *verb, const char *word, size_t length);
/* The same for names that follow one dash, such as -md. */
const char *tool_letters(const takt_tool *t, const char *word, size_t length);
void tool_free(takt_tool *t);
/* A copy of `text` is added. */
bool tool_value_add(takt_tool *t, tool_flag_id id, tool_from from, const char *text);
/* True if the text fits the flag's kind; else the error is printed. */
bool tool_value_check(takt_tool *t, tool_flag_id id, const char *text, const char *where);
/* Both, for a value that the user gave, from any source. */
bool tool_value_take(takt_tool *t, tool_flag_id id, tool_from from, const char *text,
                     const char *where);

bool tool_on(const takt_tool *t, tool_flag_id id);
/* Replaces a list by other words; false if memory is short. */
bool tool_set_list(takt_tool *t, tool_flag_id id, char *const *words, size_t count);
/* Replaces a list by one of its words; false if memory is short. */
bool tool_replace(takt_tool *t, tool_flag_id id, const char *text);
const char *tool_text_of(const takt_tool *t, tool_flag_id id); /* NULL: not given */
bool tool_is_flag(const takt_tool *t, tool_flag_id id);        /* given on the command line */
/* The file name in a flag's value, after NAME= if there is one. */
const char *tool_file_in(tool_flag_id id, const char *text);
/* The file of a flag that has or may have one; NULL: not given. */
const char *tool_file_of(const takt_tool *t, tool_flag_id id, size_t index);
uint64_t tool_number_of(const takt_tool *t, tool_flag_id id, uint64_t fallback);
/* The index-th value of a list, or NULL after the last. */
const char *tool_item_of(const takt_tool *t, tool_flag_id id, size_t index);
/* A list joined by commas, NULL if empty; free() it. */
char *tool_joined(const takt_tool *t, tool_flag_id id);
/* The number in a text of this kind: bytes, or nanoseconds for times. */
bool tool_read_number(tool_flag_kind kind, const char *text, uint64_t *value);
void tool_dump_config(const takt_tool *t);
/* One flag as a member of such an object, if it has a value; preceded by `*before`. */
void tool_dump_flag(const takt_tool *t, FILE *to, tool_flag_id id, const char **before);

/* ---- printing ---- */

/* From here on, output is filtered of control codes. */
void tool_begin_plain(void);
/* The value of --color: always, never, or auto (NULL): on a terminal without NO_COLOR. */
void tool_colours(const char *when);
/* A sink to standard output for binary data; `user` is not used. */
int tool_to_raw(void *user, const char *bytes, size_t length);
/* A sink to standard output; `user` is not used. */
int tool_to_stdout(void *user, const char *text, size_t length);
/* A sink for reports, to standard output as its reader can show them; `user` is the tool. */
int tool_to_screen(void *user, const char *text, size_t length);
takt_format tool_format_of(const takt_tool *t);
void tool_print_string(FILE *to, const char *text); /* quoted, as in JSON */
/* "error[TAKT1003]: ..." with a hint if there is one; returns TAKT_EXIT_USAGE. */
int tool_usage_error(const takt_tool *t, int id, const char *hint, const char *format, ...)
    TAKT_PRINTF(4, 5);
/* `second` is the next word, or NULL: `takt benchmark rum` lacks no verb benchmark. */
int tool_unknown_verb(const takt_tool *t, const char *word, const char *second);
/* Prints the failure and returns its exit code. */
int tool_report_error(const takt_tool *t, const takt_error *error);
/* Prints why standard output cannot be written; returns the exit code. */
int tool_output_failed(const takt_tool *t);
/* The reason of the first failed write to standard output; 0: none. */
int tool_output_error(void);
/* The context's last error if `status` is a failure. */
int tool_finish(const takt_tool *t, takt_status status);

/* Prints that a file cannot be opened, with errno as the reason; returns the exit code. */
int tool_cannot_open(const takt_tool *t, const char *path);
/* A suggestion for a path that does not exist; `hint` is unchanged if nothing is similar. */
void tool_near_file(const char *path, char *hint, size_t size);

/* "benchmark-run" as typed: benchmark run. */
const char *tool_typed(const takt_verb *v, char *to, size_t size);
/* --help or --help-all is given. */
bool tool_wants_help(const takt_tool *t);
void tool_help_verb(const takt_verb *verb, bool all_flags);
/* The verbs used most by task, the others by name; and all of them, each with its summary. */
void tool_help_overview(void);
void tool_help_all(void);
/* All verbs with their flags, or one of them, as an object. */
void tool_help_json(const takt_verb *only);
/* The verbs `group-...`, which are written as two words; false if there is none. */
bool tool_help_group(const char *group);
void tool_help_man(void);

/* ---- files that are read and written ---- */

/* The name of "-" wherever a file is read. A real file of this name is reached as ./<stdin>. */
#define TOOL_STDIN "<stdin>"
/* Makes it readable like a file if the command line names it. If false, an error was printed and
 * `*code` is set. */
bool tool_take_stdin(takt_tool *t, int *code);
/* Whether a file that begins with these bytes may be in a format that verbs read. */
bool tool_may_be_read(const char *bytes, size_t length);
/* The path to open for such a name, or for any other. */
const char *tool_readable(const char *path);
/* A model that is saved to this name goes to standard output as text. */
#define TOOL_STDOUT "<stdout>.takt"

/* Replaces the context by one that records which files were read. */
bool tool_make_context(takt_tool *t, uint64_t bytes);
void tool_free_context(takt_tool *t);
/* By any spelling or link. */
bool tool_has_read(const takt_tool *t, const char *path);
/* From now on files that were read cannot be replaced; returns the refused one, or NULL. */
void tool_spare_reads(takt_tool *t);
const char *tool_spared(const takt_tool *t);
/* Whether the output files of the command line are distinct and none of them is an input. False:
 * usage error, printed. */
bool tool_check_written(const takt_tool *t);
/* Whether the folders of these files exist and can be written to, reported before the work, which
 * may take hours. Returns the exit code. */
int tool_check_folders(const takt_tool *t);
/* The same for one file against all files read so far, for files that are named by others. */
bool tool_spares(const takt_tool *t, const char *path);
bool tool_spares_reads(const takt_tool *t);

/* ---- models ---- */

enum { TOOL_NAME = 1100, TOOL_SIZES = 2048 };

/* Splits `text` into NAME and the part after the mark: the first mark, or with `is_last` the last.
 * A name that contains the mark, or begins with a backquote, is in backquotes. NULL: there is no
 * name, no mark, or it does not fit. */
const char *tool_after_name(const char *text, char mark, bool is_last, char name[TOOL_NAME]);
/* The same if the name is this one; NULL if it is a different one. */
const char *tool_after(const char *text, char mark, const char *name);

/* "batch=8,seq=2" as it grows, names as in takt_name_write; reports when two sources disagree. */
typedef struct tool_sizes {
    char text[TOOL_SIZES];
    size_t length;
} tool_sizes;

/* The model that the command line names. NULL: `*code` is the exit code, all is printed. */
takt_model *tool_open_model(takt_tool *t, int *code);
/* The same with the sizes of -D and --shape substituted, for verbs that make no plan. */
takt_model *tool_open_sized(takt_tool *t, int *code);
/* False if its ending names no format of models: a usage error, printed. */
bool tool_model_ending(const takt_tool *t, const char *path);
/* Prints its text, or an object that holds it; `shortened`: only the beginning of large
 * constants. */
int tool_print_model(const takt_tool *t, const takt_model *model, bool shortened);
/* Writes a model that a verb made to -o, as text, or compiled if it ends with .taktp; without -o to
 * standard output. A compiled one stores `command`. */
int tool_write_model(takt_tool *t, const takt_model *model, const char *command);
/* A given flag that says how a text is computed; NULL: there is none. */
const char *tool_text_setting(const takt_tool *t);
/* A compiled model cannot be written again with other such settings. */
int tool_refuse_settled(const takt_tool *t);
/* The file that the command line names. */
const char *tool_model_path(const takt_tool *t);
/* The same with these inputs if a shape depends on them. */
takt_model *tool_open_known(takt_tool *t, const takt_known_input *inputs, size_t count, int *code);
/* Reads a model again for the shapes of `options->known` if they fit its dimensions only by
 * broadcasting; else, or if it cannot be read so, it stays. */
void tool_refit(takt_tool *t, const char *path, const takt_load_options *options,
                takt_model **model);
/* The same for the shapes of -i and --shape, or without those for the sizes of -D. */
void tool_refit_given(takt_tool *t, const char *path, const takt_load_options *options,
                      takt_model **model);
/* "32x784" */
bool tool_read_shape(const char *text, int64_t *dims, int *rank);
/* Prints the result of takt_model_check; returns the exit code. */
int tool_check_model(takt_tool *t);
/* The next "name=8" of such a text, its length in `*length`; NULL at the end. */
const char *tool_sizes_next(const char *text, const char *before, size_t *length);
/* The number in `item` if it is the size of `name`, as in takt_desc; else -1. */
long long tool_size_in(const char *item, const char *name);
/* The size of `name` so far, or -1. */
long long tool_size_of(const tool_sizes *sizes, const char *name);
/* The text without `name`, then `name` = `size`. False if there is no room. */
bool tool_sizes_with(const char *sizes, const char *name, int64_t size, char text[TOOL_SIZES]);
bool tool_sizes_add(const takt_tool *t, tool_sizes *sizes, const char *name, int64_t size,
                    const char *where);
/* Ranges that include the sizes of both; the names are those of `by`. */
bool tool_sizes_widen(const takt_tool *t, tool_sizes *sizes, const tool_sizes *by);
/* Solves an expression for its one unknown name so that it equals `value`; SOLVED with `unknown`
 * unchanged if all sizes are known and it does. */
typedef enum tool_solution { TOOL_SOLVED, TOOL_IMPOSSIBLE, TOOL_UNSOLVED } tool_solution;
tool_solution tool_solve(const char *text, const tool_sizes *sizes, int64_t value,
                         char unknown[TOOL_NAME], int64_t *size);
/* From -D and --shape. */
bool tool_sizes_init(const takt_tool *t, const takt_model *m, tool_sizes *sizes);
/* From the shape of a tensor for input `d`. Expressions that it does not determine are left to the
 * code that binds the tensor. */
bool tool_sizes_from(const takt_tool *t, tool_sizes *sizes, const takt_desc *d, int rank,
                     const int64_t *dims, const char *where);

/* ---- plans ---- */

/* The flags for planning; every verb that plans or runs takes them all. Threads are not among them
 * because some verbs take a list. */
#define TOOL_OPTION_ID(kind, field, ID, ...) TAKT_F_##ID,
#define TOOL_OPTION_SKIP(...)
#define TOOL_OPTION_ONE(...) +1
enum { TOOL_OPTIONS = TAKT_PLAN_OPTIONS(TOOL_OPTION_ONE, TOOL_OPTION_ONE, TOOL_OPTION_ONE) };
#define TOOL_PLAN_FLAGS                                                                            \
    TAKT_PLAN_OPTIONS(TOOL_OPTION_ID, TOOL_OPTION_SKIP, TOOL_OPTION_SKIP)                          \
    TAKT_F_TILE, TAKT_F_PREFETCH

/* The value of --checks for plans: "on", "off" (also where runs are sampled), or NULL. `*every` is
 * set to N of sample=N, else 0. False: the error is printed. */
bool tool_checks(const takt_tool *t, const char **word, uint64_t *every);
/* Makes t->checked if --checks samples; the caller destroys it. */
int tool_make_checked(takt_tool *t, const takt_model *m, const tool_sizes *sizes);

/* Whether flags ask for results that may differ from those in f32. */
bool tool_deviates(const takt_tool *t);
/* The deviation on the inputs of `given` or, if it is NULL, on random ones. Records a failure. */
takt_status tool_deviation(takt_tool *t, const takt_model *m, const tool_sizes *sizes,
                           takt_session *given, takt_deviation *d);
void tool_print_deviation(const takt_tool *t, const takt_deviation *d, FILE *to);
/* As a member of the object that is being printed. */
void tool_json_deviation(const takt_deviation *d);

typedef struct tool_request {
    takt_plan_options options;
    char *lists[TOOL_OPTIONS]; /* owned: texts of the options that flags of several words make */
    size_t list_count;
    takt_known_input *fixed; /* owned; options.fixed */
    takt_ctx *ctx;           /* of its tensors */
} tool_request;

/* Plan options from these flags; `sizes` is borrowed. Not TAKT_EXIT_OK: nothing to free, the error
 * is printed. */
int tool_request_init(takt_tool *t, const char *sizes, tool_request *r);
void tool_request_free(tool_request *r);
/* Adds the sizes of named dimensions from the shapes of static inputs. */
bool tool_static_sizes(const takt_tool *t, const takt_model *m, tool_sizes *sizes);
/* The input is a constant of the plan, by --static. */
bool tool_is_static(const takt_tool *t, const char *input);
/* Compiles, and frees the request. NULL: `*code` is the exit code, all is printed. */
takt_plan *tool_request_plan(takt_tool *t, const takt_model *m, tool_request *r, int *code);
/* Session options from the flags for threads and pages. `cores` must outlive the options. False:
 * usage error, printed. */
enum { TAKT_TOOL_CORES = 512 };
bool tool_session_options(const takt_tool *t, int cores[TAKT_TOOL_CORES],
                          takt_session_options *options);
/* A session by those flags; NULL: as above. */
takt_session *tool_make_session(takt_tool *t, takt_plan *plan, int *code);
#define TOOL_THREAD_FLAGS TAKT_F_PIN, TAKT_F_SPIN, TAKT_F_CPU_MASK, TAKT_F_HUGE_PAGES
/* A request and its plan in one, after the work of --prepare; NULL: as above. */
takt_plan *tool_make_plan(takt_tool *t, const takt_model *m, const tool_sizes *sizes, bool dry,
                          int *code);

#endif
