//===- SelfCheckTest.cpp - Every flipped sign is found and named ----------===//
//
// Rules are broken where ops answer AdjointOpInterface and TangentOpInterface:
// all that asks for a derivative gets the wrong one, as with a bug.
//
//===----------------------------------------------------------------------===//

#include "compiler/selfcheck/SelfCheck.h"
#include "compiler/driver/Registration.h"
#include "compiler/selfcheck/CheckModel.h"
#include "compiler/selfcheck/ModelChecks.h"
#include "compiler/selfcheck/OpChecks.h"
#include "dialects/Hone/HoneOps.h"
#include "passes/module/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "gtest/gtest.h"

#include <map>
#include <optional>
#include <set>

using namespace hone;
using namespace hone::selfcheck;
using mlir::OpBuilder;
using mlir::Operation;
using mlir::Value;

/// Every op that has a derivative, regularized and with DoRA, in two layers of
/// one kind and a third that is left out; more ids than are kept.
static constexpr llvm::StringLiteral model = R"(
  hone.block @embed() -> tensor<?x32xf32> {
    %ids = hone.input "input_ids" : tensor<?xi32>
    %w = hone.parameter "embed.weight" stored <bfloat16> : tensor<600x32xf32>
    %e = hone.embedding %ids, %w : (tensor<?xi32>, tensor<600x32xf32>) -> tensor<?x32xf32>
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %pw = hone.parameter "positions.weight" : tensor<600x32xf32>
    %p = hone.position_embedding %s, %pw offset 0 : (tensor<?xi32>, tensor<600x32xf32>) -> tensor<?x32xf32>
    %y = hone.add %e, %p : tensor<?x32xf32>
    hone.return %y : tensor<?x32xf32>
  }
  hone.block @layer(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %n = hone.parameter "norm.weight" : tensor<32xf32>
    %z = hone.rms_norm %x, %n eps 1.0e-5 : (tensor<?x32xf32>, tensor<32xf32>) -> tensor<?x32xf32>
    %qw = hone.parameter "q.weight" stored <int4, group = 32> : tensor<32x32xf32>
    %qa = hone.parameter "q.lora_A" trainable init <kaiming_uniform> : tensor<4x32xf32>
    %qb = hone.parameter "q.lora_B" trainable init <zero> : tensor<32x4xf32>
    %q = hone.lora_linear %z, %qw, %qa, %qb scale 2.0 : (tensor<?x32xf32>, tensor<32x32xf32>, tensor<4x32xf32>, tensor<32x4xf32>) -> tensor<?x32xf32>
    %qn = hone.row_lengths %qw, %qa, %qb scale 2.0 : (tensor<32x32xf32>, tensor<4x32xf32>, tensor<32x4xf32>) -> tensor<32xf32>
    %qm = hone.parameter "q.lora_magnitude_vector" trainable init <row_lengths> : tensor<32xf32>
    %qs = hone.rescale %q, %qm, %qn : (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x32xf32>
    %kw = hone.parameter "k.weight" : tensor<16x32xf32>
    %kb = hone.parameter "k.bias" : tensor<16xf32>
    %kx = hone.linear %z, %kw bias %kb : (tensor<?x32xf32>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<?x16xf32>
    %key = hone.input "random_key" : tensor<4xi32>
    %kv = hone.parameter "kv.weight" : tensor<16x16xf32>
    %ka = hone.parameter "kv.lora_A" trainable init <kaiming_uniform> : tensor<2x16xf32>
    %kc = hone.parameter "kv.lora_B" trainable init <zero> : tensor<16x2xf32>
    %k = hone.lora_linear %kx, %kv, %ka, %kc scale 1.5 dropout 0.25 of "kv" by %key : (tensor<?x16xf32>, tensor<16x16xf32>, tensor<2x16xf32>, tensor<16x2xf32>, tensor<4xi32>) -> tensor<?x16xf32>
    %vw = hone.parameter "v.weight" transposed : tensor<32x32xf32>
    %vs = hone.linear %z, %vw : (tensor<?x32xf32>, tensor<32x32xf32>) -> tensor<?x32xf32>
    %v = hone.columns %vs from 16 : tensor<?x32xf32> -> tensor<?x16xf32>
    %qr = hone.rope %qs, %s heads 4 theta 1.0e4 : (tensor<?x32xf32>, tensor<?xi32>) -> tensor<?x32xf32>
    %kr = hone.rope %k, %s heads 2 theta 1.0e4 : (tensor<?x16xf32>, tensor<?xi32>) -> tensor<?x16xf32>
    %a = hone.attention %qr, %kr, %v, %s heads 4 kv_heads 2 scale 0.35 : (tensor<?x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>, tensor<?xi32>) -> tensor<?x32xf32>
    %zn = hone.embedding_noise %z, %s alpha 5.0 of "z" by %key : tensor<?x32xf32>, tensor<?xi32>
    %g = hone.gated_activation silu %a, %zn : tensor<?x32xf32>
    %lw = hone.parameter "last_norm.weight" : tensor<32xf32>
    %lb = hone.parameter "last_norm.bias" : tensor<32xf32>
    %l = hone.layer_norm %g, %lw, %lb eps 1.0e-5 : (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<?x32xf32>
    %f = hone.activation gelu %l : tensor<?x32xf32>
    %y = hone.add %x, %f : tensor<?x32xf32>
    hone.return %y : tensor<?x32xf32>
  }
  hone.block @head(%x: tensor<?x32xf32>) -> tensor<f64> {
    %t = hone.input "targets" : tensor<?xi32>
    %w = hone.parameter "head.weight" : tensor<600x32xf32>
    %loss = hone.linear_cross_entropy %x, %w, %t smoothing 0.1 : (tensor<?x32xf32>, tensor<600x32xf32>, tensor<?xi32>) -> tensor<f64>
    hone.return %loss : tensor<f64>
  }
  hone.entry @loss() -> tensor<f64> {
    %0 = hone.call @embed "m."() : () -> tensor<?x32xf32>
    %1 = hone.call @layer "m.0."(%0) : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %2 = hone.call @layer "m.1."(%1) : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %3 = hone.call @layer "m.2."(%2) : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %4 = hone.call @head ""(%3) : (tensor<?x32xf32>) -> tensor<f64>
    hone.return %4 : tensor<f64>
  })";

//===----------------------------------------------------------------------===//
// Wrong rules
//===----------------------------------------------------------------------===//

namespace {

/// -x of rows.
class NegateOp
    : public mlir::Op<
          NegateOp, mlir::OpTrait::OneResult, mlir::OpTrait::OneOperand,
          mlir::OpTrait::ZeroRegions, mlir::OpTrait::ZeroSuccessors,
          mlir::MemoryEffectOpInterface::Trait, ElementwiseOpInterface::Trait> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NegateOp)
  using Op::Op;
  static llvm::StringRef getOperationName() { return "test.negate"; }
  static llvm::ArrayRef<llvm::StringRef> getAttributeNames() { return {}; }
  void
  getEffects(llvm::SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &) {}
  llvm::SmallVector<Value> buildElements(mlir::ImplicitLocOpBuilder &b,
                                         mlir::ValueRange operands) {
    return {mlir::arith::NegFOp::create(b, operands[0])};
  }
};

struct TestDialect : mlir::Dialect {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestDialect)
  static llvm::StringRef getDialectNamespace() { return "test"; }
  explicit TestDialect(mlir::MLIRContext *context)
      : Dialect(getDialectNamespace(), context,
                mlir::TypeID::get<TestDialect>()) {
    addOperations<NegateOp>();
  }
};

