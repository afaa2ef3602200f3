//===- AdjointIdentityTest.cpp - <u, J v> = <J' u, v> for every op --------===//
//
// J v is what the tangent that an op builds computes, J' u what its adjoint
// computes, both compiled, in double. Neither a reference nor a step size is
// involved, so the two must agree to rounding.
//
//===----------------------------------------------------------------------===//

#include "test/numerics/KernelCase.h"

#include "dialects/Hone/HoneOps.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <memory>
#include <optional>

using namespace hone;
using mlir::OpBuilder;
using mlir::Operation;
using mlir::Value;

namespace {
struct IdentityCase {
  const char *name;
  /// Ops of a block, in double; the last one is differentiated.
  const char *text;
  /// Operands of it that have derivatives.
  std::vector<unsigned> operands;
};

void PrintTo(const IdentityCase &test, std::ostream *stream) {
  *stream << test.name;
}

/// The op, its tangents and its adjoint as one program.
class DerivedProgram {
public:
  /// Derivatives along the operands `active`; the adjoint is that of the given
  /// alternative.
  DerivedProgram(const IdentityCase &test, const llvm::BitVector &active,
                 unsigned alternative);

  static unsigned numAlternatives(const IdentityCase &test);

  /// The largest relative difference of the two sides.
  double error(int64_t rows);

private:
  /// A value of the block: an input of the program or an output.
  struct Place {
    std::string region;
    mlir::Type type;
  };
  Value input(OpBuilder &builder, llvm::StringRef name, mlir::Type type);
  Place place(Value value);
  void derive(Operation *op, const llvm::BitVector &active,
              unsigned alternative);
  std::string programText() const;
  reference::Matrix read(const Place &place, int64_t rows) const;

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  BlockOp block;
  llvm::SmallVector<Value> results;
  Place cotangent;                           ///< u
  std::vector<Place> tangents;               ///< J v, as each form builds it
  std::vector<std::pair<Place, Place>> sums; ///< v and J' u, by operand
  std::unique_ptr<HoneProgram> program;
};

class AdjointIdentityTest : public testing::TestWithParam<IdentityCase> {};
} // namespace

static mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context,
                                               const IdentityCase &test) {
  context.loadDialect<HoneDialect>();
  std::string text =
      "hone.block @op() {\n" + std::string(test.text) + "\nhone.return\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    llvm::report_fatal_error("invalid IR");
  return module;
}

/// The last op before the return.
static Operation *differentiated(BlockOp block) {
  return block.getBody().front().back().getPrevNode();
}

static llvm::BitVector bits(Operation *op, llvm::ArrayRef<unsigned> operands) {
  llvm::BitVector active(op->getNumOperands());
  for (unsigned index : operands)
    active.set(index);
  return active;
}

/// A copy of `op` that also gives its auxiliary result, if it has one.
static Operation *withAuxiliary(OpBuilder &builder, Operation *op) {
  mlir::Type auxiliary = llvm::cast<AdjointOpInterface>(op).getAuxiliaryType();
  if (!auxiliary)
    return op;
  llvm::SmallVector<mlir::Type> types(op->getResultTypes());
  types.push_back(auxiliary);
  return builder.create(op->getLoc(), op->getName().getIdentifier(),
                        op->getOperands(), types, op->getAttrs());
}

unsigned DerivedProgram::numAlternatives(const IdentityCase &test) {
  mlir::MLIRContext context;
  auto module = parse(context, test);
  Operation *op = differentiated(*module->getOps<BlockOp>().begin());
  return llvm::cast<AdjointOpInterface>(op)
      .getResidualAlternatives(bits(op, test.operands))
      .size();
}

DerivedProgram::DerivedProgram(const IdentityCase &test,
                               const llvm::BitVector &active,
                               unsigned alternative)
    : module(parse(context, test)) {
  block = *module->getOps<BlockOp>().begin();
  derive(differentiated(block), active, alternative);
  program = std::make_unique<HoneProgram>(programText());
}

Value DerivedProgram::input(OpBuilder &builder, llvm::StringRef name,
                            mlir::Type type) {
  return InputOp::create(builder, block.getLoc(), type, name);
}

DerivedProgram::Place DerivedProgram::place(Value value) {
  if (auto source = value.getDefiningOp<InputOp>())
    return {("input." + source.getName()).str(), value.getType()};
  auto *found = llvm::find(results, value);
  size_t index = found - results.begin();
  if (found == results.end())
    results.push_back(value);
  return {"result." + std::to_string(index), value.getType()};
}

