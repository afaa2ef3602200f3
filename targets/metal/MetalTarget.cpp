//===- MetalTarget.cpp - Apple's GPUs, as text for Metal ------------------===//
//
// See MetalTarget.h.
//
//===----------------------------------------------------------------------===//

#include "targets/metal/MetalTarget.h"

#include "targets/gpu/DeviceTarget.h"
#include "targets/metal/MetalPasses.h"

using namespace mlir;
using namespace hone;

static constexpr llvm::StringLiteral kTriple = "metal";
/// The language's version decides which features a text may use: one serves all
/// GPUs.
static constexpr llvm::StringLiteral kLanguage = "metal3.2";
/// Of a threadgroup on all of Apple's GPUs (Metal feature set tables, "Maximum
/// total threadgroup memory allocation").
static constexpr int64_t kSharedBytes = 32 * 1024;

namespace {

class MetalTarget : public DeviceTarget {
public:
  explicit MetalTarget(std::unique_ptr<llvm::TargetMachine> host)
      : DeviceTarget(std::move(host), {kSharedBytes}) {}

  TargetRequest request() const override {
    TargetRequest wanted;
    wanted.triple = kTriple.str();
    wanted.cpu = kLanguage.str();
    return wanted;
  }
  bool hasOwnMemory() const override { return false; }

protected:
  void buildTextPipeline(OpPassManager &pm) const override {
    pm.addPass(createWriteMetal());
  }
};

} // namespace

llvm::Expected<std::unique_ptr<Target>>
hone::createMetalTarget(const TargetRequest &request) {
  if (request.triple != kTriple)
    return nullptr;
  if (!request.cpu.empty() && request.cpu != kLanguage)
    return llvm::createStringError("target '" + kTriple +
                                   "' has no architecture called '" +
                                   request.cpu + "'; there is: " + kLanguage);
  auto host = createDeviceHost(request);
  if (!host)
    return host.takeError();
  return std::make_unique<MetalTarget>(std::move(*host));
}

void hone::registerMetalTargetPasses() { registerMetalPasses(); }