using AdjointRule = decltype(AdjointOpInterface::Concept::buildAdjoint);
using TangentRule = decltype(TangentOpInterface::Concept::buildTangent);

/// Which derivatives have the wrong sign. Rules are functions without state.
struct Fault {
  enum class Of { Adjoint, Tangent } of;
  std::string op;                  ///< empty: all ops
  std::optional<unsigned> operand; ///< along which; none: along all parameters
  bool inFloat64 = true;           ///< or in f32 alone
  std::string block = {};          ///< a derived block; empty: anywhere
};
Fault fault;
std::map<std::string, AdjointRule> adjointRules;
std::map<std::string, TangentRule> tangentRules;

/// Whether the derivative of `op` along `operand`, which is built in `block`,
/// is.
bool isWrong(Operation *op, unsigned operand, mlir::Block *block) {
  mlir::Type type = op->getResult(0).getType();
  auto derived = llvm::dyn_cast_or_null<BlockOp>(block->getParentOp());
  bool isAlong = fault.operand
                     ? operand == *fault.operand
                     : operand < op->getNumOperands() &&
                           op->getOperand(operand).getDefiningOp<ParameterOp>();
  return isAlong &&
         (fault.op.empty() || op->getName().getStringRef() == fault.op) &&
         (fault.block.empty() ||
          (derived && derived.getName().ends_with(fault.block))) &&
         (fault.inFloat64 || mlir::getElementTypeOrSelf(type).isF32());
}

