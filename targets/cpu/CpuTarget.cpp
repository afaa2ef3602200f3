//===- CpuTarget.cpp - x86-64 and AArch64 with vectors --------------------===//
//
// See CpuTarget.h.
//
//===----------------------------------------------------------------------===//

#include "targets/cpu/CpuTarget.h"

#include "targets/cpu/CpuDescription.h"
#include "targets/cpu/CpuDialect.h"
#include "targets/cpu/CpuKernels.h"
#include "targets/cpu/CpuPasses.h"
#include "targets/host/HostTarget.h"
#include "targets/math/MathPasses.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace hone;

namespace {

class CpuTarget : public HostTarget {
public:
  CpuTarget(std::unique_ptr<llvm::TargetMachine> machine)
      : HostTarget(std::move(machine)),
        cpu(describeCpu(
            architecture(),
            [&](StringRef feature) { return hasFeature(feature); })),
        ownKernels(cpu.bfloat16Dots && !cpu.bfloat16Unit) {}

  tile::Blocks blocks() const override { return {cpu.panelWidth(32)}; }
  const TargetKernels *kernels() const override { return &ownKernels; }
  bool hasBFloat16Products() const override { return cpu.bfloat16Dots; }
  bool prefersBFloat16Products() const override {
    return cpu.bfloat16Unit ||
           (cpu.bfloat16Dots && hasFastBFloat16Dots(request().cpu));
  }
  void buildLoweringPipeline(OpPassManager &pm) const override;
  void buildSizingPipeline(OpPassManager &pm) const override;

private:
  CpuDescription cpu;
  CpuKernels ownKernels;
};

} // namespace

void CpuTarget::buildSizingPipeline(OpPassManager &pm) const {
  // With one instruction, and no matrix unit, which stores sums alone.
  bool rounds = cpu.bfloat16Dots && !cpu.bfloat16Unit;
  pm.addPass(createFetchRows());
  pm.addPass(createExpandProducts({/*roundingKernels=*/rounds}));
  // From here on all private buffers are there.
  pm.addPass(createSizeScratch());
}

void CpuTarget::buildLoweringPipeline(OpPassManager &pm) const {
  buildSizingPipeline(pm);
  pm.addPass(createBindFrame());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createOutlineParallel());
  // From here on no parallel loop remains.
  pm.addPass(
      createLowerTiles({cpu.vectorBits, cpu.vectorRegisters, cpu.maskedMemory,
                        cpu.bfloat16Dots, cpu.bfloat16Unit}));
  // From here on vectors are final: canonicalising would take shuffle networks
  // apart.
  pm.addPass(createApproximateMath({/*scalesVectors=*/cpu.vectorBits == 512}));
  pm.addPass(createExpandMath());
  // From here on nothing rounds as a C library chose.
  if (cpu.bfloat16Dots)
    pm.addPass(createRoundToBFloat16());
  buildLlvmPipeline(pm);
}

llvm::Expected<std::unique_ptr<Target>>
hone::createCpuTarget(const TargetRequest &request) {
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      createHostMachine(request);
  if (!machine)
    return machine.takeError();
  if (!*machine)
    return nullptr;
  return std::make_unique<CpuTarget>(std::move(*machine));
}

void hone::registerCpuDialect(DialectRegistry &registry) {
  registry.insert<cpu::CpuDialect>();
}
