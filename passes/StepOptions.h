//===- StepOptions.h - The options of a step ------------------------------===//

#pragma once

#include "mlir/Pass/PassOptions.h"

namespace hone {

/// The options of the passes of all phases, beside methods, which the module
/// itself names (methods/StepSettings.h).
struct StepOptions : mlir::PassPipelineOptions<StepOptions> {
  Option<std::string> residuals{
      *this, "residuals", llvm::cl::init("mesp"),
      llvm::cl::desc("values that the forward pass keeps, as in "
                     "hone-derive-backward")};
  Option<int64_t> recomputedInputs{
      *this, "recomputed-inputs", llvm::cl::init(0),
      llvm::cl::desc("block inputs that are computed again, not kept")};
  Option<int64_t> roundedInputs{
      *this, "rounded-inputs", llvm::cl::init(0),
      llvm::cl::desc("block inputs that are kept in bfloat16")};
  Option<int64_t> offloadedInputs{
      *this, "offloaded-inputs", llvm::cl::init(0),
      llvm::cl::desc(
          "layers whose input and kept values rest in a file between "
          "forward and backward, as in hone-offload-inputs")};
  Option<bool> rematerialize{
      *this, "rematerialize", llvm::cl::init(false),
      llvm::cl::desc("compute cheap values again where they are read late")};
  Option<int64_t> tileRows{
      *this, "tile-rows", llvm::cl::init(0),
      llvm::cl::desc("rows of a tile of wide row-wise ops in blocks with "
                     "sinks; 0: no tiles")};
  Option<int64_t> forwardTileRows{*this, "forward-tile-rows", llvm::cl::init(0),
                                  llvm::cl::desc("the same in other blocks")};
  Option<bool> accumulates{*this, "accumulates", llvm::cl::init(false),
                           llvm::cl::desc("steps have several batches")};
  Option<int64_t> halvings{
      *this, "halvings", llvm::cl::init(0),
      llvm::cl::desc("further placements, each for half as many rows as the "
                     "one before, as in hone-place")};
  ListOption<int64_t> splitAfter{
      *this, "split-after",
      llvm::cl::desc("of each part but the last its last layer, counted from "
                     "1; none: one part")};
  ListOption<std::string> parts{
      *this, "parts",
      llvm::cl::desc("names of the parts; default: lower and upper, or part1, "
                     "part2, ...")};
  Option<std::string> part{
      *this, "part", llvm::cl::init(""),
      llvm::cl::desc("the part to keep, by name; default: all")};
  Option<std::string> exchangeDtype{
      *this, "exchange-dtype", llvm::cl::init(""),
      llvm::cl::desc("bfloat16: float32 values cross a cut rounded; default: "
                     "as they are")};
  Option<int64_t> inFlight{
      *this, "in-flight", llvm::cl::init(1),
      llvm::cl::desc("probes or batches that are under way at once between "
                     "parts")};
  Option<bool> streamWeights{
      *this, "stream-weights", llvm::cl::init(false),
      llvm::cl::desc("keep few of the frozen weights resident")};
  Option<int64_t> generationRows{
      *this, "generation-rows", llvm::cl::init(0),
      llvm::cl::desc(
          "instead of a training step one that generates text, of up "
          "to so many new rows; 0: a training step")};
  Option<int64_t> generationPositions{
      *this, "generation-positions", llvm::cl::init(0),
      llvm::cl::desc(
          "most tokens of a text that is generated, with its prompt")};
  /// Whether Derive and Place end in a pass that checks their promises.
  bool verifies = true;
  /// Whether Derive makes all parts to check that their exchanges fit together;
  /// else it makes only the one to keep.
  bool verifiesExchanges = true;
};

} // namespace hone
