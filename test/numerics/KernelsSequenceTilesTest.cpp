//===- KernelsSequenceTilesTest.cpp - Tiles of whole sequences ------------===//
//
// A layer that runs for some sequences after the others leaves the bits of one
// that runs for the whole batch.
//
//===----------------------------------------------------------------------===//

#include "dialects/Hone/SequenceTiles.h"
#include "passes/kernels/TargetKernels.h"
#include "test/numerics/BuildProgram.h"
#include "test/numerics/KernelCase.h"
#include "threads/Pool.h"

#include "llvm/ADT/StringRef.h"

#include <numeric>

using namespace hone;
using namespace hone::reference;

namespace {

constexpr int64_t kWidth = 48, kKeyWidth = 16;

class KernelsSequenceTilesTest : public KernelTest {
protected:
  /// Of a module of `mostRows` rows, in tiles of `tileRows`; 0: none.
  std::string layer(int64_t mostRows, int64_t tileRows, int64_t longest) const;
  static std::vector<double> run(EntryProgram &program,
                                 const std::vector<int64_t> &lengths,
                                 const std::string &element, unsigned threads);
};

INSTANTIATE_TEST_SUITE_P(Elements, KernelsSequenceTilesTest,
                         testing::Values("f32", "f64", kMedium, "bf16",
                                         kPairs));
} // namespace

static void replaceAll(std::string &text, const std::string &from,
                       const std::string &to) {
  for (size_t at; (at = text.find(from)) != std::string::npos;)
    text.replace(at, from.size(), to);
}

std::string KernelsSequenceTilesTest::layer(int64_t mostRows, int64_t tileRows,
                                            int64_t longest) const {
  // The first of two layers writes its result over its input. Learned positions
  // and rotated ones, attention in a window, and the normalizer, which a
  // backward reads.
  const std::string body = R"(
    %p = hone.position_embedding $S, %table offset 2 : (tensor<?xi32>, tensor<512x48xT>) -> tensor<?x48xT>
    %h = hone.add $X, %p : tensor<?x48xT>
    %q = hone.linear %h, %wq : (tensor<?x48xT>, tensor<48x48xT>) -> tensor<?x48xT>
    %r = hone.rope %q, $S heads 6 theta 1.0e4 : (tensor<?x48xT>, tensor<?xi32>) -> tensor<?x48xT>
    %k = hone.linear %h, %wk : (tensor<?x48xT>, tensor<16x48xT>) -> tensor<?x16xT>
    %a, %n = hone.attention %r, %k, %k, $S heads 6 kv_heads 2 scale 0.3 : (tensor<?x48xT>, tensor<?x16xT>, tensor<?x16xT>, tensor<?xi32>) -> (tensor<?x48xT>, tensor<?x12xC>)
    %w = hone.attention %a, %k, %k, $S heads 6 kv_heads 2 window 70 scale 0.3 : (tensor<?x48xT>, tensor<?x16xT>, tensor<?x16xT>, tensor<?xi32>) -> tensor<?x48xT>
    %z = hone.add %h, %w : tensor<?x48xT>
)";
  std::string text =
      "module attributes {hone.max_positions = 300 : i64, hone.max_rows = " +
      std::to_string(mostRows) +
      R"( : i64} {
  hone.block @layer(%x: tensor<?x48xT>) -> (tensor<?x48xT>, tensor<?x12xC>) {
    %s = hone.input "sequence_starts" : tensor<?xi32>
    %table = hone.input "table" : tensor<512x48xT>
    %wq = hone.input "wq" : tensor<48x48xT>
    %wk = hone.input "wk" : tensor<16x48xT>
)";
  auto withRows = [&](const std::string &starts, const std::string &x) {
    std::string of = body;
    replaceAll(of, "$S", starts);
    replaceAll(of, "$X", x);
    return of;
  };
  if (tileRows == 0)
    text += withRows("%s", "%x") +
            "hone.return %z, %n : tensor<?x48xT>, tensor<?x12xC>\n";
  else
    text +=
        "%y:2 = hone.row_tiles " + std::to_string(tileRows) +
        " (%s, %x) {hone.longest_sequence = " + std::to_string(longest) +
        R"( : i64} : (tensor<?xi32>, tensor<?x48xT>) -> (tensor<?x48xT>, tensor<?x12xC>) {
    ^tile(%starts: tensor<?xi32>, %rows: tensor<?x48xT>):
)" + withRows("%starts", "%rows") +
        R"(
      hone.return %z, %n : tensor<?x48xT>, tensor<?x12xC>
    }
    hone.return %y#0, %y#1 : tensor<?x48xT>, tensor<?x12xC>
)";
  text += R"(}
  hone.block @start() -> tensor<?x48xT> {
    %i = hone.input "x" : tensor<?x48xT>
    %y = hone.add %i, %i : tensor<?x48xT>
    hone.return %y : tensor<?x48xT>
  }
  hone.entry @run() -> (tensor<?x48xT>, tensor<?x12xC>) {
    %x = hone.call @start "" () : () -> tensor<?x48xT>
    %y, %m = hone.call @layer "" (%x) : (tensor<?x48xT>) -> (tensor<?x48xT>, tensor<?x12xC>)
    %z, %n = hone.call @layer "" (%y) : (tensor<?x48xT>) -> (tensor<?x48xT>, tensor<?x12xC>)
    hone.return %z, %n : tensor<?x48xT>, tensor<?x12xC>
  }
})";
  auto typeOf = [](const std::string &name) {
    return llvm::StringRef(name).starts_with("bf16")
               ? std::string("bf16")
               : name.substr(0, name.find('-'));
  };
  replaceAll(text, "xT>", "x" + typeOf(element()) + ">");
  replaceAll(text, "xC>", "x" + typeOf(computed()) + ">");
  return text;
}

