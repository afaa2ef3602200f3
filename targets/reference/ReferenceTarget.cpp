//===- ReferenceTarget.cpp - The oracle of the other targets --------------===//
//
// See ReferenceTarget.h.
//
//===----------------------------------------------------------------------===//

#include "targets/reference/ReferenceTarget.h"

#include "targets/host/HostTarget.h"
#include "targets/reference/ReferencePasses.h"

using namespace mlir;
using namespace hone;

static constexpr llvm::StringLiteral kName = "reference";

namespace {

class ReferenceTarget : public HostTarget {
public:
  using HostTarget::HostTarget;

  TargetRequest request() const override {
    TargetRequest machine = HostTarget::request();
    machine.triple = kName.str();
    return machine;
  }
  /// Small, and smaller in rows than batches are, so that loops which no other
  /// target cuts are cut here.
  tile::Blocks blocks() const override { return {/*columns=*/24, /*rows=*/16}; }
  bool hasBFloat16Products() const override { return true; }
  void buildLoweringPipeline(OpPassManager &pm) const override;
  void buildSizingPipeline(OpPassManager &pm) const override;

protected:
  bool vectorizes() const override { return false; }
};

} // namespace

void ReferenceTarget::buildSizingPipeline(OpPassManager &pm) const {
  pm.addPass(createFetchRows());
  pm.addPass(createSizeScratch());
}

void ReferenceTarget::buildLoweringPipeline(OpPassManager &pm) const {
  buildSizingPipeline(pm);
  pm.addPass(createLowerToLoops());
  pm.addPass(createBindFrame());
  pm.addPass(createOutlineParallel());
  buildLlvmPipeline(pm);
}

llvm::Expected<std::unique_ptr<Target>>
hone::createReferenceTarget(const TargetRequest &request) {
  if (request.triple != kName)
    return nullptr;
  TargetRequest machine = request;
  machine.triple = "native";
  auto created = createHostMachine(machine);
  if (!created)
    return created.takeError();
  if (!*created)
    return nullptr;
  return std::make_unique<ReferenceTarget>(std::move(*created));
}
