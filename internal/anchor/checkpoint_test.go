package anchor

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/sallyport/sallyport/audit"
)

const logOrigin = "example.com/gate"

// signLog anchors the head in a file and signs the checkpoint of it.
func (c chain) signLog(t *testing.T, path string, before Tree) (string, Tree) {
	t.Helper()
	c.anchor(t, path)
	text, now, _, err := SignTree(path, c.key, logOrigin, before)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), now
}

// compareSigned verifies the record and compares it with a file and a checkpoint.
func (c chain) compareSigned(t *testing.T, path, checkpoint string) (Result, error) {
	t.Helper()
	entries, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := NewCheck(entries, c.key.ID())
	if err := check.AddCheckpoint([]byte(checkpoint), c.key); err != nil {
		return Result{}, err
	}
	report, err := audit.Verify(t.Context(), check.Watch(c.Store), c.key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return check.Compare(&report), nil
}

// rootOf is the Merkle tree hash of RFC 6962, section 2.1, as it is written there.
func rootOf(leaves []string) [32]byte {
	if len(leaves) == 1 {
		return sha256.Sum256([]byte("\x00" + leaves[0]))
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	left, right := rootOf(leaves[:k]), rootOf(leaves[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

// Programs that know tlog-checkpoint, signed-note and RFC 6962 and nothing of this one accept
// each checkpoint, and that it follows the one before.
func TestOthersAcceptCheckpoints(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchors.jsonl")
	c := newChain(t, newKey(t, 1))
	public, err := VerifierKey(c.key, logOrigin)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	var before Tree
	for n := 1; n <= 9; n++ {
		c.add(t, fmt.Sprint(n))
		text, now := c.signLog(t, path, before)
		opened, err := note.Open([]byte(text), note.VerifierList(verifier))
		if err != nil {
			t.Fatal(err)
		}
		all, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		leaves := strings.Split(strings.TrimSuffix(string(all), "\n"), "\n")
		root := rootOf(leaves)
		if want := fmt.Sprintf("%s\n%d\n%s\n", logOrigin, n, base64.StdEncoding.EncodeToString(root[:])); opened.Text != want || now.Size != int64(n) {
			t.Errorf("the checkpoint says %q, want %q", opened.Text, want)
		}
		// The signature is one of Ed25519 over the text, behind four bytes of the id.
		raw, err := base64.StdEncoding.DecodeString(opened.Sigs[0].Base64)
		key, err2 := base64.StdEncoding.DecodeString(public[strings.LastIndex(public, "+")+1:])
		if err = errors.Join(err, err2); err != nil || !ed25519.Verify(key[1:], []byte(opened.Text), raw[4:]) {
			t.Errorf("checkpoint %d has another signature: %v", n, err)
		}
		if before.Size > 0 {
			proof, err := tlog.ProveTree(now.Size, before.Size, storeHashes(t, leaves))
			if err = errors.Join(err, tlog.CheckTree(proof, now.Size, tlog.Hash(root), before.Size, before.Root)); err != nil {
				t.Errorf("checkpoint %d does not follow the one before: %v", n, err)
			}
		}
		before = now
	}
}

// storeHashes returns the hashes of a tree as tlog numbers them.
func storeHashes(t *testing.T, leaves []string) tlog.HashReader {
	t.Helper()
	var all []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) (list []tlog.Hash, err error) {
		for _, i := range at {
			list = append(list, all[i])
		}
		return list, nil
	})
	for i, leaf := range leaves {
		hashes, err := tlog.StoredHashes(int64(i), []byte(leaf), read)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, hashes...)
	}
	return read
}

func TestACheckpointProvesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchors.jsonl")
	c := newChain(t, newKey(t, 1), "a", "b")
	_, first := c.signLog(t, path, Tree{})
	c.add(t, "c")
	text, now := c.signLog(t, path, first)
	c.add(t, "d")
	c.anchor(t, path)
	r, err := c.compareSigned(t, path, text)
	if err != nil || !r.OK() || r.Signed != 2 || r.Origin != logOrigin || r.Proven != 3 || !strings.Contains(r.String(), "the first 2 are those of the checkpoint of example.com/gate") {
		t.Errorf("the result is %+v (%s), %v", r, &r, err)
	}
	again, same := c.signLog(t, path, now)
	if r, err := c.compareSigned(t, path, again); err != nil || r.Signed != 3 || same.Size != 3 {
		t.Errorf("after the third: %+v, %v", r, err)
	}
	// What a witness adds is not judged.
	witness, _, err := note.GenerateKey(rand.Reader, "witness.example/w")
	if err == nil {
		signer, _ := note.NewSigner(witness)
		public, _ := VerifierKey(c.key, logOrigin)
		v, _ := note.NewVerifier(public)
		n, _ := note.Open([]byte(text), note.VerifierList(v))
		signed, err := note.Sign(n, signer)
		if r, err2 := c.compareSigned(t, path, string(signed)); err != nil || err2 != nil || r.Signed != 2 {
			t.Errorf("with the signature of a witness: %v, %v, %+v", err, err2, r)
		}
	}
}

// Who holds the key can make another past with a file for it, and not one that fits a
// checkpoint that others keep.
func TestAFileThatDoesNotFitACheckpointIsFound(t *testing.T) {
	t.Parallel()
	key := newKey(t, 1)
	for _, tt := range []struct {
		name string
		past [][]string // the calls between two anchors
		line int
		why  string
	}{
		{"another past", [][]string{{"a", "x"}, {"c"}}, 2, "another root: the file was rewritten"},
		{"an anchor left out", [][]string{{"a", "b", "c"}, {"d"}}, 2, "another root: the file was rewritten"},
		{"the end cut off", [][]string{{"a", "b"}}, 1, "counts 2 anchors, and the file has 1: it was shortened"},
		{"longer than before", [][]string{{"a", "x"}, {"c"}, {"d"}}, 2, "another root: the file was rewritten"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := newChain(t, key, "a", "b")
			_, first := c.signLog(t, filepath.Join(dir, "good"), Tree{})
			c.add(t, "c")
			text, now := c.signLog(t, filepath.Join(dir, "good"), first)
			other, path := newChain(t, key), filepath.Join(dir, "other")
			for _, calls := range tt.past {
				other.add(t, calls...)
				other.anchor(t, path)
			}
			if _, plain := other.compare(t, path); !plain.OK() {
				t.Fatalf("the file of the operator is bad without a checkpoint: %s", &plain)
			}
			r, err := other.compareSigned(t, path, text)
			if err != nil || r.OK() || r.Bad.Line != tt.line || !strings.Contains(r.Bad.Why, tt.why) || r.Signed != 0 {
				t.Errorf("the result is %+v (%s), %v, want anchor %d that %s", r, &r, err, tt.line, tt.why)
			}
			// Nor is such a file signed.
			if _, _, _, err := SignTree(path, key, logOrigin, now); err == nil || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("the checkpoint of the other file: %v", err)
			}
		})
	}
}

