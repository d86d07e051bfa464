/* csv.c - tables of numbers: one row per sample, one column for the label.
 *
 * Columns are separated by commas, semicolons, tabs or blanks; a first row that is not numeric
 * holds names. A label column that is not numeric holds classes (words.c). A cell that is empty or
 * says so (NA, nan) is a missing value: an error, unless such rows are left out or get a number. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "train/data/cells.h"
#include "train/data/data.h"

enum { COLUMNS = 1 << 16, CLASSES = 4096 };

typedef struct table {
    takt_data_set *set;
    const takt_data_file *file;
    char comma;
    size_t columns, label, row; /* rows read so far */
    bool has_names;
    takt_span *cell;
    bool skips, fills; /* rows with missing values, and what they get */
    double filling;
    double *number;  /* the label of each row, or */
    takt_span *word; /* NULL: labels are numbers */
} table;

static bool recognises(const takt_data_file *f)
{
    const size_t length = strlen(f->path);
    return takt_data_ends_with(f->path, length, ".csv") ||
           takt_data_ends_with(f->path, length, ".tsv") ||
           takt_data_ends_with(f->path, length, ".csv.gz");
}

/* The line of the file that the cells are from, as an editor counts them. */
static size_t line_of(const table *t)
{
    size_t number = 1;
    for (const char *at = (const char *)t->file->bytes; at < t->cell[0].at; at++)
        number += *at == '\n';
    return number;
}

static takt_status no_column(const table *t, const char *wanted)
{
    char names[256] = "";
    takt_data_fail(t->set, t->file, "there is no column called %s", wanted);
    if (!t->has_names)
        return takt_fail_hint(t->set->ctx, "its %zu columns have no names: 0 is the first",
                              t->columns);
    for (size_t i = 0, used = 0; i < t->columns && used < sizeof names - 1; i++) {
        const takt_span name = t->cell[i];
        snprintf(names + used, sizeof names - used, "%s%.*s", i > 0 ? ", " : "",
                 (int)(name.length < 64 ? name.length : 64), name.at);
        used = strlen(names);
    }
    return takt_fail_hint(t->set->ctx, "its columns are %s", names);
}

static takt_status find_label(table *t)
{
    const char *wanted = t->file->label;
    double number;
    t->label = t->columns - 1;
    if (wanted == NULL)
        return TAKT_OK;
    for (size_t i = 0; i < t->columns && t->has_names; i++)
        if (takt_span_is(t->cell[i], wanted)) {
            t->label = i;
            return TAKT_OK;
        }
    if (takt_number_read(wanted, strlen(wanted), &number) && number >= 0 &&
        number < (double)t->columns && number == floor(number)) {
        t->label = (size_t)number;
        return TAKT_OK;
    }
    return no_column(t, wanted);
}

/* Words other than the label, which may be one in any row; or no value at all: a table with an
 * unnamed column of row numbers begins so. */
static bool holds_names(const table *t)
{
    const size_t last = t->columns - 1;
    bool has_number = takt_cell_is_number(t->cell[last]);
    for (size_t i = 0; i < last; i++) {
        const bool is_number = takt_cell_is_number(t->cell[i]);
        if (!is_number && !takt_cell_is_missing(t->cell[i]))
            return true;
        has_number = has_number || is_number;
    }
    return !has_number;
}

static takt_status open_table(table *t)
{
    static const char commas[] = {',', ';', '\t', ' '};
    takt_span line;
    size_t at = 0;
    if (!takt_cells_line(t->file, &at, &line))
        return takt_data_fail(t->set, t->file, "the table is empty");
    for (size_t i = 0; i < sizeof commas && t->columns < 2; i++) {
        t->comma = commas[i];
        t->columns = takt_cells_split(t->comma, line, NULL, COLUMNS);
    }
    if (t->columns < 2 || t->columns > COLUMNS)
        return takt_data_fail(t->set, t->file, "the first row has %zu columns", t->columns);
    t->cell = takt_arena_array(&t->set->arena, t->columns, sizeof *t->cell);
    if (t->cell == NULL)
        return TAKT_ERR_MEMORY;
    takt_cells_split(t->comma, line, t->cell, t->columns);
    t->has_names = holds_names(t);
    for (size_t i = 0; i < t->columns && t->has_names; i++)
        TAKT_TRY(takt_cell_undo(&t->set->arena, &t->cell[i]));
    return find_label(t);
}

