//===- DirectionMethod.h - Methods along random directions ----------------===//
//
// The common part of methods whose gradient is a sum of random directions:
// trials of every batch add up to a coefficient for each direction; an update
// is along them, and is made again from a step's reports. All batches of a step
// have the same directions.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "passes/methods/StepMethod.h"
#include "passes/methods/directions/DirectionScales.h"

namespace hone {

/// The sums over trials of all batches: a number for each direction, f64, and
/// the loss, over target tokens.
struct TrialSums {
  mlir::Value numbers, loss;
};

class DirectionMethod : public StepMethod {
public:
  DirectionMethod(StepModel &model, TrainedPart part);

  mlir::LogicalResult createEntries() override;
  llvm::SmallVector<Value> begin(ScheduleBuilder &b) override;
  llvm::SmallVector<Value> addBatch(ScheduleBuilder &b, Value batch,
                                    ValueRange carried) override;
  Value end(ScheduleBuilder &b, ValueRange carried) override;
  Value makeLate(ScheduleBuilder &b, Value loss) override;
  void appendChecked(ScheduleBuilder &b,
                     llvm::SmallVector<Value> &checked) override;
  void update(ScheduleBuilder &b) override;
  void report(ScheduleBuilder &b) override;
  void writeGradient(ScheduleBuilder &b) override;
  mlir::LogicalResult scheduleReplay() override;

protected:
  /// How far layers move along a direction; all the way where nothing is said.
  virtual llvm::SmallVector<DirectionScale> directionScales() const {
    return {};
  }
  /// How many trials there are of a batch.
  enum class Trials {
    OfEach,  ///< one along each direction
    Pairs,   ///< two
    AndBase, ///< one, and before all of them one along none
  };
  virtual Trials trials() const = 0;
  /// Adds the entry of a trial.
  virtual mlir::FailureOr<EntryOp> createTrial() = 0;
  /// Items before the trials, beside the key.
  virtual void beginTrials(ScheduleBuilder &) {}
  /// One trial of a batch, and the sums with its results.
  virtual TrialSums runTrial(ScheduleBuilder &b, Value batch, Value number,
                             TrialSums before) = 0;
  /// The divisor of differences of a direction's trials.
  virtual Value distance(ScheduleBuilder &b) = 0;

  StepModel &model;
  TrainedPart part;
  EntryOp trial;
  /// The layers whose directions are scaled, which are then all that train in
  /// the part, and their scales in the schedule that is written.
  llvm::SmallVector<llvm::StringRef> scaled;
  Value scales;
  mlir::Type keyType;
  /// Keys are made of these, in the schedule that is written.
  Value seed, step;

private:
  void readScales();
  EntryOp createEstimate(llvm::StringRef name) const;
  /// Null: directions are not scaled.
  Value makeScales(ScheduleBuilder &b) const;
  /// The update along `coefficients`, and the learning rate.
  Value updateAlong(ScheduleBuilder &b, Value coefficients);

  mlir::Type coefficientType;
  EntryOp updateEntry, estimateEntry;
  std::optional<UpdateScalars> scalars;
  llvm::SmallVector<double> lastScales, rises; ///< of `scaled`
  /// Values of the schedule that is written.
  Value first, count, weight, found, rate;
  Value isDue; ///< whether there is an update; null: there is
};

} // namespace hone
