//===- ChatFixture.h - A golden tokenizer with a chat template ------------===//

#pragma once

#include "TokenizerFixture.h"

#include "compiler/text/ChatBuilder.h"
#include "data/Conversation.h"
#include "data/Dataset.h"

namespace hone::test {

inline std::string goldenChat(const std::string &name) {
  return goldenTokenizer("../chat/") + name;
}

/// A tokenizer of golden/chat with a template.
struct LoadedChat {
  LoadedChat(const std::string &kind, const std::string &source)
      : loaded(goldenChat(kind)) {
    for (const char *file : {"tokenizer.json", "tokenizer_config.json"})
      folder.write(file, readAll(goldenChat(kind + "/" + file)));
    folder.write("chat_template.jinja", source);
    rt::Result<std::string> built = buildChatBlock(folder.path);
    EXPECT_TRUE(built.isOk()) << built.status().render();
    block = built.value();
    rt::Result<rt::ChatModel> opened =
        rt::ChatModel::open(block, loaded.tokenizer, "block", {2025, 3, 7});
    EXPECT_TRUE(opened.isOk()) << opened.status().render();
    model = std::move(opened.value());
  }

  struct Made {
    std::vector<int32_t> ids, labels;
  };
  rt::Status encode(std::vector<rt::ChatTurn> turns, std::vector<Made> &out) {
    out.clear();
    rt::SampleIds ids(UINT64_MAX);
    rt::ConversationEncoder encoder(model, loaded.tokenizer, loaded.scratch,
                                    ids, counts);
    return encoder.encode(
        std::move(turns), "place",
        [&](const std::vector<rt::TokenSpan> &spans) {
          out.push_back(
              {ids.kept, std::vector<int32_t>(ids.count, rt::NoTarget)});
          for (const rt::TokenSpan &span : spans)
            for (uint64_t i = span.begin; i < span.end; ++i)
              out.back().labels[i] = ids.kept[i];
          return rt::Status::ok();
        });
  }

  std::string targets(const Made &made) {
    std::vector<int32_t> ids;
    for (int32_t label : made.labels)
      if (label != rt::NoTarget)
        ids.push_back(label);
    return loaded.tokenizer.decode(ids.data(), ids.size());
  }

  TemporaryFolder folder;
  LoadedTokenizer loaded;
  std::string block;
  rt::ChatModel model;
  rt::ConversationCounts counts;
};

inline rt::ChatTurn turn(rt::ChatRole role, const std::string &content) {
  rt::ChatTurn out;
  out.role = role;
  out.content = content;
  return out;
}

} // namespace hone::test
