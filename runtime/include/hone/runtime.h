//===- runtime.h - The C ABI between generated code and the runtime -------===//
//
// A compiled training binary is two halves. The generated half exports one
// constant, `hone_compiled_module`, and calls `hone_launch`, where it streams
// weights `hone_prefetch` and `hone_release`, and where it offloads values
// `hone_offload`, `hone_reload` and `hone_await`. The runtime half owns
// everything else: memory, threads, data, files.
//
// Generated code is two halves again. Entries are host code, which fills
// closures and launches kernels; kernels compute, on the device. An entry is
// given addresses of the device, which it hands on and never follows.
//
// All memory that a step touches is one arena whose size and layout are
// constants of the module, so the peak is known before the first step.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_ABI_VERSION 15u

typedef enum hone_dtype {
  HONE_F32 = 0,
  HONE_F64 = 1,
  HONE_I32 = 2,
  HONE_BF16 = 3,
  HONE_U8 = 4,
  HONE_I64 = 5,
} hone_dtype;

/* How a trainable parameter starts when no adapter is given. */
typedef enum hone_init {
  HONE_INIT_ZERO = 0,
  /* uniform(-b, b) with b = 1/sqrt(columns): torch's kaiming_uniform_ with
     a = sqrt(5), which is what PEFT gives lora_A. */
  HONE_INIT_KAIMING_UNIFORM = 1,
  /* As the weights file has it, in theta's type. */
  HONE_INIT_PRETRAINED = 2,
} hone_init;

/* The memory of a run beside the arena, the same for every module; both the
   plan that honec prints and the runtime's are made with these numbers.
   Stack of each thread but the first. Generated code keeps its scratch in
   hone_frame::thread_scratch, so this is small on purpose. */
#define HONE_THREAD_STACK_BYTES (256 * 1024)
/* Anonymous memory of a run, at most. `arena`: its bytes, see
   hone_module; `process`: rt::processBytes. */
static inline uint64_t hone_peak_bytes(uint64_t arena, uint64_t process,
                                       uint64_t thread_bytes,
                                       uint64_t threads) {
  return arena + process + threads * thread_bytes +
         (threads - 1) * HONE_THREAD_STACK_BYTES;
}
/* Resident pages of files that neither are weights nor grow with the model: the
   program, its C library, and the tokens of a batch. */
#define HONE_MAPPED_BYTES (8 * 1024 * 1024)
/* Resident pages of files, at most: the program's `tables`, and of the weights
   `resident` in steps and `resident_thread` for each thread before the first
   one. */
static inline uint64_t hone_mapped_bytes(uint64_t weights, uint64_t resident,
                                         uint64_t resident_thread,
                                         uint64_t tables, uint64_t threads) {
  uint64_t at_start = threads * resident_thread;
  uint64_t at_a_time = resident > at_start ? resident : at_start;
  return HONE_MAPPED_BYTES + tables +
         (at_a_time < weights ? at_a_time : weights);
}
/* Pages of a file become resident, and are let go, in units of at most this
   size: a page table of 4 KiB pages. */
#define HONE_RESIDENT_UNIT_BYTES (2 * 1024 * 1024)
/* On a device each weight begins at a multiple of this: kernels load 16 bytes
   at once, and a line of a cache has 128. */
#define HONE_DEVICE_ALIGNMENT 256
/* The bytes that a weight of `bytes` takes there. */
static inline uint64_t hone_device_bytes(uint64_t bytes) {
  return (bytes + HONE_DEVICE_ALIGNMENT - 1) / HONE_DEVICE_ALIGNMENT *
         HONE_DEVICE_ALIGNMENT;
}
/* Of the weights file, for each of hone_module::weight_digests. */
#define HONE_DIGEST_PART_BYTES (1024 * 1024)

/* The processor or GPU that runs the kernels of a module. */
typedef struct hone_device hone_device;
typedef struct hone_streaming hone_streaming;

