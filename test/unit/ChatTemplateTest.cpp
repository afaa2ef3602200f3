//===- ChatTemplateTest.cpp - Templates render as Transformers does -------===//
//
// The expected texts are Jinja's, with Transformers' settings
// (test/reference/chat). Templates as models ship them need HONE_SHARED and
// are skipped without it; of their renderings only hashes are known here.
//
//===----------------------------------------------------------------------===//

#include "ChatFixture.h"

#include "base/Sha256.h"
#include "chat/ChatTemplate.h"
#include "chat/TemplateParser.h"
#include "compiler/text/ChatPresets.h"

#include <chrono>

using namespace hone::rt;
using namespace hone::test;

static const TemplateDate Today = {2025, 3, 7};

static TemplateValue valueOf(ValueMemory &memory, const Json &json) {
  switch (json.kind()) {
  case Json::Kind::Null:
    return TemplateValue::none();
  case Json::Kind::Bool:
    return TemplateValue::boolean(json.boolean());
  case Json::Kind::Number:
    return TemplateValue::integer(json.integer());
  case Json::Kind::String:
    return TemplateValue::string(memory, json.string());
  case Json::Kind::Array: {
    TemplateValue::List items;
    for (const Json &item : json.array())
      items.push_back(valueOf(memory, item));
    return TemplateValue::list(memory, std::move(items));
  }
  case Json::Kind::Object: {
    TemplateValue::Members members;
    for (const auto &[name, value] : json.object())
      members.emplace_back(name, valueOf(memory, value));
    return TemplateValue::dict(memory, std::move(members));
  }
  }
  return {};
}

/// The text of `source`, or nothing with the reason in `problem`.
static bool render(const std::string &source, const Json &messages,
                   std::string &out, std::string &problem,
                   TemplateLimits limits = {}) {
  Result<TemplateTree> tree = parseTemplate(source, "template");
  if (!tree.isOk()) {
    problem = tree.status().render();
    return false;
  }
  ValueMemory memory;
  {
    TemplateInterpreter::Variables variables = {
        {"messages", valueOf(memory, messages)},
        {"tools", TemplateValue::none()},
        {"documents", TemplateValue::none()},
        {"add_generation_prompt", TemplateValue::boolean(false)},
        {"bos_token", TemplateValue::string(memory, "<s>")},
        {"eos_token", TemplateValue::string(memory, "</s>")}};
    TemplateInterpreter interpreter(tree.value(), memory, limits);
    problem = interpreter.render(variables, Today, out).problem;
  }
  EXPECT_EQ(memory.bytes, 0u) << source;
  return problem.empty();
}

/// Constructs that Jinja has and this subset refuses, or fails at, on purpose.
static bool isLeftOut(const std::string &problem) {
  for (const char *reason :
       {"in the subset of Jinja", "written as text; tojson can",
        "beyond ASCII are not supported", "an empty string cannot be replaced",
        "as an integer is not supported", "as a float is not supported",
        "used without a call", "is asked of has ended",
        "of the subset of Jinja"})
    if (problem.find(reason) != std::string::npos)
      return true;
  return false;
}

TEST(ChatTemplate, ConstructsRenderAsJinjaDoes) {
  std::vector<Json> lines = readLines(goldenChat("constructs.jsonl"));
  const Json messages = *lines[0].find("messages");
  unsigned same = 0, leftOut = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string &source = lines[i].find("template")->string();
    std::string text, problem;
    const bool rendered = render(source, messages, text, problem);
    if (lines[i].find("refused") != nullptr) {
      EXPECT_FALSE(rendered) << source << " gave " << text;
      ++same;
    } else if (!rendered) {
      EXPECT_TRUE(isLeftOut(problem)) << source << ": " << problem;
      ++leftOut;
    } else {
      EXPECT_EQ(text, lines[i].find("text")->string()) << source;
      ++same;
    }
  }
  // Left-out cases are printed; a larger number of them fails.
  EXPECT_LE(leftOut, 34u);
  EXPECT_GT(same, 1000u);
}

