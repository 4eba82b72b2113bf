package file

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

type writeInput struct {
	Path     string `json:"path" jsonschema:"File to create or replace: absolute, or relative to the workspace. Missing folders are created."`
	Content  string `json:"content" jsonschema:"The whole new content of the file."`
	Encoding string `json:"encoding,omitempty" jsonschema:"utf-8 (the default), or base64 when content is the base64 form of binary bytes."`
}

func writeContent(_ context.Context, c *sallyport.Call, in writeInput) (sallyport.Result, error) {
	if in.Path == "" {
		return sallyport.Result{}, sallyport.InputInvalid("path is empty")
	}
	data, err := in.encodeContent()
	if err != nil {
		return sallyport.Result{}, err
	}
	name := c.FS.Abs(in.Path)
	_, statErr := c.FS.Stat(in.Path)
	if err := c.FS.WriteFile(in.Path, data); err != nil {
		if statErr == nil && isDir(c.FS, in.Path) {
			return sallyport.Result{}, directoryError(name)
		}
		return sallyport.Result{}, accessError("write", name, err)
	}
	if err := verifyWritten(c.FS, in.Path, name, data); err != nil {
		return sallyport.Result{}, err
	}
	r := sallyport.OK(fmt.Sprintf("Wrote %s to %s", text.CountOf(len(data), "byte"), name))
	r.Structured = map[string]any{"path": name, "bytes": len(data)}
	// Where only writing is granted nothing is said about what was there.
	if statErr == nil || errors.Is(statErr, fs.ErrNotExist) {
		r.Structured["created"] = statErr != nil
	}
	return r, nil
}

// encodeContent returns the content as it goes to the disk.
func (in *writeInput) encodeContent() ([]byte, error) {
	switch in.Encoding {
	case "", encodingUTF8:
		return []byte(in.Content), nil
	case encodingBase64:
		data, err := base64.StdEncoding.DecodeString(in.Content)
		if err != nil {
			return nil, sallyport.InputInvalid("content is not base64 (RFC 4648, section 4): " + err.Error())
		}
		return data, nil
	default:
		return nil, sallyport.InputInvalid(fmt.Sprintf("encoding %q is not one of utf-8, base64", in.Encoding))
	}
}

// verifyWritten reads a written file back, so that storage that drops a write is not
// reported as success. It opens the file instead of calling ReadFile, because
// a check by the tool must not count as a read by the session. Where reading
// is not granted there is nothing to compare.
func verifyWritten(fsys sallyport.FS, path, name string, want []byte) error {
	f, err := fsys.Open(path)
	if errors.Is(err, sallyport.ErrPathNotReachable) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	var got []byte
	if err == nil {
		defer func() { _ = f.Close() }() // Nothing was written.
		got, err = io.ReadAll(io.LimitReader(f, int64(len(want))+1))
	}
	if err != nil {
		return &sallyport.Error{
			Code: sallyport.CodeExecutionFailed, Resource: name, Operation: "write",
			Detail: "Write verification failed: " + name + " cannot be read back", Err: err,
		}
	}
	if !bytes.Equal(got, want) {
		return &sallyport.Error{
			Code: sallyport.CodeExecutionFailed, Resource: name, Operation: "write",
			Detail: "Write verification failed: " + name + " does not hold what was written; another writer may have replaced it",
		}
	}
	return nil
}
