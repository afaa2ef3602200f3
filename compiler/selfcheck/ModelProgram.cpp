//===- ModelProgram.cpp - The small model, compiled to be checked ---------===//

#include "compiler/selfcheck/ModelProgram.h"

#include "compiler/import/ModelImport.h"
#include "compiler/selfcheck/Numbers.h"
#include "passes/module/Schedule.h"

#include <algorithm>

using namespace mlir;
using namespace hone;
using namespace hone::selfcheck;

/// Leaves `entry` and its callees.
static void keepOnly(EntryOp entry) {
  auto module = entry->getParentOfType<ModuleOp>();
  for (EntryOp other : llvm::make_early_inc_range(module.getOps<EntryOp>()))
    if (other != entry)
      other.erase();
  for (BlockOp block : llvm::make_early_inc_range(module.getOps<BlockOp>()))
    if (SymbolTable::symbolKnownUseEmpty(block, module))
      block.erase();
}

llvm::Expected<ModelProgram> ModelProgram::build(ModuleOp model, Derive derive,
                                                 const Target &target,
                                                 CheckValues::Tensors weights) {
  OwningOpRef<ModuleOp> module(model.clone());
  ModelProgram result;
  module->walk([&](InputOp op) {
    result.inputs[op.getName().str()] = integersOf(op, vocabularySize(model));
  });
  FailureOr<EntryOp> loss = findLossEntry(*module);
  FailureOr<EntryOp> entry =
      succeeded(loss) ? derive(*loss) : FailureOr<EntryOp>();
  if (failed(entry))
    return llvm::createStringError("the model cannot be derived");
  keepOnly(*entry);
  auto built = EntryProgram::build(*module, target);
  if (!built)
    return built.takeError();
  result.program = std::move(*built);
  result.weights = std::move(weights);
  result.program.setWeights(result.weights.table);
  return result;
}

void ModelProgram::setInputs(const std::vector<double> &theta) {
  elements = theta.size();
  program.reset();
  program.write("theta", theta);
  for (const auto &[name, values] : inputs)
    program.write("input." + name, values);
}

Outcome ModelProgram::gradientAt(const std::vector<double> &theta,
                                 rt::Pool &pool) {
  setInputs(theta);
  setArgument<double>(0, 1.0);
  run(pool);
  return {number(0), gradient()};
}

void selfcheck::setDirection(const Parameter &parameter,
                             const std::vector<double> &gradient,
                             std::vector<double> &direction) {
  llvm::ArrayRef<double> along = slice(gradient, parameter);
  std::vector<double> across =
      RandomNumbers("direction of " + parameter.name).take(along.size());
  double length = std::max(norm(along), 1e-300), width = norm(across);
  for (size_t i = 0; i < along.size(); ++i)
    direction[parameter.offset + i] = along[i] / length + across[i] / width;
}

std::vector<double> selfcheck::moved(std::vector<double> theta, double step,
                                     ArrayRef<double> direction) {
  for (size_t i = 0; i < theta.size(); ++i)
    theta[i] += step * direction[i];
  return theta;
}

double
selfcheck::slopeOf(llvm::function_ref<double(const std::vector<double> &)> loss,
                   const std::vector<double> &theta,
                   llvm::ArrayRef<double> direction) {
  double slope = 0;
  for (Sample sample : derivativeSamples(kStep))
    slope += sample.weight * loss(moved(theta, sample.at, direction));
  return slope;
}

double selfcheck::relativeError(llvm::ArrayRef<double> a,
                                llvm::ArrayRef<double> b) {
  std::vector<double> difference(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    difference[i] = a[i] - b[i];
  return norm(difference) / norm(b);
}
