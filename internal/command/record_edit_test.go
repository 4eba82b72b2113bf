package command

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// editSegment changes the first file of the record.
func editSegment(t *testing.T, dir string, edit func(segment []byte) []byte) {
	t.Helper()
	path := filepath.Join(dir, ".sallyport", "state.db-log", "00000001")
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// It keeps its size.
	text := append(edit(bytes.Clone(was)), make([]byte, len(was))...)[:len(was)]
	if bytes.Equal(text, was) {
		t.Fatal("nothing was edited")
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// splitRecords returns the frames of records in a segment, and what stands before
// them.
func splitRecords(segment []byte) (records [][]byte, before []byte) {
	word := []byte{0xF7, 'S', 'R', 1}
	for at := bytes.Index(segment, word); at >= 0; at = bytes.Index(segment, word) {
		if before == nil {
			before = segment[:at:at]
		}
		size := binary.LittleEndian.Uint32(segment[at+4:])
		records = append(records, segment[at:at+int(size)])
		segment = segment[at+int(size):]
	}
	return records, before
}