void DerivedProgram::derive(Operation *op, const llvm::BitVector &active,
                            unsigned alternative) {
  OpBuilder builder(block.getBody().front().getTerminator());
  Operation *kept = withAuxiliary(builder, op);
  Value u = input(builder, "u", op->getResult(0).getType());
  cotangent = place(u);

  llvm::SmallVector<Value> directions(op->getNumOperands());
  for (unsigned index : active.set_bits())
    directions[index] = input(builder, "v" + std::to_string(index),
                              op->getOperand(index).getType());
  for (Operation *form : {op, kept}) {
    auto tangent =
        llvm::cast<TangentOpInterface>(form).buildTangent(builder, directions);
    if (failed(tangent))
      llvm::report_fatal_error("no tangent");
    tangents.push_back(place(*tangent));
  }

  llvm::SmallVector<Value> cotangents(kept->getNumResults());
  cotangents[0] = u;
  auto read = [&](Residual residual) -> Value {
    switch (residual.kind) {
    case Residual::Kind::Operand:
      return kept->getOperand(residual.index);
    case Residual::Kind::Result:
      return kept->getResult(residual.index);
    case Residual::Kind::Auxiliary:
      return kept->getResults().back();
    }
    llvm_unreachable("all kinds are covered");
  };
  auto adjoint = llvm::cast<AdjointOpInterface>(kept).buildAdjoint(
      builder, AdjointRequest{active, cotangents, alternative, read});
  if (failed(adjoint))
    llvm::report_fatal_error("no adjoint");
  for (unsigned index : active.set_bits())
    sums.push_back({place(directions[index]), place((*adjoint)[index])});
}

std::string DerivedProgram::programText() const {
  BlockOp block = this->block;
  block.getBody().front().getTerminator()->setOperands(results);
  llvm::SmallVector<mlir::Type> types(mlir::ValueRange(results).getTypes());
  mlir::OpBuilder builder(block);
  mlir::FunctionType type = builder.getFunctionType({}, types);
  block.setFunctionType(type);

  std::string text;
  llvm::raw_string_ostream os(text);
  os << "module attributes {hone.max_rows = " << kMaxRows << " : i64} {\n"
     << block << "\nhone.entry @test() -> (";
  llvm::interleaveComma(types, os);
  os << ") {\n";
  if (!types.empty())
    os << "%r:" << types.size() << " = ";
  os << "hone.call @op \"\" () : " << type << "\n";
  if (!types.empty()) {
    os << "hone.return ";
    llvm::interleaveComma(llvm::seq<size_t>(0, types.size()), os,
                          [&](size_t i) { os << "%r#" << i; });
    os << " : ";
    llvm::interleaveComma(types, os);
  }
  os << "\n}\n}\n";
  return text;
}

reference::Matrix DerivedProgram::read(const Place &place, int64_t rows) const {
  reference::Matrix values(1, elementsAtRows(place.type, rows));
  values.values = program->read(place.region, values.values.size());
  return values;
}

double DerivedProgram::error(int64_t rows) {
  program->reset();
  unsigned seed = 0;
  for (InputOp op : block.getBody().getOps<InputOp>()) {
    std::string region = ("input." + op.getName()).str();
    if (op.getName() == "starts") {
      program->write(region, sequenceStarts(rows));
      continue;
    }
    int64_t count = elementsAtRows(op.getType(), rows);
    if (op.getName() == "targets") {
      reference::Rows targets(count);
      for (int64_t i = 0; i < count; ++i)
        targets[i] = i % 3 == 1 ? -100 : (i * 31) % 90;
      program->write(region, targets);
      continue;
    }
    program->write(region, randomMatrix(1, count, ++seed, "f64").values);
  }
  program->run(rows, 2);

  double right = 0;
  for (const auto &[direction, gradient] : sums)
    right += dot(read(direction, rows), read(gradient, rows));
  double largest = 0;
  for (const Place &tangent : tangents) {
    double left = dot(read(cotangent, rows), read(tangent, rows));
    double error = std::abs(left - right) / std::abs(right);
    largest = error <= largest ? largest : error; // a NaN stays
  }
  return largest;
}

TEST_P(AdjointIdentityTest, HoldsAlongEveryOperand) {
  const IdentityCase &test = GetParam();
  double largest = 0;
  auto check = [&](llvm::ArrayRef<unsigned> operands, unsigned alternative) {
    mlir::MLIRContext context;
    auto module = parse(context, test);
    Operation *op = differentiated(*module->getOps<BlockOp>().begin());
    DerivedProgram program(test, bits(op, operands), alternative);
    for (int64_t rows : {5, 27, 100}) {
      double error = program.error(rows);
      EXPECT_LE(error, 1e-12) << rows << " rows, " << operands.size()
                              << " operands, alternative " << alternative;
      largest = std::max(largest, error);
    }
  };
  for (unsigned i = 0; i < DerivedProgram::numAlternatives(test); ++i)
    check(test.operands, i);
  if (test.operands.size() > 1)
    for (unsigned operand : test.operands)
      check(operand, 0);
  printf("%s: largest error %.1e\n", test.name, largest);
}