/// Tangents of the loss along the head are numbers, which nothing negates.
bool isOfHead(Operation *op, unsigned operand) {
  return !hasRows(op->getResult(0).getType()) &&
         !hasRows(op->getOperand(operand).getType());
}

Value negate(OpBuilder &builder, Value value) {
  mlir::OperationState state(value.getLoc(), NegateOp::getOperationName());
  state.addOperands(value);
  state.addTypes(value.getType());
  return builder.create(state)->getResult(0);
}

mlir::FailureOr<llvm::SmallVector<Value>>
wrongAdjoint(const AdjointOpInterface::Concept *concept_, Operation *op,
             OpBuilder &builder, const AdjointRequest &request) {
  AdjointRule rule = adjointRules.at(op->getName().getStringRef().str());
  auto right = rule(concept_, op, builder, request);
  if (failed(right))
    return right;
  for (auto [operand, value] : llvm::enumerate(*right)) {
    if (!value || !isWrong(op, operand, builder.getInsertionBlock()))
      continue;
    if (hasRows(value.getType())) {
      value = negate(builder, value);
      continue;
    }
    // Of a parameter: linear in the cotangent from above. The loss's is a
    // number without rows: its other operands are negated instead.
    llvm::SmallVector<Value> cotangents(request.cotangents);
    const bool ofLoss = !hasRows(cotangents[0].getType());
    if (!ofLoss)
      cotangents[0] = negate(builder, cotangents[0]);
    auto read = [&](Residual residual) {
      Value given = request.read(residual);
      bool isOther = ofLoss && hasRows(given.getType()) &&
                     llvm::isa<mlir::FloatType>(
                         mlir::getElementTypeOrSelf(given.getType()));
      return isOther ? negate(builder, given) : given;
    };
    auto wrong = rule(concept_, op, builder,
                      AdjointRequest{request.activeOperands, cotangents,
                                     request.alternative, read});
    value = (*wrong)[operand];
  }
  return right;
}

mlir::FailureOr<Value> wrongTangent(const TangentOpInterface::Concept *concept_,
                                    Operation *op, OpBuilder &builder,
                                    llvm::ArrayRef<Value> directions) {
  TangentRule rule = tangentRules.at(op->getName().getStringRef().str());
  const unsigned operand = fault.operand.value_or(0);
  if (operand >= directions.size() || !directions[operand] ||
      isOfHead(op, operand) ||
      !isWrong(op, operand, builder.getInsertionBlock()))
    return rule(concept_, op, builder, directions);
  llvm::SmallVector<Value> one(directions.size()), others(directions);
  std::swap(one[operand], others[operand]);
  if (!hasRows(op->getResult(0).getType())) {
    one[operand] = negate(builder, one[operand]);
    return rule(concept_, op, builder, one);
  }
  Value wrong = negate(builder, *rule(concept_, op, builder, one));
  if (llvm::none_of(others, [](Value value) { return bool(value); }))
    return wrong;
  Value right = *rule(concept_, op, builder, others);
  return AddOp::create(builder, op->getLoc(), right, wrong).getResult();
}