// A head costs the hashes of the lines before it: those that a checkpoint holds to each byte
// are not read as entries once more, and each new one is.
func TestLinesOfACheckpointAreNotReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchors.jsonl")
	c := newChain(t, newKey(t, 1), "a")
	c.anchor(t, path)
	entry, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(string(entry), "\n")
	before := Tree{Size: 3, Root: rootOf([]string{"no entry", "nor this", line})}
	all := "no entry\nnor this\n" + line + "\n"
	now, last, err := growTree(strings.NewReader(all+line+"\n"), before)
	if err != nil || now.Size != 4 || now.Root != rootOf([]string{"no entry", "nor this", line, line}) || last.Seq != 1 {
		t.Errorf("the tree is %+v up to record %d, %v", now, last.Seq, err)
	}
	for text, want := range map[string]string{
		all + "no entry\n":                          "line 4: not an anchor",
		strings.Replace(all, "nor", "now", 1):       "another root: the file was rewritten",
		"no entry\nnor this\nno entry\n":            "line 3: not an anchor",
		strings.TrimSuffix(all, line+"\n"):          "the file has 2: it was shortened",
		all + strings.Repeat("x", maxLine+1) + "\n": "line 4: ",
	} {
		if now, _, err := growTree(strings.NewReader(text), before); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the tree over %.60q is %+v, %v, want %s", text, now, err, want)
		}
	}
}

// A checkpoint is over the bytes of each line: a line that programs read in two ways, or that
// says the same in other bytes, is none of its leaves.
func TestALineInOtherBytesDoesNotFitACheckpoint(t *testing.T) {
	t.Parallel()
	for name, rewrite := range map[string]func(string) string{
		"a carriage return":     func(l string) string { return l + "\r" },
		"spaces":                func(l string) string { return strings.Replace(l, ",", ", ", 1) },
		"a key twice":           func(l string) string { return strings.Replace(l, `{"seq":`, `{"seq":999,"seq":`, 1) },
		"a key in another case": func(l string) string { return strings.Replace(l, `{"seq":`, `{"seq":999,"SEQ":`, 1) },
		"an escape":             func(l string) string { return strings.Replace(l, `"key_id"`, `"ke\u0079_id"`, 1) },
		"a fraction of time":    func(l string) string { return strings.Replace(l, `Z"`, `.0Z"`, 1) },
		"capitals":              func(l string) string { return l[:17] + strings.ToUpper(l[17:80]) + l[80:] },
	} {
		for _, at := range []int{0, 1} {
			t.Run(fmt.Sprint(name, at), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "anchors.jsonl")
				c := newChain(t, newKey(t, 1), "a")
				_, first := c.signLog(t, path, Tree{})
				c.add(t, "b")
				text, now := c.signLog(t, path, first)
				good, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.Split(string(good), "\n")
				lines[at] = rewrite(lines[at])
				if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, plain := c.compare(t, path); !plain.OK() {
					t.Fatalf("without a checkpoint the file is bad: %s", &plain)
				}
				if r, err := c.compareSigned(t, path, text); err != nil || r.OK() || r.Signed != 0 || r.Bad.Line != at+1 || !strings.Contains(r.Bad.Why, "in other bytes") {
					t.Errorf("the result is %+v (%s), %v", r, &r, err)
				}
				for _, before := range []Tree{{}, first, now} {
					if text, _, _, err := SignTree(path, c.key, logOrigin, before); err == nil || !strings.Contains(err.Error(), "other bytes") && !strings.Contains(err.Error(), "another root") {
						t.Errorf("after %d lines it is signed: %s, %v", before.Size, text, err)
					}
				}
			})
		}
	}
}