static const IdentityCase cases[] = {
    {"rms_norm",
     R"(%x = hone.input "x" : tensor<?x75xf64>
        %w = hone.input "w" : tensor<75xf64>
        %y = hone.rms_norm %x, %w eps 1.0e-5
          : (tensor<?x75xf64>, tensor<75xf64>) -> tensor<?x75xf64>)",
     {0}},
    {"linear",
     R"(%x = hone.input "x" : tensor<?x48xf64>
        %w = hone.input "w" : tensor<72x48xf64>
        %b = hone.input "b" : tensor<72xf64>
        %y = hone.linear %x, %w bias %b
          : (tensor<?x48xf64>, tensor<72x48xf64>, tensor<72xf64>)
          -> tensor<?x72xf64>)",
     {0}},
    {"lora_linear",
     R"(%x = hone.input "x" : tensor<?x48xf64>
        %w = hone.input "w" : tensor<72x48xf64>
        %a = hone.input "a" : tensor<4x48xf64>
        %b = hone.input "b" : tensor<72x4xf64>
        %bias = hone.input "bias" : tensor<72xf64>
        %y = hone.lora_linear %x, %w, %a, %b bias %bias scale 1.5
          : (tensor<?x48xf64>, tensor<72x48xf64>, tensor<4x48xf64>,
             tensor<72x4xf64>, tensor<72xf64>) -> tensor<?x72xf64>)",
     {0, 2, 3}},
    {"rope",
     R"(%x = hone.input "x" : tensor<?x72xf64>
        %s = hone.input "starts" : tensor<?xi32>
        %y = hone.rope %x, %s heads 3 theta 1.0e4
          : (tensor<?x72xf64>, tensor<?xi32>) -> tensor<?x72xf64>)",
     {0}},
    {"rope_inverse",
     R"(%x = hone.input "x" : tensor<?x72xf64>
        %s = hone.input "starts" : tensor<?xi32>
        %y = hone.rope %x, %s heads 3 theta 1.0e4 inverse
          : (tensor<?x72xf64>, tensor<?xi32>) -> tensor<?x72xf64>)",
     {0}},
    {"attention",
     R"(%q = hone.input "q" : tensor<?x96xf64>
        %k = hone.input "k" : tensor<?x32xf64>
        %v = hone.input "v" : tensor<?x32xf64>
        %s = hone.input "starts" : tensor<?xi32>
        %y = hone.attention %q, %k, %v, %s heads 6 kv_heads 2 scale 0.3
          : (tensor<?x96xf64>, tensor<?x32xf64>, tensor<?x32xf64>,
             tensor<?xi32>) -> tensor<?x96xf64>)",
     {0, 1, 2}},
    {"swiglu",
     R"(%g = hone.input "gate" : tensor<?x75xf64>
        %u = hone.input "up" : tensor<?x75xf64>
        %y = hone.swiglu %g, %u : tensor<?x75xf64>)",
     {0, 1}},
    {"add",
     R"(%a = hone.input "a" : tensor<?x75xf64>
        %b = hone.input "b" : tensor<?x75xf64>
        %y = hone.add %a, %b : tensor<?x75xf64>)",
     {0, 1}},
    {"linear_cross_entropy",
     R"(%x = hone.input "x" : tensor<?x24xf64>
        %w = hone.input "w" : tensor<100x24xf64>
        %t = hone.input "targets" : tensor<?xi32>
        %loss = hone.linear_cross_entropy %x, %w, %t
          : (tensor<?x24xf64>, tensor<100x24xf64>, tensor<?xi32>)
          -> tensor<f64>)",
     {0}},
};

INSTANTIATE_TEST_SUITE_P(Ops, AdjointIdentityTest, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

// An embedding has no operand with a derivative.
TEST(AdjointIdentity, CoversEveryOpThatHasAnAdjoint) {
  mlir::MLIRContext context;
  context.loadDialect<HoneDialect>();
  llvm::StringSet<> covered = {"hone.embedding"};
  for (const IdentityCase &test : cases) {
    auto module = parse(context, test);
    BlockOp block = *module->getOps<BlockOp>().begin();
    covered.insert(differentiated(block)->getName().getStringRef());
  }
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<AdjointOpInterface>())
      EXPECT_TRUE(covered.contains(name.getStringRef()))
          << name.getStringRef().str();
}
