//===- TableRecords.h - Rows of a table as JSON objects -------------------===//
//
// CSV as RFC 4180 has it, and the same with tabs: the first row names the
// columns, a cell in double quotes may hold separators, line ends and doubled
// quotes. Each cell is a string; of columns that hold lists, such as
// "messages", the cell is their JSON.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "data/Records.h"

#include <vector>

namespace hone::rt {

class TableRecords final : public Records {
public:
  /// Columns of a table.
  static constexpr size_t MostColumns = 1024;

  /// Reads `content`, the bytes of the file `path` without empty lines at the
  /// end; `kind` is Csv or Tsv. `holdsJson` says of which columns cells are
  /// JSON.
  TableRecords(std::string_view content, std::string path, FileKind kind,
               HoldsJson holdsJson);

  Status next(std::string_view &record, bool &more, uint64_t longest) override;
  void rewind() override;
  bool isBroken() const override { return broken; }
  const char *unit() const override { return "row"; }
  uint64_t number() const override { return line; }
  uint64_t position() const override { return at; }
  Status moved(const Status &status) const override;

private:
  struct Column {
    std::string key; ///< as JSON, with its colon
    bool holdsJson;
  };
  /// A cell as it lies in the file: within its quotes, if it has some.
  struct Cell {
    std::string_view bytes;
    bool isQuoted;
  };
  Status bad(ErrorCode code, uint64_t where, const std::string &problem,
             const std::string &remedy) const;
  /// The same where it is not known any more where rows begin.
  Status breakOff(uint64_t where, const std::string &problem,
                  const std::string &remedy);
  Status takeRow(uint64_t longest);
  Status takeCell(Cell &cell, bool &isLast);
  Status readHeader();
  Status appendJson(const Cell &cell, const Column &column);
  void appendText(const Cell &cell);

  std::string_view content;
  std::string path;
  char separator;
  HoldsJson holdsJson;
  std::vector<Column> columns;
  std::vector<Cell> cells; ///< of the row at hand
  std::string record;
  uint64_t at = 0, line = 0, nextLine = 1;
  bool broken = false;
};

} // namespace hone::rt
