// Package recordlog keeps a chain of records in an append-only log: a folder
// of numbered files that several processes may write at once.
//
// Start with [Create] and [Open]; [Log.Append] adds records under the lock of
// the folder, and [Log.Sync] brings what was added to the disk.
//
// # The folder
//
//   - lock is the file that a writer locks: for one batch, or for as long as it
//     writes all the time and no other process asks for it, see keeping.
//   - base says where the first record stands, and holds the checkpoint that
//     stands for those that were pruned. It is replaced as a whole.
//   - 00000001 and so on are the segments. Each is filled with zeros before it
//     has a name, so that a write changes no length, and bringing it to the
//     disk moves the data alone. It keeps its size.
//
// # Frames
//
// A segment is a row of frames, each of which begins at a multiple of 8 bytes;
// integers are little-endian:
//
//	 0  word: 0xF7 'S' 'R' and the kind: record, start, next or mark
//	 4  size of the frame with its padding
//	 8  CRC-32C of the frame but for these four bytes
//	12  CRC of the frame before it; 0 in the first of a segment
//	16  seq, 24 time in Unix nanoseconds
//	32  number up to which all records were on the disk when it was written
//	40  hash, 32 bytes
//	72  lengths of kind, call, tool and principal, 16 bits each
//	80  length of the body
//	84  1 when the call was denied
//	88  kind, call, tool, principal, body, padding, and a word at the end
//
// The first frame of a segment is a start, which has the number and hash of the
// newest record before it, its place instead of a time, and names the log. A next is the last frame of a
// segment that is full. A mark adds nothing but how much is on the disk. After
// the newest frame stand eight zeros.
//
// # After a crash
//
// A frame that does not pass is the end of the log, unless one behind it says
// that the first was on the disk: then it is damaged, the log goes on behind
// it, and [Log.Scan] gives a record of its number that verifies as nothing.
// A frame that was not on the disk may be lost with the power while one behind
// it is not. What stands behind the end is overwritten by the next writer, who
// ends each batch with zeros; that it does not follow shows in the CRC that it
// names.
package recordlog