class SelfCheckTest : public testing::Test {
protected:
  SelfCheckTest() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.loadDialect<TestDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(model, &context);
    shrink(*module);
    float64 = module->clone();
    convertToFloat64(*float64);
    target = cantFail(createTarget(TargetRequest::parse("native")));
    pool = std::move(rt::Pool::create(2).value());
  }

  /// Everything but matrices that have an adapter trains.
  void trainAll() {
    for (mlir::ModuleOp each : {*module, *float64})
      each.walk([](ParameterOp op) {
        bool hasAdapter = llvm::any_of(op->getUsers(), [&](Operation *user) {
          auto lora = llvm::dyn_cast<LoraLinearOp>(user);
          return lora && lora.getWeight() == op.getResult();
        });
        if (op.getTrainable() || hasAdapter ||
            op.getName().ends_with(".held")) // of DoRA's lengths
          return;
        op.setTrainable(true);
        op.setInit(Init::Pretrained);
        op.removeStoredAttr(); // a parameter has one storage
      });
  }

  /// From here on derivatives are wrong.
  void breakRules(const Fault &wrong) {
    fault = wrong;
    for (mlir::RegisteredOperationName name :
         context.getRegisteredOperations()) {
      std::string text = name.getStringRef().str();
      if (auto *rules = name.getInterface<AdjointOpInterface>();
          rules && fault.of == Fault::Of::Adjoint) {
        adjointRules.try_emplace(text, rules->buildAdjoint);
        rules->buildAdjoint = wrongAdjoint;
      }
      if (auto *rules = name.getInterface<TangentOpInterface>();
          rules && fault.of == Fault::Of::Tangent) {
        tangentRules.try_emplace(text, rules->buildTangent);
        rules->buildTangent = wrongTangent;
      }
    }
  }

  Report checkAllOps() {
    Report report;
    llvm::Error error =
        checkOps(*float64, findOps(*float64), kRows, *target, *pool, report);
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    return report;
  }
  Report checkWholeModel(std::vector<GradientCheck::Kind> estimates = {},
                         const Target *reference = nullptr,
                         std::vector<Route> routes = {},
                         const Target *other = nullptr) {
    Report report;
    llvm::Error error = checkModel({*module, *float64, other ? *other : *target,
                                    reference, "mesp", std::move(estimates),
                                    "float32", 1e-4, std::move(routes)},
                                   *pool, report);
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    return report;
  }
  /// The methods of the checks that failed.
  static std::set<std::string> failures(const Report &report) {
    std::set<std::string> methods;
    for (const Check &check : report.checks)
      if (!check.holds())
        methods.insert(check.method);
    return methods;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module, float64;
  std::unique_ptr<Target> target;
  std::unique_ptr<rt::Pool> pool;
};

class SelfCheckOfOps : public SelfCheckTest,
                       public testing::WithParamInterface<
                           std::tuple<Fault::Of, unsigned, bool>> {};

} // namespace

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

TEST_F(SelfCheckTest, KeepsTwoLayersOfAKindAndSomeIds) {
  mlir::FailureOr<EntryOp> loss = findLossEntry(*module);
  ASSERT_TRUE(succeeded(loss));
  std::vector<std::string> prefixes;
  for (CallOp call : loss->getBody().getOps<CallOp>())
    prefixes.push_back(call.getPrefix().str());
  EXPECT_EQ(prefixes, (std::vector<std::string>{"m.", "m.0.", "m.1.", ""}));
  module->walk([](EmbeddingOp op) {
    EXPECT_EQ(llvm::cast<mlir::RankedTensorType>(op.getTable().getType())
                  .getDimSize(0),
              kVocabulary);
  });
}

