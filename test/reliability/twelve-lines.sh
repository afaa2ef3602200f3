# twelve-lines.sh - data of twelve samples of eight ids; to be sourced.

# twelve_lines: on standard output.
twelve_lines() {
  local i
  for i in {1..12}; do
    echo "{\"input_ids\": [$((i % 7)), 3, $((i * 5 % 31)), 8, 9, $i, 2, 11]}"
  done
}