static std::vector<ChatTurn> turnsOf(const Json &messages) {
  std::vector<ChatTurn> turns;
  for (const Json &message : messages.array()) {
    ChatTurn turn;
    const std::string &role = message.find("role")->string();
    turn.role = role == "system" ? ChatRole::System
                : role == "user" ? ChatRole::User
                                 : ChatRole::Assistant;
    turn.content = message.find("content")->string();
    if (const Json *reasoning = message.find("reasoning_content")) {
      turn.reasoning = reasoning->string();
      turn.hasReasoning = true;
    }
    turns.push_back(turn);
  }
  return turns;
}

static void expectRenderings(const std::string &name,
                             const std::string &source) {
  Result<Json> all =
      Json::parse(readAll(goldenChat("renderings.json")), "renderings.json");
  ASSERT_TRUE(all.isOk()) << all.status().render();
  const Json *expected = all.value().find(name);
  ASSERT_NE(expected, nullptr) << name;
  Result<ChatTemplate> parsed = ChatTemplate::parse(
      source, name, {{"bos_token", "<s>"}, {"eos_token", "</s>"}}, Today);
  ASSERT_TRUE(parsed.isOk()) << parsed.status().render();
  const std::vector<Json> dialogues = readLines(goldenChat("dialogues.jsonl"));
  ASSERT_EQ(dialogues.size(), 50u);
  ASSERT_EQ(expected->array().size(), 50u);
  for (size_t i = 0; i < dialogues.size(); ++i) {
    ChatMessages messages(turnsOf(*dialogues[i].find("messages")));
    for (bool prompt : {false, true}) {
      std::string text;
      Status status = parsed.value().render(messages, messages.size(), prompt,
                                            "dialogue", text);
      const std::string found =
          status.isOk() ? Sha256::hex(text).substr(0, 16) : "refused";
      EXPECT_EQ(found, expected->array()[i].array()[prompt].string())
          << name << ", dialogue " << i << ": " << status.render() << text;
    }
  }
}

namespace {
class WrittenTemplate : public ::testing::TestWithParam<const char *> {};
class ShippedTemplate : public ::testing::TestWithParam<const char *> {};
} // namespace

TEST_P(WrittenTemplate, GivesTransformersText) {
  const std::string name = std::string(GetParam()) + ".jinja";
  expectRenderings(name, readAll(goldenChat("templates/" + name)));
}

INSTANTIATE_TEST_SUITE_P(, WrittenTemplate,
                         ::testing::Values("borders", "chatml", "deepseek",
                                           "gemma3", "granite", "llama2",
                                           "llama3", "marked", "mistral",
                                           "openchat", "phi3", "thinking",
                                           "vicuna", "zephyr"));

TEST_P(ShippedTemplate, GivesTransformersText) {
  const char *shared = std::getenv("HONE_SHARED");
  if (shared == nullptr || *shared == '\0')
    GTEST_SKIP() << "HONE_SHARED is not set";
  const std::string name = std::string(GetParam()) + ".jinja";
  const std::string source =
      readAll(std::string(shared) + "/data/chat-templates/" + name);
  ASSERT_FALSE(source.empty()) << name;
  expectRenderings("shared/" + name, source);
}

INSTANTIATE_TEST_SUITE_P(
    , ShippedTemplate,
    ::testing::Values("Qwen-Qwen2.5-7B-Instruct",
                      "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
                      "google-gemma-2-2b-it",
                      "meta-llama-Llama-3.2-3B-Instruct",
                      "microsoft-Phi-3.5-mini-instruct",
                      "mistralai-Mistral-Nemo-Instruct-2407"),
    [](const auto &info) {
      std::string name = info.param;
      for (char &c : name)
        c = isalnum(uint8_t(c)) ? c : '_';
      return name;
    });

