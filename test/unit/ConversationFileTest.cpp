//===- ConversationFileTest.cpp - A file with one conversation ------------===//

#include "data/ConversationFile.h"

#include <gtest/gtest.h>

using namespace hone::rt;

TEST(ConversationFile, ReadsOneAsTrainingDataHasIt) {
  for (const char *text :
       {R"({"messages": [{"role": "system", "content": "s"},
             {"role": "user", "content": "u"}]})",
        R"([{"conversations": [{"from": "human", "value": "u"}],
             "system": "s"}])",
        "\xEF\xBB\xBF{\"messages\": [{\"role\": \"system\", \"content\": "
        "\"s\"}, {\"role\": \"user\", \"content\": \"u\"}]}\n\n"}) {
    // A line of JSONL is one line.
    std::string content = text;
    if (content[0] == '{')
      for (char &c : content)
        c = c == '\n' ? ' ' : c;
    Result<Conversation> read = readConversation(content, "file");
    ASSERT_TRUE(read.isOk()) << read.status().render();
    const std::vector<ChatTurn> &turns = read.value().turns;
    EXPECT_FALSE(read.value().tools.isArray());
    ASSERT_EQ(turns.size(), 2u);
    EXPECT_EQ(turns[0].role, ChatRole::System);
    EXPECT_EQ(turns[0].content, "s");
    EXPECT_EQ(turns[1].role, ChatRole::User);
    EXPECT_EQ(turns[1].content, "u");
  }
}

TEST(ConversationFile, RefusesWhatIsNotOneConversation) {
  const std::string one = R"({"messages": [{"role": "user", "content": "u"}]})";
  for (const auto &[content, code] :
       std::vector<std::pair<std::string, ErrorCode>>{
           {"", ErrorCode::EmptyData},
           {" \n", ErrorCode::EmptyData},
           {"[]", ErrorCode::EmptyData},
           {"text", ErrorCode::BadLine},
           {R"({"text": "a"})", ErrorCode::MixedFormats},
           {R"({"instruction": "a", "output": "b"})", ErrorCode::MixedFormats},
           {R"({"input_ids": [0]})", ErrorCode::MixedFormats},
           {R"({"messages": []})", ErrorCode::BadLine},
           {one + "\n" + one, ErrorCode::BadLine},
           {one + "\ntext", ErrorCode::BadLine},
           {R"({"messages": [{"role": "robot", "content": "u"}]})",
            ErrorCode::UnsupportedTurn}})
    EXPECT_EQ(readConversation(content, "file").status().errorCode(), code)
        << content;
}

TEST(ConversationFile, ReadsWhatItWrites) {
  Conversation written;
  written.turns = {{ChatRole::System, "be \"brief\"", "", false},
                   {ChatRole::User, "a\nb\\ \xC3\xB6\x01", "", false},
                   {ChatRole::Assistant, "", "thought", true}};
  const std::vector<ChatTurn> &turns = written.turns;
  const std::string line = conversationLine(written);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  Result<Conversation> read = readConversation(line, "file");
  ASSERT_TRUE(read.isOk()) << read.status().render();
  ASSERT_EQ(read.value().turns.size(), turns.size());
  for (size_t i = 0; i < turns.size(); ++i) {
    EXPECT_EQ(read.value().turns[i].role, turns[i].role);
    EXPECT_EQ(read.value().turns[i].content, turns[i].content);
    EXPECT_EQ(read.value().turns[i].reasoning, turns[i].reasoning);
  }
}

TEST(ConversationFile, KeepsTools) {
  const std::string line =
      R"({"messages": [{"role": "user", "content": "u"}, )"
      R"({"role": "tool", "content": "3", "tool_call_id": "c", "name": "f"}], )"
      R"("tools": [{"name": "f", "x": [1, 0.5, null, true]}]})"
      "\n";
  Result<Conversation> read = readConversation(line, "file");
  ASSERT_TRUE(read.isOk()) << read.status().render();
  EXPECT_TRUE(read.value().isAsked());
  EXPECT_EQ(conversationLine(read.value()), line);
}
