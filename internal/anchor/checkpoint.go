package anchor

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// merkleTree holds the hashes of a tree over entries, as tlog numbers them.
type merkleTree []tlog.Hash

// newMerkleTree returns the tree over entries.
func newMerkleTree(entries []Entry) (t merkleTree, err error) {
	for i := range entries {
		line, err := entries[i].encodeLine()
		if err != nil {
			return nil, err
		}
		hashes, err := tlog.StoredHashes(int64(i), bytes.TrimSuffix(line, []byte("\n")), &t)
		if err != nil {
			return nil, fmt.Errorf("anchor: %w", err)
		}
		t = append(t, hashes...)
	}
	return t, nil
}

// ReadHashes implements tlog.HashReader.
func (t *merkleTree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	list := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		if at < 0 || at >= int64(len(*t)) {
			return nil, errors.New("the tree is smaller")
		}
		list[i] = (*t)[at]
	}
	return list, nil
}

// computeRoot returns the root over the first lines; those are there.
func (t *merkleTree) computeRoot(size int64) (tlog.Hash, error) { return tlog.TreeHash(size, t) }

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
	entries, err := ReadFile(path)
	if err != nil {
		return nil, now, 0, err
	}
	t, err := newMerkleTree(entries)
	if err != nil {
		return nil, now, 0, err
	}
	if why := t.describeFaultOf(before, int64(len(entries))); why != "" {
		return nil, now, 0, fmt.Errorf("%s: no checkpoint of %s is signed: %s", path, origin, why)
	}
	now.Size = int64(len(entries))
	if now.Root, err = t.computeRoot(now.Size); err != nil {
		return nil, now, 0, err
	}
	text, err = note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", origin, now.Size, now.Root)}, k)
	return text, now, entries[len(entries)-1].Seq, err
}

// StoreCheckpoint stores a signed checkpoint beside its file, and returns where.
func StoreCheckpoint(path string, seq int64, text []byte) (string, error) {
	if err := os.Mkdir(StampFolder(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	to := checkpointPath(path, seq)
	return to, fsx.ReplaceFile(to, text)
}

// describeFaultOf says what is wrong with a tree of before over the same lines, or nothing.
func (t *merkleTree) describeFaultOf(before Tree, lines int64) string {
	if before.Size == 0 {
		return ""
	}
	if before.Size > lines {
		return fmt.Sprintf("a checkpoint counts %d anchors, and the file has %d: it was shortened", before.Size, lines)
	}
	root, err := t.computeRoot(before.Size)
	if err != nil || root != before.Root {
		return fmt.Sprintf("a checkpoint over the first %d anchors has another root: the file was rewritten", before.Size)
	}
	return ""
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
