/* csv.c - tables of numbers: one row per sample, one column for the label.
 *
 * Columns are separated by commas, semicolons, tabs or blanks; a first row that is not numeric
 * holds names. A label column that is not numeric holds classes, numbered in order of first
 * appearance. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "train/data/data.h"

enum { COLUMNS = 1 << 16, CLASSES = 4096 };

typedef struct table {
    takt_data_set *set;
    const takt_data_file *file;
    char comma;
    size_t columns, label, row;
    bool has_names;
    takt_span *cell;
    takt_span *class_name;
    size_t class_count;
} table;

static bool recognises(const takt_data_file *f)
{
    const size_t name = strlen(f->path);
    const char *end = f->path + name;
    return (name > 4 && strcmp(end - 4, ".csv") == 0) ||
           (name > 4 && strcmp(end - 4, ".tsv") == 0) ||
           (name > 7 && strcmp(end - 7, ".csv.gz") == 0);
}

static takt_span trim(takt_span s)
{
    while (s.length > 0 && (s.at[0] == ' ' || s.at[0] == '"'))
        s.at++, s.length--;
    while (s.length > 0 && memchr(" \"\r", s.at[s.length - 1], 3) != NULL)
        s.length--;
    return s;
}

/* Quotes belong to its first and last cell. */
static takt_span trim_line(takt_span s)
{
    while (s.length > 0 && s.at[0] == ' ')
        s.at++, s.length--;
    while (s.length > 0 && memchr(" \r", s.at[s.length - 1], 2) != NULL)
        s.length--;
    return s;
}

static bool next_line(const takt_data_file *f, size_t *at, takt_span *line)
{
    while (*at < f->length) {
        const char *from = (const char *)f->bytes + *at;
        const char *end = memchr(from, '\n', f->length - *at);
        const size_t length = end != NULL ? (size_t)(end - from) : f->length - *at;
        *at += length + 1;
        *line = trim_line((takt_span){from, length});
        if (line->length > 0)
            return true;
    }
    return false;
}

/* Past the quoted part that begins at `at`; two quotes in it stand for one. */
static const char *past_quotes(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        if (*at != '"')
            continue;
        if (at + 1 == end || at[1] != '"')
            return at + 1;
        at++;
    }
    return end;
}

/* The separator that ends the cell at `at`, or `end`; between quotes there is none. */
static const char *end_of(const table *t, const char *at, const char *end)
{
    while (at < end && *at == ' ' && t->comma != ' ')
        at++;
    if (at < end && *at == '"')
        at = past_quotes(at, end);
    const char *comma = at < end ? memchr(at, t->comma, (size_t)(end - at)) : NULL;
    return comma != NULL ? comma : end;
}

static size_t split(const table *t, takt_span line, takt_span *cell, size_t most)
{
    size_t count = 0;
    for (const char *at = line.at, *end = line.at + line.length; at <= end && count <= most;) {
        const char *stop = end_of(t, at, end);
        if (count < most && cell != NULL)
            cell[count] = trim((takt_span){at, (size_t)(stop - at)});
        count++;
        at = stop + 1;
    }
    return count;
}

