package file

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
)

const (
	// fileReadPermission is what a principal needs to read a file whole.
	fileReadPermission = "file:read"
	// maxWholeBytes bounds a file that is returned whole. It is many times
	// what a result may hold, so that nothing is missed here that a budget
	// would have let through.
	maxWholeBytes = 4 << 20
)

type fileReadInput struct {
	Path     string `json:"path" jsonschema:"File to read: absolute, or relative to the workspace."`
	Encoding string `json:"encoding,omitempty" jsonschema:"How to decode the file: utf-8, latin1, or base64 for its raw bytes."`
}

// fileRead declares file-read, the action of the documents: the content and
// nothing around it.
func fileRead() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "file-read", Title: "Read File", Toolset: toolset, ListedAs: "read_file",
		Description: "Read file contents: the whole file as it is, without a header. To read a part of a long file, or an attachment, use read_file.",
		Schema: args.Schema[fileReadInput](func(get func(string) args.Property) {
			get("path").Length(1, 0)
			get("encoding").OneOf(encodingUTF8, encodingBase64, encodingLatin1).Default(encodingUTF8)
		}),
		Touches:      []sallyport.Touch{{Capability: "fs_reach.read", Argument: "path"}},
		Capabilities: readCapabilities(), Permissions: []string{fileReadPermission}, ReadOnly: true, OutputIsUntrusted: true,
	}, readWhole)
}

func readWhole(_ context.Context, c *sallyport.Call, in fileReadInput) (sallyport.Result, error) {
	name := c.FS.Abs(in.Path)
	data, err := loadWhole(c.FS, in.Path, name)
	if err != nil {
		return sallyport.Result{}, err
	}
	content, err := decodeWhole(data, in.Encoding, name)
	if err != nil {
		return sallyport.Result{}, err
	}
	r := sallyport.OK(content)
	r.Structured = map[string]any{"path": name, "bytes": len(data), "encoding": in.Encoding}
	return r, nil
}

// loadWhole reads a file. It asks for the size first, so that a huge one is
// not read in vain, and looks again at what was read.
func loadWhole(fsys sallyport.FS, path, name string) ([]byte, error) {
	st, err := fsys.Stat(path)
	if err == nil && st.IsDir() {
		return nil, directoryError(name)
	}
	if err == nil && st.Size() > maxWholeBytes {
		return nil, tooLong(name)
	}
	data, err := fsys.ReadFile(path)
	if err != nil {
		return nil, accessError("read", name, err)
	}
	if len(data) > maxWholeBytes {
		return nil, tooLong(name)
	}
	return data, nil
}

func tooLong(name string) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: name, Operation: "read",
		Detail: fmt.Sprintf("%s is larger than %d MiB; read_file reads it in parts", name, maxWholeBytes>>20), Err: fs.ErrInvalid,
	}
}

// decodeWhole decodes a file without loss or not at all.
func decodeWhole(data []byte, encoding, name string) (string, error) {
	switch encoding {
	case encodingUTF8, "":
		if !utf8.Valid(data) {
			return "", &sallyport.Error{
				Code: sallyport.CodeExecutionFailed, Resource: name, Operation: "read",
				Detail: name + ` is not UTF-8; read it with encoding "base64" for its bytes, or "latin1" if it is old text`,
				Err:    errors.New("invalid UTF-8"),
			}
		}
		return string(data), nil
	case encodingLatin1:
		return decodeLatin1(data), nil
	case encodingBase64:
		return base64.StdEncoding.EncodeToString(data), nil
	default:
		return "", sallyport.InputInvalid(fmt.Sprintf("encoding %q is not one of utf-8, base64, latin1", encoding))
	}
}
