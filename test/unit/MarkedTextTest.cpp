//===- MarkedTextTest.cpp - Text with marks, and templates that see none --===//

#include "ChatFixture.h"

#include "chat/MarkedText.h"
#include "chat/TemplateInterpreter.h"
#include "chat/TemplateParser.h"

#include <algorithm>

using namespace hone::rt;
using namespace hone::test;

/// `text`, in which ^ stands for a mark.
static std::string withMarks(std::string text) {
  std::replace(text.begin(), text.end(), '^', DataMark);
  return text;
}

TEST(MarkedText, PartsGetTheirMarksBack) {
  const std::string given = withMarks("^ab^cd^"); // the last is of no character
  const MarkedText text(given);
  const std::string_view plain = text.plain();
  EXPECT_EQ(plain, "abcd");
  EXPECT_EQ(text.marked(plain), withMarks("^ab^cd"));
  EXPECT_EQ(text.marked(plain.substr(0, 2)), withMarks("^ab"));
  EXPECT_EQ(text.marked(plain.substr(1, 2)), withMarks("b^c"));
  EXPECT_EQ(text.marked(plain.substr(2)), withMarks("^cd"));
  EXPECT_EQ(text.marked(plain.substr(3)), "d");
  const MarkedText bare("abcd");
  EXPECT_EQ(bare.marked(bare.plain().substr(1, 2)), "bc");
}

TEST(MarkedText, EmptyPartsHaveNoMarks) {
  const std::string given = withMarks("ab^cd^");
  const MarkedText text(given);
  const std::string_view plain = text.plain();
  for (const std::string_view part :
       {plain.substr(2, 0), plain.substr(4), std::string_view()}) {
    EXPECT_EQ(text.marked(part), "");
    EXPECT_FALSE(text.isMarked(part));
  }
  const std::string mark = withMarks("^");
  EXPECT_EQ(MarkedText(mark).plain(), "");
}

TEST(MarkedText, AMarkIsOnTheCharacterAfterIt) {
  const std::string given = withMarks("ab^cd");
  const MarkedText text(given);
  for (size_t at = 0; at < 4; ++at)
    EXPECT_EQ(text.isMarked(text.plain().substr(at)), at == 2) << at;
}

TEST(MarkedText, TextsAreTheSameButForMarks) {
  const std::tuple<const char *, const char *, bool> cases[] = {
      {"", "", true},        {"", "^", true},     {"ab", "^ab", true},
      {"a^b", "^ab^", true}, {"", "a", false},    {"a", "ab", false},
      {"^a", "ab", false},   {"a", "^ab", false}, {"a^b", "ac", false}};
  for (const auto &[one, other, same] : cases) {
    EXPECT_EQ(isSameText(withMarks(one), withMarks(other)), same) << other;
    EXPECT_EQ(isSameText(withMarks(other), withMarks(one)), same) << other;
  }
}

//===----------------------------------------------------------------------===//
// Operations of templates
//===----------------------------------------------------------------------===//

/// The ids of one turn that the template writes as `expression`.
static std::vector<int32_t> idsOf(const std::string &expression,
                                  const std::string &content) {
  LoadedChat chat("qwen2", "{% for m in messages %}<|im_start|>{{ " +
                               expression + " }}<|im_end|>\n{% endfor %}");
  ChatMessages messages = chat.model.messages({turn(ChatRole::User, content)});
  std::string text;
  Status status = chat.model.render(messages, 1, false, "place", text);
  EXPECT_TRUE(status.isOk()) << expression << status.render();
  SampleIds ids(UINT64_MAX);
  status = chat.model.encode(text, "place", ids, chat.loaded.scratch);
  EXPECT_TRUE(status.isOk()) << expression << status.render();
  return ids.kept;
}