TEST_F(SelfCheckTest, ModelHasEveryOpWithAnAdjoint) {
  std::set<std::string> there, expected;
  module->walk(
      [&](Operation *op) { there.insert(op->getName().getStringRef().str()); });
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<AdjointOpInterface>())
      EXPECT_TRUE(there.count(name.getStringRef().str()))
          << name.getStringRef().str();
}

TEST_F(SelfCheckTest, FindsNothingWhereNothingIsWrong) {
  auto reference = cantFail(createTarget(TargetRequest::parse("reference")));
  Report ops = checkAllOps();
  Report whole = checkWholeModel({GradientCheck::Tangent}, reference.get());
  EXPECT_TRUE(ops.holds()) << ops.table();
  EXPECT_TRUE(whole.holds()) << whole.table();
  EXPECT_TRUE(whole.status("model").isOk());
}

/// Whether `op` has a derivative along `operand`, adapters trained or `whole`
/// models.
static bool hasDerivative(Operation *op, unsigned operand, bool whole) {
  static const std::map<std::string, std::set<unsigned>> operands = {
      {"hone.rms_norm", {0}},
      {"hone.linear", {0}},
      {"hone.lora_linear", {0, 2, 3}},
      {"hone.rescale", {0, 1}},
      {"hone.embedding_noise", {0}},
      {"hone.rope", {0}},
      {"hone.attention", {0, 1, 2}},
      {"hone.gated_activation", {0, 1}},
      {"hone.add", {0, 1}},
      {"hone.columns", {0}},
      {"hone.layer_norm", {0}},
      {"hone.activation", {0}},
      {"hone.linear_cross_entropy", {0}}};
  static const std::map<std::string, std::set<unsigned>> weights = {
      {"hone.rms_norm", {1}},      {"hone.linear", {1, 2}},
      {"hone.layer_norm", {1, 2}}, {"hone.linear_cross_entropy", {1}},
      {"hone.embedding", {1}},     {"hone.position_embedding", {1}}};
  auto has = [&](const auto &table) {
    auto found = table.find(op->getName().getStringRef().str());
    return found != table.end() && found->second.count(operand);
  };
  return operand < op->getNumOperands() &&
         (has(operands) || (whole && has(weights)));
}

TEST_P(SelfCheckOfOps, NamesEachOpAndOperandOfWrongSign) {
  auto [of, operand, whole] = GetParam();
  if (whole)
    trainAll();
  std::map<std::string, Operation *> ops;
  for (const OpSubject &subject : findOps(*float64))
    ops[subject.name] = subject.op;
  breakRules({of, "", operand});
  Report report = checkAllOps();
  std::string culprit =
      std::string(of == Fault::Of::Adjoint ? "adjoint" : "tangent") +
      " along operand #" + std::to_string(operand);
  std::set<std::string> named;
  for (const Check &check : report.checks) {
    Operation *op = ops.at(check.subject);
    bool isExpected = hasDerivative(op, operand, whole) &&
                      (of == Fault::Of::Adjoint || !isOfHead(op, operand));
    EXPECT_EQ(check.holds(), !isExpected) << check.method << check.subject;
    EXPECT_EQ(check.culprit, isExpected ? culprit : "") << check.subject;
    if (isExpected)
      named.insert(llvm::StringRef(check.subject).split(' ').first.str());
  }
  EXPECT_FALSE(named.empty());
  rt::Status status = report.status("model");
  EXPECT_EQ(status.errorCode(), rt::ErrorCode::SelfCheckFailed);
  EXPECT_NE(status.render().find(culprit), std::string::npos);
}