std::vector<double>
KernelsSequenceTilesTest::run(EntryProgram &program,
                              const std::vector<int64_t> &lengths,
                              const std::string &element, unsigned threads) {
  const int64_t rows = std::accumulate(lengths.begin(), lengths.end(), 0);
  std::vector<int32_t> starts;
  for (int64_t length : lengths)
    starts.insert(starts.end(), length, static_cast<int32_t>(starts.size()));
  program.reset();
  program.write("input.x", randomMatrix(rows, kWidth, 1, element).values);
  program.write("input.sequence_starts", llvm::ArrayRef(starts));
  program.write("input.table", randomMatrix(512, kWidth, 2, element).values);
  program.write("input.wq", randomMatrix(kWidth, kWidth, 3, element).values);
  program.write("input.wk", randomMatrix(kKeyWidth, kWidth, 4, element).values);
  auto pool = rt::Pool::create(threads);
  if (!pool.isOk())
    llvm::report_fatal_error("cannot start threads");
  program.run(rows, *pool.value());
  std::vector<double> found = program.read("result.0", rows * kWidth);
  for (double each : program.read("result.1", rows * 12))
    found.push_back(each);
  return found;
}

TEST_P(KernelsSequenceTilesTest, ChangeNoBit) {
  constexpr int64_t mostRows = 1200, longest = 300, tileRows = 512;
  const bool rounds = element() == kMedium || element() == kPairs;
  // Where sequences start is read on the host.
  llvm::ExitOnError check("error: ");
  auto target = check(createTarget(TargetRequest::parse(targetUnderTest())));
  if (!target->kernels() || target->kernels()->attentionIterations() == 0)
    GTEST_SKIP() << "is for processors";
  EntryProgram whole = buildProgram(layer(mostRows, 0, 0), *target, rounds);
  EntryProgram tiled =
      buildProgram(layer(mostRows, tileRows, longest), *target, rounds);
  const std::vector<int64_t> batches[] = {
      // All in one tile, one row, and a sequence as long as there may be.
      {1},
      {200, 100},
      {300, 300, 300, 300},
      // Bounds on and off those of blocks of keys and of queries.
      {128, 128, 128, 128, 128, 128, 128, 128},
      {64, 300, 17, 190, 299, 5, 1, 1, 251},
      {3, 290, 2, 2, 2, 140, 61, 130, 300, 127, 129},
      // Many that end within one block.
      std::vector<int64_t>(400, 3),
  };
  for (const std::vector<int64_t> &lengths : batches) {
    SCOPED_TRACE(testing::PrintToString(lengths));
    std::vector<double> want = run(whole, lengths, element(), 2);
    for (unsigned threads : {1, 3})
      EXPECT_TRUE(run(tiled, lengths, element(), threads) == want)
          << threads << " threads";
  }
}
