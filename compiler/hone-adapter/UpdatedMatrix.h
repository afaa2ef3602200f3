//===- UpdatedMatrix.h - A matrix with its adapter added ------------------===//
//
// W + scale B A, or with DoRA each of its rows at the length that is its
// magnitude, in double, element by element, and the part of the update that
// survives in few bits. Pieces are independent of each other, so no number of
// threads changes a byte.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "compiler/hone-adapter/BaseModel.h"
#include "compiler/weights/Quantizer.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <vector>

namespace hone {

/// The change of the stored matrix, s = Q(W + d) - Q(W), beside the update d
/// that was asked for.
///
/// survives() is the length of s along d in lengths of d, <s, d> / <d, d>: 1
/// is all of it, 0 none, and the part that rounding adds in other directions
/// does not count. That is error(), |s - d| / |d|: rounding is noise to the
/// update, and can be many times its size while all of it survives.
struct Survival {
  double dd = 0, sd = 0, ee = 0;      ///< <d, d>, <s, d>, |s - d|^2
  uint64_t changed = 0, elements = 0; ///< stored numbers that are others

  void add(double d, double s, bool isChanged);
  Survival &operator+=(const Survival &other);
  double length() const;   ///< |d|
  double survives() const; ///< 1 where d is 0
  double error() const;    ///< 0 where d is 0
};

/// Numbers of `bits` in groups of `size` along a row.
struct Grouping {
  int64_t bits, size;
};

class UpdatedMatrix {
public:
  /// Elements that are computed at a time; a multiple of every group.
  static constexpr uint64_t pieceElements = 1 << 14;

  /// `update` may be null. With `isTransposed` the matrix is [in, out].
  /// `factors` are DoRA's of this update: an earlier call's, or empty, which
  /// costs a pass over the matrix. Errors: as PeftAdapter::read.
  static Result<UpdatedMatrix> create(BaseMatrix base,
                                      const PeftAdapter &adapter,
                                      const LowRankUpdate *update,
                                      bool isTransposed,
                                      std::vector<double> &factors);

  const BaseMatrix &base() const { return matrix; }
  bool isUpdated() const { return rank > 0; }

  /// Stores a piece to `to`, which is of `dtype`. False if a number that was
  /// finite is not any more.
  bool store(uint64_t first, uint64_t count, rt::Dtype dtype, char *to,
             Survival *survival) const;

  /// The three tensors of a matrix in groups; of a group without an update, the
  /// bytes that it had.
  enum class Part { Numbers, Scales, Biases };
  bool storeGrouped(uint64_t first, uint64_t count, Part part, char *to,
                    Survival *survival) const;

  /// Storing a float matrix as honec quantises it.
  bool measure(uint64_t first, uint64_t count, Grouping grouping,
               Survival &survival) const;

private:
  /// W and d of a piece.
  struct Piece {
    std::vector<double> w, d;
  };
  Piece load(uint64_t first, uint64_t count) const;
  /// Calls visit(i, output) for each element first + i of a piece.
  void forEachOutput(uint64_t first, uint64_t count,
                     llvm::function_ref<void(uint64_t, uint64_t)> visit) const;
  /// `magnitudes` by the lengths of the outputs' rows.
  std::vector<double> findFactors(std::vector<double> magnitudes) const;

  BaseMatrix matrix;
  int64_t rank = 0;
  std::vector<double> left;    ///< [rows, rank], with the scale
  std::vector<double> right;   ///< [rank, columns]
  std::vector<double> factors; ///< of DoRA's outputs; else empty
  bool isTransposed = false;   ///< outputs are columns
};

} // namespace hone
