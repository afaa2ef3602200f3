//===- Conversation.cpp - From turns to samples and their loss ------------===//

#include "data/Conversation.h"

#include "base/Counted.h"
#include "chat/TemplateText.h"

#include <algorithm>

namespace hone::rt {

namespace {

/// Compares the ids that it is given with known ones.
class ComparingSink : public TokenSink {
public:
  ComparingSink(const std::vector<int32_t> &with, int32_t end)
      : with(with), end(end) {}

  bool append(const int32_t *ids, size_t size) override {
    for (size_t i = 0; i < size; ++i) {
      if (common == all && common < with.size() && with[common] == ids[i])
        ++common;
      else
        onlyEndFollows &= ids[i] == end;
      ++all;
    }
    return true;
  }

  const std::vector<int32_t> &with;
  const int32_t end;
  uint64_t common = 0, all = 0; ///< of the given ids
  bool onlyEndFollows = true;
};

/// Keeps the ids, and finds the tokens of marked characters.
class MarkedSink : public TokenSink {
public:
  /// `marks` are in the text's order and apart.
  MarkedSink(SampleIds &ids, const std::vector<TextSpan> &marks)
      : ids(ids), marks(marks) {
    spans.reserve(marks.size());
  }

  bool append(const int32_t *more, size_t count) override {
    return ids.append(more, count);
  }
  bool wantsEnds() const override { return true; }
  /// As Transformers' char_to_token has it: of several tokens of a character
  /// the first, for the last character of a mark too.
  bool appendOne(int32_t id, size_t end) override {
    for (; next < 2 * marks.size(); ++next) {
      const TextSpan &mark = marks[next / 2];
      const bool isBegin = next % 2 == 0;
      if ((isBegin ? mark.begin : mark.end - 1) >= end)
        break;
      if (isBegin)
        spans.push_back({ids.count, ids.count + 1});
      else
        spans.back().end = ids.count + 1;
    }
    ids.add(id);
    return true;
  }

