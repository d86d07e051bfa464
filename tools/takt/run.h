/* run.h - the parts of a run: the verb `run` and the files it reads and writes. */
#ifndef TAKT_TOOL_RUN_H
#define TAKT_TOOL_RUN_H

#include "tool.h"

typedef struct tool_labels tool_labels;
typedef struct tool_stream tool_stream;

typedef struct tool_run {
    takt_tool *t;
    const takt_model *model;  /* NULL after a plan has taken it */
    char *name;               /* of the model */
    char **names;             /* of its inputs */
    takt_tensor_view *inputs; /* one per input of the model; data NULL: none in memory */
    takt_npy **files;         /* one per input: read batch by batch, or NULL */
    char **said;              /* one per input: preprocessing of an image or a recording, or NULL */
    size_t input_count;
    /* -i may name an input several times: each of its files is one run, a set of inputs. */
    bool takes_sets;        /* this verb runs them all */
    size_t sets, set;       /* number of runs, and the current one */
    size_t *totals, *seen;  /* files per input: in all, and while they are loaded */
    const char **set_files; /* one per set: the file that it is named after */
    bool has_begun;         /* an object of results is being printed */
    bool *is_random;        /* one per input: filled with random numbers */
    size_t random_count;
    bool may_lack;   /* not every input needs a file or --random */
    bool needs_all;  /* every input does, even where no file is given */
    const char *cut; /* the dimension that is cut into batches, or NULL */
    tool_sizes sizes;
    uint64_t *times_ns; /* one per run */
    size_t runs;
    const takt_deviation *deviation; /* from f32; NULL: not requested */
    const char *deviation_of;        /* "the first batch"; NULL: everything */
    tool_labels *labels;             /* of --labels, or NULL */
    tool_stream *stream;             /* of --stream, or NULL */
} tool_run;

/* The results of a run. */
typedef struct tool_results {
    size_t count;
    const char **names;
    takt_tensor_view *views; /* data NULL: it went to the file at once */
    char (*paths)[1024];     /* the files of those */
} tool_results;

bool tool_results_init(tool_results *o, size_t count);
void tool_results_free(tool_results *o);

/* Reads the files of -i; sizes of named dimensions follow from their shapes. Of several for one
 * input, the first. */
int tool_load_inputs(tool_run *r);
/* Loads the files of another set. */
int tool_load_set(tool_run *r, size_t set);
/* Calls `visit` for every file of -i until one returns another code than TAKT_EXIT_OK. */
typedef int tool_file_fn(tool_run *r, int input, const char *path);
int tool_visit_files(tool_run *r, tool_file_fn *visit);
int tool_no_such_port(const tool_run *r, const char *what, const char *name, bool is_input);
void tool_free_inputs(tool_run *r);
/* True if input `i` comes from a file. */
bool tool_input_given(const tool_run *r, size_t i);
/* The plan, which takes over the model if nothing needs it later, so weights are never in memory
 * twice. If NULL, an error was printed. */
takt_plan *tool_take_plan(tool_run *r, int *code);
/* The model, if no plan has taken it. */
void tool_drop_model(tool_run *r);
/* Prints peak memory of this process next to the planned memory; nothing with --quiet or if the
 * system does not report it. */
void tool_print_process(const takt_tool *t);
/* Binds the loaded inputs and fills the rest with random numbers. */
int tool_bind_inputs(tool_run *r, takt_session *s);
/* Checks that -o names files that results can go to; the exit code, errors are printed. */
int tool_check_outputs(const takt_tool *t);
/* Writes outputs as -o says. `*printed`: one of them went to standard output. */
int tool_save_outputs(tool_run *r, const tool_results *o, bool *printed);
/* The .npy file for output `i` alone; false if there is none. */
bool tool_output_file(const tool_run *r, const tool_results *o, size_t i, char path[1024]);
/* `takt run --test`: runs and compares with the files in the folders. */
int tool_run_tests(takt_tool *t);
/* By --labels; NULL without it. Returns the exit code; errors are printed. */
int tool_labels_open(takt_tool *t, tool_labels **labels);
void tool_labels_free(tool_labels *l);
/* Whether an output has as many classes; the exit code. */
int tool_check_labels(const takt_tool *t, const tool_labels *l, const tool_results *o);
/* The best classes of every row of that output. */
void tool_print_labels(const takt_tool *t, const tool_labels *l, const tool_results *o);
/* The result for people or programs. */
int tool_print_result(tool_run *r, const takt_plan *plan, const tool_results *o, bool printed);
/* ---- watching a run ---- */

typedef struct tool_monitor {
    takt_tool *t;
    takt_session *session;
    takt_monitor *monitor; /* NULL: nobody asked */
    size_t told;           /* samples that were printed */
} tool_monitor;

/* Applies --monitor, --interval and --monitor-report. If false, an error was printed. */
bool tool_monitor_begin(takt_tool *t, takt_session *s, tool_monitor *m, int *code);
void tool_monitor_tell(tool_monitor *m);
/* `code`, or that of a report which could not be written. */
int tool_monitor_end(tool_monitor *m, int code);
/* Applies --cpu-limit. If false, an error was printed. */
bool tool_cpu_limit(takt_tool *t, int *code);

/* Runs batch by batch, as set by --batch-size. */
int tool_run_batches(tool_run *r);

/* ---- a recording, chunk by chunk ---- */

/* Whether the other flags go with --stream; the exit code. */
int tool_stream_check(const takt_tool *t);
/* Reads the recording of --stream and makes memory for one chunk, which is then an input like any
 * other. The exit code; without --stream nothing is done. */
int tool_stream_open(tool_run *r);
void tool_stream_close(tool_run *r);
size_t tool_stream_chunks(const tool_stream *s);
/* Memory for the results of all chunks. */
int tool_stream_begin(tool_run *r, takt_session *s);
/* The input and the outputs of chunk `at`, before it is run. */
takt_status tool_stream_feed(tool_stream *stream, takt_session *s, size_t at);
/* Those of all chunks, stacked; they stay the stream's. */
tool_results *tool_stream_results(tool_stream *s);
void tool_stream_json(const tool_stream *s);

/* ---- several files for one input ---- */

/* Arguments after the model, and the files that patterns of -i match, as words of -i. The exit
 * code; all is printed. */
int tool_expand_inputs(takt_tool *t);
/* How many runs the files of -i make. */
int tool_count_sets(tool_run *r);
/* Expands a word of -o: {} is the name of this set's file, {#} its number. If false, an error was
 * printed. */
bool tool_set_name(const tool_run *r, const char *word, char path[1024]);

typedef struct tool_paths {
    char **at;
    size_t count, room;
} tool_paths;
int tool_paths_add(const takt_tool *t, tool_paths *p, const char *path);
/* Adds the files that this set writes. */
int tool_list_outputs(const tool_run *r, tool_paths *to);
/* Reads all files once: their sizes, with ranges where they differ, and whether every result has
 * its own file. */
int tool_survey_sets(tool_run *r, tool_sizes *range);
/* The result of one run as text or JSON. */
int tool_print_set(tool_run *r, const tool_results *o, uint64_t time_ns);
/* After the last set: what all of them share. `sizes` are those of all sets. */
int tool_print_sets_end(tool_run *r, const takt_plan *plan, const char *sizes, int code);

#endif
