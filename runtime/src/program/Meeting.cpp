//===- Meeting.cpp - Where programs of one model meet ---------------------===//
//
// The engine reads the address again, and it alone knows what one is. Here are
// the rules between options.
//
//===----------------------------------------------------------------------===//

#include "program/Meeting.h"

#include "base/Sha256.h"
#include "platform/Files.h"

namespace hone::rt {

/// The same for a run that is started again, and another one for each folder.
static std::string runOf(const std::string &output) {
  std::string path = output;
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  if (path.front() != '/')
    path = platform::resolve(".") + "/" + path;
  return Sha256::hex(path).substr(0, 16);
}

/// --connect as words of the engine's address: "server=HOST:1,..." is each
/// program's own.
static std::string dialled(const std::string &connect) {
  std::string out;
  for (size_t begin = 0; begin <= connect.size();) {
    const size_t end = std::min(connect.find(',', begin), connect.size());
    const std::string one = connect.substr(begin, end - begin);
    const size_t equals = one.find('=');
    const bool isNamed = equals != std::string::npos && equals < one.find(':');
    out += (isNamed ? ",connect." : ",connect=") + one;
    begin = end + 1;
  }
  return out;
}

Status meetOverNetwork(Options &options) {
  const bool serves = !options.serve.empty(),
             connects = !options.connect.empty();
  const std::pair<const Word *, bool> needed[] = {
      {&options.keys, serves || connects}, {&options.admit, serves}};
  for (auto [word, isRead] : needed)
    if (!word->empty() && !isRead)
      return Status(ErrorCode::MissingOption, word->spelling(),
                    word == &options.admit
                        ? "expects --serve but got none"
                        : "expects --serve or --connect but got neither",
                    "add it, or leave " + word->spelling() + " out");
  if (!serves && !connects)
    return Status::ok();
  const std::string given =
      (serves ? options.serve : options.connect).spelling();
  for (const Word *word : {&options.exchange, &options.exchangeAt})
    if (!word->empty())
      return Status(ErrorCode::OptionsDisagree, word->spelling(),
                    given + " already says how programs meet",
                    "give one of the two");
  for (const Word *word : {&options.serve, &options.keys, &options.admit})
    if (word->find(',') != std::string::npos)
      return Status(ErrorCode::WrongOption, word->spelling(),
                    "expects no comma but got '" + *word + "'",
                    "give another path or address");
  std::string where;
  if (serves)
    where += ",serve=" + options.serve;
  if (connects)
    where += dialled(options.connect);
  if (!options.keys.empty())
    where += ",keys=" + options.keys;
  if (!options.admit.empty())
    where += ",admit=" + options.admit;
  if (connects && !options.output.empty())
    where += ",run=" + runOf(options.output);
  options.exchange = "grpc";
  options.exchangeAt = where.substr(1);
  return Status::ok();
}

} // namespace hone::rt
