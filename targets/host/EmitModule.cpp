//===- EmitModule.cpp - hone_compiled_module as LLVM constants ------------===//
//
// Field order is runtime.h's. LLVM lays a non-packed struct out as C does, so
// order and types are all that has to agree.
//
//===----------------------------------------------------------------------===//

#include "targets/host/EmitModule.h"

#include "runtime/src/base/Sha256.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"

using namespace hone;
using llvm::Constant;

static constexpr llvm::StringLiteral kDigestName = "hone_program_digest";
static constexpr size_t kDigestDigits = 64;

static Constant *digestText(llvm::LLVMContext &context, llvm::StringRef text) {
  return llvm::ConstantDataArray::getString(context, text);
}

namespace {

/// Makes the constants that tables consist of.
class TableBuilder {
public:
  explicit TableBuilder(llvm::Module &module)
      : module(module), context(module.getContext()) {}

  Constant *u32(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  }
  Constant *u64(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value);
  }
  Constant *null() {
    return llvm::ConstantPointerNull::get(
        llvm::PointerType::getUnqual(context));
  }
  /// The function called `symbol`; null if that is empty.
  Constant *function(const std::string &symbol) {
    return symbol.empty() ? null()
                          : static_cast<Constant *>(module.getFunction(symbol));
  }
  Constant *stringOrNull(const std::string &text) {
    return text.empty() ? null() : string(text);
  }
  Constant *indices(llvm::ArrayRef<uint32_t> values) {
    return values.empty()
               ? null()
               : global(llvm::ConstantDataArray::get(context, values));
  }
  Constant *string(llvm::StringRef text) {
    return global(llvm::ConstantDataArray::getString(context, text));
  }
  Constant *bytes(llvm::StringRef value) {
    return global(llvm::ConstantDataArray::getString(context, value,
                                                     /*AddNull=*/false));
  }
  /// The digest that sealModule writes.
  Constant *digest() {
    Constant *text = digestText(context, std::string(kDigestDigits, '0'));
    return new llvm::GlobalVariable(module, text->getType(),
                                    /*isConstant=*/true,
                                    llvm::GlobalValue::PrivateLinkage, text,
                                    kDigestName);
  }
  Constant *bytesOrNull(llvm::ArrayRef<uint8_t> values) {
    return values.empty() ? null() : bytes(llvm::toStringRef(values));
  }
  Constant *pieces(const std::vector<hone_piece> &pieces) {
    return table<hone_piece>(pieces, [&](const hone_piece &piece) {
      return record(
          {u64(piece.offset), u64(piece.bytes), u64(piece.row_bytes)});
    });
  }
  Constant *shape(llvm::ArrayRef<int64_t> dimensions) {
    llvm::SmallVector<uint64_t> words(dimensions.begin(), dimensions.end());
    return global(llvm::ConstantDataArray::get(context, words));
  }
  Constant *record(llvm::ArrayRef<Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }

  /// A table with one record for each item, or null when there are none.
  template <typename Item>
  Constant *table(const std::vector<Item> &items,
                  llvm::function_ref<Constant *(const Item &)> makeRecord) {
    if (items.empty())
      return null();
    llvm::SmallVector<Constant *> records;
    for (const Item &item : items)
      records.push_back(makeRecord(item));
    auto *type =
        llvm::ArrayType::get(records.front()->getType(), records.size());
    return global(llvm::ConstantArray::get(type, records));
  }

  Constant *slots(const std::vector<SlotDescription> &items) {
    return table<SlotDescription>(items, [&](const SlotDescription &slot) {
      return record({string(slot.name), u32(slot.dtype), u32(slot.shape.size()),
                     shape(slot.shape), u64(slot.offset)});
    });
  }

private:
  Constant *global(Constant *value) {
    auto *variable = new llvm::GlobalVariable(
        module, value->getType(), /*isConstant=*/true,
        llvm::GlobalValue::PrivateLinkage, value, "hone_table");
    variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return variable;
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
};

} // namespace

/// The fields of hone_schedule, in order.
static Constant *buildSchedule(TableBuilder &t, const ScheduleDescription &s) {
  Constant *items =
      t.table<ItemDescription>(s.items, [&](const ItemDescription &item) {
        return t.record({t.u32(item.kind),
                         t.u32(item.stage),
                         t.function(item.run),
                         t.function(item.otherwise),
                         t.u32(item.condition),
                         t.u32(item.batch),
                         t.u64(item.work),
                         t.indices(item.values),
                         t.u32(item.values.size()),
                         t.u32(item.carried),
                         t.u32(item.body),
                         t.u32(item.stages),
                         t.stringOrNull(item.peer),
                         t.stringOrNull(item.channel),
                         t.stringOrNull(item.problem),
                         t.bytesOrNull(item.sides),
                         t.pieces(item.pieces),
                         t.u32(item.pieces.size()),
                         t.u32(item.behind),
                         t.u32(item.place)});
      });
  Constant *values = t.table<hone_value>(s.values, [&](const hone_value &v) {
    return t.record({t.u64(v.offset), t.u64(v.stride), t.u64(v.bytes),
                     t.u64(v.row_bytes), t.u32(v.slots), t.u32(v.depth),
                     t.u32(v.stage), t.u32(v.place)});
  });
  auto numbers = [&](const std::vector<NumberDescription> &list) {
    return t.table<NumberDescription>(list, [&](const NumberDescription &n) {
      return t.record({t.string(n.name), t.u32(n.dtype), t.u32(n.value)});
    });
  };
  Constant *settings = numbers(s.settings), *reports = numbers(s.reports);
  return t.record({t.u32(s.purpose), t.u32(s.items.size()), items, values,
                   settings, reports, t.u32(s.values.size()),
                   t.u32(s.settings.size()), t.u32(s.reports.size()),
                   t.u32(s.batchSlots)});
}

