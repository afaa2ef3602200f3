/* windows WEIGHTS FOLDER ADAPTER STEPS SECONDS: makes STEPS updates and writes
   the adapter; with SECONDS above 0 each call has a time that is hardly enough,
   and every other step that was suspended goes on in another session. */

#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char last[4096];
static void keep(void *user, hone_log_level level, const char *text) {
  (void)user;
  if (level == HONE_LOG_ERROR)
    snprintf(last, sizeof last, "%s", text);
}

static int32_t ids[64], targets[64], starts[64];
static hone_rows rows_of(uint64_t step) {
  for (uint64_t i = 0; i < 48; ++i) {
    ids[i] = (int32_t)((i * 7 + step) % 61);
    starts[i] = (int32_t)(i / 24 * 24);
    targets[i] = i % 24 == 23 ? -100 : (int32_t)((i * 7 + 7 + step) % 61);
  }
  return (hone_rows){ids, targets, starts, 48};
}

static void require(hone_result result, const char *what) {
  if (result == HONE_OK)
    return;
  fprintf(stderr, "%s: %d %s", what, result, last);
  exit(1);
}

/* Shows the first refusal of each kind. */
static void refused(const char *what, hone_result result) {
  for (char *end; (end = strchr(last, '\n'));)
    *end = '|';
  printf("%s: %d %s\n", what, result, last);
}

int main(int argc, char **argv) {
  (void)argc;
  const uint64_t steps = strtoull(argv[4], NULL, 10);
  double seconds = atof(argv[5]);
  hone_options options = {.struct_size = sizeof options,
                          .threads = 1,
                          .weights = argv[1],
                          .checkpoints = argv[2],
                          .steps = steps,
                          .log = keep};
  hone_session *session;
  require(hone_open(&hone_model, &options, &session), "open");
  uint64_t suspended = 0, reopened = 0;
  int shown = 0;
  while (hone_completed_steps(session) < steps) {
    const hone_rows rows = rows_of(hone_completed_steps(session));
    hone_step_result result;
    const hone_result done =
        seconds > 0 ? hone_step_for(session, &rows, seconds, &result)
                    : hone_step(session, &rows, &result);
    if (done == HONE_WRONG_CALL && strstr(last, "H0821")) {
      if (!shown++)
        refused("short", done);
      seconds *= 1.02;
    } else if (done == HONE_SUSPENDED) {
      if (!suspended++) {
        refused("save", hone_save(session));
        hone_evaluation evaluation;
        refused("evaluate", hone_evaluate(session, &rows, &evaluation));
        refused("adapter", hone_write_adapter(session, argv[3]));
        const hone_rows others = rows_of(100);
        refused("rows", hone_step(session, &others, &result));
        rows_of(hone_completed_steps(session));
      }
      if (suspended % 2) {
        require(hone_close(session), "close");
        require(hone_open(&hone_model, &options, &session), "open again");
        ++reopened;
      }
    } else {
      require(done, "step");
      seconds *= 0.98;
      if (hone_completed_steps(session) % 3 == 0)
        require(hone_save(session), "save");
    }
  }
  require(hone_save(session), "save");
  require(hone_write_adapter(session, argv[3]), "adapter");
  require(hone_close(session), "close");
  if (seconds > 0)
    printf("suspended: %s, in another session: %s\n", suspended ? "yes" : "no",
           reopened ? "yes" : "no");
}
