/* turns STEPS (WEIGHTS [LIBRARY NAME])...: models of one process take steps in
   turns, and each prints what it lost. With SHARED they are in shared
   libraries, without it `one` and `two` are linked. */

#include <hone/hone.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  const hone_module *module;
  hone_result (*open)(const hone_module *, const hone_options *,
                      hone_session **);
  hone_result (*step)(hone_session *, const hone_rows *, hone_step_result *);
  hone_result (*close)(hone_session *);
  hone_session *session;
} model;

#ifndef SHARED
extern const hone_module hone_one, hone_two;
#endif

static void tell(void *user, hone_log_level level, const char *text) {
  (void)user;
  (void)level;
  fputs(text, stderr);
}

int main(int argc, char **argv) {
  const int steps = atoi(argv[1]);
  model models[2] = {{0}};
  int count = 0;
  for (int i = 2; i < argc && count < 2; ++count) {
    model *own = &models[count];
    const char *weights = argv[i++];
#ifdef SHARED
    void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      fputs(dlerror(), stderr);
      return 1;
    }
    own->module = dlsym(library, argv[i + 1]);
    *(void **)&own->open = dlsym(library, "hone_open");
    *(void **)&own->step = dlsym(library, "hone_step");
    *(void **)&own->close = dlsym(library, "hone_close");
    i += 2;
#else
    const int isTwo = argv[i][0] == '2';
    *own = (model){isTwo ? &hone_two : &hone_one, hone_open, hone_step,
                   hone_close, NULL};
    ++i;
#endif
    hone_options options = {.struct_size = sizeof options,
                            .threads = 2,
                            .weights = weights,
                            .steps = (uint64_t)steps,
                            .log = tell};
    if (own->open(own->module, &options, &own->session) != HONE_OK)
      return 1;
  }
  int32_t ids[24], targets[24], starts[24];
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < 24; ++i) {
      ids[i] = (i * 7 + step * 5) % 61;
      targets[i] = i % 12 == 11 ? -100 : ((i + 1) * 7 + step * 5) % 61;
      starts[i] = i / 12 * 12;
    }
    const hone_rows rows = {ids, targets, starts, 24};
    for (int m = 0; m < count; ++m) {
      hone_step_result result;
      if (models[m].step(models[m].session, &rows, &result) != HONE_OK)
        return 1;
      printf("%s %a %a\n", argv[2 + m * (argc - 2) / count], result.loss,
             result.gradient_norm);
    }
  }
  for (int m = 0; m < count; ++m)
    models[m].close(models[m].session);
  return 0;
}
