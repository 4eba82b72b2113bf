package budget

import (
	"errors"
	"io"
)

// pieceBytes is how much of a long text is set aside at once.
const pieceBytes = 256 << 10

// ReadAll reads what follows begin to its end, and has the holding grow with it.
// It returns both together. The error is that of the reader, or [ErrFull].
func (h *Holding) ReadAll(r io.Reader, begin []byte) ([]byte, error) {
	if err := h.Grow(int64(len(begin))); err != nil {
		return nil, err
	}
	pieces, size := [][]byte{begin}, len(begin)
	for {
		if err := h.Grow(pieceBytes); err != nil {
			return nil, err
		}
		piece, err := readPiece(r, make([]byte, 0, pieceBytes))
		pieces, size = append(pieces, piece), size+len(piece)
		if errors.Is(err, io.EOF) {
			return Join(pieces, size), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readPiece reads until a piece is full. The error is that of the reader.
func readPiece(r io.Reader, piece []byte) ([]byte, error) {
	for len(piece) < cap(piece) {
		n, err := r.Read(piece[len(piece):cap(piece)])
		if piece = piece[:len(piece)+n]; err != nil {
			return piece, err
		}
	}
	return piece, nil
}

// Join puts pieces of so many bytes in all together, and lets each go: the slice is
// empty of them afterwards.
func Join(pieces [][]byte, size int) []byte {
	all := make([]byte, 0, size)
	for i, p := range pieces {
		all = append(all, p...)
		pieces[i] = nil
	}
	return all
}
