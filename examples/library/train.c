/*===- train.c - A C program that trains a model ---------------------------===*
 *
 * train WEIGHTS FOLDER ADAPTER DATA STEPS: DATA has a line of token ids for
 * each sequence. Goes on where the newest checkpoint of FOLDER is, saves every
 * 3 steps, and writes the adapter at the end.
 *
 *===----------------------------------------------------------------------===*/

#include "model.h"

#include <stdio.h>
#include <stdlib.h>

/* A sequence: the ids of a line. */
typedef struct {
  int32_t *ids;
  uint64_t count;
} sequence;

typedef struct {
  sequence *sequences;
  uint64_t count;
  uint64_t digest; /* FNV-1a of the file */
} data;

static data read_data(const char *path) {
  data out = {NULL, 0, 14695981039346656037u};
  FILE *file = fopen(path, "r");
  if (!file) {
    perror(path);
    exit(66);
  }
  static char line[1 << 16];
  while (fgets(line, sizeof line, file)) {
    sequence own = {malloc(sizeof line), 0};
    for (const char *c = line; *c; ++c)
      out.digest = (out.digest ^ (unsigned char)*c) * 1099511628211u;
    char *end;
    for (char *at = line;; at = end) {
      long id = strtol(at, &end, 10);
      if (end == at)
        break;
      own.ids[own.count++] = (int32_t)id;
    }
    out.sequences =
        realloc(out.sequences, (out.count + 1) * sizeof *out.sequences);
    out.sequences[out.count++] = own;
  }
  fclose(file);
  return out;
}

enum { MOST_ROWS = 4096, BATCH = 2 };
static int32_t ids[MOST_ROWS], targets[MOST_ROWS], starts[MOST_ROWS];

/* The sequences [first, first + count) as rows. */
static hone_rows rows_of(const data *d, uint64_t first, uint64_t count) {
  hone_rows rows = {ids, targets, starts, 0};
  for (uint64_t i = first; i < first + count && i < d->count; ++i) {
    const sequence *own = &d->sequences[i];
    const uint64_t start = rows.count;
    for (uint64_t k = 0; k < own->count && rows.count < MOST_ROWS; ++k) {
      ids[rows.count] = own->ids[k];
      targets[rows.count] = k + 1 < own->count ? own->ids[k + 1] : -100;
      starts[rows.count++] = (int32_t)start;
    }
  }
  return rows;
}

static void tell(void *user, hone_log_level level, const char *text) {
  (void)user;
  (void)level;
  fputs(text, stderr);
}

/* The class of an error is the exit code. */
static void require(hone_result result) {
  if (result != HONE_OK)
    exit(result);
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fputs("usage: train WEIGHTS FOLDER ADAPTER DATA STEPS\n", stderr);
    return 2;
  }
  data d = read_data(argv[4]);
  char digest[32];
  snprintf(digest, sizeof digest, "%016llx", (unsigned long long)d.digest);
  const uint64_t steps = strtoull(argv[5], NULL, 10);
  hone_options options = {.struct_size = sizeof options,
                          .threads = 2,
                          .weights = argv[1],
                          .checkpoints = argv[2],
                          .data_digest = digest,
                          .steps = steps,
                          .log = tell};

  hone_plan plan;
  require(hone_planned_bytes(&hone_model, &options, &plan));
  printf("plan %.1f MiB, %.1f MiB with mapped files\n",
         (double)plan.anonymous / 1048576, (double)plan.resident / 1048576);

  hone_session *session;
  require(hone_open(&hone_model, &options, &session));
  const uint64_t each = (d.count + BATCH - 1) / BATCH;
  for (uint64_t step; (step = hone_completed_steps(session)) < steps;) {
    const hone_rows rows = rows_of(&d, step % each * BATCH, BATCH);
    hone_step_result result;
    require(hone_step(session, &rows, &result));
    printf("step %llu loss %.17g\n", (unsigned long long)step + 1, result.loss);
    fflush(stdout);
    if ((step + 1) % 3 == 0 || step + 1 == steps)
      require(hone_save(session));
  }
  const hone_rows all = rows_of(&d, 0, d.count);
  hone_evaluation found;
  require(hone_evaluate(session, &all, &found));
  printf("evaluation loss %.17g over %llu targets\n", found.loss,
         (unsigned long long)found.targets);
  require(hone_write_adapter(session, argv[3]));
  require(hone_close(session));
  return 0;
}