/* The argument of an entry point. Addresses are the device's. */
typedef struct hone_frame {
  hone_device *device;
  char *arena; /* 64-byte aligned, module->arena_bytes */
  char *batch; /* where inputs count their offsets from: see hone_slot */
  char *work;  /* the working set of this call */
  char *thread_scratch;       /* on CPUs: 64-byte aligned, threads x
                                 thread_bytes */
  const void *const *weights; /* parallel to module->weights */
  int64_t rows;               /* tokens in this batch, 1 .. max_rows */
  hone_streaming *streaming;  /* of the weights' file; null: pages stay */
  char *const *numbers; /* parallel to the values that an entry is called with:
                           where the host reads those of HONE_ON_HOST */
  const uint32_t *offsets; /* of the placement, see hone_placement */
} hone_frame;

/* Runs kernel `kernel` of module->kernels for each index in [0, count), in no
   particular order. The closure is free again on return, the kernel may run
   later: kernels run one after another, in the order of these calls. No index
   may depend on another, so results never depend on where or beside what it
   runs. An entry keeps nothing between two launches but what is in the arena,
   so one that is called again may leave out those that ran before. */
void hone_launch(const hone_frame *frame, uint32_t kernel, void *closure,
                 int64_t count);

/* Hints about the pages of the weights file that hold [start, start + bytes):
   read them ahead; let them go, so that they stop counting as resident. Modules
   compiled with weights.streaming call them, outside of tasks. Errors are
   ignored: numbers do not depend on them. */
void hone_prefetch(const hone_frame *frame, const void *start, int64_t bytes);
void hone_release(const hone_frame *frame, const void *start, int64_t bytes);
/* Copies [start, start + bytes) of the weights file, of which no page becomes
   resident. */
void hone_fetch(const hone_frame *frame, void *to, const void *start,
                int64_t bytes);

/* Values that rest in a file, on CPUs; called outside of tasks. Begin to write
   `bytes` bytes from `start` on to the file, from `offset` on; begin to read
   them; wait for the last of these that began with `start`. What fails ends the
   run: from then on no kernel runs. */
void hone_offload(const hone_frame *frame, const void *start, int64_t bytes,
                  int64_t offset);
void hone_reload(const hone_frame *frame, void *start, int64_t bytes,
                 int64_t offset);
void hone_await(const hone_frame *frame, const void *start);

/* An entry, or a function of scalars. `values` are where its arguments and then
   its results are: for an entry on the device, and null for those that no
   kernel uses; for a function of scalars on the host. */
typedef void (*hone_entry_fn)(const hone_frame *frame, char *const *values);

/* A named input of the batch:
     input_ids       i32[max_rows]  token ids
     targets         i32[max_rows]  the next token's id; -100 means no loss
     sequence_starts i32[max_rows]  row where this row's sequence begins; of
                                    HONE_GENERATE counted back from the first
                                    row, so zero or less
     random_key      i32[4]         seed and step of the random streams of this
                                    batch, each as its low and high half; in the
                                    upper 11 bits of the last, which of the
                                    step's batches it is; only where blocks draw
                                    random numbers */
typedef struct hone_slot {
  const char *name;
  uint32_t dtype;
  uint32_t rank;
  const int64_t *shape; /* with max_rows in place of the row count */
  uint64_t offset;      /* bytes from hone_frame::batch */
} hone_slot;

/*===------------------------------------------------------------------------===
   Schedules: a step as data. Items run in the order of the table. The runtime
   interprets them and knows no method: what is computed is in entries and in
   functions of scalars.
  ===------------------------------------------------------------------------===*/

