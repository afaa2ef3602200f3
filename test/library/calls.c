/* calls WEIGHTS FOLDER OPENS: what is refused and how, and that nothing is left
   of a session that was closed. */

#include "model.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char last[4096];
static void keep(void *user, hone_log_level level, const char *text) {
  (void)user;
  (void)level;
  snprintf(last, sizeof last, "%s", text);
  for (char *end; (end = strchr(last, '\n'));)
    *end = '|';
}

static int32_t ids[64], targets[64], starts[64];
static hone_rows rows_of(uint64_t count, uint64_t each) {
  for (uint64_t i = 0; i < count; ++i) {
    ids[i] = (int32_t)(i * 7 % 61);
    starts[i] = (int32_t)(i / each * each);
    targets[i] = i % each + 1 == each ? -100 : (int32_t)((i + 1) * 7 % 61);
  }
  return (hone_rows){ids, targets, starts, count};
}

static void show(const char *what, int result) {
  printf("%s: %d %s\n", what, result, last);
  fflush(stdout);
  last[0] = 0;
}

typedef struct {
  hone_session *session;
  int busy, calls;
} shared;
static void *steps(void *given) {
  shared *own = given;
  const hone_rows rows = rows_of(24, 12);
  for (int i = 0; i < 200; ++i) {
    hone_step_result result;
    own->busy += hone_step(own->session, &rows, &result) == HONE_BUSY;
    ++own->calls;
  }
  return NULL;
}

/* Anonymous resident memory, in KiB, and open descriptors. */
static void holdings(long *kib, int *files) {
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status))
    sscanf(line, "RssAnon: %ld", kib);
  fclose(status);
  DIR *folder = opendir("/proc/self/fd");
  for (*files = 0; readdir(folder);)
    ++*files;
  closedir(folder);
}

int main(int argc, char **argv) {
  (void)argc;
  hone_options options = {.struct_size = sizeof options,
                          .threads = 2,
                          .weights = argv[1],
                          .checkpoints = argv[2],
                          .log = keep};
  hone_session *session, *second;
  hone_options wrong = options;
  wrong.struct_size = 8;
  show("struct", hone_open(&hone_model, &wrong, &second));
  wrong = options;
  wrong.weights = "/nowhere";
  show("weights", hone_open(&hone_model, &wrong, &second));
  const char *const settings[] = {"learning_rate=fast", NULL};
  wrong = options;
  wrong.settings = settings;
  show("setting", hone_open(&hone_model, &wrong, &second));
  show("open", hone_open(&hone_model, &options, &session));
  show("twice", hone_open(&hone_model, &options, &second));

  hone_step_result result;
  hone_rows rows = rows_of(36, 12);
  show("sequences", hone_step(session, &rows, &result));
  rows = rows_of(40, 40);
  show("long", hone_step(session, &rows, &result));
  rows = rows_of(12, 12);
  ids[3] = 1 << 20;
  show("id", hone_step(session, &rows, &result));
  rows = rows_of(12, 12);
  starts[5] = 3;
  show("start", hone_step(session, &rows, &result));
  rows = rows_of(12, 12);
  targets[11] = 4;
  show("last", hone_step(session, &rows, &result));
  show("none", hone_step(session, NULL, &result));
  rows = rows_of(24, 12);
  show("time", hone_step_for(session, &rows, NAN, &result));
  show("step", hone_step(session, &rows, &result));
  printf("completed %d\n", (int)hone_completed_steps(session));
  show("generate", hone_generate(session, ids, 3, NULL, NULL, NULL));
  uint64_t count;
  show("text", hone_tokenize(session, "a", 1, ids, 64, &count));

  shared threads[2] = {{session, 0, 0}, {session, 0, 0}};
  pthread_t other;
  pthread_create(&other, NULL, steps, &threads[1]);
  steps(&threads[0]);
  pthread_join(other, NULL);
  const int busy = threads[0].busy + threads[1].busy;
  printf("busy: %s, all others counted: %s\n", busy > 0 ? "yes" : "no",
         (int)hone_completed_steps(session) == 401 - busy ? "yes" : "no");
  show("close", hone_close(session));

  long before = 0, after = 0;
  int files = 0, filesAfter = 0;
  options.checkpoints = NULL;
  const int opens = atoi(argv[3]);
  for (int i = 0; i < opens; ++i) {
    if (hone_open(&hone_model, &options, &session) != HONE_OK)
      return 1;
    hone_close(session);
    if (i == opens / 10)
      holdings(&before, &files);
  }
  holdings(&after, &filesAfter);
  printf("%d opens: %s, %d more descriptors\n", opens,
         after - before < 64 ? "no more memory" : "MORE MEMORY",
         filesAfter - files);
  fprintf(stderr, "from %ld to %ld KiB\n", before, after);
  return 0;
}