/// Presets are the formats that templates of the tests were written after.
TEST(ChatTemplate, PresetsWriteTheFormatsTheyAreNamedAfter) {
  const std::vector<Json> dialogues = readLines(goldenChat("dialogues.jsonl"));
  for (const auto &[preset, written] : {std::pair("chatml", "chatml"),
                                        {"llama3", "llama3"},
                                        {"gemma", "gemma3"}}) {
    const auto parse = [](const std::string &source) {
      return ChatTemplate::parse(
          source, "t", {{"bos_token", "<s>"}, {"eos_token", "</s>"}}, Today);
    };
    ASSERT_NE(hone::findChatPreset(preset), nullptr);
    Result<ChatTemplate> one = parse(hone::findChatPreset(preset)->source);
    Result<ChatTemplate> other = parse(
        readAll(goldenChat(std::string("templates/") + written + ".jinja")));
    ASSERT_TRUE(one.isOk() && other.isOk()) << one.status().render();
    EXPECT_TRUE(one.value().marksAnswers());
    unsigned compared = 0;
    for (const Json &dialogue : dialogues)
      for (bool prompt : {false, true}) {
        ChatMessages messages(turnsOf(*dialogue.find("messages")));
        std::string a, b;
        const size_t count = messages.size();
        if (!one.value().render(messages, count, prompt, "d", a).isOk() ||
            !other.value().render(messages, count, prompt, "d", b).isOk())
          continue;
        EXPECT_EQ(a, b) << preset;
        ++compared;
      }
    EXPECT_GE(compared, 80u) << preset;
  }
}

//===----------------------------------------------------------------------===//
// Refusals, by name and line
//===----------------------------------------------------------------------===//

TEST(ChatTemplate, AnUnsupportedFeatureIsNamedWithItsLineWhenItRuns) {
  const std::pair<const char *, const char *> cases[] = {
      {"\n{{ x | tricky }}", "the filter 'tricky'"},
      {"\n{{ x is tricky }}", "the test 'tricky'"},
      {"\n{{ 'x'.tricky() }}", "the method 'tricky'"},
      {"\n{{ tricky(1) }}",
       "'tricky' is no macro that is defined before, nor "},
      {"\n{% include 'x' %}", "the statement 'include'"},
      {"\n{% call m() %}x{% endcall %}", "the statement 'call'"},
      {"\n{{ messages.append(1) }}", "the method 'append'"},
      {"\n{{ 2 ** 3 }}", "the operator '**'"},
      {"\n{{ 1 | tojson(sort_keys=true) }}", "the argument 'sort_keys'"},
      {"\n{{ 1 | trim('a', 'b') }}", "filter 'trim' with more than 1"},
      {"\n{{ [1] | map('tojson', indents=1) }}", "the argument 'indents'"},
      {"\n{{ [1] | selectattr('a', 'tricky') }}", "the test 'tricky'"},
      {"\n{% for x in [1] recursive %}{% endfor %}", "a recursive loop"},
      {"\n{% for x in [1] %}{{ loop.changed }}{% endfor %}", "'loop.changed'"},
      {"\n{% for x in [1] %}{% macro m() %}{% endmacro %}{% endfor %}",
       "a macro inside of a loop"},
      {"\n{% with %}{% macro m() %}{% endmacro %}{% endwith %}",
       "a block with names of its own"},
      {"\n{% for x in [1] %}{% set y %}{% break %}{% endset %}{% endfor %}",
       "{% break %} out of a block"},
      {"\n{{ range(*x) }}", "an argument with '*'"},
      {"\n{{ ('a' | safe) % 1 }}", "a text after the filter 'safe'"},
      {"\n{{ ['\u00a0'] }}", "written as text"}};
  for (const auto &[source, expected] : cases) {
    for (bool runs : {false, true}) {
      const std::string whole =
          runs ? source
               : std::string("{% if false %}") + source + "{% endif %}";
      Result<ChatTemplate> parsed = ChatTemplate::parse(whole, "t", {});
      ASSERT_TRUE(parsed.isOk()) << whole << parsed.status().render();
      ChatMessages messages({ChatTurn()});
      std::string out;
      const Status status =
          parsed.value().render(messages, 1, false, "place", out);
      ASSERT_EQ(status.isOk(), !runs) << whole << status.render();
      if (!runs)
        continue;
      EXPECT_EQ(status.errorCode(), ErrorCode::ConversationRefused);
      EXPECT_NE(status.render().find(expected), std::string::npos)
          << status.render();
      EXPECT_NE(status.render().find("(t:2)"), std::string::npos)
          << status.render();
    }
  }
}

