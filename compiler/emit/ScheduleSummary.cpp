//===- ScheduleSummary.cpp - From a placed schedule to hone_schedule ------===//
//
// Values are numbered in the order in which they are made. A carried value is
// where its repeat's result is: the body's argument is that place too.
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/ModuleSummary.h"

#include "passes/kernels/BlockFunctions.h"
#include "passes/module/Schedule.h"
#include "passes/place/Lifetimes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace hone;
using namespace mlir;

namespace {

class ScheduleWriter {
public:
  ScheduleWriter(const Schedule &schedule, int64_t rows,
                 const OffsetTable &offsets)
      : schedule(schedule), rows(rows), offsets(offsets) {}

  ScheduleDescription write();

private:
  void addValues(const Schedule::Item &item);
  uint32_t placeOf(SlotAttr slot) const {
    return offsets.find(offsets.of(slot));
  }
  uint32_t indexOf(Value value) const { return numbers.lookup(value); }
  void append(ItemDescription &item, ValueRange values) const {
    for (Value value : values)
      item.values.push_back(indexOf(value));
  }
  void describeRepeat(RepeatOp repeat, ItemDescription &item) const;
  /// Where the input of a batch is that `op` exchanges.
  hone_piece pieceOf(Operation *op, NamedAttribute input) const;
  /// False for an op that is no item: settings, reports, ends of bodies.
  bool describe(Operation *op, ItemDescription &item);

  const Schedule &schedule;
  int64_t rows;
  const OffsetTable &offsets;
  ScheduleDescription out;
  llvm::DenseMap<Value, uint32_t> numbers;
};

} // namespace

static uint32_t depthOf(Operation *op) {
  uint32_t depth = 0;
  while ((op = op->getParentOfType<RepeatOp>()))
    ++depth;
  return depth;
}

void ScheduleWriter::addValues(const Schedule::Item &item) {
  auto slots =
      item.op->getAttrOfType<ArrayAttr>(HoneDialect::getSlotsAttrName());
  for (OpResult result : item.op->getResults()) {
    auto slot = cast<SlotAttr>(slots[result.getResultNumber()]);
    hone_value value = {};
    value.offset = slot.getOffset();
    value.place = placeOf(slot);
    value.stride = slot.getBytes();
    value.slots = static_cast<uint32_t>(slot.getCount());
    value.depth = depthOf(item.op);
    value.stage = static_cast<uint32_t>(item.stage);
    if (auto tensor = dyn_cast<RankedTensorType>(result.getType())) {
      value.bytes = bytesIn(tensor, {rows, rows});
      value.row_bytes =
          tensor.hasStaticShape() ? 0 : bytesIn(tensor, {1, rows});
    } else {
      out.batchSlots = std::max(out.batchSlots, value.slots);
    }
    numbers[result] = static_cast<uint32_t>(out.values.size());
    out.values.push_back(value);
  }
  if (auto repeat = dyn_cast<RepeatOp>(item.op))
    for (auto [argument, result] : llvm::zip_equal(
             repeat.getBody().front().getArguments(), repeat.getResults()))
      numbers[argument] = numbers.lookup(result);
}

void ScheduleWriter::describeRepeat(RepeatOp repeat,
                                    ItemDescription &item) const {
  mlir::Block &body = repeat.getBody().front();
  append(item, repeat.getCount());
  append(item, repeat.getCarried());
  append(item, repeat.getResults());
  append(item, cast<YieldOp>(body.getTerminator()).getOperands());
  item.carried = repeat.getCarried().size();
  item.stages = static_cast<uint32_t>(repeat.getNumStages());
  repeat.getBody().walk(
      [&](Operation *op) { item.body += isa<ItemOpInterface, RepeatOp>(op); });
}

hone_piece ScheduleWriter::pieceOf(Operation *op, NamedAttribute input) const {
  auto type = cast<TypeAttr>(input.getValue()).getValue();
  const std::string name = ("input." + input.getName().getValue()).str();
  hone_piece piece = {};
  for (RegionOp region : op->getParentOfType<ModuleOp>().getOps<RegionOp>())
    if (region.getName() == name)
      piece.offset = region.getOffset();
  piece.bytes = bytesAtRows(type, rows);
  piece.row_bytes = hasRows(type) ? bytesAtRows(type, 1) : 0;
  return piece;
}