/// The fields of hone_module, in order.
static Constant *buildModule(TableBuilder &t, const ModuleDescription &d) {
  Constant *schedules = t.table<ScheduleDescription>(
      d.schedules, [&](const ScheduleDescription &schedule) {
        return buildSchedule(t, schedule);
      });
  Constant *weights = t.table<WeightDescription>(
      d.weights, [&](const WeightDescription &weight) {
        return t.record({t.string(weight.name), t.u32(weight.dtype),
                         t.u32(weight.shape.size()), t.shape(weight.shape)});
      });
  Constant *trainables = t.table<TrainableDescription>(
      d.trainables, [&](const TrainableDescription &trainable) {
        return t.record({t.string(trainable.name),
                         t.u32(trainable.shape.size()), t.u32(trainable.init),
                         t.shape(trainable.shape), t.u64(trainable.offset),
                         t.u32(trainable.transposed), t.u32(trainable.layer)});
      });
  Constant *kernels = t.table<KernelDescription>(
      d.kernels, [&](const KernelDescription &kernel) {
        Constant *fields =
            t.table<hone_field>(kernel.fields, [&](const hone_field &field) {
              return t.record({t.u32(field.offset), t.u32(field.bytes),
                               t.u32(field.access)});
            });
        return t.record({t.function(kernel.task), t.stringOrNull(kernel.symbol),
                         t.string(kernel.block), t.string(kernel.name),
                         t.u32(kernel.threads), t.u32(kernel.sharedBytes),
                         fields, t.u32(kernel.fields.size())});
      });
  Constant *placements = t.table<PlacementDescription>(
      d.placements, [&](const PlacementDescription &placement) {
        return t.record(
            {t.u64(placement.rows), t.indices(placement.offsets),
             t.u64(placement.arenaBytes), t.u64(placement.accumulationEnd),
             t.u64(placement.gradientOffset), t.u64(placement.gradientEnd)});
      });
  return t.record({t.u32(sizeof(hone_module)),
                   t.u32(HONE_ABI_VERSION),
                   t.string(d.config),
                   t.u64(d.maxRows),
                   t.u64(d.arenaBytes),
                   t.u64(d.accumulationEnd),
                   t.u64(d.threadBytes),
                   t.u32(d.states.size()),
                   t.u32(d.trainableDtype),
                   t.u64(d.trainableElements),
                   t.u64(d.thetaOffset),
                   t.u64(d.gradientOffset),
                   t.u64(d.gradientEnd),
                   t.slots(d.states),
                   schedules,
                   t.slots(d.inputs),
                   weights,
                   trainables,
                   kernels,
                   t.u32(d.schedules.size()),
                   t.u32(d.inputs.size()),
                   t.u32(d.weights.size()),
                   t.u32(d.trainables.size()),
                   t.u32(d.kernels.size()),
                   t.bytes(d.weightDigests),
                   t.u64(d.weightFileBytes),
                   t.stringOrNull(d.deviceTarget),
                   t.stringOrNull(d.deviceCode),
                   t.u64(d.deviceCode.size()),
                   t.indices(d.offsets),
                   placements,
                   t.u32(d.placements.size()),
                   t.u32(d.offsets.size()),
                   t.digest()});
}

static llvm::Error missing(llvm::StringRef who, const std::string &symbol) {
  return llvm::createStringError(who + " names the function '" + symbol +
                                 "', which the module does not define");
}

llvm::Error hone::emitModuleTables(llvm::Module &module,
                                   const ModuleDescription &description) {
  for (const ScheduleDescription &schedule : description.schedules)
    for (const ItemDescription &item : schedule.items)
      for (const std::string &symbol : {item.run, item.otherwise})
        if (!symbol.empty() && !module.getFunction(symbol))
          return missing("an item", symbol);
  for (const KernelDescription &kernel : description.kernels)
    if (!kernel.task.empty() && !module.getFunction(kernel.task))
      return missing("a kernel", kernel.task);
  for (llvm::GlobalValue &value : module.global_values())
    if (!value.isDeclaration()) {
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
      // Equal functions may become one: nobody compares their addresses.
      value.setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    }

  TableBuilder tables(module);
  Constant *value = buildModule(tables, description);
  new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, value,
                           description.symbol);
  return llvm::Error::success();
}

void hone::sealModule(llvm::Module &module, llvm::StringRef machine) {
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream out(code);
  llvm::WriteBitcodeToFile(module, out);
  rt::Sha256 hash;
  hash.update(machine);
  hash.update(code.str());
  llvm::GlobalVariable *digest =
      module.getGlobalVariable(kDigestName, /*AllowInternal=*/true);
  digest->setInitializer(digestText(module.getContext(), hash.finishHex()));
}
