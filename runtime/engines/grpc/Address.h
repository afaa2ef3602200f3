//===- Address.h - Where programs meet, and with which keys ---------------===//
//
//   serve=ADDRESS           where this program listens
//   connect=ADDRESS         where it finds the others, which listen
//   connect.NAME=ADDRESS    where it finds the program NAME
//   keys=FOLDER             ca.pem, cert.pem and key.pem of hone-keys
//   admit=FILE              names of certificates that may connect, one a line
//   run=WORD                another one for each run
//
// joined by commas. An ADDRESS is HOST:PORT, or unix:PATH, which needs no keys.
//
//===----------------------------------------------------------------------===//

#pragma once

#include <map>
#include <string>

namespace hone::grpc_engine {

struct Address {
  std::string serve, keys, admit, run;
  std::map<std::string, std::string> connect; ///< by program; "": any other

  /// Reads `text`; false: `why` is the reason. Also checks that an address
  /// which needs keys has them.
  bool parse(const std::string &text, std::string &why);
  /// Where to dial `peer`; "": it dials.
  std::string toDial(const std::string &peer) const;
};

/// Whether `address` is of this machine alone, whose file system decides about
/// connections.
bool isLocal(const std::string &address);

/// The text of a regular file of at most 1 MiB. False: `why`, which is empty
/// before, says the reason.
bool readFile(const std::string &path, std::string &text, std::string &why);

struct Keys {
  std::string authority, certificate, key; ///< PEM

  /// Reads `folder`; false: `why` is the reason. A key that anybody else may
  /// read is none.
  bool read(const std::string &folder, std::string &why);

  /// Whether others accept the certificate of a program that serves, or that
  /// connects.
  bool isFor(bool serves) const;
};

/// Whether `name` is a line of `file`. Everything from # on is a comment. A
/// file that cannot be read admits nobody.
bool isAdmitted(const std::string &file, const std::string &name);

} // namespace hone::grpc_engine