/* The purpose of a schedule. */
typedef enum hone_purpose {
  HONE_TRAIN = 0,         /* one optimizer update */
  HONE_EVALUATE = 1,      /* the loss of some batches */
  HONE_DIFFERENTIATE = 2, /* their loss and gradient, without an update */
  HONE_VALIDATE = 3,      /* whether the trainable parameters are finite */
  HONE_REPLAY = 4,        /* an update, from what training reported of it; only
                             of some methods */
  HONE_COMPARE = 5,       /* the loss and gradient of another method; only where
                             the spec compares one */
  HONE_GENERATE = 6,      /* new rows of one sequence, and the logits after the
                             last; alone in its module */
} hone_purpose;

/* How learning rates change: where its word stands among those that
   lr_scheduler_type may be. */
typedef enum hone_lr_scheduler {
  HONE_LR_CONSTANT = 0,
  HONE_LR_LINEAR = 1,
  HONE_LR_COSINE = 2,               /* half a cosine wave (num_cycles = 0.5) */
  HONE_LR_CONSTANT_WITH_WARMUP = 3, /* HONE_LR_CONSTANT by another name */
} hone_lr_scheduler;

#define HONE_NO_VALUE 0xffffffffu
/* Of a value that has the same offset in every placement, see
   hone_placement. */
#define HONE_NO_PLACE 0u

/* Where a value is: iteration i of the repeat that makes it has it at
   offset + (i mod slots) * stride from the arena. Outside of repeats i is 0.
   In a placement for fewer rows, a value with rows has fewer bytes, and as its
   stride their next multiple of 64. */
typedef struct hone_value {
  uint64_t offset;
  uint64_t stride;
  uint64_t bytes;     /* of the value, for max_rows rows */
  uint64_t row_bytes; /* of one row of it; 0 for values without rows */
  uint32_t slots;
  uint32_t depth; /* of how many repeats it is inside, at most 4 */
  uint32_t stage; /* of what makes it */
  uint32_t place; /* of `offset`, or HONE_NO_PLACE */
} hone_value;

typedef enum hone_item_kind {
  HONE_RUN = 0,     /* values: arguments, results */
  HONE_SCALAR = 1,  /* the same */
  HONE_LOAD = 2,    /* the next batch, into `batch` */
  HONE_REPEAT = 3,  /* values: count, then `carried` each of what carried values
                       begin with, where they are, and what the body yields */
  HONE_CHECK = 4,   /* values: f64 that must be finite */
  HONE_SEND = 5,    /* values: one, or a batch, to `peer` */
  HONE_RECEIVE = 6, /* values: one, or a batch, from `peer` */
  HONE_WAIT = 7,    /* values: one, or a batch */
  HONE_FOLD = 8,    /* the gradients of all ranks' batches are added */
} hone_item_kind;

/* The users of a value that an entry is called with, see hone_item::sides: the
   entry itself, which reads it in hone_frame::numbers, or kernels. */
#define HONE_ON_HOST 1u
#define HONE_ON_DEVICE 2u

/* An input of a batch, as a message. */
typedef struct hone_piece {
  uint64_t offset;    /* bytes from hone_frame::batch */
  uint64_t bytes;     /* for max_rows rows */
  uint64_t row_bytes; /* of one row; 0: `bytes` whatever the rows */
} hone_piece;

typedef struct hone_item {
  uint32_t kind;
  uint32_t stage;          /* ticks after its iteration begins */
  hone_entry_fn run;       /* HONE_RUN, HONE_SCALAR */
  hone_entry_fn otherwise; /* if `condition` is 0; null: nothing */
  uint32_t condition;      /* value: i64; HONE_NO_VALUE: always */
  uint32_t batch;          /* value: where a batch is; HONE_NO_VALUE: none */
  uint64_t work; /* HONE_RUN: offset of its working set in the arena */
  const uint32_t *values;
  uint32_t value_count;
  uint32_t carried; /* HONE_REPEAT */
  uint32_t body;    /* HONE_REPEAT: how many items after it are its body */
  uint32_t stages;  /* HONE_REPEAT: of its body */
  const char *peer; /* exchanges */
  const char *channel;
  const char *problem; /* HONE_CHECK: what is wrong then; null: diverged */
  /* HONE_RUN: parallel to `values`, HONE_ON_HOST, HONE_ON_DEVICE, both or
     neither; null: all are on the device. */
  const uint8_t *sides;
  /* HONE_SEND and HONE_RECEIVE of a batch: its inputs that travel, after its
     number of rows; null: a value travels. */
  const hone_piece *pieces;
  uint32_t piece_count;
  /* HONE_RECEIVE: of so many steps before; zeros until then. HONE_SEND: after
     so many steps it is received. */
  uint32_t behind;
  uint32_t place; /* of `work`, or HONE_NO_PLACE */
} hone_item;

