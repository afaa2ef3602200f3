//===- Target.cpp - Choosing a target -------------------------------------===//
//
// The one file that names the targets there are. The first that knows the
// triple of a request takes it.
//
//===----------------------------------------------------------------------===//

#include "targets/Target.h"

#include "dialects/Hone/Sizes.h"
#include "passes/kernels/TargetKernels.h"
#include "targets/cpu/CpuPasses.h"
#include "targets/cpu/CpuTarget.h"
#include "targets/cuda/CudaTarget.h"
#include "targets/gpu/GpuPasses.h"
#include "targets/host/HostPasses.h"
#include "targets/math/MathPasses.h"
#include "targets/metal/MetalTarget.h"
#include "targets/reference/ReferencePasses.h"
#include "targets/reference/ReferenceTarget.h"

#include "mlir/Pass/PassRegistry.h"

using namespace hone;

namespace {

struct RegisteredTarget {
  /// Null: another one's.
  llvm::Expected<std::unique_ptr<Target>> (*create)(const TargetRequest &);
  void (*registerPasses)();
  /// Null: it has none of its own.
  void (*registerDialects)(mlir::DialectRegistry &);
  llvm::StringRef triples; ///< for people
};

constexpr RegisteredTarget targets[] = {
    {createReferenceTarget, registerReferencePasses, nullptr, "reference"},
    {createCudaTarget, registerCudaTargetPasses, registerCudaDialects,
     "nvptx64-nvidia-cuda"},
    {createMetalTarget, registerMetalTargetPasses, nullptr, "metal"},
    {createCpuTarget, registerCpuPasses, registerCpuDialect,
     "native, x86-64-v3, x86-64-v4, aarch64-linux-gnu, x86_64-linux-musl, "
     "aarch64-linux-musl, arm64-apple-macosx"},
};

} // namespace

TargetRequest TargetRequest::parse(llvm::StringRef text) {
  TargetRequest request;
  if (text.starts_with("x86-64")) {
    request.triple = "x86_64-unknown-linux-gnu";
    request.cpu = text.str();
    return request;
  }
  auto [triple, cpu] = text.split(':');
  // createTarget refuses a colon that nothing follows.
  request.triple = (cpu.empty() ? text : triple).str();
  request.cpu = cpu.str();
  return request;
}

std::string Target::describe() const {
  TargetRequest resolved = request();
  return resolved.triple + (resolved.cpu.empty() ? "" : ":" + resolved.cpu);
}

void Target::setNumerics(mlir::ModuleOp module) const {
  setLossColumns(module, lossColumns());
  if (const TargetKernels *own = kernels()) {
    setAttentionIterations(module, own->attentionIterations());
    setProductTiles(module, own->productTiles());
  }
}

llvm::Expected<std::unique_ptr<Target>>
hone::createTarget(const TargetRequest &request) {
  for (llvm::StringRef text : {request.triple, request.host})
    if (text.ends_with(":"))
      return llvm::createStringError(
          "target '" + text + "' expects a CPU after ':' but ends there");
  std::string known;
  for (const RegisteredTarget &registered : targets) {
    llvm::Expected<std::unique_ptr<Target>> target = registered.create(request);
    if (!target || *target)
      return target;
    known += (known.empty() ? "" : ", ") + registered.triples.str();
  }
  return llvm::createStringError("target '" + request.triple +
                                 "' is not supported; there are: " + known);
}

namespace {

struct TargetPipelineOptions
    : public mlir::PassPipelineOptions<TargetPipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("machine, as in the spec"),
                             llvm::cl::init("native")};
};

} // namespace

void hone::registerTargetDialects(mlir::DialectRegistry &registry) {
  for (const RegisteredTarget &registered : targets)
    if (registered.registerDialects)
      registered.registerDialects(registry);
}

void hone::registerTargetPasses() {
  registerHostPasses();
  registerMathPasses();
  registerGpuPasses();
  for (const RegisteredTarget &registered : targets)
    registered.registerPasses();
  mlir::PassPipelineRegistration<TargetPipelineOptions>(
      "hone-pipeline-target",
      "lower tile ops to the dialects that the target translates",
      [](mlir::OpPassManager &pm, const TargetPipelineOptions &options) {
        auto target = createTarget(TargetRequest::parse(options.target));
        if (!target)
          llvm::report_fatal_error(target.takeError());
        (*target)->buildLoweringPipeline(pm);
      });
}
