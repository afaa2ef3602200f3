//===- VerifyExchanges.cpp - hone-verify-exchanges ------------------------===//
//
// A broken rule here is a bug of the passes that cut a model, or of a schedule
// that was written by hand.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/module/Schedule.h"
#include "passes/parts/ExchangeProgram.h"
#include "passes/place/SchedulePlacement.h"

#include "llvm/ADT/TypeSwitch.h"

#include <set>

using namespace mlir;

namespace hone {

#define GEN_PASS_DEF_VERIFYEXCHANGES
#include "passes/Passes.h.inc"

namespace {

/// A part's schedule of one purpose, and where its items are.
class ProgramReader {
public:
  ProgramReader(StringRef part, const Schedule &schedule) : schedule(schedule) {
    program.part = part.str();
  }

  ExchangeProgram read(SmallVector<Operation *> &places) {
    for (const Schedule::Item &item : schedule.items())
      add(item, places);
    return std::move(program);
  }

private:
  static size_t depthOf(Operation *op) {
    size_t depth = 0;
    while ((op = op->getParentOfType<RepeatOp>()))
      ++depth;
    return depth;
  }
  size_t numberOf(Value value) {
    // The body's argument is where its repeat's result is.
    if (auto argument = dyn_cast<BlockArgument>(value))
      value = argument.getOwner()->getParentOp()->getResult(
          argument.getArgNumber());
    auto [known, isNew] = numbers.try_emplace(value, program.values.size());
    if (isNew)
      program.values.push_back(
          {schedule.slotCount(value), depthOf(value.getDefiningOp())});
    return known->second;
  }

  void add(const Schedule::Item &item, SmallVector<Operation *> &places) {
    ExchangeItem out;
    out.stage = item.stage;
    // A yielded value is copied at the stage that makes it.
    for (Value operand :
         isa<YieldOp>(item.op) ? ValueRange() : item.op->getOperands())
      out.reads.push_back(numberOf(operand));
    for (Value result : item.op->getResults())
      out.makes.push_back(numberOf(result));
    TypeSwitch<Operation *>(item.op)
        .Case<SendOp, ReceiveOp>([&](auto exchange) {
          const bool isSend = isa<SendOp>(item.op);
          out.kind =
              isSend ? ExchangeItem::Kind::Send : ExchangeItem::Kind::Receive;
          out.peer = exchange.getPeer().str();
          out.channel = exchange.getChannel().str();
          Value value = exchange.getValue();
          llvm::raw_string_ostream type(out.type);
          type << value.getType();
          if (exchange.getInputs())
            type << " " << *exchange.getInputs();
          out.isSmall = isScalar(value.getType());
          out.comesInPieces = isa<BatchType>(value.getType());
          out.behind = exchange.getBehind();
        })
        .Case([&](WaitOp) { out.kind = ExchangeItem::Kind::Wait; })
        .Case([&](RepeatOp repeat) {
          out.kind = ExchangeItem::Kind::Repeat;
          repeat.getBody().walk([&](Operation *) { ++out.body; });
        });
    program.items.push_back(std::move(out));
    places.push_back(item.op);
  }

  const Schedule &schedule;
  ExchangeProgram program;
  llvm::DenseMap<Value, size_t> numbers;
};

struct VerifyExchanges : impl::VerifyExchangesBase<VerifyExchanges> {
  void runOnOperation() override {
    SmallVector<ModuleOp> parts(getOperation().getOps<ModuleOp>());
    std::set<Purpose> purposes;
    for (ModuleOp part : parts)
      for (ScheduleOp schedule : part.getOps<ScheduleOp>())
        purposes.insert(schedule.getPurpose());
    for (Purpose purpose : purposes)
      if (failed(verify(parts, purpose)))
        return signalPassFailure();
  }

private:
  static LogicalResult verify(ArrayRef<ModuleOp> parts, Purpose purpose) {
    std::vector<ExchangeProgram> programs;
    SmallVector<SmallVector<Operation *>> places;
    for (ModuleOp part : parts) {
      std::optional<Schedule> schedule = Schedule::find(part, purpose);
      if (!schedule)
        return part.emitError("has no schedule '")
               << stringifyPurpose(purpose) << "', which another part has";
      programs.push_back(
          ProgramReader(part.getSymName().value_or(""), *schedule)
              .read(places.emplace_back()));
    }
    std::optional<ExchangeProblem> problem = findExchangeProblem(programs);
    if (!problem)
      return success();
    return places[problem->program][problem->item]->emitOpError()
           << "of the part '" << programs[problem->program].part << "' "
           << problem->text;
  }
};

} // namespace

} // namespace hone