/* A number that the program gives before the first item, or reads after the
   last. Settings, i64 unless said otherwise:
     batches       how many there are: of this step, or to evaluate
     targets       f64, how many rows of them have a target
     completed     updates before this one
     steps         updates of the whole run
     seed          of the run
     coefficients  f32, several: of HONE_REPLAY
     alone         whether no other program shares the batches
     and each number among the settings of train, under its name in a spec, f64
     if it is real; of a word, such as lr_scheduler_type, its place among those
     that are allowed.
   Those of a method that HONE_COMPARE compares begin with "compare.".
   Reports, f64: loss, gradient_norm, learning_rate, parameter_norm; and
   coefficients, f32, several: all that a step adds to its seed. Of
   HONE_GENERATE: logits, f32 or f64, one for each token. */
typedef struct hone_number {
  const char *name;
  uint32_t dtype; /* HONE_F64, HONE_I64, or of several HONE_F32 or HONE_F64 */
  uint32_t value;
} hone_number;

typedef struct hone_schedule {
  uint32_t purpose; /* hone_purpose */
  uint32_t item_count;
  const hone_item *items;
  const hone_value *values;
  const hone_number *settings;
  const hone_number *reports;
  uint32_t value_count;
  uint32_t setting_count;
  uint32_t report_count;
  uint32_t batch_slots; /* batches in flight */
} hone_schedule;

/* A frozen tensor, found by this name in the weights file. */
typedef struct hone_weight {
  const char *name;
  uint32_t dtype;
  uint32_t rank;
  const int64_t *shape;
} hone_weight;

/* The layer of parameters in no layer of the model: its embedding, its head. */
#define HONE_NO_LAYER UINT32_MAX

/* A trainable parameter: a slice of the parameter vector theta. The gradient
   and each state vector use the same element offset. */
typedef struct hone_trainable {
  const char *name; /* Hugging Face name, e.g.
                       model.layers.0.self_attn.q_proj.lora_A.weight */
  uint32_t rank;
  uint32_t init; /* hone_init */
  const int64_t *shape;
  uint64_t offset;     /* elements from the start of theta */
  uint32_t transposed; /* whether files hold the matrix as [in, out] */
  uint32_t layer;      /* its layer's number, from 0, or HONE_NO_LAYER */
} hone_trainable;

/* One iteration of a kernel on a CPU. `thread` is in [0, threads) and is unique
   among the iterations that run at the same time. */
typedef void (*hone_task)(void *closure, int64_t index, int64_t thread);

/* A kernel's use of the memory to which a field of its closure points. */
typedef enum hone_access {
  HONE_NO_ACCESS = 0, /* the field is a number */
  HONE_READ = 1,
  HONE_WRITE = 2, /* HONE_READ | HONE_WRITE: both */
} hone_access;

/* A field of a kernel's closure. */
typedef struct hone_field {
  uint32_t offset; /* bytes from the closure's start */
  uint32_t bytes;
  uint32_t access; /* hone_access; what is not known is both */
} hone_field;

