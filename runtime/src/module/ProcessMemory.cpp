//===- ProcessMemory.cpp - The memory of a process beside its arena -------===//

#include "module/ProcessMemory.h"

#include "device/LaunchList.h"
#include "device/Offloading.h"
#include "device/UploadBuffers.h"
#include "formats/Safetensors.h"
#include "formats/TensorMemory.h"
#include "hone/runtime.h"

#include <algorithm>

namespace hone::rt {

/// The program's own data, heap, main stack and I/O buffers.
static constexpr uint64_t ProgramBytes = 768 * 1024;
/// Memory for preparing data: a line (DataLines::LongestLine), a piece of text
/// in the tokenizer (Tokenizer::LongestPiece) and the buffers of two files.
static constexpr uint64_t PreparationBytes = 3 * 1024 * 1024;

/// The turns of a conversation (ChatPrompt::LongestConversation), the next one
/// and the answer. A template and the tokenizer take no more for them than for
/// data.
static constexpr uint64_t ConversationBytes = 3 * 128 * 1024;

/// An allocation's own bytes and its rounding up, at most.
static constexpr uint64_t ChunkBytes = 24;
/// A shape of up to four dimensions.
static constexpr uint64_t ShapeBytes = 4 * sizeof(int64_t) + 16;
/// A header's text on a tensor beside its name.
static constexpr uint64_t HeaderBytes = 100;
/// A node of a map or set, beside its value.
static constexpr uint64_t NodeBytes = 32 + ChunkBytes;
/// The names in an adapter's file have a prefix.
static constexpr uint64_t PrefixBytes = 24;
/// Memory of a part: its settings as they were compiled in and as the run has
/// them, 9 KiB each, and those that programs compare and a run is known by, as
/// text. 72 to 83 KiB were seen.
static constexpr uint64_t PartBytes = 96 * 1024;
/// A value of JSON in a tree.
static constexpr uint64_t JsonBytes = 150;

/// Copies of all names, each an allocation.
static uint64_t namesOf(const NamedTensors &tensors, uint64_t copies) {
  return copies * (tensors.nameBytes + tensors.count * ChunkBytes);
}

/// SafetensorsHeader of a file with `tensors`.
static uint64_t headerOf(const NamedTensors &tensors) {
  constexpr uint64_t numbers = 2 * sizeof(uint32_t); // byName, order of offsets
  return namesOf(tensors, 1) +
         tensors.count * (sizeof(TensorInfo) + ShapeBytes + numbers);
}

/// Trainables::save: a list of the tensors and by name, the writer's header as
/// tables and as text, and the reader that checks it. A model also has a map by
/// name, and then the index of its files, which is less than the header.
static uint64_t savingOf(const ProcessFacts &facts) {
  NamedTensors written = facts.trainables;
  written.nameBytes += written.count * PrefixBytes;
  const uint64_t listed =
      sizeof(TensorMemory) + ShapeBytes + 2 * sizeof(void *);
  const uint64_t mapped =
      facts.writesModel ? 2 * (NodeBytes + sizeof(std::string_view)) : 0;
  return namesOf(facts.trainables, 1) +
         written.count * (listed + mapped + sizeof(TensorSpec)) +
         2 * headerOf(written) + written.nameBytes +
         written.count * HeaderBytes;
}

/// The ModelLayout of a model that is written again.
static uint64_t layoutOf(const ProcessFacts &facts) {
  return facts.writesModel
             ? namesOf(facts.trainables, 2) +
                   facts.trainables.count * 2 * sizeof(std::string)
             : 0;
}

/// Weights::open makes that from JSON, and two sets of names.
static uint64_t openingOf(const ProcessFacts &facts) {
  return facts.writesModel
             ? namesOf(facts.trainables, 2) +
                   facts.trainables.count *
                       (3 * JsonBytes +
                        2 * (NodeBytes + sizeof(std::string_view)))
             : 0;
}

/// A comparison: its line of the log as text and as JSON, the table, the plot.
static uint64_t comparingOf(const ProcessFacts &facts) {
  constexpr uint64_t values = 10, line = 512, plot = 1024;
  return facts.compared * (values * JsonBytes + line + plot);
}

uint64_t processBytes(const ProcessFacts &facts) {
  const uint64_t ofSchedules = facts.items * (sizeof(hone_item) + 16) +
                               facts.values * (sizeof(void *) + 16);
  const uint64_t ofComparison =
      facts.compared == 0
          ? 0
          : facts.trainables.count * (GradientSumsBytes + 16) +
                facts.compared * (3 * GradientSumsBytes + NodeBytes);
  const uint64_t tables =
      headerOf(facts.inFile) +
      facts.weights * (sizeof(hone_weight) + sizeof(void *)) +
      facts.trainables.count * sizeof(hone_trainable) + layoutOf(facts) +
      ofSchedules + ofComparison;
  // The order of the vocabulary, and which of it was there; the tokens of the
  // sequence, of a prompt, and of two more renderings of it, while they grow.
  const uint64_t sampling = facts.logits * 5 + facts.positions * 48 +
                            (facts.logits == 0 ? 0 : ConversationBytes);
  const uint64_t offloading =
      facts.offloads ? HONE_THREAD_STACK_BYTES + Offloading::BounceBytes : 0;
  return ProgramBytes + tables + sampling + offloading +
         facts.parts * PartBytes +
         std::max({PreparationBytes, savingOf(facts), openingOf(facts),
                   comparingOf(facts)});
}

uint64_t mappedTableBytes(const ProcessFacts &facts) {
  // Names, shapes, and the addresses that the loader relocates.
  constexpr uint64_t relocations = 3 * 24, shape = 32;
  const uint64_t named = facts.weights + facts.trainables.count;
  return facts.inFile.nameBytes * 2 + facts.trainables.nameBytes +
         facts.inFile.count * HeaderBytes + named * (relocations + shape) +
         facts.items * 8 * 24;
}

uint64_t deviceHostBytes(const DeviceFacts &facts) {
  constexpr uint64_t index = 2 * sizeof(uint64_t); // in Values, of each slot
  const uint64_t onTheWay = facts.hasOwnMemory ? UploadBuffers::PinnedBytes +
                                                     LaunchList::MostHostBytes
                                               : 0;
  return onTheWay + facts.batchBytes + facts.stagedBytes + facts.mirroredBytes +
         facts.values * index + facts.mirrors * MirrorBytes +
         facts.postponed.calls * PostponedCallBytes +
         facts.postponed.operands * sizeof(char *);
}

} // namespace hone::rt