static constexpr unsigned operandsOfOps[] = {0, 1, 2, 3};

static std::string
nameOfFault(const testing::TestParamInfo<SelfCheckOfOps::ParamType> &info) {
  bool isAdjoint = std::get<0>(info.param) == Fault::Of::Adjoint;
  return (isAdjoint ? "Adjoint" : "Tangent") +
         std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(
    Signs, SelfCheckOfOps,
    testing::Combine(testing::Values(Fault::Of::Adjoint, Fault::Of::Tangent),
                     testing::ValuesIn(operandsOfOps), testing::Values(false)),
    nameOfFault);
// Weights and tables, and biases.
INSTANTIATE_TEST_SUITE_P(
    SignsOfAll, SelfCheckOfOps,
    testing::Combine(testing::Values(Fault::Of::Adjoint, Fault::Of::Tangent),
                     testing::Values(1u, 2u), testing::Values(true)),
    nameOfFault);

// A fault that single ops do not show: a derivative that is put together
// wrongly.
TEST_F(SelfCheckTest, DifferencesOfTheLossNameTheLayersAndTensors) {
  breakRules({Fault::Of::Adjoint, "hone.lora_linear", /*A*/ 2});
  Report report = checkWholeModel();
  EXPECT_EQ(failures(report),
            (std::set<std::string>{"differences of the loss"}))
      << report.table();
  for (const Check &check : report.checks)
    if (!check.holds())
      EXPECT_TRUE(llvm::StringRef(check.culprit).ends_with(".lora_A"))
          << check.culprit;
}

// Weights, biases, norms, tables and the head: each tensor of the model.
TEST_F(SelfCheckTest, DifferencesOfTheLossNameEachTensorThatTrains) {
  trainAll();
  mlir::FailureOr<ParameterTable> table = ParameterTable::build(*module);
  ASSERT_TRUE(succeeded(table));
  Report right = checkWholeModel();
  EXPECT_TRUE(right.holds()) << right.table();
  breakRules({Fault::Of::Adjoint, "", std::nullopt});
  Report report = checkWholeModel();
  std::string culprits = ", ";
  for (const Check &check : report.checks)
    if (check.method == "differences of the loss")
      culprits += check.culprit + ", ";
  for (const Parameter &parameter : table->trainable())
    EXPECT_NE(culprits.find(", " + parameter.name + ", "), std::string::npos)
        << parameter.name << culprits;
}

static constexpr Route allRoutes[] = {Route::Exact, Route::Identity,
                                      Route::SkippedForwards, Route::LowerPart,
                                      Route::UpperPart};

TEST_F(SelfCheckTest, EveryRouteHasItsGradient) {
  auto reference = cantFail(createTarget(TargetRequest::parse("reference")));
  for (bool whole : {false, true}) {
    if (whole)
      trainAll();
    Report report = checkWholeModel(
        {}, nullptr, {std::begin(allRoutes), std::end(allRoutes)},
        reference.get());
    EXPECT_TRUE(report.holds()) << report.table();
  }
}

// The adjoints are right where all layers train.
TEST_F(SelfCheckTest, ARouteNamesTheBlockThatHoldsAPart) {
  breakRules({Fault::Of::Adjoint, "hone.add", 1, true, ".held"});
  auto reference = cantFail(createTarget(TargetRequest::parse("reference")));
  Report report = checkWholeModel(
      {}, nullptr, {Route::LowerPart, Route::UpperPart}, reference.get());
  EXPECT_EQ(failures(report), (std::set<std::string>{"lower part"}))
      << report.table();
  EXPECT_NE(report.status("model").render().find("@layer.backward.held"),
            std::string::npos);
}

TEST_F(SelfCheckTest, Float64FindsWhatIsWrongInFloat32Alone) {
  breakRules({Fault::Of::Adjoint, "hone.attention", /*v*/ 2, false});
  Report report = checkWholeModel();
  EXPECT_EQ(failures(report),
            (std::set<std::string>{"float32 against float64"}))
      << report.table();
}

TEST_F(SelfCheckTest, TheSlopeFindsATangentThatIsWrong) {
  breakRules({Fault::Of::Tangent, "hone.gated_activation", 1});
  EXPECT_EQ(failures(checkWholeModel({GradientCheck::Tangent})),
            (std::set<std::string>{"adjoint identity"}));
}

TEST_F(SelfCheckTest, PerturbedParametersAreWhereTheyShouldBe) {
  Report report = checkWholeModel({GradientCheck::PerturbedLoss});
  EXPECT_TRUE(report.holds()) << report.table();
}

namespace {
/// Tiles as loops. Functions called like `name` have the operands of their
/// subtractions swapped or, without subtractions, their stored values negated.
class WrongTarget : public Target {
public:
  explicit WrongTarget(const Target &right, std::string name = "layer.backward")
      : right(right), name(std::move(name)) {}
  TargetRequest request() const override { return right.request(); }
  std::string toolchain() const override { return right.toolchain(); }
  std::vector<std::string> features() const override {
    return right.features();
  }
  tile::Blocks blocks() const override { return right.blocks(); }
  void buildLoweringPipeline(mlir::OpPassManager &pm) const override;
  llvm::Error emit(mlir::ModuleOp module, const ModuleDescription &description,
                   EmitKind kind, llvm::StringRef path) const override {
    return right.emit(module, description, kind, path);
  }
  llvm::Error link(const LinkRequest &request) const override {
    return right.link(request);
  }

private:
  const Target &right;
  std::string name;
};

struct SwapDifferences
    : mlir::PassWrapper<SwapDifferences, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SwapDifferences)
  explicit SwapDifferences(std::string name) : name(std::move(name)) {}
  void runOnOperation() override {
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      if (!function.getName().contains(name))
        continue;
      bool differs = false;
      function.walk([&](mlir::arith::SubFOp op) {
        op->setOperands({op.getRhs(), op.getLhs()});
        differs = true;
      });
      if (!differs)
        function.walk([&](Operation *op) {
          if (op->getName().getStringRef().ends_with(".store"))
            negateStored(op);
        });
    }
  }
  static void negateStored(Operation *store) {
    Value stored = store->getOperand(0);
    if (!llvm::isa<mlir::FloatType>(
            mlir::getElementTypeOrSelf(stored.getType())))
      return;
    OpBuilder builder(store);
    store->setOperand(
        0, mlir::arith::NegFOp::create(builder, store->getLoc(), stored));
  }
  std::string name;
};
} // namespace