// A state that cannot be is no state without a checkpoint.
func TestASizeBelowZeroIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchors.jsonl")
	c := newChain(t, newKey(t, 1), "a")
	_, now := c.signLog(t, path, Tree{})
	now.Size = -1
	if text, _, _, err := SignTree(path, c.key, logOrigin, now); err == nil || !strings.Contains(err.Error(), "counts -1 anchors") {
		t.Errorf("the checkpoint is %s, %v", text, err)
	}
}

func TestForgedCheckpointsAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchors.jsonl")
	c := newChain(t, newKey(t, 1), "a")
	good, _ := c.signLog(t, path, Tree{})
	foreign, _, _, err := SignTree(path, newKey(t, 2), logOrigin, Tree{})
	if err != nil {
		t.Fatal(err)
	}
	text, signature, _ := strings.Cut(good, "\n\n")
	lines := strings.Split(text, "\n")
	k, err := newLogKey(c.key, logOrigin)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(text string) string {
		signed, err := note.Sign(&note.Note{Text: text}, k)
		if err != nil {
			t.Fatal(err)
		}
		return string(signed)
	}
	for name, forged := range map[string]string{
		"of another key":       string(foreign),
		"without a signature":  text + "\n\n",
		"cut off":              good[:len(good)-20],
		"cut off in its text":  good[:len(lines[0])+3],
		"of another size":      strings.Replace(good, "\n1\n", "\n2\n", 1),
		"of another log":       strings.ReplaceAll(good, logOrigin, "example.com/other"),
		"renamed in its text":  strings.Replace(good, logOrigin, "example.com/other", 1),
		"with another root":    strings.Replace(good, lines[2], base64.StdEncoding.EncodeToString(make([]byte, 32)), 1),
		"with a flipped bit":   strings.Replace(good, signature[len(signature)-8:], "AAAAAA==", 1),
		"empty":                "",
		"long":                 good + strings.Repeat("— a AAAA\n", MaxNote),
		"with a control":       "a\x00b\n" + good,
		"with a line more":     sign(text + "\nmore\n"),
		"with a line less":     sign(lines[0] + "\n1\n"),
		"of size zero":         sign(lines[0] + "\n0\n" + lines[2] + "\n"),
		"of a size that grows": sign(lines[0] + "\n01\n" + lines[2] + "\n"),
		"of a size below zero": sign(lines[0] + "\n-1\n" + lines[2] + "\n"),
		"with a short root":    sign(lines[0] + "\n1\nAAAA\n"),
	} {
		if r, err := c.compareSigned(t, path, forged); err == nil {
			t.Errorf("a checkpoint %s is accepted: %+v", name, r)
		}
	}
	if r, err := c.compareSigned(t, path, good); err != nil || !r.OK() {
		t.Errorf("the good checkpoint: %+v, %v", r, err)
	}
}

// linkStamps puts a link in place of the folder beside a file, and returns where it leads.
func linkStamps(t *testing.T, path string) string {
	t.Helper()
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, StampFolder(path)); err != nil {
		t.Skipf("there are no symbolic links: %v", err)
	}
	return elsewhere
}

func TestACheckpointFollowsNoLink(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchors.jsonl")
	for range 2 { // the folder is made, and then there
		if _, err := StoreCheckpoint(path, 1, []byte("text")); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := linkStamps(t, path+"2")
	to, err := StoreCheckpoint(path+"2", 1, []byte("text"))
	if left, _ := os.ReadDir(elsewhere); err == nil || !strings.Contains(err.Error(), "is not a folder") || len(left) > 0 {
		t.Errorf("a checkpoint is stored in %s where a link leads: %v, %v", to, err, left)
	}
}

func TestNamesOfLogs(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"", "a b", "a+b", "a\nb", "a\xff"} {
		if text, err := VerifierKey(newKey(t, 1), origin); err == nil {
			t.Errorf("the log %q has the key %s", origin, text)
		}
	}
	one, err := VerifierKey(newKey(t, 1), "a")
	two, err2 := VerifierKey(newKey(t, 1), "b")
	if err = errors.Join(err, err2); err != nil || one[2:] == two[2:] {
		t.Errorf("two logs have one key: %s, %s, %v", one, two, err)
	}
	if secret := newKey(t, 1).Derive("checkpoints of a"); bytes.Contains([]byte(one), []byte(base64.StdEncoding.EncodeToString(secret))) {
		t.Error("the public key has the secret one")
	}
}