TEST(ChatTemplate, ASyntaxErrorIsSaidWithItsLine) {
  const std::pair<const char *, const char *> cases[] = {
      {"\n{% if x %}", "t:2: expected {% endif %} but found the end"},
      {"{{ x", "t:1: expected '}}' but found the end"},
      {"{{ 'x }}", "t:1: expected a closing quote"},
      {"a\n\n{# x", "t:3: expected '#}'"},
      {"{% endfor %}", "t:1: found {% endfor %} where no such block is open"},
      {"{{ ) }}", "t:1: found ')' that closes nothing"},
      {"{% for 1 in x %}", "t:1: expected the name of a variable"}};
  for (const auto &[source, expected] : cases) {
    Result<TemplateTree> tree = parseTemplate(source, "t");
    ASSERT_FALSE(tree.isOk()) << source;
    EXPECT_EQ(tree.status().errorCode(), ErrorCode::BadChatTemplate);
    EXPECT_NE(tree.status().render().find(expected), std::string::npos)
        << tree.status().render();
  }
}

TEST(ChatTemplate, LiteralsBeyondTheSubsetAreNamedWithTheirLine) {
  const std::pair<const char *, const char *> cases[] = {
      {"\n{{ 0x10 }}", "t:2: a number that is not decimal"},
      {"\n{{ 9223372036854775808 }}", "t:2: a number beyond 64 bits"},
      {"\n{{ '\\\u00e9' }}", "t:2: a backslash before a character beyond"},
      {"\n\n{{ 'a\\ud800' }}", "t:3: half of a surrogate pair in a string"}};
  for (const auto &[source, expected] : cases) {
    Result<TemplateTree> tree = parseTemplate(source, "t");
    ASSERT_FALSE(tree.isOk()) << source;
    EXPECT_EQ(tree.status().errorCode(), ErrorCode::UnsupportedChatTemplate);
    EXPECT_NE(tree.status().render().find(expected), std::string::npos)
        << tree.status().render();
  }
}

TEST(ChatTemplate, ExceptionsOfTheTemplateAreTold) {
  Result<ChatTemplate> parsed = ChatTemplate::parse(
      "\n{{ raise_exception('roles must alternate') }}", "chat_template", {});
  ASSERT_TRUE(parsed.isOk());
  ChatMessages messages({ChatTurn()});
  std::string text;
  Status status = parsed.value().render(messages, 1, false, "d.jsonl:7", text);
  EXPECT_EQ(status.errorCode(), ErrorCode::ConversationRefused);
  EXPECT_EQ(status.message().place, "d.jsonl:7");
  EXPECT_NE(status.message().problem.find(
                "refuses it: roles must alternate (chat_template:2)"),
            std::string::npos)
      << status.render();
}

TEST(ChatTemplate, WithoutADateTemplatesFallBackOrSaySo) {
  std::string text;
  ChatMessages messages({ChatTurn()});
  Result<ChatTemplate> asks = ChatTemplate::parse(
      "{{ strftime_now('%Y') if strftime_now is defined else 'then' }}", "t",
      {});
  ASSERT_TRUE(asks.isOk());
  EXPECT_TRUE(asks.value().render(messages, 1, false, "d", text).isOk());
  EXPECT_EQ(text, "then");
  Result<ChatTemplate> needs =
      ChatTemplate::parse("{{ strftime_now('%Y') }}", "t", {});
  ASSERT_TRUE(needs.isOk());
  Status status = needs.value().render(messages, 1, false, "d", text);
  EXPECT_EQ(status.message().remedy, "give --chat-date YYYY-MM-DD");
}

