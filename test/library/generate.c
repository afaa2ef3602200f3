/* generate WEIGHTS TEXT COUNT: the ids after TEXT, drawn as generate draws
 * them. */

#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tell(void *user, hone_log_level level, const char *text) {
  (void)user;
  (void)level;
  fputs(text, stderr);
}

static int32_t made[256];
static int keep(void *user, int32_t id) {
  uint64_t *count = user;
  made[(*count)++] = id;
  printf("%d\n", id);
  return *count < 256;
}

int main(int argc, char **argv) {
  (void)argc;
  hone_options options = {.struct_size = sizeof options,
                          .threads = 2,
                          .weights = argv[1],
                          .log = tell};
  hone_session *session;
  if (hone_open(&hone_model_generate, &options, &session) != HONE_OK)
    return 1;
  int32_t ids[64];
  uint64_t count = 0, drawn = 0;
  int result =
      hone_tokenize(session, argv[2], strlen(argv[2]), ids, 64, &count);
  if (result != HONE_OK) {
    hone_close(session);
    return result;
  }
  const hone_sampling sampling = {.most_tokens = (uint64_t)atoi(argv[3]),
                                  .temperature = 2,
                                  .top_k = 50,
                                  .top_p = 0.9,
                                  .seed = 3};
  if (hone_generate(session, ids, count, &sampling, keep, &drawn) != HONE_OK)
    return 1;
  char text[4096];
  uint64_t bytes = 0;
  hone_detokenize(session, ids, count, text, sizeof text, &bytes);
  fprintf(stderr, "%.*s\n", (int)bytes, text);
  hone_step_result none;
  if (hone_step(session, NULL, &none) != HONE_WRONG_CALL)
    return 1;
  /* Numbers that mean nothing, and arrays that are not there. */
  const hone_sampling wrong[] = {
      {.temperature = NAN},
      {.temperature = -1},
      {.temperature = 1, .top_p = 7},
      {.temperature = 1, .min_p = 7},
      {.repetition_penalty = -2},
      {.temperature = 1, .repetition_penalty = 1e-320},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    if (hone_generate(session, ids, count, &wrong[i], keep, &drawn) !=
        HONE_WRONG_CALL)
      return 2;
  if (hone_tokenize(session, NULL, 5, ids, 64, &count) != HONE_WRONG_CALL ||
      hone_tokenize(session, argv[2], 1, NULL, 64, &count) != HONE_WRONG_CALL ||
      hone_detokenize(session, NULL, 5, text, 64, &bytes) != HONE_WRONG_CALL ||
      hone_detokenize(session, ids, 1, NULL, 64, &bytes) != HONE_WRONG_CALL)
    return 3;
  /* Without room for them they are counted. */
  if (hone_tokenize(session, argv[2], 1, NULL, 0, &count) != HONE_OK ||
      count == 0)
    return 4;
  /* The model has 300 ids, of which the tokenizer knows fewer. */
  const int32_t known[] = {'h', 299, 'i'}, beyond[] = {'h', 300},
                below[] = {-1};
  if (hone_detokenize(session, known, 3, text, 64, &bytes) != HONE_OK ||
      bytes != 2 || memcmp(text, "hi", 2) != 0)
    return 5;
  if (hone_detokenize(session, beyond, 2, text, 64, &bytes) != HONE_BAD_DATA ||
      hone_detokenize(session, below, 1, text, 64, &bytes) != HONE_BAD_DATA)
    return 6;
  hone_close(session);
  return 0;
}
