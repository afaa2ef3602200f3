/*===- hone.h - Training inside of another program -------------------------===*
 *
 * honec --emit=library writes a model as libMODEL.a, with the one symbol
 * hone_MODEL, and as libMODEL.so, which has all of this too. A program links
 * libMODEL.a, libhone_text.a where it needs text, libhone_core.a, and a C++
 * library.
 *
 * The library ends the process only where the system refuses memory that is in
 * no plan; it handles no signals and prints nothing. Its messages go to the
 * log callback. The caller owns the data: it gives the rows of each step,
 * and says by a digest which data they are from.
 *
 * A session is used by one thread at a time; a second call returns HONE_BUSY at
 * once. Different sessions know nothing of each other.
 *
 * When a call returns, it has read its rows and strings. A result
 * may go to NULL.
 *
 *===----------------------------------------------------------------------===*/

#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled model: `extern const hone_module hone_MODEL;` of MODEL.h. */
typedef struct hone_module hone_module;
typedef struct hone_session hone_session;

/* The result of a call. The log callback has the reason, with the code that
   honec --explain explains; classes are those of the programs' exit codes. */
typedef enum hone_result {
  HONE_OK = 0,
  HONE_WRONG_CALL = 2,     /* an argument, or a session of another kind */
  HONE_BAD_DATA = 65,      /* a file or the rows, or the loss is not finite */
  HONE_NO_INPUT = 66,      /* a file is missing or unreadable */
  HONE_UNSUPPORTED = 69,   /* of text: libhone_text.a is not linked */
  HONE_INTERNAL = 70,      /* a bug, or a model of another version */
  HONE_NO_RESOURCES = 71,  /* the system refused memory or a thread */
  HONE_CANNOT_CREATE = 73, /* a file or folder */
  HONE_IO_ERROR = 74,      /* reading or writing failed */
  HONE_BUSY = 75,          /* another thread uses the session */
  HONE_SUSPENDED = 124,    /* no error: the step is written and goes on later */
} hone_result;

typedef enum hone_log_level {
  HONE_LOG_NOTE = 0,
  HONE_LOG_WARNING = 1,
  HONE_LOG_ERROR = 2,
} hone_log_level;

/* `text`: UTF-8 in whole lines, there until the callback returns, which must
   call no function of its session. */
typedef void (*hone_log_fn)(void *user, hone_log_level level, const char *text);

/* Zero is the default of each but struct_size and weights. The strings are
   copied. */
typedef struct hone_options {
  uint32_t struct_size; /* sizeof(hone_options) */
  uint32_t threads;     /* the caller's among them; 0: one for each CPU */
  const char *weights;  /* weights.hone.safetensors */
  /* Folder of hone_save(), made if it is missing; NULL: nothing is saved.
     One session or training program at a time. */
  const char *checkpoints;
  /* A PEFT adapter's folder to begin with, if there is no checkpoint yet. */
  const char *adapter;
  /* Of the data that the rows are from: any text without control characters.
     A checkpoint goes on only with its own. */
  const char *data_digest;
  /* Updates of the whole run, which schedules of rates need; 0: train.steps of
     the spec. */
  uint64_t steps;
  /* "learning_rate=1e-4", ...: settings that are also options of the program
     that trains; the last is NULL. */
  const char *const *settings;
  uint32_t no_verify; /* 1: damaged weights go unnoticed */
  hone_log_fn log;    /* NULL: nobody is told */
  void *log_user;
} hone_options;

/* In bytes. */
typedef struct hone_plan {
  uint64_t
      anonymous;     /* most that a session has, its threads' stacks included */
  uint64_t resident; /* the same and what it has mapped of files at a time */
  uint64_t weights;  /* of the weights' file */
} hone_plan;

/* Sequences, one after another. All of a step: it computes batches of
   train.batch_size sequences, at most train.gradient_accumulation_steps of
   them. */
