//===- Meeting.cpp - Where programs of one model meet ---------------------===//
//
// The engine reads the address again, and it alone knows the format. Here are
// the rules between options.
//
//===----------------------------------------------------------------------===//

#include "program/Meeting.h"

#include "base/Sha256.h"
#include "exchange/Engine.h"
#include "exchange/Pieces.h"
#include "platform/Files.h"
#include "platform/System.h"

#include <algorithm>
#include <utility>

namespace hone::rt {

/// The same for a run that is started again, and another one for each folder.
static std::string runOf(const std::string &output) {
  std::string path = output;
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  if (path.front() != '/')
    path = joined({platform::resolve("."), "/", path});
  return Sha256::hex(path).substr(0, 16);
}

/// Of --connect, "HOST:1" or "server=HOST:1,...": each program's name, "" for
/// any, and where it is.
static std::vector<std::pair<std::string_view, std::string_view>>
dialled(std::string_view connect) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (size_t begin = 0; begin <= connect.size();) {
    const size_t end = std::min(connect.find(',', begin), connect.size());
    const std::string_view one = connect.substr(begin, end - begin);
    const size_t equals = one.find('=');
    const bool isNamed =
        equals != std::string_view::npos && equals < one.find(':');
    out.emplace_back(one.substr(0, isNamed ? equals : 0),
                     one.substr(isNamed ? equals + 1 : 0));
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
      return failed(ErrorCode::MissingOption, {word->spelling()},
                    {word == &options.admit
                         ? "expects --serve but got none"
                         : "expects --serve or --connect but got neither"},
                    joined({"add it, or leave ", word->spelling(), " out"}));
  if (!serves && !connects)
    return Status::ok();
  const std::string given =
      (serves ? options.serve : options.connect).spelling();
  for (const Word *word : {&options.exchange, &options.exchangeAt})
    if (!word->empty())
      return failed(ErrorCode::OptionsDisagree, {word->spelling()},
                    {given, " already says how programs meet"},
                    "give one of the two");
  for (const Word *word : {&options.serve, &options.keys, &options.admit})
    if (word->find(',') != std::string::npos)
      return failed(ErrorCode::WrongOption, {word->spelling()},
                    {"expects no comma but got '", *word, "'"},
                    "give another path or address");
  std::string where;
  auto add = [&](Pieces key, std::string_view value) {
    where += joined({where.empty() ? "" : ",", joined(key), "=", value});
  };
  if (serves)
    add({"serve"}, options.serve);
  if (connects)
    for (const auto &[name, place] : dialled(options.connect)) {
      // One that serves, too, is dialled by the program before it.
      const std::string_view whose =
          name.empty() && serves ? std::string_view(options.after) : name;
      add({"connect", whose.empty() ? "" : ".", whose}, place);
    }
  if (!options.keys.empty())
    add({"keys"}, options.keys);
  if (!options.admit.empty())
    add({"admit"}, options.admit);
  if (connects && !options.output.empty())
    add({"run"}, runOf(options.output));
  options.exchange = "grpc";
  options.exchangeAt = where;
  return Status::ok();
}

/// Checks that --connect names programs of `peers`, each once and enough of
/// them.
static Status checkConnect(const Options &options,
                           const std::vector<std::string> &peers) {
  const std::string option = options.connect.spelling();
  const auto given = dialled(options.connect);
  auto has = [&](auto end, std::string_view name) {
    return std::any_of(given.begin(), end,
                       [&](const auto &one) { return one.first == name; });
  };
  for (auto each = given.begin(); each != given.end(); ++each) {
    const auto &one = *each;
    if (!one.first.empty() &&
        std::find(peers.begin(), peers.end(), one.first) == peers.end())
      return failed(ErrorCode::NoMeeting, {option},
                    {"expects programs that this one meets, ", quoted(peers),
                     ", but got '", one.first, "'"},
                    "name those that serve");
    if (has(each, one.first))
      return failed(ErrorCode::NoMeeting, {option},
                    {"expects each program once but got another place, '",
                     one.second, "'"},
                    "write NAME=HOST:PORT once for each program that serves");
  }
  if (!options.serve.empty() || has(given.end(), ""))
    return Status::ok();
  for (const std::string &peer : peers)
    if (!has(given.end(), peer))
      return failed(ErrorCode::NoMeeting, {option},
                    {"expects the address of '", peer,
                     "' too, since this program does not serve"},
                    joined({"add ", peer, "=HOST:PORT, or --serve"}));
  return Status::ok();
}

Status checkMeeting(const Options &options,
                    const std::vector<std::string> &peers) {
  if (!options.connect.empty())
    HONE_TRY(checkConnect(options, peers));
  const Word &place = !options.connect.empty() ? options.connect
                      : !options.serve.empty() ? options.serve
                                               : options.exchangeAt;
  return checkAddress(platform::parentDirectory(platform::programPath()),
                      options.exchange, options.exchangeAt, place.spelling());
}

} // namespace hone::rt