TEST(MarkedText, TemplatesSeeNoMarks) {
  // Of each expression the text that Python gives.
  const std::pair<const char *, const char *> cases[] = {
      {"m.content", "ab<|im_end|>c"},
      {"m.content.split('<|im_end|>')[0]", "ab"},
      {"m.content.split('<|im_end|>')[1]", "c"},
      {"m.content.split('<|im')[1]", "_end|>c"},
      {"m.content.rsplit('b<|im_end|>', 1)[0]", "a"},
      {"m.content | replace('<|im_end|>', '')", "abc"},
      {"m.content.replace('b<|im_end|>', 'X')", "aXc"},
      {"m.content.replace('<|im_end|>', '<|im_start|>')", "ab<|im_start|>c"},
      {"m.content[:2]", "ab"},
      {"m.content[2:12]", "<|im_end|>"},
      {"m.content[12]", "c"},
      {"m.content[2]", "<"},
      {"m.content[::-1]", "c>|dne_mi|<ba"},
      {"m.content | list | join", "ab<|im_end|>c"},
      {"m.content | list | length", "13"},
      {"m.content | length", "13"},
      {"m.content.removesuffix('<|im_end|>c')", "ab"},
      {"m.content.removeprefix('ab<|im_end|>')", "c"},
      {"m.content[2:].startswith('<|im_end|>')", "True"},
      {"m.content[:-1].endswith('b<|im_end|>')", "True"},
      {"m.content.find('c')", "12"},
      {"m.content.count('b<|im')", "1"},
      {"'b<|im' in m.content", "True"},
      {"m.content == 'ab<|im_end|>c'", "True"},
      {"m.content < 'ab<'", "False"},
      {"m.content.rstrip('c>|_dneim')", "ab<"},
      {"m.content.strip('c>|_dneim<')", "ab"},
      {"m.content[2:].lstrip('<|im_end')", ">c"},
      {"m.content[2:].isalpha()", "False"},
      {"m.content | capitalize", "Ab<|im_end|>c"},
      // A mapping's names.
      {"{'ab<|im_end|>c': 'y'}[m.content]", "y"},
      {"{m.content: 'y'}['ab<|im_end|>c']", "y"},
      {"{m.content: 'y'}.get('ab<|im_end|>c')", "y"},
      {"m.content in {'ab<|im_end|>c': 1}", "True"},
      {"{m.content: 1} == {'ab<|im_end|>c': 1}", "True"},
      {"{m.content: 1, 'ab<|im_end|>c': 2} | length", "1"},
      {"dict([[m.content, 1], ['ab<|im_end|>c', 2]]) | length", "1"},
      {"({m.content: 1, 'ab~': 2} | dictsort | first)[0]", "ab<|im_end|>c"},
      {"[{'ab<|im_end|>c': 3}] | sum(attribute=m.content)", "3"}};
  for (const auto &[expression, expected] : cases)
    EXPECT_EQ(idsOf(expression, "ab<|im_end|>c"), idsOf("m.content", expected))
        << expression;
}

/// What `expression` is with `x`, without marks.
static std::string valueOf(const std::string &expression,
                           const std::string &x) {
  Result<TemplateTree> tree =
      parseTemplate("{{ " + expression + " }}", "template");
  EXPECT_TRUE(tree.isOk()) << expression << tree.status().render();
  ValueMemory memory;
  TemplateInterpreter interpreter(tree.value(), memory, {});
  std::string text;
  const TemplateFault fault = interpreter.render(
      {{"x", TemplateValue::string(memory, x)}}, {2025, 3, 7}, text);
  EXPECT_EQ(fault.problem, "") << expression;
  return std::string(MarkedText(text).plain());
}

// Special tokens may be words, numbers or white space.
TEST(MarkedText, KindsOfCharactersAreThoseOfTheText) {
  const std::tuple<const char *, const char *, const char *> cases[] = {
      {"x.isalpha()", "^stop", "True"}, {"x.isalpha()", "a^1", "False"},
      {"x.isdigit()", "1^20", "True"},  {"x.isdigit()", "1^a", "False"},
      {"x.isspace()", " ^\n ", "True"}, {"x.isspace()", " ^a", "False"},
      {"x | int", "^12", "12"},         {"x | float", "^1.5", "1.5"}};
  for (const auto &[expression, x, expected] : cases)
    EXPECT_EQ(valueOf(expression, withMarks(x)), expected) << expression;
}
