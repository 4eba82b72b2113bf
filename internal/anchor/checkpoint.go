package anchor

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/fsx"
)

// MaxNote bounds a signed note, in bytes: that of a checkpoint has 200, and each witness adds
// 130, or 5,000 with keys against quantum computers.
const MaxNote = 128 << 10

// Tree is a Merkle tree (RFC 6962) over the lines of a file of anchors, each without its end.
type Tree struct {
	// Size is how many lines it is over, from the first one.
	Size int64 `json:"size"`
	// Root is its hash.
	Root tlog.Hash `json:"root"`
}

// logKey signs the checkpoints of a log. Its secret comes from the key of the chain.
type logKey struct {
	note.Verifier
	text   string // that of the verifier
	secret ed25519.PrivateKey
}

// Sign implements note.Signer.
func (k *logKey) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(k.secret, msg), nil }

func newLogKey(key audit.Key, origin string) (*logKey, error) {
	secret := ed25519.NewKeyFromSeed(key.Derive("checkpoints of " + origin))
	public, ok := secret.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("anchor: the key has no public half")
	}
	text, err := note.NewEd25519VerifierKey(origin, public)
	if err != nil {
		return nil, errors.New("the origin names no log")
	}
	v, err := note.NewVerifier(text)
	if err != nil {
		return nil, fmt.Errorf("anchor: %w", err)
	}
	return &logKey{v, text, secret}, nil
}

// VerifierKey returns the key with which others check the checkpoints of a log, as signed
// notes have it.
func VerifierKey(key audit.Key, origin string) (string, error) {
	k, err := newLogKey(key, origin)
	if err != nil {
		return "", err
	}
	return k.text, nil
}

// treeEdge is the right edge of a tree that grows: the roots of the full trees of which it
// consists, the largest one first. There is one for each bit of its size.
type treeEdge struct {
	size int64
	full []tlog.Hash
}

// addLine adds a line, without its end.
func (t *treeEdge) addLine(line []byte) {
	h := tlog.RecordHash(line)
	for n := t.size; n&1 == 1; n >>= 1 {
		last := len(t.full) - 1
		h = tlog.NodeHash(t.full[last], h)
		t.full = t.full[:last]
	}
	t.full, t.size = append(t.full, h), t.size+1
}

// computeRoot returns the root over all lines, of which there is one at least.
func (t *treeEdge) computeRoot() tlog.Hash {
	last := len(t.full) - 1
	root := t.full[last]
	for _, left := range slices.Backward(t.full[:last]) {
		root = tlog.NodeHash(left, root)
	}
	return root
}

// rewordedText says why an entry is no leaf of a tree.
const rewordedText = "says what an anchor says in other bytes than were written: a checkpoint is over each byte"

// checkpointPath is where the checkpoint whose last line is of a record lies.
func checkpointPath(path string, seq int64) string {
	return filepath.Join(StampFolder(path), fmt.Sprintf("%d.checkpoint", seq))
}

// SignTree signs the checkpoint of all lines of a file: a signed note of C2SP
// tlog-checkpoint. Before is the tree that was signed last under this origin: a log that it
// does not begin is refused, since two checkpoints that contradict each other are proof of a
// dishonest log. The note is returned with the tree and the record of its last line.
func SignTree(path string, key audit.Key, origin string, before Tree) (text []byte, now Tree, seq int64, err error) {
	k, err := newLogKey(key, origin)
	if err != nil {
		return nil, now, 0, err
	}
	if before.Size < 0 {
		return nil, now, 0, fmt.Errorf("%s: no checkpoint of %s is signed: the state says that the last one counts %d anchors", path, origin, before.Size)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, now, 0, fmt.Errorf("%s: %w", path, fsx.Cause(err))
	}
	defer f.Close()
	now, last, err := growTree(f, before)
	if err != nil {
		return nil, now, 0, fmt.Errorf("%s: no checkpoint of %s is signed: %w", path, origin, err)
	}
	text, err = note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", origin, now.Size, now.Root)}, k)
	return text, now, last.Seq, err
}

// growTree returns the tree over all lines, and the last entry. Lines of before need no look:
// its root is over each byte of them, and they were looked at when it was signed. Its size is
// not negative.
func growTree(r io.Reader, before Tree) (now Tree, last Entry, err error) {
	var edge treeEdge
	lines := scanLines(r)
	for lines.Scan() {
		if edge.size == maxLines {
			return now, last, fmt.Errorf("expected at most %d lines", maxLines)
		}
		if edge.size+1 >= before.Size { // the last one that was signed, and each new one
			if last, err = parseEntry(lines.Bytes()); err != nil {
				return now, last, fmt.Errorf("line %d: %w", edge.size+1, err)
			}
			if last.reworded {
				return now, last, fmt.Errorf("line %d %s", edge.size+1, rewordedText)
			}
		}
		edge.addLine(lines.Bytes())
		if edge.size == before.Size {
			if err := before.checkLines(&edge); err != nil {
				return now, last, err
			}
		}
	}
	switch err := lines.Err(); {
	case err != nil:
		return now, last, fmt.Errorf("line %d: %w", edge.size+1, err)
	case edge.size < before.Size:
		return now, last, before.checkLines(&edge)
	case edge.size == 0:
		return now, last, errNoAnchors
	}
	return Tree{edge.size, edge.computeRoot()}, last, nil
}

// StoreCheckpoint stores a signed checkpoint beside its file, and returns where.
func StoreCheckpoint(path string, seq int64, text []byte) (string, error) {
	if err := makeStampFolder(path); err != nil {
		return "", err
	}
	to := checkpointPath(path, seq)
	return to, fsx.ReplaceFile(to, text)
}

// checkLines returns an error when the tree is not the one over lines. The edge is over as
// many as it has, or over all when they are fewer.
func (t *Tree) checkLines(lines *treeEdge) error {
	switch {
	case lines.size < t.Size:
		return fmt.Errorf("a checkpoint counts %d anchors, and the file has %d: it was shortened", t.Size, lines.size)
	case lines.computeRoot() != t.Root:
		return fmt.Errorf("a checkpoint over the first %d anchors has another root: the file was rewritten", t.Size)
	}
	return nil
}

// ReadCheckpoint reads a signed checkpoint that the key of a record has signed. Signatures of
// others, such as witnesses, are not judged.
func ReadCheckpoint(text []byte, key audit.Key) (origin string, t Tree, err error) {
	if len(text) > MaxNote {
		return "", t, fmt.Errorf("it is longer than %d bytes", MaxNote)
	}
	origin, _, _ = strings.Cut(string(text), "\n")
	k, err := newLogKey(key, origin)
	if err != nil {
		return "", t, err
	}
	n, err := note.Open(text, note.VerifierList(k))
	if err != nil {
		if unsigned, ok := errors.AsType[*note.UnverifiedNoteError](err); ok && unsigned != nil {
			err = errors.New("the key of this record has not signed it")
		}
		return "", t, err
	}
	t, err = parseTree(n.Text)
	return origin, t, err
}

// parseTree reads the text of a checkpoint: an origin, a size and a root, a line each.
func parseTree(text string) (t Tree, err error) {
	errForm := errors.New("it is no checkpoint: expected an origin, a size and a root")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 3 {
		return t, errForm
	}
	if t.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || t.Size < 1 || lines[1] != strconv.FormatInt(t.Size, 10) {
		return Tree{}, errForm
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return Tree{}, errForm
	}
	copy(t.Root[:], root)
	return t, nil
}
