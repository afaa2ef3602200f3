//===- Status.cpp - An error code and a message that helps ----------------===//
//
// Out of line, since errors are made and handed on in hundreds of places.
//
//===----------------------------------------------------------------------===//

#include "base/Status.h"

namespace hone::rt {

struct Status::Failure {
  ErrorCode code;
  Message message;
};

Status::Status(ErrorCode code, Message message)
    : failure(new Failure{code, std::move(message)}) {}

Status::Failure *Status::copyOf(const Failure *failure) {
  return failure ? new Failure(*failure) : nullptr;
}

void Status::erase(Failure *failure) { delete failure; }

std::optional<ErrorCode> Status::errorCode() const {
  return failure ? std::optional(failure->code) : std::nullopt;
}

ExitCode Status::exitCode() const {
  return failure ? exitCodeOf(failure->code) : ExitCode::Success;
}

Message Status::message() const {
  return failure ? failure->message : Message();
}

std::string Status::render() const {
  if (!failure)
    return "";
  const auto &[place, problem, remedy] = failure->message;
  std::string out = label("error", failure->code) + ": ";
  // A file's name may have line ends, and an error is found by its line.
  for (char c : place)
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  if (!place.empty())
    out += ": ";
  out += problem + "\n";
  if (!remedy.empty())
    out += "  help: " + remedy + "\n";
  return printable(out);
}

std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are C2 80 to C2 9F in UTF-8.
    bool isControl = (byte < 0x20 && byte != '\n' && byte != '\t') ||
                     byte == 0x7f ||
                     (byte >= 0x80 && byte < 0xa0 && i > 0 &&
                      static_cast<unsigned char>(text[i - 1]) == 0xc2);
    if (isControl) {
      constexpr const char *digits = "0123456789abcdef";
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    } else {
      out += text[i];
    }
  }
  return out;
}

} // namespace hone::rt
