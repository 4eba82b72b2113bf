package upstream

import (
	"bytes"
	"errors"
	"io"

	"github.com/sallyport/sallyport/internal/budget"
)

// pieceBytes is how much of a long body is set aside at once.
const pieceBytes = 1 << 20

// readAll reads a body. It holds what has come, and not twice as much.
func readAll(r io.Reader, expected int64) ([]byte, error) {
	first := make([]byte, 0, bytes.MinRead+max(0, min(expected, freeBytes)))
	var pieces [][]byte
	piece := first
	for size := 0; ; {
		n, err := r.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		size += n
		if errors.Is(err, io.EOF) {
			if pieces == nil {
				return piece, nil
			}
			return budget.Join(append(pieces, piece), size), nil
		}
		if err != nil {
			return nil, err
		}
		if len(piece) == cap(piece) {
			pieces = append(pieces, piece)
			piece = make([]byte, 0, min(max(2*cap(piece), 4<<10), pieceBytes))
		}
	}
}