/* ---- missing values ---- */

static bool is_left_out(const table *t)
{
    for (size_t i = 0; i < t->columns && t->skips; i++)
        if (takt_cell_is_missing(t->cell[i]))
            return true;
    return false;
}

static takt_status read_missing(table *t)
{
    const char *how = t->file->missing;
    t->skips = how != NULL && strcmp(how, "skip") == 0;
    t->fills = how != NULL && takt_number_read(how, strlen(how), &t->filling);
    return how == NULL || t->skips || t->fills
               ? TAKT_OK
               : takt_fail(t->set->ctx, TAKT_E_OPTION,
                           "missing values: write skip or a number, not %s", how);
}

/* "line 3, column 2 (age): WHAT", with the name that the column has. */
static takt_status fail_cell(table *t, size_t column, const char *what)
{
    const size_t row = line_of(t);
    const takt_span own = t->cell[column];
    const int length = own.length < 32 ? (int)own.length : 32;
    takt_span line, name = {0};
    size_t at = 0;
    if (t->has_names && takt_cells_line(t->file, &at, &line)) {
        takt_cells_split(t->comma, line, t->cell, t->columns);
        name = t->cell[column];
    }
    return takt_data_fail(
        t->set, t->file, "line %zu, column %zu%s%.*s%s: \"%.*s\" is %s", row, column + 1,
        name.length > 0 ? " (" : "", (int)(name.length < 64 ? name.length : 64),
        name.at != NULL ? name.at : "", name.length > 0 ? ")" : "", length, own.at, what);
}

static takt_status fail_value(table *t, size_t column)
{
    if (!takt_cell_is_missing(t->cell[column])) {
        fail_cell(t, column, "not a number");
        return takt_fail_hint(t->set->ctx, "only labels may be words, and --label names their "
                                           "column: write numbers for others, or remove them");
    }
    fail_cell(t, column, column == t->label ? "a missing label" : "a missing value");
    return takt_fail_hint(t->set->ctx, column == t->label
                                           ? "--missing skip leaves out rows without a value"
                                           : "--missing skip leaves out rows without a value, "
                                             "--missing 0 takes 0 for it");
}

/* ---- rows ---- */

static takt_status read_row(table *t, takt_span line, float *x)
{
    const size_t count = takt_cells_split(t->comma, line, t->cell, t->columns);
    if (count != t->columns)
        return takt_data_fail(t->set, t->file, "line %zu has %zu columns, the first has %zu",
                              line_of(t), takt_cells_split(t->comma, line, NULL, COLUMNS),
                              t->columns);
    if (is_left_out(t)) {
        t->set->skipped++;
        return TAKT_OK;
    }
    for (size_t i = 0, k = 0; i < t->columns; i++) {
        takt_span cell = t->cell[i];
        const bool is_label = i == t->label;
        double value = t->filling;
        if (is_label && t->word != NULL && !takt_cell_is_missing(cell))
            TAKT_TRY(takt_cell_undo(&t->set->arena, &cell));
        else if (!takt_number_read(cell.at, cell.length, &value) &&
                 (is_label || !t->fills || !takt_cell_is_missing(cell)))
            return fail_value(t, i);
        if (is_label && t->word != NULL)
            t->word[t->row] = cell;
        else if (is_label)
            t->number[t->row] = value;
        else
            x[k++] = (float)value;
    }
    t->row++;
    return TAKT_OK;
}

/* Rows that are samples. Labels are words if one of them is. */
static size_t count_rows(const table *t, bool *has_words)
{
    size_t at = 0, rows = 0;
    takt_span line;
    *has_words = false;
    if (t->has_names)
        (void)takt_cells_line(t->file, &at, &line);
    while (takt_cells_line(t->file, &at, &line)) {
        const bool is_row = takt_cells_split(t->comma, line, t->cell, t->columns) == t->columns;
        if (is_row && is_left_out(t))
            continue;
        rows++;
        const takt_span label = is_row ? t->cell[t->label] : (takt_span){0};
        *has_words =
            *has_words || (is_row && !takt_cell_is_number(label) && !takt_cell_is_missing(label));
    }
    return rows;
}

