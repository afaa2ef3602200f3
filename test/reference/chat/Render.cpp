//===- Render.cpp - Chat templates as a filter, for the scripts here ------===//
//
// Standard input holds JSON lines: {"template", "data": a line of training data
// as text, "prompt": whether an answer is asked for}. Standard output gets a
// line for each: {"text"} or {"refused": why}. Special tokens are those of
// make_golden.py, and so is today.
//
//===----------------------------------------------------------------------===//

#include "base/Json.h"
#include "chat/ChatTemplate.h"
#include "data/DataLines.h"

#include <cstdio>
#include <iostream>
#include <string>

using namespace hone::rt;

static Status render(const Json &line, std::string &out) {
  const std::string data = line.find("data")->string();
  HONE_ASSIGN(const ChatTemplate layout,
              ChatTemplate::parse(line.find("template")->string(), "template",
                                  {{"bos_token", "<s>"}, {"eos_token", "</s>"}},
                                  {2025, 3, 7}));
  DataLines lines(data, "data", 1, 0);
  HONE_TRY(lines.detect());
  DataLine read;
  bool more = false;
  HONE_TRY(lines.next(read, more));
  ChatMessages messages(std::move(read.turns), read.tools);
  return layout.render(messages, messages.size(), line.flag("prompt", false),
                       "data", out);
}

int main() {
  for (std::string text; std::getline(std::cin, text);) {
    const Result<Json> line = Json::parse(text, "input");
    if (!line.isOk()) {
      std::fputs(line.status().render().c_str(), stderr);
      return 1;
    }
    std::string rendered, out;
    const Status status = render(line.value(), rendered);
    out = status.isOk() ? "{\"text\": " : "{\"refused\": ";
    out +=
        jsonString(status.isOk() ? rendered : status.message().problem) + "}\n";
    std::fputs(out.c_str(), stdout);
  }
  return 0;
}
