//===- Listening.cpp - Why a program cannot listen somewhere --------------===//

#include "Listening.h"

#include "Address.h"

#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace hone::grpc_engine {

static std::string problemOfSocket(const std::string &path) {
  sockaddr_un place{};
  place.sun_family = AF_UNIX;
  if (path.size() >= sizeof(place.sun_path))
    return "expects a path of at most " +
           std::to_string(sizeof(place.sun_path) - 1) + " bytes but got " +
           std::to_string(path.size());
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "."
                               : slash == 0 ? "/"
                                            : path.substr(0, slash);
    return access(folder.c_str(), W_OK | X_OK) == 0
               ? ""
               : folder + ": " + strerror(errno);
  }
  if (!S_ISSOCK(info.st_mode))
    return "there is something else than a socket";
  // One that was killed has left its socket, where nobody answers.
  memcpy(place.sun_path, path.c_str(), path.size() + 1);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool isTaken =
      probe >= 0 &&
      connect(probe, reinterpret_cast<sockaddr *>(&place), sizeof(place)) == 0;
  if (probe >= 0)
    close(probe);
  return isTaken ? "another program listens there" : "";
}

std::string problemOfListening(const std::string &address) {
  if (isLocal(address))
    return problemOfSocket(address.substr(5));
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.front() == '[')
    host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  if (int error = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints,
                              &found))
    return gai_strerror(error);
  std::string problem;
  for (const addrinfo *each = found; each; each = each->ai_next) {
    const int probe =
        socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, 0);
    const int yes = 1;
    const bool isFree =
        probe >= 0 &&
        setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        bind(probe, each->ai_addr, each->ai_addrlen) == 0;
    const int error = errno;
    if (probe >= 0)
      close(probe);
    if (isFree) {
      problem.clear();
      break;
    }
    problem = strerror(error);
  }
  freeaddrinfo(found);
  return problem;
}

} // namespace hone::grpc_engine