/* Code that hone_launch runs, and its name in reports of where time goes. */
typedef struct hone_kernel {
  hone_task task;     /* on CPUs, else null */
  const char *symbol; /* in module->device_code, or null */
  const char *block;  /* the block or entry it is part of: "decoder.backward" */
  const char *name;   /* "lora_linear_adjoint mlp.gate_proj" */
  uint32_t threads;   /* of an index, on devices; 0 on CPUs */
  uint32_t shared_bytes; /* of an index, that its threads share; 0 on CPUs */
  /* In the order of the kernel's parameters. The closure of a task begins with
     its frame, which is no field: a thread's scratch is found through it. */
  const hone_field *fields;
  uint32_t field_count;
} hone_kernel;

/* Offsets are counted in these. */
#define HONE_PLACE_BYTES 64

/* Where everything is for batches of up to `rows` rows. The code and the
   schedules of all placements are one; what they have at different offsets has
   a number, its place, by which the offset is looked up. */
typedef struct hone_placement {
  int64_t rows;
  const uint32_t *offsets; /* by place, in units of HONE_PLACE_BYTES; that of
                              HONE_NO_PLACE is unused */
  /* In place of the module's numbers of these names. */
  uint64_t arena_bytes;
  uint64_t accumulation_end;
  uint64_t gradient_offset;
  uint64_t gradient_end;
} hone_placement;

typedef struct hone_module {
  uint32_t struct_size; /* sizeof(hone_module) when it was compiled */
  uint32_t abi_version;
  /* JSON: the compiled configuration. Keys: "model", "lora", "train", "target",
     "plan", "weights" (layout, source_hash). See runtime/README.md. */
  const char *config;
  int64_t max_rows;
  uint64_t arena_bytes;
  /* The arena's bytes for a step of several batches: arena_bytes, or more where
     the spec did not say that there are several. */
  uint64_t accumulation_end;
  uint64_t thread_bytes; /* private scratch of each thread, multiple of 64 */
  uint32_t state_count;  /* of states */
  /* Of theta. The gradient has this type, or HONE_F32 if it is HONE_BF16. */
  uint32_t trainable_dtype;
  uint64_t trainable_elements; /* length of theta */
  uint64_t theta_offset;       /* bytes; trainable_elements values each */
  /* After the arena where a step updates layer by layer: only programs that
     differentiate have memory for it, up to gradient_end. With HONE_COMPARE
     there is a second vector for a copy, at the next multiple of 64 bytes
     after it. */
  uint64_t gradient_offset;
  uint64_t gradient_end;
  /* The state of the optimizer: vectors of one dimension, in bytes of the
     arena, under their names in checkpoints. All zero before the first step. */
  const hone_slot *states;
  const hone_schedule *schedules;
  const hone_slot *inputs;
  const hone_weight *weights;
  const hone_trainable *trainables;
  const hone_kernel *kernels;
  uint32_t schedule_count;
  uint32_t input_count;
  uint32_t weight_count;
  uint32_t trainable_count;
  uint32_t kernel_count;
  /* Of the weights file: SHA-256 of each HONE_DIGEST_PART_BYTES, 32 bytes one
     after another, and its size; 0 when the module was made without one. */
  const uint8_t *weight_digests;
  uint64_t weight_file_bytes;
  /* The kernels' target, as in a spec: "nvptx64-nvidia-cuda:
     sm_80"; null: CPUs, whose kernels are tasks. */
  const char *device_target;
  /* The kernels for it, such as PTX text, which ends with a 0 that is not
     counted; null on CPUs. */
  const char *device_code;
  uint64_t device_code_bytes;
  /* The offsets of the placement for max_rows, whose other numbers are the
     module's; and further placements, for fewer and fewer rows. */
  const uint32_t *offsets;
  const hone_placement *placements;
  uint32_t placement_count;
  uint32_t place_count;
  /* SHA-256 of code and tables, in hex: a step that was suspended goes on in
     the program with the same ones alone. */
  const char *program_digest;
} hone_module;

/* Defined by the generated half. */
extern const hone_module hone_compiled_module;

#ifdef __cplusplus
}
#endif
