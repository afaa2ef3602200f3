//===- TeamBuilder.h - Code that threads run together ---------------------===//
//
// A team is the threads of a workgroup, or the lanes of a subgroup. All of them
// run the code that is built here; these functions say which thread does which
// part.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "dialects/Tile/ScalarBuilder.h"
#include "targets/gpu/Kernel.h"

namespace hone::simt {

/// State that all code of a kernel shares: a thread's numbers, and shared
/// buffers that no two pieces of code use at a time.
class KernelState {
public:
  KernelState(mlir::gpu::GPUFuncOp kernel, const DeviceFeatures &device);

  const DeviceFeatures device;
  mlir::Value thread, lane, subgroup;

  /// Buffer `number` of this type, the same at each call.
  mlir::Value scratch(mlir::MemRefType type, unsigned number = 0);
  /// So many shared bytes, the same ones at each call.
  mlir::Value stages(int64_t bytes);

private:
  mlir::gpu::GPUFuncOp kernel;
  llvm::DenseMap<std::pair<mlir::Type, unsigned>, mlir::Value> buffers;
  mlir::Value staged;
};

struct Team {
  KernelState &state;
  bool isSubgroup;

  int64_t size() const { return isSubgroup ? kLanes : kThreads; }
  mlir::Value member() const { return isSubgroup ? state.lane : state.thread; }
};

class TeamBuilder : public ScalarBuilder {
public:
  /// At `place` or, if it is not set, before `op`.
  TeamBuilder(mlir::Operation *op, const Team &team,
              mlir::OpBuilder::InsertPoint place = {})
      : ScalarBuilder(op->getLoc(), op), team(team) {
    if (place.isSet())
      restoreInsertionPoint(place);
  }

  /// Deals [0, count) out in turn, and carries each thread's own `values`.
  llvm::SmallVector<mlir::Value>
  deal(mlir::Value count, mlir::ValueRange values,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body);
  void deal(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);
  /// The first of the team does it.
  void once(llvm::function_ref<void()> body);
  /// Code that each thread runs alone, or that has its barriers: no other goes
  /// into it.
  llvm::SmallVector<mlir::Value>
  alone(mlir::TypeRange results,
        llvm::function_ref<llvm::SmallVector<mlir::Value>()> body);
  /// for (i = from; i < to; ++i), in code that has the body once.
  void loopRolled(mlir::Value from, mlir::Value to,
                  llvm::function_ref<void(mlir::Value)> body);
  /// for (i = from; i < to; i += step) carries `values` through the body, in
  /// code that has the body once, as it is: it is as long as it should be.
  llvm::SmallVector<mlir::Value> foldRolled(
      mlir::Value from, mlir::Value to, int64_t step, mlir::ValueRange values,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                        mlir::ValueRange)>
          body);
  /// for (i = from; i < to; i += step) carries `values` through the body.
  llvm::SmallVector<mlir::Value>
  fold(mlir::Value from, mlir::Value to, int64_t step, mlir::ValueRange values,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                         mlir::ValueRange)>
           body);

  mlir::Value isLess(mlir::Value a, mlir::Value b);
  mlir::Value isEqual(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// Lane `lane ^ distance`'s value.
  mlir::Value exchange(mlir::Value value, int32_t distance);
  /// Lane 0's value.
  mlir::Value fromFirstLane(mlir::Value value);

  const Team &team;

private:
  mlir::Value shuffle(mlir::Value value, int32_t offset,
                      mlir::gpu::ShuffleMode mode);
};

} // namespace hone::simt