static takt_status read_rows(table *t, float *x)
{
    size_t at = 0;
    takt_span line;
    if (t->has_names)
        (void)takt_cells_line(t->file, &at, &line);
    while (takt_cells_line(t->file, &at, &line))
        TAKT_TRY(read_row(t, line, x + t->row * (t->columns - 1)));
    return TAKT_OK;
}

/* A list of files whose first line is wrong looks like a table without rows, too. */
static takt_status no_rows(const table *t)
{
    takt_data_fail(t->set, t->file,
                   t->skips ? "each row has a missing value"
                            : "the table has names of columns and no rows");
    if (takt_data_ends_with(t->file->path, strlen(t->file->path), ".tsv"))
        return takt_fail_hint(t->set->ctx,
                              "a list of pictures or sounds has lines of file, tab and "
                              "label; files end in .png, .jpg, .jpeg, .pgm, .ppm or .wav");
    return TAKT_ERR_FORMAT;
}

static takt_status add_words(table *t)
{
    const takt_type type = {.dtype = TAKT_I64, .rank = 1, .dim = {(int64_t)t->row}};
    takt_tensor *labels;
    TAKT_TRY(takt_data_add(t->set, t->file, "labels", &type, &labels));
    TAKT_TRY(takt_data_number_words(t->set, t->word, t->row, takt_tensor_data(labels)));
    if (t->set->names <= CLASSES)
        return TAKT_OK;
    takt_data_fail(t->set, t->file, "the labels are %zu different words", t->set->names);
    return takt_fail_hint(t->set->ctx, "at most %d are classes: --label names the column of labels",
                          CLASSES);
}

/* Whole ones are class numbers. */
static takt_status add_numbers(table *t)
{
    bool is_whole = true;
    takt_tensor *labels;
    for (size_t i = 0; i < t->row; i++)
        is_whole = is_whole && t->number[i] == floor(t->number[i]) && t->number[i] >= 0 &&
                   t->number[i] < 1e6;
    const takt_type type = {
        .dtype = is_whole ? TAKT_I32 : TAKT_F32, .rank = 1, .dim = {(int64_t)t->row}};
    TAKT_TRY(takt_data_add(t->set, t->file, "labels", &type, &labels));
    for (size_t i = 0; i < t->row; i++)
        if (is_whole)
            ((int32_t *)takt_tensor_data(labels))[i] = (int32_t)t->number[i];
        else
            ((float *)takt_tensor_data(labels))[i] = (float)t->number[i];
    return TAKT_OK;
}

static takt_status read_samples(table *t, int64_t rows, bool has_words)
{
    const takt_type type = {.dtype = TAKT_F32, .rank = 2, .dim = {rows, (int64_t)t->columns - 1}};
    takt_tensor *x;
    void *numbers, *words = NULL;
    TAKT_TRY(takt_data_add(t->set, t->file, "x", &type, &x));
    TAKT_TRY(takt_mem_zero(t->set->ctx, (size_t)rows, sizeof *t->number, "labels", &numbers));
    t->number = numbers;
    takt_status status = TAKT_OK;
    if (has_words)
        status = takt_mem_zero(t->set->ctx, (size_t)rows, sizeof *t->word, "labels", &words);
    t->word = words;
    if (status == TAKT_OK)
        status = read_rows(t, takt_tensor_data(x));
    if (status == TAKT_OK)
        status = has_words ? add_words(t) : add_numbers(t);
    takt_mem_put(t->set->ctx, numbers, (size_t)rows * sizeof *t->number);
    if (words != NULL)
        takt_mem_put(t->set->ctx, words, (size_t)rows * sizeof *t->word);
    return status;
}

static takt_status read(takt_data_set *set, const takt_data_file *f)
{
    const size_t mark = takt_data_mark(f);
    takt_data_file own = *f;
    own.bytes = mark > 0 ? f->bytes + mark : f->bytes;
    own.length -= mark;
    table t = {.set = set, .file = &own};
    bool has_words;
    TAKT_TRY(open_table(&t));
    TAKT_TRY(read_missing(&t));
    const int64_t rows = (int64_t)count_rows(&t, &has_words);
    return rows == 0 ? no_rows(&t) : read_samples(&t, rows, has_words);
}

const takt_data_reader takt_data_csv = {
    .name = "csv",
    .summary = "tables of numbers, one column the label",
    .advice = "a row is a sample: as many columns as the first one, all numbers but the label",
    .recognises = recognises,
    .read = read,
};