/// Of a number that the program gives or reads.
static hone_dtype dtypeOf(Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  return element.isF64() ? HONE_F64 : element.isF32() ? HONE_F32 : HONE_I64;
}

bool ScheduleWriter::describe(Operation *op, ItemDescription &item) {
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](RunOp run) {
        auto work =
            run->getAttrOfType<SlotAttr>(HoneDialect::getScratchAttrName());
        item.kind = HONE_RUN;
        item.run = entryFunctionName(run.getEntry());
        if (run.getOtherwise())
          item.otherwise = entryFunctionName(*run.getOtherwise());
        if (run.getCondition())
          item.condition = indexOf(run.getCondition());
        if (run.getBatch())
          item.batch = indexOf(run.getBatch());
        item.work = work.getOffset();
        item.place = placeOf(work);
        append(item, run.getValues());
        append(item, run.getResults());
        return true;
      })
      .Case([&](ScalarOp scalar) {
        item.kind = HONE_SCALAR;
        item.run = scalarEntryName(scalar.getFunction());
        append(item, scalar.getOperands());
        append(item, scalar.getResults());
        return true;
      })
      .Case([&](LoadOp load) {
        item.kind = HONE_LOAD;
        item.batch = indexOf(load.getBatch());
        return true;
      })
      .Case([&](RepeatOp repeat) {
        item.kind = HONE_REPEAT;
        describeRepeat(repeat, item);
        return true;
      })
      .Case([&](CheckOp check) {
        item.kind = HONE_CHECK;
        item.problem = check.getProblem().value_or("").str();
        append(item, check.getOperands());
        return true;
      })
      .Case<SendOp, ReceiveOp>([&](auto exchange) {
        item.kind = std::is_same_v<decltype(exchange), SendOp> ? HONE_SEND
                                                               : HONE_RECEIVE;
        item.peer = exchange.getPeer().str();
        item.channel = exchange.getChannel().str();
        if (exchange.getBatch())
          item.batch = indexOf(exchange.getBatch());
        append(item, Value(exchange.getValue()));
        item.behind = static_cast<uint32_t>(exchange.getBehind());
        if (DictionaryAttr inputs = exchange.getInputsAttr()) {
          item.batch = item.values.front();
          for (NamedAttribute input : inputs)
            item.pieces.push_back(pieceOf(op, input));
        }
        return true;
      })
      .Case([&](FoldOp) {
        item.kind = HONE_FOLD;
        return true;
      })
      .Case([&](WaitOp wait) {
        item.kind = HONE_WAIT;
        append(item, wait.getValue());
        return true;
      })
      .Case([&](SettingOp setting) {
        out.settings.push_back({setting.getName().str(),
                                dtypeOf(setting.getType()), indexOf(setting)});
        return false;
      })
      .Case([&](ReportOp report) {
        out.reports.push_back({report.getName().str(),
                               dtypeOf(report.getValue().getType()),
                               indexOf(report.getValue())});
        return false;
      })
      .Default([](Operation *) { return false; });
}

ScheduleDescription ScheduleWriter::write() {
  out.purpose =
      static_cast<hone_purpose>(ScheduleOp(schedule.getOp()).getPurpose());
  for (const Schedule::Item &item : schedule.items())
    addValues(item);
  for (const Schedule::Item &item : schedule.items()) {
    ItemDescription description;
    description.stage = static_cast<uint32_t>(item.stage);
    if (describe(item.op, description))
      out.items.push_back(std::move(description));
  }
  return std::move(out);
}

std::vector<ScheduleDescription>
hone::describeSchedules(ModuleOp module, const OffsetTable &offsets) {
  std::vector<ScheduleDescription> schedules;
  int64_t rows = maxRows(module).value_or(0);
  for (ScheduleOp op : module.getOps<ScheduleOp>())
    schedules.push_back(ScheduleWriter(Schedule(op), rows, offsets).write());
  return schedules;
}