static bool is_number(takt_span s)
{
    double value;
    return takt_number_read(s.at, s.length, &value);
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

static takt_status open_table(table *t)
{
    static const char commas[] = {',', ';', '\t', ' '};
    takt_span line;
    size_t at = 0;
    if (!next_line(t->file, &at, &line))
        return takt_data_fail(t->set, t->file, "the table is empty");
    for (size_t i = 0; i < sizeof commas && t->columns < 2; i++) {
        t->comma = commas[i];
        t->columns = split(t, line, NULL, COLUMNS);
    }
    if (t->columns < 2 || t->columns > COLUMNS)
        return takt_data_fail(t->set, t->file, "the first row has %zu columns", t->columns);
    t->cell = takt_arena_array(&t->set->arena, t->columns, sizeof *t->cell);
    t->class_name = takt_arena_array(&t->set->arena, CLASSES, sizeof *t->class_name);
    if (t->cell == NULL || t->class_name == NULL)
        return TAKT_ERR_MEMORY;
    split(t, line, t->cell, t->columns);
    for (size_t i = 0; i + 1 < t->columns; i++) /* the label may be a word in any row */
        t->has_names = t->has_names || !is_number(t->cell[i]);
    return find_label(t);
}

static takt_status class_of(table *t, takt_span name, int64_t *out)
{
    for (size_t i = 0; i < t->class_count; i++)
        if (t->class_name[i].length == name.length &&
            memcmp(t->class_name[i].at, name.at, name.length) == 0) {
            *out = (int64_t)i;
            return TAKT_OK;
        }
    if (t->class_count == CLASSES)
        return takt_data_fail(t->set, t->file, "line %zu: more than %d classes", line_of(t),
                              CLASSES);
    *out = (int64_t)t->class_count;
    t->class_name[t->class_count++] = name;
    return TAKT_OK;
}

static takt_status read_row(table *t, takt_span line, float *x, double *label, bool has_words)
{
    const size_t count = split(t, line, t->cell, t->columns);
    if (count != t->columns)
        return takt_data_fail(t->set, t->file, "line %zu has %zu columns, the first has %zu",
                              line_of(t), count, t->columns);
    for (size_t i = 0, k = 0; i < t->columns; i++) {
        double value = 0;
        int64_t class_number = 0;
        if (i == t->label && has_words) {
            TAKT_TRY(class_of(t, t->cell[i], &class_number));
            *label = (double)class_number;
            continue;
        }
        if (!takt_number_read(t->cell[i].at, t->cell[i].length, &value))
            return takt_data_fail(
                t->set, t->file, "line %zu, column %zu: \"%.*s\" is not a number", line_of(t),
                i + 1, (int)(t->cell[i].length < 32 ? t->cell[i].length : 32), t->cell[i].at);
        if (i == t->label)
            *label = value;
        else
            x[k++] = (float)value;
    }
    return TAKT_OK;
}

static size_t count_rows(const table *t, bool *has_words)
{
    size_t at = 0, rows = 0;
    takt_span line;
    *has_words = false;
    for (; next_line(t->file, &at, &line); rows++) {
        if (rows == 0 && t->has_names)
            continue;
        if (split(t, line, t->cell, t->columns) == t->columns && !is_number(t->cell[t->label]))
            *has_words = true;
    }
    return rows - t->has_names;
}

static takt_status read_rows(table *t, float *x, float *labels, bool has_words, bool *is_whole)
{
    size_t at = 0;
    takt_span line;
    if (t->has_names)
        (void)next_line(t->file, &at, &line);
    *is_whole = true;
    for (; next_line(t->file, &at, &line); t->row++) {
        double label = 0;
        TAKT_TRY(read_row(t, line, x + t->row * (t->columns - 1), &label, has_words));
        *is_whole = *is_whole && label == floor(label) && label >= 0 && label < 1e6;
        labels[t->row] = (float)label;
    }
    return TAKT_OK;
}

/* A list of files whose first line is wrong looks like a table without rows, too. */
static takt_status no_rows(takt_data_set *set, const takt_data_file *f)
{
    const size_t name = strlen(f->path);
    takt_data_fail(set, f, "the table has names of columns and no rows");
    if (name > 4 && strcmp(f->path + name - 4, ".tsv") == 0)
        return takt_fail_hint(set->ctx,
                              "a list of pictures or sounds has lines of file, tab and "
                              "label; files end in .png, .jpg, .jpeg, .pgm, .ppm or .wav");
    return TAKT_ERR_FORMAT;
}

static takt_status read(takt_data_set *set, const takt_data_file *f)
{
    table t = {.set = set, .file = f};
    bool has_words, is_whole;
    takt_tensor *x, *labels;
    TAKT_TRY(open_table(&t));
    const int64_t rows = (int64_t)count_rows(&t, &has_words);
    if (rows == 0)
        return no_rows(set, f);
    const takt_type values = {.dtype = TAKT_F32, .rank = 2, .dim = {rows, (int64_t)t.columns - 1}};
    takt_type classes = {.dtype = TAKT_F32, .rank = 1, .dim = {rows}};
    TAKT_TRY(takt_data_add(set, f, "x", &values, &x));
    float *to = takt_tensor_data(x);
    TAKT_TRY(takt_data_add(set, f, "labels", &classes, &labels));
    float *label = takt_tensor_data(labels);
    TAKT_TRY(read_rows(&t, to, label, has_words, &is_whole));
    if (is_whole) { /* class numbers */
        labels->type.dtype = TAKT_I32;
        for (int64_t i = 0; i < rows; i++) {
            const int32_t number = (int32_t)label[i];
            memcpy(&label[i], &number, sizeof number);
        }
    }
    return TAKT_OK;
}

const takt_data_reader takt_data_csv = {
    .name = "csv",
    .summary = "tables of numbers, one column the label",
    .advice = "a row is a sample: as many columns as the first one, all numbers but the label",
    .recognises = recognises,
    .read = read,
};
