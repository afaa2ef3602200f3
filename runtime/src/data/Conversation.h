//===- Conversation.h - From turns to samples and their loss --------------===//
//
// The loss is taken from the assistant's text. A template may mark it with
// Transformers' {% generation %}: then it is the marked text, as
// return_assistant_tokens_mask has it. Else it is found by prefix rendering:
// turn i is the text that a rendering of the turns up to i adds to one of those
// before it with the prompt to go on. Both are compared as tokens. A prompt
// that ends otherwise than the turn begins ("<think>") counts as far as both
// agree; one that renders the turns before it otherwise leaves the loss no
// place and is refused. Where the whole conversation begins with each of these
// prefixes, it is one sample. Where it does not, because the template shows
// earlier turns otherwise once there are later ones (thoughts that are left
// out, a system text that moves), each turn of the assistant is a sample of its
// own: the text that the model would have seen when it said that turn.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "chat/ChatModel.h"
#include "data/SampleIds.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hone::rt {

struct TokenSpan {
  uint64_t begin, end;
};

/// Counts of a file's conversations, for the notes.
struct ConversationCounts {
  uint64_t conversations = 0;
  uint64_t split = 0;       ///< into a sample for each turn of the assistant
  uint64_t turns = 0;       ///< of assistants
  uint64_t parted = 0;      ///< that begin otherwise than the prompt ends
  uint64_t endless = 0;     ///< without a special token at their end
  uint64_t spelled = 0;     ///< special tokens that data spells
  uint64_t joined = 0;      ///< whose contents in parts are one text each
  uint64_t textCalls = 0;   ///< calls whose arguments are given as text
  uint64_t dropped = 0;     ///< whose system turn the template leaves out
  std::string firstDropped; ///< where that is
  uint64_t answerFirst = 0; ///< left out: their first turn answers nothing
  std::string firstOfThem;  ///< where that is
  std::string end; ///< the special token of the first turn that has one

  /// A sentence a line, each after a line end.
  std::string notes() const;
  std::string leftOut() const;
};

class ConversationEncoder {
public:
  /// Told each sample, whose ids are in `whole`, with the spans of its loss.
  using Emit = std::function<Status(const std::vector<TokenSpan> &)>;

  /// `whole` takes the ids of a conversation, and has no limit: a long one's
  /// would not fit into memory twice.
  ConversationEncoder(const ChatModel &model, const Tokenizer &tokenizer,
                      TokenizerScratch &scratch, SampleIds &whole,
                      ConversationCounts &counts)
      : model(model), tokenizer(tokenizer), scratch(scratch), counts(counts),
        whole(whole) {}

  /// `place` is where the turns are from. Emits nothing of a conversation that
  /// begins with the assistant, but counts it. Errors: ConversationRefused,
  /// those of `emit` and of Tokenizer::encode.
  Status encode(std::vector<ChatTurn> turns, const Json &tools,
                const std::string &place, const Emit &emit);
  Status encode(std::vector<ChatTurn> turns, const std::string &place,
                const Emit &emit) {
    return encode(std::move(turns), Json(), place, emit);
  }

private:
  /// How many of the first tokens of a rendering another has too.
  struct Common {
    uint64_t tokens = 0;
    bool onlyEndFollows = true; ///< after them nothing but end-of-text
  };
  Status renderTo(ChatMessages &messages, size_t count, bool prompt,
                  TokenSink &sink, std::string &text);
  Status renderWhole(ChatMessages &messages, size_t count);
  Status compare(ChatMessages &messages, size_t count, bool prompt,
                 Common &common);
  Status findStart(ChatMessages &messages, size_t answer, uint64_t &start,
                   bool &parts);
  void noteTurn(const TokenSpan &span, bool parts);
  Status encodeMarked(ChatMessages &messages, const Emit &emit);
  Status encodeTurns(ChatMessages &messages, const std::vector<size_t> &answers,
                     const Emit &emit);
  void noteContents(const std::vector<ChatTurn> &turns);
  Status noteSystem(std::vector<ChatTurn> turns, const Json &tools,
                    ChatMessages &messages, const std::string &shown);

  const ChatModel &model;
  const Tokenizer &tokenizer;
  TokenizerScratch &scratch;
  ConversationCounts &counts;
  SampleIds &whole; ///< the sample that prefixes are looked for in
  std::string place, text, wholeText;
};

} // namespace hone::rt