//===----------------------------------------------------------------------===//
// Hostile templates end
//===----------------------------------------------------------------------===//

TEST(ChatTemplate, HostileTemplatesEndSoonAndSmall) {
  const std::string longTexts =
      "{% set x = 'a' * 150000 %}{% set a = 'a' * 75000 ~ 'b' %}"
      "{% set b = 'b' * 75000 ~ 'a' %}{% for i in range(99999) %}";
  std::string turns = "{% set x = 'a' * 400000 %}{% set t = (x,";
  for (int i = 1; i < 200; ++i)
    turns += "x,";
  turns += ") %}{% for i in range(100) %}{% for k in range(900) %}";
  const std::string ends = "{% endif %}{% endfor %}{% endfor %}";
  std::string manyNames;
  for (int i = 0; i < 3900; ++i)
    manyNames += "'" + std::to_string(i) + "':1,";
  const std::string doubling = "{% set ns = namespace(x='ab') %}"
                               "{% for i in range(99) %}"
                               "{% set ns.x = ns.x + ns.x %}{% endfor %}";
  const std::string nested = "{% set ns = namespace(x=[]) %}"
                             "{% for i in range(100000) %}"
                             "{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
  const std::string shared =
      "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(30) %}"
      "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}";
  const std::string sources[] = {
      "{% for a in range(100000) %}{% for b in range(100000) %}"
      "{% endfor %}{% endfor %}",
      "{{ range(9999999999) | length }}", "{{ 'a' * 9999999999 }}", doubling,
      nested, shared + "{{ ns.x == ns.y }}", shared + "{{ ns.x | tojson }}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
      "{% for a in range(100000) %}0123456789{% endfor %}",
      "{% for a in range(150) %}{% for b in range(150) %}{% generation %}a"
      "{% endgeneration %}{% endfor %}{% endfor %}",
      "{% set x = 'a,' * 300000 %}{{ x.split(',') | length }}",
      "{% set x = 'a\n' * 300000 %}{{ x.splitlines() | length }}",
      "{% set x = 'ab' * 300000 %}{{ x | list | length }}",
      "{% set x = 'a' * 300000 %}{{ x.replace('a', x) }}",
      // Each place of a long text may begin a long one that is looked for.
      longTexts + "{{ (a in x) }}{% endfor %}",
      longTexts + "{{ x.count(a) }}{% endfor %}",
      longTexts + "{{ x.find(a) }}{% endfor %}",
      longTexts + "{{ x.split(a) | length }}{% endfor %}",
      longTexts + "{{ x.replace(a, '') | length }}{% endfor %}",
      longTexts + "{{ x.strip(b) }}{% endfor %}",
      // The long text is the one that is compared or looked for.
      turns + "{% if 'b'.startswith(t) %}" + ends,
      turns + "{% if 'b'.endswith(t) %}" + ends,
      turns + "{% if 'b'.removeprefix(x) %}" + ends,
      turns + "{% if x in 'b' %}" + ends, turns + "{% if 'b' == x %}" + ends,
      turns + "{% if 'b' < x %}" + ends, turns + "{% if {'b': 1}[x] %}" + ends,
      // Each name of a mapping is compared with all others.
      "{% set d = {" + manyNames +
          "} %}{% for i in range(99999) %}"
          "{% set e = dict(d) %}{% endfor %}",
      "{{ [1] | tojson(indent=65) }}", "{{ [1] | dictsort }}",
      "{{ 'a\nb' | indent(65) }}",
      "{% set ns = namespace() %}{% set ns.x = ns %}",
      "{% set ns = namespace() %}{% set ns.x = [ns] %}",
      "{% set ns = namespace() %}{% set ns.x = {'a': ns} %}",
      "{% set ns = namespace() %}{% for i in range(999) %}"
      "{% set ns.x = (ns.x ~ 'x' * 1000) %}{% for j in ns.x %}{% endfor %}"
      "{% endfor %}"};
  const Result<Json> messages = Json::parse("[]", "messages");
  for (const std::string &source : sources) {
    const auto start = std::chrono::steady_clock::now();
    std::string text, problem;
    EXPECT_FALSE(render(source, messages.value(), text, problem)) << source;
    EXPECT_LT(std::chrono::steady_clock::now() - start,
              std::chrono::seconds(10))
        << source;
  }
}

