//===- Interpreter.h - Runs a schedule ------------------------------------===//
//
// The one loop over items, whatever the method. It knows how items follow one
// another and what of them reads and writes which value, and nothing of what
// they compute. Kernels run on the device, all else on the host.
//
// In a repeat, an item of stage s runs iteration i at tick i + s. What
// iteration i makes is in slot i mod slots, so a reader of a later stage finds
// it there.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_RUNTIME_STEP_INTERPRETER_H
#define HONE_RUNTIME_STEP_INTERPRETER_H

#include "base/Status.h"
#include "hone/runtime.h"
#include "module/Schedule.h"
#include "step/Values.h"

#include <cstdint>
#include <vector>

namespace hone::rt {

/// Where a schedule's batches come from.
class BatchSource {
public:
  virtual ~BatchSource() = default;
  /// Writes the next batch's inputs, whose offsets count from `base`, an
  /// address of the device; returns its rows. Called once for each `hone.load`
  /// that runs, in order.
  virtual int64_t load(char *base) = 0;
};

/// What carries values between parts. `sequence` counts the messages of a
/// channel from 0, on both sides alike; schedules have channels of their own.
class Transport {
public:
  struct Message {
    const char *peer;
    const char *channel;
    uint64_t sequence;
    bool isSent; ///< by this side
  };
  virtual ~Transport() = default;
  /// `bytes` may be read until `wait` for the message returns.
  virtual void postSend(const Message &message, const char *bytes,
                        uint64_t size) = 0;
  /// `bytes` is written between this and the return of `wait`.
  virtual void postReceive(const Message &message, char *bytes,
                           uint64_t size) = 0;
  virtual void wait(const Message &message) = 0;
};

class Interpreter {
public:
  /// `frame` is what `device` loaded, with an arena. `transport` is null for a
  /// schedule without exchanges. All must outlive the interpreter.
  Interpreter(const hone_schedule &schedule, Device &device,
              const hone_frame &frame, Transport *transport = nullptr);

  /// Before run(): a setting of the schedule; nothing if it has none of this
  /// name.
  void set(const char *name, double value);
  void set(const char *name, int64_t value);
  void set(const char *name, const float *values);

  /// Runs every item. False if a number that must be finite is not; no item
  /// after that check has run.
  bool run(BatchSource &batches);

  /// After a run() that was false: the problem that the check names; null if
  /// it names none, because numbers diverged.
  const char *problem() const { return failedCheck->problem; }

  /// After run(): the reported number, or NaN if the schedule has none of this
  /// name, or did not come that far.
  double report(const char *name);
  bool hasReport(const char *name) const {
    return findReport(name, HONE_F64) != nullptr;
  }
  /// The same for several; null if the schedule has none of this name. They
  /// stay there until this or another schedule of the arena runs.
  const float *reports(const char *name);
  const double *exactReports(const char *name);

  /// See Values.
  uint64_t hostBytes() const { return values.hostBytes(); }

private:
  /// Where the setting is written; null if there is none.
  void *find(const char *name, uint32_t dtype);
  const hone_number *findReport(const char *name, uint32_t dtype) const;
  /// Value `index` in this iteration, on the host.
  template <typename T> T number(uint32_t index) {
    return *reinterpret_cast<T *>(values.onHost(index, Values::Use::Read));
  }
  char *batchAt(uint32_t index) const;
  /// Rows of the batch that value `index` is, in this iteration.
  int64_t &rowsOf(uint32_t index);
  uint64_t bytesOf(const hone_item &item);
  bool runItems(uint32_t first, uint32_t end, uint32_t depth);
  bool runItem(uint32_t index, uint32_t depth);
  bool repeat(uint32_t index, uint32_t depth);
  void call(const hone_item &item);
  void exchange(const hone_item &item);
  void wait(const hone_item &item);

  struct Posted {
    uint32_t value; ///< where it is, in which slot
    uint32_t slot;
    Transport::Message message;
  };

  const hone_schedule &schedule;
  Device &device;
  hone_frame frame;
  Values values;
  Transport *transport;
  BatchSource *source = nullptr;
  const hone_item *failedCheck = nullptr;
  /// Arguments of one call, where the device has them and where the host has.
  std::vector<char *> pointers, numbers;
  std::vector<uint32_t> results;  ///< by item: the first of its values it makes
  std::vector<int64_t> batchRows; ///< by value and slot
  /// By item: messages of its channel so far, counted where the first item of
  /// that channel stands.
  std::vector<uint64_t> sequences;
  std::vector<uint32_t> channels; ///< by item: the first one of its channel
  std::vector<Posted> posted;     ///< not waited for yet
};

} // namespace hone::rt

#endif
