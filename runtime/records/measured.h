#pragma once
/// The measured times of rungs as a table that travels with the program: text of records (text.h) with at most
/// one record for each *place*.

#include "runtime/records/record.h"

#include <string>
#include <vector>

namespace nestsmith::records {

/// The conditions of a measurement that a reader names: rung, shape, kind of kernel, dtype, GPU, launch and L2.
/// The text of the kernel and the versions of the software are not a part, so that a new measurement replaces
/// an old one.
bool same_place(const Record &a, const Record &b);

class MeasuredTable {
public:
  MeasuredTable() = default;
  /// Throws UserError (usage) if the text is malformed, if the outcome of a record is not `measured`, or if two
  /// records have the same place. `where` names the text in messages.
  MeasuredTable(const std::string &text, const std::string &where);

  /// Sorted by GPU, rung, dtype, shape and the rest of the place.
  const std::vector<Record> &records() const { return records_; }
  /// Whether the table has a record of the same kernel on the same machine.
  bool has(const Record &point) const;
  /// Adds a measured record, or replaces the one of the same place.
  void put(Record record);
  /// Text that the constructor accepts.
  std::string text() const;

private:
  std::vector<Record> records_;
};

} // namespace nestsmith::records
