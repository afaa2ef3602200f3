//===- Target.cpp - Choosing a target -------------------------------------===//
//
// "native" is resolved by the CPU target itself: only it can ask this machine.
//
//===----------------------------------------------------------------------===//

#include "targets/Target.h"

#include "targets/cpu/CpuPasses.h"
#include "targets/cpu/CpuTarget.h"

#include "mlir/Pass/PassRegistry.h"

using namespace hone;

TargetRequest TargetRequest::parse(llvm::StringRef text) {
  TargetRequest request;
  if (text.starts_with("x86-64")) {
    request.triple = "x86_64-unknown-linux-gnu";
    request.cpu = text.str();
    return request;
  }
  auto [triple, cpu] = text.split(':');
  request.triple = triple.str();
  request.cpu = cpu.str();
  return request;
}

llvm::Expected<std::unique_ptr<Target>>
hone::createTarget(const TargetRequest &request) {
  return createCpuTarget(request);
}

namespace {

struct TargetPipelineOptions
    : public mlir::PassPipelineOptions<TargetPipelineOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("machine, as in the spec"),
                             llvm::cl::init("native")};
};

} // namespace

void hone::registerTargets() {
  registerCpuPasses();
  mlir::PassPipelineRegistration<TargetPipelineOptions>(
      "hone-pipeline-target", "lower tile ops to what the target translates",
      [](mlir::OpPassManager &pm, const TargetPipelineOptions &options) {
        auto target = createTarget(TargetRequest::parse(options.target));
        if (!target)
          llvm::report_fatal_error(target.takeError());
        (*target)->buildLoweringPipeline(pm);
      });
}