  SampleIds &ids;
  const std::vector<TextSpan> &marks;
  std::vector<TokenSpan> spans;

private:
  size_t next = 0; ///< of the beginnings and ends of marks, in turn
};

} // namespace

Status ConversationEncoder::renderTo(ChatMessages &messages, size_t count,
                                     bool prompt, TokenSink &sink,
                                     std::string &out) {
  Status status = model.render(messages, count, prompt, place, out);
  if (status.isOk())
    status = model.encode(out, place, sink, scratch);
  return status;
}

Status ConversationEncoder::renderWhole(ChatMessages &messages, size_t count) {
  whole.clear();
  return renderTo(messages, count, false, whole, wholeText);
}

/// Leaves the rendering in `text`.
Status ConversationEncoder::compare(ChatMessages &messages, size_t count,
                                    bool prompt, Common &common) {
  ComparingSink sink(whole.kept, tokenizer.eosToken());
  Status status = renderTo(messages, count, prompt, sink, text);
  common = {sink.common, sink.onlyEndFollows};
  return status;
}

static bool beginsWith(const std::string &text, const std::string &start) {
  return text.compare(0, start.size(), start) == 0;
}

/// Where in `whole` the turn `answer` begins that it has, and whether the
/// prompt ends otherwise.
Status ConversationEncoder::findStart(ChatMessages &messages, size_t answer,
                                      uint64_t &start, bool &parts) {
  Common prompt, before;
  HONE_TRY(compare(messages, answer, true, prompt));
  start = prompt.tokens;
  parts = !beginsWith(wholeText, text);
  if (!parts)
    return Status::ok();
  HONE_TRY(compare(messages, answer, false, before));
  const int32_t eos = tokenizer.eosToken();
  const std::string end = eos < 0 ? "" : tokenizer.decode(&eos, 1);
  if (text.size() >= end.size() &&
      text.compare(text.size() - end.size(), end.size(), end) == 0)
    text.resize(text.size() - end.size());
  if (beginsWith(wholeText, text))
    return Status::ok();
  return Status(
      ErrorCode::ConversationRefused, place,
      "the chat template writes the turns before turn " +
          std::to_string(answer + 1) +
          " differently once that turn follows, so the text that the model "
          "would have seen is ambiguous",
      "some templates do so with system turns: put their text into the first "
      "turn of the user");
}

/// Counts a turn of the assistant that is `span` of `whole`.
void ConversationEncoder::noteTurn(const TokenSpan &span, bool parts) {
  ++counts.turns;
  counts.parted += parts;
  // Templates put line ends after the token that ends it.
  for (uint64_t i = span.end; i > span.begin; --i) {
    const int32_t id = whole.kept[i - 1];
    if (id != tokenizer.eosToken() && !model.isSpecial(id))
      continue;
    if (counts.end.empty())
      counts.end = tokenizer.decode(&id, 1);
    return;
  }
  ++counts.endless;
}

/// Moves `marks` of `text` to where they are when each DataMark is gone.
static void skipDataMarks(const std::string &text,
                          std::vector<TextSpan> &marks) {
  size_t at = 0, gone = 0;
  const auto moved = [&](size_t to) {
    for (; at < to; ++at)
      gone += text[at] == DataMark;
    return to - gone;
  };
  for (TextSpan &mark : marks) {
    mark.begin = moved(mark.begin);
    mark.end = moved(mark.end);
  }
  marks.erase(std::remove_if(
                  marks.begin(), marks.end(),
                  [](const TextSpan &mark) { return mark.begin == mark.end; }),
              marks.end());
}

/// The template marks the answers: one sample.
Status ConversationEncoder::encodeMarked(ChatMessages &messages,
                                         const Emit &emit) {
  std::vector<TextSpan> answers;
  HONE_TRY(model.chatTemplate().render(messages, messages.size(), false, place,
                                       text, &answers));
  skipDataMarks(text, answers);
  whole.clear();
  MarkedSink sink(whole, answers);
  HONE_TRY(model.encode(text, place, sink, scratch));
  for (const TokenSpan &span : sink.spans)
    noteTurn(span, false);
  return emit(sink.spans);
}

Status ConversationEncoder::encode(std::vector<ChatTurn> turns,
                                   const Json &tools, const std::string &from,
                                   const Emit &emit) {
  place = from;
  ++counts.conversations;
  std::vector<size_t> answers;
  for (size_t i = 0; i < turns.size(); ++i)
    if (turns[i].role == ChatRole::Assistant)
      answers.push_back(i);
  noteContents(turns);
  if (!answers.empty() && answers.front() == 0) {
    if (counts.answerFirst++ == 0)
      counts.firstOfThem = place;
    return Status::ok();
  }
  const bool hasSystem =
      std::any_of(turns.begin(), turns.end(), [](const ChatTurn &turn) {
        return turn.role == ChatRole::System;
      });
  std::vector<ChatTurn> given;
  if (hasSystem)
    given = turns;
  const bool isMarked = model.chatTemplate().marksAnswers();
  ChatMessages messages = model.messages(std::move(turns), tools);
  counts.spelled += messages.marked();
  HONE_TRY(isMarked ? encodeMarked(messages, emit)
                    : encodeTurns(messages, answers, emit));
  return hasSystem ? noteSystem(std::move(given), tools, messages,
                                isMarked ? text : wholeText)
                   : Status::ok();
}

/// The samples of turns whose loss the template does not mark.
Status ConversationEncoder::encodeTurns(ChatMessages &messages,
                                        const std::vector<size_t> &answers,
                                        const Emit &emit) {
  HONE_TRY(renderWhole(messages, messages.size()));
  bool isShared = true;
  std::vector<TokenSpan> spans(answers.size());
  for (size_t i = 0; i < answers.size() && isShared; ++i) {
    Common turn;
    HONE_TRY(compare(messages, answers[i] + 1, false, turn));
    spans[i].end = turn.tokens;
    isShared = turn.onlyEndFollows;
  }
  if (!isShared)
    ++counts.split;
  // A sample that was told cannot be taken back, so errors come before.
  for (bool emits : {false, true})
    for (size_t i = 0; i < answers.size() && (emits || !isShared); ++i) {
      if (!isShared) {
        HONE_TRY(renderWhole(messages, answers[i] + 1));
        spans[i].end = whole.count;
      }
      if (!isShared && !emits && answers.size() == 1)
        continue; // the other round sees it before it tells anything
      bool parts;
      HONE_TRY(findStart(messages, answers[i], spans[i].begin, parts));
      if (!emits)
        continue;
      noteTurn(spans[i], parts);
      if (!isShared)
        HONE_TRY(emit({spans[i]}));
    }
  return isShared ? emit(spans) : Status::ok();
}

void ConversationEncoder::noteContents(const std::vector<ChatTurn> &turns) {
  bool isJoined = false;
  for (const ChatTurn &turn : turns) {
    isJoined |= turn.isInParts && !model.writesParts();
    if (!turn.calls.isArray())
      continue;
    for (const Json &call : turn.calls.array()) {
      const Json *function = call.find("function");
      const Json *arguments = (function ? *function : call).find("arguments");
      counts.textCalls += arguments && arguments->isString();
    }
  }
  counts.joined += isJoined;
}

/// Counts a conversation one of whose system turns could say anything else.
/// `turns` are those of `messages`, of which `shown` is the text.
Status ConversationEncoder::noteSystem(std::vector<ChatTurn> turns,
                                       const Json &tools,
                                       ChatMessages &messages,
                                       const std::string &shown) {
  std::vector<ChatTurn *> unseen;
  for (ChatTurn &turn : turns) {
    const std::string_view said = stripText(turn.content, true, true, nullptr);
    if (turn.role == ChatRole::System && !said.empty() &&
        shown.find(said) == std::string::npos)
      unseen.push_back(&turn);
  }
  if (unseen.empty())
    return Status::ok();
  for (ChatTurn *turn : unseen)
    turn->content += "x";
  const size_t count = turns.size();
  ChatMessages others = model.messages(std::move(turns), tools);
  std::string one, other;
  HONE_TRY(model.render(messages, count, false, place, one));
  if (!model.render(others, count, false, place, other).isOk() || one != other)
    return Status::ok();
  if (counts.dropped++ == 0)
    counts.firstDropped = place;
  return Status::ok();
}

static std::string lineOf(const std::string &place) {
  return place.substr(place.rfind(':') + 1);
}

std::string ConversationCounts::leftOut() const {
  if (answerFirst == 0)
    return "";
  return "\n" + countedOf(answerFirst, conversations, "conversation") +
         plural(answerFirst, " begins", " begin") +
         " with a turn of the assistant, which answers nothing, and " +
         plural(answerFirst, "is", "are") + " left out; the first is in line " +
         lineOf(firstOfThem);
}

std::string ConversationCounts::notes() const {
  std::string out;
  if (!end.empty())
    out += "\nanswers end in " + end + ", which is a target";
  if (endless != 0)
    out += "\nafter " + countedOf(endless, turns, "answer") +
           " the chat template puts no special token: the model does not learn "
           "to stop there";
  if (split != 0)
    out += "\n" + countedOf(split, conversations, "conversation") +
           plural(split, " becomes", " become") +
           " one sample for each answer, since the chat template writes "
           "earlier turns differently once there are later ones";
  if (parted != 0)
    out += "\n" + countedOf(parted, turns, "answer") +
           plural(parted, " begins", " begin") +
           " differently from the end of the chat template's prompt; the loss "
           "begins where the two differ";
  if (dropped != 0)
    out += "\nin " + countedOf(dropped, conversations, "conversation") +
           " the chat template leaves the system's turn out; the first is in "
           "line " +
           lineOf(firstDropped);
  if (joined != 0)
    out += "\nin " + countedOf(joined, conversations, "conversation") +
           " contents in parts are joined, with a line end between two, since "
           "the chat template writes no parts";
  if (textCalls != 0)
    out += "\narguments that calls give as text, which the chat template sees "
           "as text: " +
           std::to_string(textCalls);
  if (spelled != 0)
    out += "\nspecial tokens that turns spell are read as text: " +
           std::to_string(spelled);
  return out;
}

} // namespace hone::rt