typedef struct hone_rows {
  const int32_t *ids;     /* [count] tokens of the vocabulary */
  const int32_t *targets; /* [count] the next token, -100: no loss; that of a
                             sequence's last row is -100 */
  const int32_t *sequence_starts; /* [count] the row where this row's sequence
                                     begins */
  uint64_t count;
} hone_rows;

typedef struct hone_step_result {
  double loss;          /* mean over the rows with a target */
  double gradient_norm; /* before clipping; NaN where there is none */
  double learning_rate;
  uint64_t targets; /* rows with one */
} hone_step_result;

typedef struct hone_evaluation {
  double loss; /* mean negative log-likelihood of a target */
  uint64_t targets;
} hone_evaluation;

/* Zero is greedy, without an end. Numbers that generate refuses are refused. */
typedef struct hone_sampling {
  uint64_t most_tokens;      /* 0: as many as there is room for */
  double temperature;        /* 0: always the likeliest */
  uint64_t top_k;            /* 0: all */
  double top_p;              /* 0: all */
  double min_p;              /* of the likeliest's probability */
  double repetition_penalty; /* 0: none */
  uint64_t seed;
} hone_sampling;

/* Returns whether to go on. */
typedef int (*hone_token_fn)(void *user, int32_t id);

/* The memory that a session will take. Allocates nothing that lasts and opens
   no file. */
hone_result hone_planned_bytes(const hone_module *model,
                               const hone_options *options, hone_plan *plan);

/* Takes all memory of the plan, starts the threads, and goes on where the
   newest whole checkpoint is. `session` is NULL on an error. */
hone_result hone_open(const hone_module *model, const hone_options *options,
                      hone_session **session);

/* Updates that the parameters have; rows of the next step are those after as
   many steps. 0 of NULL. */
uint64_t hone_completed_steps(const hone_session *session);

/* One update. On an error the parameters are as before, but with
   optimizer_in_backward. */
hone_result hone_step(hone_session *session, const hone_rows *rows,
                      hone_step_result *result);

/* The same within `seconds` of the call. If the step takes longer it stops
   between two kernels, is written to the folder of checkpoints, and
   HONE_SUSPENDED is returned: `seconds` has the time of writing in it. The step
   goes on with the next hone_step or hone_step_for, of this session or of one
   that is opened later with the same model, and takes the same rows: others are
   refused. Until it is complete nothing else is evaluated, saved or written.
   hone_save removes the file. HONE_WRONG_CALL where `seconds` are too few for a
   kernel and the writing; the log says how many are enough. */
hone_result hone_step_for(hone_session *session, const hone_rows *rows,
                          double seconds, hone_step_result *result);

/* Any number of sequences, in batches of train.batch_size. */
hone_result hone_evaluate(hone_session *session, const hone_rows *rows,
                          hone_evaluation *result);

/* Writes a checkpoint, which survives a power cut once this returns, and
   removes all but the newest two. */
hone_result hone_save(hone_session *session);

/* Writes the parameters as a PEFT adapter, or as a model where all of it
   trains. */
hone_result hone_write_adapter(hone_session *session, const char *folder);

/* Of a model of --emit=library,generate. Tokens with which `prompt` and the
   sequence before both begin are not computed again. */
hone_result hone_generate(hone_session *session, const int32_t *prompt,
                          uint64_t count, const hone_sampling *sampling,
                          hone_token_fn token, void *user);

/* NULL is nothing to close. */
hone_result hone_close(hone_session *session);

/* With the tokenizer of the model, without the tokens that a template puts
   around a text. `count` is how many ids or bytes there are, of which at most
   `capacity` are written. An id of the model for which its tokenizer has no
   text, as where a vocabulary is padded, adds none; what is no id of the model
   is HONE_BAD_DATA. */
hone_result hone_tokenize(hone_session *session, const char *text,
                          uint64_t bytes, int32_t *ids, uint64_t capacity,
                          uint64_t *count);
hone_result hone_detokenize(hone_session *session, const int32_t *ids,
                            uint64_t count, char *text, uint64_t capacity,
                            uint64_t *bytes);

#ifdef __cplusplus
}
#endif
