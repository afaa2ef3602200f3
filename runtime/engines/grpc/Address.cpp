//===- Address.cpp - Where programs meet, and with which keys -------------===//

#include "Address.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace hone::grpc_engine {

/// Most bytes of a file that an address names.
static constexpr off_t kMostBytes = 1 << 20;

bool isLocal(const std::string &address) {
  return address.compare(0, 5, "unix:") == 0;
}

std::string Address::toDial(const std::string &peer) const {
  auto own = connect.find(peer);
  if (own == connect.end())
    own = connect.find("");
  return own == connect.end() ? "" : own->second;
}

/// HOST:PORT, [IPv6]:PORT or unix:PATH.
static bool isAddress(const std::string &text) {
  if (isLocal(text))
    return text.size() > 5;
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size() ||
      text.size() - colon > 6)
    return false;
  const std::string host = text.substr(0, colon);
  if (host.find(':') != std::string::npos &&
      (host.front() != '[' || host.back() != ']'))
    return false;
  if (text.find_first_not_of("0123456789", colon + 1) != std::string::npos ||
      host.find('/') != std::string::npos)
    return false;
  const int port = std::stoi(text.substr(colon + 1));
  return port >= 1 && port <= 65535;
}

bool Address::parse(const std::string &text, std::string &why) {
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals),
                      value = equals == std::string::npos
                                  ? ""
                                  : word.substr(equals + 1);
    const bool connects =
        key == "connect" || key.compare(0, 8, "connect.") == 0;
    std::string *own = key == "serve"   ? &serve
                       : key == "keys"  ? &keys
                       : key == "admit" ? &admit
                       : key == "run"   ? &run
                       : connects ? &connect[key.substr(key.size() > 7 ? 8 : 7)]
                                  : nullptr;
    if (!own || value.empty() || !own->empty()) {
      why = "expects serve=, connect=, keys= and admit=, each once and with "
            "a value, but got '" +
            word + "'";
      return false;
    }
    *own = value;
    if ((connects || key == "serve") && !isAddress(value)) {
      why =
          "expects HOST:PORT, [IPv6]:PORT or unix:PATH, with a port from 1 to "
          "65535, but got '" +
          value + "'";
      return false;
    }
  }
  bool needsKeys = !serve.empty() && !isLocal(serve);
  for (const auto &[peer, where] : connect)
    needsKeys |= !isLocal(where);
  if (serve.empty() && connect.empty())
    why = "expects a place to serve at or to connect to";
  else if (needsKeys && keys.empty())
    why = "expects keys, since nothing goes over a network unencrypted";
  else if (!serve.empty() && !isLocal(serve) && admit.empty())
    why = "expects a file of the names to admit";
  return why.empty();
}

bool readFile(const std::string &path, std::string &text, std::string &why) {
  // A pipe that nobody writes to must not hold the program.
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) {
    why = path + ": cannot be read: " + strerror(errno);
  } else if (!S_ISREG(info.st_mode)) {
    why = path + ": expects a file but got a folder, a pipe or a device";
  } else if (info.st_size > kMostBytes) {
    why = path + ": expects at most 1 MiB but got " +
          std::to_string(info.st_size) + " bytes";
  } else {
    text.resize(size_t(info.st_size));
    const ssize_t got = read(file, &text[0], text.size());
    if (got != ssize_t(text.size()))
      why = path + ": cannot be read as a whole";
  }
  if (file >= 0)
    close(file);
  return why.empty();
}

/// The bytes of the first certificate of `pem`. By hand: gRPC is built with
/// OpenSSL or with BoringSSL, so the engine links neither.
static std::string bytesOf(const std::string &pem) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  const size_t begin = pem.find('\n', pem.find("CERTIFICATE-----"));
  for (size_t i = begin; i < pem.size() && pem[i] != '-'; ++i) {
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t digit = digits.find(pem[i]);
    if (digit == std::string_view::npos)
      continue;
    bits = bits << 6 | uint32_t(digit);
    if ((count += 6) >= 8)
      bytes += char(bits >> (count -= 8));
  }
  return bytes;
}

bool Keys::isFor(bool serves) const {
  // X.509's purposes of TLS, 1.3.6.1.5.5.7.3.1 and 2. A certificate without any
  // is for both.
  static constexpr std::string_view server("\x06\x08\x2b\x06\x01\x05\x05\x07"
                                           "\x03\x01"),
      client("\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x02");
  const std::string bytes = bytesOf(certificate);
  const bool isServers = bytes.find(server) != std::string::npos,
             isClients = bytes.find(client) != std::string::npos;
  return isServers == isClients || isServers == serves;
}

bool Keys::read(const std::string &folder, std::string &why) {
  const std::tuple<const char *, std::string *, const char *> files[] = {
      {"ca.pem", &authority, "CERTIFICATE-----"},
      {"cert.pem", &certificate, "CERTIFICATE-----"},
      {"key.pem", &key, "PRIVATE KEY-----"}};
  for (auto [name, text, holds] : files) {
    const std::string path = folder + "/" + name;
    if (readFile(path, *text, why) && text->find(holds) == std::string::npos)
      why = path + ": expects PEM with a line that ends in '" + holds +
            "' but got none";
    if (!why.empty()) {
      why += "; hone-keys issue makes such a folder";
      return false;
    }
  }
  struct stat info;
  const std::string path = folder + "/key.pem";
  if (stat(path.c_str(), &info) != 0 || (info.st_mode & 077) != 0) {
    why = path + ": others may read this key; chmod 600 " + path;
    return false;
  }
  return true;
}

bool isAdmitted(const std::string &file, const std::string &name) {
  std::string text, why;
  if (name.empty() || !readFile(file, text, why))
    return false;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    line = line.substr(0, line.find('#'));
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos)
      continue;
    const size_t end = line.find_last_not_of(" \t\r");
    if (line.substr(begin, end + 1 - begin) == name)
      return true;
  }
  return false;
}

} // namespace hone::grpc_engine