void WrongTarget::buildLoweringPipeline(mlir::OpPassManager &pm) const {
  pm.addPass(std::make_unique<SwapDifferences>(name));
  right.buildLoweringPipeline(pm);
}

TEST_F(SelfCheckTest, TheReferenceFindsWhatATargetDoesWrong) {
  auto reference = cantFail(createTarget(TargetRequest::parse("reference")));
  WrongTarget wrong(*reference);
  EXPECT_EQ(failures(checkWholeModel({}, &wrong)),
            (std::set<std::string>{"target against reference"}));
}

// The stand-in for omitted layers is no rule of an op.
TEST_F(SelfCheckTest, ARouteNamesTheBlockThatStandsIn) {
  auto reference = cantFail(createTarget(TargetRequest::parse("reference")));
  for (auto [route, block, method] :
       {std::tuple(Route::Exact, "layer.backward.frozen", "unselected exact"),
        std::tuple(Route::Identity, "pass_through", "unselected identity")}) {
    WrongTarget wrong(*reference, block);
    Report report = checkWholeModel({}, nullptr, {route}, &wrong);
    EXPECT_EQ(failures(report), (std::set<std::string>{method}))
        << report.table();
    EXPECT_NE(report.status("model").render().find(std::string("@") + block),
              std::string::npos);
  }
}
