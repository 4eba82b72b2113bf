package action

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/digest"
)

// maxProgramBytes bounds the file of a handler, which is read before each run.
// Programs with everything linked into them stay below it.
const maxProgramBytes = 256 << 20

// pinnedFile is a handler's file as it was when the configuration was loaded.
type pinnedFile struct {
	path   string // without links
	digest [sha256.Size]byte
	// absent says why there was no file that can run, empty when there was one. The
	// action is there and is decided about; a call that gets so far fails. It is no
	// fault of the configuration: who may write there would keep it from loading.
	absent string
}

// pinFile remembers the file of a handler.
func pinFile(path string) *pinnedFile {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &pinnedFile{path: path, absent: "there is no such file"}
	case err != nil:
		return &pinnedFile{path: path, absent: "the file cannot be found"}
	}
	f := &pinnedFile{path: real}
	if f.digest, err = hashContent(real); err != nil {
		return &pinnedFile{path: path, absent: err.Error()}
	}
	return f
}

// checkUnchanged refuses a file that differs from the one that was loaded. A
// tool of the agent that may write there would otherwise choose what runs with
// the reach that the operator gave to this action.
func (f *pinnedFile) checkUnchanged() error {
	if f.absent != "" {
		return errors.New("the program was not there when the configuration was loaded: " + f.absent)
	}
	now, err := hashContent(f.path)
	if err != nil {
		return errors.New("the program cannot be read any more")
	}
	if now != f.digest {
		return errors.New("the program was changed after the configuration was loaded; load it again")
	}
	return nil
}

// hashContent identifies the content of a regular file. The texts of its errors
// hold no path.
func hashContent(path string) (sum [sha256.Size]byte, err error) {
	switch sum, err = digest.File(path, maxProgramBytes); {
	case err == nil:
		return sum, nil
	case errors.Is(err, digest.ErrIrregular):
		return sum, errors.New("expected a regular file")
	case errors.Is(err, digest.ErrTooLong):
		return sum, errors.New("the file has more than 256 MiB")
	default:
		return sum, errors.New("the file cannot be read")
	}
}

// revisionOf identifies what a handler does: its configuration and its files.
func revisionOf(handler any, files ...*pinnedFile) string {
	h := sha256.New()
	// Plain texts, which cannot fail; a body that is no JSON is a fault.
	_ = json.NewEncoder(h).Encode(handler)
	for _, f := range files {
		_, _ = io.WriteString(h, f.path)
		_, _ = h.Write(f.digest[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