static ChatTemplate parsed(const std::string &source) {
  Result<ChatTemplate> made = ChatTemplate::parse(source, "t", {});
  EXPECT_TRUE(made.isOk()) << made.status().render();
  return std::move(made.value());
}

TEST(ChatTemplate, MarksAreApartAndNoneIsEmpty) {
  const ChatTemplate layout = parsed(
      "{% for a in range(500) %}{% for b in range(500) %}{% generation %}"
      "{% endgeneration %}{% endfor %}{% endfor %}ab{% generation %}c"
      "{% for a in range(5) %}{% generation %}d{% endgeneration %}{% endfor %}"
      "{% endgeneration %}e{% generation %}f{% endgeneration %}");
  ChatMessages none({});
  std::string text;
  std::vector<TextSpan> marks;
  Status status = layout.render(none, 0, false, "place", text, &marks);
  ASSERT_TRUE(status.isOk()) << status.render();
  EXPECT_EQ(text, "abcdddddef");
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].begin, 2u);
  EXPECT_EQ(marks[0].end, 8u);
  EXPECT_EQ(marks[1].begin, 9u);
  EXPECT_EQ(marks[1].end, 10u);
}

TEST(ChatTemplate, MarksWhoseTextMayGoAnywhereAreNone) {
  const std::string mark = "{% generation %}a{% endgeneration %}";
  EXPECT_TRUE(parsed(mark).marksAnswers());
  EXPECT_TRUE(
      parsed("{% if messages %}" + mark + "{% endif %}").marksAnswers());
  EXPECT_FALSE(parsed("a").marksAnswers());
  for (const char *before :
       {"{% macro m() %}", "{% set x %}", "{% filter upper %}",
        "{% macro m() %}{% if messages %}"}) {
    std::string source = before + mark;
    source += source.find("if") != std::string::npos ? "{% endif %}" : "";
    source += before[3] == 's'   ? "{% endset %}"
              : before[3] == 'f' ? "{% endfilter %}"
                                 : "{% endmacro %}";
    EXPECT_FALSE(parsed(source).marksAnswers()) << source;
    EXPECT_FALSE(parsed(source + mark).marksAnswers()) << source;
  }
}

TEST(ChatTemplate, DeepSyntaxIsRefused) {
  const auto repeat = [](const char *text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i)
      out += text;
    return out;
  };
  for (const std::string &source :
       {"{{ " + repeat("(", 5000) + "1" + repeat(")", 5000) + " }}",
        "{{ " + repeat("not ", 5000) + "1 }}",
        "{{ " + repeat("-", 5000) + "1 }}",
        "{{ 1" + repeat(" + 1", 5000) + " }}",
        "{{ x" + repeat(".y", 5000) + " }}",
        "{{ x" + repeat("|trim", 5000) + " }}",
        "{{ " + repeat("1 if 1 else ", 3000) + "1 }}",
        repeat("{% if x %}", 3000) + repeat("{% endif %}", 3000)}) {
    Result<TemplateTree> tree = parseTemplate(source, "t");
    ASSERT_FALSE(tree.isOk()) << source.substr(0, 40);
    EXPECT_FALSE(tree.status().message().remedy.empty());
  }
}
