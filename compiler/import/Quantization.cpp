//===- Quantization.cpp - Models that MLX has quantised -------------------===//
//
// Beside its settings the object has the paths of modules: false is a module
// left alone, an object its own settings, which here must be those of all.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Quantization.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace hone;
using llvm::StringRef;
using rt::Json;

static std::string moduleOfWeight(const std::string &weight) {
  StringRef name = weight;
  name.consume_back(".weight");
  return name.str();
}

std::string hone::scalesName(const std::string &weight) {
  return moduleOfWeight(weight) + ".scales";
}

std::string hone::biasesName(const std::string &weight) {
  return moduleOfWeight(weight) + ".biases";
}

bool Quantization::covers(const std::string &name, int64_t in) const {
  return in % groupSize == 0 && !floatModules.count(moduleOfWeight(name));
}

namespace {

class QuantizationReader {
public:
  QuantizationReader(const std::string &pointer, const std::string &place)
      : pointer(pointer), place(place) {}

  /// Reads the settings in `object`, which is at `pointer + at`.
  Status readSettings(const Json &object, const std::string &at,
                      Quantization &settings) const;
  Status readModules(const Json &object, Quantization &quantization) const;
  Status fail(const Json &found, const std::string &at,
              const std::string &problem, const std::string &remedy) const {
    return Status(ErrorCode::UnsupportedQuantization,
                  place + ":" + std::to_string(found.line()) + ":" +
                      std::to_string(found.column()) + " " + pointer + at,
                  problem, remedy);
  }

private:
  Status readNumber(const Json &object, const std::string &at, const char *key,
                    std::initializer_list<int64_t> allowed,
                    int64_t &value) const;

  std::string pointer, place;
};

} // namespace

static constexpr const char *unquantised =
    "use the unquantised model: float32, bfloat16 or float16 weights; "
    "weights.dtype quantises them";

Status QuantizationReader::readNumber(const Json &object, const std::string &at,
                                      const char *key,
                                      std::initializer_list<int64_t> allowed,
                                      int64_t &value) const {
  std::string choices;
  for (int64_t choice : allowed)
    choices += (choices.empty() ? "" : ", ") + std::to_string(choice);
  const Json *found = object.find(key);
  if (!found || !found->isInteger() ||
      !llvm::is_contained(allowed, found->integer()))
    return fail(found ? *found : object, at + "/" + key,
                "expected one of " + choices + " but found " +
                    (!found               ? std::string("none")
                     : found->isInteger() ? std::to_string(found->integer())
                                          : rt::describe(found->kind())),
                unquantised);
  value = found->integer();
  return Status::ok();
}

Status QuantizationReader::readSettings(const Json &object,
                                        const std::string &at,
                                        Quantization &settings) const {
  if (const Json *mode = object.find("mode");
      mode && (!mode->isString() || mode->string() != "affine"))
    return fail(*mode, at + "/mode",
                "expected the mode \"affine\" but found " +
                    (mode->isString() ? "\"" + mode->string() + "\""
                                      : rt::describe(mode->kind())),
                unquantised);
  Status status =
      readNumber(object, at, "group_size", {32, 64, 128}, settings.groupSize);
  if (status.isOk())
    status = readNumber(object, at, "bits", {4, 8}, settings.bits);
  return status;
}

Status QuantizationReader::readModules(const Json &object,
                                       Quantization &quantization) const {
  for (const auto &[key, value] : object.object()) {
    if (key == "group_size" || key == "bits" || key == "mode")
      continue;
    std::string at = "/" + key;
    if (value.isBool()) {
      if (!value.boolean())
        quantization.floatModules.insert(key);
      continue;
    }
    if (!value.isObject())
      return fail(value, at,
                  "expected the settings of a module but found " +
                      std::string(rt::describe(value.kind())),
                  "known keys: group_size, bits, mode");
    Quantization own;
    HONE_TRY(readSettings(value, at, own));
    if (own.groupSize != quantization.groupSize ||
        own.bits != quantization.bits)
      return fail(value, at,
                  "expected the settings of all modules, " +
                      std::to_string(quantization.bits) +
                      " bits in groups of " +
                      std::to_string(quantization.groupSize) + ", but found " +
                      std::to_string(own.bits) + " and " +
                      std::to_string(own.groupSize),
                  "modules quantised in different ways are not supported; " +
                      std::string(unquantised));
  }
  return Status::ok();
}

Result<Quantization> hone::readQuantization(const Json &value,
                                            const std::string &key,
                                            const std::string &place) {
  QuantizationReader reader("/" + key, place);
  if (!value.isObject())
    return reader.fail(value, "",
                       std::string("expected an object but found ") +
                           rt::describe(value.kind()),
                       unquantised);
  if (const Json *method = value.find("quant_method"))
    return reader.fail(value, "",
                       "weights quantised by other tools than MLX" +
                           (method->isString()
                                ? " (quant_method " + method->string() + ")"
                                : std::string()) +
                           " are not supported",
                       unquantised);
  Quantization quantization;
  Status status = reader.readSettings(value, "", quantization);
  if (status.isOk())
    status = reader.readModules(value, quantization);
  HONE_TRY(status);
  return quantization;
}
