//===- EditExchange.cpp - test-edit-exchange ------------------------------===//
//
// One edit of one part's exchanges, chosen by seed among all that change the
// parts' messages. The seam after separation must find each.
//
//===----------------------------------------------------------------------===//

#include "test/lib/TestPasses.h"

#include "dialects/Hone/HoneOps.h"
#include "passes/place/SchedulePlacement.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassRegistry.h"

#include <random>

using namespace mlir;
using namespace hone;

namespace {

struct Edit {
  std::string what;
  Operation *at;
  std::function<void()> apply;
};

class Edits {
public:
  void addAll(Operation *op) {
    if (auto send = dyn_cast<SendOp>(op))
      addOf(send);
    if (auto receive = dyn_cast<ReceiveOp>(op))
      addOf(receive);
    if (auto wait = dyn_cast<WaitOp>(op))
      addOf(wait);
  }
  std::vector<Edit> list;

private:
  void add(const char *what, Operation *at, std::function<void()> apply) {
    list.push_back({what, at, std::move(apply)});
  }
  template <typename OpTy> void addNames(OpTy op) {
    add("another channel", op,
        [op]() mutable { op.setChannel((op.getChannel() + ".other").str()); });
    add("another peer", op, [op]() mutable { op.setPeer("nobody"); });
    if (op.getInputs() && !op.getInputs()->empty())
      add("an input less", op, [op]() mutable {
        auto inputs = llvm::to_vector(op.getInputsAttr().getValue());
        inputs.pop_back();
        op.setInputsAttr(DictionaryAttr::get(op.getContext(), inputs));
      });
  }
  void addOf(SendOp send) {
    addNames(send);
    add("a send twice", send,
        [send]() mutable { OpBuilder(send).clone(*send.getOperation()); });
    // After an answer that the peer gives only to this message.
    if (send.getInputs() || !hasRows(send.getValue().getType()))
      return;
    for (Operation *next = send->getNextNode(); next;
         next = next->getNextNode())
      if (auto wait = dyn_cast<WaitOp>(next);
          wait && wait.getValue().getDefiningOp<ReceiveOp>()) {
        add("a send after an answer", send,
            [send, wait]() mutable { send->moveAfter(wait); });
        return;
      }
  }
  void addOf(ReceiveOp receive) {
    addNames(receive);
    if (!receive.getInputs())
      add("another step", receive,
          [receive]() mutable { receive.setBehind(receive.getBehind() + 1); });
    if (!isScalar(receive.getValue().getType()) && !receive.getInputs())
      add("a large value of the step before", receive,
          [receive]() mutable { receive.setBehind(1); });
  }
  void addOf(WaitOp wait) {
    add("no wait", wait, [wait]() mutable { wait.erase(); });
    add("a wait twice", wait,
        [wait]() mutable { OpBuilder(wait).clone(*wait.getOperation()); });
    if (!wait.getValue().getDefiningOp<ReceiveOp>())
      return;
    Operation *reader = nullptr;
    for (Operation *user : wait.getValue().getUsers())
      if (user != wait && user->getBlock() == wait->getBlock() &&
          (!reader || user->isBeforeInBlock(reader)))
        reader = user;
    if (reader && wait->isBeforeInBlock(reader))
      add("a wait after the first reader", wait,
          [wait, reader]() mutable { wait->moveAfter(reader); });
  }
};

struct EditExchange : PassWrapper<EditExchange, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EditExchange)

  EditExchange() = default;
  EditExchange(const EditExchange &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-edit-exchange"; }
  StringRef getDescription() const override {
    return "edit the exchanges of one part";
  }

  void runOnOperation() override {
    Edits edits;
    for (ModuleOp part : getOperation().getOps<ModuleOp>())
      part.walk([&](Operation *op) { edits.addAll(op); });
    if (edits.list.empty()) {
      getOperation().emitError("expected parts that exchange something");
      return signalPassFailure();
    }
    std::mt19937_64 random(seed);
    const Edit &edit = edits.list[random() % edits.list.size()];
    edit.at->emitRemark("edit: ") << edit.what;
    edit.apply();
  }

  Option<int64_t> seed{*this, "seed", llvm::cl::init(0),
                       llvm::cl::desc("which edit")};
};

} // namespace

void hone::registerEditExchange() { PassRegistration<EditExchange>(); }
