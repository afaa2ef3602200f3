//===- Interpreter.h - Runs a schedule ------------------------------------===//
//
// The one loop over items, for all methods. It knows the order of items and the
// values that each reads and writes, and nothing of their computation. Kernels
// run on the device, all else on the host.
//
// In a repeat, an item of stage s runs iteration i at tick i + s. The values of
// iteration i are in slot i mod slots, where a reader of a later stage finds
// them.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "base/Status.h"
#include "device/Device.h"
#include "device/Offloading.h"
#include "hone/runtime.h"
#include "module/Schedule.h"
#include "step/Position.h"
#include "step/Ranks.h"
#include "step/Transport.h"
#include "step/Values.h"

#include <cstdint>
#include <functional>
#include <string>
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
  /// Leaves out the next batches, which other ranks load.
  virtual void pass(uint64_t /*batches*/) {}
  /// One of these had so many rows.
  virtual void hasPassed(int64_t /*rows*/) {}
};

/// Is asked before each launch of a run whether the run stops there.
class LaunchPause {
public:
  virtual ~LaunchPause() = default;
  /// Before kernel `kernel`. False: the run stops, and Interpreter::position()
  /// is where it goes on.
  virtual bool goesOn(uint32_t kernel) = 0;
  /// After it, on the host.
  virtual void ran(uint32_t kernel) = 0;
};

class Interpreter : private LaunchGate {
public:
  /// `frame` is the one of Device::load, with an arena. `transport` is null for
  /// a schedule without exchanges. All must outlive the interpreter.
  Interpreter(const hone_schedule &schedule, Device &device,
              const hone_frame &frame, Transport *transport = nullptr);

  const hone_schedule &items() const { return schedule; }

  /// From now on `others` share the batches of each repeat that loads one
  /// (SharedBatches.cpp), on a device whose memory the host sees; null: none
  /// do.
  void shareWith(Ranks *others) { ranks = others; }

  /// Before run(): a setting of the schedule; nothing if it has none of this
  /// name.
  void set(const char *name, double value);
  void set(const char *name, int64_t value);
  void set(const char *name, const float *values);

  /// Messages of runs from now on are those of the step after `completed`
  /// updates, and are counted from 0.
  void beginStep(uint64_t completed);

  /// Sends again the messages that were sent in the steps before `completed`
  /// and are received after it. `reported` has the value, N steps ago, of the
  /// step's report that a channel and ".N" name; null: it is not known. Errors:
  /// as Transport's.
  Status sendAgain(
      uint64_t completed,
      const std::function<const std::vector<float> *(const std::string &report)>
          &reported);

  /// Runs every item. False if a number that must be finite is not; no item
  /// after that check has run. Nothing is posted any more when it returns.
  /// Errors: as Transport's functions and Offloading::settle; the items from
  /// there on have not run, and memory holds nothing of use after the second.
  Result<bool> run(BatchSource &batches) { return run(batches, nullptr); }
  /// The same; where `pause` says so it stops before a launch, and is false.
  /// Goes on at `from`, unless null, with the arena as it was there. Schedules
  /// without exchanges on devices whose memory the host sees. Errors:
  /// DamagedSuspended for a position that the schedule does not come to.
  Result<bool> run(BatchSource &batches, LaunchPause *pause,
                   const Position *from = nullptr);
  /// Whether `pause` stopped the last run.
  bool isStopped() const { return stopped; }
  /// Of the next launch: when `pause` is asked, and after a run that it
  /// stopped.
  Position position() const;

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

  /// Bytes that the host takes only because it does not see the device's
  /// memory.
  uint64_t hostBytes() const {
    uint64_t bytes = values.hostBytes();
    for (const std::vector<char> &own : staging)
      bytes += own.size();
    return bytes;
  }

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
  void clearReports();
  /// False: the schedule ends here, by a check, a pause or `failure`.
  bool runItems(uint32_t first, uint32_t end, uint32_t depth);
  bool runItem(uint32_t index, uint32_t depth);
  bool repeat(uint32_t index, uint32_t depth);
  /// The same, of a repeat whose batches ranks share.
  bool repeatShared(uint32_t index, uint32_t depth);
  bool isShared(uint32_t index) const;
  /// One iteration; false: the schedule ends here.
  bool runBody(uint32_t index, uint32_t depth, int64_t iteration);
  void shareLoad(const hone_item &item);
  void shareRun(const hone_item &item);
  bool fold();
  /// Whether item `index` is before the position to go on at.
  bool isBehind(uint32_t index, uint32_t depth) const {
    return from && index < from->path[depth].item;
  }
  bool admits(uint32_t kernel) override;
  void launched(uint32_t kernel) override;
  /// Begins to search for `position`. Errors: as run().
  Status goOnAt(const Position &position);
  /// Ends the search: the run is at the item.
  void comeTo();
  /// Whether an entry's calls for files are done: not beside launches that are
  /// left out.
  void setFiles(bool areUsed);
  /// Whether a run may come to `position`.
  bool has(const Position &position) const;
  void call(const hone_item &item);
  bool exchange(const hone_item &item);
  bool exchangeBatch(const hone_item &item, Transport::Message message);
  bool wait(const hone_item &item);
  /// Posts `bytes` of the host as `message` of `item`.
  bool post(const hone_item &item, const Transport::Message &message,
            char *bytes, uint64_t size);
  /// After its number of rows, the inputs of a batch.
  bool receivePieces(const hone_item &item, Transport::Message message);
  /// Where the host has piece `index` of the batch that `item` exchanges.
  char *pieceOnHost(const hone_item &item, uint32_t index);
  /// Leaves nothing posted: waits after a check, to which peers come too, and
  /// cancels after an error.
  void settlePosted();
  bool goesOn(Status status);

  struct Posted {
    const hone_item *item;
    uint32_t slot; ///< of its value
    Transport::Message message;
  };

  /// The owner of the batch of a shared repeat's iteration.
  enum class Whose {
    All,  ///< nobody shares it
    Own,  ///< it runs here, and its results are noted
    None, ///< of nobody: there are fewer than ranks in the round
    Told, ///< its results are read, whichever rank ran it
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
  /// By item: messages of its channel in this step so far, counted where the
  /// first item of that channel stands.
  std::vector<uint64_t> sent;
  std::vector<uint32_t> channels; ///< by item: the first one of its channel
  std::vector<Posted> posted;     ///< not waited for yet
  /// By item that exchanges a batch, on a device that the host does not see:
  /// its pieces in each slot.
  std::vector<std::vector<char>> staging;
  int64_t maxRows; ///< that all values and pieces have room for
  uint64_t step = 0;
  Status failure = Status::ok();
  /// Where the run is; batchRows, batch and rows are the members' above.
  Position at;
  const Position *from = nullptr; ///< where it goes on, until it is there
  LaunchPause *pause = nullptr;
  uint64_t leftOut = 0; ///< launches of the call that runs, which ran before
  bool stopped = false;
  hone_streaming *const streaming; ///< of frames whose launches run
  Offloading *const
      offloading; ///< null: the schedule's entries offload nothing
  Ranks *ranks = nullptr;
  Whose share = Whose::All;
  /// Results of batches, in the order of items: rows, and results of runs.
  /// Those of this rank's batch, and of all in a round; and where these are
  /// read.
  std::vector<char> noted, told;
  const char *toldAt = nullptr;
  uint64_t rounds = 0;      ///< since beginStep()
  Ranks::Step folds = {};   ///< the round that runs
  uint32_t givers = 0;      ///< ranks with a batch in it
  bool isLastRound = false; ///< of its step
};

} // namespace hone::rt
